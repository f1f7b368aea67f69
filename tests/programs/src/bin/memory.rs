//! Memory of every kind, on any device: a heap that grows and gives back, the program's own memory in kernels and host
//! operations, pinned host memory on a stream, symmetric memory that is the host's or, on CUDA, that the program has made.
//! `memory [ELEMENTS]` prints two lines, each with `verified yes` if all is as it should be on every PE: the second is of
//! symmetric memory that is not the device's own.

use oxshmem::{LaunchConfig, Result, Shmem};
use oxshmem_programs::kernels::registered::{pass_on, put_in_rounds};
use oxshmem_programs::own_memory::{Mappable, OwnMemory};

/// How often each part is done.
const ROUNDS: u32 = 3;

fn main() -> Result<()> {
    let elements = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_003);
    oxshmem::run(|shmem| {
        let mut ok = true;
        for round in 0..ROUNDS {
            ok &= grows_and_gives_back(&shmem, elements, round)?;
            ok &= own_memory(&shmem, elements, round)?;
            ok &= host_memory(&shmem, elements, round)?;
        }
        says(&shmem, "memory", ok)?;
        let mut ok = true;
        for round in 0..ROUNDS {
            ok &= symmetric_in_the_hosts(&shmem, elements, round)?;
            if !shmem.is_emulated() {
                ok &= symmetric_of_the_programs(&shmem, elements, round)?;
            }
        }
        says(&shmem, "memory with other backing", ok)
    })
}

/// Prints whether all is well on all PEs; it is an error if not.
fn says(shmem: &Shmem, what: &str, ok: bool) -> Result<()> {
    let ok = shmem.all_gather(&u32::from(ok))?.iter().all(|&ok| ok == 1);
    if shmem.my_pe() == 0 {
        let verdict = if ok { "yes" } else { "no" };
        println!("{what}  {}  {} PEs  verified {verdict}", shmem.device_name(), shmem.n_pes());
    }
    if ok { Ok(()) } else { Err(oxshmem::Error::other("a value is wrong")) }
}

/// What element `i` of PE `pe` holds in this round.
fn value(pe: u32, round: u32, i: usize) -> u32 {
    (pe << 28) ^ (round << 24) ^ i as u32
}

fn holds(values: &[u32], pe: u32, round: u32) -> bool {
    values.iter().enumerate().all(|(i, &found)| found == value(pe, round, i))
}

fn neighbours(shmem: &Shmem) -> (u32, u32) {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    ((me + n - 1) % n, (me + 1) % n)
}

/// Each round takes more than the one before, and frees it.
fn grows_and_gives_back(shmem: &Shmem, elements: usize, round: u32) -> Result<bool> {
    let len = elements * (round as usize + 2);
    let (previous, next) = neighbours(shmem);
    let (from, to) =
        (shmem.alloc_from_fn(len, |i| value(shmem.my_pe(), round, i))?, shmem.alloc_zeroed::<u32>(len)?);
    shmem.put(&to, &from, next)?;
    shmem.barrier_all()?;
    let ok = holds(&to.read()?, previous, round);
    shmem.free(to)?;
    shmem.free(from)?;
    Ok(ok)
}

/// A kernel puts it, and the host gets into it.
fn own_memory(shmem: &Shmem, elements: usize, round: u32) -> Result<bool> {
    let (previous, _) = neighbours(shmem);
    let mut own = OwnMemory::new(shmem, elements)?;
    // SAFETY: it is dropped after the registration, at the end of which nothing uses it.
    let registered = unsafe { shmem.buffer_register(own.start(), elements)? };
    let values: Vec<u32> = (0..elements).map(|i| value(shmem.my_pe(), round, i)).collect();
    registered.write(&values)?;
    let (inbox, ready) = (shmem.alloc_zeroed::<u32>(elements)?, shmem.alloc_signals(1)?);
    let shape = LaunchConfig::blocks(1).threads(256);
    put_in_rounds::launch(shmem, shape, &inbox, &registered, ready.at(0), 2)?;
    shmem.barrier_all()?;
    shmem.get(&registered, &inbox, shmem.my_pe())?;
    let ok = holds(&registered.read()?, previous, round);
    shmem.buffer_unregister(registered)?;
    Ok(ok)
}

/// To this PE's copy and back from the next one's, with nothing waited for between.
fn host_memory(shmem: &Shmem, elements: usize, round: u32) -> Result<bool> {
    let (_, next) = neighbours(shmem);
    let values: Vec<u32> = (0..elements).map(|i| value(shmem.my_pe(), round, i)).collect();
    let (from, to) = (shmem.host_from_slice(&values)?, shmem.host_zeroed::<u32>(elements)?);
    let (vector, stream) = (shmem.alloc_zeroed::<u32>(elements)?, shmem.stream()?);
    vector.write_on(&stream, &from)?;
    shmem.barrier_all_on(&stream)?;
    shmem.get_on(&stream, &to, &vector, next)?;
    let others = holds(&to.read()?, next, round);
    vector.read_on(&stream, &to)?;
    let ok = others && holds(&to.read()?, shmem.my_pe(), round);
    shmem.barrier_all()?;
    Ok(ok)
}

/// Kernels put from the host's memory into the next PE's, and the host finds it there; also behind memory of the device, and
/// when that was freed.
fn symmetric_in_the_hosts(shmem: &Shmem, elements: usize, round: u32) -> Result<bool> {
    let (previous, next) = neighbours(shmem);
    let own = shmem.alloc_host_from_fn(elements, |i| value(shmem.my_pe(), round, i))?;
    let between = shmem.alloc_uninit::<u32>(elements)?;
    let (inbox, ready) = (shmem.alloc_host_zeroed::<u32>(elements)?, shmem.alloc_signals(1)?);
    shmem.free(between)?;
    let shape = LaunchConfig::blocks(1).threads(256);
    pass_on::launch(shmem, shape, &inbox, &own, ready.at(0))?;
    shmem.barrier_all()?;
    let Some(start) = inbox.host_ptr() else { return Ok(false) };
    // SAFETY: all of a live vector, into which nobody puts between the two barriers.
    let found = unsafe { std::slice::from_raw_parts(start.as_ptr(), elements) };
    let came = holds(found, previous, round);
    let mut back = vec![0; elements];
    shmem.get(&mut back, &inbox, next)?;
    let ok = came && holds(&back, shmem.my_pe(), round);
    shmem.barrier_all()?;
    shmem.free(own)?;
    shmem.free(inbox)?;
    Ok(ok)
}

/// Kernels put into memory that the next PE's program has made, which finds it there.
fn symmetric_of_the_programs(shmem: &Shmem, elements: usize, round: u32) -> Result<bool> {
    let (previous, _) = neighbours(shmem);
    let made = Mappable::new(shmem, elements * size_of::<u32>())?;
    // SAFETY: it is dropped after the registration's end, and nothing uses its own address before that.
    let inbox = unsafe { shmem.buffer_register_symmetric(made.start(), elements)? };
    let own = shmem.alloc_from_fn(elements, |i| value(shmem.my_pe(), round, i))?;
    let ready = shmem.alloc_signals(1)?;
    let shape = LaunchConfig::blocks(1).threads(256);
    pass_on::launch(shmem, shape, &inbox, &own, ready.at(0))?;
    shmem.barrier_all()?;
    let there = holds(&inbox.read()?, previous, round);
    shmem.free(inbox)?;
    let mut found = vec![0; elements];
    made.read(&mut found)?;
    Ok(there && holds(&found, previous, round))
}
