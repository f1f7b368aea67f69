//! The process's coroutine stacks run out. Alone in its process, because all devices share them.

mod common;

use common::{Job, signal};
use oxshmem_device::prelude::*;
use oxshmem_emulator::{Error, MachineConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn launches_share_the_stacks_of_the_process() {
    // Room on the devices for far more threads than a process can have.
    let job = Job::new(
        2,
        MachineConfig { devices: 2, sms: 1 << 12, threads_per_sm: 2048, ..MachineConfig::default() },
    );
    let error = job.pes[0].stream.launch(job.kernel(0, (8192, 1024), |_| ())).expect_err("too many");
    let Error::TooManyThreads { limit, .. } = error else { panic!("{error}") };

    // PE 0 takes all but room for two blocks, and waits.
    let blocks = ((limit - 512) / 256) as u32;
    job.launch(0, (blocks, 256), |shmem| shmem.block().wait_until(signal(8), Cmp::Eq, 1));
    let error = job.pes[1].stream.launch(job.kernel(1, (8, 256), |_| ())).expect_err("too many");
    let Error::TooManyThreads { asked, in_use, .. } = error else { panic!("{error}") };
    assert_eq!((asked, in_use), (2048, u64::from(blocks) * 256));

    // A launch that need not be resident at once runs through the little room that is left.
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let mut launch = job.kernel(1, (40, 256), move |shmem| {
        shmem.block().sync();
        count.fetch_add(1, Ordering::Relaxed);
    });
    launch.collective = false;
    job.pes[1].stream.launch(launch).expect("a launch");
    job.pes[1].stream.synchronize().expect("PE 1");
    assert_eq!(ran.load(Ordering::Relaxed), 40 * 256);

    job.launch(1, (1, 1), |shmem| shmem.thread().signal(signal(8), SignalOp::Set(1), 0));
    job.finish();
    job.launch(1, (8, 256), |shmem| shmem.grid().sync());
    job.finish();
}
