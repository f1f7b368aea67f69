//! Room on a device: all blocks of a collective launch must be resident at once, beside what else is.

use crate::error::{Error, Result};
use crate::known::{Described, Kernels, Known};
use crate::ledger::Held;
use crate::pe::Pe;
use crate::shmem::Shmem;
use crate::state::State;
use oxshmem_device::launch::Kernel;

/// Shared memory that a kernel may have without asking for more (CUDA C++ Programming Guide, compute
/// capabilities).
const PLAIN_SHARED: u32 = 48 * 1024;

impl Shmem {
    /// How many blocks of `threads` threads of the collective kernel `K` this PE can launch now: what its
    /// share of the device holds, less what its unfinished collective launches hold, and no more than those of
    /// the other PEs of the device leave free.
    ///
    /// # Errors
    /// Those of a launch for want of device code; [`Error::Cuda`] if the driver refuses.
    pub fn resident_blocks<K: Kernel>(&self, threads: u32) -> Result<u32> {
        let kernel = Described::of::<K>();
        let mut state = self.pe().lock();
        let room = room(self.pe(), &mut state, &kernel, (threads, K::SHARED_BYTES), None)?;
        let ledger = &self.pe().job.ledgers[self.pe().device.info().ordinal as usize];
        let others = ledger.held_by_others(self.my_pe(), room.per_multiprocessor);
        Ok(u32::try_from(room.available(others)).unwrap_or(u32::MAX))
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

/// Room for a collective launch, in blocks of its kernel.
#[derive(Clone, Copy, Debug)]
struct Room {
    per_multiprocessor: u32,
    device_blocks: u64,
    /// This PE's part of them.
    share: u64,
    /// What this PE's other streams hold.
    held: u64,
}

/// What a launch took, until it has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) held: Held,
    /// What its stream held before, if room was taken.
    pub(crate) before: Option<Option<Held>>,
}

/// How many blocks of this kernel this PE leaves room for. `own` is the stream of the launch, whose earlier
/// launches are over before it starts.
fn room(
    pe: &Pe,
    state: &mut State,
    kernel: &Described,
    (threads, shared): (u32, u32),
    own: Option<usize>,
) -> Result<Room> {
    let per_multiprocessor = fitting(pe, state, kernel, (threads, shared))?;
    room_of(pe, state, per_multiprocessor, own)
}

/// How many blocks of a kernel fit on a multiprocessor.
fn fitting(pe: &Pe, state: &mut State, kernel: &Described, shape: (u32, u32)) -> Result<u32> {
    let (threads, shared) = shape;
    let known = known(pe, &mut state.kernels, kernel, shared)?;
    Ok(match known.shapes.iter().find(|(known, _)| *known == shape) {
        Some((_, blocks)) => *blocks,
        None => {
            let blocks = pe.device.blocks_per_multiprocessor(known.function, threads, shared)?;
            known.shapes.push((shape, blocks));
            blocks
        }
    })
}

/// As [`room`], for blocks of which so many fit on a multiprocessor.
fn room_of(pe: &Pe, state: &mut State, per_multiprocessor: u32, own: Option<usize>) -> Result<Room> {
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
    Ok(Room { per_multiprocessor, device_blocks, share: device_blocks / u64::from(pe.pes_on_device), held })
}

/// Takes room for a launch of `blocks` blocks of `threads` threads and `shared` bytes each on stream `at`.
///
/// # Errors
/// [`Error::NotCoResident`]; those of looking the kernel up.
pub(crate) fn take(
    pe: &Pe,
    state: &mut State,
    kernel: &Described,
    shape: (u32, u32),
    at: usize,
    blocks: u64,
) -> Result<Taken> {
    let per_multiprocessor = fitting(pe, state, kernel, shape)?;
    let held = Held { blocks, per_multiprocessor };
    let before = take_room(pe, state, kernel.symbol, held, at)?;
    Ok(Taken { held, before: Some(before) })
}

/// What a launch will take that is recorded for a graph, and not yet launched.
///
/// # Errors
/// [`Error::NotCoResident`] if it could never run; those of looking the kernel up.
pub(crate) fn would_take(
    pe: &Pe,
    state: &mut State,
    kernel: &Described,
    shape: (u32, u32),
    blocks: u64,
) -> Result<Taken> {
    let per_multiprocessor = fitting(pe, state, kernel, shape)?;
    let room = Room { held: 0, ..room_of(pe, state, per_multiprocessor, None)? };
    if blocks > room.available(0) {
        return Err(room.refuse(pe, kernel.symbol, blocks, 0));
    }
    Ok(Taken { held: Held { blocks, per_multiprocessor }, before: None })
}

/// Takes room on stream `at` for what is called `name`; what the stream held before.
///
/// # Errors
/// [`Error::NotCoResident`].
pub(crate) fn take_room(
    pe: &Pe,
    state: &mut State,
    name: &'static str,
    held: Held,
    at: usize,
) -> Result<Option<Held>> {
    let room = room_of(pe, state, held.per_multiprocessor, Some(at))?;
    let fits = |others| held.blocks <= room.available(others);
    let slot = state.streams.get(at).and_then(Option::as_ref);
    let before = match slot.and_then(|slot| Some((slot, slot.seat.as_ref()?))) {
        Some((slot, seat)) => seat.take(&slot.queue, held, fits),
        None if fits(0) => Ok(None),
        None => Err(0),
    };
    before.map_err(|others| room.refuse(pe, name, held.blocks, others))
}

impl Room {
    /// Blocks that may be resident beside what the other PEs hold: this PE never takes more than its share, so
    /// that equal PEs fit in any order, nor what others have taken.
    fn available(&self, held_by_others: u64) -> u64 {
        let free = self.device_blocks.saturating_sub(self.held).saturating_sub(held_by_others);
        self.share.saturating_sub(self.held).min(free)
    }

    fn refuse(&self, pe: &Pe, kernel: &'static str, needed: u64, held_by_others: u64) -> Error {
        let device = pe.device.info();
        Error::NotCoResident {
            kernel,
            device: device.name.clone(),
            needed,
            available: self.available(held_by_others),
            per_multiprocessor: self.per_multiprocessor,
            multiprocessors: device.multiprocessors,
            device_blocks: self.device_blocks,
            pes_on_device: u64::from(pe.pes_on_device),
            held: self.held,
            held_by_others,
        }
    }
}
