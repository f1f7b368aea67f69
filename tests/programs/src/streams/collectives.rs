//! Collective operations on streams: of teams, types and sizes, side by side on two channels, and in a graph.

#[path = "../../../../host-runtime/tests/collectives_on_streams/expected.rs"]
mod expected;

use super::same_elements;
use crate::kernels::streams::produce;
use expected::Bench;
use oxshmem::{LaunchConfig, Result, Shmem};
use oxshmem_device::collective::IntegerOp;
use oxshmem_device::{Max, Prod, Sum, bf16};

pub(super) fn all(shmem: &Shmem, replays: u64) -> Result<()> {
    values(shmem)?;
    channels(shmem)?;
    graph(shmem, replays)
}

/// Every operation, on all PEs and on a team in which they have other numbers, by packets and by loads and stores.
fn values(shmem: &Shmem) -> Result<()> {
    let (stream, world, n) = (shmem.stream()?, shmem.team_world(), shmem.n_pes());
    let reversed = shmem.team_split_strided(&world, n - 1, -1, n)?;
    let large = if shmem.is_emulated() { 20_001 } else { 1_000_003 };
    for count in [1, 17, 1000, large] {
        let narrow = Bench::<u16>::new(shmem, &stream, count)?;
        let (wide, signed) =
            (Bench::<f64>::new(shmem, &stream, count)?, Bench::<i8>::new(shmem, &stream, count)?);
        for team in [Some(&world), reversed.as_ref()] {
            narrow.data(team)?;
            narrow.reductions(team, IntegerOp::Xor, |a, b| a ^ b)?;
            wide.reductions(team, Sum, |a, b| a + b)?;
            signed.reductions(team, Max, Ord::max)?;
        }
    }
    let small = Bench::<bf16>::new(shmem, &stream, 100)?;
    small.reductions(Some(&world), Prod, |a, b| bf16::from_f32(a.to_f32() * b.to_f32()))?;
    shmem.barrier_all()
}

/// Two operations of a team at once, from two streams.
fn channels(shmem: &Shmem) -> Result<()> {
    let (team, n) = (shmem.team_world(), u64::from(shmem.n_pes()));
    let (a, b) = (shmem.stream()?, shmem.stream()?);
    let (x, y) = (shmem.alloc_zeroed::<u64>(3000)?, shmem.alloc_zeroed::<u64>(3000)?);
    for round in 0..20 {
        x.write(&[round; 3000])?;
        y.write(&[round + u64::from(shmem.my_pe()); 3000])?;
        shmem.reduce_on(&a, &team, Sum, &x, &x)?;
        shmem.reduce_on(&b, team.channel(1), Max, &y, &y)?;
        a.synchronize()?;
        b.synchronize()?;
        same_elements("reduce_on of channel 0", &x.read()?, |_| n * round)?;
        same_elements("reduce_on of channel 1", &y.read()?, |_| round + n - 1)?;
    }
    shmem.barrier_all()
}

/// Data that grows from launch to launch.
fn graph(shmem: &Shmem, replays: u64) -> Result<()> {
    let (team, stream, n) = (shmem.team_world(), shmem.stream()?, u64::from(shmem.n_pes()));
    let x = shmem.alloc_from_slice(&[1u64; 5])?;
    let sums = shmem.alloc_zeroed::<u64>(5 * n as usize)?;
    let round = shmem.device_zeroed::<u64>(1)?;
    let made = shmem.device_zeroed::<u64>(5)?;
    let graph = stream.capture(|| {
        produce::launch_on(shmem, &stream, LaunchConfig::blocks(1).threads(32), &round, &made)?;
        shmem.put_on(&stream, &x, &made, shmem.my_pe())?;
        shmem.reduce_to_on(&stream, &team, Sum, &x, &x, 0)?;
        shmem.broadcast_on(&stream, &team, &x, &x, 0)?;
        shmem.fcollect_on(&stream, &team, &sums, &x)
    })?;
    for launch in 1..=replays {
        graph.launch(&stream)?;
        // What waits in a queue of the emulator has its threads already.
        if shmem.is_emulated() && launch % 20 == 0 {
            stream.synchronize()?;
        }
    }
    stream.synchronize()?;
    let of = |pe, i| crate::kernels::streams::expected(pe, replays, i);
    let sum = |i: u64| (0..shmem.n_pes()).fold(0u64, |sum, pe| sum.wrapping_add(of(pe, i)));
    same_elements("a graph's fcollect", &sums.read()?, |i| sum(i as u64 % 5))?;
    shmem.barrier_all()
}
