//! Schedules are run symbolically: with every number of PEs up to 33 and some up to 4,096, in turn and in random
//! interleavings, with the fewest slots and with more. Broken schedules must be caught.

mod broken;
mod run;
mod value;

use super::{Grid, HierarchicalRing, HierarchicalTree, Pipeline, Ring, Schedule, Tree};
use run::{Order, Promise, Run};

/// Fails with what is wrong.
fn check<S: Schedule>(what: &str, pes: u32, promise: Promise, orders: &[Order], schedule: impl Fn(u32) -> S) {
    for &order in orders {
        if let Err(why) = Run::new(pes, promise, &schedule).and_then(|run| run.check(order)) {
            panic!("{what}, {pes} PEs, {promise:?}, {order:?}: {why}");
        }
    }
}

const ORDERS: &[Order] = &[Order::InTurn, Order::Seeded(1), Order::Seeded(2)];

fn is_full() -> bool {
    std::env::var_os("OXSHMEM_TEST_FULL").is_some()
}

/// What runs without `--full`: everything where the code is optimised; without, some sizes, and says so.
fn sizes() -> Vec<u32> {
    if cfg!(debug_assertions) && !is_full() {
        println!(
            "in an unoptimised build 1 to 9, 16, 17, 24 PEs: --release or OXSHMEM_TEST_FULL=1 runs 1 to 33"
        );
        return (1..=9).chain([16, 17, 24]).collect();
    }
    (1..=33).collect()
}

/// Interleavings for so many PEs: all of them up to 16 PEs, and where all was asked for.
fn orders(pes: u32) -> &'static [Order] {
    if pes <= 16 || is_full() { ORDERS } else { &ORDERS[..1 + pes as usize % 2] }
}

/// Pipelines with the fewest slots and with more; of one chunk, of several, and longer than they are deep.
const PIPELINES: &[Pipeline] = &[
    Pipeline { rounds: 1, depth: 1, lag: 0, slots: 0 },
    Pipeline { rounds: 1, depth: 3, lag: 2, slots: 0 },
    Pipeline { rounds: 2, depth: 2, lag: 1, slots: 7 },
    Pipeline { rounds: 5, depth: 0, lag: 3, slots: 0 },
    Pipeline { rounds: 3, depth: 4, lag: 99, slots: 2 },
];

/// All ways to put `pes` PEs on nodes that are alike.
fn grids(pes: u32) -> impl Iterator<Item = Grid> {
    (1..=pes)
        .filter(move |per_node| pes.is_multiple_of(*per_node))
        .filter_map(move |per| Grid::new(pes / per, per))
}

#[test]
fn rings_of_all_sizes() {
    for pes in sizes() {
        for grid in grids(pes) {
            for &pipeline in PIPELINES {
                let lane = pes % 5;
                check("ring", pes, Promise::AllReduce, orders(pes), |pe| {
                    Ring::all_reduce(grid, pe, lane, pipeline)
                });
                check("ring", pes, Promise::ReduceScatter, orders(pes), |pe| {
                    Ring::reduce_scatter(grid, pe, lane, pipeline)
                });
                check("ring", pes, Promise::AllGather, orders(pes), |pe| {
                    Ring::all_gather(grid, pe, lane, pipeline)
                });
            }
        }
    }
}

#[test]
fn trees_of_all_sizes() {
    for pes in sizes() {
        for grid in grids(pes) {
            for &pipeline in PIPELINES {
                let lane = pes % 5;
                check("tree", pes, Promise::AllReduce, orders(pes), |pe| {
                    Tree::all_reduce(grid, pe, lane, pipeline)
                });
                for root in [0, pes / 2, pes - 1] {
                    check("tree", pes, Promise::Reduce(root), orders(pes), |pe| {
                        Tree::reduce(grid, pe, root, pipeline)
                    });
                    check("tree", pes, Promise::Broadcast(root), orders(pes), |pe| {
                        Tree::broadcast(grid, pe, root, pipeline)
                    });
                }
            }
        }
    }
}

#[test]
fn hierarchies_of_all_sizes() {
    for pes in sizes() {
        for grid in grids(pes) {
            for &pipeline in PIPELINES {
                check("hierarchical ring", pes, Promise::AllReduce, orders(pes), |pe| {
                    HierarchicalRing::all_reduce(grid, pe, pipeline)
                });
                check("hierarchical tree", pes, Promise::AllReduce, orders(pes), |pe| {
                    HierarchicalTree::all_reduce(grid, pe, pipeline)
                });
            }
        }
    }
}

/// With so many PEs, and how many of them to a node.
const LARGE: &[(u32, u32)] =
    &[(64, 8), (100, 4), (100, 10), (127, 1), (128, 8), (1000, 8), (1024, 8), (4096, 8)];

/// In an unoptimised build without `--full`, up to 128 PEs, or what `most` says.
fn large(most: u32, schedules: impl Fn(Grid, &[Order])) {
    let most = if cfg!(debug_assertions) && !is_full() { most } else { u32::MAX };
    for &(pes, per_node) in LARGE {
        if pes > most {
            println!(
                "skipped: {pes} PEs in an unoptimised build; --release or OXSHMEM_TEST_FULL=1 runs them"
            );
            continue;
        }
        let grid = Grid::new(pes / per_node, per_node).expect("PEs");
        schedules(grid, if is_full() || pes < 1000 { ORDERS } else { &[Order::InTurn] });
    }
}

/// One chunk of each block, and the fewest slots; of 4,096 PEs more, with which one PE does many steps at once, unless all was
/// asked for.
fn one(grid: Grid) -> Pipeline {
    let slots = if grid.n_pes() < 4096 || is_full() { 0 } else { 64 };
    Pipeline { rounds: 1, depth: 1, lag: 1, slots }
}
const FEW: Pipeline = Pipeline { rounds: 4, depth: 2, lag: 1, slots: 0 };

#[test]
fn large_rings() {
    large(128, |grid, orders| {
        let n = grid.n_pes();
        check("ring", n, Promise::AllReduce, orders, |pe| Ring::all_reduce(grid, pe, 3, one(grid)));
        if n <= 128 || is_full() {
            check("ring", n, Promise::ReduceScatter, orders, |pe| {
                Ring::reduce_scatter(grid, pe, 3, one(grid))
            });
            check("ring", n, Promise::AllGather, orders, |pe| Ring::all_gather(grid, pe, 3, one(grid)));
        }
    });
}

#[test]
fn large_trees() {
    large(4096, |grid, orders| {
        let (n, root) = (grid.n_pes(), grid.n_pes() / 3);
        check("tree", n, Promise::AllReduce, orders, |pe| Tree::all_reduce(grid, pe, 3, FEW));
        check("tree", n, Promise::Reduce(root), orders, |pe| Tree::reduce(grid, pe, root, FEW));
        check("tree", n, Promise::Broadcast(root), orders, |pe| Tree::broadcast(grid, pe, root, FEW));
        check("hierarchical tree", n, Promise::AllReduce, orders, |pe| {
            HierarchicalTree::all_reduce(grid, pe, FEW)
        });
    });
}

#[test]
fn large_hierarchical_rings() {
    large(128, |grid, orders| {
        check("hierarchical ring", grid.n_pes(), Promise::AllReduce, orders, |pe| {
            HierarchicalRing::all_reduce(grid, pe, one(grid))
        });
    });
}

#[test]
fn fewer_slots_than_the_least_are_raised_to_it() {
    let grid = Grid::new(4, 2).expect("8 PEs");
    let pipeline = |slots| Pipeline { rounds: 2, depth: 3, lag: 4, slots };
    assert_eq!(Ring::all_reduce(grid, 0, 0, pipeline(0)).shape().slots, 4);
    assert_eq!(HierarchicalRing::all_reduce(grid, 0, pipeline(0)).shape().slots, 5);
    assert_eq!(HierarchicalTree::all_reduce(grid, 0, pipeline(0)).shape().slots, 3);
    assert_eq!(Tree::all_reduce(grid, 0, 0, pipeline(0)).shape().slots, 3);
    assert_eq!(Tree::all_reduce(grid, 0, 0, pipeline(9)).shape().slots, 9);
}
