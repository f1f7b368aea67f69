//! Strides and counts that no memory has.

mod common;

use common::{DATA, Job, slice};
use oxshmem_device::abi::{Cause, Operation};
use oxshmem_device::prelude::*;

#[test]
fn a_stride_that_no_element_uses_may_be_anything() {
    let job = Job::devices(2);
    job.launch(0, (1, 64), |shmem| {
        let (source, target) = (slice::<u64>(0, 8), slice::<u64>(800, 8));
        if thread::in_block() == 0 {
            shmem.local(source).set(0, 42);
        }
        for (stride, count) in [(u64::MAX, 1), (1 << 62, 1), (u64::MAX, 0), (0, 0)] {
            shmem.block().iput(target, source, stride, stride, count, 1);
            shmem.block().iget(source, target, stride, stride, count, 1);
        }
    });
    job.finish();
    assert_eq!([job.peek(1, DATA + 800), job.peek(1, DATA + 808), job.peek(0, DATA)], [42, 0, 42]);
}

#[test]
fn strides_and_counts_beyond_the_memory_are_refused() {
    // What the put sees at its target comes first; what the get does, whose stride of 1 is looked at first.
    for (stride, count, cause, of_put, of_get) in [
        (0, 2, Cause::Zero, 0, 0),
        (1, 9, Cause::IndexOutOfRange, 8, 8),
        (1, u64::MAX, Cause::IndexOutOfRange, u64::MAX - 1, u64::MAX - 1),
        (1 << 62, 1 << 62, Cause::IndexOutOfRange, u64::MAX, (1 << 62) - 1),
    ] {
        for (put, seen) in [(true, of_put), (false, of_get)] {
            let job = Job::devices(2);
            job.launch(0, (1, 32), move |shmem| {
                let (here, there) = (slice::<u64>(0, 8), slice::<u64>(800, 8));
                if put {
                    shmem.warp().iput(there, here, stride, 1, count, 1);
                } else {
                    shmem.warp().iget_nbi(here, there, 1, stride, count, 1);
                }
                unreachable!("the kernel has ended");
            });
            job.finish();
            let record = job.record(0);
            let operation = if put { Operation::Iput } else { Operation::IgetNbi };
            assert_eq!(
                (record.cause, record.operation),
                (cause as u32, operation as u32),
                "{stride} {count}"
            );
            assert_eq!((record.peer, record.seen), (1, seen), "{stride} {count}");
        }
    }
}

#[test]
fn groups_of_no_warps_are_refused() {
    let job = Job::devices(1);
    job.launch(0, (1, 64), |shmem| {
        shmem.warps(0);
        unreachable!("the kernel has ended");
    });
    job.finish();
    let record = job.record(0);
    assert_eq!((record.cause, record.operation), (Cause::Zero as u32, Operation::WarpsSync as u32));
}
