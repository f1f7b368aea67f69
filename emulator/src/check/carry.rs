//! Carrying updates out: those that go first, first.

use super::access::{raw, write_raw};
use super::clock::{Clock, Who};
use super::event::EventId;
use super::judge::Observer;
use super::know::Know;
use super::run::Run;
use super::updates::{Body, Piece, Update};
use super::words::Value;
use crate::random::mix;
use std::rc::Rc;

impl Run {
    /// Carries out an update, and before it those that must come first.
    pub(crate) fn carry_out(&mut self, queue: usize, at: usize) {
        let update = self.updates.take(queue, at);
        let mut earlier = 0;
        let mut end = at;
        while earlier < end {
            let goes_first = update.waits_for(&self.updates.queues()[queue][earlier]);
            if goes_first {
                let before = self.updates.queues()[queue].len();
                self.carry_out(queue, earlier);
                end -= before - self.updates.queues()[queue].len();
                // Those that came before this one may be gone, too.
                earlier = 0;
            } else {
                earlier += 1;
            }
        }
        self.perform(update);
    }

    /// Carries out all updates of a PE to another that are issued in `after`.
    pub(crate) fn carry_out_known(&mut self, from: u32, to: u32, after: &Clock) {
        let queue = self.updates.index(from, to);
        let mut at = 0;
        while let Some(update) = self.updates.queues()[queue].get(at) {
            if !update.is_get && after.knows(update.who, update.time) {
                self.carry_out(queue, at);
                at = 0;
            } else {
                at += 1;
            }
        }
    }

    /// Carries out all updates of a PE to another, and gets, that `who` has issued or knows to be issued.
    pub(crate) fn complete(&mut self, who: Who, to: u32, issued: &Clock) {
        let queue = self.updates.index(self.thread(who).pe, to);
        let mut at = 0;
        while let Some(update) = self.updates.queues()[queue].get(at) {
            if update.who == who || issued.knows(update.who, update.time) {
                self.carry_out(queue, at);
                at = 0;
            } else {
                at += 1;
            }
        }
    }

    /// Reads the sources of a thread's non-blocking puts.
    pub(crate) fn read_sources(&mut self, who: Who, issued: &Clock) {
        let pe = self.thread(who).pe;
        for to in 0..self.pes {
            for update in self.updates.queue(pe, to) {
                if update.is_get || update.who != who && !issued.knows(update.who, update.time) {
                    continue;
                }
                if let Body::Data(pieces) = &mut update.body {
                    pieces.iter_mut().for_each(Piece::read);
                }
            }
        }
    }

    fn perform(&mut self, update: Update) {
        self.stamp += 1;
        let Update { who, time, event, fenced, know, body, .. } = update;
        let issued = know.issued.clone();
        match body {
            Body::Data(pieces) => {
                for mut piece in pieces {
                    piece.read();
                    self.write_data(piece.address, &piece.bytes);
                }
            }
            Body::Store { address, bytes, bits, message, how: _ } => {
                self.word(address, bytes);
                let place = self.place_in_order(who, time, address, &know, fenced);
                self.set_word((address, bytes), bits, event, message, issued, place);
            }
            Body::Change { address, bytes, change, message, how: _ } => {
                let new = change(self.word(address, bytes).newest().bits[0]);
                self.change_word((address, bytes), [new, 0], event, message, issued);
            }
        }
    }

    /// Where a value may come in before newer ones: only what no fence has ordered, and only a search looks for that.
    fn place_in_order(
        &mut self,
        who: Who,
        time: super::clock::Time,
        address: u64,
        know: &Know,
        fenced: bool,
    ) -> Option<usize> {
        if fenced || !self.choose.searches() || self.profile == super::Profile::OpenShmem {
            return None;
        }
        let pe = self.thread(who).pe;
        let observer = Observer { who, pe, time, know };
        let floor = self.floor(address, observer);
        let Self { words, events, threads, .. } = self;
        let word = words.get(address)?;
        let by =
            |value: &Value| threads.get(events.get(value.event).who as usize)?.as_deref().map(|by| by.pe);
        // Not before what its own PE has written: that has arrived.
        let own = word.values.iter().rposition(|value| !events.is_old(value.event) && by(value) == Some(pe));
        let floor = floor.max(own.unwrap_or(0));
        let count = word.values.len();
        let may = |at: usize| at == count || !word.values[at].changes;
        let places: Vec<usize> = (floor + 1..=count).rev().filter(|&at| may(at)).collect();
        let chosen = self.choose.rare(places.len() as u32) as usize;
        places.get(chosen).copied().filter(|&at| at < count)
    }

    /// A word gets a value; at the end of its order, or before newer ones.
    pub(crate) fn set_word(
        &mut self,
        (address, bytes): (u64, u32),
        bits: [u64; 2],
        event: EventId,
        message: Option<Rc<Know>>,
        issued: Rc<Clock>,
        place: Option<usize>,
    ) {
        let stamp = self.stamp;
        let by = self.events.get(event).who;
        let events = &self.events;
        let word = self.words.get(address).expect("the caller has made it");
        // What a thread writes after its own release belongs to that release.
        let before = place.unwrap_or(word.values.len()).checked_sub(1).map(|at| &word.values[at]);
        let own = before.filter(|value| events.get(value.event).who == by);
        let message = match (message, own.and_then(|value| value.message.clone())) {
            (Some(message), Some(own)) => Some(joined(&message, &own)),
            (message, own) => message.or(own),
        };
        let value = Value { bits, event, message, issued, stamp, changes: false, readers: Vec::new() };
        match place {
            Some(at) => word.insert(at, value),
            None => {
                let end = word.values.len();
                word.insert(end, value);
                self.write_bits(address, bytes, bits);
            }
        }
        self.changed(address);
    }

    /// A word gets a value made of the one before.
    pub(crate) fn change_word(
        &mut self,
        (address, bytes): (u64, u32),
        bits: [u64; 2],
        event: EventId,
        message: Option<Rc<Know>>,
        issued: Rc<Clock>,
    ) {
        self.stamp += 1;
        let stamp = self.stamp;
        let word = self.word(address, bytes);
        let message = match (message, word.newest().message.clone()) {
            (Some(message), Some(before)) => Some(joined(&message, &before)),
            (message, before) => message.or(before),
        };
        let end = word.values.len();
        word.insert(end, Value { bits, event, message, issued, stamp, changes: true, readers: Vec::new() });
        if self.write_bits(address, bytes, bits) {
            self.changed(address);
        }
    }

    /// Whether they differ from what is there.
    fn write_bits(&mut self, address: u64, bytes: u32, bits: [u64; 2]) -> bool {
        let mut new = [0; 16];
        new[..8].copy_from_slice(&bits[0].to_ne_bytes());
        new[8..].copy_from_slice(&bits[1].to_ne_bytes());
        let old = raw(address, bytes);
        if self.choose.searches() {
            let label = |value: [u64; 2]| mix(address ^ mix(value[0]) ^ mix(!value[1]));
            self.memory ^= label(old) ^ label(bits);
        }
        write_raw(address, &new[..bytes as usize]);
        raw(address, bytes) != old
    }

    fn changed(&mut self, address: u64) {
        // Those who look at a wider word, too.
        let woken = self.words.wake_range(address.saturating_sub(8), 24);
        self.woken.extend(woken);
        self.progress += 1;
    }
}

fn joined(a: &Rc<Know>, b: &Rc<Know>) -> Rc<Know> {
    if a.covers(b) {
        return a.clone();
    }
    let mut joined = (**a).clone();
    joined.join(b);
    Rc::new(joined)
}

impl Piece {
    /// Takes what its source holds now.
    fn read(&mut self) {
        if let Some(source) = self.source.take() {
            for (at, chunk) in (source..).step_by(8).zip(self.bytes.chunks_mut(8)) {
                let value = raw(at, chunk.len() as u32)[0].to_ne_bytes();
                chunk.copy_from_slice(&value[..chunk.len()]);
            }
        }
    }
}
