//! Hierarchical all-reduce with trees between nodes: each GPU has two trees with its fellows on its own rail.
//!
//! An item has a chunk for each GPU (`star`) and goes by one of the two trees (`twin`). In
//! position `x` a PE
//!
//! | item | does |
//! |---|---|
//! | `x` | gives the others of its node the source of their parts |
//! | `x - lag` | takes what they gave of its part, reduces it with its source |
//! | `x - lag - (H - h) * depth` | takes its children's partials of its part, sends to its parent |
//! | `x - lag - (H + h) * depth` | takes its part, final, from its parent; sends it to its children and to the others of its node |
//! | `x - 2 lag - (H + h) * depth` | takes the others' final parts |
//!
//! where `h` is the node's distance from the root of the item's tree, `H` the greatest: see [`tree`](super::tree).
//!
//! Order: the node's partial of GPU `g`'s part is `s(g-1) + (… + (s(g+1) + s(g)))` around the node; a node puts its left
//! child's partial on the left of its own, then its right child's on the left of that.

use super::grid::Grid;
use super::star::Star;
use super::step::{Step, Window};
use super::twin::{Boxes, NONE, Twin, number};
use super::{Pipeline, Schedule, Shape};

/// A hierarchical all-reduce with trees between nodes. See the module.
#[derive(Clone, Copy, Debug)]
pub struct HierarchicalTree {
    star: Star,
    twin: Twin,
    boxes: Boxes,
    /// The greatest number of hops from a root.
    deepest: u32,
    items: u32,
    depth: u32,
    lag: u32,
}

impl HierarchicalTree {
    /// Every PE has the reduction of all sources. The destination may be the source.
    #[inline(always)]
    pub fn all_reduce(grid: Grid, pe: u32, pipeline: Pipeline) -> Self {
        let (node, others) = (grid.node(pe), grid.per_node() - 1);
        let items = pipeline.rounds.max(1);
        let lag = if others == 0 { 0 } else { pipeline.lag.min(items) };
        // Even, so that positions and items on the way down belong to the same tree.
        let depth = pipeline.depth.next_multiple_of(2);
        let window = Window { slots: pipeline.slots.max(lag + 1).max(depth / 2 + 1), granted: false };
        let star = Star { grid, node, gpu: grid.gpu(pe), window };
        let twin = Twin::new(node, grid.nodes(), None);
        let boxes = Boxes { up: others, up_credit: others, down: others + 4, down_credit: others + 2 };
        Self { star, twin, boxes, deepest: Twin::deepest(grid.nodes(), None), items, depth, lag }
    }

    #[inline(always)]
    fn across(self, node: u32) -> u32 {
        self.star.grid.pe(node, self.star.gpu)
    }

    /// Where the boxes for an item's final parts begin: each tree has its own, since its items have their own order.
    #[inline(always)]
    fn results(self, item: u32) -> u32 {
        let others = self.star.others();
        others + 6 + item % 2 * others
    }

    /// Hops from the root of a tree.
    #[inline(always)]
    fn hops(self, tree: u32) -> u32 {
        self.twin.of(tree).depth
    }

    #[inline(always)]
    fn up(self, item: u32, step: u32) -> Option<Step> {
        let (links, alone, window) = (self.twin.of(item), self.star.others() == 0, self.star.window);
        let children = links.children();
        if step >= children.max(1) || (children == 0 && links.parent == NONE && !alone) {
            return None;
        }
        let receive = if step < children {
            let peer = self.across(links.child(step));
            self.boxes.child_edge(peer, item, step).receive(number(item), window)
        } else {
            None
        };
        let send = if step + 1 >= children && links.parent != NONE {
            self.boxes
                .child_edge(self.across(links.parent), item, links.is_right as u32)
                .send(number(item), window)
        } else {
            None
        };
        Some(Step::reduce(self.star.own(item), receive, alone && step == 0, send))
    }

    #[inline(always)]
    fn down(self, item: u32, step: u32) -> Option<Step> {
        let (links, window) = (self.twin.of(item), self.star.window);
        let receive = if step == 0 && links.parent != NONE {
            self.boxes
                .to_child(self.across(links.parent), item, links.is_right as u32)
                .receive(number(item), window)
        } else {
            None
        };
        let send = if step < links.children() {
            let peer = self.across(links.child(step));
            self.boxes.to_child(peer, item, step).send(number(item), window)
        } else {
            None
        };
        let nothing = receive.is_none() && send.is_none();
        if nothing { None } else { Some(Step::spread(self.star.own(item), receive, send)) }
    }
}

impl Schedule for HierarchicalTree {
    #[inline(always)]
    fn steps(self) -> u32 {
        (self.items + 2 * self.lag + 2 * self.deepest * self.depth) * (4 * self.star.others() + 4)
    }

    #[inline(always)]
    fn step(self, index: u32) -> Option<Step> {
        let (others, star) = (self.star.others(), self.star);
        let (position, step) = (index / (4 * others + 4), index % (4 * others + 4));
        // Each group of steps has an item of its own, so far behind the position.
        let (give, take, down) = (others, 2 * others + 2, 3 * others + 4);
        let behind = if step < give {
            0
        } else if step < give + others {
            self.lag
        } else if step < take {
            self.lag + (self.deepest - self.hops((position + self.lag) % 2)) * self.depth
        } else if step < down {
            self.lag + (self.deepest + self.hops((position + self.lag) % 2)) * self.depth
        } else {
            2 * self.lag + (self.deepest + self.hops(position % 2)) * self.depth
        };
        let item = position.wrapping_sub(behind);
        if item >= self.items {
            return None;
        }
        if step < give {
            star.give_part(item, item + 1, step)
        } else if step < give + others {
            star.take_part(item, item + 1, step - give)
        } else if step < take {
            self.up(item, step - give - others)
        } else if step < take + 2 {
            self.down(item, step - take)
        } else if step < down {
            star.give_result(item, number(item), step - take - 2, self.results(item))
        } else {
            star.take_result(item, number(item), step - down, self.results(item))
        }
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let others = self.star.others();
        let boxes = 3 * others + 6;
        Shape {
            chunks: self.items * self.star.grid.per_node(),
            inboxes: boxes,
            staged: others + 4,
            credits: boxes,
            slots: self.star.window.slots,
            numbers: self.items,
            grants: 0,
            blocks: 1,
        }
    }

    #[inline(always)]
    fn sent(self, credit: u32) -> u32 {
        let others = self.star.others();
        let through = |tree: u32| if tree == 0 { self.items.div_ceil(2) } else { self.items / 2 };
        if credit < others {
            return self.items;
        }
        if credit >= others + 6 {
            let tree = (credit - others - 6) / others.max(1);
            return if others > 0 && tree < 2 { through(tree) } else { 0 };
        }
        match credit - others {
            tree @ 0..2 if self.twin.of(tree).parent != NONE => through(tree),
            at @ 2..6 if (at - 2) % 2 < self.twin.of((at - 2) / 2).children() => through((at - 2) / 2),
            _ => 0,
        }
    }
}
