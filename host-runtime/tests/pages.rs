//! Memory of the heap that goes back to the devices, growth that fails, and jobs that follow each other in one process: with PEs
//! as threads, and as processes, each of which is this test program again. On the emulator.

mod common;

use common::*;
use oxshmem::{Config, Error, Session, Shmem, SymVec};
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;
/// Memory of each device.
const MEMORY: u64 = 64 << 20;
/// More than half of it.
const LARGE: usize = 40 * MIB;

fn config(pes: u32) -> Config {
    emulated(pes).emulated_memory(MEMORY)
}

/// Whether the device has `LARGE` bytes beside the heap.
fn has_room(shmem: &Shmem) -> bool {
    match shmem.device_zeroed::<u8>(LARGE) {
        Ok(_) => true,
        Err(Error::OutOfMemory { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

/// Memory goes back when a vector is freed that the heap grew for, and the heap grows again.
fn gives_back(shmem: &Shmem) -> oxshmem::Result<()> {
    let keep = shmem.alloc_from_fn(MIB / 4, |i| i as u32 ^ shmem.my_pe())?;
    for round in 0..3u8 {
        let large = shmem.alloc_from_fn(LARGE, |i| i as u8 ^ round)?;
        touch::launch(shmem, ONE, &keep)?;
        assert!(!has_room(shmem));
        assert!(large.read()?.iter().enumerate().all(|(i, &x)| x == i as u8 ^ round));
        shmem.barrier_all()?;
        shmem.free(large)?;
        assert!(has_room(shmem), "round {round}");
        shmem.barrier_all()?;
    }
    // Fresh memory is zeroed, and what was kept is as it was.
    assert!(shmem.alloc_zeroed::<u8>(LARGE)?.read()?.iter().all(|&x| x == 0));
    assert!(keep.read()?.iter().enumerate().all(|(i, &x)| x == i as u32 ^ shmem.my_pe()));
    shmem.free(keep)
}

/// A growth for which PE 1's device has no memory is an error on every PE, and the heap goes on.
fn grows_after_a_failure(shmem: &Shmem) -> oxshmem::Result<()> {
    let keep = shmem.alloc_from_fn(1000, |i| i as u32)?;
    let hold = if shmem.my_pe() == 1 { Some(shmem.device_zeroed::<u8>(LARGE)?) } else { None };
    says(error(shmem.alloc_zeroed::<u8>(LARGE)), &["out of memory", "symmetric heap"]);
    assert_eq!(shmem.alloc_from_fn(1000, |i| i as u32)?.read()?, keep.read()?);
    drop(hold);
    shmem.barrier_all()?;
    let large = shmem.alloc_zeroed::<u8>(LARGE)?;
    shmem.put(large.slice(LARGE - 1, 1), &[7], (shmem.my_pe() + 1) % shmem.n_pes())?;
    shmem.barrier_all()?;
    assert_eq!(large.read()?[LARGE - 1], 7);
    shmem.free(large)?;
    shmem.barrier_all()
}

#[test]
fn memory_of_freed_vectors_goes_back_to_the_device() {
    config(2).run(|shmem| gives_back(&shmem)).unwrap();
    config(1).run(|shmem| gives_back(&shmem)).unwrap();
}

#[test]
fn a_growth_goes_back_when_it_and_all_behind_it_hold_nothing() {
    config(2)
        .run(|shmem| {
            let first: SymVec<u8> = shmem.alloc_uninit(LARGE)?;
            let second: SymVec<u8> = shmem.alloc_uninit(8 * MIB)?;
            shmem.free(first)?;
            assert!(!has_room(&shmem), "the second is behind it");
            // What was dropped, and not freed, goes back with the next free.
            drop(second);
            let small = shmem.alloc_zeroed::<u8>(1)?;
            assert!(!has_room(&shmem));
            shmem.free(small)?;
            assert!(has_room(&shmem));
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_growth_that_fails_on_one_pe_leaves_the_heap_usable() {
    config(3).run(|shmem| grows_after_a_failure(&shmem)).unwrap();
}

/// Numbers of PEs and heap limits of the jobs that follow each other.
const JOBS: [(u32, u64); 4] = [(3, 64 << 20), (1, 4 << 20), (2, 32 << 20), (3, 16 << 20)];

/// Fills the heap of a job to its limit, and talks to the next PE.
fn fills(shmem: &Shmem, limit: u64) -> oxshmem::Result<()> {
    let (me, n_pes) = (shmem.my_pe(), shmem.n_pes());
    let len = limit as usize / 4 - 1024;
    let vector = shmem.alloc_uninit::<u32>(len)?;
    shmem.put(vector.slice(len - 2, 2), &[me, n_pes], (me + 1) % n_pes)?;
    shmem.barrier_all()?;
    let mut end = [0; 2];
    shmem.get(&mut end, vector.slice(len - 2, 2), me)?;
    assert_eq!(end, [(me + n_pes - 1) % n_pes, n_pes]);
    assert!(matches!(error(shmem.alloc_uninit::<u32>(len)), Error::OutOfMemory { .. }));
    shmem.barrier_all()
}

#[test]
fn jobs_of_other_sizes_follow_each_other_in_one_process() {
    let mut kept = Vec::new();
    for round in 0..2 {
        for (pes, limit) in JOBS {
            let config = emulated(pes).heap_limit(limit);
            let of_run = config.run(|shmem| {
                fills(&shmem, limit)?;
                shmem.alloc_zeroed::<u8>(round + 1)
            });
            // Vectors of earlier jobs are kept, and are of no use.
            kept.extend(of_run.unwrap());
        }
    }
    assert!(kept.iter().all(|vector| matches!(vector.read(), Err(Error::Config { .. }))));
}

/// The variable by which a child is told its rank and the folder of the unique ids.
const CHILD: &str = "PAGES_CHILD";

/// One process of all jobs.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let order = std::env::var(CHILD).unwrap();
    let (rank, folder) = order.split_once(' ').unwrap();
    let rank = rank.parse().unwrap();
    let join = |number: usize, pes: u32, config: Config| -> Session {
        let id = again::meet(&Path::new(folder).join(number.to_string()), rank);
        config.unique_id(rank, pes, &id).init().unwrap()
    };
    for (number, (pes, limit)) in JOBS.into_iter().enumerate() {
        if rank < pes {
            let session = join(number, pes, emulated(1).heap_limit(limit));
            fills(&session, limit).unwrap();
            session.end().unwrap();
        }
    }
    let session = join(JOBS.len(), 3, config(1));
    gives_back(&session).unwrap();
    session.barrier_all().unwrap();
    grows_after_a_failure(&session).unwrap();
    session.end().unwrap();
}

#[test]
fn processes_give_memory_back_and_join_jobs_of_other_sizes() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ended = again::all(CHILD, (0..3).map(|rank| format!("{rank} {}", folder.display())));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(ended, [true; 3]);
}
