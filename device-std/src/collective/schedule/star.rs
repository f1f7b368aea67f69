//! All to all within a node: each GPU reduces its part of an item, and gives its final part to the others.
//!
//! An item has a chunk for each GPU of the node: chunk `item * per_node + gpu`. GPU `g` sends first to `g + 1`, then to
//! `g + 2` and so on around, and takes from them in that order.

use super::grid::{Grid, minus, plus};
use super::step::{Edge, Place, Step, Window};

/// A PE among those of its node. Star edges have `per_node - 1` inboxes and credit words from 0 on for
/// the reduction, and as many from `first` on for what is final.
#[derive(Clone, Copy, Debug)]
pub(super) struct Star {
    pub(super) grid: Grid,
    pub(super) node: u32,
    pub(super) gpu: u32,
    pub(super) window: Window,
}

impl Star {
    /// The others of the node.
    #[inline(always)]
    pub(super) fn others(self) -> u32 {
        self.grid.per_node() - 1
    }

    /// The own chunk of an item.
    #[inline(always)]
    pub(super) fn own(self, item: u32) -> u32 {
        item * self.grid.per_node() + self.gpu
    }

    #[inline(always)]
    fn other(self, which: u32) -> u32 {
        plus(self.gpu, which + 1, self.grid.per_node())
    }

    /// The edge to the other at number `which`: there this PE is number `others - 1 - which`.
    #[inline(always)]
    fn to(self, which: u32, first: u32, place: Place) -> Edge {
        let peer = self.grid.pe(self.node, self.other(which));
        Edge { peer, inbox: first + self.others() - 1 - which, credit: first + which, place }
    }

    #[inline(always)]
    fn from(self, which: u32, first: u32, place: Place) -> Edge {
        let Edge { peer, inbox, credit, .. } = self.to(which, first, place);
        Edge { peer, inbox: credit, credit: inbox, place }
    }

    /// Sends the source of the other's chunk of `item`, whose messages have number `number`.
    #[inline(always)]
    pub(super) fn give_part(self, item: u32, number: u32, which: u32) -> Option<Step> {
        let chunk = item * self.grid.per_node() + self.other(which);
        let send = self.to(which, 0, Place::Slot).send(number, self.window);
        Some(Step::reduce(chunk, None, true, send))
    }

    /// Reduces what the other has sent of the own chunk.
    #[inline(always)]
    pub(super) fn take_part(self, item: u32, number: u32, which: u32) -> Option<Step> {
        let receive = self.from(which, 0, Place::Slot).receive(number, self.window);
        Some(Step::reduce(self.own(item), receive, which == 0, None))
    }

    /// Sends the own final chunk.
    #[inline(always)]
    pub(super) fn give_result(self, item: u32, number: u32, which: u32, first: u32) -> Option<Step> {
        let send = self.to(which, first, Place::Destination).send(number, self.window);
        Some(Step::spread(self.own(item), None, send))
    }

    /// Waits for the other's final chunk.
    #[inline(always)]
    pub(super) fn take_result(self, item: u32, number: u32, which: u32, first: u32) -> Option<Step> {
        let chunk = item * self.grid.per_node() + self.other(which);
        let receive = self.from(which, first, Place::Destination).receive(number, self.window);
        Some(Step::spread(chunk, receive, None))
    }

    /// `number - by` modulo the nodes.
    #[inline(always)]
    pub(super) fn node_before(self, by: u32) -> u32 {
        let nodes = self.grid.nodes();
        minus(self.node, by % nodes, nodes)
    }
}
