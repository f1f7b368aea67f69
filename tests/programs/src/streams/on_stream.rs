//! Operations on streams.

use super::{same, same_elements, sizes};
use crate::kernels::streams::{expected, produce};
use oxshmem::{LaunchConfig, Reach, Result, Shmem, SignalOp, Stream};
use oxshmem_device::Cmp;

const SHAPE: LaunchConfig = LaunchConfig::blocks(1).threads(64);

pub(super) fn all(shmem: &Shmem) -> Result<()> {
    data(shmem)?;
    chain(shmem)?;
    words(shmem)?;
    events(shmem)
}

/// Puts, gets and put_signals of all sizes, of local and symmetric memory, behind a kernel that makes the data.
fn data(shmem: &Shmem) -> Result<()> {
    let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
    let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
    for len in sizes(shmem) {
        let (round, local) = (shmem.device_zeroed::<u64>(1)?, shmem.device_zeroed::<u64>(len)?);
        let (put, copied) = (shmem.alloc_zeroed::<u64>(len + 3)?, shmem.alloc_zeroed::<u64>(len)?);
        let (got, ready) = (shmem.alloc_zeroed::<u64>(len)?, shmem.alloc_signals(1)?);
        for now in 1..4 {
            produce::launch_on(shmem, &stream, SHAPE, &round, &local)?;
            shmem.put_on(&stream, put.slice(1, len), &local, next)?;
            shmem.put_signal_on(&stream, &copied, &local, ready.at(0), SignalOp::Add(1), next)?;
            shmem.wait_until_on(&stream, ready.at(0), Cmp::Ge, now)?;
            shmem.barrier_all_on(&stream)?;
            shmem.get_on(&stream, &got, put.slice(1, len), next)?;
            stream.synchronize()?;
            let of = |pe: u32| move |i: usize| expected(pe, now, i as u64);
            let around =
                move |i: usize| if i >= 1 && i < 1 + len { expected(prev, now, i as u64 - 1) } else { 0 };
            same_elements("put_on", &put.read()?, around)?;
            same_elements("put_signal_on", &copied.read()?, of(prev))?;
            same_elements("get_on", &got.read()?, of(me))?;
            // A get of the next PE reads what this PE's next round writes.
            shmem.barrier_all()?;
        }
        shmem.free(put)?;
        shmem.free(copied)?;
        shmem.free(got)?;
        shmem.free(ready)?;
    }
    Ok(())
}

/// A value goes round the ring several times, on several streams side by side, with no host between.
fn chain(shmem: &Shmem) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let (next, rounds) = ((me + 1) % n, 20u64);
    // A GPU has a few hardware queues for the streams of all its PEs, and those that share one hold each other back.
    let lanes = if shmem.is_emulated() || n <= 2 { 3 } else { 1 };
    let streams: Vec<Stream> = (0..lanes).map(|_| shmem.stream()).collect::<Result<_>>()?;
    let (value, ready) = (shmem.alloc_zeroed::<u64>(3)?, shmem.alloc_signals(3)?);
    let seen = shmem.alloc_zeroed::<u64>(lanes * rounds as usize)?;
    for round in 0..rounds {
        for (at, stream) in streams.iter().enumerate() {
            let signal = ready.at(at);
            if me == 0 {
                shmem.p_on(stream, value.at(at), 1000 * round + at as u64, next)?;
                shmem.signal_on(stream, signal, SignalOp::Set(round + 1), next)?;
            }
            shmem.wait_reached_on(stream, signal, round + 1)?;
            shmem.get_on(stream, seen.slice(lanes * round as usize + at, 1), value.slice(at, 1), me)?;
            if me != 0 {
                let one = value.slice(at, 1);
                shmem.put_signal_on(stream, one, one, signal, SignalOp::Set(round + 1), next)?;
            }
        }
    }
    streams.iter().try_for_each(Stream::synchronize)?;
    let expected = |i: usize| 1000 * (i / lanes) as u64 + (i % lanes) as u64;
    same_elements("what went round", &seen.read()?, expected)?;
    shmem.barrier_all()
}

/// Atomics, with the value before left for the stream.
fn words(shmem: &Shmem) -> Result<()> {
    let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
    let (words, old) = (shmem.alloc_atomics::<u32>(2, Reach::World)?, shmem.device_zeroed::<u32>(1)?);
    for _ in 0..10 {
        for pe in 0..n {
            shmem.atomic_add_on(&stream, words.at(0), 3, pe)?;
            shmem.atomic_inc_on(&stream, words.at(0), pe)?;
        }
    }
    shmem.atomic_set_on(&stream, words.at(1), 40 + me, (me + 1) % n)?;
    shmem.quiet_on(&stream)?;
    shmem.atomic_fetch_add_on(&stream, &old, words.at(1), 2, (me + 1) % n)?;
    shmem.barrier_all_on(&stream)?;
    stream.synchronize()?;
    same("atomic_fetch_add_on", old.read()?, vec![40 + me])?;
    same("atomics on a stream", words.values()?, vec![40 * n, 42 + (me + n - 1) % n])?;
    shmem.barrier_all()
}

/// A stream waits for another one, which waits for the host: emulated until after the event is waited for, on a GPU until it is
/// recorded, so that the streams can share a hardware queue.
fn events(shmem: &Shmem) -> Result<()> {
    let (me, first, second) = (shmem.my_pe(), shmem.stream()?, shmem.stream()?);
    let (round, local) = (shmem.device_zeroed::<u64>(1)?, shmem.device_zeroed::<u64>(100)?);
    let (gate, copy) = (shmem.alloc_signals(1)?, shmem.alloc_zeroed::<u64>(100)?);
    for now in 1..6 {
        shmem.wait_reached_on(&first, gate.at(0), now)?;
        if !shmem.is_emulated() {
            shmem.signal(gate.at(0), SignalOp::Set(now), me)?;
        }
        produce::launch_on(shmem, &first, SHAPE, &round, &local)?;
        second.wait_event(&first.record()?)?;
        shmem.put_on(&second, &copy, &local, me)?;
        if shmem.is_emulated() {
            shmem.signal(gate.at(0), SignalOp::Set(now), me)?;
        }
        second.synchronize()?;
        same_elements("behind an event", &copy.read()?, |i| expected(me, now, i as u64))?;
    }
    shmem.barrier_all()
}
