//! The tree: chunks go up to a root and down again, many at a time.
//!
//! The PEs of a node form a binary heap; the one at its top is turned by the lane, so that lanes meet on different rails.
//! The tops of all nodes form two trees ([`twin`](super::twin)), of which each carries every second chunk. In position `x` a
//! PE handles chunk `x` on its way up and chunk `x - depth * h` on its way down, `h` hops from the root. Since a parent is
//! behind its children on the way up and before them on the way down, a child must be `depth` positions later for the way
//! down, in which a message goes up and down one hop, or every chunk would wait for every other's whole way.
//!
//! A PE sends and receives each chunk twice at most on its rail, as in a ring, and in its node once per neighbour; lanes
//! even out who has more of them. A chunk passes `2 (log2 nodes + log2 per_node)` hops, so trees win where latency counts.
//!
//! Order: a PE's partial is its source, then its children's partials: of the heap, left and right, then of the trees, left
//! and right; each is put on the left of what there is: `right + (left + source)`.

use super::grid::{Grid, minus, plus};
use super::step::{Edge, Place, Step, Value, Window};
use super::twin::{Boxes, Links, NONE, Twin, number};
use super::{Pipeline, Schedule, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    AllReduce,
    Reduce,
    Broadcast,
}

/// Inboxes: 0, 1 of the heap's children, then [`BOXES`], then those of the heap's parent: each tree has its own, since its
/// chunks have their own order on the way down.
const HEAP_DOWN: u32 = 8;
/// Credit words: 0 of the heap's parent, then [`BOXES`], then those of the heap's left and right child, by each tree.
const BOXES: Boxes = Boxes { up: 2, up_credit: 1, down: 6, down_credit: 3 };
const HEAP_DOWN_CREDIT: u32 = 7;
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
        let least = if task == Task::AllReduce { depth / 2 + 1 } else { 1 };
        let window = Window { slots: pipeline.slots.max(least), granted: task == Task::Broadcast };
        let twin = Twin::new(node, grid.nodes(), root);
        let chunks = pipeline.rounds.max(1);
        Self { grid, task, node, turn, place, twin, chunks, depth, window }
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

    /// Both ends of an edge towards the root, whose child is number `which` of the heap.
    #[inline(always)]
    fn heap_up(self, peer: u32, which: u32) -> Edge {
        Edge { peer, inbox: which, credit: 0, place: Place::Slot }
    }

    #[inline(always)]
    fn heap_down(self, peer: u32, chunk: u32, which: u32) -> Edge {
        let tree = chunk % 2;
        let credit = HEAP_DOWN_CREDIT + 2 * tree + which;
        Edge { peer, inbox: HEAP_DOWN + tree, credit, place: Place::Destination }
    }

    /// The edge from the child at number `which` of those in the heap and in the tree.
    #[inline(always)]
    fn child_edge(self, chunk: u32, which: u32) -> (Edge, u32) {
        let heap = self.heap_children();
        if which < heap {
            return (self.heap_up(self.heap(2 * self.place + 1 + which), which), chunk + 1);
        }
        let peer = self.across(self.links(chunk).child(which - heap));
        (BOXES.child_edge(peer, chunk, which - heap), number(chunk))
    }

    /// The edge to the child at number `which`: those of the tree come first, as the way to them is longer.
    #[inline(always)]
    fn to_child(self, chunk: u32, which: u32) -> (Edge, u32) {
        let (links, across) = (self.links(chunk), self.links(chunk).children());
        if which < across {
            return (BOXES.to_child(self.across(links.child(which)), chunk, which), number(chunk));
        }
        let which = which - across;
        (self.heap_down(self.heap(2 * self.place + 1 + which), chunk, which), number(chunk))
    }

    #[inline(always)]
    fn parent(self, chunk: u32, up: bool) -> Option<(Edge, u32)> {
        if self.place > 0 {
            let (peer, which) = (self.heap((self.place - 1) / 2), (self.place + 1) % 2);
            return Some(if up {
                (self.heap_up(peer, which), chunk + 1)
            } else {
                (self.heap_down(peer, chunk, which), number(chunk))
            });
        }
        let links = self.twin.of(chunk);
        if links.parent == NONE {
            return None;
        }
        let peer = self.across(links.parent);
        let edge =
            if up { BOXES.to_parent(peer, chunk, links) } else { BOXES.parent_edge(peer, chunk, links) };
        Some((edge, number(chunk)))
    }

    #[inline(always)]
    fn up(self, chunk: u32, step: u32) -> Option<Step> {
        let children = self.heap_children() + self.links(chunk).children();
        if step >= children.max(1) {
            return None;
        }
        let receive = if step < children {
            let (edge, number) = self.child_edge(chunk, step);
            edge.receive(number, self.window)
        } else {
            None
        };
        let send = match self.parent(chunk, true) {
            Some((edge, number)) if step + 1 >= children => edge.send(number, self.window),
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
            Some((edge, number)) if step == 0 => edge.receive(number, self.window),
            _ => None,
        };
        let send = if step < children {
            let (edge, number) = self.to_child(chunk, step);
            edge.send(number, self.window)
        } else {
            None
        };
        if step == 0 && receive.is_none() && self.task == Task::Broadcast {
            return Some(Step { chunk, receive, value: Value::Source, keep: true, send });
        }
        if receive.is_none() && send.is_none() { None } else { Some(Step::spread(chunk, receive, send)) }
    }

    /// How many positions the way down of a tree's chunks is behind the way up.
    #[inline(always)]
    fn behind(self, tree: u32) -> u32 {
        self.depth * (self.twin.of(tree).depth + (self.place + 1).ilog2())
    }

    /// A grant to the parent in a tree, if any chunk passes it.
    #[inline(always)]
    fn grant(self, tree: u32) -> Option<Step> {
        if tree == 1 && self.chunks == 1 {
            return None;
        }
        let (edge, _) = self.parent(tree, false)?;
        Some(Step::grant(edge, self.window))
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
        match self.task {
            Task::AllReduce => (self.chunks + self.behind(0).max(self.behind(1))) * 2 * STEPS,
            Task::Reduce | Task::Broadcast => self.grants() + self.chunks * STEPS,
        }
    }

    #[inline(always)]
    fn step(self, index: u32) -> Option<Step> {
        if index < self.grants() {
            return self.grant(index);
        }
        let index = index - self.grants();
        match self.task {
            Task::Reduce => self.up(index / STEPS, index % STEPS),
            Task::Broadcast => self.down(index / STEPS, index % STEPS),
            Task::AllReduce => {
                let (position, step) = (index / (2 * STEPS), index % (2 * STEPS));
                if step < STEPS {
                    if position < self.chunks { self.up(position, step) } else { None }
                } else {
                    let chunk = position.wrapping_sub(self.behind(position % 2));
                    if chunk < self.chunks { self.down(chunk, step - STEPS) } else { None }
                }
            }
        }
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let slots = self.window.slots;
        let numbers = self.chunks + self.window.granted as u32;
        Shape { chunks: self.chunks, inboxes: 10, staged: 6, credits: 11, slots, numbers }
    }

    #[inline(always)]
    fn sent(self, credit: u32) -> u32 {
        let (up, down) = (self.task != Task::Broadcast, self.task != Task::Reduce);
        let tree = |which: u32, there: bool| if there { self.through(which) } else { 0 };
        match credit {
            0 if up && self.place > 0 => self.chunks,
            1 | 2 => tree(credit - 1, up && self.place == 0 && self.twin.of(credit - 1).parent != NONE),
            3..7 => {
                let (which, child) = ((credit - 3) / 2, (credit - 3) % 2);
                tree(which, down && child < self.links(which).children())
            }
            7..11 => tree((credit - 7) / 2, down && (credit - 7) % 2 < self.heap_children()),
            _ => 0,
        }
    }
}
