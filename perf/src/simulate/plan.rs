//! Algorithms of an all-reduce with their parameters, and the choice among them.

use super::fold::Fold;
use super::machine::{Machine, Picos};
use super::replay::{Replayed, replay};
use oxshmem_device::collective::schedule::{
    Grid, HierarchicalRing, HierarchicalTree, Pipeline, Ring, Schedule, Tree,
};

/// An algorithm of an all-reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A ring through all GPUs, whose way through nodes is turned by the lane.
    Ring,
    /// A heap in each node, two trees between nodes, turned by the lane.
    Tree,
    /// All to all in each node, a ring on each rail.
    HierarchicalRing,
    /// All to all in each node, two trees on each rail.
    HierarchicalTree,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ring, Self::Tree, Self::HierarchicalRing, Self::HierarchicalTree];

    /// As tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::HierarchicalRing => "hierarchical, rings",
            Self::HierarchicalTree => "hierarchical, trees",
        }
    }
}

/// An algorithm with all that it is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which.
    pub algorithm: Algorithm,
    /// Lanes of each GPU.
    pub lanes: u32,
    /// How a lane's slice is cut.
    pub pipeline: Pipeline,
}

/// How far the choice of plans goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Plans whose replay has up to about two million messages, chosen at one of several latencies.
    Usual,
    /// Up to about ten million, and more depths, chosen at each latency.
    Full,
}

/// Bytes of the messages among which plans choose; a message of a whole part of a slice comes to them.
const CHUNKS: [u64; 4] = [16 << 10, 64 << 10, 256 << 10, 512 << 10];
/// The largest message of a ring, and its buffers: rounds make it so.
const LARGEST: u64 = 1 << 20;
/// Slots of each edge, but where the least is more.
const SLOTS: u32 = 8;

/// What a plan does to a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// By which plan.
    pub plan: Plan,
    /// Bytes of a message.
    pub chunk: u64,
    /// What the replay showed.
    pub replayed: Replayed,
}

impl Prediction {
    /// In picoseconds.
    pub fn time(&self) -> Picos {
        self.replayed.time
    }
}

/// The least that a message has: an element.
const ELEMENT: u64 = 4;

impl Plan {
    /// Its symmetries ([`Fold`]).
    pub fn fold(self, grid: Grid) -> Fold {
        let turns = self.lanes.is_multiple_of(grid.per_node());
        let (nodes, gpus, lanes_turn) = match self.algorithm {
            Algorithm::Ring => (true, turns, true),
            Algorithm::Tree => (false, turns, true),
            Algorithm::HierarchicalRing => (true, true, false),
            Algorithm::HierarchicalTree => (false, true, false),
        };
        Fold { nodes, gpus, lanes_turn }
    }

    /// Replays an all-reduce of `bytes` bytes. With `whole`, all PEs are replayed, with the same outcome.
    pub fn predict(self, machine: &Machine, grid: Grid, bytes: u64, whole: bool) -> Prediction {
        let fold = if whole { self.fold(grid).none() } else { self.fold(grid) };
        let pipeline = self.pipeline;
        let chunk = self.chunk(grid, bytes);
        let replayed = match self.algorithm {
            Algorithm::Ring => replay(machine, grid, fold, self.lanes, chunk, |pe, lane| {
                Ring::all_reduce(grid, pe, lane, pipeline)
            }),
            Algorithm::Tree => replay(machine, grid, fold, self.lanes, chunk, |pe, lane| {
                Tree::all_reduce(grid, pe, lane, pipeline)
            }),
            Algorithm::HierarchicalRing => replay(machine, grid, fold, self.lanes, chunk, |pe, _| {
                HierarchicalRing::all_reduce(grid, pe, pipeline)
            }),
            Algorithm::HierarchicalTree => replay(machine, grid, fold, self.lanes, chunk, |pe, _| {
                HierarchicalTree::all_reduce(grid, pe, pipeline)
            }),
        };
        Prediction { plan: self, chunk, replayed }
    }

    /// The plans among which [`best`] chooses:
    ///
    /// | algorithm | lanes | depth | messages |
    /// |---|---|---|---|
    /// | ring | 8; 16 with depth 2 | 1, 2, 4 | up to 1 MiB |
    /// | tree | 8 | 2, 6 | a slice; 16 KiB, 64 KiB, 256 KiB, 512 KiB |
    /// | hierarchical, rings | 4, 8 | 1, 2, 4 | up to 1 MiB |
    /// | hierarchical, trees | 4, 8 | 2 (`Full`: 4 too) | a part of a slice; 16 KiB, 64 KiB, 256 KiB, 512 KiB |
    ///
    /// Of trees, those that [`Effort`] allows, and the one with the largest messages in any case.
    pub fn choice(algorithm: Algorithm, grid: Grid, bytes: u64, effort: Effort) -> Vec<Self> {
        let plan = |lanes, rounds, depth| Self {
            algorithm,
            lanes,
            pipeline: Pipeline { rounds, depth, lag: 1, slots: SLOTS },
        };
        let parts = u64::from(grid.per_node());
        let rounds = |lanes: u32, share: u64| {
            let rounds = bytes.div_ceil(u64::from(lanes) * share).div_ceil(LARGEST);
            rounds.clamp(1, 1 << 16) as u32
        };
        match algorithm {
            Algorithm::Ring => [(8, 1), (8, 2), (8, 4), (16, 2)]
                .map(|(lanes, depth)| plan(lanes, rounds(lanes, u64::from(grid.n_pes() * depth)), depth))
                .to_vec(),
            Algorithm::HierarchicalRing => [(4, 1), (8, 1), (8, 2), (8, 4)]
                .map(|(lanes, depth)| plan(lanes, rounds(lanes, u64::from(grid.n_pes() * depth)), depth))
                .to_vec(),
            Algorithm::Tree => {
                let counts = Self::counts(bytes.div_ceil(8), u64::from(grid.nodes()) * 16, effort);
                counts.into_iter().flat_map(|chunks| [2, 6].map(|depth| plan(8, chunks, depth))).collect()
            }
            Algorithm::HierarchicalTree => {
                let depths: &[u32] = if effort == Effort::Full { &[2, 4] } else { &[2] };
                let of = |lanes: u32| {
                    let part = bytes.div_ceil(u64::from(lanes) * parts);
                    let messages = u64::from(grid.nodes()) * u64::from(lanes) * 2 * parts;
                    let counts = Self::counts(part, messages, effort);
                    counts
                        .into_iter()
                        .flat_map(move |items| depths.iter().map(move |&d| plan(lanes, items, d)))
                };
                of(4).chain(of(8)).collect()
            }
        }
    }

    /// Into how many messages `part` bytes are cut, if each costs the replay so many.
    fn counts(part: u64, messages: u64, effort: Effort) -> Vec<u32> {
        let most = if effort == Effort::Full { 10_000_000 } else { 2_200_000 };
        let few = part.div_ceil(CHUNKS[CHUNKS.len() - 1]);
        let mut counts: Vec<u64> = CHUNKS.iter().map(|&chunk| part.div_ceil(chunk)).collect();
        counts.push(1);
        // One message of a slice is for small vectors; no staging holds a large one.
        counts.retain(|&count| count == few || (count > few && count * messages <= most));
        counts.sort_unstable();
        counts.dedup();
        counts.into_iter().map(|count| count.clamp(1, 1 << 24) as u32).collect()
    }

    /// Bytes of a message: of the largest chunk, of whole elements.
    fn chunk(self, grid: Grid, bytes: u64) -> u64 {
        let chunks = match self.algorithm {
            Algorithm::Ring => Ring::all_reduce(grid, 0, 0, self.pipeline).shape().chunks,
            Algorithm::Tree => Tree::all_reduce(grid, 0, 0, self.pipeline).shape().chunks,
            Algorithm::HierarchicalRing => {
                HierarchicalRing::all_reduce(grid, 0, self.pipeline).shape().chunks
            }
            Algorithm::HierarchicalTree => {
                HierarchicalTree::all_reduce(grid, 0, self.pipeline).shape().chunks
            }
        };
        let messages = u64::from(chunks) * u64::from(self.lanes) * ELEMENT;
        bytes.div_ceil(messages).max(1) * ELEMENT
    }
}

/// The fastest plan of an algorithm.
pub fn best(
    machine: &Machine,
    algorithm: Algorithm,
    grid: Grid,
    bytes: u64,
    effort: Effort,
) -> Option<Prediction> {
    let plans = Plan::choice(algorithm, grid, bytes, effort);
    plans.into_iter().map(|plan| plan.predict(machine, grid, bytes, false)).min_by_key(Prediction::time)
}
