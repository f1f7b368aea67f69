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
