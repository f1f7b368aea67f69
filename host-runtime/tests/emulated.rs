//! Kernels on the emulated GPU: what a program sees when all goes well.

mod common;

use common::{add_one, emulated, ring_shift};
use oxshmem::LaunchConfig;

#[test]
fn every_pe_gets_its_left_neighbours_data() {
    for (pes, devices) in [(1, 1), (2, 2), (8, 8), (8, 1), (5, 2)] {
        let received = emulated(pes)
            .emulated_devices(devices)
            .run(|shmem| {
                let me = shmem.my_pe();
                let src = shmem.alloc_from_fn(1000, |i| (me * 1000) as f32 + i as f32)?;
                let dst = shmem.alloc_zeroed::<f32>(1000)?;
                let ready = shmem.alloc_signals(1)?;
                let config = LaunchConfig::blocks(1).threads(64);
                ring_shift::launch(&shmem, config, &dst, &src, ready.at(0), 1)?;
                shmem.barrier_all()?;
                assert_eq!(ready.values()?, [1]);
                dst.read()
            })
            .unwrap();
        for (me, values) in (0..).zip(received) {
            let left = (me + pes - 1) % pes;
            assert!(values.iter().enumerate().all(|(i, &v)| v == (left * 1000) as f32 + i as f32), "PE {me}");
        }
    }
}

#[test]
fn launches_of_one_stream_run_in_order() {
    emulated(1)
        .run(|shmem| {
            let data = shmem.device_from_slice(&[1u32, 2, 3])?;
            for _ in 0..5 {
                add_one::launch(&shmem, LaunchConfig::blocks(1).threads(32), &data)?;
            }
            assert_eq!(data.read()?, [6, 7, 8]);
            Ok(())
        })
        .unwrap();
}
