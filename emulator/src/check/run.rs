//! A checked run: all that is known of memory, threads and updates under way. The other files of this folder are its parts.

use super::actor::{Early, Recent};
pub(crate) use super::actor::{Fence, Group, HEARD, Heard, Op, Thread};
use super::calls::{Calls, Sequence};
use super::choose::Chooser;
use super::clock::{Clock, Time, Who};
use super::event::{Event, EventId, Events};
use super::finding::{Finding, Kind, Place, Waiter};
use super::judge::Known;
use super::know::{Class, Know, Over, Own};
use super::options::Profile;
use super::places::Places;
use super::shadow::Shadow;
use super::updates::Updates;
use super::words::Words;
use crate::random::mix;
use core::panic::Location;
use oxshmem_device::Together;
use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::Position;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) profile: Profile,
    pub(crate) pes: u32,
    pub(crate) choose: Chooser,
    pub(crate) places: Places,
    pub(crate) events: Events,
    pub(crate) shadow: Shadow,
    pub(crate) words: Words,
    pub(crate) updates: Updates,
    pub(crate) threads: Vec<Option<Box<Thread>>>,
    pub(crate) groups: Vec<Group>,
    /// Phase and PE of each warp.
    pub(crate) phases: Vec<u32>,
    pub(crate) pe_of_warp: Vec<u32>,
    /// How many host threads there are: the first warps.
    pub(crate) hosts: u32,
    /// Warps below have ended, and all hosts know all that they did.
    retired: usize,
    pub(crate) findings: Vec<Finding>,
    reported: HashSet<(Kind, usize, usize)>,
    /// Threads that a change of memory lets run again.
    pub(crate) woken: Vec<Who>,
    /// Updates carried out so far.
    pub(crate) stamp: u64,
    /// Counts what may let somebody go on.
    pub(crate) progress: u64,
    /// Counts how often threads have met at barriers.
    pub(crate) met: u64,
    /// Hash of all memory, by its changes.
    pub(crate) memory: u64,
    /// What PEs do together, by sequence, then by PE.
    pub(crate) calls: HashMap<Sequence, Vec<Calls>>,
    units: HashMap<(Together, usize, u64), u32>,
    /// Whether the run must end because of what was found.
    pub(crate) over: bool,
    /// Whether all waits give up, because the program ends itself.
    pub(crate) gives_up: bool,
    pub(crate) operations: u64,
    /// Updates that a search may issue before the relaxed read in front of them.
    pub(crate) early: Early,
    /// Findings that are data races: their number, and the two events.
    pub(crate) races: Vec<(usize, EventId, EventId)>,
    /// What the ended kernels of each stream knew together.
    pub(crate) ended: HashMap<usize, Know>,
    /// What threads that gave up have waited for.
    pub(crate) waiters: Vec<(Who, Waiter)>,
}

/// Most findings of a run.
const MOST: usize = 64;

impl Run {
    pub(crate) fn new(profile: Profile, pes: u32, choose: Chooser) -> Self {
        Self {
            profile,
            pes,
            choose,
            places: Places::default(),
            events: Events::new(),
            shadow: Shadow::default(),
            words: Words::default(),
            updates: Updates::new(pes),
            threads: Vec::new(),
            groups: Vec::new(),
            phases: Vec::new(),
            pe_of_warp: Vec::new(),
            hosts: 0,
            retired: 0,
            findings: Vec::new(),
            reported: HashSet::new(),
            woken: Vec::new(),
            stamp: 0,
            progress: 0,
            met: 0,
            memory: 0,
            calls: HashMap::new(),
            units: HashMap::new(),
            over: false,
            gives_up: false,
            operations: 0,
            races: Vec::new(),
            ended: HashMap::new(),
            early: Early::default(),
            waiters: Vec::new(),
        }
    }

    /// Forgets all but the memory's shape and the schedule's search.
    pub(crate) fn reset(&mut self) {
        self.events.clear();
        self.shadow.clear();
        self.words.clear();
        self.updates.clear();
        self.threads.clear();
        self.groups.clear();
        self.phases.clear();
        self.pe_of_warp.clear();
        (self.hosts, self.retired) = (0, 0);
        self.findings.clear();
        self.reported.clear();
        self.woken.clear();
        (self.stamp, self.progress, self.met, self.memory) = (0, 0, 0, 0);
        self.calls.clear();
        self.units.clear();
        (self.over, self.gives_up) = (false, false);
        self.operations = 0;
        self.waiters.clear();
        self.races.clear();
        self.ended.clear();
        self.early.broken = false;
    }

    pub(crate) fn thread(&self, who: Who) -> &Thread {
        self.threads[who as usize].as_deref().expect("a thread that was made")
    }

    pub(crate) fn thread_mut(&mut self, who: Who) -> &mut Thread {
        self.threads[who as usize].as_deref_mut().expect("a thread that was made")
    }

    /// What a thread has issued, and what it knows that others of its PE have.
    pub(crate) fn issued_here(&self, who: Who) -> Rc<Clock> {
        let thread = self.thread(who);
        let mut issued = thread.know.issued.of(|warp| self.pe_of_warp[warp] == thread.pe);
        issued.learn(who, self.now(who));
        Rc::new(issued)
    }

    /// When `who` is.
    pub(crate) fn now(&self, who: Who) -> Time {
        Time { phase: self.phases[who as usize >> 5], own: self.thread(who).own }
    }

    /// Makes the threads of a block, with `know` as their past; the first one's number.
    pub(crate) fn add_block(
        &mut self,
        (pe, launched): (u32, &'static Location<'static>),
        (launch, stream): (u64, usize),
        positions: &[Position],
        shared: (u64, u32),
        know: &Know,
    ) -> Who {
        let first_warp = self.phases.len();
        let count = positions.len() as u32;
        self.phases.resize(first_warp + count.div_ceil(32) as usize, 0);
        self.pe_of_warp.resize(self.phases.len(), pe);
        self.threads.resize_with(self.phases.len() * 32, || None);
        let block = self.groups.len();
        self.groups.push(Group {
            first_warp,
            threads: count,
            launch,
            stream,
            living: count,
            ended: None,
            shared,
        });
        let first = (first_warp * 32) as Who;
        for (number, position) in positions.iter().enumerate() {
            let who = first + number as Who;
            self.add_thread((who, pe, block), launched, Some(*position), know.clone());
        }
        first
    }

    /// Makes a host thread.
    pub(crate) fn add_host(&mut self, pe: u32) -> Who {
        let warp = self.phases.len();
        self.phases.push(0);
        self.pe_of_warp.push(pe);
        self.threads.resize_with((warp + 1) * 32, || None);
        let block = self.groups.len();
        self.groups.push(Group {
            first_warp: warp,
            threads: 1,
            launch: u64::MAX,
            stream: 0,
            living: 1,
            ended: None,
            shared: (0, 0),
        });
        self.hosts += 1;
        let who = (warp * 32) as Who;
        self.add_thread((who, pe, block), Location::caller(), None, Know::new(self.pes));
        who
    }

    fn add_thread(
        &mut self,
        (who, pe, block): (Who, u32, usize),
        launched: &'static Location<'static>,
        position: Option<Position>,
        know: Know,
    ) {
        let op = Op {
            together: Together::OneThread,
            operation: Operation::Launch,
            offset: 0,
            bytes: 0,
            pe,
            location: launched,
            value: 0,
            own: None,
            number: 0,
        };
        self.threads[who as usize] = Some(Box::new(Thread {
            who,
            pe,
            block,
            position,
            know,
            fenced: None,
            fenced_for: Vec::new(),
            fence_stamp: 0,
            own: 0,
            op,
            ops: 0,
            recent: [None; 4],
            next_recent: 0,
            known: Known::default(),
            numbers: HashMap::new(),
            read: Vec::new(),
            tested: Vec::new(),
            polled: Vec::new(),
            stale: false,
            heard: Rc::default(),
            loads: VecDeque::new(),
            steps: 0,
            idle: 0,
            progress: 0,
            log: 0,
            before: 0,
            decided: 0,
            fetched: 0,
            promised: None,
            gone: false,
        }));
    }

    /// A thread comes to an operation.
    pub(crate) fn enter(&mut self, who: Who, mut op: Op) {
        self.operations += 1;
        let block = self.thread(who).block;
        if let Operation::PutSignal | Operation::PutSignalNbi | Operation::PutPackets = op.operation {
            let index = match op.together {
                Together::OneThread => who as usize,
                Together::OneWarp => who as usize >> 5,
                Together::SomeWarps | Together::OneBlock => block,
                Together::WholeGrid => self.groups[block].launch as usize,
            };
            // Groups of warps are told apart by what they name.
            let more = if op.together == Together::SomeWarps { op.offset } else { 0 };
            let next = self.units.len() as u32;
            let unit = *self.units.entry((op.together, index, more)).or_insert(next);
            let target = op.pe as u16;
            let thread = self.thread_mut(who);
            let number = thread.numbers.entry(unit << 8 | u32::from(target)).or_insert(0);
            *number += 1;
            op.own = Some(Own { unit, target, number: *number });
        }
        let thread = self.thread_mut(who);
        thread.ops += 1;
        op.number = thread.ops;
        thread.before = thread.log;
        thread.op = op;
        thread.loads.clear();
        if op.operation != Operation::Access {
            thread.polled.clear();
            thread.read.clear();
            thread.stale = false;
        }
    }

    /// The event of an access by `who` in its operation, now.
    pub(crate) fn event(&mut self, who: Who, class: Class, writes: bool, strong: u8) -> EventId {
        let time = self.now(who);
        let thread = self.threads[who as usize].as_deref_mut().expect("a thread that was made");
        let op = &thread.op;
        // What it stores, to the own PE at once, and the reads of its source.
        let carried = matches!(class, Class::Put(_) | Class::Source(_) | Class::Local);
        let own = if carried { op.own } else { None };
        let what = (class, writes, strong, own, core::ptr::from_ref(op.location), op.operation);
        let recent = thread.recent.iter().flatten().find(|recent| recent.time == time && recent.what == what);
        if let Some(recent) = recent {
            return recent.event;
        }
        let (operation, location) = (op.operation, op.location);
        let event = self.events.add(Event { who, time, class, operation, writes, strong, own, location });
        thread.recent[thread.next_recent] = Some(Recent { event, what, time });
        thread.next_recent = (thread.next_recent + 1) % thread.recent.len();
        event
    }

    /// Keeps a finding, if it is no repetition.
    pub(crate) fn found(&mut self, finding: Finding) {
        let line = |place: &Option<Place>| {
            place.as_ref().map_or(0, |place| core::ptr::from_ref(place.location).addr())
        };
        let (a, b) = (line(&finding.first), line(&finding.second));
        if self.findings.len() < MOST && self.reported.insert((finding.kind, a.min(b), a.max(b))) {
            self.findings.push(finding);
        }
    }

    /// Whether a finding of this kind and these lines was made already.
    pub(crate) fn is_reported(
        &self,
        kind: Kind,
        a: &'static Location<'static>,
        b: &'static Location<'static>,
    ) -> bool {
        let (a, b) = (core::ptr::from_ref(a).addr(), core::ptr::from_ref(b).addr());
        self.reported.contains(&(kind, a.min(b), a.max(b)))
    }

    /// The place of an event.
    pub(crate) fn place(&self, event: EventId) -> Place {
        let event = self.events.get(event);
        self.place_of(event.who, event.operation, event.writes, event.location)
    }

    pub(crate) fn place_of(
        &self,
        who: Who,
        operation: Operation,
        writes: bool,
        location: &'static Location<'static>,
    ) -> Place {
        let (pe, thread) = match self.threads.get(who as usize).and_then(Option::as_deref) {
            Some(thread) => (thread.pe, thread.position.map(|p| (p.block_idx, p.thread_idx))),
            None => (0, None),
        };
        Place { operation, writes, location, pe, thread }
    }

    /// The place where a thread is.
    pub(crate) fn place_now(&self, who: Who) -> Place {
        let op = self.thread(who).op;
        self.place_of(who, op.operation, false, op.location)
    }

    /// Whether no kernel runs, and nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        let running = self.groups[self.hosts as usize..]
            .iter()
            .rev()
            .take_while(|group| group.first_warp >= self.retired);
        self.updates.count == 0 && running.into_iter().all(|group| group.living == 0)
    }

    /// All host threads have met when nothing ran: from now on everybody knows all that kernels did. What the hosts know.
    pub(crate) fn retire(&mut self, know: &Know) -> Know {
        // While it is known who did what.
        self.look_again();
        self.forget_calls();
        let (from, first) = (self.phases.len(), self.retired.max(self.hosts as usize) * 32);
        self.retired = from;
        let mut clock = Clock::from(from as u32, self.hosts);
        clock.join(&know.issued);
        let issued = Rc::new(clock);
        let over = Rc::new(Over::all(self.pes, &issued));
        let done = Some(Rc::new(Know { issued: issued.clone(), over: over.clone(), done: None }));
        self.events.retire();
        self.words.forget_writers();
        self.ended.clear();
        self.units.clear();
        // Nobody asks for them any more.
        self.threads[first..].fill_with(|| None);
        for host in 0..self.hosts {
            let thread = self.thread_mut(host * 32);
            thread.recent = [None; 4];
            thread.heard = Rc::default();
        }
        Know { issued, over, done }
    }

    /// Mixes a value that a thread has got into what it knows.
    pub(crate) fn log(&mut self, who: Who, value: u64) {
        if self.choose.searches() {
            let log = &mut self.thread_mut(who).log;
            *log = mix(*log ^ value);
        }
    }
}
