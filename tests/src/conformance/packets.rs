//! Packets and mailboxes: data and flag in one access.

use super::element::Element;
use super::failures::{CONFIG, Expected, fails};
use super::suite::{Bench, RAGGED, Report, TWO_BLOCKS};
use crate::kernels::packets::*;
use oxshmem::{Result, Shmem, SymVec};
use oxshmem_device::Packet;
use oxshmem_device::abi::{Cause, Operation};
use oxshmem_device::launch::LaunchConfig;

/// Rounds per launch.
const ROUNDS: u64 = 3;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    macro_rules! for_each_type {
        ($($ty:ty)*) => {$(
            around::<$ty>(bench, |b, config, vecs, taken, scope, first, (next, prev)| {
                let (dst, src, packets) = vecs;
                packets_around::<$ty>::launch(
                    b.shmem, config, dst, src, packets, taken.at(0), scope, first, ROUNDS, next, prev,
                )
            })?;
        )*};
    }
    for_each_type!(u8 u32 u64);
    mail(bench)?;
    wide(bench)?;
    thread_arrays(bench)?;
    tests(bench)
}

type Vectors<'a, T> = (&'a SymVec<T>, &'a SymVec<T>, &'a SymVec<Packet<T>>);

fn around<T: Element + Step>(
    bench: &Bench<'_>,
    launch: impl Fn(
        &Bench<'_>,
        LaunchConfig,
        Vectors<'_, T>,
        &SymVec<Packet<u32>>,
        u32,
        u64,
        (u32, u32),
    ) -> Result<()>,
) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let taken = bench.shmem.alloc_packets::<u32>(1)?;
    let mut first = 1;
    for (number, name) in bench.scopes() {
        for (len, config) in [
            (0, TWO_BLOCKS),
            (1, TWO_BLOCKS),
            (2, RAGGED),
            (7, RAGGED),
            (32, RAGGED),
            (33, TWO_BLOCKS),
            (131, RAGGED),
            (1003, TWO_BLOCKS),
        ] {
            let (dst, src) = (bench.shmem.alloc_zeroed::<T>(len)?, bench.shmem.alloc_zeroed::<T>(len)?);
            let packets = bench.shmem.alloc_packets::<T>(len)?;
            src.write(&(0..len).map(|i| T::value(me, i, first as u32)).collect::<Vec<_>>())?;
            bench.row(
                "packets bring the round that is waited for, and no other",
                || format!("{len} of {} at {name} scope", T::NAME),
                || launch(bench, config, (&dst, &src, &packets), &taken, number, first, (next, prev)),
                || dst.read(),
                |i| (0..ROUNDS).fold(T::value(prev, i, first as u32), |value, _| value.step()),
            )?;
            first += ROUNDS;
            for vec in [dst, src] {
                bench.shmem.free(vec)?;
            }
            bench.shmem.free(packets)?;
        }
    }
    bench.shmem.free(taken)
}

fn mail(bench: &Bench<'_>) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    bench.reset_signals()?;
    let small = bench.shmem.alloc_mailboxes::<u32, SMALL>(1)?;
    let large = bench.shmem.alloc_mailboxes::<u32, LARGE>(2)?;
    let mut first = 1;
    for (number, name) in bench.scopes() {
        for (len, config) in [(SMALL, RAGGED), (LARGE, TWO_BLOCKS)] {
            let (dst, src) = (bench.shmem.alloc_zeroed::<u32>(len)?, bench.shmem.alloc_zeroed::<u32>(len)?);
            src.write(&(0..len).map(|i| u32::value(me, i, first as u32) >> 1).collect::<Vec<_>>())?;
            bench.row(
                "a mailbox brings the message of the round that is waited for",
                || format!("{len} at {name} scope"),
                || {
                    let (small, large) = (small.at(0), large.at(1));
                    mail_around::launch(
                        bench.shmem,
                        config,
                        &dst,
                        &src,
                        small,
                        large,
                        bench.signals.at(0),
                        number,
                        first,
                        ROUNDS,
                        next,
                        prev,
                    )
                },
                || dst.read(),
                |i| (u32::value(prev, i, first as u32) >> 1) + ROUNDS as u32,
            )?;
            first += ROUNDS;
            bench.shmem.free(dst)?;
            bench.shmem.free(src)?;
        }
    }
    bench.shmem.free(small)?;
    bench.shmem.free(large)?;
    bench.reset_signals()
}

fn wide(bench: &Bench<'_>) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        let mail = bench.shmem.alloc_mailboxes::<u128, 3>(1)?;
        let (dst, src) = (bench.shmem.alloc_zeroed::<u128>(3)?, bench.shmem.alloc_zeroed::<u128>(3)?);
        src.write(&[0, 1, 2].map(|i| u128::value(me, i, number)))?;
        bench.row(
            "a mailbox takes elements that no packet has room for",
            || format!("{name} scope"),
            || wide_mail::launch(bench.shmem, RAGGED, &dst, &src, mail.at(0), number, next),
            || dst.read(),
            |i| u128::value(prev, i, number),
        )?;
        bench.shmem.free(mail)?;
        bench.shmem.free(dst)?;
        bench.shmem.free(src)?;
    }
    Ok(())
}

fn thread_arrays(bench: &Bench<'_>) -> Result<()> {
    let (next, prev) = bench.neighbours();
    let (packets, seen) = (bench.shmem.alloc_packets::<u64>(5)?, bench.shmem.alloc_zeroed::<u64>(5)?);
    bench.row(
        "packets carry a thread's own array into another's",
        String::new,
        || packets_of_a_thread::launch(bench.shmem, TWO_BLOCKS, &packets, &seen, 1, next),
        || seen.read(),
        |i| u64::from(prev) + i as u64,
    )?;
    bench.shmem.free(packets)?;
    bench.shmem.free(seen)
}

fn tests(bench: &Bench<'_>) -> Result<()> {
    let (next, prev) = bench.neighbours();
    let (packets, seen) = (bench.shmem.alloc_packets::<u32>(3)?, bench.shmem.alloc_zeroed::<u32>(2)?);
    bench.row(
        "a test of a packet tells its value once the round is there, and nothing before",
        String::new,
        || packet_tested::launch(bench.shmem, TWO_BLOCKS, packets.at(2), &seen, u64::MAX - 1, next),
        || seen.read(),
        |i| if i == 0 { 1 } else { prev + 40 },
    )?;
    bench.shmem.free(packets)?;
    bench.shmem.free(seen)
}

/// What packets that do not come, and lengths that differ, end in.
pub(super) fn failures(shmem: &Shmem, report: &Report, number: u32, name: &'static str) -> Result<()> {
    let (len, culprit) = (300, shmem.n_pes() - 1);
    let (packets, dst) = (shmem.alloc_packets::<u32>(len)?, shmem.alloc_zeroed::<u32>(len)?);
    for (missing, round) in [(0, 7), (131, 8), (299, 9)] {
        let expected = Expected {
            pe: Some(culprit),
            expected: Some(round),
            // Packet 0 has never come; the others came in the round before.
            seen: Some(if missing == 0 { 0 } else { round - 1 }),
            element: Some(missing),
            ..Expected::new(Cause::Deadline, Operation::WaitPackets)
        };
        fails(shmem, report, "a packet that does not come is named", name, expected, || {
            if shmem.my_pe() == culprit {
                miss_a_packet::launch(shmem, CONFIG, &dst, &packets, number, missing, round)?;
            }
            Ok(())
        })?;
    }
    let (long, short) = (len as u64, len as u64 - 1);
    // What is sent is too long for the packets; what is waited for is too short for its target.
    for (send, operation, target, source) in
        [(0, Operation::WaitPackets, long, short), (1, Operation::PutPackets, short, long)]
    {
        let expected = Expected {
            pe: Some(culprit),
            expected: Some(target),
            seen: Some(source),
            ..Expected::new(Cause::LengthMismatch, operation)
        };
        fails(shmem, report, "packets and data of different lengths are refused", name, expected, || {
            if shmem.my_pe() == culprit {
                too_few_packets::launch(shmem, CONFIG, &dst, packets.slice(1, len - 1), number, send)?;
            }
            Ok(())
        })?;
    }
    shmem.free(packets)?;
    shmem.free(dst)
}
