//! Waits expire by machine time: quickly when nothing can happen any more, and never while something can.

mod common;

use common::{DATA, Job, signal, slice};
use oxshmem_device::abi::{Cause, Operation, RECORD_COMPLETE, RECORD_EMPTY};
use oxshmem_device::prelude::*;
use oxshmem_emulator::{MachineConfig, STEPS_PER_SECOND};
use std::time::{Duration, Instant};

/// Far beyond what a test could count up to.
const HOUR: u64 = 3600 * STEPS_PER_SECOND;

#[test]
fn a_wait_that_never_ends_expires_at_once_and_leaves_its_record() {
    for devices in [1, 3] {
        let job = Job::new(3, MachineConfig { devices, ..MachineConfig::default() }).with_deadline(HOUR);
        let start = Instant::now();
        job.launch_all((2, 64), |shmem| {
            if shmem.my_pe() == 1 && thread::block() == 1 {
                shmem.block().wait_until(signal(8), Cmp::Ge, 42);
            } else {
                // The barrier's deadline is as long, but it begins later.
                (0..5).for_each(|_| shmem.block().sync());
                shmem.block().wait_until(signal(16), Cmp::Eq, 1);
            }
        });
        assert!(job.outcomes().iter().all(Result::is_ok), "an expired wait is no kernel failure");
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "an hour of machine time is no hour: {:?}",
            start.elapsed()
        );
        let records: Vec<_> = (0..3).map(|pe| job.record(pe)).collect();
        let complete: Vec<_> = records.iter().filter(|r| r.state == RECORD_COMPLETE).collect();
        assert_eq!(complete.len(), 1, "one wait expires, the others see that it did: {records:?}");
        assert_eq!(records.iter().filter(|r| r.state == RECORD_EMPTY).count(), 2);
        let record = complete[0];
        assert_eq!(record.cause, Cause::Deadline as u32);
        assert_eq!(record.operation, Operation::WaitUntil as u32);
        assert_eq!((record.seen, record.ticket, record.launch), (0, 0, 1));
        assert_eq!(record.peer, record.pe);
        assert_eq!(record.thread, [0; 3]);
        assert!(record.offset == DATA + 8 && record.expected == 42 || record.offset == DATA + 16);
        assert!(job.alarmed());
    }
}

#[test]
fn the_wait_that_began_first_is_the_one_that_expires() {
    // On one device, where the order of events is fixed.
    let job = Job::new(2, MachineConfig::default()).with_deadline(HOUR);
    job.launch(0, (1, 1), |shmem| {
        shmem.thread().signal(signal(24), SignalOp::Set(1), 1);
        shmem.thread().wait_until(signal(8), Cmp::Eq, 7);
    });
    job.launch(1, (3, 128), |shmem| {
        shmem.block().wait_until(signal(24), Cmp::Eq, 1);
        for _ in 0..200 {
            shmem.block().sync();
        }
        shmem.block().wait_until(signal(16), Cmp::Eq, 9);
    });
    assert!(job.outcomes().iter().all(Result::is_ok));
    assert_eq!((job.record(0).state, job.record(1).state), (RECORD_COMPLETE, RECORD_EMPTY));
    assert_eq!((job.record(0).expected, job.record(0).block), (7, [0; 3]));
}

#[test]
fn a_livelock_does_not_stop_the_clock() {
    for devices in [1, 2] {
        let job = Job::new(2, MachineConfig { devices, ..MachineConfig::default() }).with_deadline(100_000);
        job.launch(0, (1, 1), |shmem| shmem.thread().wait_until(signal(8), Cmp::Eq, 1));
        job.launch(1, (1, 1), |shmem| {
            let abort = shmem.local(slice::<u64>(0, 1));
            while !shmem.thread().test(signal(8), Cmp::Eq, 1) && abort.get(0) == 0 {
                if shmem.thread().signal_fetch(signal(16)) != 0 {
                    return;
                }
            }
        });
        // PE 1 spins until the host ends it.
        job.pes[0].stream.synchronize().expect("PE 0");
        assert_eq!(job.record(0).state, RECORD_COMPLETE);
        assert_eq!(job.record(1).state, RECORD_EMPTY);
        let spin = job.pes[1].heap + DATA;
        // SAFETY: a word of the heap, accessed atomically by all.
        unsafe {
            (*(spin as *const std::sync::atomic::AtomicU64)).store(1, std::sync::atomic::Ordering::Release)
        };
        job.machine.memory_changed();
        job.finish();
    }
}

#[test]
fn blocks_that_wait_for_a_block_that_never_starts_are_bounded() {
    let config = MachineConfig { sms: 1, blocks_per_sm: 1, ..MachineConfig::default() };
    let job = Job::new(1, config).with_deadline(HOUR);
    let mut launch = job.kernel(0, (2, 32), |shmem| {
        let block = shmem.block();
        block.signal(signal(8 * u64::from(thread::block())), SignalOp::Set(1), 0);
        block.wait_until(signal(8 * u64::from(1 - thread::block())), Cmp::Eq, 1);
    });
    // Not declared as collective, so that the launch does not refuse it.
    launch.collective = false;
    job.pes[0].stream.launch(launch).expect("a launch");
    job.finish();
    assert_eq!(job.record(0).state, RECORD_COMPLETE);
    assert_eq!((job.record(0).expected, job.record(0).block), (1, [0; 3]));
}

#[test]
fn a_host_thread_that_will_still_launch_holds_the_clock_back() {
    let job = Job::devices(2).with_deadline(1000);
    job.launch(0, (1, 32), |shmem| shmem.block().wait_until(signal(8), Cmp::Eq, 1));
    std::thread::sleep(Duration::from_millis(300));
    job.launch(1, (1, 32), |shmem| shmem.block().signal(signal(8), SignalOp::Set(1), 0));
    job.finish();
    assert_eq!(job.record(0).state, RECORD_EMPTY);
}

#[test]
fn a_host_thread_that_only_polls_does_not_hold_the_clock_for_ever() {
    let job = Job::devices(1).with_deadline(1000);
    job.launch(0, (1, 32), |shmem| shmem.block().wait_until(signal(8), Cmp::Eq, 1));
    let start = Instant::now();
    while !job.pes[0].stream.is_idle() {
        job.host.tick();
        std::thread::yield_now();
        assert!(start.elapsed() < Duration::from_secs(20), "the clock stands");
    }
    assert_eq!(job.record(0).state, RECORD_COMPLETE);
}

#[test]
fn a_host_thread_that_is_stuck_is_given_up_after_a_while() {
    let config = MachineConfig { host_patience: Duration::from_millis(100), ..MachineConfig::default() };
    let job = Job::new(1, config).with_deadline(1000);
    job.launch(0, (1, 32), |shmem| shmem.block().wait_until(signal(8), Cmp::Eq, 1));
    let start = Instant::now();
    while !job.pes[0].stream.is_idle() {
        std::thread::yield_now();
        assert!(start.elapsed() < Duration::from_secs(20), "the clock stands");
    }
    assert_eq!(job.record(0).state, RECORD_COMPLETE);
}

#[test]
fn a_blocked_host_thread_lets_the_wait_expire_after_the_grace() {
    let job = Job::devices(1).with_deadline(1000);
    job.launch(0, (1, 32), |shmem| shmem.block().wait_until(signal(8), Cmp::Eq, 1));
    job.host.blocked(|| {
        while !job.pes[0].stream.is_idle() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(job.record(0).state, RECORD_COMPLETE);
}

#[test]
fn a_grid_barrier_that_a_block_never_reaches_expires() {
    let job = Job::devices(1).with_deadline(HOUR);
    job.launch(0, (4, 32), |shmem| {
        if thread::block() != 2 {
            shmem.grid().sync();
        }
    });
    job.finish();
    assert_eq!((job.record(0).state, job.record(0).operation), (RECORD_COMPLETE, Operation::GridSync as u32));
}

#[test]
fn a_group_of_warps_of_which_one_does_not_come_expires() {
    let job = Job::devices(1).with_deadline(HOUR);
    job.launch(0, (1, 128), |shmem| {
        let warps = shmem.warps(2);
        // The first two warps are a group, and the last two; of the latter one stays away.
        if thread::in_block() < 96 {
            warps.sync();
        }
    });
    job.finish();
    let record = job.record(0);
    assert_eq!((record.state, record.operation), (RECORD_COMPLETE, Operation::WarpsSync as u32));
    assert_eq!((record.expected, record.seen), (2, 1));
}
