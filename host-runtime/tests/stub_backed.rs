//! Symmetric memory that is the host's, or that the program has made, by the calls of the CUDA driver, without a GPU: a stub
//! libcuda is put in the way of a child process, which is this test program again.
#![cfg(feature = "cuda")]

mod common;

use common::stub::{ends_with, folder, processes};
use common::*;
use cudarc::driver::sys;
use oxshmem::{Config, DeviceChoice, Shmem, SymVec};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// Memory that the program has made by the driver's virtual memory management, until dropped.
struct Made {
    start: u64,
    bytes: usize,
}

impl Made {
    /// On a GPU, or on the host's NUMA node of this number.
    fn new(
        bytes: usize,
        kind: sys::CUmemLocationType,
        id: i32,
        handles: sys::CUmemAllocationHandleType,
    ) -> Self {
        let (mut handle, mut start) = (0, 0);
        let location = sys::CUmemLocation { type_: kind, id };
        // SAFETY: the properties are all zero but for what is set, as the driver wants it; all that is written is local.
        unsafe {
            let mut properties: sys::CUmemAllocationProp = std::mem::zeroed();
            properties.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            properties.location = location;
            properties.requestedHandleTypes = handles;
            let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            let access = sys::CUmemAccessDesc { location, flags };
            sys::cuMemCreate(&mut handle, bytes, &properties, 0).result().unwrap();
            sys::cuMemAddressReserve(&mut start, bytes, 0, 0, 0).result().unwrap();
            sys::cuMemMap(start, bytes, 0, handle, 0).result().unwrap();
            sys::cuMemSetAccess(start, bytes, &access, 1).result().unwrap();
            sys::cuMemRelease(handle).result().unwrap();
        }
        Self { start, bytes }
    }

    /// As a job shares it, on the GPU of a PE.
    fn on_gpu(shmem: &Shmem, bytes: usize) -> Self {
        Self::new(bytes, DEVICE, shmem.device_number() as i32, SHARED)
    }

    /// The stub's memory is this process's.
    fn words(&mut self) -> &mut [u32] {
        let start = std::ptr::with_exposed_provenance_mut(self.start as usize);
        // SAFETY: all of a live mapping, which only this test uses, and not at this moment.
        unsafe { std::slice::from_raw_parts_mut(start, self.bytes / 4) }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: mapped and reserved so by `new`.
        unsafe {
            sys::cuMemUnmap(self.start, self.bytes).result().unwrap();
            sys::cuMemAddressFree(self.start, self.bytes).result().unwrap();
        }
    }
}

const DEVICE: sys::CUmemLocationType = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
const HOST: sys::CUmemLocationType = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA;
const SHARED: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const ALONE: sys::CUmemAllocationHandleType = sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;

/// Registers `len` words from `start` on.
fn register(shmem: &Shmem, start: u64, len: usize) -> oxshmem::Result<SymVec<u32>> {
    let start = std::ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: the callers keep the memory until after the free.
    unsafe { shmem.buffer_register_symmetric(start, len) }
}

/// Host memory, in turn with the device's, is put to and read in place.
fn host_memory(shmem: &Shmem) -> oxshmem::Result<()> {
    let (me, other) = (shmem.my_pe(), 1 - shmem.my_pe());
    let own = shmem.alloc_host_from_fn(700_000, |i| i as u32 ^ me)?;
    let device = shmem.alloc_from_fn(700_000, |i| i as u32)?;
    let inbox = shmem.alloc_host_zeroed::<u32>(700_000)?;
    shmem.put(&inbox, &own, other)?;
    shmem.barrier_all()?;
    let there = inbox.host_ptr().unwrap();
    // SAFETY: inside the vector, which nobody writes after the barrier.
    assert_eq!(unsafe { there.add(699_999).read() }, 699_999 ^ other);
    assert_eq!((own.read()?[5], device.host_ptr()), (5 ^ me, None));
    shmem.barrier_all()?;
    shmem.free(own)?;
    shmem.free(device)?;
    shmem.free(inbox)
}

/// Both PEs' own memory becomes symmetric, keeps what it holds, and is theirs again.
fn own_memory(shmem: &Shmem) -> oxshmem::Result<()> {
    let (me, other) = (shmem.my_pe(), 1 - shmem.my_pe());
    let mut own = Made::on_gpu(shmem, 4 * MIB);
    own.words().fill(me + 5);
    for round in 0..3 {
        // Not all of the last page.
        let vector = register(shmem, own.start, MIB - 3)?;
        assert_eq!((vector.len(), vector.host_ptr()), (MIB - 3, None));
        says(error_of(register(shmem, own.start, MIB)), &["registered memory of PE"]);
        assert_eq!(vector.read()?[1], me + 5);
        shmem.barrier_all()?;
        shmem.put(vector.slice(7, 2), &[70 + me, 80 + round], other)?;
        shmem.barrier_all()?;
        assert_eq!(own.words()[6..10], [me + 5, 70 + other, 80 + round, me + 5]);
        shmem.free(vector)?;
    }
    // It goes back in time for what comes next.
    drop(own);
    shmem.alloc_zeroed::<u8>(5 * MIB).map(drop)
}

fn error_of<T>(result: oxshmem::Result<T>) -> String {
    error(result).to_string()
}

/// What cannot be mapped a second time is refused, and the heap goes on.
fn refusals(shmem: &Shmem) -> oxshmem::Result<()> {
    let own = Made::on_gpu(shmem, 4 * MIB);
    let mut plain = vec![0u32; MIB];
    let refused = |start, len| error_of(register(shmem, start, len));
    let plain = plain.as_mut_ptr().expose_provenance() as u64;
    says(refused(plain, MIB), &["cannot register", "it is no memory of cuMemCreate"]);
    let whole = format!("{:#x}..{:#x}", own.start, own.start + 4 * MIB as u64);
    for (offset, len) in [(2 * MIB, MIB / 2), (0, MIB / 2)] {
        says(refused(own.start + offset as u64, len), &[&whole, "pass its start and its whole length"]);
    }
    // What lies behind may be a heap, which is told first.
    let beyond = refused(own.start, MIB + 1);
    assert!(beyond.contains(&whole) || beyond.contains("lies in the symmetric heap"), "{beyond}");
    let gpu = shmem.device_number() as i32;
    let host = Made::new(2 * MIB, HOST, 0, SHARED);
    says(refused(host.start, MIB / 2), &["it is on memory of the host", &format!("uses GPU {gpu}")]);
    let elsewhere = Made::new(2 * MIB, DEVICE, 1 - gpu, SHARED);
    says(refused(elsewhere.start, MIB / 2), &[&format!("it is on GPU {}", 1 - gpu)]);
    let alone = Made::new(2 * MIB, DEVICE, gpu, ALONE);
    says(
        refused(alone.start, MIB / 2),
        &["requestedHandleTypes 0x0", "POSIX_FILE_DESCRIPTOR", "cuMemCreate"],
    );
    let vector = register(shmem, own.start, MIB)?;
    shmem.free(vector)
}

/// What the child does. Prints the device, or the error.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let mut config = match std::env::var_os("RANK") {
        Some(_) => Config::from_env().unwrap(),
        None => Config::default().pes(std::env::var("CHILD_PES").map_or(1, |pes| pes.parse().unwrap())),
    };
    config = config.device(DeviceChoice::Cuda).deadline(Duration::from_secs(20));
    let case = std::env::var("CHILD_CASE").unwrap();
    let result = config.run(|shmem| {
        match &*case {
            "host" => host_memory(&shmem)?,
            "own" => own_memory(&shmem)?,
            "refusals" => refusals(&shmem)?,
            _ => unreachable!("{case}"),
        }
        shmem.barrier_all()
    });
    match result {
        Ok(pes) => println!("RESULT ok {}", pes.len()),
        Err(error) => println!("RESULT {error}"),
    }
}

#[test]
fn the_hosts_memory_is_made_mapped_and_let_to_the_host() {
    let trace = folder("host-access").join("trace");
    for (node, shown) in [("-1", "host access (nil)"), ("3", "host access 0x3")] {
        let _ = std::fs::remove_file(&trace);
        let host = [("CHILD_CASE", "host"), ("CHILD_PES", "2"), ("STUB_DEVICES", "2"), ("STUB_NUMA", node)];
        ends_with(&[&host[..], &[("STUB_TRACE", trace.to_str().unwrap())]].concat(), &["ok 2"]);
        let text = std::fs::read_to_string(&trace).unwrap();
        // Two vectors on two PEs.
        assert_eq!(text.lines().filter(|line| *line == shown).count(), 4, "{text}");
    }
    assert_eq!(processes("host", "2"), ["ok 1", "ok 1"]);
}

#[test]
fn a_driver_that_has_no_memory_of_the_hosts_says_so() {
    let host = [("CHILD_CASE", "host"), ("CHILD_PES", "2"), ("STUB_DEVICES", "2")];
    let with = |result| [&host[..], &[("STUB_HOST_ERROR", result)]].concat();
    let parts = ["can have no symmetric memory in the host's", "NUMA node 0", "use alloc_zeroed"];
    for result in ["801", "1", "101", "800"] {
        ends_with(&with(result), &parts);
    }
    ends_with(&with("2"), &["out of memory", "host memory for the symmetric heap"]);
    ends_with(&with("999"), &["cuMemCreate failed while allocating host memory for the heap"]);
}

#[test]
fn the_programs_memory_is_mapped_a_second_time() {
    for devices in ["1", "2"] {
        ends_with(&[("CHILD_CASE", "own"), ("CHILD_PES", "2"), ("STUB_DEVICES", devices)], &["ok 2"]);
        assert_eq!(processes("own", devices), ["ok 1", "ok 1"]);
    }
}

#[test]
fn memory_that_cannot_be_mapped_a_second_time_is_refused() {
    ends_with(&[("CHILD_CASE", "refusals"), ("STUB_DEVICES", "2")], &["ok 1"]);
}
