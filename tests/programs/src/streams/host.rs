//! Blocking operations.

use super::{same, same_elements, sizes};
use crate::kernels::streams::{expected, wait_for};
use oxshmem::{LaunchConfig, Reach, Result, Shmem, SignalOp};

pub(super) fn all(shmem: &Shmem) -> Result<()> {
    data(shmem)?;
    words(shmem)?;
    signals(shmem)
}

/// Puts and gets of all sizes, of host and device memory, with what is around them left alone.
fn data(shmem: &Shmem) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
    for (round, len) in (1..).zip(sizes(shmem)) {
        let (data, own) = (shmem.alloc_zeroed::<u64>(len + 5)?, shmem.alloc_zeroed::<u64>(len)?);
        let of = |pe: u32| move |i: usize| expected(pe, round, i as u64);
        let values: Vec<u64> = (0..len).map(of(me)).collect();
        let local = shmem.device_from_slice(&values)?;
        own.write(&values)?;
        for how in 0..3 {
            data.fill(9)?;
            shmem.barrier_all()?;
            let target = data.slice(3, len);
            match how {
                0 => shmem.put(target, &values, next)?,
                1 => shmem.put(target, &local, next)?,
                _ => shmem.put(target, &own, next)?,
            }
            shmem.barrier_all()?;
            let around =
                move |i: usize| if i >= 3 && i < 3 + len { expected(prev, round, i as u64 - 3) } else { 9 };
            same_elements("put", &data.read()?, around)?;
        }
        let mut host = vec![0; len];
        shmem.get(&mut host, data.slice(3, len), next)?;
        same_elements("get into host memory", &host, of(me))?;
        shmem.get(&local, &own, next)?;
        same_elements("get into local memory", &local.read()?, of(next))?;
        // The neighbour's vector is still in use.
        shmem.barrier_all()?;
        shmem.get(&own, data.slice(3, len), me)?;
        same_elements("get from the own PE", &own.read()?, of(prev))?;
        if len > 0 {
            shmem.barrier_all()?;
            shmem.p(data.at(3), u64::from(me) + 77, next)?;
            shmem.barrier_all()?;
            same("p and g", shmem.g(data.at(3), me)?, u64::from(prev) + 77)?;
            same("g", shmem.g(data.at(3), next)?, u64::from(me) + 77)?;
        }
        shmem.barrier_all()?;
        shmem.free(data)?;
        shmem.free(own)?;
    }
    Ok(())
}

/// Atomics of all PEs on one word of each.
fn words(shmem: &Shmem) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let words = shmem.alloc_atomics::<i64>(3, Reach::World)?;
    let reals = shmem.alloc_atomics::<f32>(1, Reach::World)?;
    for _ in 0..10 {
        for pe in 0..n {
            shmem.atomic_add(words.at(0), -3, pe)?;
            shmem.atomic_fetch_inc(words.at(0), pe)?;
            shmem.atomic_or(words.at(1), 1 << me, pe)?;
            shmem.atomic_add(reals.at(0), 0.25, pe)?;
        }
    }
    shmem.barrier_all()?;
    same("atomic_add and atomic_fetch_inc", words.values()?[0], -20 * i64::from(n))?;
    same("atomic_or", words.values()?[1], (1 << n) - 1)?;
    same("atomic_add of f32", reals.values()?[0], 2.5 * n as f32)?;
    shmem.barrier_all()?;
    let (next, word) = ((me + 1) % n, words.at(2));
    shmem.atomic_set(word, 5, next)?;
    same("atomic_swap", shmem.atomic_swap(word, -6, next)?, 5)?;
    same("atomic_compare_swap", shmem.atomic_compare_swap(word, 5, 1, next)?, -6)?;
    same("atomic_compare_swap", shmem.atomic_compare_swap(word, -6, 0b1100, next)?, -6)?;
    same("atomic_fetch_and", shmem.atomic_fetch_and(word, 0b0110, next)?, 0b1100)?;
    same("atomic_fetch_xor", shmem.atomic_fetch_xor(word, 1, next)?, 0b0100)?;
    same("atomic_fetch", shmem.atomic_fetch(word, next)?, 0b0101)?;
    shmem.barrier_all()?;
    shmem.free(words)?;
    shmem.free(reals)
}

/// The host lets kernels go that wait: those of the next PE, and its own.
fn signals(shmem: &Shmem) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let signals = shmem.alloc_signals(2)?;
    wait_for::launch(shmem, LaunchConfig::blocks(1).threads(64), signals.at(0), 6)?;
    wait_for::launch(shmem, LaunchConfig::blocks(1).threads(64), signals.at(1), 1)?;
    shmem.signal(signals.at(0), SignalOp::Add(2), (me + 1) % n)?;
    shmem.signal(signals.at(0), SignalOp::Add(4), (me + 1) % n)?;
    shmem.signal(signals.at(1), SignalOp::Set(1), me)?;
    shmem.quiet()?;
    same("signal_fetch", shmem.signal_fetch(signals.at(1))?, 1)?;
    shmem.barrier_all()?;
    same("signals", signals.values()?, vec![6, 1])?;
    shmem.barrier_all()
}
