//! The symmetric heap and local memory, on the emulator.

mod common;

use common::*;
use oxshmem::{Error, LaunchConfig, Reach, SymVec};
use std::sync::Mutex;
use std::time::Duration;

const MIB: usize = 1 << 20;

#[test]
fn what_is_written_is_read_back() {
    alone(|shmem| {
        let v = shmem.alloc_from_fn(300_000, |i| i as u64)?;
        assert!(v.read()?.iter().enumerate().all(|(i, &x)| x == i as u64));
        v.write(&[7, 8, 9])?;
        let mut first = [0; 4];
        v.read_into(&mut first)?;
        assert_eq!(first, [7, 8, 9, 3]);
        v.fill(5)?;
        assert!(v.read()?.iter().all(|&x| x == 5));
        let w = shmem.alloc_from_slice(&[1.5f32, 2.5])?;
        assert_eq!(w.read()?, [1.5, 2.5]);

        let signals = shmem.alloc_signals(3)?;
        assert_eq!(signals.values()?, [0, 0, 0]);
        signals.set(2, 9)?;
        assert_eq!(signals.values()?, [0, 0, 9]);
        let words = shmem.alloc_atomics::<u32>(2, Reach::Node)?;
        words.set(1, 4)?;
        assert_eq!(words.values()?, [0, 4]);
        assert_eq!(words.at(1).reach(), Reach::Node);
        Ok(())
    });
}

#[test]
fn an_access_beyond_the_end_is_an_error() {
    alone(|shmem| {
        let v = shmem.alloc_zeroed::<u32>(3)?;
        says(error(v.write(&[0; 4])), &["elements 0..4", "an allocation of 3"]);
        says(error(v.read_into(&mut [0; 5])), &["elements 0..5"]);
        let signals = shmem.alloc_signals(1)?;
        says(error(signals.set(1, 0)), &["elements 1..2", "an allocation of 1"]);
        let local = shmem.device_zeroed::<u32>(3)?;
        says(error(local.write(&[0; 4])), &["elements 0..4"]);
        Ok(())
    });
}

#[test]
fn nothing_can_be_allocated_too() {
    alone(|shmem| {
        let v = shmem.alloc_zeroed::<u32>(0)?;
        assert!(v.is_empty() && v.read()?.is_empty());
        touch::launch(shmem, ONE, &v)?;
        assert!(shmem.device_zeroed::<u64>(0)?.read()?.is_empty());
        assert!(shmem.alloc_signals(0)?.values()?.is_empty());
        shmem.free(v)
    });
}

#[test]
fn elements_without_bytes_take_no_time_and_no_room() {
    alone(|shmem| {
        let v = shmem.alloc_from_fn::<[u8; 0]>(usize::MAX, |_| [])?;
        v.fill([])?;
        assert_eq!((v.len(), v.read()?.len()), (usize::MAX, usize::MAX));
        let local = shmem.device_zeroed::<[u8; 0]>(usize::MAX)?;
        assert_eq!(local.read()?.len(), usize::MAX);
        Ok(())
    });
}

#[test]
fn local_memory_beyond_the_device_is_an_error_with_its_sizes() {
    alone(|shmem| {
        for len in [(256 << 20) + 1, 1 << 63, usize::MAX] {
            let Error::OutOfMemory { asked, limit, .. } = error(shmem.device_zeroed::<u8>(len)) else {
                panic!("{len}")
            };
            assert_eq!((asked, limit), (len as u64, 256 << 20));
        }
        assert!(matches!(error(shmem.device_zeroed::<u16>(1 << 63)), Error::SizeOverflow { .. }));
        shmem.device_zeroed::<u8>(MIB).map(drop)
    });
}

#[test]
fn every_pe_has_the_same_offsets_and_its_own_copy() {
    let offsets = emulated(4).run(|shmem| {
        let v = shmem.alloc_from_fn(100, |_| shmem.my_pe())?;
        let w = shmem.alloc_zeroed::<u8>(1)?;
        shmem.barrier_all()?;
        assert!(v.read()?.iter().all(|&x| x == shmem.my_pe()));
        Ok([v.handle().offset(), w.handle().offset()])
    });
    let offsets = offsets.unwrap();
    assert!(offsets.iter().all(|o| *o == offsets[0] && o[0] != o[1]), "{offsets:?}");
}

#[test]
fn different_sizes_are_an_error_on_every_pe_and_the_heap_stays_usable() {
    emulated(3)
        .run(|shmem| {
            let len = if shmem.my_pe() == 1 { 200 } else { 100 };
            let error = error(shmem.alloc_zeroed::<f32>(len));
            assert!(matches!(error, Error::CallsDiffer { .. }));
            says(error, &["PE 0: alloc_zeroed of 100 f32", "PE 1: alloc_zeroed of 200 f32", "PE 2"]);
            if shmem.my_pe() == 0 {
                says(common::error(shmem.alloc_signals(1)), &["PE 0: alloc_signals", "PE 1: barrier_all"]);
            } else {
                common::error(shmem.barrier_all());
            }
            shmem.alloc_zeroed::<f32>(len.min(100)).map(drop)
        })
        .unwrap();
}

#[test]
fn out_of_memory_is_an_error_on_every_pe_and_the_heap_stays_usable() {
    for devices in [1, 2] {
        let config = emulated(2).emulated_devices(devices).emulated_memory(64 << 20);
        config
            .run(|shmem| {
                let keep = shmem.alloc_from_fn(MIB, |i| i as u8)?;
                let error = error(shmem.alloc_zeroed::<u8>(63 * MIB));
                let Error::OutOfMemory { asked, available, limit, .. } = error else { panic!("{error}") };
                assert!(asked == 63 << 20 && available < asked && limit <= 64 << 20);
                // Nothing of it was kept: what the message calls available is.
                shmem.alloc_zeroed::<u8>(available as usize)?;
                assert!(keep.read()?.iter().enumerate().all(|(i, &x)| x == i as u8));
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn the_heap_limit_holds() {
    emulated(1)
        .heap_limit(8 << 20)
        .run(|shmem| {
            let v = shmem.alloc_zeroed::<u8>(8 * MIB)?;
            says(error(shmem.alloc_zeroed::<u8>(4 * MIB)), &["out of memory", "4194304", "heap"]);
            drop(v);
            shmem.alloc_zeroed::<u8>(4 * MIB).map(drop)
        })
        .unwrap();
    says(
        error(emulated(4).emulated_devices(1).heap_limit(65 << 20).run(|_| Ok(()))),
        &["68157440 bytes per PE", "4 PE(s)", "OXSHMEM_HEAP"],
    );
}

#[test]
fn sizes_that_overflow_are_an_error() {
    alone(|shmem| {
        for len in [usize::MAX, usize::MAX / 8 + 1, (1 << 61) - 1] {
            let error = error(shmem.alloc_zeroed::<u64>(len));
            assert!(matches!(error, Error::SizeOverflow { .. } | Error::OutOfMemory { .. }), "{error}");
        }
        assert!(matches!(error(shmem.device_zeroed::<u64>(usize::MAX)), Error::SizeOverflow { .. }));
        Ok(())
    });
}

#[test]
fn the_heap_grows_while_kernels_use_it() {
    emulated(2)
        .run(|shmem| {
            let mut all: Vec<SymVec<u32>> = Vec::new();
            for round in 0..6u32 {
                // 3 MiB each: more than one granule, never a whole number of them.
                all.push(shmem.alloc_from_fn(3 * MIB / 4, |i| i as u32 ^ round)?);
                touch::launch(&shmem, ONE, &all[0])?;
            }
            for (round, v) in (0..).zip(&all) {
                assert!(v.read()?.iter().enumerate().all(|(i, &x)| x == i as u32 ^ round));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_dropped_vector_returns_when_all_pes_have_dropped_it() {
    emulated(2)
        .run(|shmem| {
            let (mut a, b) = (Some(shmem.alloc_zeroed::<u32>(1000)?), shmem.alloc_zeroed::<u32>(1000)?);
            let offset = a.as_ref().map(|a| a.handle().offset());
            if shmem.my_pe() == 0 {
                a = None;
            }
            let c = shmem.alloc_zeroed::<u32>(1000)?;
            assert_ne!(Some(c.handle().offset()), offset, "PE 1 still has it");
            drop(a);
            let d = shmem.alloc_zeroed::<u32>(1000)?;
            assert_eq!(Some(d.handle().offset()), offset);
            drop(b);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_dropped_vector_is_not_handed_out_while_a_kernel_may_use_it() {
    emulated(1)
        .run(|shmem| {
            let (go, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
            let v = shmem.alloc_zeroed::<u32>(1000)?;
            let offset = v.handle().offset();
            wait_for::launch_on(&shmem, &stream, ONE, go.at(0), 1)?;
            touch::launch_on(&shmem, &stream, ONE, &v)?;
            drop(v);
            assert_ne!(shmem.alloc_zeroed::<u32>(1000)?.handle().offset(), offset);
            set_signal::launch(&shmem, ONE, go.at(0), 1, 0)?;
            shmem.synchronize()?;
            assert_eq!(shmem.alloc_zeroed::<u32>(1000)?.handle().offset(), offset);
            Ok(())
        })
        .unwrap();
}

#[test]
fn free_is_collective_and_takes_only_the_pes_own_vectors() {
    let taken: Mutex<Option<SymVec<u32>>> = Mutex::new(None);
    emulated(2)
        .run(|shmem| {
            let v = shmem.alloc_zeroed::<u32>(10)?;
            let offset = v.handle().offset();
            shmem.free(v)?;
            let v = shmem.alloc_zeroed::<u32>(10)?;
            assert_eq!(v.handle().offset(), offset);
            if shmem.my_pe() == 0 {
                *taken.lock().unwrap() = Some(v);
            }
            shmem.barrier_all()?;
            if shmem.my_pe() == 1 {
                let foreign = taken.lock().unwrap().take().unwrap();
                says(error(shmem.free(foreign)), &["PE 0 of run", "not to PE 1 of run"]);
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_vector_kept_beyond_the_run_is_of_no_use() {
    let kept = emulated(1).run(|shmem| shmem.alloc_zeroed::<u32>(10)).unwrap();
    says(error(kept[0].read()), &["after the run", "over"]);
}

#[test]
fn local_memory_is_returned_when_its_kernels_are_over() {
    emulated(1)
        .emulated_memory(32 << 20)
        .run(|shmem| {
            // Each takes a third of the memory: without its return the third does not fit.
            for round in 0..8u32 {
                let v = shmem.device_from_slice(&vec![round; 9 * MIB / 4])?;
                add_one::launch(&shmem, LaunchConfig::blocks(1).threads(32), v.len_one())?;
                assert_eq!(v.read()?[0], round + 1);
            }
            let asked = 64 * MIB;
            let error = error(shmem.device_zeroed::<u8>(asked));
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            Ok(())
        })
        .unwrap();
}

/// A handle to the first element only.
trait LenOne {
    fn len_one(&self) -> oxshmem_device::Global<[u32]>;
}
impl LenOne for oxshmem::DeviceVec<u32> {
    fn len_one(&self) -> oxshmem_device::Global<[u32]> {
        use oxshmem_device::launch::KernelParam;
        let (address, _) = self.handle().into_raw();
        // SAFETY: the first element of a live vector.
        unsafe { KernelParam::from_raw(address, 1) }
    }
}

#[test]
fn a_pe_that_allocates_alone_learns_who_is_missing() {
    let error = emulated(2)
        .deadline(Duration::from_millis(200))
        .run(|shmem| {
            if shmem.my_pe() == 1 {
                std::thread::sleep(Duration::from_secs(1));
            } else {
                shmem.alloc_zeroed::<f32>(1)?;
            }
            Ok(())
        })
        .unwrap_err();
    says(error, &["PE 0 waited 0.2 s in alloc_zeroed of 1 f32", "missing: PE 1"]);
}
