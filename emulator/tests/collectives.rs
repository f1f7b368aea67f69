//! Barriers, shuffles and votes, with full and partial warps and with threads that have exited.

mod common;

use common::{Job, one_block, slice};
use oxshmem_device::prelude::*;

#[test]
fn a_block_barrier_orders_the_whole_block() {
    for threads in [1, 31, 32, 33, 256, 1024] {
        one_block(threads, move |shmem| {
            let marks = shmem.local(slice::<u32>(0, 1024));
            for round in 1..4 {
                marks.set(thread::in_block().into(), round);
                shmem.block().sync();
                for i in 0..u64::from(threads) {
                    assert_eq!(marks.get(i), round);
                }
                shmem.block().sync();
            }
        });
    }
}

#[test]
fn a_block_barrier_counts_only_the_threads_that_have_not_exited() {
    // Who leaves before the first barrier, and who between the two.
    type Leaves = fn(u32) -> bool;
    let table: [(Leaves, Leaves); 5] = [
        (|i| i == 0, |_| false),
        (|i| i != 5, |_| false),
        (|i| i % 2 == 1, |i| i % 4 == 0),
        (|i| i >= 32, |i| i != 0),
        (|_| false, |_| true),
    ];
    for (first, second) in table {
        one_block(96, move |shmem| {
            let i = thread::in_block();
            if first(i) {
                return;
            }
            shmem.block().sync();
            if second(i) {
                return;
            }
            shmem.block().sync();
        });
    }
}

#[test]
fn a_barrier_tells_whether_any_predicate_was_true() {
    one_block(100, |shmem| {
        let i = thread::in_block();
        for (who, any) in [(0, true), (31, true), (99, true), (100, false)] {
            assert_eq!(shmem.block().any(i == who), any);
            assert!(!shmem.block().any(false), "the answer is not kept");
        }
        if i == 50 {
            return;
        }
        assert!(shmem.block().any(i == 99));
    });
}

#[test]
fn shuffles_move_values_as_cuda_does() {
    for threads in [1, 2, 13, 32, 45, 64, 77] {
        one_block(threads, |_| {
            let (lane, size) = (warp::lane(), warp::size());
            let value = 100 + lane;
            for delta in [0, 1, 5, 16, 31] {
                let down = if lane + delta < size { value + delta } else { value };
                assert_eq!(warp::shuffle_down(value, delta), down, "down {delta}");
                let up = if lane >= delta { value - delta } else { value };
                assert_eq!(warp::shuffle_up(value, delta), up, "up {delta}");
                let partner = lane ^ delta;
                let xor = if partner < size { 100 + partner } else { value };
                assert_eq!(warp::shuffle_xor(value, delta), xor, "xor {delta}");
            }
            assert_eq!(warp::shuffle(value, size - 1), 100 + size - 1);
            assert_eq!(warp::shuffle(value, 0), 100);
            let wide = u64::from(value) << 32 | 7;
            assert_eq!(warp::shuffle(wide, 0), 100 << 32 | 7);
            assert_eq!(warp::shuffle(f64::from(value), 0), 100.0);
            warp::sync();
        });
    }
}

#[test]
fn votes_count_the_lanes_of_the_warp() {
    for threads in [1, 31, 32, 45] {
        one_block(threads, |_| {
            let (lane, size) = (warp::lane(), warp::size());
            let full = u32::MAX >> (32 - size);
            assert_eq!(warp::ballot(true), full);
            assert_eq!(warp::ballot(lane.is_multiple_of(2)), full & 0x5555_5555);
            assert!(warp::all(true) && warp::any(true));
            assert!(!warp::any(false));
            assert!(!warp::all(lane != size - 1));
            assert!(warp::any(lane == size - 1));
            assert_eq!(warp::active_mask(), full);
            warp::sync();
        });
    }
}

#[test]
fn warp_collectives_complete_with_the_lanes_that_live() {
    one_block(45, |_| {
        let lane = warp::lane();
        let living = (u32::MAX >> (32 - warp::size())) & !0b101;
        if lane == 0 {
            return;
        }
        if lane == 2 {
            // Gone while others may already wait.
            let _ = warp::active_mask();
            return;
        }
        assert_eq!(warp::ballot(true) & !0b101, living);
        assert_eq!(warp::ballot(true) & !0b101, living);
        assert_eq!(warp::active_mask() & 1, 0);
        assert_eq!(warp::shuffle(lane, 5), 5);
    });
}

#[test]
fn warps_do_not_wait_for_each_other() {
    let job = Job::devices(1);
    job.launch(0, (1, 64), |shmem| {
        let flag = shmem.local(slice::<u32>(0, 1));
        if thread::in_block() >= 32 {
            for _ in 0..100 {
                warp::sync();
            }
            flag.set(0, 1);
        }
        shmem.block().sync();
        assert_eq!(flag.get(0), 1);
    });
    job.finish();
}

shared! {
    struct Tile {
        values: [u32; 256],
        total: u64,
    }
}

#[test]
fn shared_memory_belongs_to_one_block_and_starts_poisoned() {
    let job = Job::devices(1);
    let mut launch = job.kernel(0, (8, 256), |shmem| {
        let tile = Tile::of(*shmem);
        let i = thread::in_block();
        assert_eq!(tile.values.get(i), 0xa5a5_a5a5);
        shmem.block().sync();
        tile.values.set(i, thread::block() * 1000 + i);
        shmem.block().sync();
        assert_eq!(tile.values.get(255 - i), thread::block() * 1000 + 255 - i);
        if i == 0 {
            tile.total.set((0..256).map(|i| u64::from(tile.values.get(i))).sum());
        }
        shmem.block().sync();
        assert_eq!(tile.total.get(), u64::from(thread::block()) * 256_000 + 255 * 128);
    });
    launch.shared_bytes = 1024 + 8;
    job.pes[0].stream.launch(launch).expect("a launch");
    job.finish();
}

#[test]
fn shuffles_take_their_operand_modulo_32() {
    one_block(32, |_| {
        let lane = warp::lane();
        assert_eq!(warp::shuffle_xor(lane, u32::MAX), 31 - lane);
        assert_eq!(warp::shuffle_up(lane, 33), if lane == 0 { 0 } else { lane - 1 });
        assert_eq!(warp::shuffle_down(lane, u32::MAX), if lane == 0 { 31 } else { lane });
        assert_eq!(warp::shuffle(lane, 40), 8);
    });
}
