//! Operations of the host: put, get, one element, signals, atomics, order, on every PE of a job, and what is refused.

mod common;

use common::*;
use oxshmem::{Error, Reach, Shmem, SignalOp};
use oxshmem_device::prelude::{bf16, f16};
use oxshmem_device::{Cmp, Sym};
use std::sync::Mutex;

/// A value that no other PE, place or round has.
fn value(pe: u32, i: usize, round: usize) -> u32 {
    pe << 24 ^ (i as u32) << 4 ^ round as u32
}

#[test]
fn a_put_arrives_where_it_should_and_nowhere_else() {
    emulated(3)
        .run(|shmem| {
            let (me, n) = (shmem.my_pe(), shmem.n_pes());
            let data = shmem.alloc_zeroed::<u32>(1000)?;
            let own = shmem.alloc_zeroed::<u32>(1000)?;
            for (round, (start, len)) in
                [(0, 0), (0, 1), (3, 7), (1, 31), (5, 333), (0, 1000), (999, 1), (1000, 0)]
                    .into_iter()
                    .enumerate()
            {
                for ahead in 0..n {
                    data.fill(9)?;
                    shmem.barrier_all()?;
                    let to = (me + ahead) % n;
                    let values: Vec<u32> = (0..len).map(|i| value(me, i, round)).collect();
                    match round % 3 {
                        0 => shmem.put(data.slice(start, len), &values, to)?,
                        1 => {
                            own.write(&values)?;
                            shmem.put(data.slice(start, len), own.slice(0, len), to)?;
                        }
                        _ => {
                            let local = shmem.device_from_slice(&values)?;
                            shmem.put(data.slice(start, len), &local, to)?;
                        }
                    }
                    shmem.barrier_all()?;
                    let from = (me + n - ahead) % n;
                    let expected: Vec<u32> = (0..1000)
                        .map(|i| {
                            if (start..start + len).contains(&i) { value(from, i - start, round) } else { 9 }
                        })
                        .collect();
                    assert_eq!(data.read()?, expected, "round {round}, {ahead} ahead");
                    // Every PE has looked.
                    shmem.barrier_all()?;
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_get_brings_what_another_pe_has() {
    emulated(3)
        .run(|shmem| {
            let (me, n) = (shmem.my_pe(), shmem.n_pes());
            let data = shmem.alloc_from_fn(777, |i| value(me, i, 0))?;
            let own = shmem.alloc_zeroed::<u32>(777)?;
            for from in 0..n {
                for (start, len) in [(0, 0), (2, 1), (1, 64), (7, 700), (0, 777)] {
                    let expected: Vec<u32> = (start..start + len).map(|i| value(from, i, 0)).collect();
                    let mut host = vec![0; len];
                    shmem.get(&mut host, data.slice(start, len), from)?;
                    assert_eq!(host, expected);
                    let local = shmem.device_zeroed::<u32>(len)?;
                    shmem.get(&local, data.slice(start, len), from)?;
                    assert_eq!(local.read()?, expected);
                    shmem.get(own.slice(0, len), data.slice(start, len), from)?;
                    assert_eq!(own.read()?[..len], expected);
                }
                let mut array = [0; 3];
                shmem.get(&mut array, data.slice(5, 3), from)?;
                assert_eq!(array, [5, 6, 7].map(|i| value(from, i, 0)));
                assert_eq!(shmem.g(data.at(776), from)?, value(from, 776, 0));
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn one_element_of_any_size() {
    emulated(2)
        .run(|shmem| {
            let other = 1 - shmem.my_pe();
            let (bytes, triples) = (shmem.alloc_zeroed::<u8>(5)?, shmem.alloc_zeroed::<[u16; 3]>(4)?);
            let (wide, none) = (shmem.alloc_zeroed::<[u64; 5]>(2)?, shmem.alloc_zeroed::<[u32; 0]>(3)?);
            shmem.p(bytes.at(3), 0xab, other)?;
            shmem.p(triples.at(1), [1, 2, 3], other)?;
            shmem.p(wide.at(1), [9; 5], other)?;
            shmem.p(none.at(2), [], other)?;
            shmem.put(&none, &none, other)?;
            shmem.barrier_all()?;
            assert_eq!(bytes.read()?, [0, 0, 0, 0xab, 0]);
            assert_eq!(triples.read()?, [[0; 3], [1, 2, 3], [0; 3], [0; 3]]);
            assert_eq!((shmem.g(wide.at(1), other)?, shmem.g(triples.at(0), other)?), ([9; 5], [0; 3]));
            shmem.barrier_all()
        })
        .unwrap();
}

/// Adds to all words of all PEs and looks at what comes back.
fn integers<T>(shmem: &Shmem, number: impl Fn(u64) -> T) -> oxshmem::Result<()>
where
    T: oxshmem_device::atomic::AtomicInteger + std::fmt::Debug,
{
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let words = shmem.alloc_atomics::<T>(5, Reach::World)?;
    for pe in 0..n {
        shmem.atomic_add(words.at(0), number(3), pe)?;
        shmem.atomic_inc(words.at(0), pe)?;
        shmem.atomic_or(words.at(2), number(1 << me), pe)?;
        shmem.atomic_xor(words.at(3), number(1 << me | 8), pe)?;
    }
    shmem.barrier_all()?;
    assert_eq!(words.values()?[0], number(u64::from(4 * n)));
    assert_eq!(words.values()?[2], number((1 << n) - 1));
    assert_eq!(words.values()?[3], number(((1 << n) - 1) | if n % 2 == 1 { 8 } else { 0 }));
    shmem.barrier_all()?;
    // One PE at a time knows what comes back.
    let next = (me + 1) % n;
    let word = words.at(1);
    shmem.atomic_set(word, number(40), next)?;
    assert_eq!(shmem.atomic_fetch_add(word, number(2), next)?, number(40));
    assert_eq!(shmem.atomic_fetch_inc(word, next)?, number(42));
    assert_eq!(shmem.atomic_compare_swap(word, number(1), number(7), next)?, number(43));
    assert_eq!(shmem.atomic_compare_swap(word, number(43), number(0b1111), next)?, number(43));
    assert_eq!(shmem.atomic_fetch_and(word, number(0b1010), next)?, number(0b1111));
    assert_eq!(shmem.atomic_fetch_or(word, number(0b0100), next)?, number(0b1010));
    assert_eq!(shmem.atomic_fetch_xor(word, number(0b0110), next)?, number(0b1110));
    shmem.atomic_and(word, number(0b1001), next)?;
    assert_eq!(shmem.atomic_swap(word, number(5), next)?, number(0b1000));
    assert_eq!(shmem.atomic_fetch(word, next)?, number(5));
    shmem.barrier_all()?;
    shmem.free(words)
}

#[test]
fn atomics_on_integers_of_every_type() {
    emulated(3)
        .run(|shmem| {
            integers::<u32>(&shmem, |v| v as u32)?;
            integers::<i32>(&shmem, |v| v as i32)?;
            integers::<u64>(&shmem, |v| v)?;
            integers::<i64>(&shmem, |v| v as i64)?;
            integers::<usize>(&shmem, |v| v as usize)?;
            integers::<isize>(&shmem, |v| v as isize)
        })
        .unwrap();
}

#[test]
fn an_atomic_keeps_signs_and_wraps() {
    alone(|shmem| {
        let words = shmem.alloc_atomics::<i32>(1, Reach::Node)?;
        shmem.atomic_set(words.at(0), -5, 0)?;
        assert_eq!(shmem.atomic_fetch_add(words.at(0), -7, 0)?, -5);
        assert_eq!(shmem.atomic_swap(words.at(0), i32::MAX, 0)?, -12);
        shmem.atomic_inc(words.at(0), 0)?;
        assert_eq!(shmem.atomic_fetch(words.at(0), 0)?, i32::MIN);
        Ok(())
    });
}

#[test]
fn atomics_on_floating_point_words() {
    macro_rules! floats {
        ($shmem:ident, $($ty:ty: $of:expr;)*) => {$({
            let of = $of;
            let words = $shmem.alloc_atomics::<$ty>(3, Reach::World)?;
            let (next, prev) = (($shmem.my_pe() + 1) % 2, $shmem.my_pe());
            $shmem.atomic_set(words.at(1), of(1.5), next)?;
            $shmem.atomic_add(words.at(1), of(2.0), next)?;
            assert_eq!($shmem.atomic_fetch_add(words.at(1), of(0.25), next)?, of(3.5));
            assert_eq!($shmem.atomic_swap(words.at(1), of(-8.0), next)?, of(3.75));
            assert_eq!($shmem.atomic_fetch(words.at(1), next)?, of(-8.0));
            $shmem.barrier_all()?;
            assert_eq!(words.values()?, [of(0.0), of(-8.0), of(0.0)], "{prev}");
            $shmem.free(words)?;
        })*};
    }
    emulated(2)
        .run(|shmem| {
            floats! {
                shmem,
                f32: |v: f32| v;
                f64: |v: f32| f64::from(v);
                f16: f16::from_f32;
                bf16: bf16::from_f32;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_host_signal_ends_the_wait_of_a_kernel_that_runs() {
    emulated(2)
        .run(|shmem| {
            let (me, signals) = (shmem.my_pe(), shmem.alloc_signals(3)?);
            let data = shmem.alloc_zeroed::<u32>(70)?;
            wait_for::launch(&shmem, ONE.threads(32), signals.at(1), 5)?;
            // Neither PE waits for its own kernel before it has sent.
            shmem.signal(signals.at(1), SignalOp::Set(3), 1 - me)?;
            shmem.signal(signals.at(1), SignalOp::Add(2), 1 - me)?;
            shmem.barrier_all()?;
            assert_eq!((shmem.signal_fetch(signals.at(1))?, shmem.signal_fetch(signals.at(0))?), (5, 0));
            shmem.put(data.slice(0, 70), &[7; 70], 1 - me)?;
            shmem.fence()?;
            shmem.quiet()?;
            shmem.signal(signals.at(2), SignalOp::Set(1), 1 - me)?;
            shmem.barrier_all()?;
            assert_eq!((data.read()?, signals.values()?), (vec![7; 70], vec![0, 5, 1]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_put_sends_what_a_kernel_before_it_wrote() {
    emulated(2)
        .run(|shmem| {
            let (other, dst) = (1 - shmem.my_pe(), shmem.alloc_zeroed::<u32>(64)?);
            let local = shmem.device_zeroed::<u32>(64)?;
            for round in 1..4 {
                add_one::launch(&shmem, ONE.threads(32), &local)?;
                shmem.put(&dst, &local, other)?;
                shmem.barrier_all()?;
                assert_eq!(dst.read()?, [round; 64]);
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn mistakes_are_typed_errors_and_touch_nothing() {
    let foreign = Mutex::new(None);
    emulated(1)
        .run(|shmem| {
            *foreign.lock().unwrap() = Some((shmem.alloc_zeroed::<u32>(4)?, shmem.device_zeroed::<u32>(4)?));
            Ok(())
        })
        .unwrap();
    let (vector, local) = foreign.into_inner().unwrap().unwrap();
    emulated(2)
        .run(|shmem| {
            let data = shmem.alloc_from_slice(&[1u32, 2, 3, 4])?;
            let signals = shmem.alloc_signals(1)?;
            let words = shmem.alloc_atomics::<u64>(1, Reach::World)?;
            let mut host = [0u32; 4];
            let refused = error(shmem.put(&data, &[0; 4], 2));
            assert!(matches!(refused, Error::NoSuchPe { by: "put", pe: 2, n_pes: 2 }), "{refused}");
            says(&refused, &["put names PE 2", "the job has 2"]);
            for refused in [
                error(shmem.get(&mut host, &data, 9)),
                error(shmem.p(data.at(0), 5, 2)),
                error(shmem.g(data.at(0), u32::MAX)),
                error(shmem.signal(signals.at(0), SignalOp::Set(1), 2)),
                error(shmem.atomic_add(words.at(0), 1, 2)),
                error(shmem.atomic_fetch(words.at(0), 2)),
            ] {
                assert!(matches!(refused, Error::NoSuchPe { .. }), "{refused}");
            }
            let refused = error(shmem.put(data.slice(0, 3), &[0; 4], 1));
            assert!(matches!(refused, Error::LengthsDiffer { target: 3, source_len: 4, .. }), "{refused}");
            let refused = error(shmem.get(&mut host[..2], &data, 1));
            assert!(matches!(refused, Error::LengthsDiffer { target: 2, source_len: 4, .. }), "{refused}");
            let me = shmem.my_pe();
            let refused = error(shmem.put(data.slice(1, 3), data.slice(0, 3), me));
            assert!(matches!(refused, Error::Overlap { by: "put" }), "{refused}");
            shmem.put(data.slice(1, 3), data.slice(1, 3), me)?;
            for refused in [
                error(shmem.put(data.slice(2, 3), &[0; 0], 1)),
                error(shmem.p(data.at(4), 0, 1)),
                error(shmem.signal(signals.at(1), SignalOp::Set(1), 1)),
                error(shmem.atomic_swap(words.at(3), 1, 1)),
            ] {
                assert!(matches!(refused, Error::BadHandle { .. }), "{refused}");
                says(refused, &["an index out of range"]);
            }
            for refused in [error(shmem.put(&vector, &[0; 4], 1)), error(shmem.put(&data, &local, 1))] {
                assert!(matches!(refused, Error::WrongOwner { .. }), "{refused}");
            }
            let stale: Sym<[u32]> = {
                let gone = shmem.alloc_zeroed::<u32>(4)?;
                gone.handle()
            };
            says(error(shmem.put(stale, &[0; 4], 1)), &["put: parameter 0", "dropped or freed"]);
            shmem.barrier_all()?;
            assert_eq!(
                (data.read()?, signals.values()?, words.values()?),
                (vec![1, 2, 3, 4], vec![0], vec![0])
            );
            Ok(())
        })
        .unwrap();
}

/// Sends nothing, and looks at a word that the host updates.
#[oxshmem_device::nvshmem_kernel]
fn waits_for_a_word(
    shmem: oxshmem_device::prelude::Collective,
    word: Sym<oxshmem_device::prelude::Atomic<i64>>,
    value: i64,
) {
    shmem.thread().wait_until(word, Cmp::Le, value);
}

#[test]
fn a_host_atomic_ends_the_wait_of_another_pes_kernel() {
    emulated(2)
        .run(|shmem| {
            let words = shmem.alloc_atomics::<i64>(1, Reach::World)?;
            waits_for_a_word::launch(&shmem, ONE, words.at(0), -2)?;
            for _ in 0..2 {
                shmem.atomic_add(words.at(0), -1, 1 - shmem.my_pe())?;
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn after_poison_every_operation_says_so_until_recovery() {
    let config = emulated(2).deadline(std::time::Duration::from_millis(200));
    config
        .run(|shmem| {
            let (never, data) = (shmem.alloc_signals(1)?, shmem.alloc_zeroed::<u32>(1)?);
            let words = shmem.alloc_atomics::<u32>(1, Reach::World)?;
            if shmem.my_pe() == 0 {
                wait_for::launch(&shmem, ONE, never.at(0), 1)?;
            }
            assert!(matches!(shmem.barrier_all(), Err(Error::Poisoned(_))));
            for refused in [
                error(shmem.put(&data, &[1], 0)),
                error(shmem.signal(never.at(0), SignalOp::Set(1), 0)),
                error(shmem.atomic_fetch(words.at(0), 0)),
                error(shmem.quiet()),
            ] {
                assert!(matches!(refused, Error::Poisoned(_)), "{refused}");
            }
            shmem.recover()?;
            shmem.atomic_add(words.at(0), 1, 0)?;
            shmem.barrier_all()?;
            assert_eq!((shmem.atomic_fetch(words.at(0), 0)?, data.read()?), (2, vec![0]));
            shmem.barrier_all()
        })
        .unwrap();
}
