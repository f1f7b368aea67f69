//! The schedules of collectives that take many steps: who sends which chunk to whom, when, and what a PE makes of what it
//! receives. Pure arithmetic on `Copy` values, without memory and without floating point: kernels execute it, a
//! simulator replays it, and tests run it symbolically with up to 4,096 PEs.
//!
//! | module | what it holds | for |
//! |---|---|---|
//! | [`ring`] | the pipelined ring, over nodes and within them | [`Ring`]: all-reduce, reduce-scatter, all-gather |
//! | [`tree`] | a heap in each node, two trees between nodes | [`Tree`]: all-reduce, reduce, broadcast |
//! | [`hierarchical_ring`] | all to all in each node, a ring on each rail | [`HierarchicalRing`]: all-reduce |
//! | [`hierarchical_tree`] | all to all in each node, two trees on each rail | [`HierarchicalTree`]: all-reduce |
//! | `star`, `twin` | the parts: all to all in a node; two trees | |
//! | `step`, `grid` | a step, its messages and edges; nodes, and chunks as ranges | [`Step`], [`Grid`], [`span`] |
//!
//! # Lanes, chunks, edges
//!
//! A vector is cut into a slice for each *lane*; a lane is a block on each GPU, and blocks of one number run the schedule
//! for their slice and know nothing of the others. A slice has [`Shape::chunks`] chunks ([`span`]); a message is a chunk.
//!
//! An *edge* is a directed pair of PEs. It has an inbox at its receiver (`slots` signal words; of inboxes below
//! [`Shape::staged`], `slots` buffers of a chunk too) and a credit word at its sender. Messages of an edge have numbers from
//! 1 on. Message `k` goes to slot `(k - 1) % slots`, by a put and a strong signal behind it.
//!
//! | step | by | edge |
//! |---|---|---|
//! | waits until the credit word has reached `k - slots` | sender | acquires the reads of what stood in the slot |
//! | puts the chunk, sets the slot's word to `k` | sender | releases the chunk, and all that led to it |
//! | waits until the slot's word has reached `k` | receiver | acquires the chunk |
//! | reads it; sets the sender's credit word to `k` by a strong signal | receiver | releases the reads |
//!
//! Words of different slots are needed since a word of one that is set twice tells of the later message alone; on one slot two are
//! never in flight.
//! A final chunk goes right to its place in the receiver's destination. Nobody has a final chunk before every PE has
//! given its source of it, so in an all-reduce the destination is free by then, even if it is the source. In a
//! broadcast and an all-gather a PE says first that it has begun: a receive of number 0, a *grant*, on edges whose
//! credit words therefore count one more.
//!
//! Words are never reset: an execution adds a base to all numbers, and the next one's base is larger by [`Shape::numbers`].
//! It begins when this PE's credit words have reached the last base plus [`Schedule::sent`] (plus one with grants; a word by
//! which nothing was sent stays as it is): then nothing of this PE's is in flight. That is enough where every inbox has the
//! sender that it had: for the same grid, lane, root, pipeline and algorithm. Others have staging and words of their own, or
//! a barrier of all PEs between.
//!
//! # Executing it
//!
//! A block makes its schedule and goes through `0 .. steps()`. Of each step that is there, it waits for
//! `receive`'s word, unless its number is 0; waits for the credit that `send` needs; then goes over the chunk once: takes the
//! element's operands as [`Value`] says (source; the slot that was received; the destination, where kept partials and final
//! chunks stand), combines them, writes the element to the destination if `keep` says so, and to the peer's slot or
//! destination if there is a `send`; then signals `send`'s word, and `receive`'s credit. With neither `keep` nor `send` there
//! is nothing to go over. All threads have the step's few numbers in registers.
//!
//! # What holds
//!
//! - A schedule ends for any number of slots from its least on; constructors raise fewer to that. Per edge, a ring needs
//!   `depth + 1`, a hierarchical ring the greater of `depth + 1` and `lag + 1`, a hierarchical tree that of `depth / 2 + 1`
//!   and `lag + 1`, a tree `depth / 2 + 1`. For the steps of all PEs can be put into one order in which each comes after those
//!   that it waits for: by position, then receipts before sends (ring), children before parents (up), parents before
//!   children (down).
//! - Each chunk is reduced in one order, which the modules give; it depends on the grid, the lane and the chunk's number
//!   alone. Its final value is computed by one PE and copied, so all PEs have the same bits.
//! - Every PE's source goes into each chunk exactly once.

pub mod hierarchical_ring;
pub mod hierarchical_tree;
pub mod ring;
pub mod tree;

mod grid;
mod star;
mod step;
mod twin;

#[cfg(test)]
mod check;

pub use grid::{Grid, span};
pub use hierarchical_ring::HierarchicalRing;
pub use hierarchical_tree::HierarchicalTree;
pub use ring::Ring;
pub use step::{Place, Receive, Send, Step, Value};
pub use tree::Tree;

/// How a slice is cut, and how much of it is under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Rings: how often the whole pattern comes, each time with `depth` chunks of each block. Trees: how many chunks (a
    /// hierarchical tree: items) a slice has. 0 counts as 1.
    pub rounds: u32,
    /// Rings: how many chunks of each block travel together, at least 1: while one is on the way, the others are handled.
    /// Trees: how many chunks a PE handles while another is on its way over one hop; an even number, or the next one.
    pub depth: u32,
    /// Hierarchical: how many items lie between giving a part within the node and taking it. More than there are
    /// items counts as that.
    pub lag: u32,
    /// Slots of each edge; fewer than the least that the schedule needs count as that.
    pub slots: u32,
}

/// What a schedule needs of memory. The same on all PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Chunks of a slice.
    pub chunks: u32,
    /// Inboxes of each PE and lane, each with `slots` signal words.
    pub inboxes: u32,
    /// How many of them, the first ones, have buffers too: `slots` of a chunk each.
    pub staged: u32,
    /// Credit words of each PE and lane.
    pub credits: u32,
    /// Slots of an inbox.
    pub slots: u32,
    /// By how much an execution's numbers grow at most, the grant counted.
    pub numbers: u32,
    /// 1 where edges begin with a grant, else 0.
    pub grants: u32,
    /// Into how many blocks of one length a vector is cut before each of them is cut into slices: 1, or, of a
    /// reduce-scatter and an all-gather, one for each PE. Each has as many chunks.
    pub blocks: u32,
}

impl Shape {
    /// Signal words of so many lanes.
    #[inline(always)]
    pub const fn signals(self, lanes: u32) -> u64 {
        (self.inboxes as u64 * self.slots as u64 + self.credits as u64) * lanes as u64
    }

    /// Buffers of so many lanes.
    #[inline(always)]
    pub const fn buffers(self, lanes: u32) -> u64 {
        self.staged as u64 * self.slots as u64 * lanes as u64
    }

    /// Elements of the longest chunk of a vector of `len`, on so many lanes, where lanes and chunks begin at multiples of
    /// `unit` elements.
    #[inline(always)]
    pub const fn longest(self, len: u64, lanes: u32, unit: u64) -> u64 {
        let (_, slice) = span(0, lanes, len / self.blocks as u64, unit);
        span(0, self.chunks / self.blocks, slice, unit).1
    }
}

/// The steps of one lane of one PE.
pub trait Schedule: Copy {
    /// How many indices [`step`](Self::step) has.
    fn steps(self) -> u32;

    /// The step at `index`; `None` where this PE has nothing to do. Steps are done in the order of their indices.
    fn step(self, index: u32) -> Option<Step>;

    /// What it needs. The same on all PEs.
    fn shape(self) -> Shape;

    /// How many messages this PE sends in all by the credit word `credit`: those that come back there as credits.
    fn sent(self, credit: u32) -> u32;
}
