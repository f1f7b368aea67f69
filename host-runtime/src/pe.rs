//! One PE's inner part: its device, and how it waits, gives back what was dropped, and meets the others. What changes of it is
//! in `state.rs`. Vectors and streams keep it alive.

use crate::alloc::{Allocation, Heap};
use crate::debug;
use crate::driver::{self, Device, Queue};
use crate::error::{Error, Result};
use crate::fault;
use crate::foreign::Foreign;
use crate::formed::tables_bytes;
use crate::group::{Agreed, Arrival, Call, RELEASED};
use crate::job::Job;
use crate::ledger::Seat;
use crate::say::say;
use crate::state::{Slot, State, passed};
use crate::trace::{PeTrace, TraceFile, What};
use oxshmem_device::abi::collective::reserved;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::{error, trace};

/// How long one pause of a wait may last before the job is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// After this a wait that nothing bounds says what it waits for.
const NOTICE_AFTER: Duration = Duration::from_secs(30);
/// See [`Error::StreamStuck`].
const OVER_LIMIT: &str =
    "the wait for it began, longer than OXSHMEM_KERNEL_LIMIT (Config::kernel_limit) allows";

/// A PE.
#[derive(Debug)]
pub(crate) struct Pe {
    pub(crate) job: Arc<Job>,
    pub(crate) me: u32,
    pub(crate) device: Arc<dyn Device>,
    /// For copies, so that they wait for no kernel.
    pub(crate) copies: Arc<dyn Queue>,
    /// Address in device memory of the table of teams, and of their lists behind it: see [`tables_bytes`].
    pub(crate) tables: u64,
    /// PEs that share the device, this one included.
    pub(crate) pes_on_device: u32,
    /// The deadline in units of the device's clock.
    pub(crate) deadline_ticks: u64,
    /// What a traced run keeps of it.
    pub(crate) trace: Option<PeTrace>,
    state: Mutex<State>,
}

impl Pe {
    /// Prepares a PE of this process: its streams, and what it keeps for `trace`. Its control area is not ready yet, and its
    /// table of teams is not written.
    pub(crate) fn new(job: &Arc<Job>, me: u32, trace: Option<&TraceFile>) -> Result<Arc<Self>> {
        let elsewhere = || Error::Config { what: format!("PE {me} does not belong to this process") };
        let device = job.device_of_pe.get(me as usize).cloned().flatten().ok_or_else(elsewhere)?;
        let (copies, first) = (device.queue()?, device.queue()?);
        let tables = copies.allocate(tables_bytes(job.n_pes))?;
        let trace = trace.map(|file| PeTrace::new(&*copies, file.events)).transpose()?;
        let pe = Arc::new(Self {
            job: job.clone(),
            me,
            copies,
            tables,
            pes_on_device: job.pes_on_device[me as usize],
            deadline_ticks: device.info().ticks(job.deadline),
            device,
            trace,
            state: Mutex::default(),
        });
        pe.lock().streams.push(Some(Slot::new(first, pe.seat(), 0)));
        Ok(pe)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock can only come from a bug; the state is consistent between statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Address of this PE's heap segment.
    pub(crate) fn base(&self) -> u64 {
        self.job.bases[self.me as usize]
    }

    /// A place for a stream in the ledger of the device, if other PEs share it.
    pub(crate) fn seat(&self) -> Option<Seat> {
        let ledger = &self.job.ledgers[self.device.info().ordinal as usize];
        (self.pes_on_device > 1).then(|| ledger.seat(self.me))
    }

    /// Zeroes the control area and that of collective operations, but for what a PE's failure has written there. No kernel
    /// may run.
    pub(crate) fn reset_control(&self) -> Result<()> {
        // SAFETY: both are mapped at the start of the segment; the caller keeps kernels away, and `around` the threads that
        // write abort words.
        self.job.stop.around(|| unsafe { self.copies.zero(self.base(), reserved(self.job.n_pes)) })
    }

    /// The same at the start, of memory that nobody has used.
    pub(crate) fn first_control(&self) -> Result<()> {
        // That of an emulated GPU is zero: it is not touched, so that it costs nothing.
        if self.device.info().emulated { Ok(()) } else { self.reset_control() }
    }

    /// The error that stands against any further work, if there is one.
    pub(crate) fn trouble(&self) -> Option<Error> {
        if let Some(error) = self.job.ended() {
            return Some(error);
        }
        let broken = self.lock().broken.clone();
        broken.or_else(|| self.job.trouble_for(self.me))
    }

    /// Refuses what cannot be done while a stream of this PE records a graph.
    pub(crate) fn not_capturing(&self, what: &'static str) -> Result<()> {
        match &self.lock().recording {
            Some(recording) => Err(Error::Capturing { pe: self.me, what, stream: recording.stream as u32 }),
            None => Ok(()),
        }
    }

    /// Refuses what cannot be done on a stream that records a graph.
    pub(crate) fn not_capturing_on(&self, slot: usize, what: &'static str) -> Result<()> {
        match &self.lock().recording {
            Some(recording) if recording.stream == slot => {
                Err(Error::Capturing { pe: self.me, what, stream: slot as u32 })
            }
            _ => Ok(()),
        }
    }

    /// Waits until every stream of this PE is idle, then looks for trouble.
    ///
    /// # Errors
    /// What a kernel failed with; another PE's failure; poison; [`Error::StreamStuck`].
    pub(crate) fn settle(&self) -> Result<()> {
        if let Some(error) = self.job.ended() {
            return Err(error);
        }
        self.not_capturing("waiting for what this PE has launched")?;
        self.drain()?;
        self.trouble().map_or(Ok(()), Err)
    }

    /// Waits until every stream of this PE is idle.
    pub(crate) fn drain(&self) -> Result<()> {
        let slots = self.lock().streams.len();
        for slot in 0..slots {
            self.drain_slot(slot)?;
        }
        self.collect()
    }

    /// Waits until a stream is idle. A kernel's own failure is kept for [`trouble`](Self::trouble).
    pub(crate) fn drain_slot(&self, slot: usize) -> Result<()> {
        let queue = match self.lock().streams.get(slot) {
            Some(Some(slot)) if slot.is_busy() => slot.queue.clone(),
            _ => return Ok(()),
        };
        if self.look(slot, &*queue)? {
            return Ok(());
        }
        self.wait_for(slot, || self.look(slot, &*queue), |attempt, longest| queue.pause(attempt, longest))
    }

    /// Waits for kernels of stream `slot` until `over` says so, with a `pause` between two looks.
    pub(crate) fn wait_for(
        &self,
        slot: usize,
        over: impl Fn() -> Result<bool>,
        pause: impl Fn(u32, Duration),
    ) -> Result<()> {
        self.job.board.set_doing(self.me, true);
        let what = || What { stream: Some(slot), ..What::named("wait for a stream") };
        let result = self.traced(what, || self.poll(slot, over, pause));
        self.job.board.set_doing(self.me, false);
        result
    }

    fn poll(
        &self,
        slot: usize,
        over: impl Fn() -> Result<bool>,
        pause: impl Fn(u32, Duration),
    ) -> Result<()> {
        let now = Instant::now();
        // A wait that follows one that was in vain does not begin anew.
        let since = match self.lock().streams.get_mut(slot) {
            Some(Some(slot)) => *slot.waited_since.get_or_insert(now),
            _ => now,
        };
        let (mut attempt, mut noticed) = (0, false);
        while !over()? {
            // All waits of the job count from the same moment, so that together they take no longer than one.
            if let Some((since, why)) = self.job.failing()
                && since.elapsed() > self.job.kernel_patience
            {
                return Err(self.stuck(slot, since.elapsed(), why));
            }
            let (waited, limit) = (since.elapsed(), self.job.kernel_limit);
            if limit.is_some_and(|limit| waited >= limit) {
                return Err(self.stuck(slot, waited, OVER_LIMIT));
            }
            if limit.is_none() && waited >= NOTICE_AFTER && !noticed {
                noticed = true;
                say(self.notice(slot));
            }
            pause(attempt, limit.map_or(LOOK_AGAIN, |limit| (limit - waited).min(LOOK_AGAIN)));
            attempt = attempt.saturating_add(1);
        }
        if let Some(Some(slot)) = self.lock().streams.get_mut(slot) {
            slot.waited_since = None;
        }
        Ok(())
    }

    /// The error for a stream that does not become idle.
    fn stuck(&self, slot: usize, waited: Duration, why: &'static str) -> Error {
        let (kernel, launch) = self.unfinished(slot);
        Error::StreamStuck { pe: self.me, kernel, launch, stream: slot as u32, waited, why }
    }

    fn notice(&self, slot: usize) -> String {
        let (kernel, launch) = self.unfinished(slot);
        format!(
            "PE {} still waits for kernel {kernel} (launch {launch}); OXSHMEM_KERNEL_LIMIT bounds this",
            self.me
        )
    }

    /// The first launch of a stream that is not known to be over: the kernel, and the launch's number.
    fn unfinished(&self, slot: usize) -> (&'static str, u32) {
        let (done, last) = match self.lock().streams.get(slot) {
            Some(Some(slot)) => (slot.done, slot.last),
            _ => (0, 0),
        };
        self.job
            .board
            .first_launch(self.me, slot as u32, done + 1, last)
            .unwrap_or(("(unknown)", last as u32))
    }

    /// Whether a stream is idle; if so, notes that its launches are over.
    pub(crate) fn look(&self, slot: usize, queue: &dyn Queue) -> Result<bool> {
        // Launches that come after this count are not covered by what the queue says now.
        let upto = self.lock().launches;
        let idle = match queue.is_idle() {
            Ok(idle) => idle,
            // The kernel is over, if not well.
            Err(error @ Error::KernelFailed(_)) => {
                self.lock().broken.get_or_insert(error);
                true
            }
            Err(error) => return Err(error),
        };
        if idle && let Some(Some(slot)) = self.lock().streams.get_mut(slot) {
            slot.over(upto);
        }
        Ok(idle)
    }

    /// The queue of a stream.
    pub(crate) fn queue_of(&self, slot: usize) -> Option<Arc<dyn Queue>> {
        self.lock().streams.get(slot)?.as_ref().map(|slot| slot.queue.clone())
    }

    /// Forgets that a kernel of this PE failed.
    pub(crate) fn mend(&self) {
        self.lock().broken = None;
    }

    /// Gives back what was dropped and is not used any more: local memory, and streams.
    pub(crate) fn collect(&self) -> Result<()> {
        // Dropped without the lock: the owners of registered memory are the program's.
        self.collect_own().map(drop)
    }

    /// As [`collect`](Self::collect), and returns what went with registered memory.
    fn collect_own(&self) -> Result<Vec<Foreign>> {
        let mut state = self.lock();
        let state = &mut *state;
        for slot in &mut state.streams {
            if slot.as_ref().is_some_and(|slot| slot.dropped && !slot.is_busy()) {
                *slot = None;
            }
        }
        let streams = &mut state.streams;
        let mut graphs = std::mem::take(&mut state.retired_slots);
        for (slot, _) in graphs.extract_if(.., |(_, at)| passed(streams, *at)).collect::<Vec<_>>() {
            streams[slot] = None;
        }
        state.retired_slots = graphs;
        for (address, _) in state.retired.extract_if(.., |(_, at)| passed(streams, *at)) {
            // SAFETY: it came from `allocate` of this queue, and all work launched before the drop is over.
            unsafe { self.copies.free(address)? };
        }
        let mut over = Vec::new();
        for (foreign, _) in state.retired_foreign.extract_if(.., |(_, at)| passed(streams, *at)) {
            match foreign {
                Foreign::Host { memory, bytes } => state.spare.push((memory, bytes)),
                registered @ Foreign::Registered { .. } => over.push(registered),
            }
        }
        Ok(over)
    }

    /// Prepares for local memory that is about to be taken: gives back what is over, and looks for trouble.
    pub(crate) fn ready_for_local(&self, what: &'static str) -> Result<()> {
        if let Some(error) = self.trouble() {
            return Err(error);
        }
        self.not_capturing(what)?;
        self.look_at_all()?;
        self.collect()
    }

    /// Comes to a rendezvous. What the PEs have released and do not use any more is free before `lead` runs: once, by
    /// the last to come, if the PEs are threads; in each process if they are processes.
    pub(crate) fn meet(
        &self,
        call: Call,
        trouble: Option<Error>,
        lead: impl FnOnce(&mut Heap) -> Result<Option<Arc<Allocation>>>,
    ) -> Result<Agreed> {
        self.arrive(Arrival { trouble, ..Arrival::at(call) }, |heap, _| lead(heap))
    }

    /// As [`meet`](Self::meet), with `data`: `lead` is given what all have brought, by PE.
    pub(crate) fn meet_with(
        &self,
        call: Call,
        data: Vec<u8>,
        trouble: Option<Error>,
        lead: impl FnOnce(&mut Heap, &[Vec<u8>]) -> Result<Option<Arc<Allocation>>>,
    ) -> Result<Agreed> {
        self.arrive(Arrival { data, trouble, ..Arrival::at(call) }, lead)
    }

    /// Comes to the first rendezvous of a recovery, when this PE's kernels are over; sends home those that wait
    /// elsewhere because of the same failure.
    pub(crate) fn meet_to_recover(&self, trouble: Option<Error>) -> Result<Agreed> {
        let broken = self.lock().broken.clone();
        let broken = broken.map(|cause| Error::PeFailed { pe: self.me, cause: Box::new(cause) });
        let recovers_from = broken.or_else(|| self.job.poisoned());
        self.arrive(Arrival { trouble, recovers_from, ..Arrival::at(Call::RecoverDrained) }, |_, _| Ok(None))
    }

    /// Comes to an all_gather with `data`.
    pub(crate) fn gather(&self, data: Vec<u8>, trouble: Option<Error>) -> Result<Agreed> {
        let call = Call::Gather { bytes: data.len() as u64 };
        self.arrive(Arrival { data, trouble, ..Arrival::at(call) }, |_, _| Ok(None))
    }

    /// Comes to a call over `members`, who are PEs of the job and this one among them, with `data`. It is handed out in
    /// their order.
    pub(crate) fn meet_team(
        &self,
        what: &'static str,
        members: &[u32],
        data: Vec<u8>,
        trouble: Option<Error>,
    ) -> Result<Agreed> {
        let data = if trouble.is_none() { data } else { Vec::new() };
        let call = Call::Team { what, bytes: data.len() as u64 };
        self.arrive(Arrival { members: members.to_vec(), data, trouble, ..Arrival::at(call) }, |_, _| {
            Ok(None)
        })
    }

    fn arrive(
        &self,
        mut arrival: Arrival,
        lead: impl FnOnce(&mut Heap, &[Vec<u8>]) -> Result<Option<Arc<Allocation>>>,
    ) -> Result<Agreed> {
        self.not_capturing("a collective call")?;
        {
            let mut state = self.lock();
            let State { released, streams, .. } = &mut *state;
            let passed = released.extract_if(.., |(_, at)| passed(streams, *at)).take(RELEASED);
            arrival.released.extend(passed.map(|(id, _)| id));
        }
        let job = &self.job;
        let lead = |agreed: &mut Agreed| {
            let mut heap = job.heap();
            for freed in
                agreed.released.iter().filter_map(|id| heap.release(*id)).filter(|freed| freed.bytes > 0)
            {
                self.device.checker().inspect(|checker| checker.freed(freed.offset));
            }
            agreed.allocated = lead(&mut heap, &agreed.gathered)?;
            Ok(())
        };
        trace!(target: debug::GROUP, pe = self.me, call = ?arrival.call, "comes to a collective call");
        let members = arrival.members.clone();
        driver::arrives(&members, arrival.trouble.is_none() && arrival.call.completes());
        let call = arrival.call.clone();
        let meet = || {
            let agreed = job.group.meet(self.me, arrival, Box::new(lead));
            driver::back();
            let agreed = agreed?;
            driver::leaves(&members);
            // Poison that came while this PE waited.
            match self.trouble().filter(|_| call.is_barrier()) {
                Some(error) => Err(error),
                None => Ok(agreed),
            }
        };
        self.traced(|| What::named(call.to_string()), meet)
    }

    /// Looks at every busy stream once, so that what it used can be given back.
    pub(crate) fn look_at_all(&self) -> Result<()> {
        let busy: Vec<(usize, Arc<dyn Queue>)> = {
            let state = self.lock();
            let slots = state.streams.iter().enumerate();
            slots
                .filter_map(|(at, slot)| slot.as_ref().map(|slot| (at, slot)))
                .filter(|(_, slot)| slot.is_busy())
                .map(|(at, slot)| (at, slot.queue.clone()))
                .collect()
        };
        for (slot, queue) in busy {
            self.look(slot, &*queue)?;
        }
        Ok(())
    }

    /// Notes that a symmetric allocation was dropped.
    pub(crate) fn release(&self, allocation: &Allocation) {
        let mut state = self.lock();
        if allocation.bytes > 0 {
            state.symmetric.remove(&allocation.offset);
        }
        let at = state.launches;
        state.drops += 1;
        state.released.push((allocation.id, at));
    }

    /// Notes that a local allocation was dropped.
    pub(crate) fn retire(&self, address: u64) {
        let mut state = self.lock();
        state.local.remove(&address);
        let at = state.launches;
        state.drops += 1;
        match state.foreign.remove(&address) {
            Some(foreign) => state.retired_foreign.push((foreign, at)),
            None => state.retired.push((address, at)),
        }
    }

    /// Notes that a graph was dropped, whose slot nothing else may have as long as it runs.
    pub(crate) fn retire_slot(&self, slot: usize) {
        let mut state = self.lock();
        let at = state.launches;
        state.retired_slots.push((slot, at));
    }

    /// Notes that this PE ended with an error: all kernels and waits of the job give up.
    pub(crate) fn fail(&self, error: Error) {
        error!(target: debug::FAILURE, pe = self.me, %error, "this PE has failed");
        self.job.group.fail(self.me, error);
    }

    /// Notes that this PE ended well.
    pub(crate) fn finish(&self) {
        fault::point("end", self.me);
        self.job.group.finish(self.me);
        fault::point("ended", self.me);
    }

    /// Who this is, for messages.
    pub(crate) fn name(&self) -> String {
        format!("PE {} of run {}", self.me, self.job.number)
    }
}

impl Drop for Pe {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The run has drained the streams, or leaked this PE if it could not.
        let retired = state.retired.iter().map(|(address, _)| *address);
        let local = state.local.keys().copied().filter(|address| !state.foreign.contains_key(address));
        for address in local.chain(retired) {
            // SAFETY: it came from `allocate` of this queue; no kernel runs any more.
            let _ = unsafe { self.copies.free(address) };
        }
        for address in self.trace.iter().map(PeTrace::address).chain([self.tables]) {
            // SAFETY: as above.
            let _ = unsafe { self.copies.free(address) };
        }
    }
}
