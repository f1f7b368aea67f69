//! Memory of every kind, on any device: a heap that grows and gives back, the program's own memory in kernels and host
//! operations, pinned host memory on a stream. `memory [ELEMENTS]` prints one line, with `verified yes` if all is as it should
//! be on every PE.

use oxshmem::{LaunchConfig, Result, Shmem};
use oxshmem_programs::kernels::registered::put_in_rounds;
use oxshmem_programs::own_memory::OwnMemory;

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
        let ok = shmem.all_gather(&u32::from(ok))?.iter().all(|&ok| ok == 1);
        if shmem.my_pe() == 0 {
            let verdict = if ok { "yes" } else { "no" };
            println!("memory  {}  {} PEs  verified {verdict}", shmem.device_name(), shmem.n_pes());
        }
        if ok { Ok(()) } else { Err(oxshmem::Error::other("a value is wrong")) }
    })
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
