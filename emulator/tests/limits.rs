//! What is too much is refused with a typed error; what is much but allowed works.

mod common;

use common::{DATA, Job, slice};
use oxshmem_device::prelude::*;
use oxshmem_emulator::{Error, GRANULARITY, Launch, Machine, MachineConfig, Physical};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn refused(change: impl FnOnce(&mut Launch)) -> Error {
    let job = Job::devices(1);
    let mut launch = job.kernel(0, (1, 1), |_| ());
    change(&mut launch);
    job.pes[0].stream.launch(launch).expect_err("a launch that no device takes")
}

#[test]
fn launches_that_no_device_takes_are_refused() {
    assert!(matches!(refused(|l| l.grid[1] = 0), Error::EmptyLaunch { grid: [1, 0, 1], .. }));
    assert!(matches!(refused(|l| l.block[2] = 0), Error::EmptyLaunch { block: [1, 1, 0], .. }));
    let error = refused(|l| l.block = [32, 33, 1]);
    assert!(matches!(error, Error::BlockTooLarge { threads: 1056, limit: 1024, .. }), "{error}");
    let error = refused(|l| l.block = [u32::MAX; 3]);
    assert!(matches!(error, Error::BlockTooLarge { threads: u64::MAX, .. }), "{error}");
    let error = refused(|l| l.grid = [1, 65536, 1]);
    assert!(matches!(error, Error::GridTooLarge { limit: [0x7fff_ffff, 65535, 65535], .. }), "{error}");
    let error = refused(|l| l.shared_bytes = 227 * 1024 + 1);
    assert!(matches!(error, Error::SharedTooLarge { limit: 232_448, .. }), "{error}");
}

#[test]
fn a_collective_launch_beyond_residency_is_refused() {
    let job = Job::devices(1);
    let available = job.pes[0].device.active_blocks(1024, 0);
    assert_eq!(available, 8);
    job.launch(0, (available, 1024), |shmem| shmem.grid().sync());
    job.finish();
    let error = job.pes[0].stream.launch(job.kernel(0, (available + 1, 1024), |_| ())).expect_err("too many");
    assert!(matches!(error, Error::NotResident { needed: 9, available: 8, threads: 1024, .. }), "{error}");
    assert!(error.to_string().contains("9 blocks of 1024 threads"), "{error}");
}

#[test]
fn a_launch_beyond_the_stacks_of_the_process_is_refused() {
    // As many threads as no process has maps for.
    let config = MachineConfig { sms: 4096, threads_per_sm: 2048, ..MachineConfig::default() };
    let job = Job::new(1, config);
    let launch = job.kernel(0, (8192, 1024), |_| ());
    let error = job.pes[0].stream.launch(launch).expect_err("too many threads");
    let Error::TooManyThreads { asked, limit, .. } = error else { panic!("{error}") };
    assert_eq!(asked, 8192 * 1024);
    assert!(limit > 1024 && limit < asked);
}

#[test]
fn a_grid_of_a_hundred_thousand_blocks_runs() {
    let job = Job::devices(1);
    let sum = Arc::new(AtomicU64::new(0));
    let count = sum.clone();
    let mut launch = job.kernel(0, (100_000, 2), move |shmem| {
        shmem.block().sync();
        count.fetch_add(thread::in_grid(), Ordering::Relaxed);
    });
    launch.collective = false;
    job.pes[0].stream.launch(launch).expect("a launch");
    job.finish();
    let n = 200_000;
    assert_eq!(sum.load(Ordering::Relaxed), n * (n - 1) / 2);
    assert_eq!(job.pes[0].device.statistics().blocks, 100_000);
}

#[test]
fn three_dimensions_are_counted_x_first() {
    let job = Job::devices(1);
    let seen = Arc::new(AtomicU64::new(0));
    let count = seen.clone();
    let mut launch = job.kernel(0, (1, 1), move |_| {
        assert_eq!((thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z()), (2, 3, 5));
        assert_eq!((thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z()), (4, 3, 2));
        let block = thread::block_idx_x() + 2 * (thread::block_idx_y() + 3 * thread::block_idx_z());
        let thread = thread::idx_x() + 4 * (thread::idx_y() + 3 * thread::idx_z());
        assert_eq!((thread::block(), thread::in_block()), (block, thread));
        count.fetch_add(1 + thread::in_grid(), Ordering::Relaxed);
    });
    (launch.grid, launch.block) = ([2, 3, 5], [4, 3, 2]);
    job.pes[0].stream.launch(launch).expect("a launch");
    job.finish();
    assert_eq!(seen.load(Ordering::Relaxed), 720 * 721 / 2);
}

#[test]
fn device_memory_is_counted() {
    let machine =
        Machine::new(MachineConfig { memory_per_device: Some(10 << 20), ..MachineConfig::default() })
            .expect("a machine");
    let device = machine.device(0).expect("device 0");
    let error = device.create(11 << 20).expect_err("more than there is");
    let (asked, free, total) = (12 << 20, 10 << 20, 10 << 20);
    assert_eq!(error, Error::OutOfMemory { device: 0, asked, free, total });
    let a = device.create(5 << 20).expect("6 MiB");
    let b = device.allocate(1).expect("2 MiB");
    assert_eq!((a.bytes(), b.bytes(), device.memory()), (6 << 20, GRANULARITY, (2 << 20, 10 << 20)));
    assert!(matches!(device.allocate(3 << 20), Err(Error::OutOfMemory { free: 0x20_0000, .. })));
    // A mapping keeps the memory.
    let range = machine.reserve(64 << 20).expect("addresses");
    range.map(0, &a).expect("a mapping");
    drop((a, b));
    assert_eq!(device.memory().0, 4 << 20);
    range.unmap(0, 6 << 20).expect("unmapping");
    assert_eq!(device.memory().0, 10 << 20);
    assert!(matches!(device.create(0), Err(Error::System { .. })));
    assert!(matches!(machine.device(1), Err(Error::NoDevice { asked: 1, devices: 1 })));
}

#[test]
fn mappings_that_do_not_fit_are_refused() {
    let machine = Machine::new(MachineConfig::default()).expect("a machine");
    let memory = machine.device(0).and_then(|d| d.create(4 << 20)).expect("memory");
    let range = machine.reserve(8 << 20).expect("addresses");
    assert_eq!(range.address() % GRANULARITY, 0);
    range.map(2 << 20, &memory).expect("a mapping");
    for offset in [0, 4 << 20, 2 << 20, 6 << 20, 1, u64::MAX - GRANULARITY + 1] {
        assert!(matches!(range.map(offset, &memory), Err(Error::Mapping { .. })), "offset {offset}");
    }
    for (offset, bytes) in [(0, 2 << 20), (2 << 20, 2 << 20), (0, 8 << 20), (4 << 20, 2 << 20), (0, 0)] {
        assert!(matches!(range.unmap(offset, bytes), Err(Error::Mapping { .. })), "{bytes} at {offset}");
    }
    range.unmap(2 << 20, 4 << 20).expect("unmapping");
    range.map(4 << 20, &memory).expect("a mapping where there was one");
}

#[test]
fn memory_that_another_process_sent_can_be_mapped() {
    let job = Job::devices(1);
    let memory = job.pes[0].device.create(2 << 20).expect("memory");
    let sent =
        Physical::import(memory.as_fd().try_clone_to_owned().expect("a descriptor")).expect("an import");
    assert_eq!((sent.bytes(), sent.device(), memory.device()), (2 << 20, None, Some(0)));
    let range = job.machine.reserve(4 << 20).expect("addresses");
    range.map(0, &memory).expect("a mapping");
    range.map(2 << 20, &sent).expect("a second view");
    let (one, two) = (range.address(), range.address() + (2 << 20));
    job.launch(0, (1, 1), move |shmem| {
        // SAFETY: both are mapped while the kernel runs.
        let (one, two) =
            unsafe { (Global::<[u64]>::from_parts(one, 1), Global::<[u64]>::from_parts(two, 1)) };
        shmem.local(one).set(0, 77);
        assert_eq!(shmem.local(two).get(0), 77);
    });
    job.finish();
}

#[test]
fn dropping_the_machine_unwinds_what_runs() {
    let Job { machine, pes, host, shared: _shared, .. } = {
        let job = Job::devices(2);
        job.launch(0, (1, 32), |shmem| while !shmem.block().test(common::signal(8), Cmp::Eq, 1) {});
        job.launch(1, (1, 32), |shmem| shmem.local(slice::<u64>(0, 1)).set(0, 1));
        job.pes[1].stream.synchronize().expect("PE 1");
        assert_eq!(job.peek(1, DATA), 1);
        job
    };
    drop((machine, host));
    assert!(matches!(pes[0].stream.synchronize(), Err(Error::Stopped { device: 0, .. })));
}

#[test]
fn a_machine_that_is_stopped_lives_on_and_nobody_waits_for_it() {
    let job = Job::devices(1);
    job.launch(0, (1, 32), |shmem| while !shmem.block().test(common::signal(8), Cmp::Eq, 1) {});
    let stream = &job.pes[0].stream;
    let moment = std::time::Duration::from_millis(20);
    assert_eq!(stream.synchronize_for(moment), Ok(false), "the kernel looks for ever");
    job.machine.stop();
    assert!(matches!(stream.synchronize(), Err(Error::Stopped { device: 0, .. })));
    assert_eq!(job.peek(0, DATA), 0, "memory stays");
    assert_eq!(stream.synchronize_for(moment), Ok(true));
}

#[test]
fn configurations_that_no_machine_can_have_are_refused() {
    for (config, name) in [
        (MachineConfig { devices: 0, ..MachineConfig::default() }, "devices"),
        (MachineConfig { sms: 0, ..MachineConfig::default() }, "sms"),
        (MachineConfig { threads_per_sm: 16, ..MachineConfig::default() }, "threads_per_sm"),
    ] {
        assert!(matches!(Machine::new(config), Err(Error::Config { field, .. }) if field == name), "{name}");
    }
}

const fn shareable<T: Send + Sync>() {}
const _: () = {
    shareable::<Machine>();
    shareable::<oxshmem_emulator::Device>();
    shareable::<oxshmem_emulator::Stream>();
    shareable::<oxshmem_emulator::Reservation>();
    shareable::<Physical>();
    shareable::<Error>();
};
