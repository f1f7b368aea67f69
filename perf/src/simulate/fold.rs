//! Which PEs must be replayed.
//!
//! A symmetry of a schedule is a renumbering of PEs and lanes under which every PE has the steps of another, with the
//! neighbours renumbered. The model renumbers with it: ports are the PEs' own, and what decides between messages that ask for
//! a port at one time is how far their sender is, not its number. So PEs that a symmetry maps to each other do the same at the
//! same times, and one of them stands for all: a message to another is a message to itself. The tests hold every fold
//! against the replay of all PEs.
//!
//! | schedule | nodes may be turned | GPUs of every node may be turned |
//! |---|---|---|
//! | ring | yes | with the lanes, if all turns are there |
//! | tree | no | with the lanes, if all turns are there |
//! | hierarchical ring | yes | yes |
//! | hierarchical tree | no | yes |

use oxshmem_device::collective::schedule::Grid;

/// The symmetries that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Turning the nodes.
    pub nodes: bool,
    /// Turning the GPUs of every node.
    pub gpus: bool,
    /// Lanes turn with the GPUs.
    pub lanes_turn: bool,
}

impl Fold {
    /// Every PE is replayed.
    pub fn none(self) -> Self {
        Self { nodes: false, gpus: false, ..self }
    }

    /// The PEs that are replayed, in order.
    pub(super) fn pes(self, grid: Grid) -> Vec<u32> {
        let nodes = if self.nodes { 1 } else { grid.nodes() };
        let gpus = if self.gpus { 1 } else { grid.per_node() };
        (0..nodes).flat_map(|node| (0..gpus).map(move |gpu| node * grid.per_node() + gpu)).collect()
    }

    /// Which of them stands for `pe`, and which of its lanes for `lane`.
    pub(super) fn locate(self, grid: Grid, pe: u32, lane: u32) -> (u32, u32) {
        let per_node = grid.per_node();
        let (node, gpu) = (pe / per_node, pe % per_node);
        let node = if self.nodes { 0 } else { node };
        if self.gpus { (node, self.own(grid, pe, lane)) } else { (node * per_node + gpu, lane) }
    }

    /// The lane as its PE sees it: the same under every symmetry.
    pub(super) fn own(self, grid: Grid, pe: u32, lane: u32) -> u32 {
        let per_node = grid.per_node();
        if !self.lanes_turn {
            return lane;
        }
        lane / per_node * per_node + (lane % per_node + per_node - pe % per_node) % per_node
    }

    /// How far PE `from` is from `to`: the same under every symmetry.
    pub(super) fn distance(grid: Grid, from: u32, to: u32) -> u32 {
        let (nodes, per_node) = (grid.nodes(), grid.per_node());
        let node = (from / per_node + nodes - to / per_node) % nodes;
        node * per_node + (from % per_node + per_node - to % per_node) % per_node
    }
}
