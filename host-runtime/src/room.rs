//! Room on a device: all blocks of a collective launch must be resident at once, beside what else is.

use crate::error::{Error, Result};
use crate::known::{Described, Kernels, Known};
use crate::pe::{Pe, State};
use crate::shmem::Shmem;
use oxshmem_device::launch::Kernel;

/// Shared memory that a kernel may have without asking for more (CUDA C++ Programming Guide, compute
/// capabilities).
const PLAIN_SHARED: u32 = 48 * 1024;

impl Shmem {
    /// How many blocks of `threads` threads of the collective kernel `K` this PE can launch now: what its
    /// share of the device holds, less what its unfinished collective launches hold.
    ///
    /// # Errors
    /// Those of a launch for want of device code; [`Error::Cuda`] if the driver refuses.
    pub fn resident_blocks<K: Kernel>(&self, threads: u32) -> Result<u32> {
        let kernel = Described::of::<K>();
        let mut state = self.pe().lock();
        let room = room(self.pe(), &mut state, &kernel, threads, K::SHARED_BYTES, None)?;
        Ok(u32::try_from(room.available).unwrap_or(u32::MAX))
    }
}

/// Looks a kernel up, the first time, and lets it have its shared memory.
pub(crate) fn known<'a>(
    pe: &Pe,
    kernels: &'a mut Kernels,
    kernel: &Described,
    shared: u32,
) -> Result<&'a mut Known> {
    use std::collections::hash_map::Entry;
    let known = match kernels.entry(kernel.id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => {
            let function = pe.device.function(kernel.symbol)?;
            place.insert(Known { function, shapes: Vec::new(), shared: PLAIN_SHARED })
        }
    };
    if shared > known.shared {
        pe.device.allow_shared(known.function, shared)?;
        known.shared = shared;
    }
    Ok(known)
}

/// Room for a collective launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) per_multiprocessor: u32,
    device_blocks: u64,
    held: u64,
    pub(crate) available: u64,
}

/// How many blocks of this kernel may be resident now. `own` is the stream of the launch, whose earlier
/// launches are over before it starts.
pub(crate) fn room(
    pe: &Pe,
    state: &mut State,
    kernel: &Described,
    threads: u32,
    shared: u32,
    own: Option<usize>,
) -> Result<Room> {
    let known = known(pe, &mut state.kernels, kernel, shared)?;
    let shape = (threads, shared);
    let per_multiprocessor = match known.shapes.iter().find(|(known, _)| *known == shape) {
        Some((_, blocks)) => *blocks,
        None => {
            let blocks = pe.device.blocks_per_multiprocessor(known.function, threads, shared)?;
            known.shapes.push((shape, blocks));
            blocks
        }
    };
    let mut held = 0u64;
    let launches = state.launches;
    let mut failure = None;
    for (at, slot) in state.streams.iter_mut().enumerate() {
        let Some(slot) = slot.as_mut().filter(|slot| Some(at) != own && slot.held.is_some()) else {
            continue;
        };
        match slot.queue.is_idle() {
            Ok(true) => slot.over(launches),
            Ok(false) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
        held += slot.held.map_or(0, |held| held.in_blocks_of(per_multiprocessor));
    }
    if let Some(error) = failure {
        state.note_failure(&error);
        return Err(error);
    }
    let device_blocks = u64::from(per_multiprocessor) * u64::from(pe.device.info().multiprocessors);
    let available = (device_blocks / u64::from(pe.pes_on_device)).saturating_sub(held);
    Ok(Room { per_multiprocessor, device_blocks, held, available })
}

impl Room {
    pub(crate) fn check(&self, pe: &Pe, kernel: &Described, needed: u64) -> Result<()> {
        if needed <= self.available {
            return Ok(());
        }
        let device = pe.device.info();
        Err(Error::NotCoResident {
            kernel: kernel.symbol,
            device: device.name.clone(),
            needed,
            available: self.available,
            per_multiprocessor: self.per_multiprocessor,
            multiprocessors: device.multiprocessors,
            device_blocks: self.device_blocks,
            pes_on_device: u64::from(pe.pes_on_device),
            held: self.held,
        })
    }
}
