//! What happens when something goes wrong: every case ends in an error that says what, never in a hang.

mod common;

use common::*;
use oxshmem::{Error, Place};
use oxshmem_device::abi::{Cause, Operation};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[test]
fn a_pe_that_fails_ends_the_blocking_calls_of_the_others() {
    for call in ["barrier_all", "alloc", "synchronize", "recover", "free"] {
        let seen = Mutex::new(Vec::new());
        let start = Instant::now();
        let error = emulated(3)
            .run(|shmem| {
                let go = shmem.alloc_signals(1)?;
                let v = shmem.alloc_zeroed::<u8>(1)?;
                if shmem.my_pe() == 1 {
                    return Err(Error::other("the input is wrong"));
                }
                let result = match call {
                    "barrier_all" => shmem.barrier_all(),
                    "alloc" => shmem.alloc_zeroed::<u8>(1).map(drop),
                    "recover" => shmem.recover(),
                    "free" => shmem.free(v),
                    _ => {
                        // A kernel that waits for PE 1; it may also find the failure at once.
                        let launched = wait_for::launch(&shmem, ONE, go.at(0), 1);
                        launched.and_then(|()| shmem.synchronize())
                    }
                };
                seen.lock().unwrap().push(result.as_ref().unwrap_err().to_string());
                result
            })
            .unwrap_err();
        assert_eq!(error.to_string(), "the input is wrong");
        assert_eq!(seen.into_inner().unwrap(), ["PE 1 failed: the input is wrong"; 2], "{call}");
        assert!(start.elapsed() < Duration::from_secs(10), "{call}");
    }
}

#[test]
fn a_pe_that_panics_is_a_failed_pe() {
    let error = emulated(2)
        .run(|shmem| {
            if shmem.my_pe() == 0 {
                panic!("assertion number {}", 7);
            }
            let error = error(shmem.barrier_all());
            says(&error, &["PE 0 failed: PE 0 panicked: assertion number 7"]);
            Err::<(), _>(error)
        })
        .unwrap_err();
    assert!(matches!(error, Error::PePanicked { pe: 0, .. }), "{error}");
}

#[test]
fn a_kernel_that_runs_longer_than_the_limit_ends_the_run() {
    let start = Instant::now();
    let error = emulated(2)
        .kernel_limit(Duration::from_millis(300))
        .run(|shmem| {
            let never = shmem.alloc_signals(1)?;
            let stream = shmem.stream()?;
            if shmem.my_pe() == 1 {
                set_signal::launch(&shmem, ONE, never.at(0), 0, 1)?;
                looks_for_ever::launch_on(&shmem, &stream, ONE, never.at(0))?;
                looks_for_ever::launch_on(&shmem, &stream, ONE, never.at(0))?;
                assert!(matches!(error(stream.synchronize()), Error::StreamStuck { launch: 2, .. }));
                return Err::<(), _>(error(shmem.barrier_all()));
            }
            shmem.barrier_all()
        })
        .unwrap_err();
    assert!(matches!(error, Error::StreamStuck { pe: 1, launch: 2, stream: 1, .. }), "{error}");
    says(error, &["PE 1: kernel ", "looks_for_ever (launch 2)", "on stream 1", "OXSHMEM_KERNEL_LIMIT"]);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn the_kernel_that_is_stuck_is_named_and_one_that_follows_it_is_not() {
    emulated(1)
        .kernel_limit(Duration::from_millis(300))
        .run(|shmem| {
            let signals = shmem.alloc_signals(2)?;
            // An older stream in the same place, whose launch is over.
            let old = shmem.stream()?;
            set_signal::launch_on(&shmem, &old, ONE, signals.at(1), 1, 0)?;
            old.synchronize()?;
            drop(old);
            let stream = shmem.stream()?;
            looks_for_ever::launch_on(&shmem, &stream, ONE, signals.at(0))?;
            let stuck = error(stream.synchronize());
            assert!(matches!(stuck, Error::StreamStuck { launch: 2, .. }), "{stuck}");
            says(stuck, &["looks_for_ever (launch 2)"]);
            // It ends after all; what is launched after it has its own time.
            set_signal::launch(&shmem, ONE, signals.at(0), 1, 0)?;
            shmem.record()?.synchronize()?;
            std::thread::sleep(Duration::from_millis(350));
            set_signal::launch_on(&shmem, &stream, ONE, signals.at(1), 2, 0)?;
            stream.synchronize()
        })
        .unwrap();
}

#[test]
fn kernels_within_the_limit_are_not_counted_together() {
    emulated(1)
        .kernel_limit(Duration::from_secs(2))
        .run(|shmem| {
            let data = shmem.device_zeroed::<u32>(64)?;
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(3) {
                add_one::launch(&shmem, ONE.threads(64), &data)?;
                shmem.synchronize()?;
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_pe_that_returns_early_ends_the_wait_of_the_others() {
    let error =
        emulated(3).run(|shmem| if shmem.my_pe() == 2 { Ok(()) } else { shmem.barrier_all() }).unwrap_err();
    says(error, &["waits in barrier_all, but PE 2 already returned"]);
}

#[test]
fn a_wait_that_expires_poisons_all_pes_until_they_recover() {
    emulated(2)
        .deadline(Duration::from_secs(2))
        .run(|shmem| {
            let _other = shmem.alloc_zeroed::<u64>(7)?;
            let data = shmem.alloc_from_fn(10, |i| i as f32)?;
            let dst = shmem.alloc_zeroed::<f32>(10)?;
            let ready = shmem.alloc_signals(3)?;
            // PE 0 never sends round 1 to PE 1, and PE 1 sends it to PE 0.
            if shmem.my_pe() == 1 {
                ring_shift::launch(&shmem, ONE.threads(64), &dst, &data, ready.at(1), 1)?;
            }
            let error = error(shmem.barrier_all());
            let Error::Poisoned(failure) = &error else { panic!("{error}") };
            assert_eq!((failure.pe, failure.cause), (1, Cause::Deadline));
            assert_eq!(failure.operation, Operation::WaitReached);
            assert_eq!((failure.expected, failure.seen, failure.launch), (1, 0, 1));
            assert_eq!(failure.place, Place::Allocation { number: 3, holds: "u64 signal", element: 1 });
            says(
                &error,
                &[
                    "PE 1: wait_reached on signal at heap offset 0x",
                    "(allocation #3 \"u64 signal\", element 1): expected >= 1, seen 0; deadline 2 s expired; kernel ",
                    "ring_shift (launch 1), block (0,0,0), thread (0,0,0)",
                    "recover()",
                ],
            );
            // Sticky, for everything that would use the heap or the device.
            let again = ring_shift::launch(&shmem, ONE, &dst, &data, ready.at(0), 1);
            assert!(matches!(common::error(again), Error::Poisoned(_)));
            assert!(matches!(common::error(data.read()), Error::Poisoned(_)));
            assert!(matches!(common::error(shmem.alloc_zeroed::<u8>(1)), Error::Poisoned(_)));
            assert!(matches!(common::error(shmem.synchronize()), Error::Poisoned(_)));
            shmem.recover()?;
            assert_eq!(data.read()?[9], 9.0, "what was allocated is as before");
            for round in 1..4 {
                ring_shift::launch(&shmem, ONE.threads(64), &dst, &data, ready.at(0), round)?;
            }
            shmem.barrier_all()?;
            assert_eq!(dst.read()?[9], 9.0);
            shmem.recover()?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_pe_that_recovers_does_not_miss_one_that_waits_elsewhere() {
    for broken in [false, true] {
        emulated(3)
            .deadline(Duration::from_secs(1))
            .run(|shmem| {
                let ready = shmem.alloc_signals(1)?;
                if shmem.my_pe() == 0 {
                    if broken {
                        panics::launch(&shmem, ONE, 0)?;
                    } else {
                        wait_for::launch(&shmem, ONE, ready.at(0), 1)?;
                    }
                    error(shmem.synchronize());
                } else {
                    // These have no kernel and wait long before PE 0 fails, or come when it recovers.
                    let root = error(shmem.barrier_all()).root().clone();
                    assert!(matches!(root, Error::Poisoned(_) | Error::KernelFailed(_)), "{root}");
                }
                shmem.recover()?;
                shmem.barrier_all()
            })
            .unwrap();
    }
}

#[test]
fn what_was_dropped_is_not_lost_by_a_call_that_fails() {
    emulated(2)
        .deadline(Duration::from_secs(1))
        .run(|shmem| {
            let v = shmem.alloc_zeroed::<u32>(1000)?;
            let offset = v.handle().offset();
            drop(v);
            if shmem.my_pe() == 0 {
                error(shmem.barrier_all());
            } else {
                error(shmem.alloc_signals(1));
            }
            assert_eq!(shmem.alloc_zeroed::<u32>(1000)?.handle().offset(), offset);
            Ok(())
        })
        .unwrap();
}

#[test]
fn run_returns_the_poison_that_ended_it() {
    let error = emulated(2)
        .deadline(Duration::from_secs(1))
        .run(|shmem| {
            let ready = shmem.alloc_signals(1)?;
            if shmem.my_pe() == 0 {
                wait_for::launch(&shmem, ONE, ready.at(0), 5)?;
            }
            shmem.barrier_all()
        })
        .unwrap_err();
    says(error, &["PE 0: wait_reached", "expected >= 5, seen 0"]);
}

#[test]
fn work_that_fails_after_the_closure_is_a_failure_of_the_run() {
    let error = emulated(1)
        .run(|shmem| {
            let v = shmem.alloc_zeroed::<u32>(4)?;
            read_at::launch(&shmem, ONE, &v, 9)
        })
        .unwrap_err();
    says(error, &["PE 0: access", "index 9 of 4", "read_at"]);
}

#[test]
fn wrong_arguments_of_operations_are_named() {
    let run = |f: &(dyn Fn(&oxshmem::Shmem) -> oxshmem::Result<()> + Sync)| {
        let error = emulated(2).run(|shmem| f(&shmem).and_then(|()| shmem.barrier_all())).unwrap_err();
        assert!(matches!(error, Error::Poisoned(_)), "{error}");
        error
    };
    let error = run(&|shmem| {
        let v = shmem.alloc_zeroed::<u32>(8)?;
        put_to::launch(shmem, ONE, v.slice(0, 4), v.slice(4, 4), 2)
    });
    says(error, &["put", "there is no PE 2, the job or team has 2", "put_to"]);
    let error = run(&|shmem| {
        let v = shmem.alloc_zeroed::<u32>(8)?;
        put_to::launch(shmem, ONE, v.slice(0, 4), v.slice(4, 3), 1)
    });
    says(error, &["put", "the destination has 4 elements, the source 3"]);
}

#[test]
fn a_kernel_that_panics_is_an_error_with_its_place() {
    emulated(2)
        .run(|shmem| {
            if shmem.my_pe() == 1 {
                panics::launch(&shmem, ONE.threads(64), 33)?;
            }
            let error = error(shmem.barrier_all());
            let root = error.root();
            let Error::KernelFailed(failed) = root else { panic!("{error}") };
            assert_eq!((failed.pe, failed.block, failed.thread), (1, [0; 3], [33, 0, 0]));
            says(root, &["PE 1", "panics", "this kernel is broken", "common/mod.rs"]);
            if shmem.my_pe() == 1 {
                assert!(matches!(common::error(panics::launch(&shmem, ONE, 1)), Error::KernelFailed(_)));
            }
            shmem.recover()?;
            panics::launch(&shmem, ONE, 1)?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_grid_that_does_not_meet_is_reported_and_recovered() {
    alone(|shmem| {
        let met = shmem.alloc_zeroed::<u32>(1)?;
        let config = oxshmem::LaunchConfig::blocks(3).threads(32);
        for _ in 0..3 {
            meet::launch(shmem, config, &met)?;
            shmem.synchronize()?;
            shmem.recover()?;
        }
        assert_eq!(met.read()?, [3]);
        Ok(())
    });
}
