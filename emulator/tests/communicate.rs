//! PEs talk: puts, signals, waits, barriers; on several devices and on one.

mod common;

use common::{DATA, Job, signal, slice};
use oxshmem_device::prelude::*;
use oxshmem_emulator::MachineConfig;

const BOTH: [u32; 2] = [1, 2];

#[test]
fn a_put_with_signal_is_seen_by_the_waiter() {
    for devices in BOTH {
        let job = Job::new(2, MachineConfig { devices, ..MachineConfig::default() });
        job.launch_all((1, 64), |shmem| {
            let (source, target) = (slice::<u64>(0, 1000), slice::<u64>(8000, 1000));
            let own = shmem.local(source);
            let mut i = u64::from(thread::in_block());
            while i < 1000 {
                own.set(i, 7000 * u64::from(shmem.my_pe()) + i);
                i += 64;
            }
            let block = shmem.block();
            block.put_signal(target, source, signal(16000), SignalOp::Set(1), shmem.next_pe());
            block.wait_until(signal(16000), Cmp::Eq, 1);
            let got = shmem.local(target);
            let mut i = u64::from(thread::in_block());
            while i < 1000 {
                assert_eq!(got.get(i), 7000 * u64::from(shmem.prev_pe()) + i);
                i += 64;
            }
        });
        job.finish();
        for pe in 0..2u32 {
            for i in [0, 1, 500, 999] {
                assert_eq!(job.peek(pe, DATA + 8000 + 8 * i), 7000 * u64::from(1 - pe) + i);
            }
        }
    }
}

#[test]
fn all_pes_meet_at_barrier_all() {
    for (pes, devices) in [(5, 5), (5, 1), (8, 2), (2, 2), (1, 1)] {
        let job = Job::new(pes, MachineConfig { devices, ..MachineConfig::default() });
        job.launch_all((1, 33), |shmem| {
            let (me, n) = (shmem.my_pe(), shmem.n_pes());
            for round in 0..20u64 {
                // Each writes its number to all; after the barrier all have all numbers.
                if thread::in_block() == 0 {
                    for pe in 0..n {
                        shmem.thread().p(slice::<u64>(0, 64).at(me.into()), round * 100 + u64::from(me), pe);
                    }
                }
                shmem.block().barrier_all();
                let own = shmem.local(slice::<u64>(0, 64));
                for pe in 0..u64::from(n) {
                    assert_eq!(own.get(pe), round * 100 + pe, "round {round}");
                }
                shmem.block().barrier_all();
            }
        });
        job.finish();
    }
}

#[test]
fn a_grid_barrier_joins_all_blocks() {
    for (blocks, threads) in [(1, 7), (2, 32), (7, 40), (32, 256)] {
        let job = Job::devices(1);
        job.launch(0, (blocks, threads), |shmem| {
            let marks = shmem.local(slice::<u64>(0, 64));
            for round in 1..=5u64 {
                if thread::in_block() == 0 {
                    marks.set(thread::block().into(), round);
                }
                shmem.grid().sync();
                for block in 0..u64::from(thread::blocks()) {
                    assert_eq!(marks.get(block), round);
                }
                shmem.grid().sync();
            }
        });
        job.finish();
    }
}

#[test]
fn launches_of_one_stream_run_in_order_and_those_of_two_side_by_side() {
    let job = Job::devices(1);
    for value in 1..=50u64 {
        job.launch(0, (2, 32), move |shmem| {
            let word = shmem.local(slice::<u64>(0, 1));
            assert!(word.get(0) == value - 1 || word.get(0) == value);
            shmem.block().sync();
            word.set(0, value);
        });
    }
    job.finish();
    assert_eq!(job.peek(0, DATA), 50);

    // The first kernel waits for the second one, which is on another stream.
    let other = job.pes[0].device.create_stream();
    job.launch(0, (1, 1), |shmem| shmem.thread().wait_until(signal(64), Cmp::Ge, 1));
    other
        .launch(job.kernel(0, (1, 1), |shmem| shmem.thread().signal(signal(64), SignalOp::Add(1), 0)))
        .expect("a launch");
    job.finish();
    other.synchronize().expect("the second stream");
}

#[test]
fn a_seed_changes_the_order_and_not_the_result() {
    for seed in 0..10 {
        let job = Job::new(3, MachineConfig { devices: 1, seed: Some(seed), ..MachineConfig::default() });
        job.launch_all((2, 64), |shmem| {
            let sum = slice::<u64>(0, 1);
            shmem.thread().signal(signal(64), SignalOp::Add(1), shmem.next_pe());
            shmem.block().wait_reached(signal(64), 128);
            shmem.grid().sync();
            if thread::in_grid() == 0 {
                shmem.local(sum).set(0, shmem.thread().signal_fetch(signal(64)));
            }
        });
        job.finish();
        assert_eq!((0..3).map(|pe| job.peek(pe, DATA)).collect::<Vec<_>>(), [128; 3], "seed {seed}");
    }
}

#[test]
fn sixty_four_pes_on_their_own_devices_make_progress() {
    let job = Job::devices(64);
    job.launch_all((1, 32), |shmem| (0..10).for_each(|_| shmem.block().barrier_all()));
    job.finish();
}

#[test]
fn operations_and_instructions_are_counted() {
    let job = Job::devices(1);
    job.launch(0, (1, 32), |shmem| {
        shmem.block().put(slice::<u64>(0, 64), slice::<u64>(512, 64), 0);
        shmem.block().quiet();
    });
    job.finish();
    let counts = job.pes[0].device.statistics();
    assert_eq!(counts.operations(oxshmem_device::abi::Operation::Put), 32);
    assert_eq!(counts.operations(oxshmem_device::abi::Operation::Quiet), 32);
    assert_eq!((counts.blocks, counts.launches), (1, 1));
    assert_eq!(counts.stores, 32, "64 words in 16-byte accesses");
    assert!(counts.fences >= 1 && counts.loads >= 32 && counts.switches >= 32 && counts.active_steps >= 32);
}
