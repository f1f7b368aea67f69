//! Memory of the program's as local memory of a PE, and pinned host memory, on the emulator.
#![allow(missing_docs)]

mod common;

use common::*;
use oxshmem::dlpack::{Managed, ManagedVersioned, RawTensor, Tensor};
use oxshmem::{
    CheckOptions, CudaArrayInterface, DeviceVec, Error, Kind, LaunchConfig, Shmem, Unregistrable, check,
};
use oxshmem_device::prelude::*;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Puts the registered `src` into the next PE's `inbox`, then gets that PE's `inbox` into the registered `dst`.
#[nvshmem_kernel]
fn put_and_get(
    shmem: Collective,
    inbox: Sym<[u32]>,
    src: Global<[u32]>,
    dst: Global<[u32]>,
    ready: Sym<Signal>,
) {
    let block = shmem.block();
    block.put_signal(inbox, src, ready, SignalOp::Set(1), shmem.next_pe());
    block.wait_reached(ready, 1);
    block.get(dst, inbox, shmem.my_pe());
}

/// Why a registration was refused.
fn why<T>(result: oxshmem::Result<T>) -> Unregistrable {
    match error(result) {
        Error::Registration(refused) => refused.why,
        other => panic!("{other}"),
    }
}

/// Registers a vector that is given up for it.
fn register(shmem: &Shmem, values: Vec<u32>) -> oxshmem::Result<DeviceVec<u32>> {
    let (mut values, len) = (values, 0);
    let (start, len) = (values.as_mut_ptr(), len + values.len());
    // SAFETY: the vector is its owner, and nothing else uses it.
    unsafe { shmem.buffer_register_owned(start, len, values) }
}

/// Counts its drops.
struct Counted(Arc<AtomicU32>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn kernels_and_the_host_put_from_it_and_get_into_it() {
    emulated(3)
        .run(|shmem| {
            let (me, from) = (shmem.my_pe(), (shmem.my_pe() + 2) % 3);
            let src = register(&shmem, (0..5000).map(|i| i + 10_000 * me).collect())?;
            let dst = register(&shmem, vec![0; 5000])?;
            let (inbox, ready) = (shmem.alloc_zeroed::<u32>(5000)?, shmem.alloc_signals(1)?);
            put_and_get::launch(
                &shmem,
                LaunchConfig::blocks(1).threads(64),
                &inbox,
                &src,
                &dst,
                ready.at(0),
            )?;
            shmem.barrier_all()?;
            assert!(dst.read()?.iter().zip(0..).all(|(&x, i)| x == i + 10_000 * from));
            // The host, blocking and on a stream.
            let stream = shmem.stream()?;
            dst.write(&[me; 5000])?;
            shmem.put_on(&stream, &inbox, &dst, (me + 1) % 3)?;
            shmem.quiet_on(&stream)?;
            shmem.barrier_all()?;
            shmem.get(&src, &inbox, me)?;
            assert_eq!(src.read()?, [from; 5000]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_cannot_be_registered_is_refused_with_the_reason() {
    emulated(2)
        .run(|shmem| {
            let mut data = vec![0u32; 64];
            let start = data.as_mut_ptr();
            // SAFETY: what is refused is not used.
            let of = |at: *mut u32, len| unsafe { shmem.buffer_register(at, len) };
            assert_eq!(why(of(std::ptr::null_mut(), 1)), Unregistrable::Null);
            assert_eq!(why(of(start.wrapping_byte_add(2), 1)), Unregistrable::Misaligned { align: 4 });
            assert_eq!(
                why(of(std::ptr::without_provenance_mut(usize::MAX - 3), 2)),
                Unregistrable::BeyondAddresses
            );
            assert!(matches!(error(of(start, usize::MAX / 2)), Error::SizeOverflow { .. }));
            assert!(of(std::ptr::null_mut(), 0)?.read()?.is_empty());
            let kept = of(start, 32)?;
            for (at, len) in [(0, 64), (31, 1), (16, 4)] {
                let why = why(of(start.wrapping_add(at), len));
                assert!(matches!(why, Unregistrable::Overlaps { what: "registered memory", .. }), "{why}");
            }
            let rest = of(start.wrapping_add(32), 32)?;
            // Addresses of the heap and of local memory, as kernels have them.
            let (vector, local) = (shmem.alloc_zeroed::<u32>(64)?, shmem.device_zeroed::<u32>(64)?);
            let text = format!("{:?}", local.handle());
            let digits = text.split("0x").nth(1).unwrap().split(',').next().unwrap();
            let address = usize::from_str_radix(digits, 16).unwrap();
            let why_local = why(of(std::ptr::without_provenance_mut(address + 4), 1));
            assert!(matches!(why_local, Unregistrable::Overlaps { what: "a DeviceVec", .. }), "{why_local}");
            drop(vector);
            // Another PE of the process.
            let mine = shmem.all_gather(&(start.expose_provenance() as u64))?;
            let other = mine[1 - shmem.my_pe() as usize] as usize;
            let why = why(of(std::ptr::without_provenance_mut(other), 1));
            assert!(matches!(why, Unregistrable::Overlaps { pe, .. } if pe == 1 - shmem.my_pe()), "{why}");
            shmem.barrier_all()?;
            shmem.buffer_unregister(kept)?;
            shmem.buffer_unregister(rest)?;
            shmem.buffer_unregister(of(start, 64)?)
        })
        .unwrap();
}

#[test]
fn a_handle_of_a_dropped_registration_is_refused() {
    alone(|shmem| {
        let registered = register(shmem, vec![1; 8])?;
        let handle = registered.handle();
        add_one::launch(shmem, ONE, handle)?;
        shmem.buffer_unregister(registered)?;
        let refused = error(add_one::launch(shmem, ONE, handle));
        says(refused, &["add_one", "parameter 0", "registered memory", "dropped"]);
        let stream = shmem.stream()?;
        let inbox = shmem.alloc_zeroed::<u32>(8)?;
        assert!(matches!(error(shmem.put_on(&stream, &inbox, handle, 0)), Error::BadHandle { .. }));
        assert!(matches!(error(shmem.put(&inbox, handle, 0)), Error::BadHandle { .. }));
        // The same range, registered anew, is no part of a graph that was recorded before.
        let mut values = vec![0u32; 8];
        // SAFETY: the vector outlives both registrations.
        let mut again = || unsafe { shmem.buffer_register(values.as_mut_ptr(), 8) };
        let first = again()?;
        let graph = stream.capture(|| add_one::launch_on(shmem, &stream, ONE, &first))?;
        graph.launch(&stream)?;
        shmem.buffer_unregister(first)?;
        let second = again()?;
        assert!(matches!(error(graph.launch(&stream)), Error::BadHandle { .. }));
        shmem.buffer_unregister(second)?;
        assert_eq!(values, [1; 8]);
        Ok(())
    });
}

#[test]
fn the_owner_stays_until_kernels_that_use_the_memory_are_over() {
    let drops = Arc::<AtomicU32>::default();
    let count = || drops.load(Ordering::Relaxed);
    emulated(1)
        .run(|shmem| {
            let (go, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
            let mut values = vec![0u32; 8];
            let start = values.as_mut_ptr();
            // SAFETY: the vector outlives the run's kernels.
            let registered = unsafe { shmem.buffer_register_owned(start, 8, Counted(drops.clone()))? };
            wait_for::launch_on(&shmem, &stream, ONE, go.at(0), 1)?;
            add_one::launch_on(&shmem, &stream, ONE, &registered)?;
            drop(registered);
            // Still in use: neither given back nor to be had again.
            // SAFETY: what is refused is not used.
            let overlaps = why(unsafe { shmem.buffer_register(start, 8) });
            says(overlaps, &["registered memory of PE 0", "synchronize"]);
            assert_eq!(count(), 0);
            set_signal::launch(&shmem, ONE, go.at(0), 1, 0)?;
            shmem.synchronize()?;
            assert_eq!((count(), &values[..]), (1, &[1; 8][..]));
            // What is refused gives its owner back, and what is kept to the end does so then.
            // SAFETY: as above.
            let refused = unsafe {
                shmem.buffer_register_owned(std::ptr::null_mut::<u32>(), 8, Counted(drops.clone()))
            };
            assert_eq!((why(refused), count()), (Unregistrable::Null, 2));
            // SAFETY: the vector is returned with it, and nothing uses it.
            let kept = unsafe { shmem.buffer_register_owned(start, 8, Counted(drops.clone()))? };
            Ok((kept, values))
        })
        .map(drop)
        .unwrap();
    assert_eq!(count(), 3);
}

#[test]
fn a_vector_of_another_pe_is_not_unregistered() {
    let vectors = std::sync::Mutex::new(Vec::new());
    emulated(2)
        .run(|shmem| {
            vectors.lock().unwrap().push(register(&shmem, vec![0; 4])?);
            shmem.barrier_all()?;
            let vector = vectors.lock().unwrap().pop().unwrap();
            shmem.barrier_all()?;
            let own = format!("{vector:?}").contains(&format!("PE {}:", shmem.my_pe()));
            match shmem.buffer_unregister(vector) {
                Ok(()) => assert!(own),
                Err(error) => assert!(!own && matches!(error, Error::WrongOwner { .. }), "{error}"),
            }
            shmem.barrier_all()
        })
        .unwrap();
}

/// A tensor over `values` that counts how often it is deleted.
struct Made {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    values: Vec<f32>,
    deleted: Arc<AtomicU32>,
}

impl Made {
    fn new(deleted: &Arc<AtomicU32>) -> Box<Self> {
        let values = (0..12).map(|i| i as f32).collect();
        Box::new(Self { shape: vec![3, 4], strides: None, values, deleted: deleted.clone() })
    }

    fn raw(&mut self) -> RawTensor {
        RawTensor {
            data: self.values.as_mut_ptr().cast(),
            device_type: 1,
            device_id: 0,
            ndim: self.shape.len() as i32,
            code: 2,
            bits: 32,
            lanes: 1,
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut().map_or(std::ptr::null_mut(), |strides| strides.as_mut_ptr()),
            byte_offset: 0,
        }
    }

    fn tensor(mut self: Box<Self>, change: impl FnOnce(&mut RawTensor)) -> Tensor {
        unsafe extern "C" fn delete(managed: *mut Managed) {
            // SAFETY: both were made by `tensor`, and this is called once.
            unsafe { delete_made((*managed).context) };
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(managed) });
        }
        let mut tensor = self.raw();
        change(&mut tensor);
        let context = Box::into_raw(self).cast();
        let managed = Box::leak(Box::new(Managed { tensor, context, deleter: Some(delete) }));
        // SAFETY: made for this.
        unsafe { Tensor::from_managed(NonNull::from(managed)) }
    }

    fn versioned(mut self: Box<Self>, major: u32, flags: u64) -> Tensor {
        unsafe extern "C" fn delete(managed: *mut ManagedVersioned) {
            // SAFETY: as above.
            unsafe { delete_made((*managed).context) };
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(managed) });
        }
        let tensor = self.raw();
        let context = Box::into_raw(self).cast();
        let deleter = Some(delete as unsafe extern "C" fn(*mut ManagedVersioned));
        let managed = ManagedVersioned { major, minor: 0, context, deleter, flags, tensor };
        // SAFETY: as above.
        unsafe { Tensor::from_versioned(NonNull::from(Box::leak(Box::new(managed)))) }
    }
}

unsafe fn delete_made(made: *mut c_void) {
    // SAFETY: passed on.
    let made = unsafe { Box::from_raw(made.cast::<Made>()) };
    made.deleted.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_tensor_is_registered_with_its_offset_and_deleted_once() {
    let deleted = Arc::<AtomicU32>::default();
    let count = || deleted.load(Ordering::Relaxed);
    alone(|shmem| {
        let tensor = Made::new(&deleted).tensor(|raw| raw.byte_offset = 0);
        let vector = shmem.buffer_register_dlpack::<f32>(tensor)?;
        assert_eq!((vector.len(), vector.read()?[11], count()), (12, 11.0, 0));
        shmem.buffer_unregister(vector)?;
        assert_eq!(count(), 1);
        let mut made = Made::new(&deleted);
        made.shape = vec![4];
        let vector = shmem.buffer_register_dlpack::<f32>(made.tensor(|raw| raw.byte_offset = 8))?;
        assert_eq!(vector.read()?, [2.0, 3.0, 4.0, 5.0]);
        shmem.buffer_unregister(vector)?;
        let vector = shmem.buffer_register_dlpack::<f32>(Made::new(&deleted).versioned(1, 0))?;
        shmem.buffer_unregister(vector)?;
        assert_eq!(count(), 3);
        // Nobody may write it.
        let refused = shmem.buffer_register_dlpack::<f32>(Made::new(&deleted).versioned(1, 1));
        assert_eq!((why(refused), count()), (Unregistrable::ReadOnly, 4));
        let source = shmem.buffer_register_dlpack_source::<f32>(Made::new(&deleted).versioned(1, 1))?;
        let (inbox, stream) = (shmem.alloc_zeroed::<f32>(12)?, shmem.stream()?);
        shmem.put_on(&stream, &inbox, &source, 0)?;
        assert_eq!(inbox.read()?, source.read()?);
        shmem.buffer_unregister(source)?;
        assert_eq!(count(), 5);
        Ok(())
    });
}

#[test]
fn tensors_that_do_not_fit_are_refused_and_deleted() {
    let deleted = Arc::<AtomicU32>::default();
    alone(|shmem| {
        type Change = fn(&mut RawTensor);
        let wrong: [(Change, &str); 7] = [
            (|raw| raw.code = 0, "its elements are int32, and it was to be registered as f32"),
            (|raw| raw.bits = 64, "float64"),
            (|raw| raw.lanes = 4, "4 lanes of float32"),
            (|raw| raw.device_type = 2, "it is on GPU 0, and this PE uses emulated GPU"),
            (|raw| raw.ndim = -1, "negative number of axes"),
            (|raw| raw.shape = std::ptr::null_mut(), "no shape"),
            (|raw| raw.data = std::ptr::null_mut(), "null"),
        ];
        for (change, part) in wrong {
            says(
                error(shmem.buffer_register_dlpack::<f32>(Made::new(&deleted).tensor(change))),
                &["PE 0", part],
            );
        }
        let mut gaps = Made::new(&deleted);
        gaps.strides = Some(vec![8, 1]);
        let refused = error(shmem.buffer_register_dlpack::<f32>(gaps.tensor(|_| ())));
        says(refused, &["strides [8, 1] (in elements)", "[3, 4]", "contiguous"]);
        let refused = error(shmem.buffer_register_dlpack::<f32>(Made::new(&deleted).versioned(2, 0)));
        says(refused, &["DLPack 2.0"]);
        assert_eq!(deleted.load(Ordering::Relaxed), 9);
        Ok(())
    });
}

#[test]
fn an_array_interface_is_registered_as_it_says() {
    alone(|shmem| {
        let mut values = vec![7i64; 6];
        let array = CudaArrayInterface {
            pointer: values.as_mut_ptr().expose_provenance() as u64,
            read_only: true,
            shape: vec![2, 3],
            typestr: "<i8".into(),
            strides: Some(vec![24, 8]),
        };
        // SAFETY: the vector outlives the registrations.
        let source = unsafe { shmem.buffer_register_cuda_array_source::<i64>(&array, ())? };
        assert_eq!((source.len(), source.read()?), (6, vec![7; 6]));
        shmem.buffer_unregister(source)?;
        // SAFETY: as above.
        let of = |array: &CudaArrayInterface| unsafe { shmem.buffer_register_cuda_array::<i64>(array, ()) };
        assert_eq!(why(of(&array)), Unregistrable::ReadOnly);
        let array = CudaArrayInterface { read_only: false, ..array };
        says(why(of(&CudaArrayInterface { typestr: "<f8".into(), ..array.clone() })), &["\"<f8\"", "i64"]);
        says(why(of(&CudaArrayInterface { strides: Some(vec![8, 16]), ..array.clone() })), &["in bytes"]);
        shmem.buffer_unregister(of(&array)?)
    });
}

#[test]
fn the_checker_knows_registered_memory() {
    // A kernel writes it, and a second one on another stream, which nothing orders, as well.
    let report = check(&CheckOptions::default().seeds(5), 1, |shmem: Shmem| {
        let registered = register(&shmem, vec![0; 8])?;
        let stream = shmem.stream()?;
        add_one::launch(&shmem, ONE, &registered)?;
        add_one::launch_on(&shmem, &stream, ONE, &registered)?;
        shmem.synchronize()
    });
    let report = report.unwrap();
    assert!(report.findings.iter().any(|(finding, _)| finding.kind == Kind::DataRace), "{report}");
    says(&report, &["registered memory of ", "tests/registered.rs"]);
    // In order nothing is found: what it holds was written.
    let report = check(&CheckOptions::default().seeds(5), 2, |shmem: Shmem| {
        let (src, dst) = (register(&shmem, vec![3; 64])?, register(&shmem, vec![0; 64])?);
        let (inbox, ready) = (shmem.alloc_uninit::<u32>(64)?, shmem.alloc_signals(1)?);
        put_and_get::launch(&shmem, ONE, &inbox, &src, &dst, ready.at(0))?;
        shmem.barrier_all()?;
        assert_eq!(dst.read()?, [3; 64]);
        Ok(())
    });
    let report = report.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}

#[test]
fn copies_between_symmetric_and_host_memory_on_a_stream() {
    emulated(2)
        .run(|shmem| {
            let (me, len) = (shmem.my_pe(), 50_000);
            let (vector, stream) = (shmem.alloc_zeroed::<u32>(len)?, shmem.stream()?);
            let (from, to) = (shmem.host_from_slice(&vec![me + 1; len])?, shmem.host_zeroed::<u32>(len)?);
            vector.write_on(&stream, &from)?;
            vector.read_on(&stream, &to)?;
            // The memory of a dropped one stays until the copy is over.
            drop(from);
            assert_eq!(to.read()?, vec![me + 1; len]);
            shmem.barrier_all()?;
            // Of another PE, a part.
            shmem.get_on(&stream, &shmem.host_zeroed::<u32>(10)?, vector.slice(5, 10), 1 - me)?;
            says(error(vector.read_on(&stream, &shmem.host_zeroed(3)?)), &["get_on", "3", "50000"]);
            // What was dropped is used again, zeroed.
            stream.synchronize()?;
            let again = shmem.host_zeroed::<u32>(len)?;
            assert_eq!(again.read()?, vec![0; len]);
            add_one::launch(&shmem, LaunchConfig::blocks(1).threads(32), &again)?;
            assert_eq!(again.read()?, vec![1; len]);
            shmem.barrier_all()
        })
        .unwrap();
}

/// Panics when it is dropped.
struct Panics(Arc<AtomicU32>);
impl Drop for Panics {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("an owner's");
    }
}

#[test]
fn an_owner_that_panics_when_it_is_dropped_harms_nothing() {
    let drops = Arc::new(AtomicU32::new(0));
    let register = |shmem: &Shmem| {
        let memory = Box::leak(Box::new(0u32));
        // SAFETY: the memory stays.
        unsafe { shmem.buffer_register_owned(memory, 1, Panics(drops.clone())) }
    };
    // Several at once, in the middle of a run; at its end; and what was refused.
    let ran = emulated(2).run(|shmem| {
        drop([register(&shmem)?, register(&shmem)?]);
        shmem.synchronize()?;
        assert!(drops.load(Ordering::Relaxed) >= 2);
        let odd = std::ptr::without_provenance_mut(1);
        // SAFETY: it is refused.
        let refused = unsafe { shmem.buffer_register_owned::<u32>(odd, 1, Panics(drops.clone())) };
        assert!(matches!(why(refused), Unregistrable::Misaligned { .. }));
        shmem.barrier_all()?;
        drop([register(&shmem)?, register(&shmem)?]);
        Ok(())
    });
    ran.unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 10);
    // While a panic of the closure's is on its way.
    let failed = emulated(1).run(|shmem| -> oxshmem::Result<()> {
        let _first = register(&shmem)?;
        panic!("the closure's");
    });
    says(error(failed), &["PE 0 panicked", "the closure's"]);
    assert_eq!(drops.load(Ordering::Relaxed), 11);
}

#[test]
fn host_memory_that_is_kept_for_later_goes_before_there_is_none() {
    // Of 128 TiB of addresses: half is kept for another vector of that size, and all but it is not enough.
    alone(|shmem| {
        drop(shmem.host_zeroed::<u8>(1 << 46)?);
        let vectors = [shmem.host_zeroed::<u8>(1 << 45)?, shmem.host_zeroed::<u8>(1 << 45)?];
        assert_eq!(vectors.map(|vector| vector.len()), [1 << 45; 2]);
        Ok(())
    });
}
