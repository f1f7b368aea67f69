//! What changes of a PE: its streams and what they still hold, what it has allocated, and what it has dropped but not yet
//! given back. Reached under the PE's lock.

use crate::alloc::{Allocation, AllocationId};
use crate::board;
use crate::calls::OwnStream;
use crate::driver::{Queue, Registered};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::formed::Teams;
use crate::graph::{self, Recording};
use crate::known::Kernels;
use crate::ledger::{Held, Seat};
use crate::named::Live;
use crate::pe::Pe;
use oxshmem_device::launch::Named;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// What changes.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Launches so far; also the clock by which drops are dated.
    pub(crate) launches: u64,
    /// The streams by grid slot; slot 0 is the default stream.
    pub(crate) streams: Vec<Option<Slot>>,
    /// What was looked up about kernels.
    pub(crate) kernels: Kernels,
    /// Symmetric allocations of this PE that are not released, by offset; those of no bytes are left out.
    pub(crate) symmetric: BTreeMap<u64, Arc<Allocation>>,
    /// The teams that this PE belongs to.
    pub(crate) teams: Teams,
    /// Local allocations that are not dropped, by address.
    pub(crate) local: BTreeMap<u64, Local>,
    /// How many there were.
    locals: u64,
    /// What goes with those of them that come from elsewhere, by address.
    pub(crate) foreign: BTreeMap<u64, Foreign>,
    /// Dropped symmetric allocations, each with the number of launches before.
    pub(crate) released: Vec<(AllocationId, u64)>,
    /// Dropped local allocations, likewise.
    pub(crate) retired: Vec<(u64, u64)>,
    /// What went with dropped ones that came from elsewhere, likewise.
    pub(crate) retired_foreign: Vec<(Foreign, u64)>,
    /// Host memory that nothing uses, with its size.
    pub(crate) spare: Vec<(Box<dyn Registered>, u64)>,
    /// The graph that a stream records now.
    pub(crate) recording: Option<Recording>,
    /// How often something that can be named was dropped.
    pub(crate) drops: u64,
    /// Slots of dropped graphs, each with the number of launches before.
    pub(crate) retired_slots: Vec<(usize, u64)>,
    /// The runtime's own stream, once a host operation has needed it.
    pub(crate) own_stream: Option<OwnStream>,
    /// What a kernel of this PE failed with outside the error record.
    pub(crate) broken: Option<Error>,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) queue: Arc<dyn Queue>,
    /// Number of its last launch.
    pub(crate) last: u64,
    /// Every launch of the PE on this stream up to this number is over.
    pub(crate) done: u64,
    /// What its unfinished collective launches hold: most blocks of one of them, and how many of that kernel's
    /// blocks fit on a multiprocessor. One stream runs one kernel at a time.
    pub(crate) held: Option<Held>,
    /// Where the other PEs of the device see that, if there are any.
    pub(crate) seat: Option<Seat>,
    /// When the wait for it began, if one is under way or was in vain.
    pub(crate) waited_since: Option<Instant>,
    /// Whether its owner has dropped it.
    pub(crate) dropped: bool,
}

/// A local allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) bytes: u64,
    /// By which it is told from a later one at the same address.
    pub(crate) number: u64,
}

/// What a part of a graph names as its parameter of this number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) by: &'static str,
    pub(crate) parameter: u32,
    pub(crate) named: Named,
    /// The number of the allocation, if it is local memory.
    pub(crate) local: Option<u64>,
}

/// Where something that is about to start goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The slot whose queue takes it.
    pub(crate) slot: usize,
    /// Its number for error records.
    pub(crate) number: u32,
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its number among the launches; none if it is recorded for a graph.
    launch: Option<u64>,
}

impl Start {
    /// Whether it is recorded for a graph.
    pub(crate) fn is_recorded(&self) -> bool {
        self.launch.is_none()
    }
}

impl State {
    /// Notes a local allocation.
    pub(crate) fn insert_local(&mut self, address: u64, bytes: u64) {
        self.locals += 1;
        self.local.insert(address, Local { bytes, number: self.locals });
    }

    /// Notes local memory from elsewhere, and what goes with it.
    pub(crate) fn insert_foreign(&mut self, address: u64, bytes: u64, foreign: Foreign) {
        self.insert_local(address, bytes);
        self.foreign.insert(address, foreign);
    }

    /// Where what stream `slot` is given now goes, called `name`; remembers it by that name. One that does not start leaves its
    /// number to the next.
    pub(crate) fn place(&mut self, pe: &Pe, slot: usize, name: &'static str) -> Start {
        if let Some(recording) = self.recording.as_ref().filter(|recording| recording.stream == slot) {
            let number = graph::number(pe, name, recording.nodes + 1);
            return Start { slot: recording.slot, number, name, launch: None };
        }
        let launch = self.launches + 1;
        let number = board::of_launch(launch);
        // A wait for this stream that was in vain says nothing about a kernel that comes after the stuck one ended.
        if let Some(Some(slot)) = self.streams.get_mut(slot)
            && slot.waited_since.is_some()
            && matches!(slot.queue.is_idle(), Ok(true))
        {
            slot.over(launch - 1);
        }
        pe.job.board.remember(pe.me, number, slot as u32, name);
        Start { slot, number, name, launch: Some(launch) }
    }

    /// Notes that it has started: what it names if it is recorded, and the room that it takes if it is collective.
    pub(crate) fn started(&mut self, start: Start, named: &[Named], held: Option<Held>) {
        let Some(launch) = start.launch else {
            if let Some(recording) = &mut self.recording {
                recording.nodes += 1;
                let local = |named| {
                    Live { symmetric: &self.symmetric, local: &self.local, teams: &self.teams }
                        .local_number(named)
                };
                let named = (0..).zip(named).filter(|(_, named)| **named != Named::Nothing);
                recording.named.extend(named.map(|(parameter, &named)| Kept {
                    by: start.name,
                    parameter,
                    named,
                    local: local(named),
                }));
                recording.held.extend(held.filter(|held| !recording.held.contains(held)));
            }
            return;
        };
        self.launches = launch;
        if let Some(slot) = self.streams.get_mut(start.slot).and_then(Option::as_mut) {
            slot.last = launch;
            if let Some(held) = held {
                // Of two launches of one stream the greater counts: they run one after the other.
                slot.held = Some(slot.held.map_or(held, |before| before.greater(held)));
                slot.seat.iter().for_each(Seat::started);
            }
        }
    }

    /// Gives back room that was taken for what did not start: the stream holds what it held `before`.
    pub(crate) fn put_back(&self, slot: usize, before: Option<Option<Held>>) {
        if let (Some(before), Some(Some(slot))) = (before, self.streams.get(slot)) {
            slot.seat.iter().for_each(|seat| seat.put_back(before));
        }
    }

    /// What a kernel of this PE failed with outside the error record.
    pub(crate) fn broken(&self) -> Option<Error> {
        self.broken.clone()
    }

    /// Keeps a kernel's failure that a driver call returned.
    pub(crate) fn note_failure(&mut self, error: &Error) {
        if matches!(error, Error::KernelFailed(_)) {
            self.broken.get_or_insert_with(|| error.clone());
        }
    }
}

impl Slot {
    /// A stream of a PE that has made `launches` launches, none of them on it.
    pub(crate) fn new(queue: Arc<dyn Queue>, seat: Option<Seat>, launches: u64) -> Self {
        let (last, done) = (launches, launches);
        Self { queue, last, done, held: None, seat, waited_since: None, dropped: false }
    }

    /// Notes that the stream was seen idle when the PE had made `upto` launches.
    pub(crate) fn over(&mut self, upto: u64) {
        self.done = self.done.max(upto);
        if !self.is_busy() {
            self.waited_since = None;
        }
        if !self.is_busy() && self.held.take().is_some() {
            self.seat.iter().for_each(Seat::leave);
        }
    }

    /// Whether it has launches that were not seen to be over.
    pub(crate) fn is_busy(&self) -> bool {
        self.done < self.last
    }
}

/// Whether all launches up to number `at` are over.
pub(crate) fn passed(streams: &[Option<Slot>], at: u64) -> bool {
    streams.iter().flatten().all(|slot| !slot.is_busy() || slot.done >= at)
}
