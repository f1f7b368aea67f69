//! Symmetric memory in the host's memory, with PEs as threads, and as processes, each of which is this test program again; and
//! what emulated GPUs refuse of the program's. On the emulator.

mod common;

use common::*;
use oxshmem::{CheckOptions, Error, Kind, LaunchConfig, Shmem, SymVec, check};
use oxshmem_device::prelude::*;
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;
/// Memory of each device.
const MEMORY: u64 = 64 << 20;

/// Passes the own elements on to the next PE, from host memory to host memory, and fetches them back from there.
#[nvshmem_kernel]
fn there_and_back(
    shmem: Collective,
    inbox: Sym<[u32]>,
    own: Sym<[u32]>,
    back: Sym<[u32]>,
    one: Sym<u32>,
    ready: Sym<Signal>,
    count: Sym<Atomic<u32>>,
) {
    let block = shmem.block();
    block.put_signal(inbox, own, ready, SignalOp::Add(1), shmem.next_pe());
    block.wait_reached(ready, 1);
    block.quiet();
    block.get(back, inbox, shmem.next_pe());
    if block.is_leader() {
        let thread = shmem.thread();
        thread.p(one, 1000 + shmem.my_pe(), shmem.prev_pe());
        thread.atomic_add(count, thread.g(inbox.at(1), shmem.next_pe()), 0);
    }
}

fn config(pes: u32) -> oxshmem::Config {
    emulated(pes).emulated_memory(MEMORY)
}

/// What the host finds of a vector in its memory.
fn at_host(vector: &SymVec<u32>) -> Vec<u32> {
    let start = vector.host_ptr().expect("it is in the host's memory");
    // SAFETY: all of a live vector; a barrier is behind all that was launched.
    unsafe { std::slice::from_raw_parts(start.as_ptr(), vector.len()) }.to_vec()
}

/// Kernels, host operations and the host itself use it as any other.
fn is_used_as_any_other(shmem: &Shmem) -> oxshmem::Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let (previous, len) = ((me + n - 1) % n, 10_007);
    let value = |pe: u32, i: usize| pe * 100_000 + i as u32;
    let own = shmem.alloc_host_from_fn(len, |i| value(me, i))?;
    let (inbox, back) = (shmem.alloc_host_zeroed::<u32>(len)?, shmem.alloc_host_zeroed::<u32>(len)?);
    let (device, one) = (shmem.alloc_zeroed::<u32>(len)?, shmem.alloc_host_zeroed::<u32>(1)?);
    let (ready, count) = (shmem.alloc_signals(1)?, shmem.alloc_atomics::<u32>(1, Reach::World)?);
    assert_eq!((device.host_ptr(), at_host(&inbox)), (None, vec![0; len]));
    shmem.barrier_all()?;
    let shape = LaunchConfig::blocks(1).threads(64);
    there_and_back::launch(shmem, shape, &inbox, &own, &back, one.at(0), ready.at(0), count.at(0))?;
    shmem.barrier_all()?;
    assert!(at_host(&inbox).iter().enumerate().all(|(i, &found)| found == value(previous, i)));
    assert!(back.read()?.iter().enumerate().all(|(i, &found)| found == value(me, i)));
    assert_eq!(at_host(&one), [1000 + (me + 1) % n]);
    if me == 0 {
        assert_eq!(count.values()?, [(0..n).map(|pe| value(pe, 1)).sum::<u32>()]);
    }
    // What the host writes there is put from there.
    let start = own.host_ptr().unwrap();
    // SAFETY: the last of its elements, which nothing uses now.
    unsafe { start.add(len - 1).write(77 + me) };
    shmem.barrier_all()?;
    shmem.put(&device, &own, (me + 1) % n)?;
    shmem.get(&back, &own, (me + 1) % n)?;
    shmem.barrier_all()?;
    assert_eq!((device.read()?[len - 1], back.read()?[len - 1]), (77 + previous, 77 + (me + 1) % n));
    let none = shmem.alloc_host_zeroed::<u32>(0)?;
    assert!(none.is_empty() && none.read()?.is_empty());
    shmem.free(none)
}

/// A free takes back what is behind all that is used, and gives nobody the host's memory for the device's.
fn holes_are_for_nobody(shmem: &Shmem) -> oxshmem::Result<()> {
    let offset = |vector: &SymVec<u8>| vector.handle().offset();
    let start = shmem.alloc_uninit::<u8>(1)?;
    let host = shmem.alloc_host_zeroed::<u8>(3 * MIB + 5)?;
    let behind = shmem.alloc_from_fn(5 * MIB + 3, |i| i as u8)?;
    let at = offset(&host);
    // Whole pages, of which nobody else has the rest.
    assert_eq!((at % (2 * MIB) as u64, offset(&behind) % (2 * MIB) as u64), (0, 0));
    assert_eq!(offset(&behind) - at, (4 * MIB) as u64);
    shmem.free(host)?;
    // They would fit there.
    let (more, pages) = (shmem.alloc_uninit::<u8>(3 * MIB)?, shmem.alloc_host_zeroed::<u8>(MIB)?);
    assert!(offset(&more) > offset(&behind) && offset(&pages) > offset(&behind));
    assert!(pages.host_ptr().is_some() && more.host_ptr().is_none());
    assert!(behind.read()?.iter().enumerate().all(|(i, &x)| x == i as u8));
    shmem.free(behind)?;
    shmem.free(more)?;
    // Dropped by all: its memory stays until a free.
    drop(pages);
    let last = shmem.alloc_uninit::<u8>(MIB)?;
    shmem.free(last)?;
    // All is unmapped now, and what was a hole is the device's.
    let again = shmem.alloc_from_fn(4 * MIB, |i| i as u8)?;
    assert!(offset(&again) <= at && again.host_ptr().is_none());
    assert!(again.read()?.iter().enumerate().all(|(i, &x)| x == i as u8));
    shmem.free(again)?;
    shmem.free(start)
}

/// Vectors of both kinds and odd sizes, in an order that all PEs draw alike, hold what they hold; and all goes back.
fn any_order_of_allocations_and_frees(shmem: &Shmem) -> oxshmem::Result<()> {
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % limit
    };
    let fresh = shmem.alloc_uninit::<u8>(1)?;
    let (first, mut kept) = (fresh.handle().offset(), Vec::<(SymVec<u32>, u32)>::new());
    shmem.free(fresh)?;
    for step in 0..40u32 {
        match below(5) {
            0 | 1 => {
                let len = 1 + below(MIB / 2);
                kept.push((shmem.alloc_from_fn(len, |i| step ^ i as u32)?, step));
            }
            2 => {
                let len = 1 + below(MIB / 2);
                kept.push((shmem.alloc_host_from_fn(len, |i| step ^ i as u32)?, step));
            }
            3 if !kept.is_empty() => drop(kept.swap_remove(below(kept.len()))),
            _ if !kept.is_empty() => shmem.free(kept.swap_remove(below(kept.len())).0)?,
            _ => {}
        }
        for (vector, step) in &kept {
            let last = vector.len() - 1;
            let mut ends = [0; 2];
            shmem.get(&mut ends[..1], vector.slice(0, 1), shmem.my_pe())?;
            shmem.get(&mut ends[1..], vector.slice(last, 1), shmem.my_pe())?;
            assert_eq!(ends, [*step, step ^ last as u32]);
        }
    }
    while !kept.is_empty() {
        shmem.free(kept.swap_remove(below(kept.len())).0)?;
    }
    let whole = shmem.alloc_uninit::<u8>(40 * MIB)?;
    assert_eq!(whole.handle().offset(), first);
    shmem.free(whole)
}

/// The host's memory is not counted on a device, and a heap's addresses end.
fn runs_out(shmem: &Shmem) -> oxshmem::Result<()> {
    let large = shmem.alloc_host_zeroed::<u8>(20 * MIB)?;
    let local = shmem.device_zeroed::<u8>(40 * MIB)?;
    drop(local);
    let Error::OutOfMemory { asked, available, .. } = error(shmem.alloc_host_zeroed::<u8>(60 * MIB)) else {
        panic!("there are not as many addresses")
    };
    assert!(asked == 60 << 20 && available < asked, "{available}");
    says(error(shmem.alloc_host_zeroed::<u64>(1 << 60)), &["out of memory"]);
    assert!(matches!(error(shmem.alloc_host_zeroed::<u64>(usize::MAX)), Error::SizeOverflow { .. }));
    // What the message calls available is.
    let rest = shmem.alloc_host_zeroed::<u8>(available as usize)?;
    shmem.free(rest)?;
    shmem.free(large)?;
    shmem.barrier_all()
}

/// Who asks for another kind of memory than the others learns what they asked for, and all go on.
fn kinds_that_differ(shmem: &Shmem) -> oxshmem::Result<()> {
    let asked = match shmem.my_pe() {
        0 => shmem.alloc_zeroed::<u32>(100),
        _ => shmem.alloc_host_zeroed::<u32>(100),
    };
    let found = error(asked);
    assert!(matches!(found, Error::CallsDiffer { .. }));
    says(found, &["PE 0: alloc_zeroed of 100 u32", "PE 1: alloc_host_zeroed of 100 u32"]);
    shmem.alloc_host_zeroed::<u32>(100).map(drop)
}

/// Emulated GPUs have no memory that can be mapped twice; the PEs learn whose it was, and all go on.
fn no_second_mapping(shmem: &Shmem) -> oxshmem::Result<()> {
    let mut own = vec![0u32; MIB];
    // SAFETY: the memory outlives what this would return.
    let refused = error(unsafe { shmem.buffer_register_symmetric(own.as_mut_ptr(), own.len()) });
    says(
        refused,
        &["cannot register", "memory of an emulated GPU's host", "cuMemCreate", "alloc_host_zeroed"],
    );
    // On one PE alone it has no address.
    let start = if shmem.my_pe() == 0 { std::ptr::null_mut() } else { own.as_mut_ptr() };
    // SAFETY: as above.
    let refused = error(unsafe { shmem.buffer_register_symmetric(start, own.len()) });
    match shmem.my_pe() {
        0 => says(refused, &["PE 0 cannot register", "the pointer is null"]),
        _ => says(refused, &["PE 0", "the pointer is null"]),
    }
    let heap = shmem.alloc_host_zeroed::<u32>(5)?;
    // SAFETY: as above.
    let refused = error(unsafe { shmem.buffer_register_symmetric(heap.host_ptr().unwrap().as_ptr(), 5) });
    says(refused, &["it lies in the symmetric heap of PE"]);
    // Of nothing, nothing is mapped.
    // SAFETY: no element is used.
    let none = unsafe { shmem.buffer_register_symmetric(own.as_mut_ptr(), 0)? };
    assert!(none.is_empty());
    shmem.free(none)
}

fn all(shmem: &Shmem) -> oxshmem::Result<()> {
    is_used_as_any_other(shmem)?;
    holes_are_for_nobody(shmem)?;
    any_order_of_allocations_and_frees(shmem)?;
    runs_out(shmem)?;
    kinds_that_differ(shmem)?;
    no_second_mapping(shmem)?;
    shmem.barrier_all()
}

#[test]
fn threads_have_symmetric_memory_in_the_hosts() {
    for pes in [2, 3] {
        config(pes).run(|shmem| all(&shmem)).unwrap();
    }
}

#[test]
fn the_checker_names_it() {
    let report = check(&CheckOptions::default().seeds(5), 2, |shmem: Shmem| {
        let inbox = shmem.alloc_host_zeroed::<u32>(1000)?;
        // Both PEs put into one copy, with no order between them.
        shmem.put(&inbox, &[shmem.my_pe(); 1000], 0)?;
        shmem.barrier_all()
    });
    let report = report.unwrap();
    assert!(report.findings.iter().any(|(finding, _)| finding.kind == Kind::DataRace), "{report}");
    says(&report, &["u32 of ", "tests/backed.rs"]);
    let report = check(&CheckOptions::default().seeds(5), 3, |shmem: Shmem| is_used_as_any_other(&shmem));
    let report = report.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}

/// The variable by which a child is told its rank and the file of the unique id.
const CHILD: &str = "BACKED_CHILD";

#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let order = std::env::var(CHILD).unwrap();
    let mut words = order.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse::<u32>().unwrap();
    let (rank, pes) = (number(), number());
    let id = again::meet(Path::new(words.next().unwrap()), rank);
    let session = config(1).unique_id(rank, pes, &id).init().unwrap();
    all(&session).unwrap();
    session.end().unwrap();
}

#[test]
fn processes_have_symmetric_memory_in_the_hosts() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("backed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for pes in [2, 3] {
        let file = folder.join(pes.to_string());
        let order = |rank: u32| format!("{rank} {pes} {}", file.display());
        let ended = again::all(CHILD, (0..pes).map(order));
        assert_eq!(ended, vec![true; pes as usize]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
