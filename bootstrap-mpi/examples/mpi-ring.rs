//! Every PE, which is a process of MPI, sends a vector to its right neighbour inside a kernel, and checks what the left one
//! sent; MPI works before, beside and after it.
//!
//! `mpirun -n 4 mpi-ring [ELEMENTS]`

use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives};
use oxshmem_device::prelude::*;
use std::process::ExitCode;

/// Sends `src` to the right neighbour and waits for the left one's data.
#[nvshmem_kernel]
fn shift(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, ready: Sym<Signal>, round: u64) {
    let block = shmem.block();
    block.put_signal(dst, src, ready, SignalOp::Set(round), shmem.next_pe());
    block.wait_reached(ready, round);
}

/// Element `i` of what PE `pe` sends.
fn element(pe: u32, i: usize) -> u32 {
    pe << 20 | (i & 0xf_ffff) as u32
}

/// Whether this PE received what it should.
fn ring(on: &oxshmem::Shmem, elements: usize, round: u64) -> oxshmem::Result<bool> {
    let (me, n) = (on.my_pe(), on.n_pes());
    let src = on.alloc_from_fn(elements, |i| element(me, i))?;
    let dst = on.alloc_zeroed::<u32>(elements)?;
    let ready = on.alloc_signals(1)?;
    on.barrier_all()?;
    shift::launch(on, LaunchConfig::blocks(1).threads(64), &dst, &src, ready.at(0), round)?;
    on.barrier_all()?;
    let left = (me + n - 1) % n;
    Ok(dst.read()?.iter().enumerate().all(|(i, &value)| value == element(left, i)))
}

fn program(elements: usize) -> oxshmem::Result<bool> {
    let universe = mpi::initialize().ok_or_else(|| oxshmem::Error::other("MPI runs already"))?;
    let world = universe.world();
    // As a session, then as a run: each has an id of its own.
    let session = oxshmem_mpi::init(&world)?;
    let same = session.my_pe() as i32 == world.rank() && session.n_pes() as i32 == world.size();
    let mut right = same && ring(&session, elements, 1)?;
    session.end()?;
    let config = oxshmem_mpi::config(&world, oxshmem::Config::from_env()?)?;
    right &= config.run(|shmem| ring(&shmem, elements, 1))?.iter().all(|&right| right);
    let (mine, mut all) = (u8::from(right), 0_u8);
    world.all_reduce_into(&mine, &mut all, SystemOperation::min());
    if world.rank() == 0 {
        println!(
            "mpi-ring  {} PEs  {elements} u32 per PE  verified {}",
            world.size(),
            if all == 1 { "yes" } else { "no" }
        );
    }
    Ok(all == 1)
}

fn main() -> ExitCode {
    let elements = std::env::args().nth(1).map_or(Ok(1003), |text| text.parse());
    let Ok(elements) = elements else {
        eprintln!("mpi-ring: the number of elements is a whole number");
        return ExitCode::from(2);
    };
    match program(elements) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // In one piece: other PEs may write at the same time.
            let said = format!("mpi-ring: {error}");
            eprintln!("{said}");
            ExitCode::FAILURE
        }
    }
}
