//! The model against itself: folds against whole replays, and small cases by hand.

use super::fold::Fold;
use super::machine::{H200, Link, Machine, Picos};
use super::plan::{Algorithm, Effort, Plan, best};
use super::replay::{Replayed, replay};
use super::table::{bound, fastest, floor, grid, rows, size};
use oxshmem_device::collective::schedule::{Grid, Pipeline, Ring, Tree};

/// Round numbers: 1 byte takes 10 ps by NVLink and 100 ps by a rail; blocks are never what is short.
const ROUND: Machine = Machine {
    per_node: 4,
    nvlink: Link { alpha_us: 1.0, gb_per_s: 100.0 },
    rail: Link { alpha_us: 3.0, gb_per_s: 10.0 },
    blocks: 1,
    block_put: 1e9,
    block_reduce: 1e9,
    hold_us: 0.0,
};
const US: Picos = 1_000_000;
/// Unoptimised builds replay less.
const OPTIMISED: bool = !cfg!(debug_assertions);
/// Bytes of which a copy or a reduction takes 1 ps with `ROUND`.
const CHUNK: u64 = 1000;

fn ring(machine: &Machine, nodes: u32, per_node: u32, lanes: u32, depth: u32) -> Replayed {
    let grid = Grid::new(nodes, per_node).expect("PEs");
    let pipeline = Pipeline { rounds: 1, depth, lag: 0, slots: 8 };
    let fold = Fold { nodes: false, gpus: false, lanes_turn: true };
    replay(machine, grid, fold, lanes, CHUNK, |pe, lane| Ring::all_reduce(grid, pe, lane, pipeline))
}

#[test]
fn a_ring_of_two_takes_two_hops() {
    let hop = US + CHUNK * 10;
    assert_eq!(ring(&ROUND, 1, 2, 1, 1), Replayed { time: 2 * hop, messages: 4 });
    // Two PEs of one node, whatever the schedule takes for a node.
    assert_eq!(ring(&ROUND, 2, 1, 1, 1).time, 2 * hop);
    let hop = 3 * US + CHUNK * 100;
    let apart = Machine { per_node: 1, ..ROUND };
    // A message leaves by the rail once it is reduced: 1 ps.
    assert_eq!(ring(&apart, 2, 1, 1, 1).time, 2 * hop + 1);
}

#[test]
fn messages_of_lanes_take_turns_at_a_port() {
    // Two lanes send at once: the second's message arrives a message later, both times.
    let hop = US + 2 * CHUNK * 10;
    assert_eq!(ring(&ROUND, 1, 2, 2, 1).time, US + CHUNK * 10 + hop);
}

#[test]
fn a_lane_is_held_by_its_blocks_and_by_the_release() {
    // A byte takes a lane 20 ps, twice what the port takes: the tail arrives so much later.
    let slow = Machine { block_put: 50.0, ..ROUND };
    assert_eq!(ring(&slow, 1, 2, 1, 1).time, 2 * (US + CHUNK * 20));
    // Of four messages of a lane each leaves when the one before has, and its release; only the last is waited for.
    let held = Machine { hold_us: 0.5, ..ROUND };
    assert_eq!(ring(&held, 1, 2, 1, 1).time, 2 * (US + CHUNK * 10));
    assert_eq!(ring(&held, 1, 2, 1, 2).time, 3 * US / 2 + 4 * CHUNK * 10 + US);
}

#[test]
fn children_take_turns_at_their_parents_port() {
    let grid = Grid::new(1, 3).expect("3 PEs");
    let pipeline = Pipeline { rounds: 1, depth: 0, lag: 0, slots: 1 };
    let fold = Fold { nodes: false, gpus: false, lanes_turn: true };
    let tree = replay(&ROUND, grid, fold, 1, CHUNK, |pe, lane| Tree::all_reduce(grid, pe, lane, pipeline));
    // Both arrive after 1 us at the root; then its two messages leave one after another.
    assert_eq!(tree.time, US + 2 * CHUNK * 10 + 2 * CHUNK * 10 + US + CHUNK.div_ceil(1_000_000));
}

#[test]
fn folds_are_exact() {
    let pipelines = [
        Pipeline { rounds: 1, depth: 1, lag: 0, slots: 0 },
        Pipeline { rounds: 2, depth: 2, lag: 1, slots: 0 },
        Pipeline { rounds: 3, depth: 3, lag: 2, slots: 6 },
    ];
    let mut folded_some = 0;
    let grids = [(2, 2), (3, 4), (1, 8), (6, 1), (9, 2), (8, 4), (5, 8)];
    for &(nodes, per_node) in if OPTIMISED { &grids[..] } else { &grids[..4] } {
        let grid = Grid::new(nodes, per_node).expect("PEs");
        for machine in [Machine { per_node, ..H200 }, Machine { per_node, ..ROUND }] {
            for algorithm in Algorithm::ALL {
                for pipeline in pipelines {
                    for (lanes, bytes) in [(1, 4096), (3, 1 << 20), (8, 3_000_001)] {
                        let plan = Plan { algorithm, lanes, pipeline };
                        let folded = plan.predict(&machine, grid, bytes, false);
                        let whole = plan.predict(&machine, grid, bytes, true);
                        assert_eq!(
                            folded.time(),
                            whole.time(),
                            "{plan:?}, {nodes} x {per_node}, {bytes} bytes"
                        );
                        folded_some += u32::from(folded.replayed.messages < whole.replayed.messages);
                    }
                }
            }
        }
    }
    assert!(folded_some > 150, "{folded_some}");
}

#[test]
fn a_fold_that_is_no_symmetry_shows() {
    // Trees have other nodes at their roots than at their leaves.
    let grid = Grid::new(8, 2).expect("16 PEs");
    let pipeline = Pipeline { rounds: 4, depth: 2, lag: 0, slots: 4 };
    let run = |nodes| {
        let fold = Fold { nodes, gpus: false, lanes_turn: true };
        std::panic::catch_unwind(|| {
            replay(&H200, grid, fold, 2, 65_536, |pe, lane| Tree::all_reduce(grid, pe, lane, pipeline)).time
        })
    };
    let (wrong, right) = (run(true), run(false));
    assert!(right.is_ok());
    assert_ne!(wrong.ok(), right.ok());
}

#[test]
fn nothing_is_faster_than_its_ports() {
    for &pes in if OPTIMISED { &[2, 3, 8, 16, 64][..] } else { &[2, 3, 8, 16] } {
        let grid = grid(&H200, pes).expect("nodes");
        for bytes in [1 << 10, 1 << 20, 16 << 20] {
            for row in rows(&H200, grid, &[5.0], bytes, Effort::Usual) {
                assert!(row.of_floor() <= 1.0, "{}", row.line());
                assert!(row.prediction.time() > 0 && row.floor <= row.bound);
            }
        }
    }
}

#[test]
fn bounds_are_what_they_say() {
    let grid = grid(&H200, 128).expect("16 nodes");
    let bytes = 1 << 30;
    let rail = 2.0 * 15.0 / 16.0 * bytes as f64 / 8.0 / 50.0 * 1e3;
    let nvlink = 2.0 * 127.0 / 128.0 * bytes as f64 / 370.0 * 1e3;
    assert!((bound(&H200, grid, bytes) as f64 / nvlink.max(rail) - 1.0).abs() < 1e-9);
    let both = 2.0 * 127.0 / 128.0 * bytes as f64 / 420.0 * 1e3;
    assert!((floor(&H200, grid, bytes) as f64 / both.max(rail) - 1.0).abs() < 1e-9);
    assert_eq!((super::table::grid(&H200, 12), super::table::grid(&H200, 0)), (None, None));
}

#[test]
fn large_vectors_reach_the_bound() {
    let (pes, bytes) = if OPTIMISED { (128, 1 << 30) } else { (16, 64 << 20) };
    let grid = grid(&H200, pes).expect("nodes");
    let rows = rows(&H200, grid, &[5.0], bytes, Effort::Usual);
    let best = rows.iter().map(|row| row.of_bound()).fold(0.0, f64::max);
    assert!(best >= 0.85, "{best}");
}

#[test]
fn small_vectors_are_for_trees_and_the_fastest_is_told_once() {
    let grid = grid(&H200, 128).expect("16 nodes");
    let all: Vec<_> = [1 << 10, 8 << 10, 32 << 20]
        .into_iter()
        .flat_map(|bytes| rows(&H200, grid, &[5.0], bytes, Effort::Usual))
        .collect();
    let fastest = fastest(&all);
    assert!(matches!(fastest[0], (1024, Algorithm::Tree | Algorithm::HierarchicalTree)), "{fastest:?}");
    assert!(fastest.len() >= 2, "{fastest:?}");
    assert!(fastest.windows(2).all(|pair| pair[0].1 != pair[1].1 && pair[0].0 < pair[1].0));
}

#[test]
fn more_latency_never_helps() {
    let grid = grid(&H200, 64).expect("8 nodes");
    for algorithm in Algorithm::ALL {
        let time = |alpha_us| {
            let machine = Machine { rail: Link { alpha_us, ..H200.rail }, ..H200 };
            best(&machine, algorithm, grid, 1 << 20, Effort::Usual).map(|p| p.time())
        };
        assert!(time(3.0) < time(5.0) && time(5.0) < time(10.0), "{algorithm:?}");
    }
}

#[test]
fn rows_come_by_latency_with_one_plan_for_all_or_one_for_each() {
    let grid = grid(&H200, 32).expect("4 nodes");
    for effort in [Effort::Usual, Effort::Full] {
        let rows = rows(&H200, grid, &[3.0, 5.0, 10.0], 4 << 20, effort);
        let alphas: Vec<f64> = rows.iter().map(|row| row.rail_alpha).collect();
        assert_eq!(alphas, [[3.0; 4], [5.0; 4], [10.0; 4]].concat());
        for (of_three, of_ten) in rows[..4].iter().zip(&rows[8..]) {
            assert!(of_three.us() < of_ten.us());
            let same = of_three.prediction.plan == of_ten.prediction.plan;
            assert!(same || effort == Effort::Full);
        }
    }
    assert!(rows(&H200, grid, &[], 1 << 20, Effort::Usual).is_empty());
}

#[test]
fn sizes_are_written_in_the_largest_unit() {
    assert_eq!([size(4), size(1536), size(64 << 10), size(1 << 30)], ["4 B", "1536 B", "64 KiB", "1 GiB"]);
}
