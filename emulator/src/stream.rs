//! Streams and launches: what runs on a device, in which order, and how it ended.
//!
//! Launches of one stream run one after the other; those of different streams side by side, as room allows.
//! Blocks become resident in the order of the launches' starts: a later launch gets room only when all blocks
//! of the earlier ones have it.
//!
//! A stream whose kernel failed ([`Error::KernelPanicked`], [`Error::WildAccess`], [`Error::Diverged`]) runs
//! nothing more: what was queued on it is discarded and [`Stream::launch`] returns the failure again, until
//! [`Stream::synchronize`] hands it out; then the stream is as new.

use crate::device::DeviceShared;
use crate::error::Error;
use crate::host::{self, HostState};
use crate::stack::{self, Shortage, StackSet};
use crate::{occupancy, occupancy::Needs};
use core::fmt;
use oxshmem_device::abi::ContextAbi;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most blocks of a grid, x, y, z (CUDA C++ Programming Guide, table of technical specifications).
const GRID_LIMIT: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// One kernel launch.
pub struct Launch {
    /// The kernel's name, for reports.
    pub name: &'static str,
    /// Blocks in the grid, x, y, z.
    pub grid: [u32; 3],
    /// Threads per block, x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Whether all blocks must be resident together.
    pub collective: bool,
    /// The launch's context.
    pub context: ContextAbi,
    /// Runs one thread of the kernel. Called once per thread, on the device's operating-system thread.
    pub run: Box<dyn Fn(ContextAbi) + Send>,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, grid, block, shared_bytes, collective, context, run: _ } = self;
        f.debug_struct("Launch")
            .field("name", name)
            .field("grid", grid)
            .field("block", block)
            .field("shared_bytes", shared_bytes)
            .field("collective", collective)
            .field("context", context)
            .finish_non_exhaustive()
    }
}

impl Launch {
    pub(crate) fn total_blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads per block; the launch was checked.
    pub(crate) fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn needs(&self) -> Needs {
        Needs::new(self.block_threads(), self.shared_bytes)
    }

    /// Checks the launch against the device.
    fn check(&self, device: &DeviceShared) -> Result<(), Error> {
        let Self { name: kernel, grid, block, .. } = *self;
        let config = &device.config;
        if grid.contains(&0) || block.contains(&0) {
            return Err(Error::EmptyLaunch { kernel, grid, block });
        }
        let threads = block.iter().fold(1u64, |product, &n| product.saturating_mul(n.into()));
        let limit = config.max_threads_per_block.min(config.threads_per_sm);
        if threads > u64::from(limit) {
            return Err(Error::BlockTooLarge { kernel, threads, limit });
        }
        if (0..3).any(|axis| grid[axis] > GRID_LIMIT[axis]) {
            return Err(Error::GridTooLarge { kernel, grid, limit: GRID_LIMIT });
        }
        let threads = threads as u32;
        let available = occupancy::active_blocks(config, threads, self.shared_bytes);
        if available == 0 {
            let limit = config.shared_per_block.min(config.shared_per_sm.saturating_sub(1024));
            return Err(Error::SharedTooLarge { kernel, asked: self.shared_bytes, limit });
        }
        if self.collective && self.total_blocks() > u64::from(available) {
            return Err(Error::NotResident { kernel, needed: self.total_blocks(), available, threads });
        }
        Ok(())
    }

    /// The stacks of a collective launch, all of them; an empty set for another, of which one block must fit.
    fn stacks(&self, device: &DeviceShared) -> Result<StackSet, Error> {
        let block = u64::from(self.block_threads());
        let asked = if self.collective { block * self.total_blocks() } else { block };
        let too_many = |limit, in_use| Error::TooManyThreads { kernel: self.name, asked, limit, in_use };
        if !self.collective {
            let limit = stack::limit();
            let empty = StackSet::empty(device.config.stack_bytes);
            return if asked > limit { Err(too_many(limit, 0)) } else { Ok(empty) };
        }
        stack::take(asked as usize, device.config.stack_bytes).map_err(|shortage| match shortage {
            Shortage::Limit { limit, in_use } => too_many(limit, in_use),
            Shortage::System(error) => error,
        })
    }
}

/// A checked launch on its way to the worker.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) stream: Arc<StreamShared>,
    pub(crate) launch: Launch,
    pub(crate) stacks: StackSet,
}

/// What a stream's host side and the worker share.
#[derive(Debug, Default)]
pub(crate) struct StreamShared {
    state: Mutex<Progress>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    submitted: u64,
    ended: u64,
    failure: Option<Error>,
    waiters: Vec<Arc<HostState>>,
}

impl StreamShared {
    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One launch ended. Whoever waits is marked as running before this returns.
    pub(crate) fn end_one(&self, failure: Option<Error>) {
        let mut state = self.state();
        state.ended += 1;
        if state.failure.is_none() {
            state.failure = failure;
        }
        state.waiters.drain(..).for_each(|host| host.set_running());
        drop(state);
        self.ended.notify_all();
    }

    /// Whether queued launches are to be discarded.
    pub(crate) fn failed(&self) -> bool {
        self.state().failure.is_some()
    }
}

/// A queue of launches on one device. Dropping it waits for nothing: what was launched runs on.
#[derive(Debug)]
pub struct Stream {
    device: Arc<DeviceShared>,
    shared: Arc<StreamShared>,
}

impl Stream {
    pub(crate) fn new(device: Arc<DeviceShared>) -> Self {
        Self { device, shared: Arc::default() }
    }

    /// Queues a launch and returns.
    ///
    /// # Errors
    /// The stream's failure, if an earlier kernel failed; [`Error::EmptyLaunch`], [`Error::BlockTooLarge`],
    /// [`Error::GridTooLarge`], [`Error::SharedTooLarge`] for a shape that no launch may have;
    /// [`Error::NotResident`] for a collective launch that the device cannot hold at once;
    /// [`Error::TooManyThreads`] if the process cannot have its threads; [`Error::Stopped`]. Nothing has run
    /// then.
    pub fn launch(&self, launch: Launch) -> Result<(), Error> {
        launch.check(&self.device)?;
        let stacks = launch.stacks(&self.device)?;
        let mut state = self.shared.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        // Under the stream's lock, so that launches reach the worker in the order in which they are counted.
        self.device.submit(Submission { stream: self.shared.clone(), launch, stacks })?;
        state.submitted += 1;
        Ok(())
    }

    /// Waits until every launch that was queued before has ended.
    ///
    /// # Errors
    /// The first failure of a kernel of this stream, once: the stream is as new afterwards.
    /// [`Error::Stopped`] if the machine was dropped meanwhile.
    pub fn synchronize(&self) -> Result<(), Error> {
        let host = host::registered(&self.device.clock);
        let mut state = self.shared.state();
        let goal = state.submitted;
        while state.ended < goal {
            if let Some(host) = &host {
                host.set_waiting();
                state.waiters.push(host.clone());
                self.device.clock.changed();
            }
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Whether every launch that was queued has ended. Never blocks; counts as a
    /// [tick](crate::HostThread::tick) of a registered host thread only if the caller says so.
    pub fn is_idle(&self) -> bool {
        let state = self.shared.state();
        state.ended == state.submitted
    }
}
