//! Hierarchical all-reduce with rings between nodes: each GPU has a ring with its fellows on its own rail.
//!
//! An item is a block of a node's ring, with a chunk for each GPU (`star`). In a round, `depth` items of each
//! block travel. Time `t` of a round has a position for each of them, in which a PE
//!
//! | at | does |
//! |---|---|
//! | `t < nodes` | gives the others of its node the source of their parts of the item that comes `lag` items later |
//! | `t < nodes` | takes what they gave of its part of this item, and reduces it with its source |
//! | all | its step of the ring on its part, as in [`ring`](super::ring), with the node's partial in place of the source |
//! | `t >= nodes - 1` | gives the others its part of the item, which is final |
//! | `t >= nodes - 1` | takes their final parts of the item `lag` items earlier |
//!
//! so all three phases of the algorithm go on at once, and NVLink and rails work at the same time.
//!
//! Order: the node's partial of GPU `g`'s part is `s(g-1) + (… + (s(g+1) + s(g)))` around the node; those of the nodes are
//! reduced around the ring, for the block of node `b` from `b + 1` to `b`.

use super::grid::Grid;
use super::star::Star;
use super::step::{Edge, Place, Step, Window};
use super::{Pipeline, Schedule, Shape};

/// A hierarchical all-reduce with rings between nodes. See the module.
#[derive(Clone, Copy, Debug)]
pub struct HierarchicalRing {
    star: Star,
    next: u32,
    prev: u32,
    rounds: u32,
    depth: u32,
    lag: u32,
}

impl HierarchicalRing {
    /// Every PE has the reduction of all sources. The destination may be the source.
    #[inline(always)]
    pub fn all_reduce(grid: Grid, pe: u32, pipeline: Pipeline) -> Self {
        let (nodes, others) = (grid.nodes(), grid.per_node() - 1);
        let (rounds, depth) = (pipeline.rounds.max(1), pipeline.depth.max(1));
        let lag = if others == 0 { 0 } else { pipeline.lag.min(rounds * depth * nodes) };
        let least = if nodes == 1 { lag + 1 } else { (depth + 1).max(lag + 1) };
        let window = Window { slots: pipeline.slots.max(least), granted: false };
        let (node, gpu) = (grid.node(pe), grid.gpu(pe));
        let star = Star { grid, node, gpu, window };
        let next = grid.pe(star.node_before(nodes - 1), gpu);
        let prev = grid.pe(star.node_before(1), gpu);
        Self { star, next, prev, rounds, depth, lag }
    }

    /// Items that pass the reduction, which are as many as are given out.
    #[inline(always)]
    fn items(self) -> u32 {
        self.rounds * self.depth * self.star.grid.nodes()
    }

    #[inline(always)]
    fn times(self) -> u32 {
        2 * self.star.grid.nodes() - 1
    }

    #[inline(always)]
    fn item(self, block: u32, round: u32, chain: u32) -> u32 {
        (block * self.rounds + round) * self.depth + chain
    }

    /// The item that this node reduces, or gives out, as number `order`.
    #[inline(always)]
    fn ordered(self, order: u32, given_out: bool) -> u32 {
        let nodes = self.star.grid.nodes();
        let (chain, rest) = (order % self.depth, order / self.depth);
        let (round, time) = (rest / nodes, rest % nodes);
        self.item(self.star.node_before(time + !given_out as u32), round, chain)
    }

    #[inline(always)]
    fn ring(self, round: u32, t: u32, chain: u32) -> Option<Step> {
        let (nodes, times, window) = (self.star.grid.nodes(), self.times(), self.star.window);
        let others = self.star.others();
        if nodes == 1 && others > 0 {
            return None;
        }
        let edge = |peer, t| {
            let place = if t >= nodes { Place::Destination } else { Place::Slot };
            Edge { peer, inbox: others, credit: others, place }
        };
        let chunk = self.star.own(self.item(self.star.node_before(t + 1), round, chain));
        let sent = (round * (times - 1) + t) * self.depth + chain + 1;
        let receive = if t > 0 { edge(self.prev, t).receive(sent - self.depth, window) } else { None };
        let send = if t + 1 < times { edge(self.next, t + 1).send(sent, window) } else { None };
        Some(if t < nodes {
            Step::reduce(chunk, receive, others == 0, send)
        } else {
            Step::spread(chunk, receive, send)
        })
    }
}

impl Schedule for HierarchicalRing {
    #[inline(always)]
    fn steps(self) -> u32 {
        (self.rounds * self.depth * self.times() + 2 * self.lag) * (4 * self.star.others() + 1)
    }

    #[inline(always)]
    fn step(self, index: u32) -> Option<Step> {
        let (nodes, others, star) = (self.star.grid.nodes(), self.star.others(), self.star);
        let (position, step) = (index / (4 * others + 1), index % (4 * others + 1));
        let give = |order: u32| {
            if order < self.items() {
                star.give_part(self.ordered(order, false), order + 1, step)
            } else {
                None
            }
        };
        let take_result = |order: u32| {
            star.take_result(self.ordered(order, true), order + 1, step - (3 * others + 1), others + 1)
        };
        if position < self.lag {
            return if step < others { give(position) } else { None };
        }
        let position = position - self.lag;
        let main = self.rounds * self.depth * self.times();
        if position >= main {
            let order = self.items() - self.lag + (position - main);
            return if step > 3 * others { take_result(order) } else { None };
        }
        let (chain, rest) = (position % self.depth, position / self.depth);
        let (round, t) = (rest / self.times(), rest % self.times());
        let order = |time: u32| (round * nodes + time) * self.depth + chain;
        if step == 2 * others {
            self.ring(round, t, chain)
        } else if step < 2 * others {
            if t >= nodes {
                None
            } else if step < others {
                give(order(t) + self.lag)
            } else {
                star.take_part(self.ordered(order(t), false), order(t) + 1, step - others)
            }
        } else if t + 1 < nodes {
            None
        } else {
            let order = order(t + 1 - nodes);
            if step <= 3 * others {
                star.give_result(self.ordered(order, true), order + 1, step - (2 * others + 1), others + 1)
            } else if order >= self.lag {
                take_result(order - self.lag)
            } else {
                None
            }
        }
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let others = self.star.others();
        let boxes = 2 * others + 1;
        let numbers = self.rounds * self.depth * (2 * self.star.grid.nodes());
        Shape {
            chunks: self.items() * self.star.grid.per_node(),
            inboxes: boxes,
            staged: others + 1,
            credits: boxes,
            slots: self.star.window.slots,
            numbers,
            grants: 0,
            blocks: 1,
        }
    }

    #[inline(always)]
    fn sent(self, credit: u32) -> u32 {
        let others = self.star.others();
        if credit == others {
            self.rounds * self.depth * (self.times() - 1)
        } else if credit <= 2 * others {
            self.items()
        } else {
            0
        }
    }
}
