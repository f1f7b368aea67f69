//! Runs the steps of all PEs of a lane as automata that pass messages, in any interleaving, with symbolic values, and tells
//! the first thing that is wrong.
//!
//! A message arrives when it is sent: a receiver that has not been scheduled since then is as one to which it is still on the
//! way, and a slot that is written too early is seen at once.

use super::value::Symbol;
use crate::collective::schedule::{Place, Schedule, Shape, Step, Value};
use std::collections::VecDeque;

/// What a collective promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Every PE has every chunk, of all sources. In place: sources are overwritten.
    AllReduce,
    /// PE `p` has its block of all sources.
    ReduceScatter,
    /// PE `root` has every chunk, of all sources.
    Reduce(u32),
    /// Every PE has every block as its PE had it.
    AllGather,
    /// Every PE has every chunk of `root`'s source.
    Broadcast(u32),
}

/// Who runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each PE as far as it comes, in turn.
    InTurn,
    /// A random PE, a random number of steps.
    Seeded(u64),
}

/// A message in a slot that has not been read.
#[derive(Clone, Copy)]
struct Message {
    from: u32,
    number: u32,
    chunk: u32,
    place: Place,
    value: Symbol,
}

struct Pe<S> {
    schedule: S,
    at: u32,
    queued: bool,
    /// Slots of all inboxes, and the numbers that their words have reached.
    slots: Vec<Option<Message>>,
    words: Vec<u32>,
    credits: Vec<u32>,
    sent: Vec<u32>,
    kept: Kept,
    /// One bit per chunk.
    done: Vec<u64>,
    used: Vec<u64>,
}

/// What a PE keeps, by chunks: few at a time.
#[derive(Default)]
struct Kept(Vec<(u32, Symbol)>);

impl Kept {
    fn put(&mut self, chunk: u32, value: Symbol) {
        self.0.push((chunk, value));
    }

    fn take(&mut self, chunk: u32) -> Result<Symbol, String> {
        let at = self.0.iter().position(|&(there, _)| there == chunk).ok_or("nothing is kept")?;
        Ok(self.0.swap_remove(at).1)
    }

    fn has(&self, chunk: u32) -> bool {
        self.0.iter().any(|&(there, _)| there == chunk)
    }
}

/// A run of all PEs.
pub(super) struct Run<S> {
    pes: Vec<Pe<S>>,
    shape: Shape,
    promise: Promise,
    /// What each chunk ended as, at whoever was first.
    results: Vec<Option<Symbol>>,
}

fn bit(set: &[u64], at: u32) -> bool {
    set[at as usize / 64] >> (at % 64) & 1 == 1
}

fn set(set: &mut [u64], at: u32) {
    set[at as usize / 64] |= 1 << (at % 64);
}

/// How a PE's turn ended.
enum Turn {
    Ended,
    Waits,
    MayGoOn,
}

impl<S: Schedule> Run<S> {
    pub(super) fn new(pes: u32, promise: Promise, schedule: impl Fn(u32) -> S) -> Result<Self, String> {
        let shape = schedule(0).shape();
        let words = (shape.chunks as usize).div_ceil(64);
        let mut all = Vec::new();
        for pe in 0..pes {
            let schedule = schedule(pe);
            if schedule.shape() != shape {
                return Err(format!("PE {pe} has another shape: {:?}, {shape:?}", schedule.shape()));
            }
            let slots = (shape.inboxes * shape.slots) as usize;
            all.push(Pe {
                schedule,
                at: 0,
                queued: true,
                slots: vec![None; slots],
                words: vec![0; slots],
                credits: vec![0; shape.credits as usize],
                sent: vec![0; shape.credits as usize],
                kept: Kept::default(),
                done: vec![0; words],
                used: vec![0; words],
            });
        }
        Ok(Self { pes: all, shape, promise, results: vec![None; shape.chunks as usize] })
    }

    /// Runs to the end, and holds it against the promise. Gives the number of steps.
    pub(super) fn check(mut self, order: Order) -> Result<u64, String> {
        let n = self.pes.len() as u32;
        let mut ready: VecDeque<u32> = (0..n).collect();
        let (mut ended, mut steps) = (0, 0_u64);
        let mut random = match order {
            Order::InTurn => 0,
            Order::Seeded(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        while !ready.is_empty() {
            let mut turns = u32::MAX;
            if random != 0 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let pick = (random >> 20) as usize % ready.len();
                ready.swap(0, pick);
                turns = 1 + (random >> 8) as u32 % 7;
            }
            let Some(pe) = ready.pop_front() else { break };
            self.pes[pe as usize].queued = false;
            let turn = loop {
                let turn = self.step(pe, &mut ready).map_err(|why| {
                    let at = self.pes[pe as usize].at;
                    let step = self.pes[pe as usize].schedule.step(at);
                    format!("PE {pe}, step {at}: {why}; {step:?}")
                })?;
                turns -= 1;
                match turn {
                    Turn::MayGoOn if turns > 0 => steps += 1,
                    turn => break turn,
                }
            };
            match turn {
                Turn::Ended => ended += 1,
                Turn::Waits => {}
                Turn::MayGoOn => {
                    steps += 1;
                    self.wake(pe, &mut ready);
                }
            }
        }
        if ended < n {
            let waits = self.pes.iter().enumerate().find(|(_, pe)| pe.at < pe.schedule.steps());
            let told = waits.map(|(pe, state)| format!("PE {pe}: {:?}", state.schedule.step(state.at)));
            return Err(format!("deadlock: {} of {n} PEs do not end; {told:?}", n - ended));
        }
        self.end().map(|()| steps)
    }

    fn wake(&mut self, pe: u32, ready: &mut VecDeque<u32>) {
        if !std::mem::replace(&mut self.pes[pe as usize].queued, true) {
            ready.push_back(pe);
        }
    }

    /// One index of one PE.
    fn step(&mut self, me: u32, ready: &mut VecDeque<u32>) -> Result<Turn, String> {
        let (shape, promise) = (self.shape, self.promise);
        let pe = &mut self.pes[me as usize];
        if pe.at == pe.schedule.steps() {
            return Ok(Turn::Ended);
        }
        let Some(step) = pe.schedule.step(pe.at) else {
            pe.at += 1;
            return Ok(Turn::MayGoOn);
        };
        let Step { chunk, receive, value, keep, send } = step;
        if chunk >= shape.chunks {
            return Err(format!("there are {} chunks", shape.chunks));
        }
        let mut received = None;
        if let Some(receive) = receive {
            let in_slots = receive.inbox < shape.inboxes && receive.slot < shape.slots;
            let staged =
                receive.number == 0 || receive.place == Place::Destination || receive.inbox < shape.staged;
            if !in_slots || !staged {
                return Err("the inbox has no such slot".to_owned());
            }
            if receive.number > 0 {
                let slot = (receive.inbox * shape.slots + receive.slot) as usize;
                if pe.words[slot] < receive.number {
                    return Ok(Turn::Waits);
                }
                let message = pe.slots[slot].ok_or("the slot was read before")?;
                let expected = (receive.from, receive.number, chunk, receive.place);
                let there = (message.from, message.number, message.chunk, message.place);
                if there != expected {
                    return Err(format!("{there:?} came in place of {expected:?}"));
                }
                received = Some(message.value);
            }
        }
        if let Some(send) = send
            && pe.credits[send.credit as usize] < send.needs
        {
            return Ok(Turn::Waits);
        }
        pe.at += 1;

        let mut source = || {
            set(&mut pe.used, chunk);
            Symbol::source(me, chunk)
        };
        let received = || received.ok_or("nothing is received");
        let made = match value {
            Value::Source => source(),
            Value::ReceivedAndSource => received()?.plus(source())?,
            Value::Kept => pe.kept.take(chunk)?,
            Value::ReceivedAndKept => received()?.plus(pe.kept.take(chunk)?)?,
            Value::Final if receive.is_some_and(|receive| receive.number == 0) => Symbol::source(me, chunk),
            Value::Final => {
                if !bit(&pe.done, chunk) {
                    return Err("the chunk is not final".to_owned());
                }
                self.results[chunk as usize].ok_or("nobody has a result")?
            }
        };
        let ends = send.is_none_or(|send| send.place == Place::Destination);
        if keep {
            if promise == Promise::AllReduce && !bit(&pe.used, chunk) {
                return Err("the source is overwritten before it is read".to_owned());
            }
            if ends && self.is_final(me, chunk, made) {
                self.arrive(me, chunk, made)?;
            } else {
                self.pes[me as usize].kept.put(chunk, made);
            }
        }
        if let Some(receive) = receive {
            if receive.number > 0 {
                let slot = (receive.inbox * shape.slots + receive.slot) as usize;
                self.pes[me as usize].slots[slot] = None;
            }
            let from = self.pes.get_mut(receive.from as usize).ok_or("no such PE")?;
            let word = from.credits.get_mut(receive.credit as usize).ok_or("no such credit word")?;
            if *word >= receive.grants {
                return Err(format!("the credit word goes from {word} to {}", receive.grants));
            }
            *word = receive.grants;
            self.wake(receive.from, ready);
        }
        let Some(send) = send else { return Ok(Turn::MayGoOn) };
        self.pes[me as usize].sent[send.credit as usize] += 1;
        let to = self.pes.get_mut(send.to as usize).ok_or("no such PE")?;
        if send.inbox >= shape.inboxes || send.slot >= shape.slots {
            return Err("no such slot".to_owned());
        }
        let slot = (send.inbox * shape.slots + send.slot) as usize;
        if to.slots[slot].is_some() || send.number <= to.words[slot] {
            return Err(format!("a slot of PE {} is overwritten before it is read", send.to));
        }
        to.words[slot] = send.number;
        let Step { chunk, .. } = step;
        to.slots[slot] =
            Some(Message { from: me, number: send.number, chunk, place: send.place, value: made });
        if send.place == Place::Destination {
            if promise == Promise::AllReduce && !bit(&to.used, chunk) {
                return Err(format!("PE {} has not read its source yet", send.to));
            }
            if to.kept.has(chunk) {
                return Err(format!("what PE {} keeps is overwritten", send.to));
            }
            self.arrive(send.to, chunk, made)?;
        }
        self.wake(send.to, ready);
        Ok(Turn::MayGoOn)
    }

    /// Whether a kept value is what the chunk should end as.
    fn is_final(&self, me: u32, chunk: u32, value: Symbol) -> bool {
        match self.promise {
            Promise::Broadcast(root) => me == root,
            Promise::AllGather => me == self.owner(chunk),
            _ => value.count == self.pes.len() as u32,
        }
    }

    /// Whose block a chunk belongs to.
    fn owner(&self, chunk: u32) -> u32 {
        chunk / (self.shape.chunks / self.pes.len() as u32)
    }

    /// The final value of a chunk stands in a PE's destination.
    fn arrive(&mut self, pe: u32, chunk: u32, value: Symbol) -> Result<(), String> {
        if bit(&self.pes[pe as usize].done, chunk) {
            return Err(format!("chunk {chunk} ends twice at PE {pe}"));
        }
        set(&mut self.pes[pe as usize].done, chunk);
        let first = *self.results[chunk as usize].get_or_insert(value);
        if first == value { Ok(()) } else { Err(format!("chunk {chunk} ends differently at PE {pe}")) }
    }

    /// Whether everybody has what was promised, and nothing is left over.
    fn end(&self) -> Result<(), String> {
        let n = self.pes.len() as u32;
        for (chunk, value) in (0..).zip(&self.results) {
            let value = value.ok_or_else(|| format!("chunk {chunk} is final nowhere"))?;
            let sources = match self.promise {
                Promise::AllGather => self.owner(chunk)..self.owner(chunk) + 1,
                Promise::Broadcast(root) => root..root + 1,
                _ => 0..n,
            };
            let sum = sources.clone().fold(0_u128, |s, pe| s.wrapping_add(Symbol::source(pe, chunk).sum));
            if (value.count, value.sum) != (sources.len() as u32, sum) {
                return Err(format!("chunk {chunk} has {} of {} sources", value.count, sources.len()));
            }
        }
        for (me, pe) in (0..).zip(&self.pes) {
            for chunk in 0..self.shape.chunks {
                let expected = match self.promise {
                    Promise::ReduceScatter => self.owner(chunk) == me,
                    Promise::Reduce(root) => me == root,
                    _ => true,
                };
                if bit(&pe.done, chunk) != expected {
                    return Err(format!("chunk {chunk} at PE {me}: final is {}", !expected));
                }
            }
            if pe.slots.iter().any(Option::is_some) || !pe.kept.0.is_empty() {
                return Err(format!("PE {me} leaves a message, or a partial result"));
            }
            if let Some(&most) = pe.words.iter().chain(&pe.credits).max()
                && most > self.shape.numbers
            {
                return Err(format!("PE {me}: number {most} is above {}", self.shape.numbers));
            }
            for (word, (&sent, &credits)) in (0..).zip(pe.sent.iter().zip(&pe.credits)) {
                let granted = matches!(self.promise, Promise::AllGather | Promise::Broadcast(_)) as u32;
                if sent != pe.schedule.sent(word) || (sent > 0 && credits != sent + granted) {
                    return Err(format!(
                        "PE {me}: {sent} messages by word {word}, said {}; {credits} credits",
                        pe.schedule.sent(word)
                    ));
                }
            }
        }
        Ok(())
    }
}
