//! Graphs: what was queued on a stream once, recorded to be run again and again as a whole.
//!
//! | | while a stream records | when the graph is launched |
//! |---|---|---|
//! | launches and operations on the stream | are checked and kept, and do not run | run in their order, behind what the stream was given before |
//! | number in error records | their number in the graph, from 1 | the same each time; the graph as a whole counts as one launch of its stream |
//! | memory that they name | must be alive | must still be alive, which is looked at again when something was dropped |
//! | room of collective launches | what one of them takes must fit the PE's share | the greatest is held until the graph is over |
//! | grid-barrier word | the graph has one of its own | used by this graph alone, which never runs beside itself |
//!
//! All words by which kernels synchronise are in device memory and only grow, so a graph may be run as often as one likes.

use crate::board;
use crate::debug;
use crate::driver::{self, Recorded};
use crate::error::{Error, Result};
use crate::launch::{Slots, obstacle};
use crate::ledger::{Held, Seat};
use crate::named::Live;
use crate::pe::Pe;
use crate::room::take_room;
use crate::state::Kept;
use crate::stream::Stream;
use std::fmt::{self, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::{debug, trace};

/// What error messages call a graph.
const NAME: &str = "(graph)";

/// A recording under way.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The stream that records.
    pub(crate) stream: usize,
    /// The slot that the graph will have, whose queue takes what is recorded.
    pub(crate) slot: usize,
    /// Kernels and copies so far.
    pub(crate) nodes: u32,
    /// What they name.
    pub(crate) named: Vec<Kept>,
    /// What collective launches of them take, each amount once.
    pub(crate) held: Vec<Held>,
}

/// What a stream has recorded, ready to run. Made by [`Stream::capture`]; launched as often as one likes. Dropping it waits
/// for nothing: what was launched runs on.
///
/// Kernels get the arguments that they were recorded with. What changes from one launch to the next is in memory: a counter
/// that a kernel reads and increments, data that was copied meanwhile.
///
/// ```
/// use oxshmem_device::prelude::*;
///
/// /// Counts rounds, and puts their number into the next PE's memory.
/// #[nvshmem_kernel]
/// fn next_round(shmem: Shmem, round: Global<[u64]>, inbox: Sym<[u64]>) {
///     let count = shmem.local(round);
///     count.set(0, count.get(0) + 1);
///     shmem.thread().p(inbox.at(0), count.get(0), shmem.next_pe());
/// }
///
/// # fn main() -> oxshmem::Result<()> {
/// oxshmem::run_local(3, |shmem| {
///     let (round, inbox) = (shmem.device_zeroed::<u64>(1)?, shmem.alloc_zeroed::<u64>(1)?);
///     let stream = shmem.stream()?;
///     let graph = stream.capture(|| {
///         next_round::launch_on(&shmem, &stream, LaunchConfig::blocks(1), &round, &inbox)?;
///         shmem.barrier_all_on(&stream)
///     })?;
///     for _ in 0..100 {
///         graph.launch(&stream)?;
///     }
///     stream.synchronize()?;
///     assert_eq!(inbox.read()?, [100]);
///     shmem.barrier_all()
/// })?;
/// # Ok(())
/// # }
/// ```
pub struct Graph {
    pe: Arc<Pe>,
    slot: usize,
    nodes: u32,
    named: Vec<Kept>,
    held: Vec<Held>,
    recorded: Box<dyn Recorded>,
    /// The PE's count of drops when it was last seen that all that is named is alive.
    seen: AtomicU64,
}

impl Stream {
    /// Has the stream record what `record` launches and queues on it, instead of running it, and makes a graph of that. The
    /// stream itself goes on with what it had; other streams are not affected, and what `record` gives to them runs.
    ///
    /// Only launches ([`launch_on`](oxshmem_device::launch)) and operations on this stream are recorded. Everything that
    /// waits, or moves host memory, is an error as long as `record` runs: collective calls, allocations, synchronisation,
    /// reads and writes of vectors, blocking operations, events of this stream.
    ///
    /// # Errors
    /// What `record` returns; [`Error::Capturing`] if a stream of this PE records already; [`Error::TooManyStreams`], for a
    /// graph takes the place of a stream; [`Error::Cuda`] if the driver refuses. The stream is as before then.
    #[track_caller]
    pub fn capture(&self, record: impl FnOnce() -> Result<()>) -> Result<Graph> {
        driver::here();
        let (pe, stream) = self.parts();
        if let Some(error) = pe.trouble() {
            return Err(error);
        }
        pe.not_capturing("another capture")?;
        pe.look_at_all()?;
        pe.collect()?;
        let slot = pe.new_slot()?;
        let unfinished = Unfinished { pe, slot };
        Slots(&pe.lock()).queue(slot)?.begin_capture()?;
        pe.lock().recording = Some(Recording { stream, slot, nodes: 0, named: Vec::new(), held: Vec::new() });
        let outcome = record();
        let (queue, recording) = {
            let mut state = pe.lock();
            (Slots(&state).queue(slot)?.clone(), state.recording.take())
        };
        // Also if `record` has failed: the driver's own recording must end.
        let recorded = queue.end_capture();
        outcome?;
        let (recorded, Some(recording)) = (recorded?, recording) else {
            return Err(Error::other("a recording has vanished"));
        };
        std::mem::forget(unfinished);
        let Recording { nodes, named, held, .. } = recording;
        debug!(target: debug::GRAPH, pe = pe.me, stream, nodes, "recorded");
        // Nothing is looked at yet: `record` may have dropped what it named.
        let seen = AtomicU64::new(u64::MAX);
        Ok(Graph { pe: pe.clone(), slot, nodes, named, held, recorded, seen })
    }
}

/// A recording that has not become a graph. Dropped, also by a panic, it leaves the PE as it was.
struct Unfinished<'a> {
    pe: &'a Arc<Pe>,
    slot: usize,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let mut state = self.pe.lock();
        let open = state.recording.take_if(|recording| recording.slot == self.slot);
        if let Some(slot) = state.streams.get_mut(self.slot)
            && let Some(stream) = slot.take()
            && open.is_some()
        {
            let _ = stream.queue.end_capture();
        }
    }
}

impl Graph {
    /// How many kernels and copies it has.
    pub fn len(&self) -> usize {
        self.nodes as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Runs the graph on `stream`, behind what that was given before, and behind earlier launches of this graph on any
    /// stream. Returns at once. What comes behind on the stream waits for the whole graph.
    ///
    /// # Errors
    /// [`Error::BadHandle`], [`Error::BadTeam`] if something that it names was dropped; [`Error::NotCoResident`];
    /// [`Error::WrongOwner`] for a stream of another PE; [`Error::Capturing`] for a stream that records; those of a launch for an earlier
    /// failure. Nothing has run then.
    #[track_caller]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        driver::here();
        let pe = &self.pe;
        let slot = stream.slot_of(pe)?;
        if let Some(error) = obstacle(pe) {
            return Err(error);
        }
        pe.not_capturing_on(slot, "the launch of a graph")?;
        let began = pe.trace_time();
        let mut state = pe.lock();
        let state = &mut *state;
        if let Some(error) = state.broken() {
            return Err(error);
        }
        if self.seen.load(Ordering::Relaxed) != state.drops {
            let live = Live::of(state);
            self.named.iter().try_for_each(|kept| live.check_kept(kept))?;
            self.seen.store(state.drops, Ordering::Relaxed);
        }
        let mut before = None;
        for (at, held) in self.held.iter().enumerate() {
            match take_room(pe, state, NAME, *held, slot) {
                Ok(held_before) if at == 0 => before = Some(held_before),
                Ok(_) => {}
                Err(error) => {
                    state.put_back(slot, before);
                    return Err(error);
                }
            }
        }
        let place = state.place(pe, slot, NAME);
        let queue = Slots(state).queue(slot)?.clone();
        // SAFETY: what the recorded kernels name was just found alive; dropped memory is given back only when the launches
        // before the drop are over.
        if let Err(error) = unsafe { queue.replay(&*self.recorded) } {
            state.note_failure(&error);
            state.put_back(slot, before);
            return Err(error);
        }
        trace!(target: debug::GRAPH, pe = pe.me, stream = slot, nodes = self.nodes, number = place.number, "launched");
        let greatest = self.held.iter().copied().reduce(Held::greater);
        state.started(place, &[], greatest);
        pe.trace_start(&place, began);
        if let Some(Some(slot)) = state.streams.get(slot) {
            slot.seat.iter().filter(|_| greatest.is_some()).for_each(Seat::started);
        }
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.pe.retire_slot(self.slot);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Graph(on PE {}: {} kernels and copies)", self.pe.me, self.nodes)
    }
}

/// The number that a kernel of a graph has in error records.
pub(crate) fn number(pe: &Pe, kernel: &'static str, node: u32) -> u32 {
    board::of_graph(pe.job.board.name(pe.me, kernel), node)
}
