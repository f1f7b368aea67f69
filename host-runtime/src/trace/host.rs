//! What a PE keeps of a run: the log of its kernels, what its host thread did, and the names of its launches.

use super::clock::{self, Reading};
use super::log::Log;
use crate::board;
use crate::error::{Error, Result};
use crate::pe::Pe;
use crate::state::Start;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A PE's trace.
#[derive(Debug)]
pub(crate) struct PeTrace {
    pub(super) log: Log,
    /// The device's clock at the start; none if the log has the host's times already.
    pub(super) started: OnceLock<Reading>,
    /// Most events of the host that are kept, and most names of launches.
    capacity: usize,
    kept: Mutex<Kept>,
}

/// What is kept of the host.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) events: Vec<Event>,
    /// How many there was no room for.
    pub(super) dropped: u64,
    /// The kernel and the stream of a launch, by its number in records.
    pub(super) launches: HashMap<u32, (&'static str, usize)>,
}

/// Something that the host did.
#[derive(Clone, Debug, Default)]
pub(crate) struct What {
    pub(crate) name: Cow<'static, str>,
    pub(crate) stream: Option<usize>,
    /// The number of a launch in records.
    pub(crate) launch: Option<u32>,
    pub(crate) peer: Option<u32>,
    pub(crate) bytes: Option<u64>,
}

impl What {
    pub(crate) fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// An operation of `bytes` bytes on PE `peer`.
    pub(crate) fn on(name: &'static str, peer: u32, bytes: u64) -> Self {
        Self { peer: Some(peer), bytes: Some(bytes), ..Self::named(name) }
    }
}

/// The same, with when it was and how it ended.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) error: Option<String>,
}

impl PeTrace {
    /// Takes device memory for `events` operations.
    ///
    /// # Errors
    /// If the device has not got it.
    pub(crate) fn new(queue: &dyn crate::driver::Queue, events: u32) -> Result<Self> {
        let (log, started, kept) = (Log::new(queue, events)?, OnceLock::new(), Mutex::default());
        Ok(Self { log, started, capacity: events as usize, kept })
    }

    /// Address of the log, for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.log.address
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: What, begin: u64, error: Option<String>) {
        let end = board::now();
        let mut kept = self.kept();
        if kept.events.len() < self.capacity {
            kept.events.push(Event { what, begin, end, error });
        } else {
            kept.dropped += 1;
        }
    }

    fn remember(&self, number: u32, kernel: &'static str, stream: usize) {
        let mut kept = self.kept();
        if kept.launches.len() < self.capacity {
            kept.launches.insert(number, (kernel, stream));
        }
    }
}

impl Pe {
    /// Does `call`, which is `what`, and notes when, if the run is traced.
    pub(crate) fn traced<T>(
        &self,
        what: impl FnOnce() -> What,
        call: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(trace) = &self.trace else { return call() };
        let begin = board::now();
        let result = call();
        trace.note(what(), begin, result.as_ref().err().map(Error::to_string));
        result
    }

    /// Notes that a kernel, a copy or a graph was started, or recorded for a graph, by a call that began at `begin`.
    pub(crate) fn trace_start(&self, start: &Start, begin: Option<u64>) {
        let (Some(trace), Some(begin)) = (&self.trace, begin) else { return };
        trace.remember(start.number, start.name, start.slot);
        let how = if start.is_recorded() { "record" } else { "launch" };
        let name = Cow::Owned(format!("{how} {}", start.name));
        let (stream, launch) = (Some(start.slot), Some(start.number));
        trace.note(What { name, stream, launch, ..What::default() }, begin, None);
    }

    /// Now, if the run is traced.
    pub(crate) fn trace_time(&self) -> Option<u64> {
        self.trace.as_ref().map(|_| board::now())
    }

    /// Reads the device's clock at the start of a traced run, if its log has that clock's times. The control area is mapped.
    ///
    /// # Errors
    /// [`TraceError::Clock`](crate::error::TraceError::Clock).
    pub(crate) fn start_trace(&self) -> Result<()> {
        if let Some(trace) = self.trace.as_ref().filter(|_| !self.device.info().emulated) {
            let reading = clock::read(self)?;
            trace.started.get_or_init(|| reading);
        }
        Ok(())
    }
}
