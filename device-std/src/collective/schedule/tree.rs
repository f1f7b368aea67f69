//! The tree: chunks go up to a root and down again, many at a time.
//!
//! The PEs of a node form a binary heap; the one at its top is turned by the lane, so that lanes meet on different rails.
//! The tops of all nodes form two trees (`twin`), of which each carries every second chunk. Let `h` be how many
//! hops a PE is from the root, and `H` the most that one is. In position `x` a PE handles chunk `x - (H - h) * depth` on its
//! way up, and chunk `x - (H + h) * depth` on its way down. So a chunk is `depth` positions later at each hop, in which a
//! message arrives, and no PE waits in its position for what is not on its way yet. Were chunks and positions the same,
//! each would wait for every other's whole way: whoever is above in one tree is below in the other.
//!
//! A PE sends and receives each chunk twice at most on its rail, as in a ring, and in its node once per neighbour; lanes
//! even out who has more of them. A chunk passes `2 (log2 nodes + log2 per_node)` hops, so trees win where latency counts.
//!
//! Order: a PE's partial is its source, then its children's partials: of the heap, left and right, then of the trees, left
//! and right; each is put on the left of what there is: `right + (left + source)`.

use super::grid::{Grid, minus, plus};
use super::step::{Edge, Step, Value, Window};
use super::twin::{Boxes, Links, NONE, Twin, number};
use super::{Pipeline, Schedule, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    AllReduce,
    Reduce,
    Broadcast,
}

/// Inboxes and credit words of the edges in the heap: each tree has its own, since each has its own order of chunks.
const HEAP: Boxes = Boxes { up: 0, up_credit: 0, down: 10, down_credit: 8 };
/// Those of the edges between nodes.
const BOXES: Boxes = Boxes { up: 4, up_credit: 2, down: 8, down_credit: 4 };
/// Steps of a chunk, in each direction: as many as a PE may have children.
const STEPS: u32 = 4;

/// A tree: all-reduce, reduce or broadcast. See the module.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    grid: Grid,
    task: Task,
    node: u32,
    turn: u32,
    /// The place in the node's heap.
    place: u32,
    twin: Twin,
    /// Hops from the root, the most that there are.
    deepest: u32,
    chunks: u32,
    depth: u32,
    window: Window,
}

impl Tree {
    /// Every PE has the reduction of all sources. The destination may be the source.
    #[inline(always)]
    pub fn all_reduce(grid: Grid, pe: u32, lane: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::AllReduce, grid, pe, lane % grid.per_node(), None, pipeline)
    }

    /// PE `root` has the reduction of all sources. The destination of the others is written too: partials are kept there.
    #[inline(always)]
    pub fn reduce(grid: Grid, pe: u32, root: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::Reduce, grid, pe, grid.gpu(root), Some(grid.node(root)), pipeline)
    }

    /// Every PE has the source of PE `root`. All of it passes the one rail of the root's GPU in each node.
    #[inline(always)]
    pub fn broadcast(grid: Grid, pe: u32, root: u32, pipeline: Pipeline) -> Self {
        Self::new(Task::Broadcast, grid, pe, grid.gpu(root), Some(grid.node(root)), pipeline)
    }

    #[inline(always)]
    fn new(task: Task, grid: Grid, pe: u32, turn: u32, root: Option<u32>, pipeline: Pipeline) -> Self {
        let node = grid.node(pe);
        let place = minus(grid.gpu(pe), turn, grid.per_node());
        // Even, so that positions and chunks on the way down belong to the same tree.
        let depth = pipeline.depth.next_multiple_of(2);
        let window = Window { slots: pipeline.slots.max(depth / 2 + 1), granted: task == Task::Broadcast };
        let twin = Twin::new(node, grid.nodes(), root);
        let deepest = Twin::deepest(grid.nodes(), root) + grid.per_node().ilog2();
        let chunks = pipeline.rounds.max(1);
        Self { grid, task, node, turn, place, twin, deepest, chunks, depth, window }
    }

    #[inline(always)]
    fn heap(self, place: u32) -> u32 {
        self.grid.pe(self.node, plus(place, self.turn, self.grid.per_node()))
    }

    #[inline(always)]
    fn heap_children(self) -> u32 {
        let per_node = self.grid.per_node();
        (2 * self.place + 1 < per_node) as u32 + (2 * self.place + 2 < per_node) as u32
    }

    /// Neighbours in the tree between nodes: none but for the top of the heap.
    #[inline(always)]
    fn links(self, chunk: u32) -> Links {
        if self.place == 0 {
            self.twin.of(chunk)
        } else {
            Links { parent: NONE, left: NONE, right: NONE, is_right: false, depth: 0 }
        }
    }

    /// The same GPU of another node.
    #[inline(always)]
    fn across(self, node: u32) -> u32 {
        self.grid.pe(node, self.turn)
    }

    /// The edge from the child at number `which` of those in the heap and in the tree.
    #[inline(always)]
    fn child_edge(self, chunk: u32, which: u32) -> Edge {
        let heap = self.heap_children();
        if which < heap {
            return HEAP.child_edge(self.heap(2 * self.place + 1 + which), chunk, which);
        }
        let which = which - heap;
        BOXES.child_edge(self.across(self.links(chunk).child(which)), chunk, which)
    }

    /// The edge to the child at number `which`: those of the tree come first, as the way to them is longer.
    #[inline(always)]
    fn to_child(self, chunk: u32, which: u32) -> Edge {
        let (links, across) = (self.links(chunk), self.links(chunk).children());
        if which < across {
            return BOXES.to_child(self.across(links.child(which)), chunk, which);
        }
        let which = which - across;
        HEAP.to_child(self.heap(2 * self.place + 1 + which), chunk, which)
    }

    /// The edge to the parent, or from it.
    #[inline(always)]
    fn parent(self, chunk: u32, up: bool) -> Option<Edge> {
        let links = self.twin.of(chunk);
        let (boxes, peer, is_right) = if self.place > 0 {
            (HEAP, self.heap((self.place - 1) / 2), self.place.is_multiple_of(2))
        } else if links.parent != NONE {
            (BOXES, self.across(links.parent), links.is_right)
        } else {
            return None;
        };
        let which = is_right as u32;
        Some(if up { boxes.child_edge(peer, chunk, which) } else { boxes.to_child(peer, chunk, which) })
    }

    #[inline(always)]
    fn up(self, chunk: u32, step: u32) -> Option<Step> {
        let children = self.heap_children() + self.links(chunk).children();
        if step >= children.max(1) {
            return None;
        }
        let receive = if step < children {
            self.child_edge(chunk, step).receive(number(chunk), self.window)
        } else {
            None
        };
        let send = match self.parent(chunk, true) {
            Some(edge) if step + 1 >= children => edge.send(number(chunk), self.window),
            _ => None,
        };
        Some(Step::reduce(chunk, receive, step == 0, send))
    }

    #[inline(always)]
    fn down(self, chunk: u32, step: u32) -> Option<Step> {
        let children = self.heap_children() + self.links(chunk).children();
        if step >= children.max(1) {
            return None;
        }
        let receive = match self.parent(chunk, false) {
            Some(edge) if step == 0 => edge.receive(number(chunk), self.window),
            _ => None,
        };
        let send =
            if step < children { self.to_child(chunk, step).send(number(chunk), self.window) } else { None };
        if step == 0 && receive.is_none() && self.task == Task::Broadcast {
            return Some(Step { chunk, receive, value: Value::Source, keep: true, send });
        }
        if receive.is_none() && send.is_none() { None } else { Some(Step::spread(chunk, receive, send)) }
    }

    /// Hops from the root of a tree.
    #[inline(always)]
    fn hops(self, tree: u32) -> u32 {
        self.twin.of(tree).depth + (self.place + 1).ilog2()
    }

    /// What happens in a position on the way up; and on the way down, as many positions after the first as `behind`.
    #[inline(always)]
    fn going_up(self, position: u32, step: u32) -> Option<Step> {
        let chunk = position.wrapping_sub((self.deepest - self.hops(position % 2)) * self.depth);
        if chunk < self.chunks { self.up(chunk, step) } else { None }
    }

    #[inline(always)]
    fn going_down(self, position: u32, behind: u32, step: u32) -> Option<Step> {
        let chunk = position.wrapping_sub((behind + self.hops(position % 2)) * self.depth);
        if chunk < self.chunks { self.down(chunk, step) } else { None }
    }

    /// A grant to the parent in a tree, if any chunk passes it.
    #[inline(always)]
    fn grant(self, tree: u32) -> Option<Step> {
        if tree == 1 && self.chunks == 1 {
            return None;
        }
        Some(Step::grant(self.parent(tree, false)?, self.window))
    }

    #[inline(always)]
    fn grants(self) -> u32 {
        if self.window.granted { 2 } else { 0 }
    }

    /// How many chunks pass a tree.
    #[inline(always)]
    fn through(self, tree: u32) -> u32 {
        if tree == 0 { self.chunks.div_ceil(2) } else { self.chunks / 2 }
    }
}

impl Schedule for Tree {
    #[inline(always)]
    fn steps(self) -> u32 {
        let way = self.deepest * self.depth;
        match self.task {
            Task::AllReduce => (self.chunks + 2 * way) * 2 * STEPS,
            Task::Reduce | Task::Broadcast => self.grants() + (self.chunks + way) * STEPS,
        }
    }

    #[inline(always)]
    fn step(self, index: u32) -> Option<Step> {
        if index < self.grants() {
            return self.grant(index);
        }
        let index = index - self.grants();
        match self.task {
            Task::Reduce => self.going_up(index / STEPS, index % STEPS),
            Task::Broadcast => self.going_down(index / STEPS, 0, index % STEPS),
            Task::AllReduce => {
                let (position, step) = (index / (2 * STEPS), index % (2 * STEPS));
                if step < STEPS {
                    self.going_up(position, step)
                } else {
                    self.going_down(position, self.deepest, step - STEPS)
                }
            }
        }
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let slots = self.window.slots;
        let numbers = self.through(0) + self.window.granted as u32;
        let grants = self.window.granted as u32;
        Shape { chunks: self.chunks, inboxes: 12, staged: 8, credits: 12, slots, numbers, grants, blocks: 1 }
    }

    #[inline(always)]
    fn sent(self, credit: u32) -> u32 {
        let (up, down) = (self.task != Task::Broadcast, self.task != Task::Reduce);
        let tree = |which: u32, there: bool| if there { self.through(which) } else { 0 };
        match credit {
            0..2 => tree(credit, up && self.place > 0),
            2..4 => tree(credit - 2, up && self.place == 0 && self.twin.of(credit - 2).parent != NONE),
            4..8 => {
                let (which, child) = ((credit - 4) / 2, (credit - 4) % 2);
                tree(which, down && child < self.links(which).children())
            }
            8..12 => tree((credit - 8) / 2, down && (credit - 8) % 2 < self.heap_children()),
            _ => 0,
        }
    }
}
