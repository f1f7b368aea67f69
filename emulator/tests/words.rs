//! Words and pointers of a PE that is not reached by loads and stores.

mod common;

use common::{DATA, Job, slice};
use oxshmem_device::abi::{Cause, Operation, RECORD_COMPLETE};
use oxshmem_device::prelude::*;

#[test]
fn an_atomic_on_a_pe_without_a_path_is_refused() {
    for reach in [Reach::Node, Reach::World] {
        let job = Job::devices(2);
        job.cut(1);
        job.launch(0, (1, 1), move |shmem| {
            // SAFETY: a word of the data area of every heap.
            let word: Sym<Atomic<u64>> = unsafe { Sym::from_parts(DATA + 64, (), reach) };
            shmem.thread().atomic_add(word, 1, 0);
            shmem.thread().atomic_add(word, 1, 1);
        });
        let _ = job.outcomes();
        let record = job.record(0);
        let found = (record.state, record.cause, record.operation, record.peer, record.offset);
        let expected = (RECORD_COMPLETE, Cause::NoPath as u32, Operation::Atomic as u32, 1, DATA + 64);
        assert_eq!(found, expected, "{reach:?}");
        assert_eq!((job.peek(0, DATA + 64), job.peek(1, DATA + 64)), (1, 0), "{reach:?}");
    }
}

#[test]
fn a_pe_without_a_path_has_no_pointer() {
    let job = Job::devices(2);
    job.cut(1);
    job.launch(0, (1, 1), |shmem| {
        let data = slice::<u64>(0, 4);
        assert!(shmem.ptr(data, 1).is_none());
        shmem.ptr(data.at(2), 0).expect("the own copy").store(7);
    });
    job.finish();
    assert_eq!(job.peek(0, DATA + 16), 7);
}
