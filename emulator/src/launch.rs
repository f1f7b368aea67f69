//! Launches: what a kernel needs to run, and how far a stream's launches are.

use crate::config::MachineConfig;
use crate::error::Error;
use crate::occupancy::{self, Needs};
use crate::stack::{self, Shortage, StackSet};
use crate::standing::HostState;
use core::fmt;
use core::panic::Location;
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
    /// Where its operations are said to be, if that is not the kernel's own source.
    pub site: Option<&'static Location<'static>>,
    /// Runs one thread of the kernel. Called once per thread, on the device's operating-system thread.
    pub run: Box<dyn Fn(ContextAbi) + Send>,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, grid, block, shared_bytes, collective, context, site, run: _ } = self;
        f.debug_struct("Launch")
            .field("name", name)
            .field("grid", grid)
            .field("block", block)
            .field("shared_bytes", shared_bytes)
            .field("collective", collective)
            .field("context", context)
            .field("site", site)
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
    pub(crate) fn check(&self, config: &MachineConfig) -> Result<(), Error> {
        let Self { name: kernel, grid, block, .. } = *self;
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
    pub(crate) fn stacks(&self, config: &MachineConfig) -> Result<StackSet, Error> {
        let block = u64::from(self.block_threads());
        let asked = if self.collective { block * self.total_blocks() } else { block };
        let too_many = |limit, in_use| Error::TooManyThreads { kernel: self.name, asked, limit, in_use };
        if !self.collective {
            let limit = stack::limit();
            let empty = StackSet::empty(config.stack_bytes);
            return if asked > limit { Err(too_many(limit, 0)) } else { Ok(empty) };
        }
        stack::take(asked as usize, config.stack_bytes).map_err(|shortage| match shortage {
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
    /// Its number in a checked run; 0 if it has none.
    pub(crate) ticket: u64,
    /// What must be over before it starts, beside the launches before it on its stream.
    pub(crate) after: Option<Point>,
}

/// A point in a stream: all that was queued on it before [`Stream::point`](crate::Stream::point).
#[derive(Clone, Debug)]
pub struct Point {
    pub(crate) stream: Arc<StreamShared>,
    /// So many launches of the stream have ended then.
    pub(crate) goal: u64,
}

impl Point {
    /// Whether all before it is over, well or not.
    pub fn is_over(&self) -> bool {
        self.stream.state().ended >= self.goal
    }
}

/// What a stream's host side and the worker share.
#[derive(Debug, Default)]
pub(crate) struct StreamShared {
    state: Mutex<Progress>,
    pub(crate) ended: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) submitted: u64,
    pub(crate) ended: u64,
    pub(crate) failure: Option<Error>,
    pub(crate) waiters: Vec<Arc<HostState>>,
}

impl StreamShared {
    pub(crate) fn state(&self) -> MutexGuard<'_, Progress> {
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
