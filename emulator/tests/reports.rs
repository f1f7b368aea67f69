//! A kernel's own mistakes end its launch with a typed report, and nothing else.

mod common;

use common::{DATA, Job, signal, slice};
use oxshmem_device::Global;
use oxshmem_device::abi::Operation;
use oxshmem_device::prelude::*;
use oxshmem_emulator::{Error, Problem};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_panic_is_reported_with_its_thread_and_last_operation() {
    let job = Job::devices(1);
    job.launch(0, (4, 64), |shmem| {
        shmem.block().quiet();
        if thread::block() == 2 && thread::in_block() == 37 {
            panic!("value {} is wrong", 5);
        }
        shmem.block().sync();
    });
    let error = job.pes[0].stream.synchronize().expect_err("a panic");
    let Error::KernelPanicked { site, message, location } = &error else { panic!("{error}") };
    assert_eq!((site.kernel, site.pe, site.block, site.thread), ("test_kernel", 0, [2, 0, 0], [37, 0, 0]));
    assert_eq!(message, "value 5 is wrong");
    assert!(location.contains("reports.rs:"), "{location}");
    let last = site.operation.expect("an operation");
    assert_eq!(last.operation, Operation::Quiet);
    assert!(last.location.file().ends_with("reports.rs"));
    assert!(error.to_string().contains("PE 0, block [2, 0, 0], thread [37, 0, 0]"), "{error}");
}

#[test]
fn a_failed_stream_runs_nothing_more_until_its_failure_is_taken() {
    let job = Job::devices(1);
    let ran = Arc::new(AtomicU32::new(0));
    let stream = &job.pes[0].stream;
    job.launch(0, (1, 32), |shmem| {
        (0..100).for_each(|_| shmem.block().sync());
        panic!("first");
    });
    let count = ran.clone();
    let behind = stream.launch(job.kernel(0, (1, 1), move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    assert!(behind.is_ok() || matches!(behind, Err(Error::KernelPanicked { .. })));
    while !stream.is_idle() {
        std::thread::yield_now();
    }
    let again = stream.launch(job.kernel(0, (1, 1), |_| ()));
    assert!(matches!(again, Err(Error::KernelPanicked { .. })));
    assert!(matches!(stream.synchronize(), Err(Error::KernelPanicked { .. })));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    stream.launch(job.kernel(0, (1, 1), |_| ())).expect("a new start");
    stream.synchronize().expect("a new start");
}

#[test]
fn a_panic_of_one_launch_leaves_the_others_alone() {
    let job = Job::devices(1);
    let other = job.pes[0].device.create_stream();
    other
        .launch(job.kernel(0, (4, 64), |shmem| {
            shmem.block().wait_until(signal(8), Cmp::Ge, 1);
            shmem.block().sync();
        }))
        .expect("a launch");
    job.launch(0, (4, 64), |shmem| {
        shmem.block().sync();
        assert!(thread::in_grid() != 77, "this one");
        shmem.block().sync();
    });
    assert!(job.pes[0].stream.synchronize().is_err());
    job.launch(0, (1, 1), |shmem| shmem.thread().signal(signal(8), SignalOp::Set(1), 0));
    job.finish();
    other.synchronize().expect("the other stream");
}

#[test]
fn a_wild_access_is_reported_and_not_a_crash() {
    for (address, bytes, problem) in [
        (0x10, 8, Problem::NotMapped),
        (0xdead_beef_0000, 8, Problem::NotMapped),
        (u64::MAX - 7, 8, Problem::NotMapped),
        (1 << 12 | 4, 8, Problem::Misaligned),
    ] {
        let job = Job::devices(1);
        job.launch(0, (2, 32), move |shmem| {
            if thread::in_grid() == 40 {
                shmem.thread().fence();
                // SAFETY: not kept, which is what the emulator must notice.
                let wild = unsafe { Global::<[u64]>::from_parts(address, 1) };
                shmem.local(wild).set(0, 1);
            }
            shmem.block().sync();
        });
        let error = job.pes[0].stream.synchronize().expect_err("a wild access");
        let Error::WildAccess { site, address: found, bytes: width, problem: what } = &error else {
            panic!("{error}")
        };
        assert_eq!((*found, *width, *what), (address, bytes, problem));
        assert_eq!((site.block, site.thread), ([1, 0, 0], [8, 0, 0]));
        assert_eq!(site.operation.map(|o| o.operation), Some(Operation::Fence));
    }
}

#[test]
fn the_end_of_a_mapping_is_the_end_of_what_may_be_accessed() {
    let job = Job::devices(1);
    job.launch(0, (1, 1), |shmem| {
        let beyond = slice::<u64>(common::HEAP - DATA - 8, 2);
        shmem.local(beyond).set(0, 1);
        shmem.local(beyond).set(1, 1);
    });
    let error = job.pes[0].stream.synchronize().expect_err("an access outside of the heap");
    let end = job.pes[0].heap + common::HEAP;
    assert!(matches!(error, Error::WildAccess { address, .. } if address == end), "{error}");
}

#[test]
fn threads_that_can_never_meet_are_reported() {
    let job = Job::devices(1);
    job.launch(0, (1, 64), |shmem| {
        if thread::in_block() < 7 {
            warp::sync();
        } else {
            shmem.block().sync();
        }
    });
    let error = job.pes[0].stream.synchronize().expect_err("divergence");
    let Error::Diverged { living, at_barrier, at_warp, .. } = error else { panic!("{error}") };
    assert_eq!((living, at_barrier, at_warp), (64, 57, 7));
}

/// Counts the drops of values that threads hold.
struct Held(Arc<AtomicU32>);
impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_threads_values_are_dropped_however_it_ends() {
    let drops = Arc::new(AtomicU32::new(0));
    let count = drops.clone();
    let job = Job::devices(1).with_deadline(1000);
    // One thread exits in a wait, one panics when that has happened, the rest are unwound at a barrier.
    job.launch(0, (1, 96), move |shmem| {
        let held = Held(count.clone());
        match thread::in_block() {
            0 => shmem.thread().wait_until(signal(8), Cmp::Eq, 1),
            1 => {
                while held.0.load(Ordering::Relaxed) == 0 {
                    shmem.thread().fence();
                }
                panic!("one thread");
            }
            _ => shmem.block().sync(),
        }
    });
    assert!(job.pes[0].stream.synchronize().is_err());
    assert_eq!(drops.load(Ordering::Relaxed), 96);
    // The closure and its counter are gone with the launch.
    assert_eq!(Arc::strong_count(&drops), 1);
}
