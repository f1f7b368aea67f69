//! What a launch checks before anything runs, and streams, on the emulator.

mod common;

use common::*;
use oxshmem::{Error, LaunchConfig, Reach};
use oxshmem_emulator::MachineConfig;
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

#[test]
fn shapes_that_cannot_run_are_errors() {
    alone(|shmem| {
        let v = shmem.alloc_zeroed::<u32>(1)?;
        for (config, part) in [
            (LaunchConfig::blocks(0), "no dimension may be 0"),
            (LaunchConfig::grid(1, 0, 1), "no dimension may be 0"),
            (ONE.threads(0), "no dimension may be 0"),
            (ONE.threads(1025), "1025 threads per block"),
            (ONE.block_dims(1024, 1024, 1024), "threads per block"),
            (ONE.block_dims(1, 1, 65), "exceeds"),
            (LaunchConfig::grid(1, 65536, 1), "exceeds"),
            (LaunchConfig::grid(1 << 17, 1 << 15, 1), "has 4294967296 blocks; a launch may have 4294967295"),
            (ONE.extra_shared(228 * 1024), "bytes of shared memory"),
            (ONE.extra_shared(u32::MAX), "bytes of shared memory"),
        ] {
            let error = error(touch::launch(shmem, config, &v));
            assert!(matches!(error, Error::LaunchShape { .. }), "{error}");
            says(error, &["touch", part]);
        }
        says(error(blocks_of_64::launch(shmem, ONE.threads(32), 1)), &["blocks of 64 threads, not 32"]);
        says(error(blocks_up_to_64::launch(shmem, ONE.threads(65), 1)), &["at most 64 threads, not 65"]);
        blocks_up_to_64::launch(shmem, ONE.threads(64), 1)?;
        blocks_up_to_64::launch(shmem, ONE.threads(3), 1)?;
        blocks_of_64::launch(shmem, ONE.block_dims(8, 8, 1), 1)
    });
}

/// A handle carries its allocation's tag: the same offset, alive again as something else, is not the same memory.
#[test]
fn a_handle_whose_offset_lives_again_is_an_error() {
    let kept = Mutex::new(None);
    emulated(1)
        .run(|shmem| {
            *kept.lock().unwrap() = Some(shmem.alloc_zeroed::<u32>(64)?);
            Ok(())
        })
        .unwrap();
    let of_another_run = kept.into_inner().unwrap().unwrap();
    alone(|shmem| {
        let v = shmem.alloc_zeroed::<u32>(64)?;
        assert_eq!(v.handle().offset(), of_another_run.handle().offset());
        says(error(touch::launch(shmem, ONE, &of_another_run)), &["touch", "another run"]);
        let stale = v.handle();
        shmem.free(v)?;
        let signals = shmem.alloc_signals(32)?;
        assert_eq!(signals.handle().offset(), stale.offset());
        says(error(touch::launch(shmem, ONE, stale)), &["touch", "dropped or freed"]);
        assert_eq!(signals.values()?, [0; 32]);
        set_signal::launch(shmem, ONE, signals.at(31), 5, 0)?;
        shmem.barrier_all()?;
        assert_eq!(signals.values()?[31], 5);
        Ok(())
    });
}

#[test]
fn a_handle_that_names_nothing_is_an_error() {
    let escaped = Mutex::new(None);
    emulated(1)
        .run(|shmem| {
            let v = shmem.alloc_zeroed::<u32>(4096)?;
            *escaped.lock().unwrap() = Some(v.handle());
            Ok(())
        })
        .unwrap();
    let foreign = escaped.into_inner().unwrap().unwrap();
    alone(|shmem| {
        let v = shmem.alloc_zeroed::<u32>(10)?;
        let of = |error: Error| {
            assert!(matches!(error, Error::BadHandle { parameter: 0, .. }), "{error}");
            error.to_string()
        };
        says(of(error(touch::launch(shmem, ONE, foreign))), &["touch", "parameter 0", "another run"]);
        says(of(error(touch::launch(shmem, ONE, v.slice(5, 6)))), &["index out of range"]);
        let signals = shmem.alloc_signals(2)?;
        says(of(error(wait_for::launch(shmem, ONE, signals.at(2), 1))), &["index out of range"]);
        touch::launch(shmem, ONE, v.slice(5, 5))?;
        let stale = v.handle();
        drop(v);
        says(of(error(touch::launch(shmem, ONE, stale))), &["dropped or freed"]);
        let local = shmem.device_zeroed::<u32>(4)?;
        let stale = local.handle();
        add_one::launch(shmem, ONE, &local)?;
        drop(local);
        says(of(error(add_one::launch(shmem, ONE, stale))), &["local device memory", "dropped"]);
        Ok(())
    });
}

#[test]
fn local_memory_of_another_pe_is_an_error() {
    let first = Mutex::new(None);
    emulated(2)
        .run(|shmem| {
            let local = shmem.device_zeroed::<u32>(4)?;
            if shmem.my_pe() == 0 {
                *first.lock().unwrap() = Some(local.handle());
            }
            shmem.barrier_all()?;
            if shmem.my_pe() == 1 {
                let foreign = first.lock().unwrap().unwrap();
                says(error(add_one::launch(&shmem, ONE, foreign)), &["belongs to another PE"]);
            }
            shmem.barrier_all()
        })
        .unwrap();
}

/// Two multiprocessors with room for two blocks of 1024 threads each.
fn small() -> MachineConfig {
    MachineConfig {
        sms: 2,
        threads_per_sm: 2048,
        memory_per_device: Some(64 << 20),
        ..MachineConfig::default()
    }
}

#[test]
fn a_collective_launch_must_fit_beside_the_other_pes_of_its_device() {
    emulated(2)
        .emulated(small())
        .run(|shmem| {
            let met = shmem.alloc_zeroed::<u32>(1)?;
            assert_eq!(shmem.resident_blocks::<meet>(1024)?, 2);
            meet::launch(&shmem, LaunchConfig::blocks(2).threads(1024), &met)?;
            let error = error(meet::launch(&shmem, LaunchConfig::blocks(3).threads(1024), &met));
            let Error::NotCoResident { needed: 3, available: 2, device_blocks: 4, held: 0, .. } = error
            else {
                panic!("{error}")
            };
            says(error, &["meet", "needs 3", "2 are available", "2 per multiprocessor x 2", "2 PE(s)"]);
            shmem.barrier_all()?;
            assert_eq!(met.read()?, [1]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_an_unfinished_launch_holds_counts_until_it_is_over() {
    emulated(1)
        .emulated(small())
        .run(|shmem| {
            let (met, go) = (shmem.alloc_zeroed::<u32>(1)?, shmem.alloc_signals(1)?);
            let (stream, other) = (shmem.stream()?, shmem.stream()?);
            let three = LaunchConfig::blocks(3).threads(1024);
            wait_for::launch_on(&shmem, &stream, three, go.at(0), 1)?;
            assert!(!stream.is_idle()?);
            let error = error(meet::launch_on(&shmem, &other, LaunchConfig::blocks(2).threads(1024), &met));
            let Error::NotCoResident { needed: 2, available: 1, held: 3, .. } = error else {
                panic!("{error}")
            };
            // On the same stream it starts only when the other is over; smaller blocks count in proportion.
            meet::launch_on(&shmem, &stream, three, &met)?;
            assert_eq!(shmem.resident_blocks::<meet>(512)?, 8 - 3 * 2);
            set_signal::launch(&shmem, ONE, go.at(0), 1, 0)?;
            stream.synchronize()?;
            assert!(stream.is_idle()?);
            meet::launch_on(&shmem, &other, LaunchConfig::blocks(2).threads(1024), &met)?;
            shmem.synchronize()?;
            assert_eq!(met.read()?, [2]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_other_pes_of_the_device_hold_counts_whatever_the_kernel() {
    let (launched, looked) = (Barrier::new(2), Barrier::new(2));
    emulated(2)
        .emulated_devices(1)
        .run(|shmem| {
            let go = shmem.alloc_signals(1)?;
            // Each of 32 small blocks may stand on a multiprocessor of which the large one needs all.
            let small = LaunchConfig::blocks(32).threads(32);
            let large = ONE.threads(32).extra_shared(230_000);
            if shmem.my_pe() == 0 {
                wait_for::launch(&shmem, small, go.at(0), 1)?;
                launched.wait();
                looked.wait();
                return shmem.barrier_all();
            }
            launched.wait();
            let error = error(wait_for::launch(&shmem, large, go.at(0), 0));
            let Error::NotCoResident { needed: 1, available: 0, device_blocks: 2, held: 0, .. } = error
            else {
                panic!("{error}")
            };
            says(
                error,
                &[
                    "wait_for needs 1 resident blocks, 0 are available",
                    "1 per multiprocessor x 2 multiprocessors = 2, divided by 2 PE(s) = 1, less 0",
                    "less 32 held by other PEs of the device",
                    "not known to be over",
                ],
            );
            assert_eq!(shmem.resident_blocks::<wait_for>(32)?, 32, "of 64 of its own kind");
            wait_for::launch(&shmem, small, go.at(0), 0)?;
            // PE 0's launch ends, and PE 0 does not look.
            set_signal::launch(&shmem, ONE, go.at(0), 1, 0)?;
            shmem.synchronize()?;
            let start = Instant::now();
            while let Err(error) = wait_for::launch(&shmem, large, go.at(0), 0) {
                assert!(start.elapsed() < Duration::from_secs(20), "{error}");
                std::thread::yield_now();
            }
            looked.wait();
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn equal_halves_of_a_device_fit_in_any_order() {
    for first in [0, 1] {
        let launched = Barrier::new(2);
        // A little more than the halves fill, so that the signals can be set.
        let machine = MachineConfig { threads_per_sm: 2048 + 32, ..small() };
        emulated(2)
            .emulated(machine)
            .run(|shmem| {
                let go = shmem.alloc_signals(1)?;
                let half = LaunchConfig::blocks(2).threads(1024);
                if shmem.my_pe() != first {
                    launched.wait();
                }
                wait_for::launch(&shmem, half, go.at(0), 1)?;
                if shmem.my_pe() == first {
                    launched.wait();
                }
                let other = shmem.stream()?;
                let more = error(wait_for::launch_on(&shmem, &other, ONE.threads(1024), go.at(0), 1));
                assert!(matches!(more, Error::NotCoResident { available: 0, .. }), "{more}");
                set_signal::launch_on(&shmem, &other, ONE.threads(1), go.at(0), 1, shmem.my_pe())?;
                shmem.barrier_all()
            })
            .unwrap();
    }
}

#[test]
fn two_streams_run_side_by_side_each_with_its_own_grid_barrier() {
    emulated(2)
        .run(|shmem| {
            let (a, b) = (shmem.stream()?, shmem.stream()?);
            let (first, second) = (shmem.alloc_signals(1)?, shmem.alloc_signals(1)?);
            let (met, met_too) = (shmem.alloc_zeroed::<u32>(1)?, shmem.alloc_zeroed::<u32>(1)?);
            // Each waits for what the other stream's later launch does.
            wait_for::launch_on(&shmem, &a, ONE.threads(32), first.at(0), 1)?;
            set_signal::launch_on(&shmem, &b, ONE, first.at(0), 1, shmem.my_pe())?;
            wait_for::launch_on(&shmem, &b, ONE.threads(32), second.at(0), 1)?;
            set_signal::launch_on(&shmem, &a, ONE, second.at(0), 1, shmem.my_pe())?;
            for _ in 0..10 {
                meet::launch_on(&shmem, &a, LaunchConfig::blocks(4).threads(32), &met)?;
                meet::launch_on(&shmem, &b, LaunchConfig::blocks(3).threads(32), &met_too)?;
            }
            shmem.barrier_all()?;
            assert_eq!((met.read()?, met_too.read()?), (vec![10], vec![10]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_event_is_done_when_what_came_before_it_is_over() {
    alone(|shmem| {
        let (go, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
        let start = stream.record()?;
        wait_for::launch_on(shmem, &stream, ONE, go.at(0), 1)?;
        let end = stream.record()?;
        start.synchronize()?;
        assert!(start.is_done()? && !end.is_done()?);
        says(error(end.elapsed_since(&start)), &["when both are done"]);
        set_signal::launch(shmem, ONE, go.at(0), 1, 0)?;
        end.synchronize()?;
        assert!(end.is_done()? && end.elapsed_since(&start)?.as_nanos() > 0);
        panics::launch_on(shmem, &stream, ONE, 0)?;
        let reached = stream.record().and_then(|event| event.synchronize());
        assert!(matches!(error(reached), Error::KernelFailed(_)));
        shmem.recover()?;
        stream.record()?.synchronize()
    });
}

#[test]
fn streams_are_limited_and_their_places_return() {
    alone(|shmem| {
        let mut streams: Vec<_> = (1..256).map(|_| shmem.stream()).collect::<Result<_, _>>()?;
        assert!(matches!(error(shmem.stream()), Error::TooManyStreams { limit: 256 }));
        streams.truncate(250);
        shmem.stream().map(drop)
    });
}

#[test]
fn atomics_of_all_pes_add_up() {
    emulated(4)
        .emulated_devices(3)
        .run(|shmem| {
            let word = shmem.alloc_atomics::<u32>(1, Reach::World)?;
            for _ in 0..5 {
                add_everywhere::launch(&shmem, ONE.threads(32), word.at(0), shmem.my_pe() + 1)?;
            }
            shmem.barrier_all()?;
            assert_eq!(word.values()?, [5 * (1 + 2 + 3 + 4)]);
            Ok(())
        })
        .unwrap();
}
