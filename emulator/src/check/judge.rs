//! Whether one event comes before another, and what it means if not.

use super::clock::{Time, Who};
use super::event::{Event, EventId, Events};
use super::finding::{Finding, Kind};
use super::know::{Class, Know, Part};
use super::options::Profile;
use super::run::{Run, Thread};
use super::shadow::Judge;
use oxshmem_device::abi::Operation;

/// Who looks, with what it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observer<'a> {
    pub(crate) who: Who,
    pub(crate) pe: u32,
    pub(crate) time: Time,
    pub(crate) know: &'a Know,
}

/// Whether `before` is known to be over by the observer.
pub(crate) fn ordered(
    profile: Profile,
    events: &Events,
    threads: &[Option<Box<Thread>>],
    before: EventId,
    observer: Observer<'_>,
) -> bool {
    if events.is_old(before) {
        return true;
    }
    let event = events.get(before);
    let (who, time) = (event.who, event.time);
    let over = &observer.know.over;
    let own = || event.own.is_some_and(|own| over.has(own));
    let issued = || who == observer.who && time <= observer.time || observer.know.issued.knows(who, time);
    let pe_of = |who: Who| threads.get(who as usize).and_then(Option::as_deref).map_or(0, |thread| thread.pe);
    match event.class {
        Class::Local if profile == Profile::Strict && pe_of(who) != observer.pe => {
            over.part(Part::Local).knows(who, time) || own()
        }
        Class::Store(pe) if profile == Profile::Strict && pe_of(who) != observer.pe => {
            over.part(Part::Local).knows(who, time) || over.part(Part::Put(pe)).knows(who, time) || own()
        }
        Class::Local | Class::Store(_) => issued() || own(),
        Class::Read => issued() || over.part(Part::Read).knows(who, time),
        Class::Put(pe) => {
            let third =
                profile == Profile::Mixed && observer.pe != u32::from(pe) && observer.pe != pe_of(who);
            let part = if third { Part::Everywhere(pe) } else { Part::Put(pe) };
            over.part(part).knows(who, time) || own()
        }
        Class::Source(pe) => over.part(Part::Source(pe)).knows(who, time) || own(),
        Class::Get(pe) => over.part(Part::Get(pe)).knows(who, time),
    }
}

/// Events that a thread was found to know to be over: it will know so for ever. A copy meets the same few again and again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    events: [EventId; 4],
    next: usize,
}

impl Known {
    fn has(&self, event: EventId) -> bool {
        self.events.contains(&event)
    }

    fn add(&mut self, event: EventId) {
        self.events[self.next] = event;
        self.next = (self.next + 1) % self.events.len();
    }
}

/// Collects what an access meets.
struct Meeting<'a> {
    profile: Profile,
    events: &'a Events,
    threads: &'a [Option<Box<Thread>>],
    observer: Observer<'a>,
    strong: u8,
    /// What the observer is known to know, so far.
    known: Known,
    conflicts: Vec<(EventId, u64)>,
    unwritten: Option<u64>,
}

impl Judge for Meeting<'_> {
    fn ordered(&mut self, before: EventId) -> bool {
        if self.known.has(before) {
            return true;
        }
        let ordered = ordered(self.profile, self.events, self.threads, before, self.observer);
        if ordered {
            self.known.add(before);
        }
        ordered
    }

    fn was_sent(&mut self, read: EventId) -> bool {
        let own = if self.events.is_old(read) { None } else { self.events.get(read).own };
        own.is_some_and(|own| self.observer.know.over.has(own))
    }

    fn conflict(&mut self, before: EventId, address: u64) {
        // Words that both synchronise by do not race.
        if self.strong != 0 && self.events.get(before).strong == self.strong {
            return;
        }
        if self.conflicts.len() < 4 && !self.conflicts.iter().any(|&(other, _)| other == before) {
            self.conflicts.push((before, address));
        }
    }

    fn never_written(&mut self, address: u64) {
        self.unwritten.get_or_insert(address);
    }
}

impl Run {
    /// Notes an access in the shadow, and reports what it races with.
    pub(crate) fn meet(
        &mut self,
        (address, bytes): (u64, u64),
        event: EventId,
        copies: bool,
        know: Option<&Know>,
    ) {
        let Event { who, time, writes, strong, .. } = *self.events.get(event);
        let thread = self.threads[who as usize].as_deref().expect("a thread that was made");
        // Else it is known to the access alone.
        let keeps = know.is_none_or(|know| know.is(&thread.know));
        let know = know.unwrap_or(&thread.know);
        let mut meeting = Meeting {
            profile: self.profile,
            events: &self.events,
            threads: &self.threads,
            observer: Observer { who, pe: thread.pe, time, know },
            strong,
            known: thread.known,
            conflicts: Vec::new(),
            unwritten: None,
        };
        self.shadow.access((address, bytes), event, writes, copies, &mut meeting);
        let Meeting { conflicts, unwritten, known, .. } = meeting;
        if keeps {
            self.thread_mut(who).known = known;
        }
        for (before, address) in conflicts {
            self.race(before, event, address);
        }
        if let Some(address) = unwritten {
            let first = Some(self.place(event));
            let memory = self.memory_name(address, who);
            let remedy = "write it first, or wait for whoever writes it".into();
            self.found(Finding { first, memory, remedy, ..Finding::new(Kind::NeverWritten) });
        }
    }

    /// How an address is called.
    pub(crate) fn memory_name(&self, address: u64, who: Who) -> String {
        let thread = self.thread(who);
        let (start, bytes) = self.groups[thread.block].shared;
        if address >= start && address - start < u64::from(bytes) {
            return format!("shared memory, byte {} of the layout, PE {}", address - start, thread.pe);
        }
        self.places.name(address)
    }

    /// Two events conflict.
    fn race(&mut self, before: EventId, event: EventId, address: u64) {
        let (one, two) = (*self.events.get(event), *self.events.get(before));
        let kind = self.kind_of(&one, &two, before);
        if self.is_reported(kind, one.location, two.location) {
            return;
        }
        let finding = Finding {
            first: Some(self.place(event)),
            second: Some(self.place(before)),
            memory: self.memory_name(address, one.who),
            remedy: remedy(kind, &one, &two).into(),
            ..Finding::new(kind)
        };
        let before_it = self.findings.len();
        self.found(finding);
        if kind == Kind::DataRace && self.findings.len() > before_it {
            self.races.push((before_it, before, event));
        }
    }

    /// What kind of conflict it is that `now` met `then`.
    fn kind_of(&self, now: &Event, then: &Event, before: EventId) -> Kind {
        match (now.strong, then.strong) {
            (0, 0) => {}
            (0, _) => return mixed(now, then),
            (_, 0) => return mixed(then, now),
            _ => return Kind::MixedWidth,
        }
        let class = |event: &Event, is: fn(Class) -> bool| is(event.class);
        let source = |class| matches!(class, Class::Source(_));
        let get = |class| matches!(class, Class::Get(_));
        if class(now, source) || class(then, source) {
            return Kind::SourceInUse;
        }
        if class(now, get) && now.writes || class(then, get) && then.writes {
            return Kind::DestinationInUse;
        }
        let put = |event: &Event| event.writes && matches!(event.class, Class::Put(_));
        let (here, there) = (self.thread(now.who), self.thread(then.who));
        if put(now) && put(then) && here.pe == there.pe {
            return Kind::UnorderedPuts;
        }
        if !then.writes {
            return Kind::DataRace;
        }
        let covered = |know: &Know| {
            let observer = Observer { who: now.who, pe: here.pe, time: now.time, know };
            ordered(self.profile, &self.events, &self.threads, before, observer)
        };
        if here.heard.iter().any(|heard| heard.message.as_deref().is_some_and(covered)) {
            return Kind::MissingAcquire;
        }
        // Who looks now may have been told of it, but in a way that does not cover it.
        let told = here.heard.iter().any(|heard| {
            heard.issued.knows(then.who, then.time) || {
                let signal = self.events.get(heard.event);
                signal.who == then.who && signal.time >= then.time
            }
        });
        if told {
            return Kind::SignalOvertakesData;
        }
        let by_neighbour = here.heard.iter().any(|heard| {
            let signaller = self.events.get(heard.event).who;
            let neighbour = self.threads.get(signaller as usize).and_then(Option::as_deref);
            signaller != then.who && neighbour.is_some_and(|neighbour| neighbour.block == there.block)
        });
        if by_neighbour {
            return Kind::ReleaseWithoutBarrier;
        }
        if self.neighbour_knows(now.who, then) {
            return Kind::AcquireWithoutBarrier;
        }
        Kind::DataRace
    }

    /// Whether another thread of a block knows that an event of another block is over.
    fn neighbour_knows(&self, who: Who, event: &Event) -> bool {
        let block = self.thread(who).block;
        let group = &self.groups[block];
        let first = (group.first_warp * 32) as Who;
        let knows = |other: Who| {
            let Some(thread) = self.threads[other as usize].as_deref() else { return false };
            let observer = Observer { who: other, pe: thread.pe, time: self.now(other), know: &thread.know };
            other != who && known(event, observer)
        };
        self.thread(event.who).block != block && (first..first + group.threads).any(knows)
    }

    /// At the end of a run, looks again at the races of what one block wrote and another one read: another thread of the
    /// reader's block may have waited since.
    pub(crate) fn look_again(&mut self) {
        for (at, before, event) in std::mem::take(&mut self.races) {
            let (one, two) = (*self.events.get(event), *self.events.get(before));
            let (write, read) = if one.writes { (one, two) } else { (two, one) };
            let reader = self.thread(read.who);
            let observer =
                Observer { who: read.who, pe: reader.pe, time: self.now(read.who), know: &reader.know };
            if !read.writes && !known(&write, observer) && self.neighbour_knows(read.who, &write) {
                let kind = Kind::AcquireWithoutBarrier;
                let finding = &mut self.findings[at];
                (finding.kind, finding.remedy) = (kind, remedy(kind, &one, &two).into());
            }
        }
    }
}

/// As [`ordered`], of an event itself.
fn known(event: &Event, observer: Observer<'_>) -> bool {
    let (over, who, time) = (&observer.know.over, event.who, event.time);
    match event.class {
        Class::Local | Class::Store(_) | Class::Read => observer.know.issued.knows(who, time),
        Class::Put(pe) => {
            over.part(Part::Put(pe)).knows(who, time) || event.own.is_some_and(|own| over.has(own))
        }
        Class::Source(_) | Class::Get(_) => false,
    }
}

/// A plain and a strong access meet.
fn mixed(plain: &Event, strong: &Event) -> Kind {
    let flag = matches!(
        strong.operation,
        Operation::WaitUntil
            | Operation::WaitReached
            | Operation::WaitUntilAll
            | Operation::WaitUntilAny
            | Operation::WaitUntilSome
            | Operation::Test
            | Operation::TestAll
            | Operation::TestAny
            | Operation::TestSome
            | Operation::Signal
            | Operation::SignalWeak
            | Operation::SignalFetch
            | Operation::PutSignal
            | Operation::PutSignalNbi
    );
    if flag && plain.writes { Kind::FlagByData } else { Kind::AtomicAndPlain }
}

/// What would order two events.
fn remedy(kind: Kind, now: &Event, then: &Event) -> &'static str {
    match kind {
        Kind::UnorderedPuts => {
            "a quiet between the two puts fixes which one stays, or a fence by the thread that puts again (one of a whole scope is its leader's)"
        }
        Kind::SignalOvertakesData => {
            "send a strong signal, or a put_signal of this data, or fence before the weak one; a signal that a third PE \
             sends needs a quiet before"
        }
        Kind::MissingAcquire => "wait for it, or fetch it by `thread().acquire()`",
        Kind::ReleaseWithoutBarrier => {
            "join the threads (block or warp sync) before one of them signals for all"
        }
        Kind::AcquireWithoutBarrier => {
            "let the whole block wait, or join it (block sync) after one thread has waited"
        }
        Kind::SourceInUse => "flush or quiet before the source is written again, or use the blocking put",
        Kind::DestinationInUse => "quiet before the destination is used; a fence does not complete a get",
        Kind::FlagByData => "write the word by `signal` or an atomic, which waits and tests are made for",
        Kind::MixedWidth => "use one width for a word, everywhere",
        Kind::AtomicAndPlain => "use an atomic for both, or order them by a barrier",
        _ if then.writes && !now.writes => {
            "wait for a signal that covers the write, or come to a barrier, before the read"
        }
        _ if now.writes && !then.writes => {
            "let the reader say by a strong signal that it has read, and wait for that before the write"
        }
        _ => "order the two by a signal and a wait, or by a barrier",
    }
}
