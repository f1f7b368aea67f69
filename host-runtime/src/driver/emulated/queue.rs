//! Streams of the emulated machine, and the host's copies.

use super::record::{Graph, Node, Point, Reached};
use super::{Launch, Mark, Queue, Recorded, failed, not_comparable, recorded_elsewhere};
use crate::driver::{blocked, site};
use crate::error::{Error, Result};
use oxshmem_emulator as emu;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a full stream is waited for before it is tried again.
const FULL: Duration = Duration::from_millis(100);
/// How long no other launch may end before a full process is an error.
const STANDING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Stream {
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
    pub(super) fn new(machine: Arc<emu::Machine>, device: emu::Device) -> Self {
        let stream = device.create_stream();
        let (failure, recording, local) = (Mutex::new(None), Mutex::new(None), Mutex::default());
        Self { machine, device, stream, failure, recording, local }
    }

    fn recording(&self) -> MutexGuard<'_, Option<Vec<Node>>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a launch, behind a point of another stream if one is given. Where the process has no more threads for emulated
    /// ones, those of earlier launches are waited for, as a driver waits whose queue is full: of this stream as long as it
    /// takes, of others as long as some of them end.
    fn submit(&self, node: &Node, after: Option<&emu::Point>) -> Result<()> {
        if !node.names.is_empty() {
            self.machine.named(site(), node.names.clone());
        }
        self.machine.comes_to(site());
        let (mut used, mut since) = (0, Instant::now());
        loop {
            let launched = match after {
                Some(point) => self.stream.launch_after(node.launch(), point),
                None => self.stream.launch(node.launch()),
            };
            match launched {
                Err(emu::Error::TooManyThreads { asked, limit, .. }) if asked <= limit && self.is_busy() => {
                    self.take_failure(FULL);
                    since = Instant::now();
                }
                Err(emu::Error::TooManyThreads { asked, limit, in_use, .. })
                    if asked <= limit
                        && (in_use != used || since.elapsed() < STANDING)
                        && !self.is_checked() =>
                {
                    if in_use != used {
                        (used, since) = (in_use, Instant::now());
                    }
                    blocked(|| std::thread::sleep(FULL / 10));
                }
                launched => return launched.map_err(|error| failed(error, "launching a kernel")),
            }
        }
    }

    fn is_busy(&self) -> bool {
        !self.stream.is_idle()
    }

    /// Whether host threads run one at a time.
    fn is_checked(&self) -> bool {
        self.machine.config().check.is_some()
    }

    /// Waits for the stream, and keeps what it failed with.
    fn take_failure(&self, longest: Duration) {
        self.machine.comes_to(site());
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
        self.machine.comes_to(site());
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
        self.machine.comes_to(site());
        self.stream.launch(event.launch()).map_err(|error| failed(error, "recording an event"))?;
        let (stream, machine) = (self.stream.clone(), self.machine.clone());
        Ok(Box::new(Reached { reached, point: stream.point(), stream, machine }))
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
        self.machine.accessed(site(), to, from.len() as u64, true);
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
        self.machine.accessed(site(), from, to.len() as u64, false);
        let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    unsafe fn zero(&self, to: u64, bytes: u64) -> Result<()> {
        self.machine.accessed(site(), to, bytes, true);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(to, 0, bytes as usize) };
        self.machine.memory_changed();
        Ok(())
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.machine.accessed(site(), from, bytes, false);
        self.machine.accessed(site(), to, bytes, true);
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
        self.machine.allocated_local(site(), address, bytes, "local memory");
        self.local.lock().unwrap_or_else(PoisonError::into_inner).insert(address, memory);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) -> Result<()> {
        self.machine.freed_local(site(), address);
        self.local.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
