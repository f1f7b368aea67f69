//! Operations on streams: that they do what they say, in the order of their stream, for odd sizes, no elements and the own
//! PE; what is refused; waits that expire, and peers that fail meanwhile.

mod common;

use common::*;
use oxshmem::{Error, Reach, Shmem, SignalOp, Stream};
use oxshmem_device::abi::{Cause, Operation};
use oxshmem_device::prelude::*;
use oxshmem_emulator::MachineConfig;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A value that no other PE, place or round has.
fn value(pe: u32, i: usize, round: usize) -> u32 {
    pe << 24 ^ (i as u32) << 4 ^ round as u32
}

const SIZES: [(usize, usize); 9] =
    [(0, 0), (0, 1), (3, 7), (1, 31), (2, 64), (5, 333), (7, 1000), (0, 20_000), (20_100, 0)];

#[test]
fn a_put_and_what_follows_it_on_its_stream() {
    emulated(3)
        .run(|shmem| {
            let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
            let (data, own) = (shmem.alloc_zeroed::<u32>(20_100)?, shmem.alloc_zeroed::<u32>(20_100)?);
            for (round, (start, len)) in SIZES.into_iter().enumerate() {
                let ahead = round as u32 % n;
                let to = (me + ahead) % n;
                let values: Vec<u32> = (0..len).map(|i| value(me, i, round)).collect();
                data.fill(9)?;
                own.write(&values)?;
                shmem.barrier_all()?;
                if round % 2 == 0 {
                    shmem.put_on(&stream, data.slice(start, len), own.slice(0, len), to)?;
                } else {
                    let local = shmem.device_from_slice(&values)?;
                    shmem.put_on(&stream, data.slice(start, len), &local, to)?;
                    // The memory stays as long as the put needs it.
                    drop(local);
                }
                shmem.barrier_all_on(&stream)?;
                stream.synchronize()?;
                let from = (me + n - ahead) % n;
                let expected: Vec<u32> = (0..20_100)
                    .map(
                        |i| if (start..start + len).contains(&i) { value(from, i - start, round) } else { 9 },
                    )
                    .collect();
                assert!(data.read()? == expected, "round {round}");
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_get_is_there_for_what_follows_it() {
    emulated(3)
        .run(|shmem| {
            let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
            let data = shmem.alloc_from_fn(20_100, |i| value(me, i, 0))?;
            let own = shmem.alloc_zeroed::<u32>(20_100)?;
            for from in 0..n {
                for (start, len) in SIZES {
                    let local = shmem.device_zeroed::<u32>(len)?;
                    shmem.get_on(&stream, &local, data.slice(start, len), from)?;
                    add_one::launch_on(&shmem, &stream, ONE.threads(32), &local)?;
                    shmem.get_on(&stream, own.slice(0, len), data.slice(start, len), from)?;
                    stream.synchronize()?;
                    let expected: Vec<u32> = (start..start + len).map(|i| value(from, i, 0)).collect();
                    assert!(own.read()?[..len] == expected, "from {from}, {len} elements");
                    let more: Vec<u32> = expected.iter().map(|value| value + 1).collect();
                    assert!(local.read()? == more, "from {from}, {len} elements");
                }
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn kernels_and_operations_of_one_stream_run_in_their_order() {
    emulated(2)
        .run(|shmem| {
            let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
            let (rows, local) = (shmem.alloc_zeroed::<u32>(40 * 33)?, shmem.device_zeroed::<u32>(33)?);
            for round in 0..40 {
                add_one::launch_on(&shmem, &stream, ONE.threads(32), &local)?;
                shmem.put_on(&stream, rows.slice(33 * round, 33), &local, other)?;
            }
            shmem.barrier_all()?;
            let expected: Vec<u32> = (0..40 * 33).map(|i| i / 33 + 1).collect();
            assert_eq!(rows.read()?, expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_signal_tells_of_its_data_on_several_streams_at_once() {
    emulated(3)
        .run(|shmem| {
            let (me, n) = (shmem.my_pe(), shmem.n_pes());
            let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
            let streams: Vec<Stream> = (0..4).map(|_| shmem.stream()).collect::<oxshmem::Result<_>>()?;
            let (dst, src) = (shmem.alloc_zeroed::<u32>(4 * 501)?, shmem.alloc_zeroed::<u32>(4 * 501)?);
            let seen = shmem.alloc_zeroed::<u32>(4 * 501)?;
            let ready = shmem.alloc_signals(4)?;
            for round in 1..6u64 {
                src.write(&(0..4 * 501).map(|i| value(me, i, round as usize)).collect::<Vec<_>>())?;
                for (at, stream) in streams.iter().enumerate() {
                    let part = |of: &oxshmem::SymVec<u32>| of.slice(501 * at, 501);
                    let signal = ready.at(at);
                    match at % 2 {
                        0 => shmem.put_signal_on(
                            stream,
                            part(&dst),
                            part(&src),
                            signal,
                            SignalOp::Set(round),
                            next,
                        )?,
                        _ => {
                            shmem.put_on(stream, part(&dst), part(&src), next)?;
                            shmem.signal_on(stream, signal, SignalOp::Add(1), next)?;
                        }
                    }
                    match at {
                        0 => shmem.wait_reached_on(stream, signal, round)?,
                        1 => shmem.wait_until_on(stream, signal, Cmp::Eq, round)?,
                        _ => shmem.wait_until_on(stream, signal, Cmp::Gt, round - 1)?,
                    }
                    shmem.get_on(stream, part(&seen), part(&dst), me)?;
                }
                for stream in &streams {
                    stream.synchronize()?;
                }
                let expected: Vec<u32> = (0..4 * 501).map(|i| value(prev, i, round as usize)).collect();
                assert_eq!(seen.read()?, expected);
                shmem.barrier_all()?;
            }
            // Nothing to move, and a signal all the same; to the own PE, too.
            let local = shmem.device_zeroed::<u32>(0)?;
            let stream = &streams[0];
            shmem.put_signal_on(stream, dst.slice(7, 0), &local, ready.at(0), SignalOp::Set(90), next)?;
            shmem.put_signal_on(
                stream,
                dst.slice(0, 2),
                dst.slice(0, 2),
                ready.at(1),
                SignalOp::Set(91),
                me,
            )?;
            shmem.wait_until_on(stream, ready.at(0), Cmp::Ge, 90)?;
            shmem.wait_until_on(stream, ready.at(1), Cmp::Ge, 91)?;
            stream.synchronize()?;
            assert_eq!(ready.values()?[..2], [90, 91]);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn one_element_of_any_size_arrives() {
    emulated(2)
        .run(|shmem| {
            let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
            let (bytes, triples) = (shmem.alloc_zeroed::<u8>(5)?, shmem.alloc_zeroed::<[u16; 3]>(4)?);
            let (wide, none) = (shmem.alloc_zeroed::<[u8; 16]>(3)?, shmem.alloc_zeroed::<[u32; 0]>(3)?);
            let (real, huge) = (shmem.alloc_zeroed::<f64>(2)?, shmem.alloc_zeroed::<u128>(2)?);
            shmem.p_on(&stream, bytes.at(3), 0xab, other)?;
            shmem.p_on(&stream, triples.at(1), [1, 2, 0x3456], other)?;
            shmem.p_on(&stream, wide.at(1), std::array::from_fn(|i| i as u8 + 1), other)?;
            shmem.p_on(&stream, none.at(2), [], other)?;
            shmem.p_on(&stream, real.at(1), -1.5, other)?;
            shmem.p_on(&stream, huge.at(1), u128::MAX - 5, other)?;
            shmem.barrier_all_on(&stream)?;
            stream.synchronize()?;
            assert_eq!(bytes.read()?, [0, 0, 0, 0xab, 0]);
            assert_eq!(triples.read()?, [[0; 3], [1, 2, 0x3456], [0; 3], [0; 3]]);
            assert_eq!(wide.read()?[1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
            assert_eq!((real.read()?, huge.read()?), (vec![0.0, -1.5], vec![0, u128::MAX - 5]));
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn atomics_leave_the_value_before_for_what_follows() {
    emulated(2)
        .run(|shmem| {
            let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
            let words = shmem.alloc_atomics::<u32>(2, Reach::World)?;
            let before: Vec<_> =
                (0..8).map(|_| shmem.device_zeroed::<u32>(1)).collect::<oxshmem::Result<_>>()?;
            let word = words.at(1);
            shmem.atomic_set_on(&stream, word, 40, other)?;
            shmem.atomic_add_on(&stream, word, 2, other)?;
            shmem.atomic_inc_on(&stream, word, other)?;
            shmem.atomic_fetch_add_on(&stream, &before[0], word, 7, other)?; // 43, 50
            shmem.atomic_swap_on(&stream, &before[1], word, 0b1111, other)?;
            shmem.atomic_fetch_and_on(&stream, &before[2], word, 0b1010, other)?;
            shmem.atomic_fetch_or_on(&stream, &before[3], word, 0b0100, other)?;
            shmem.atomic_fetch_xor_on(&stream, &before[4], word, 0b0110, other)?;
            shmem.atomic_compare_swap_on(&stream, &before[5], word, 0b1000, 77, other)?;
            shmem.atomic_compare_swap_on(&stream, &before[6], word, 0b1000, 78, other)?;
            shmem.atomic_and_on(&stream, word, 0b1101, other)?;
            shmem.atomic_or_on(&stream, word, 0b10_0000, other)?;
            shmem.atomic_xor_on(&stream, word, 1, other)?;
            shmem.atomic_fetch_on(&stream, &before[7], word, other)?;
            // On the device the value is there at once for the next kernel of the stream.
            add_one::launch_on(&shmem, &stream, ONE, &before[7])?;
            stream.synchronize()?;
            let read: Vec<u32> =
                before.iter().map(|one| Ok(one.read()?[0])).collect::<oxshmem::Result<_>>()?;
            let last = (77 & 0b1101 | 0b10_0000) ^ 1;
            assert_eq!(read, [43, 50, 0b1111, 0b1010, 0b1110, 0b1000, 77, last + 1]);
            let (real, old) = (shmem.alloc_atomics::<f64>(1, Reach::World)?, shmem.device_zeroed::<f64>(3)?);
            shmem.atomic_set_on(&stream, real.at(0), 1.25, other)?;
            shmem.atomic_add_on(&stream, real.at(0), 0.5, other)?;
            shmem.atomic_fetch_add_on(&stream, &old, real.at(0), 1.0, other)?;
            stream.synchronize()?;
            assert_eq!(old.read()?, [1.75, 0.0, 0.0]);
            shmem.barrier_all()?;
            assert_eq!((real.values()?, words.values()?), (vec![2.75], vec![0, last]));
            shmem.barrier_all()
        })
        .unwrap();
}

/// A stream waits for a word, and the host lets it go.
fn waits_for<T: oxshmem_device::atomic::AtomicInteger>(
    shmem: &Shmem,
    (start, cmp, value, end): (T, Cmp, T, T),
) -> oxshmem::Result<()>
where
    Atomic<T>: oxshmem::WaitsOnStream + oxshmem_device::wait::WaitWord<Value = T>,
{
    let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
    let (words, mark) = (shmem.alloc_atomics::<T>(3, Reach::World)?, shmem.device_zeroed::<u32>(1)?);
    words.set(2, start)?;
    shmem.barrier_all()?;
    shmem.wait_until_on(&stream, words.at(2), cmp, value)?;
    add_one::launch_on(shmem, &stream, ONE, &mark)?;
    assert!(!stream.is_idle()?, "nothing has let it go");
    // Every PE has seen that.
    shmem.all_gather(&0u32)?;
    shmem.atomic_set(words.at(2), end, (me + 1) % n)?;
    stream.synchronize()?;
    assert_eq!(mark.read()?, [1]);
    shmem.barrier_all()
}

#[test]
fn a_stream_waits_for_words_of_every_type_with_their_signs() {
    emulated(2)
        .run(|shmem| {
            waits_for::<i32>(&shmem, (5, Cmp::Lt, -1, -2))?;
            waits_for::<u32>(&shmem, (5, Cmp::Gt, u32::MAX - 1, u32::MAX))?;
            waits_for::<i64>(&shmem, (5, Cmp::Le, i64::MIN, i64::MIN))?;
            waits_for::<u64>(&shmem, (0, Cmp::Ne, 0, 1 << 63))?;
            waits_for::<isize>(&shmem, (-3, Cmp::Ge, -2, 0))?;
            waits_for::<usize>(&shmem, (1, Cmp::Eq, 1 << 40, 1 << 40))
        })
        .unwrap();
}

#[test]
fn a_stream_waits_for_an_event_of_another_one() {
    emulated(2)
        .run(|shmem| {
            let (first, second) = (shmem.stream()?, shmem.stream()?);
            let (gate, local) = (shmem.alloc_signals(1)?, shmem.device_zeroed::<u32>(4)?);
            let (dst, me) = (shmem.alloc_zeroed::<u32>(4)?, shmem.my_pe());
            for round in 1..5 {
                shmem.wait_reached_on(&first, gate.at(0), round)?;
                add_one::launch_on(&shmem, &first, ONE, &local)?;
                let event = first.record()?;
                second.wait_event(&event)?;
                drop(event);
                // Without the event it would run ahead, and put the old values.
                shmem.put_on(&second, &dst, &local, 1 - me)?;
                assert!(!second.is_idle()?);
                shmem.signal(gate.at(0), SignalOp::Set(round), me)?;
                second.synchronize()?;
                shmem.barrier_all()?;
                assert_eq!(dst.read()?, [round as u32; 4]);
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn barriers_and_quiet_on_a_stream_complete_what_was_before() {
    emulated(4)
        .run(|shmem| {
            let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
            let (a, b) = (shmem.alloc_zeroed::<u32>(n as usize)?, shmem.alloc_zeroed::<u32>(n as usize)?);
            let local = shmem.device_from_slice(&[me])?;
            for _ in 0..10 {
                // Every PE's element of every PE, then all of it from the next PE, whose copy is whole by then.
                for pe in 0..n {
                    shmem.put_on(&stream, a.slice(me as usize, 1), &local, pe)?;
                }
                shmem.quiet_on(&stream)?;
                shmem.sync_all_on(&stream)?;
                shmem.get_on(&stream, &b, &a, (me + 1) % n)?;
                shmem.barrier_all_on(&stream)?;
                add_one::launch_on(&shmem, &stream, ONE, &local)?;
            }
            stream.synchronize()?;
            assert_eq!(b.read()?, (0..n).map(|pe| pe + 9).collect::<Vec<_>>());
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn mistakes_are_typed_errors_and_nothing_is_queued() {
    let foreign = Mutex::new(None);
    emulated(2)
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let (data, signals) = (shmem.alloc_from_slice(&[1u32, 2, 3, 4])?, shmem.alloc_signals(1)?);
            let (words, local) =
                (shmem.alloc_atomics::<u64>(1, Reach::World)?, shmem.device_zeroed::<u32>(4)?);
            let (none, of_words) = (shmem.device_zeroed::<u64>(0)?, shmem.device_zeroed::<u64>(1)?);
            for refused in [
                error(shmem.put_on(&stream, &data, &local, 2)),
                error(shmem.get_on(&stream, &local, &data, 3)),
                error(shmem.put_signal_on(&stream, &data, &local, signals.at(0), SignalOp::Set(1), 2)),
                error(shmem.p_on(&stream, data.at(0), 5, 2)),
                error(shmem.signal_on(&stream, signals.at(0), SignalOp::Set(1), 2)),
                error(shmem.atomic_add_on(&stream, words.at(0), 1, 2)),
                error(shmem.atomic_fetch_on(&stream, &of_words, words.at(0), 2)),
            ] {
                assert!(matches!(refused, Error::NoSuchPe { .. }), "{refused}");
            }
            for refused in [
                error(shmem.put_on(&stream, data.slice(0, 3), &local, 1)),
                error(shmem.get_on(&stream, &local, data.slice(0, 3), 1)),
                error(shmem.atomic_fetch_on(&stream, &none, words.at(0), 1)),
            ] {
                assert!(matches!(refused, Error::LengthsDiffer { .. }), "{refused}");
            }
            let refused = error(shmem.put_on(&stream, data.slice(1, 3), data.slice(0, 3), me));
            assert!(matches!(refused, Error::Overlap { by: "put_on" }), "{refused}");
            for (refused, by) in [
                (error(shmem.put_on(&stream, data.slice(2, 3), data.slice(2, 3), 1)), "put_on"),
                (error(shmem.p_on(&stream, data.at(4), 1, 1)), "p_on"),
                (error(shmem.signal_on(&stream, signals.at(1), SignalOp::Set(1), 1)), "signal_on"),
                (error(shmem.wait_until_on(&stream, signals.at(1), Cmp::Ge, 1)), "wait_until_on"),
                (error(shmem.wait_until_on(&stream, words.at(1), Cmp::Ge, 1)), "wait_until_on"),
                (error(shmem.wait_reached_on(&stream, signals.at(1), 1)), "wait_reached_on"),
            ] {
                assert!(matches!(refused, Error::BadHandle { .. }), "{refused}");
                says(refused, &[by, "index out of range"]);
            }
            let stale = shmem.device_zeroed::<u32>(4)?.handle();
            says(
                error(shmem.put_on(&stream, &data, stale, 1)),
                &["put_on: parameter 1", "no live DeviceVec"],
            );
            assert!(stream.is_idle()?);
            if me == 0 {
                *foreign.lock().unwrap() = Some((stream, shmem.device_zeroed::<u32>(4)?));
            }
            shmem.barrier_all()?;
            if me == 1 {
                let guard = foreign.lock().unwrap();
                let (of_pe_0, local_of_pe_0) = guard.as_ref().unwrap();
                let own = shmem.stream()?;
                for refused in [
                    error(shmem.put_on(of_pe_0, &data, &local, 0)),
                    error(shmem.quiet_on(of_pe_0)),
                    error(shmem.put_on(&own, &data, local_of_pe_0, 0)),
                    error(own.wait_event(&of_pe_0.record()?)),
                ] {
                    assert!(matches!(refused, Error::WrongOwner { .. }), "{refused}");
                }
            }
            shmem.barrier_all()?;
            assert_eq!((data.read()?, signals.values()?), (vec![1, 2, 3, 4], vec![0]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_wait_on_a_stream_expires_and_the_stream_is_usable_after_recovery() {
    let config = emulated(2).deadline(Duration::from_millis(300));
    config
        .run(|shmem| {
            let (me, stream, signals) = (shmem.my_pe(), shmem.stream()?, shmem.alloc_signals(2)?);
            let start = Instant::now();
            if me == 0 {
                shmem.wait_until_on(&stream, signals.at(1), Cmp::Ge, 7)?;
            }
            let failed = if me == 0 { error(stream.synchronize()) } else { error(shmem.barrier_all()) };
            let Error::Poisoned(failure) = &failed else { panic!("{failed}") };
            assert_eq!(
                (failure.pe, failure.cause, failure.operation),
                (0, Cause::Deadline, Operation::WaitUntil)
            );
            assert_eq!((failure.expected, failure.seen, failure.node), (7, 0, None));
            says(&failed, &["wait_until on signal", "element 1", "oxshmem_stream_kernels__wait_signal"]);
            assert!(start.elapsed() < Duration::from_secs(10));
            // It stays so until all have recovered.
            says(error(shmem.signal_on(&stream, signals.at(1), SignalOp::Set(1), 0)), &["wait_until"]);
            shmem.recover()?;
            shmem.signal_on(&stream, signals.at(0), SignalOp::Set(1), 1 - me)?;
            shmem.wait_until_on(&stream, signals.at(0), Cmp::Ge, 1)?;
            stream.synchronize()?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_barrier_on_a_stream_to_which_a_pe_does_not_come_expires() {
    let config = emulated(3).deadline(Duration::from_millis(300));
    config
        .run(|shmem| {
            let stream = shmem.stream()?;
            shmem.all_gather(&0u32)?;
            // A PE that is slow to come may find that another one's barrier has expired already.
            let comes = if shmem.my_pe() == 2 { Ok(()) } else { shmem.barrier_all_on(&stream) };
            let failed = error(comes.and_then(|()| shmem.barrier_all()));
            says(&failed, &["barrier_all", "deadline 0.3 s expired"]);
            shmem.recover()?;
            shmem.barrier_all_on(&stream)?;
            stream.synchronize()?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_peer_that_fails_ends_the_wait_of_a_stream() {
    let start = Instant::now();
    let failed = emulated(2).deadline(Duration::from_secs(60)).run(|shmem| {
        let (stream, signals) = (shmem.stream()?, shmem.alloc_signals(1)?);
        if shmem.my_pe() == 1 {
            return Err(Error::other("PE 1 has had enough"));
        }
        shmem.wait_until_on(&stream, signals.at(0), Cmp::Ge, 1)?;
        let failed = error(stream.synchronize());
        assert!(matches!(failed, Error::PeFailed { pe: 1, .. }), "{failed}");
        Err::<(), _>(failed)
    });
    says(error(failed), &["PE 1 has had enough"]);
    assert!(start.elapsed() < Duration::from_secs(30), "long before the deadline");
}

#[test]
fn a_wait_holds_room_until_it_is_over() {
    // One block of 1024 threads fits, and nothing beside it.
    let machine = MachineConfig {
        sms: 1,
        threads_per_sm: 1024,
        memory_per_device: Some(64 << 20),
        ..MachineConfig::default()
    };
    emulated(1)
        .emulated(machine)
        .run(|shmem| {
            let (stream, signals) = (shmem.stream()?, shmem.alloc_signals(2)?);
            shmem.wait_until_on(&stream, signals.at(0), Cmp::Ge, 1)?;
            let refused = error(wait_for::launch(&shmem, ONE.threads(1024), signals.at(1), 0));
            assert!(matches!(refused, Error::NotCoResident { needed: 1, held: 1, .. }), "{refused}");
            shmem.signal(signals.at(0), SignalOp::Set(1), 0)?;
            stream.synchronize()?;
            wait_for::launch(&shmem, ONE.threads(1024), signals.at(1), 0)?;
            shmem.synchronize()
        })
        .unwrap();
}
