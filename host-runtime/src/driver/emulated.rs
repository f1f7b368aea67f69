//! The emulated GPU as a device. Its memory is this process's, so copies are memory copies, and a kernel is the
//! Rust function itself.

use super::{
    Body, Checker, Device, DeviceId, DeviceInfo, Function, HostThread, Launch, Mark, Queue, Recorded,
    Registered, Release, Reservation, Shareable, not_comparable, recorded_elsewhere,
};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::failure::KernelPanic;
use crate::launched::Launched;
use oxshmem_device::abi::ContextAbi;
use oxshmem_emulator as emu;
use std::any::Any;
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::os::fd::AsFd;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Starts an emulated machine for this run: with all its devices, or with the one of a PE that is a process.
pub(super) fn open(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    let all = config.emulated_devices.unwrap_or(config.pes).min(config.pes);
    let machine = match &config.launched {
        Some(launched) => of_one_process(config, launched, all),
        None => config.machine.clone().with_devices(all),
    };
    let (count, first) =
        (machine.devices, config.launched.as_ref().map_or(0, |launched| launched.local_rank % all));
    let machine =
        emu::Machine::new(machine).map_err(|error| failed(error, "starting the emulated machine"))?;
    let open = |index| -> Result<Arc<dyn Device>> {
        let device = machine.device(index).map_err(|error| failed(error, "opening an emulated device"))?;
        Ok(Arc::new(Emulated::new(machine.clone(), device, first + index)))
    };
    (0..count).map(open).collect()
}

/// A machine with one device, whose memory other processes write. PEs that name one device share its memory.
fn of_one_process(config: &Config, launched: &Launched, all: u32) -> emu::MachineConfig {
    let sharers = (0..config.pes).filter(|pe| pe % all == launched.rank % all).count() as u64;
    let machine = config.machine.clone().with_devices(1);
    let memory = machine.memory_per_device.unwrap_or_else(|| emu::available_memory() / u64::from(all));
    emu::MachineConfig {
        memory_per_device: Some(memory / sharers.max(1)),
        // No proof covers what other processes do: a wait expires when nothing has happened for so long.
        outside_grace: Some(config.deadline),
        ..machine
    }
}

#[derive(Debug)]
struct Emulated {
    machine: Arc<emu::Machine>,
    device: emu::Device,
    info: DeviceInfo,
}

impl Emulated {
    /// `number` is the device's among those of the job.
    fn new(machine: Arc<emu::Machine>, device: emu::Device, number: u32) -> Self {
        let config = machine.config();
        let max_block_threads = config.max_threads_per_block.min(config.threads_per_sm);
        let info = DeviceInfo {
            name: format!("emulated GPU {number}"),
            model: "emulated GPU".into(),
            emulated: true,
            ordinal: device.index(),
            id: u128::from(number).to_be_bytes(),
            multiprocessors: config.sms,
            memory: device.memory().1,
            granule: emu::GRANULARITY,
            max_block_threads,
            max_block: [max_block_threads, max_block_threads, max_block_threads.min(64)],
            max_grid: [i32::MAX as u32, 65_535, 65_535],
            max_shared: config.shared_per_block,
            copy_engine: false,
            ticks_per_second: emu::STEPS_PER_SECOND,
        };
        Self { machine, device, info }
    }
}

impl Device for Emulated {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn enter(&self, pe: u32) -> Result<Box<dyn HostThread>> {
        Ok(Box::new(OnMachine(self.machine.host_thread(pe))))
    }

    fn checker(&self) -> Option<&dyn Checker> {
        self.machine.config().check.as_ref().map(|_| self as &dyn Checker)
    }

    fn check_reach(&self, _: &DeviceId, _: &str) -> Result<()> {
        Ok(())
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(self.device.memory().0)
    }

    fn reserve(&self, bytes: u64, wish: u64) -> Result<Box<dyn Reservation>> {
        let inner = self.machine.reserve_near(bytes, wish).map_err(|error| no_addresses(error, bytes))?;
        Ok(Box::new(Segment {
            device: self.device.clone(),
            inner,
            created: None,
            mapped: HashMap::new(),
            _machine: self.machine.clone(),
        }))
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Box<dyn Registered>> {
        let address = start.as_ptr().expose_provenance() as u64;
        // SAFETY: the caller's promise.
        let registration = unsafe { self.machine.register_host(address, bytes as u64) };
        Ok(Box::new(Shared { address, _registration: registration }))
    }

    fn queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(Stream {
            machine: self.machine.clone(),
            device: self.device.clone(),
            stream: self.device.create_stream(),
            failure: Mutex::new(None),
            recording: Mutex::new(None),
            local: Mutex::default(),
        }))
    }

    fn function(&self, _: &'static str) -> Result<Function> {
        Ok(Function(0))
    }

    fn blocks_per_multiprocessor(&self, _: Function, threads: u32, shared: u32) -> Result<u32> {
        Ok(self.device.active_blocks(threads, shared) / self.info.multiprocessors)
    }

    fn allow_shared(&self, _: Function, _: u32) -> Result<()> {
        Ok(())
    }

    fn abandon(&self) {
        self.machine.stop();
    }
}

impl Checker for Emulated {
    fn allocated(&self, range: (u64, u64, u64), name: &str) {
        self.machine.allocated(super::site(), range, name);
    }

    fn freed(&self, offset: u64) {
        self.machine.freed(super::site(), offset);
    }

    fn found(&self) -> Option<emu::check::Checked> {
        self.machine.checked()
    }
}

struct OnMachine(emu::HostThread);

impl HostThread for OnMachine {
    fn blocked(&self, wait: &mut dyn FnMut()) {
        self.0.blocked(wait);
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        self.0.waiting(wait);
    }

    fn release(&self) -> Release {
        let handle = self.0.handle();
        Arc::new(move || handle.released())
    }

    fn arrives(&self, members: &[u32], completes: bool) {
        self.0.arrives(super::site(), members, completes);
    }

    fn back(&self) {
        self.0.back();
    }

    fn completes(&self) {
        self.0.completes(super::site());
    }

    fn leaves(&self, members: &[u32]) {
        self.0.leaves(super::site(), members);
    }
}

#[derive(Debug)]
struct Segment {
    // Dropped before the machine.
    inner: emu::Reservation,
    created: Option<emu::Physical>,
    /// Bytes of what is mapped, by offset.
    mapped: HashMap<u64, u64>,
    device: emu::Device,
    _machine: Arc<emu::Machine>,
}

impl Reservation for Segment {
    fn base(&self) -> u64 {
        self.inner.address()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn create(&mut self, bytes: u64) -> Result<()> {
        self.created =
            Some(self.device.create(bytes).map_err(|error| failed(error, "allocating heap memory"))?);
        Ok(())
    }

    fn map_created(&mut self, at: u64) -> Result<()> {
        match self.created.take() {
            Some(physical) => {
                self.inner.map(at, &physical).map_err(|error| failed(error, "mapping heap memory"))?;
                self.mapped.insert(at, physical.bytes());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn drop_created(&mut self) {
        self.created = None;
    }

    fn export(&self) -> Result<Shareable> {
        let doing = "exporting heap memory";
        let physical = self.created.as_ref().ok_or_else(|| nothing(doing))?;
        let file = physical.as_fd().try_clone_to_owned();
        file.map(Shareable::Descriptor).map_err(|error| Error::Emulated { what: error.to_string(), doing })
    }

    fn import(&mut self, shareable: Shareable, bytes: u64) -> Result<()> {
        let doing = "importing another PE's heap memory";
        let refuse = |what: String| Err(Error::Emulated { what, doing });
        let Shareable::Descriptor(file) = shareable else {
            return refuse("it came as a fabric handle, and an emulated GPU has no fabric".into());
        };
        let physical = emu::Physical::import(file).map_err(|error| failed(error, doing))?;
        if physical.bytes() != bytes {
            return refuse(format!("it has {} bytes, and not {bytes}", physical.bytes()));
        }
        self.created = Some(physical);
        Ok(())
    }

    fn unmap(&mut self, at: u64) {
        if let Some(bytes) = self.mapped.remove(&at) {
            // It was mapped so; should the system refuse, it stays until the reservation goes.
            let _ = self.inner.unmap(at, bytes);
        }
    }
}

fn nothing(doing: &'static str) -> Error {
    Error::Emulated { what: "no memory was taken".into(), doing }
}

#[derive(Debug)]
struct Shared {
    address: u64,
    _registration: emu::HostRegistration,
}

impl Registered for Shared {
    fn device(&self) -> u64 {
        self.address
    }
}

/// How long a full stream is waited for before it is tried again.
const FULL: Duration = Duration::from_millis(100);

/// A launch that can be made again.
struct Node {
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    collective: bool,
    context: ContextAbi,
    site: Option<&'static Location<'static>>,
    names: Vec<(u64, u64, &'static str)>,
    body: Arc<dyn Fn(ContextAbi) + Send + Sync>,
}

impl Node {
    fn of(launch: &Launch<'_>) -> Self {
        let body: Body = (launch.body)();
        Self {
            name: launch.symbol,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            collective: launch.collective,
            context: launch.context,
            site: launch.site,
            names: launch.names.clone(),
            body: Arc::from(body),
        }
    }

    /// One thread that does not look at its context.
    fn step(name: &'static str, run: impl Fn(ContextAbi) + Send + Sync + 'static) -> Self {
        // SAFETY: integers only, for which all zero is right.
        let context = unsafe { std::mem::zeroed() };
        let (grid, block, shared, collective) = ([1; 3], [1; 3], 0, false);
        let (site, names, body) = (None, Vec::new(), Arc::new(run));
        Self { name, grid, block, shared, collective, context, site, names, body }
    }

    fn launch(&self) -> emu::Launch {
        let body = self.body.clone();
        emu::Launch {
            name: self.name,
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared,
            collective: self.collective,
            context: self.context,
            site: self.site,
            run: Box::new(move |context| body(context)),
        }
    }
}

impl Debug for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?} x {:?}", self.name, self.grid, self.block)
    }
}

/// What a stream has recorded.
#[derive(Debug)]
struct Graph {
    nodes: Vec<Node>,
    /// The end of its last replay.
    last: Mutex<Option<emu::Point>>,
}

impl Recorded for Graph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct Stream {
    machine: Arc<emu::Machine>,
    device: emu::Device,
    stream: emu::Stream,
    /// A failure that a wait took from the stream, until `is_idle` tells it.
    failure: Mutex<Option<Error>>,
    /// What was launched since it began to record, if it does.
    recording: Mutex<Option<Vec<Node>>>,
    /// Local memory by address.
    local: Mutex<HashMap<u64, emu::Allocation>>,
}

impl Stream {
    fn recording(&self) -> MutexGuard<'_, Option<Vec<Node>>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a launch, behind a point of another stream if one is given. Where the process has no more threads for emulated
    /// ones, those of the launches before are waited for, as a driver waits whose queue is full.
    fn submit(&self, node: &Node, after: Option<&emu::Point>) -> Result<()> {
        if !node.names.is_empty() {
            self.machine.named(super::site(), node.names.clone());
        }
        self.machine.comes_to(super::site());
        loop {
            let launched = match after {
                Some(point) => self.stream.launch_after(node.launch(), point),
                None => self.stream.launch(node.launch()),
            };
            match launched {
                Err(emu::Error::TooManyThreads { .. }) if !self.stream.is_idle() => {
                    self.take_failure(FULL);
                }
                launched => return launched.map_err(|error| failed(error, "launching a kernel")),
            }
        }
    }

    /// Waits for the stream, and keeps what it failed with.
    fn take_failure(&self, longest: Duration) {
        self.machine.comes_to(super::site());
        if let Err(error) = self.stream.synchronize_for(longest) {
            let mut kept = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get_or_insert(failed(error, "running a kernel"));
        }
    }
}

impl Queue for Stream {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let node = Node::of(launch);
        if let Some(nodes) = &mut *self.recording() {
            nodes.push(node);
            return Ok(());
        }
        self.submit(&node, None)
    }

    fn is_idle(&self) -> Result<bool> {
        self.machine.comes_to(super::site());
        if !self.stream.is_idle() {
            return Ok(false);
        }
        self.take_failure(Duration::ZERO);
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    fn is_over(&self) -> bool {
        self.stream.is_idle()
    }

    fn pause(&self, _: u32, longest: Duration) {
        self.take_failure(longest);
    }

    fn record(&self) -> Result<Box<dyn Mark>> {
        let reached = Arc::new(Point::default());
        let event = {
            let reached = reached.clone();
            Node::step("(event)", move |_| reached.reach())
        };
        self.stream.launch(event.launch()).map_err(|error| failed(error, "recording an event"))?;
        Ok(Box::new(Reached { reached, point: self.stream.point() }))
    }

    unsafe fn start_copy(&self, _: u64, _: u64, _: u64) -> Result<()> {
        Err(Error::Emulated { what: "it has no copy engine".into(), doing: "copying on a stream" })
    }

    fn wait(&self, mark: &dyn Mark) -> Result<()> {
        let Some(event) = mark.as_any().downcast_ref::<Reached>() else { return Err(not_comparable()) };
        self.submit(&Node::step("(wait for an event)", |_| ()), Some(&event.point))
    }

    fn begin_capture(&self) -> Result<()> {
        *self.recording() = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&self) -> Result<Box<dyn Recorded>> {
        let nodes = self.recording().take().unwrap_or_default();
        Ok(Box::new(Graph { nodes, last: Mutex::new(None) }))
    }

    unsafe fn replay(&self, recorded: &dyn Recorded) -> Result<()> {
        let Some(graph) = recorded.as_any().downcast_ref::<Graph>() else { return Err(recorded_elsewhere()) };
        let mut last = graph.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Behind its earlier replays, whose words it uses.
        let mut before = last.take().filter(|last| !last.is_over());
        for node in &graph.nodes {
            self.submit(node, before.take().as_ref())?;
        }
        *last = Some(self.stream.point());
        Ok(())
    }

    unsafe fn write(&self, to: u64, from: &[u8]) -> Result<()> {
        self.machine.accessed(super::site(), to, from.len() as u64, true);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        if from.len() == 8 && to.addr().is_multiple_of(8) {
            let mut word = [0; 8];
            word.copy_from_slice(from);
            // SAFETY: the caller's promise; emulated device memory is mapped in this process. One word may be
            // an abort word or a signal, which kernels read meanwhile, atomically.
            unsafe { (*to.cast::<AtomicU64>()).store(u64::from_ne_bytes(word), Ordering::Release) };
        } else {
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        }
        self.machine.memory_changed();
        Ok(())
    }

    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.machine.accessed(super::site(), from, to.len() as u64, false);
        let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    unsafe fn zero(&self, to: u64, bytes: u64) -> Result<()> {
        self.machine.accessed(super::site(), to, bytes, true);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(to, 0, bytes as usize) };
        self.machine.memory_changed();
        Ok(())
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.machine.accessed(super::site(), from, bytes, false);
        self.machine.accessed(super::site(), to, bytes, true);
        let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
        self.machine.memory_changed();
        Ok(())
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        let memory =
            self.device.allocate(bytes).map_err(|error| failed(error, "allocating local device memory"))?;
        let address = memory.address();
        self.machine.allocated_local(super::site(), address, bytes);
        self.local.lock().unwrap_or_else(PoisonError::into_inner).insert(address, memory);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) -> Result<()> {
        self.machine.freed_local(super::site(), address);
        self.local.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// When a kernel of one thread, launched for this, ran.
#[derive(Debug, Default)]
struct Point {
    at: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Point {
    fn reach(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.changed.notify_all();
    }

    fn at(&self) -> Option<Instant> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Reached {
    reached: Arc<Point>,
    /// The same, as the emulator knows it.
    point: emu::Point,
}

impl Mark for Reached {
    fn is_done(&self) -> Result<bool> {
        Ok(self.reached.at().is_some())
    }

    fn pause(&self, _: u32, longest: Duration) {
        super::blocked(|| {
            let at = self.reached.at.lock().unwrap_or_else(PoisonError::into_inner);
            // Looks again now and then: a stream that failed never reaches the point.
            let _ = self.reached.changed.wait_timeout_while(at, longest, |at| at.is_none());
        });
    }

    fn since(&self, earlier: &dyn Mark) -> Result<Duration> {
        let earlier = earlier.as_any().downcast_ref::<Self>().and_then(|earlier| earlier.reached.at());
        match (self.reached.at(), earlier) {
            (Some(end), Some(start)) => Ok(end.saturating_duration_since(start)),
            _ => Err(not_comparable()),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The error of addresses that were not given; the job knows whose they are.
fn no_addresses(error: emu::Error, asked: u64) -> Error {
    match error {
        emu::Error::System { reason, .. } => {
            Error::NoAddresses { asked, pes: 1, limited: false, least: 1, reason }
        }
        other => failed(other, "reserving a heap's addresses"),
    }
}

/// The emulator's error as ours.
fn failed(error: emu::Error, doing: &'static str) -> Error {
    let panicked = |site: &emu::Site, message: String, at: Option<String>| {
        Error::KernelFailed(Box::new(KernelPanic {
            pe: site.pe,
            kernel: site.kernel.to_owned(),
            block: site.block,
            thread: site.thread,
            message,
            at,
            last_operation: site.operation.map(|last| last.to_string()),
        }))
    };
    match error {
        emu::Error::KernelPanicked { site, message, location } => panicked(&site, message, Some(location)),
        emu::Error::WildAccess { site, address, bytes, problem } => {
            panicked(&site, format!("access of {bytes} bytes at {address:#x}: {problem}"), None)
        }
        emu::Error::Diverged { site, living, at_barrier, at_warp } => {
            let message = format!(
                "the block's {living} living threads all wait and can never meet: {at_barrier} at a block \
                 barrier, {at_warp} at warp collectives"
            );
            panicked(&site, message, None)
        }
        emu::Error::StackOverflow { site, stack } => {
            panicked(&site, format!("its stack of {stack} bytes is used up"), None)
        }
        emu::Error::OutOfMemory { asked, free, total, .. } => {
            Error::OutOfMemory { what: "emulated device memory", asked, available: free, limit: total }
        }
        emu::Error::Workers { devices, started, reason } => {
            Error::NoThread { what: format!("emulated GPU {started} of {devices}"), reason }
        }
        other => Error::Emulated { what: other.to_string(), doing },
    }
}
