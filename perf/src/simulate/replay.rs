//! A replay of schedules, event by event.
//!
//! The model, for a message of `m` bytes by a link with latency `alpha` and bandwidth `beta`:
//!
//! | what | takes |
//! |---|---|
//! | the sender's port | `m / beta`, in the order in which messages come to it; each GPU has one port out for NVLink and one for its rail |
//! | the way | `alpha`, after which the message begins to arrive |
//! | the receiver's port | `m / beta`, in the order of arrival, while it is arriving |
//! | a lane that sends over NVLink | as long as its blocks need to store `m`, or to reduce it, or its port to take it, then `hold` |
//! | a lane that sends by a rail | as long as it reduces, then `hold`: the network adapter reads the rest from memory |
//! | a lane that reduces or copies into its own memory | as long as its blocks need |
//! | a credit | `alpha` of the link, and no port |
//!
//! Ports of both directions and kinds are independent; between ports, nothing is scarce (switches and spines of full width).
//! Times are whole picoseconds and ties are decided by distance, so a replay is exact and repeatable.

use super::fold::Fold;
use super::machine::{Machine, Picos, picos, transfer};
use oxshmem_device::collective::schedule::{Grid, Schedule, Send, Shape, Step, Value};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a replay showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// When the last lane had done its last step.
    pub time: Picos,
    /// Messages that were replayed.
    pub messages: u64,
}

/// At equal times in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A message comes to its sender's rail.
    Post,
    /// A message begins to arrive.
    Arrive,
    /// A lane goes on.
    GoOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: Picos,
    kind: Kind,
    /// Decides between events of one PE at one time.
    tie: u32,
    agent: u32,
    /// The message's word and number; when its last byte is there at the earliest.
    word: u32,
    number: u32,
    rail: bool,
    tail: Picos,
}

/// When something is there: a number, and since when. Numbers of one word come in order.
#[derive(Clone, Copy, Default)]
struct Stamp {
    number: u32,
    time: Picos,
}

/// What a lane waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Nothing,
    Word(u32),
    Credit(u32),
}

/// A lane of a PE.
struct Agent<S> {
    schedule: S,
    pe: u32,
    lane: u32,
    own_lane: u32,
    at: u32,
    wait: Wait,
}

#[derive(Clone, Copy, Default)]
struct Ports {
    nvlink_out: Picos,
    nvlink_in: Picos,
    rail_out: Picos,
    rail_in: Picos,
}

/// What a chunk takes.
#[derive(Clone, Copy)]
struct Costs {
    nvlink: Picos,
    nvlink_alpha: Picos,
    rail: Picos,
    rail_alpha: Picos,
    put: Picos,
    reduce: Picos,
    hold: Picos,
}

struct Replay<S> {
    grid: Grid,
    machine_per_node: u32,
    fold: Fold,
    lanes: u32,
    shape: Shape,
    costs: Costs,
    agents: Vec<Agent<S>>,
    ports: Vec<Ports>,
    words: Vec<Stamp>,
    credits: Vec<Stamp>,
    events: BinaryHeap<Reverse<Event>>,
    done: Replayed,
}

/// Replays `lanes` lanes of the PEs that `fold` leaves, each message of `chunk` bytes. PE `p` is GPU `p` modulo the machine's
/// GPUs per node.
///
/// # Panics
///
/// If the schedule does not end.
pub fn replay<S: Schedule>(
    machine: &Machine,
    grid: Grid,
    fold: Fold,
    lanes: u32,
    chunk: u64,
    schedule: impl Fn(u32, u32) -> S,
) -> Replayed {
    let shape = schedule(0, 0).shape();
    let width = f64::from(machine.blocks) / f64::from(lanes);
    let costs = Costs {
        nvlink: machine.nvlink.bytes(chunk),
        nvlink_alpha: machine.nvlink.alpha(),
        rail: machine.rail.bytes(chunk),
        rail_alpha: machine.rail.alpha(),
        put: transfer(chunk, machine.block_put * width),
        reduce: transfer(chunk, machine.block_reduce * width),
        hold: picos(machine.hold_us),
    };
    let pes = fold.pes(grid);
    let agents: Vec<Agent<S>> = pes
        .iter()
        .flat_map(|&pe| (0..lanes).map(move |lane| (pe, lane)))
        .map(|(pe, lane)| {
            let own_lane = fold.own(grid, pe, lane);
            Agent { schedule: schedule(pe, lane), pe, lane, own_lane, at: 0, wait: Wait::Nothing }
        })
        .collect();
    let mut replay = Replay {
        grid,
        machine_per_node: machine.per_node,
        fold,
        lanes,
        shape,
        costs,
        ports: vec![Ports::default(); pes.len()],
        words: vec![Stamp::default(); agents.len() * (shape.inboxes * shape.slots) as usize],
        credits: vec![Stamp::default(); agents.len() * (shape.credits * shape.slots) as usize],
        events: BinaryHeap::with_capacity(4 * agents.len()),
        agents,
        done: Replayed { time: 0, messages: 0 },
    };
    for agent in 0..replay.agents.len() as u32 {
        replay.go_on(agent, 0);
    }
    while let Some(Reverse(event)) = replay.events.pop() {
        match event.kind {
            Kind::Post => replay.post(event),
            Kind::Arrive => replay.arrive(event),
            Kind::GoOn => replay.run(event.agent, event.time),
        }
    }
    let stuck = replay.agents.iter().find(|agent| agent.at < agent.schedule.steps());
    assert!(stuck.is_none(), "PE {:?} does not end", stuck.map(|agent| agent.pe));
    replay.done
}

impl<S: Schedule> Replay<S> {
    fn go_on(&mut self, agent: u32, time: Picos) {
        let tie = self.agents[agent as usize].own_lane;
        let event = Event { time, kind: Kind::GoOn, tie, agent, word: 0, number: 0, rail: false, tail: 0 };
        self.events.push(Reverse(event));
    }

    /// The agent that stands for a lane of a PE.
    fn agent(&self, pe: u32, lane: u32) -> u32 {
        let (pe, lane) = self.fold.locate(self.grid, pe, lane);
        pe * self.lanes + lane
    }

    fn by_rail(&self, a: u32, b: u32) -> bool {
        a / self.machine_per_node != b / self.machine_per_node
    }

    /// A lane does steps until it must wait or time passes.
    fn run(&mut self, me: u32, now: Picos) {
        loop {
            let agent = &mut self.agents[me as usize];
            if agent.at == agent.schedule.steps() {
                self.done.time = self.done.time.max(now);
                return;
            }
            let Some(step) = agent.schedule.step(agent.at) else {
                agent.at += 1;
                continue;
            };
            if let Some((word, number)) = self.awaited(me, &step)
                && self.waits(me, now, Wait::Word(word), self.words[word as usize], number)
            {
                return;
            }
            if let Some((word, number)) = self.needed(me, &step)
                && self.waits(me, now, Wait::Credit(word), self.credits[word as usize], number)
            {
                return;
            }
            self.agents[me as usize].at += 1;
            let free = self.act(me, now, &step);
            if free > now {
                return self.go_on(me, free);
            }
        }
    }

    /// Whether a lane must wait: for what is not on its way yet, or until it is there.
    fn waits(&mut self, me: u32, now: Picos, wait: Wait, stamp: Stamp, number: u32) -> bool {
        if stamp.number < number {
            self.agents[me as usize].wait = wait;
            return true;
        }
        if stamp.time > now {
            self.go_on(me, stamp.time);
            return true;
        }
        false
    }

    /// The word for which a step waits, and its number.
    fn awaited(&self, me: u32, step: &Step) -> Option<(u32, u32)> {
        let receive = step.receive.filter(|receive| receive.number > 0)?;
        let word = (me * self.shape.inboxes + receive.inbox) * self.shape.slots + receive.slot;
        Some((word, receive.number))
    }

    /// The credit for which a step waits.
    fn needed(&self, me: u32, step: &Step) -> Option<(u32, u32)> {
        let send = step.send.filter(|send| send.needs > 0)?;
        Some((self.credit(me, send.credit, send.needs), send.needs))
    }

    /// Where a credit is noted. The one that takes its place later is for a message that is sent only once this one was there.
    fn credit(&self, agent: u32, word: u32, number: u32) -> u32 {
        (agent * self.shape.credits + word) * self.shape.slots + number % self.shape.slots
    }

    /// Does a step at `now`; gives when the lane is free.
    fn act(&mut self, me: u32, now: Picos, step: &Step) -> Picos {
        let Agent { pe, lane, own_lane, .. } = self.agents[me as usize];
        let computes = match step.value {
            Value::ReceivedAndSource | Value::ReceivedAndKept => true,
            Value::Source => step.keep,
            Value::Kept | Value::Final => false,
        };
        let local = if computes { self.costs.reduce } else { 0 };
        let free = match step.send {
            None => now + local,
            Some(send) => self.send(me, (pe, own_lane), now, local, &send),
        };
        if let Some(receive) = step.receive {
            let sender = self.agent(receive.from, lane);
            let alpha =
                if self.by_rail(receive.from, pe) { self.costs.rail_alpha } else { self.costs.nvlink_alpha };
            let word = self.credit(sender, receive.credit, receive.grants);
            let time = free + alpha;
            self.credits[word as usize] = Stamp { number: receive.grants, time };
            if self.agents[sender as usize].wait == Wait::Credit(word) {
                self.agents[sender as usize].wait = Wait::Nothing;
                self.go_on(sender, time);
            }
        }
        free
    }

    fn send(&mut self, me: u32, (pe, own_lane): (u32, u32), now: Picos, local: Picos, send: &Send) -> Picos {
        self.done.messages += 1;
        let to = self.agent(send.to, self.agents[me as usize].lane);
        let word = (to * self.shape.inboxes + send.inbox) * self.shape.slots + send.slot;
        let tie = Fold::distance(self.grid, pe, send.to) << 10 | own_lane;
        let (kind, number) = (Kind::Arrive, send.number);
        let message = Event { time: now, kind, tie, agent: to, word, number, rail: false, tail: 0 };
        if self.by_rail(pe, send.to) {
            let message = Event { rail: true, ..message };
            let post = Event { time: now + local, kind: Kind::Post, ..message };
            if local == 0 {
                self.leave(me / self.lanes, message, now);
            } else {
                // The post is the sender's, whose number takes the place of the tail's time.
                self.events.push(Reverse(Event {
                    tie: own_lane,
                    tail: u64::from(me) << 32 | u64::from(tie),
                    ..post
                }));
            }
            return now + local + self.costs.hold;
        }
        let ports = &mut self.ports[(me / self.lanes) as usize];
        let start = now.max(ports.nvlink_out);
        ports.nvlink_out = start + self.costs.nvlink;
        let gone = (start + self.costs.nvlink).max(now + local.max(self.costs.put));
        let alpha = self.costs.nvlink_alpha;
        self.events.push(Reverse(Event { time: start + alpha, tail: gone + alpha, ..message }));
        gone + self.costs.hold
    }

    fn post(&mut self, event: Event) {
        let (sender, tie) = ((event.tail >> 32) as u32, event.tail as u32);
        self.leave(sender / self.lanes, Event { kind: Kind::Arrive, tie, ..event }, event.time);
    }

    /// A message takes its turn at the rail of its sender's.
    fn leave(&mut self, pe: u32, message: Event, now: Picos) {
        let ports = &mut self.ports[pe as usize];
        let start = now.max(ports.rail_out);
        ports.rail_out = start + self.costs.rail;
        let time = start + self.costs.rail_alpha;
        self.events.push(Reverse(Event { time, tail: time + self.costs.rail, ..message }));
    }

    fn arrive(&mut self, event: Event) {
        let ports = &mut self.ports[(event.agent / self.lanes) as usize];
        let (port, takes) = if event.rail {
            (&mut ports.rail_in, self.costs.rail)
        } else {
            (&mut ports.nvlink_in, self.costs.nvlink)
        };
        let end = event.time.max(*port) + takes;
        *port = end;
        let time = end.max(event.tail);
        self.words[event.word as usize] = Stamp { number: event.number, time };
        if self.agents[event.agent as usize].wait == Wait::Word(event.word) {
            self.agents[event.agent as usize].wait = Wait::Nothing;
            self.go_on(event.agent, time);
        }
    }
}
