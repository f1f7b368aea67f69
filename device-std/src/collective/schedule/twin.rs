//! Two binary trees over the same nodes, such that a node with children in one is a leaf of the other. Each carries every
//! second chunk, so each node sends and receives about as much as in a ring, and a chunk is through in `2 log2 n` hops.
//! (Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.)
//!
//! Nodes have numbers from 1 to `n`. In the first tree the children of a number lie around it at the distance of half its
//! lowest bit, numbers above `n` are passed over, and the odd ones are leaves. The second is the first for the numbers
//! turned around (`n` even) or turned by one (`n` odd, where number 1 is a leaf of both).
//!
//! With a root that the caller names, that node stands apart, above the roots of both trees over the others, and sends or
//! receives half of the vector by each.

use super::grid::{minus, plus};
use super::step::{Edge, Place};

/// No such node.
pub(super) const NONE: u32 = u32::MAX;

/// A node's neighbours in a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) parent: u32,
    pub(super) left: u32,
    pub(super) right: u32,
    /// It is the right child of its parent.
    pub(super) is_right: bool,
    /// Hops to the root.
    pub(super) depth: u32,
}

impl Links {
    /// Children: the left one is there if the right one is.
    #[inline(always)]
    pub(super) fn children(self) -> u32 {
        (self.left != NONE) as u32 + (self.right != NONE) as u32
    }

    #[inline(always)]
    pub(super) fn child(self, which: u32) -> u32 {
        if which == 0 { self.left } else { self.right }
    }
}

#[inline(always)]
const fn lowest_bit(number: u32) -> u32 {
    number & number.wrapping_neg()
}

/// Above `number` in the first tree.
#[inline(always)]
fn above(number: u32, n: u32) -> u32 {
    let mut at = number;
    loop {
        let bit = lowest_bit(at);
        if at - bit == 0 && 2 * bit > n {
            return NONE;
        }
        at = (at - bit) | (2 * bit);
        if at <= n {
            return at;
        }
    }
}

/// Right of `number` and below it in the first tree.
#[inline(always)]
fn right_of(number: u32, n: u32) -> u32 {
    let half = lowest_bit(number) / 2;
    if half == 0 {
        return NONE;
    }
    let mut at = number + half;
    while at > n {
        let half = lowest_bit(at) / 2;
        if half == 0 {
            return NONE;
        }
        at -= half;
    }
    at
}

/// A number's place in tree `which`.
#[inline(always)]
fn place(number: u32, n: u32, which: u32) -> u32 {
    match (which, n % 2) {
        (0, _) => number,
        (_, 0) => n + 1 - number,
        _ => minus(number - 1, 1 % n, n) + 1,
    }
}

/// The number at a place of tree `which`.
#[inline(always)]
fn at_place(place: u32, n: u32, which: u32) -> u32 {
    match (which, n % 2) {
        (0, _) => place,
        (_, 0) => n + 1 - place,
        _ => plus(place - 1, 1 % n, n) + 1,
    }
}

/// Links of `number` among `n` in tree `which`, by numbers.
#[inline(always)]
fn links(number: u32, n: u32, which: u32) -> Links {
    let here = place(number, n, which);
    let half = lowest_bit(here) / 2;
    let named = |place| if place == NONE { NONE } else { at_place(place, n, which) };
    let parent = above(here, n);
    let (mut depth, mut at) = (0, parent);
    while at != NONE {
        (depth, at) = (depth + 1, above(at, n));
    }
    Links {
        parent: named(parent),
        left: if half == 0 { NONE } else { named(here - half) },
        right: named(right_of(here, n)),
        is_right: parent != NONE && here > parent,
        depth,
    }
}

/// A node's links in both trees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Twin {
    first: Links,
    second: Links,
}

impl Twin {
    /// Node `node` of `nodes`, below the nodes that the trees have for roots, or below `root`.
    #[inline(always)]
    pub(super) fn new(node: u32, nodes: u32, root: Option<u32>) -> Self {
        let tree = |which| match root {
            None => {
                let Links { parent, left, right, is_right, depth } = links(node + 1, nodes, which);
                let named = |number| if number == NONE { NONE } else { number - 1 };
                Links { parent: named(parent), left: named(left), right: named(right), is_right, depth }
            }
            Some(root) => Self::below(node, nodes, root, which),
        };
        Self { first: tree(0), second: tree(1) }
    }

    #[inline(always)]
    fn below(node: u32, nodes: u32, root: u32, which: u32) -> Links {
        let (number, n) = (minus(node, root, nodes), nodes - 1);
        let named = |number| if number == NONE { NONE } else { plus(root, number, nodes) };
        if number == 0 {
            let top = if n == 0 { NONE } else { at_place(1 << n.ilog2(), n, which) };
            return Links { parent: NONE, left: named(top), right: NONE, is_right: false, depth: 0 };
        }
        let Links { parent, left, right, is_right, depth } = links(number, n, which);
        let parent = if parent == NONE { 0 } else { parent };
        let depth = depth + 1;
        Links { parent: named(parent), left: named(left), right: named(right), is_right, depth }
    }

    /// The greatest depth in either tree.
    #[inline(always)]
    pub(super) fn deepest(nodes: u32, root: Option<u32>) -> u32 {
        match root {
            None => nodes.ilog2(),
            Some(_) if nodes == 1 => 0,
            Some(_) => (nodes - 1).ilog2() + 1,
        }
    }

    /// The tree that carries chunk `chunk`.
    #[inline(always)]
    pub(super) fn of(self, chunk: u32) -> Links {
        // Field by field: chosen as a whole they would lie in a device's local memory, where a number can choose between them.
        let (is_first, Self { first, second }) = (chunk.is_multiple_of(2), self);
        let either = |first, second| if is_first { first } else { second };
        Links {
            parent: either(first.parent, second.parent),
            left: either(first.left, second.left),
            right: either(first.right, second.right),
            is_right: is_first & first.is_right | !is_first & second.is_right,
            depth: either(first.depth, second.depth),
        }
    }
}

/// Number of a chunk's message on an edge of its tree.
#[inline(always)]
pub(super) const fn number(chunk: u32) -> u32 {
    chunk / 2 + 1
}

/// Where the trees' inboxes and credit words begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes {
    /// 4 inboxes: of left and right child, in each tree.
    pub(super) up: u32,
    /// 2 credit words: of the parent, in each tree.
    pub(super) up_credit: u32,
    /// 2 inboxes: of the parent, in each tree.
    pub(super) down: u32,
    /// 4 credit words: of left and right child, in each tree.
    pub(super) down_credit: u32,
}

impl Boxes {
    /// Both ends of the edge from the child `which` (0 left, 1 right) to its parent, in the tree of `chunk`.
    #[inline(always)]
    pub(super) fn child_edge(self, peer: u32, chunk: u32, which: u32) -> Edge {
        let tree = chunk % 2;
        let (inbox, credit) = (self.up + 2 * tree + which, self.up_credit + tree);
        Edge { peer, inbox, credit, place: Place::Slot }
    }

    /// Both ends of the edge to the child.
    #[inline(always)]
    pub(super) fn to_child(self, peer: u32, chunk: u32, which: u32) -> Edge {
        let tree = chunk % 2;
        let (inbox, credit) = (self.down + tree, self.down_credit + 2 * tree + which);
        Edge { peer, inbox, credit, place: Place::Destination }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: u32, root: Option<u32>) {
        let twins: Vec<Twin> = (0..nodes).map(|node| Twin::new(node, nodes, root)).collect();
        for which in 0..2 {
            let of = |node: u32| twins[node as usize].of(which);
            let roots: Vec<u32> = (0..nodes).filter(|&node| of(node).parent == NONE).collect();
            assert_eq!(roots.len(), 1, "{nodes} nodes, tree {which}");
            assert!(root.is_none_or(|root| roots == [root]));
            let mut below = vec![roots[0]];
            let mut at = 0;
            while at < below.len() {
                let (node, links) = (below[at], of(below[at]));
                assert!(links.left != NONE || links.right == NONE);
                for (child, is_right) in [(links.left, false), (links.right, true)] {
                    if child != NONE {
                        assert_eq!((of(child).parent, of(child).is_right), (node, is_right));
                        assert_eq!(of(child).depth, links.depth + 1);
                        below.push(child);
                    }
                }
                at += 1;
            }
            below.sort_unstable();
            assert_eq!(below, (0..nodes).collect::<Vec<_>>(), "each node once, tree {which}");
        }
        let deepest = twins.iter().map(|twin| twin.of(0).depth.max(twin.of(1).depth)).max();
        assert_eq!(deepest, Some(Twin::deepest(nodes, root)), "{nodes} nodes");
        for node in (0..nodes).filter(|&node| Some(node) != root) {
            let children = (twins[node as usize].of(0).children(), twins[node as usize].of(1).children());
            assert!(children.0 == 0 || children.1 == 0, "{nodes} nodes: {node} has children in both trees");
        }
    }

    #[test]
    fn both_trees_reach_every_node_once_and_none_has_children_in_both() {
        for nodes in (1..=70).chain([127, 128, 129, 512, 1000, 4096]) {
            check(nodes, None);
            for root in [0, nodes / 2, nodes - 1] {
                check(nodes, Some(root));
            }
        }
    }

    #[test]
    fn trees_are_as_deep_as_a_binary_tree_may_be() {
        for nodes in [2_u32, 7, 8, 100, 512, 4096] {
            for node in 0..nodes {
                let (mut at, mut hops) = (node, 0);
                while at != NONE {
                    (at, hops) = (Twin::new(at, nodes, None).of(1).parent, hops + 1);
                }
                assert!(hops <= nodes.ilog2() + 1, "{nodes} nodes, {node}: {hops}");
            }
        }
    }
}
