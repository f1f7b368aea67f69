//! Operations of the host that need a kernel: launched on a stream of the program's, or on one of the runtime's own that
//! nobody else uses and whose end is waited for. They bear the line of the call.

use crate::error::{Error, Result};
use crate::launch::{Onto, start};
use crate::pe::Pe;
use crate::state::Slot;
use crate::stream::Stream;
use bytemuck::Pod;
use oxshmem_device::Global;
use oxshmem_device::abi::control;
use oxshmem_device::launch::{Kernel, LaunchConfig, Launcher};
use std::sync::Arc;

/// One block of one thread.
pub(crate) const ONE_THREAD: LaunchConfig = LaunchConfig::blocks(1).threads(1);
/// Most threads of the block that moves data.
const THREADS: u64 = 256;

/// One block, whose threads move so much each if there are enough of them.
pub(crate) fn block_for(all: u64, each: u64) -> LaunchConfig {
    let threads = all.div_ceil(each).clamp(1, THREADS).next_multiple_of(32);
    LaunchConfig::blocks(1).threads(threads as u32)
}

/// What a blocking operation brings back has this much room, in bytes.
const RESULT_BYTES: u64 = 16;

/// The stream of the runtime's own, and the local memory for what a call brings back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnStream {
    slot: usize,
    result: u64,
}

/// Launches the kernels of one operation.
#[derive(Debug)]
pub struct Calls<'a> {
    pub(crate) pe: &'a Arc<Pe>,
    onto: Onto,
    /// The own stream, if the operation is waited for.
    own: Option<OwnStream>,
}

impl Launcher for Calls<'_> {
    type Error = Error;
    type Stream = Stream;

    fn launch_kernel<K: Kernel>(&self, _: Option<&Stream>, config: LaunchConfig, raw: K::Raw) -> Result<()> {
        start::<K>(self.pe, self.onto, config, raw)
    }
}

impl<'a> Calls<'a> {
    /// An operation on a stream.
    pub(crate) fn on(pe: &'a Arc<Pe>, stream: &Stream) -> Result<Self> {
        Ok(Self { pe, onto: Onto::call(stream.slot_of(pe)?), own: None })
    }

    /// A blocking operation.
    pub(crate) fn blocking(pe: &'a Arc<Pe>) -> Result<Self> {
        if let Some(error) = pe.trouble() {
            return Err(error);
        }
        pe.not_capturing("a blocking operation")?;
        let own = pe.own_stream()?;
        Ok(Self { pe, onto: Onto::call(own.slot), own: Some(own) })
    }

    /// Whether the operation is to have arrived when its kernel ends, as a number: if it is waited for.
    pub(crate) fn completes(&self) -> u32 {
        self.own.is_some().into()
    }

    pub(crate) fn slot(&self) -> usize {
        self.onto.slot
    }

    /// Where a blocking operation's kernel leaves one value.
    pub(crate) fn result<T: Pod>(&self) -> Global<[T]> {
        const { assert!(size_of::<T>() as u64 <= RESULT_BYTES) };
        let (address, len) = self.own.map_or((0, 0), |own| (own.result, 1));
        // SAFETY: local memory of the PE, which lives as long as it does.
        unsafe { Global::from_parts(address, len) }
    }

    /// What stands against work, for an operation that has nothing to do.
    pub(crate) fn look(&self) -> Result<()> {
        self.pe.trouble().map_or(Ok(()), Err)
    }

    /// Waits until the operation is over, if it is a blocking one.
    pub(crate) fn wait(&self) -> Result<()> {
        if self.own.is_some() {
            self.pe.drain_slot(self.onto.slot)?;
            return self.look();
        }
        Ok(())
    }

    /// Waits for the operation; what its kernel has left.
    pub(crate) fn value<T: Pod>(&self) -> Result<T> {
        self.wait()?;
        let mut value = T::zeroed();
        if let Some(own) = self.own {
            // SAFETY: the PE's own memory, which no kernel uses now.
            unsafe { self.pe.copies.read(own.result, bytemuck::bytes_of_mut(&mut value))? };
        }
        Ok(value)
    }
}

impl Pe {
    /// The stream of the runtime's own, made when it is first used.
    fn own_stream(&self) -> Result<OwnStream> {
        if let Some(own) = self.lock().own_stream {
            return Ok(own);
        }
        self.look_at_all()?;
        self.collect()?;
        let slot = self.new_slot()?;
        let result = self.copies.allocate(RESULT_BYTES)?;
        let mut state = self.lock();
        state.insert_local(result, RESULT_BYTES);
        Ok(*state.own_stream.insert(OwnStream { slot, result }))
    }

    /// Makes a stream, and gives it a slot.
    pub(crate) fn new_slot(&self) -> Result<usize> {
        let queue = self.device.queue()?;
        let mut state = self.lock();
        let free = state.streams.iter().position(Option::is_none);
        let slot = match free {
            Some(slot) => slot,
            None if state.streams.len() < control::GRID_SLOTS as usize => {
                state.streams.push(None);
                state.streams.len() - 1
            }
            None => return Err(Error::TooManyStreams { limit: control::GRID_SLOTS }),
        };
        state.streams[slot] = Some(Slot::new(queue, self.seat(), state.launches));
        Ok(slot)
    }
}
