//! Starting kernels: checks of the shape, of the memory that the parameters name, of co-residency, then the
//! launch itself with its context. Nothing has run if there is an error. The path allocates nothing once a
//! kernel is known.

use crate::debug;
use crate::driver::{self, Body, Launch, Queue};
use crate::error::{Error, Result};
use crate::known::Described;
use crate::named::{Live, Wrong};
use crate::pe::Pe;
use crate::room::{known, take, would_take};
use crate::shape::check_shape;
use crate::shmem::Shmem;
use crate::state::State;
use crate::stream::Stream;
use crate::trace::PeTrace;
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::launch::{Kernel, LaunchConfig, Launcher, Named, ParamVisitor};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tracing::trace;

/// Most raw pieces of a kernel's parameters, the context included.
const MAX_PIECES: usize = 128;
impl Launcher for Shmem {
    type Error = Error;
    type Stream = Stream;

    /// # Errors
    /// [`Error::LaunchShape`], [`Error::BadHandle`], [`Error::BadTeam`], [`Error::NotCoResident`] for a launch that cannot run as
    /// asked; [`Error::NoPtx`], [`Error::NoFittingImage`], [`Error::PtxRejected`] if there is no code for the
    /// device; [`Error::Poisoned`], [`Error::KernelFailed`], [`Error::PeFailed`] for an earlier failure;
    /// [`Error::Cuda`] if the driver refuses.
    #[track_caller]
    fn launch_kernel<K: Kernel>(
        &self,
        stream: Option<&Stream>,
        config: LaunchConfig,
        raw: K::Raw,
    ) -> Result<()> {
        driver::here();
        start::<K>(self.pe(), Onto::stream(self.pe(), stream)?, config, raw)
    }
}

/// Which stream a launch goes to, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onto {
    /// The stream's slot.
    pub(crate) slot: usize,
    /// Whether it is an operation of the host program, whose line is that of the call.
    pub(crate) is_call: bool,
}

impl Onto {
    /// A launch of the program's own, on its stream or the default one.
    pub(crate) fn stream(pe: &Arc<Pe>, stream: Option<&Stream>) -> Result<Self> {
        let slot = stream.map_or(Ok(0), |stream| stream.slot_of(pe))?;
        Ok(Self { slot, is_call: false })
    }

    /// An operation of the host program.
    pub(crate) fn call(slot: usize) -> Self {
        Self { slot, is_call: true }
    }
}

/// Starts a kernel.
pub(crate) fn start<K: Kernel>(pe: &Arc<Pe>, onto: Onto, config: LaunchConfig, raw: K::Raw) -> Result<()> {
    launch(pe, onto, Described::of::<K>(), config, &mut |visitor| K::visit(&raw, visitor), &move || {
        Box::new(move |context| {
            // SAFETY: the emulator passes the context of this launch, whose parameters were checked.
            unsafe { K::run_thread(context, raw) }
        })
    })
}

fn launch(
    pe: &Arc<Pe>,
    onto: Onto,
    kernel: Described,
    config: LaunchConfig,
    visit: &mut dyn FnMut(&mut dyn ParamVisitor),
    body: &dyn Fn() -> Body,
) -> Result<()> {
    prepare(pe, onto, kernel, config, visit, body, |slots, slot, launch| {
        // SAFETY: `prepare` made the parameters from the kernel's own, and checked what they name; dropped
        // memory is given back only when the launches before the drop are over.
        unsafe { slots.queue(slot)?.launch(launch) }
    })
}

/// Checks a launch, hands it to `start` with its grid slot, and notes it.
pub(crate) fn prepare(
    pe: &Arc<Pe>,
    Onto { slot, is_call }: Onto,
    kernel: Described,
    config: LaunchConfig,
    visit: &mut dyn FnMut(&mut dyn ParamVisitor),
    body: &dyn Fn() -> Body,
    start: impl FnOnce(&Slots<'_>, usize, &Launch<'_>) -> Result<()>,
) -> Result<()> {
    if let Some(error) = obstacle(pe) {
        return Err(error);
    }
    let threads = check_shape(&kernel, &config, pe.device.info())?;
    let shared = kernel.shared + config.extra_shared;
    let began = pe.trace_time();
    let mut state = pe.lock();
    let state = &mut *state;
    if let Some(error) = state.broken() {
        return Err(error);
    }
    let place = state.place(pe, slot, kernel.symbol);
    let context = context(pe, place.slot, place.number);
    let mut params = Params {
        addresses: [std::ptr::null(); MAX_PIECES],
        pieces: 0,
        parameter: 0,
        wrong: None,
        names: Vec::new(),
        called: if pe.device.checker().is_some() { kernel.parameters } else { &[] },
        live: Live::of(state),
        kept: place.is_recorded().then(Vec::new),
    };
    params.piece((&raw const context).cast(), size_of::<ContextAbi>());
    visit(&mut params);
    let Params { addresses, pieces, wrong, names, kept, .. } = params;
    if let Some((parameter, wrong)) = wrong {
        return Err(wrong.into_error(kernel.symbol, parameter));
    }
    if pieces > MAX_PIECES {
        return kernel.refuse(format!("it has {pieces} parameter pieces, at most {MAX_PIECES} are passed"));
    }
    let function = known(pe, &mut state.kernels, &kernel, shared)?.function;
    let blocks = config.total_blocks();
    let taken = match kernel.collective {
        true if place.is_recorded() => Some(would_take(pe, state, &kernel, (threads, shared), blocks)?),
        true => Some(take(pe, state, &kernel, (threads, shared), slot, blocks)?),
        false => None,
    };
    let launch = Launch {
        symbol: kernel.symbol,
        function,
        grid: config.grid,
        block: config.block,
        shared,
        collective: kernel.collective,
        context,
        site: is_call.then(driver::site),
        params: &addresses[..pieces],
        names,
        body,
    };
    if let Err(error) = start(&Slots(state), place.slot, &launch) {
        state.note_failure(&error);
        state.put_back(slot, taken.and_then(|taken| taken.before));
        return Err(error);
    }
    if is_call {
        trace!(target: debug::OPERATION, pe = pe.me, stream = slot, name = kernel.symbol, number = place.number, "queued");
    } else {
        trace!(target: debug::LAUNCH, pe = pe.me, stream = slot, name = kernel.symbol, number = place.number, blocks, "launched");
    }
    state.started(place, kept.as_deref().unwrap_or_default(), taken.map(|taken| taken.held));
    pe.trace_start(&place, began);
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
pub(crate) fn obstacle(pe: &Pe) -> Option<Error> {
    let job = &pe.job;
    let clear = !job.alarm() && !job.any_failed() && !job.ended.load(Ordering::Acquire);
    if clear { None } else { pe.trouble() }
}

/// The context of a launch on the stream of this slot, with this number for error records.
pub(crate) fn context(pe: &Pe, slot: usize, number: u32) -> ContextAbi {
    ContextAbi {
        my_pe: pe.me,
        n_pes: pe.job.n_pes,
        heap_base: pe.base(),
        heap_bytes: pe.job.mapped.load(Ordering::Acquire),
        peer_stride: pe.job.stride,
        error_record: pe.job.record_address(pe.me),
        alarm: pe.job.alarm_address(),
        deadline: pe.deadline_ticks,
        grid_slot: slot as u32,
        launch: number,
        teams: pe.tables,
        trace: pe.trace.as_ref().map_or(0, PeTrace::address),
        tuning: pe.job.chosen_by(),
    }
}

/// Collects parameters and checks what they name.
struct Params<'a> {
    addresses: [*const u8; MAX_PIECES],
    /// May exceed [`MAX_PIECES`]; the pieces beyond are counted, not kept.
    pieces: usize,
    parameter: u32,
    /// The first parameter that names what is not there.
    wrong: Option<(u32, Wrong)>,
    /// What a checker is told: parts of the heap, and how the kernel calls them.
    names: Vec<(u64, u64, &'static str)>,
    called: &'static [&'static str],
    live: Live<'a>,
    /// What the parameters name, for a graph.
    kept: Option<Vec<Named>>,
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
        if let Named::Symmetric { offset, bytes, .. } = named
            && let Some(name) = self.called.get(parameter as usize)
        {
            self.names.push((offset, bytes, name));
        }
        self.kept.iter_mut().for_each(|kept| kept.push(named));
        if self.wrong.is_none() {
            self.wrong = self.live.check(named).err().map(|wrong| (parameter, wrong));
        }
    }
}
