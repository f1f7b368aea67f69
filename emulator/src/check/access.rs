//! What an access does: at once, or as an update that is under way.

use super::clock::{Clock, Who};
use super::event::EventId;
use super::finding::{Finding, Kind, Place};
use super::judge::{Observer, ordered};
use super::know::{Class, Know, Part};
use super::options::Profile;
use super::places::Spot;
use super::run::{Heard, Run};
use super::sort::{acquires, copies, gets, how, non_blocking, puts, releases, strong};
use super::updates::{Body, Piece, Update};
use super::words::{How, Value, Word};
use crate::random::mix;
use oxshmem_device::Together;
use oxshmem_device::abi::{Operation, control};
use oxshmem_device::hooks::{Access, Change};
use std::rc::Rc;

/// Most updates of one PE to another that are under way.
const MOST_UNDER_WAY: usize = 192;

/// Most bytes of a piece that room is made for before they are there.
const MOST_ROOM: u64 = 4096;

/// Reads memory as it is.
pub(crate) fn raw(address: u64, bytes: u32) -> [u64; 2] {
    let mut value = [0u64; 2];
    // SAFETY: the caller has found that the bytes are mapped; nothing else runs in a checked run.
    unsafe {
        let from = core::ptr::with_exposed_provenance::<u8>(address as usize);
        core::ptr::copy_nonoverlapping(from, value.as_mut_ptr().cast::<u8>(), bytes as usize);
    }
    value
}

/// Writes memory.
pub(crate) fn write_raw(address: u64, bytes: &[u8]) {
    // SAFETY: as in `raw`.
    unsafe {
        let to = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
}

fn bytes_of(value: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&value[1].to_ne_bytes());
    bytes
}

impl Run {
    /// Reports an access outside of every allocation.
    fn outside(&mut self, who: Who, address: u64, pe: u32) {
        let (_, offset) = self.places.in_heap(address).unwrap_or((pe, 0));
        let memory = format!("{} of PE {pe}", self.places.name_at(offset));
        let (kind, detail, second) = match self.places.was_freed(offset) {
            Some((pe, location)) => {
                let host = Place { operation: Operation::Host, writes: false, location, pe, thread: None };
                (Kind::UseAfterFree, "all PEs had given the allocation back", Some(host))
            }
            None => (Kind::OutOfBounds, "no allocation is there", None),
        };
        let (first, detail) = (Some(self.place_now(who)), detail.to_owned());
        let finding = Finding { first, second, memory, detail, ..Finding::new(kind) };
        self.found(finding);
    }

    pub(crate) fn load(&mut self, who: Who, access: Access) -> [u64; 2] {
        let Access { address, bytes, order } = access;
        let op = self.thread(who).op;
        match self.places.spot(address, bytes) {
            Spot::Elsewhere => return raw(address, bytes),
            Spot::Unallocated { pe } => {
                self.outside(who, address, pe);
                return raw(address, bytes);
            }
            // Looked at by every poll, and written by the host alone.
            Spot::Control if self.places.in_heap(address).is_some_and(|(_, at)| at == control::ABORT) => {
                return raw(address, bytes);
            }
            Spot::Control => return self.read_word(who, access, true),
            Spot::Heap { .. } | Spot::Local if strong(&op, order) => {
                return self.read_word(who, access, false);
            }
            Spot::Heap { .. } | Spot::Local => {}
        }
        let copies = copies(op.operation);
        let class = match op.operation {
            operation if gets(operation) => Class::Read,
            operation if puts(operation) && non_blocking(operation) => Class::Source(op.pe as u16),
            _ => Class::Local,
        };
        let event = self.event(who, class, false, 0);
        self.meet((address, bytes.into()), event, copies, None);
        let value = raw(address, bytes);
        if non_blocking(op.operation) {
            self.thread_mut(who).loads.push_back((address, bytes, value));
        }
        if !copies {
            self.log(who, value[0] ^ value[1].rotate_left(32));
        }
        value
    }

    pub(crate) fn store(&mut self, who: Who, access: Access, value: [u64; 2]) {
        let Access { address, bytes, order } = access;
        let (op, pe) = (self.thread(who).op, self.thread(who).pe);
        let owner = match self.places.spot(address, bytes) {
            Spot::Elsewhere => return write_raw(address, &bytes_of(value)[..bytes as usize]),
            Spot::Unallocated { pe } => return self.outside(who, address, pe),
            Spot::Control => return self.store_control(who, access, value),
            Spot::Heap { pe } => pe,
            Spot::Local => pe,
        };
        if strong(&op, order) {
            if self.note_early(who, access, value) {
                return;
            }
            let how = how(&op, How::Set);
            let body = |message| Body::Store { address, bytes, bits: value, message, how };
            return self.write_word(who, owner, access, body);
        }
        let get = gets(op.operation) && non_blocking(op.operation);
        let put = puts(op.operation) && matches!(self.places.spot(address, bytes), Spot::Heap { .. });
        if get || put && (owner != pe || non_blocking(op.operation)) {
            let class = if get { Class::Get(op.pe as u16) } else { Class::Put(owner as u16) };
            return self.put(who, owner, class, (address, bytes), value);
        }
        let class = if owner == pe { Class::Local } else { Class::Store(owner as u16) };
        let event = self.event(who, class, true, 0);
        self.meet((address, bytes.into()), event, false, None);
        self.write_data(address, &bytes_of(value)[..bytes as usize]);
    }

    /// Writes data, now.
    pub(crate) fn write_data(&mut self, address: u64, bytes: &[u8]) {
        if self.choose.searches() {
            for (at, chunk) in (address..).step_by(8).zip(bytes.chunks(8)) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                let old = raw(at, chunk.len() as u32)[0];
                self.memory ^= mix(at ^ mix(old)) ^ mix(at ^ mix(u64::from_ne_bytes(word)));
            }
        }
        write_raw(address, bytes);
        self.words.forget(address, bytes.len() as u64);
        let woken = self.words.wake_range(address.saturating_sub(15), bytes.len() as u64 + 15);
        self.woken.extend(woken);
        self.progress += 1;
    }

    /// Notes data that will arrive later.
    fn put(&mut self, who: Who, owner: u32, class: Class, (address, bytes): (u64, u32), value: [u64; 2]) {
        let pe = self.thread(who).pe;
        let op = self.thread(who).op;
        let event = self.event(who, class, true, 0);
        let is_get = matches!(class, Class::Get(_));
        let know = self.update_know(who, owner, false);
        self.meet((address, bytes.into()), event, false, Some(&know));
        let mut source = None;
        let loads = &mut self.thread_mut(who).loads;
        if let Some(at) = loads.iter().position(|&(_, b, v)| b == bytes && v == value)
            && non_blocking(op.operation)
        {
            let (from, ..) = loads.remove(at).expect("a position in the list");
            // It is read when the update is carried out, or has been read now.
            source = (self.choose.rare(2) == 0).then_some(from);
            if is_get {
                // The source is read at any time, too.
                let event = self.event(who, class, false, 0);
                self.meet((from, bytes.into()), event, true, None);
            }
        }
        let target = if is_get { op.pe } else { owner };
        let new = &bytes_of(value)[..bytes as usize];
        let queue = self.updates.queue(pe, target);
        if let Some(last) = queue.last_mut()
            && last.who == who
            && last.number == op.number
            && let Body::Data(pieces) = &mut last.body
        {
            if let Some(piece) = pieces.last_mut()
                && piece.address + piece.bytes.len() as u64 == address
                && piece.source.map(|from| from + piece.bytes.len() as u64) == source
            {
                piece.bytes.extend_from_slice(new);
            } else {
                pieces.push(Piece { address, bytes: new.to_vec(), source });
            }
            return;
        }
        // What one thread copies is one piece mostly.
        let room = if op.together == Together::OneThread { op.bytes.min(MOST_ROOM) as usize } else { 0 };
        let mut first = Vec::with_capacity(room.max(new.len()));
        first.extend_from_slice(new);
        let body = Body::Data(vec![Piece { address, bytes: first, source }]);
        let after = if is_get { None } else { self.after(who, owner) };
        self.issue(who, target, event, after, know, is_get, body);
    }

    /// Puts an update under way.
    #[expect(clippy::too_many_arguments, reason = "what an update is made of")]
    fn issue(
        &mut self,
        who: Who,
        target: u32,
        event: EventId,
        after: Option<Rc<Clock>>,
        know: Know,
        is_get: bool,
        body: Body,
    ) {
        let (time, thread) = (self.now(who), self.thread(who));
        let (pe, op) = (thread.pe, thread.op);
        let fenced = thread.fenced.is_some() || thread.know.done.is_some() || !thread.fenced_for.is_empty();
        let own = if is_get { None } else { op.own };
        let update = Update { who, time, number: op.number, event, after, own, is_get, fenced, know, body };
        self.updates.push(pe, target, update);
        let index = self.updates.index(pe, target);
        if self.updates.queue(pe, target).len() > MOST_UNDER_WAY {
            self.carry_out(index, 0);
        }
    }

    /// Writes a word that threads synchronise by.
    fn write_word(
        &mut self,
        who: Who,
        owner: u32,
        access: Access,
        body: impl FnOnce(Option<Rc<Know>>) -> Body,
    ) {
        let op = self.thread(who).op;
        let pe = self.thread(who).pe;
        let own_only =
            matches!(op.operation, Operation::PutSignal | Operation::PutSignalNbi | Operation::PutPackets);
        let all = releases(access.order) && !own_only;
        let event = self.event(who, Class::Put(owner as u16), true, access.bytes as u8);
        let know = self.update_know(who, owner, all);
        self.meet((access.address, access.bytes.into()), event, false, Some(&know));
        let after = if all { Some(self.issued_here(who)) } else { self.after(who, owner) };
        let message = match op.own {
            Some(own) if releases(access.order) && own_only => {
                let mut message =
                    self.weak_message(who, owner).map_or_else(|| Know::new(self.pes), |know| (*know).clone());
                message.receive(own);
                Some(Rc::new(message))
            }
            _ if all => Some(self.strong_message(who, owner)),
            _ => self.weak_message(who, owner),
        };
        self.words.note_writer(access.address, event);
        let body = body(message);
        self.note_how(&body, event, &know);
        // Through a pointer a thread sees its own stores; its own PE's memory is written at once.
        let at_once = owner == pe || op.operation == Operation::Ptr;
        self.issue(who, owner, event, after, know, false, body);
        if at_once {
            let index = self.updates.index(pe, owner);
            let last = self.updates.queues()[index].len();
            if last > 0 {
                self.carry_out(index, last - 1);
            }
        }
    }

    /// The word at an address, made of what is there if need be.
    pub(crate) fn word(&mut self, address: u64, bytes: u32) -> &mut Word {
        if self.words.get(address).is_none_or(|word| word.bytes != bytes) {
            let writer = self.shadow.writer(address);
            // A word that others hold as one of another width starts anew.
            self.words.forget(address, bytes.into());
            // Its writer may not have arrived: then this is what was there before.
            let writer = if self.events.get(writer).strong != 0 { 1 } else { writer };
            self.words.insert(address, Word::new(bytes, raw(address, bytes), writer));
        }
        self.words.get(address).expect("it was made")
    }

    /// The oldest value of a word that the observer may still see, by number.
    pub(crate) fn floor(&mut self, address: u64, observer: Observer<'_>) -> usize {
        let Self { words, profile, events, threads, .. } = self;
        let Some(word) = words.get(address) else { return 0 };
        let known = |value: &Value| {
            ordered(*profile, events, threads, value.event, observer)
                || value.readers.iter().any(|&(who, time)| {
                    who == observer.who && time <= observer.time || observer.know.issued.knows(who, time)
                })
        };
        word.values.iter().rposition(known).unwrap_or(0)
    }

    fn read_word(&mut self, who: Who, access: Access, control: bool) -> [u64; 2] {
        let Access { address, bytes, order } = access;
        let op = self.thread(who).op;
        if !control {
            let event = self.event(who, Class::Read, false, bytes as u8);
            self.meet((address, bytes.into()), event, true, None);
        }
        self.word(address, bytes);
        let time = self.now(who);
        let know = self.thread(who).know.clone();
        let observer = Observer { who, pe: self.thread(who).pe, time, know: &know };
        let mut floor = self.floor(address, observer);
        let stamp = self.thread(who).fence_stamp;
        let word = self.words.get(address).expect("it was made");
        let newest = word.values.len() - 1;
        while floor < newest && word.values[floor + 1].stamp <= stamp && word.values[floor + 1].stamp > 0 {
            floor += 1;
        }
        let in_order = control || self.profile == Profile::OpenShmem;
        let back = if in_order { 0 } else { self.choose.rare((newest - floor) as u32 + 1) as usize };
        let word = self.words.get(address).expect("it was made");
        let value = &mut word.values[newest - back];
        value.read_by(who, time);
        let Value { bits, event, message, issued, .. } = value.clone();
        let told = message.clone();
        let thread = self.threads[who as usize].as_deref_mut().expect("a thread that was made");
        thread.stale |= back > 0;
        thread.looks_at(address);
        if !self.events.is_old(event) && !control {
            thread.hear(Heard { event, issued, message: told });
        }
        if acquires(order) {
            if op.operation == Operation::Test {
                thread.tested.extend(message);
            } else if let Some(message) = message {
                self.learn(who, &message);
            }
        } else {
            thread.read.retain(|&(at, _)| at != address);
            if let Some(message) = message {
                thread.read.push((address, message));
            }
        }
        let label = self.label(event);
        self.log(who, label ^ bits[0] ^ bits[1].rotate_left(32));
        bits
    }

    /// A thread acquires a message.
    pub(crate) fn learn(&mut self, who: Who, message: &Know) {
        let mixed = self.profile == Profile::Mixed;
        let thread = self.thread_mut(who);
        thread.know.join(message);
        if mixed {
            // What has arrived here is here for whoever learns of it from here.
            let pe = thread.pe as u16;
            let here = thread.know.over.part(Part::Put(pe)).clone();
            thread.know.finish(Part::Everywhere(pe), &here);
        }
    }

    /// What tells an event from others in every run.
    pub(crate) fn label(&self, event: EventId) -> u64 {
        if self.events.is_old(event) {
            return u64::from(event.min(1));
        }
        let event = self.events.get(event);
        let line = core::ptr::from_ref(event.location).addr() as u64;
        mix(mix(u64::from(event.who) << 32 | u64::from(event.time.own)) ^ u64::from(event.time.phase) ^ line)
    }

    pub(crate) fn change(&mut self, who: Who, access: Access, change: Change) {
        let Access { address, bytes, .. } = access;
        let (op, pe) = (self.thread(who).op, self.thread(who).pe);
        let owner = match self.places.spot(address, bytes) {
            Spot::Elsewhere => {
                let new = change(raw(address, bytes)[0]);
                return write_raw(address, &bytes_of([new, 0])[..bytes as usize]);
            }
            Spot::Unallocated { pe } => return self.outside(who, address, pe),
            Spot::Control => {
                self.fetch(who, access, None, change);
                return;
            }
            Spot::Heap { pe } => pe,
            Spot::Local => pe,
        };
        self.write_word(who, owner, access, |message| Body::Change {
            address,
            bytes,
            change,
            message,
            how: how(&op, How::Add),
        });
    }

    /// A read-modify-write that returns the old bits. One that compares leaves the word alone if it does not find
    /// `expected`: it is a read then.
    pub(crate) fn fetch(&mut self, who: Who, access: Access, expected: Option<u64>, change: Change) -> u64 {
        let Access { address, bytes, order } = access;
        let pe = self.thread(who).pe;
        let spot = self.places.spot(address, bytes);
        let control = spot == Spot::Control;
        let fails = |old: u64| expected.is_some_and(|expected| expected != old);
        let owner = match spot {
            Spot::Elsewhere => {
                let old = raw(address, bytes)[0];
                if !fails(old) {
                    write_raw(address, &bytes_of([change(old), 0])[..bytes as usize]);
                }
                return old;
            }
            Spot::Unallocated { pe } => {
                self.outside(who, address, pe);
                return 0;
            }
            Spot::Control | Spot::Local => self.places.in_heap(address).map_or(pe, |(pe, _)| pe),
            Spot::Heap { pe } => pe,
        };
        let know = self.update_know(who, owner, releases(order));
        // What its fences cover, or what it releases, arrives first.
        let after = if releases(order) { Some(self.issued_here(who)) } else { self.after(who, owner) };
        if let Some(after) = after {
            self.carry_out_known(pe, owner, &after);
        }
        let Value { bits, event: earlier, message: before, issued: told, .. } =
            self.word(address, bytes).newest().clone();
        let fails = fails(bits[0]);
        let class = if fails { Class::Read } else { Class::Put(owner as u16) };
        let event = self.event(who, class, !fails, bytes as u8);
        if !control {
            self.meet((address, bytes.into()), event, fails, (!fails).then_some(&know));
        }
        if !self.events.is_old(earlier) && !control {
            let heard = Heard { event: earlier, issued: told, message: before.clone() };
            self.thread_mut(who).hear(heard);
        }
        if !fails {
            let message = if releases(order) {
                Some(self.strong_message(who, owner))
            } else {
                self.weak_message(who, owner)
            };
            if !control {
                self.words.note_writer(address, event);
            }
            self.change_word((address, bytes), [change(bits[0]), 0], event, message, know.issued.clone());
        }
        let time = self.now(who);
        self.words.get(address).expect("it was made").newest().read_by(who, time);
        self.thread_mut(who).looks_at(address);
        if acquires(order) {
            if let Some(before) = &before {
                self.learn(who, before);
            }
        } else if let Some(before) = before {
            let thread = self.thread_mut(who);
            thread.read.retain(|&(at, _)| at != address);
            thread.read.push((address, before));
        }
        let label = self.label(earlier);
        self.log(who, label ^ bits[0]);
        bits[0]
    }

    /// The runtime's own words: nothing is delayed, and only the order tells.
    fn store_control(&mut self, who: Who, access: Access, value: [u64; 2]) {
        let Access { address, bytes, order } = access;
        let op = self.thread(who).op;
        let pe = self.thread(who).pe;
        let owner = self.places.in_heap(address).map_or(pe, |(pe, _)| pe);
        let message = if releases(order) {
            let mut know = self.thread(who).know.clone().abroad().and(who, self.now(who));
            let here = self.issued_here(who);
            know.finish(Part::Local, &here);
            if !matches!(op.operation, Operation::SyncAll | Operation::TeamSync) {
                know.finish(Part::Put(owner as u16), &here);
                self.carry_out_known(pe, owner, &here);
            }
            self.thread_mut(who).own += 1;
            Some(Rc::new(know))
        } else {
            self.weak_message(who, owner)
        };
        let event = self.event(who, Class::Put(owner as u16), true, bytes as u8);
        let issued = self.thread(who).know.issued.clone();
        self.word(address, bytes);
        self.set_word((address, bytes), value, event, message, issued, None);
    }
}
