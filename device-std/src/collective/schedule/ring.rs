//! The pipelined ring.
//!
//! PEs stand in a circle: those of a node beside each other, in an order that is turned by the lane, so that lanes leave
//! and enter nodes at different GPUs and all rails carry the same. Let `v` be a PE's position in the circle. A lane's
//! slice has a block for each PE, and each block `rounds * depth` chunks. In a round, `depth` chunks of each block travel:
//! at time `t` each PE handles those of block `v - 1 - t`, of which the one before has handled its part at `t - 1`.
//!
//! | `t`, of an all-reduce | what PE `v` does with block `v - 1 - t` |
//! |---|---|
//! | 0 | sends the source |
//! | 1 to n - 2 | receives, reduces with the source, sends |
//! | n - 1 | receives, reduces with the source: its own block is final; sends it as such |
//! | n to 2n - 3 | receives final, passes on |
//! | 2n - 2 | receives final |
//!
//! A reduce-scatter ends at `n - 1` without sending; an all-gather is the part from there on, beginning with the source.
//!
//! Order: the block of position `b` is reduced from `b + 1` around the circle to `b`: `((s(b+1) + s(b+2)) + …) + s(b)`.

use super::grid::{Grid, minus, plus};
use super::step::{Edge, Place, Step, Value, Window};
use super::{Pipeline, Schedule, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    AllReduce,
    ReduceScatter,
    AllGather,
}

/// A ring: all-reduce, reduce-scatter or all-gather. See the module.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    grid: Grid,
    task: Task,
    turn: u32,
    position: u32,
    next: u32,
    prev: u32,
    rounds: u32,
    depth: u32,
    window: Window,
}

impl Ring {
    /// Every PE has the reduction of all sources. The destination may be the source.
    #[inline(always)]
    pub fn all_reduce(grid: Grid, pe: u32, lane: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::AllReduce, grid, pe, lane, pipeline)
    }

    /// PE `p` has block `p` of the reduction: the chunks from `p * rounds * depth` on.
    #[inline(always)]
    pub fn reduce_scatter(grid: Grid, pe: u32, lane: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::ReduceScatter, grid, pe, lane, pipeline)
    }

    /// Every PE has in block `p` what PE `p` had as its source, which has one block alone.
    #[inline(always)]
    pub fn all_gather(grid: Grid, pe: u32, lane: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::AllGather, grid, pe, lane, pipeline)
    }

    #[inline(always)]
    fn new(task: Task, grid: Grid, pe: u32, lane: u32, pipeline: Pipeline) -> Self {
        let turn = lane % grid.per_node();
        let n = grid.n_pes();
        let position = grid.pe(grid.node(pe), minus(grid.gpu(pe), turn, grid.per_node()));
        let (next, prev) = (plus(position, 1 % n, n), minus(position, 1 % n, n));
        let (next, prev) = (Self::pe_at(grid, turn, next), Self::pe_at(grid, turn, prev));
        let (rounds, depth) = (pipeline.rounds.max(1), pipeline.depth.max(1));
        let slots = pipeline.slots.max(depth + 1);
        let window = Window { slots, granted: task == Task::AllGather && n > 1 };
        Self { grid, task, turn, position, next, prev, rounds, depth, window }
    }

    #[inline(always)]
    fn pe_at(grid: Grid, turn: u32, position: u32) -> u32 {
        grid.pe(grid.node(position), plus(grid.gpu(position), turn, grid.per_node()))
    }

    /// Times of a round.
    #[inline(always)]
    fn times(self) -> u32 {
        match self.task {
            Task::AllReduce => 2 * self.grid.n_pes() - 1,
            Task::ReduceScatter | Task::AllGather => self.grid.n_pes(),
        }
    }

    #[inline(always)]
    fn edge(self, peer: u32, place: Place) -> Edge {
        Edge { peer, inbox: 0, credit: 0, place }
    }
}

impl Schedule for Ring {
    #[inline(always)]
    fn steps(self) -> u32 {
        self.window.granted as u32 + self.rounds * self.depth * self.times()
    }

    #[inline(always)]
    fn step(self, index: u32) -> Option<Step> {
        let (n, depth, times) = (self.grid.n_pes(), self.depth, self.times());
        let edge = |peer, place| self.edge(peer, place);
        if self.window.granted && index == 0 {
            return Some(Step::grant(edge(self.prev, Place::Destination), self.window));
        }
        let index = index - self.window.granted as u32;
        let (round, rest) = (index / (depth * times), index % (depth * times));
        let (time, chain) = (rest / depth, rest % depth);
        // As times of an all-reduce.
        let t = if self.task == Task::AllGather { time + n - 1 } else { time };
        let block = minus(self.position, (t + 1) % n, n);
        let block = Self::pe_at(self.grid, self.turn, block);
        let chunk = (block * self.rounds + round) * depth + chain;

        // A PE's first message of a chunk and time has number `before + chain + 1`; it is received a time later.
        let sent = (round * (times - 1) + time) * depth + chain + 1;
        let place = |t| if t >= n { Place::Destination } else { Place::Slot };
        let receive =
            if time > 0 { edge(self.prev, place(t)).receive(sent - depth, self.window) } else { None };
        let send =
            if time + 1 < times { edge(self.next, place(t + 1)).send(sent, self.window) } else { None };
        Some(if t < n - 1 || (t == n - 1 && self.task != Task::AllGather) {
            Step::reduce(chunk, receive, true, send)
        } else if t == n - 1 {
            Step { chunk, receive, value: Value::Source, keep: true, send }
        } else {
            Step::spread(chunk, receive, send)
        })
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let edges = (self.grid.n_pes() > 1) as u32;
        let staged = if self.task == Task::AllGather { 0 } else { edges };
        Shape {
            chunks: self.grid.n_pes() * self.rounds * self.depth,
            inboxes: edges,
            staged,
            credits: edges,
            slots: self.window.slots,
            numbers: self.rounds * self.depth * (self.times() - 1) + self.window.granted as u32,
            grants: self.window.granted as u32,
            blocks: if self.task == Task::AllReduce { 1 } else { self.grid.n_pes() },
        }
    }

    #[inline(always)]
    fn sent(self, _credit: u32) -> u32 {
        self.rounds * self.depth * (self.times() - 1)
    }
}
