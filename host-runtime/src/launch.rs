//! Starting kernels: checks of the shape, of the memory that the parameters name, of co-residency, then the
//! launch itself with its context. Nothing has run if there is an error. The path allocates nothing once a
//! kernel is known.

use crate::alloc::Allocation;
use crate::driver::{Body, DeviceInfo, Launch, Queue};
use crate::error::{Error, Result};
use crate::known::{Kernels, Known};
use crate::pe::{Held, Pe, State};
use crate::shmem::Shmem;
use crate::stream::Stream;
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::launch::{Kernel, LaunchConfig, Launcher, Named, ParamVisitor};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most raw pieces of a kernel's parameters, the context included.
const MAX_PIECES: usize = 128;
/// Shared memory that a kernel may have without asking for more (CUDA C++ Programming Guide, compute
/// capabilities).
const PLAIN_SHARED: u32 = 48 * 1024;

/// What the launch path needs of a [`Kernel`], without its type.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    id: TypeId,
    pub(crate) symbol: &'static str,
    collective: bool,
    shared: u32,
    block: Option<u32>,
}

impl Described {
    pub(crate) fn of<K: Kernel>() -> Self {
        Self {
            id: TypeId::of::<K>(),
            symbol: K::SYMBOL,
            collective: K::COLLECTIVE,
            shared: K::SHARED_BYTES,
            block: K::BLOCK,
        }
    }

    fn refuse<T>(&self, what: String) -> Result<T> {
        Err(Error::LaunchShape { kernel: self.symbol, what })
    }
}

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

impl Launcher for Shmem {
    type Error = Error;
    type Stream = Stream;

    /// # Errors
    /// [`Error::LaunchShape`], [`Error::BadHandle`], [`Error::NotCoResident`] for a launch that cannot run as
    /// asked; [`Error::NoPtx`], [`Error::NoFittingImage`], [`Error::PtxRejected`] if there is no code for the
    /// device; [`Error::Poisoned`], [`Error::KernelFailed`], [`Error::PeFailed`] for an earlier failure;
    /// [`Error::Cuda`] if the driver refuses.
    fn launch_kernel<K: Kernel>(
        &self,
        stream: Option<&Stream>,
        config: LaunchConfig,
        raw: K::Raw,
    ) -> Result<()> {
        launch(
            self.pe(),
            stream,
            Described::of::<K>(),
            config,
            &mut |visitor| K::visit(&raw, visitor),
            &move || {
                Box::new(move |context| {
                    // SAFETY: the emulator passes the context of this launch, whose parameters were checked.
                    unsafe { K::run_thread(context, raw) }
                })
            },
        )
    }
}

/// Starts a kernel.
fn launch(
    pe: &Arc<Pe>,
    stream: Option<&Stream>,
    kernel: Described,
    config: LaunchConfig,
    visit: &mut dyn FnMut(&mut dyn ParamVisitor),
    body: &dyn Fn() -> Body,
) -> Result<()> {
    prepare(pe, stream, kernel, config, visit, body, |slots, slot, launch| {
        // SAFETY: `prepare` made the parameters from the kernel's own, and checked what they name; dropped
        // memory is given back only when the launches before the drop are over.
        unsafe { slots.queue(slot)?.launch(launch) }
    })
}

/// Checks a launch, hands it to `start` with its grid slot, and notes it.
pub(crate) fn prepare(
    pe: &Arc<Pe>,
    stream: Option<&Stream>,
    kernel: Described,
    config: LaunchConfig,
    visit: &mut dyn FnMut(&mut dyn ParamVisitor),
    body: &dyn Fn() -> Body,
    start: impl FnOnce(&Slots<'_>, usize, &Launch<'_>) -> Result<()>,
) -> Result<()> {
    if let Some(error) = obstacle(pe) {
        return Err(error);
    }
    let slot = match stream {
        None => 0,
        Some(stream) => stream.slot_of(pe)?,
    };
    let threads = check_shape(&kernel, &config, pe.device.info())?;
    let shared = kernel.shared + config.extra_shared;
    let mut state = pe.lock();
    let state = &mut *state;
    if let Some(error) = state.broken() {
        return Err(error);
    }
    let number = state.launches + 1;
    let context = context(pe, slot, number);
    let mut params = Params {
        addresses: [std::ptr::null(); MAX_PIECES],
        pieces: 0,
        parameter: 0,
        wrong: None,
        symmetric: &state.symmetric,
        local: &state.local,
    };
    params.piece((&raw const context).cast(), size_of::<ContextAbi>());
    visit(&mut params);
    let Params { addresses, pieces, wrong, .. } = params;
    if let Some(wrong) = wrong {
        return Err(wrong.into_error(kernel.symbol));
    }
    if pieces > MAX_PIECES {
        return kernel.refuse(format!("it has {pieces} parameter pieces, at most {MAX_PIECES} are passed"));
    }
    let function = known(pe, &mut state.kernels, &kernel, shared)?.function;
    let held = if kernel.collective {
        let room = room(pe, state, &kernel, threads, shared, Some(slot))?;
        room.check(pe, &kernel, config.total_blocks())?;
        Some(Held { blocks: config.total_blocks(), per_multiprocessor: room.per_multiprocessor })
    } else {
        None
    };
    let launch = Launch {
        symbol: kernel.symbol,
        function,
        grid: config.grid,
        block: config.block,
        shared,
        collective: kernel.collective,
        context,
        params: &addresses[..pieces],
        body,
    };
    if let Err(error) = start(&Slots(state), slot, &launch) {
        state.note_failure(&error);
        return Err(error);
    }
    state.launches = number;
    if let Some(slot) = state.streams.get_mut(slot).and_then(Option::as_mut) {
        slot.last = number;
        // Of two launches of one stream the greater counts: they run one after the other.
        slot.held = match (slot.held, held) {
            (Some(a), Some(b)) => Some(a.greater(b)),
            (a, b) => a.or(b),
        };
    }
    pe.job.remember(pe.me, number as u32, kernel.symbol);
    Ok(())
}

/// The streams of a PE while a launch is made.
pub(crate) struct Slots<'a>(pub(crate) &'a State);

impl Slots<'_> {
    pub(crate) fn queue(&self, slot: usize) -> Result<&Arc<dyn Queue>> {
        match self.0.streams.get(slot) {
            Some(Some(slot)) => Ok(&slot.queue),
            _ => Err(Error::Config { what: "the launch names a stream that does not exist".into() }),
        }
    }
}

/// The error that stands against a launch, looked for without a lock.
fn obstacle(pe: &Pe) -> Option<Error> {
    let job = &pe.job;
    let clear = !job.alarm() && !job.any_failed.load(Ordering::Acquire) && !job.ended.load(Ordering::Acquire);
    if clear { None } else { pe.trouble() }
}

fn context(pe: &Pe, slot: usize, number: u64) -> ContextAbi {
    ContextAbi {
        my_pe: pe.me,
        n_pes: pe.job.n_pes,
        heap_base: pe.base(),
        heap_bytes: pe.job.mapped.load(Ordering::Acquire),
        peer_bases: pe.peer_bases,
        error_record: pe.job.record_address(pe.me),
        alarm: pe.job.alarm_address(),
        deadline: pe.deadline_ticks,
        grid_slot: slot as u32,
        launch: number as u32,
    }
}

/// Checks the shape of a launch; the threads per block.
fn check_shape(kernel: &Described, config: &LaunchConfig, device: &DeviceInfo) -> Result<u32> {
    let threads =
        config.block.iter().try_fold(1u32, |product, &n| product.checked_mul(n)).unwrap_or(u32::MAX);
    let shared = u64::from(kernel.shared) + u64::from(config.extra_shared);
    if config.grid.contains(&0) || config.block.contains(&0) {
        return kernel.refuse(format!(
            "the launch has a grid of {:?} blocks of {:?} threads: no dimension may be 0",
            config.grid, config.block
        ));
    }
    if let Some(block) = kernel.block
        && block != threads
    {
        return kernel.refuse(format!("the kernel is written for blocks of {block} threads, not {threads}"));
    }
    if threads > device.max_block_threads {
        return kernel.refuse(format!(
            "{threads} threads per block are more than {} has room for ({})",
            device.name, device.max_block_threads
        ));
    }
    let exceeds = |dims: [u32; 3], limits: [u32; 3]| dims.iter().zip(limits).any(|(&dim, limit)| dim > limit);
    if exceeds(config.block, device.max_block) || exceeds(config.grid, device.max_grid) {
        return kernel.refuse(format!(
            "a grid of {:?} blocks of {:?} threads exceeds what {} can run: {:?} blocks of {:?} threads",
            config.grid, config.block, device.name, device.max_grid, device.max_block
        ));
    }
    if shared > u64::from(device.max_shared) {
        return kernel.refuse(format!(
            "{shared} bytes of shared memory per block are more than {} has ({})",
            device.name, device.max_shared
        ));
    }
    Ok(threads)
}

/// Looks a kernel up, the first time, and lets it have its shared memory.
fn known<'a>(pe: &Pe, kernels: &'a mut Kernels, kernel: &Described, shared: u32) -> Result<&'a mut Known> {
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
    per_multiprocessor: u32,
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
    fn check(&self, pe: &Pe, kernel: &Described, needed: u64) -> Result<()> {
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

/// Collects parameters and checks what they name.
struct Params<'a> {
    addresses: [*const u8; MAX_PIECES],
    /// May exceed [`MAX_PIECES`]; the pieces beyond are counted, not kept.
    pieces: usize,
    parameter: u32,
    wrong: Option<Wrong>,
    symmetric: &'a BTreeMap<u64, Arc<Allocation>>,
    local: &'a BTreeMap<u64, u64>,
}

/// The first parameter that names what it must not.
struct Wrong {
    parameter: u32,
    memory: &'static str,
    start: u64,
    bytes: u64,
    why: &'static str,
}

impl Wrong {
    fn into_error(self, kernel: &'static str) -> Error {
        let Self { parameter, memory, start, bytes, why } = self;
        Error::BadHandle { kernel, parameter, memory, start, bytes, why }
    }
}

impl ParamVisitor for Params<'_> {
    fn piece(&mut self, data: *const u8, _: usize) {
        if let Some(place) = self.addresses.get_mut(self.pieces) {
            *place = data;
        }
        self.pieces += 1;
    }

    fn names(&mut self, named: Named) {
        let parameter = self.parameter;
        self.parameter += 1;
        let wrong = |memory, start, bytes, why| Some(Wrong { parameter, memory, start, bytes, why });
        let found = match named {
            Named::Nothing => None,
            Named::Symmetric { offset: u64::MAX, bytes, .. } => wrong(
                "the symmetric heap",
                u64::MAX,
                bytes,
                "given to `at` or `slice`: check it against the vector's length",
            ),
            Named::Symmetric { bytes: 0, .. } | Named::Local { bytes: 0, .. } => None,
            Named::Symmetric { offset, bytes, tag } => {
                let before = self.symmetric.range(..=offset).next_back();
                match before.filter(|(start, of)| of.tag == tag && inside(**start, of.bytes, offset, bytes)) {
                    Some(_) => None,
                    None => wrong(
                        "the symmetric heap",
                        offset,
                        bytes,
                        "which no live allocation of this PE holds: its vector was dropped or freed, or it is from another run",
                    ),
                }
            }
            Named::Local { address, bytes } => {
                let before = self.local.range(..=address).next_back();
                match before.filter(|(start, of)| inside(**start, **of, address, bytes)) {
                    Some(_) => None,
                    None => wrong(
                        "local device memory",
                        address,
                        bytes,
                        "which no live DeviceVec of this PE holds: it was dropped, or belongs to another PE",
                    ),
                }
            }
        };
        if self.wrong.is_none() {
            self.wrong = found;
        }
    }
}

/// Whether `bytes` from `at` on lie in `of` bytes from `start` on; `start <= at`.
fn inside(start: u64, of: u64, at: u64, bytes: u64) -> bool {
    let offset = at - start;
    offset <= of && bytes <= of - offset
}
