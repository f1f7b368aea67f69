//! Collective operations on streams and blocking: what they bring, side by side, in graphs, and what they refuse.

mod common;
#[path = "collectives_on_streams/expected.rs"]
mod expected;

use common::*;
use expected::Bench;
use oxshmem::{BadCollective, Error, Parts, Stream, SymVec, Tuning};
use oxshmem_device::abi::Operation;
use oxshmem_device::collective::{FloatOp, IntegerOp};
use oxshmem_device::prelude::*;
use std::time::Duration;

/// Numbers of elements: none, one, odd ones of packets, one that goes by loads and stores.
const COUNTS: [usize; 4] = [0, 1, 17, 1000];
/// More than one block has.
const MANY: usize = 65537;

/// Floating-point numbers as the widest, in which what the tests add and multiply is exact.
trait Wide: Copy {
    fn as_f64(self) -> f64;
    fn of_f64(value: f64) -> Self;
}
macro_rules! wide {
    ($($ty:ty: $of:expr, $from:expr;)*) => {
        $(
            impl Wide for $ty {
                fn as_f64(self) -> f64 {
                    $of(self)
                }
                fn of_f64(value: f64) -> Self {
                    $from(value)
                }
            }
        )*
    };
}
wide! {
    f16: f16::to_f64, f16::from_f64;
    bf16: bf16::to_f64, bf16::from_f64;
    f32: f64::from, |value| value as f32;
    f64: |value| value, |value| value;
}

/// Teams of a job, where this PE is in them: all PEs, every other one, all from last to first.
fn teams(shmem: &oxshmem::Shmem) -> oxshmem::Result<[Option<oxshmem::Team>; 3]> {
    let (world, n) = (shmem.team_world(), shmem.n_pes());
    let strided = shmem.team_split_strided(&world, 0, 2, n.div_ceil(2))?;
    let reversed = shmem.team_split_strided(&world, n - 1, -1, n)?;
    Ok([Some(world), strided, reversed])
}

#[test]
fn by_whatever_table_the_results_are_the_same() {
    emulated(3)
        .run(|shmem| {
            let (team, me) = (shmem.team_world(), shmem.my_pe());
            let sums = || -> oxshmem::Result<()> {
                for count in [1, 17, 1000, 5000] {
                    let x = shmem.alloc_from_fn(count, |i| i as u32 * (me + 1))?;
                    let y = shmem.alloc_zeroed::<u32>(3 * count)?;
                    shmem.fcollect(&team, &y, &x)?;
                    let parts = y.read()?;
                    assert!((0..3 * count).all(|i| parts[i] == (i % count * (i / count + 1)) as u32));
                    shmem.reduce(&team, Sum, &x, &x)?;
                    assert!(x.read()?.iter().enumerate().all(|(i, sum)| *sum == 6 * i as u32));
                }
                Ok(())
            };
            for tuning in [Tuning::packets(), Tuning::stores(), Tuning::default()] {
                shmem.set_collectives(&tuning)?;
                sums()?;
            }
            // Not the same on all PEs: nothing changes, and all are told.
            let own = if me == 1 { Tuning::packets() } else { Tuning::stores() };
            let told = shmem.set_collectives(&own);
            assert!(matches!(told, Err(Error::Config { what }) if what.contains("PE 1 and PE 0")));
            sums()
        })
        .expect("the run");
}

#[test]
fn all_operations_bring_what_they_should_on_teams_of_any_size() {
    for pes in [1, 2, 3, 5, 8] {
        emulated(pes)
            .run(|shmem| {
                let stream = shmem.stream()?;
                let teams = teams(&shmem)?;
                for count in COUNTS {
                    let data = Bench::<u32>::new(&shmem, &stream, count)?;
                    let numbers = Bench::<i32>::new(&shmem, &stream, count)?;
                    for team in &teams {
                        data.data(team.as_ref())?;
                        numbers.reductions(team.as_ref(), Sum, i32::wrapping_add)?;
                    }
                }
                shmem.barrier_all()
            })
            .unwrap();
    }
}

#[test]
fn many_elements_take_several_blocks() {
    emulated(3)
        .run(|shmem| {
            let stream = shmem.stream()?;
            let data = Bench::<u16>::new(&shmem, &stream, MANY)?;
            let (wide, narrow) =
                (Bench::<u64>::new(&shmem, &stream, MANY)?, Bench::<i8>::new(&shmem, &stream, MANY)?);
            for team in &teams(&shmem)? {
                data.data(team.as_ref())?;
                wide.reductions(team.as_ref(), Sum, u64::wrapping_add)?;
                narrow.reductions(team.as_ref(), Max, Ord::max)?;
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn every_type_and_operator_has_its_kernel() {
    emulated(3)
        .run(|shmem| {
            let (stream, team) = (shmem.stream()?, shmem.team_world());
            let team = Some(&team);
            macro_rules! integers {
                ($($ty:ident),*) => {
                    $(
                        let bench = Bench::<$ty>::new(&shmem, &stream, 17)?;
                        bench.reductions(team, IntegerOp::Sum, $ty::wrapping_add)?;
                        bench.reductions(team, IntegerOp::Prod, $ty::wrapping_mul)?;
                        bench.reductions(team, IntegerOp::Min, Ord::min)?;
                        bench.reductions(team, IntegerOp::Max, Ord::max)?;
                        bench.reductions(team, IntegerOp::And, |a, b| a & b)?;
                        bench.reductions(team, IntegerOp::Or, |a, b| a | b)?;
                        bench.reductions(team, IntegerOp::Xor, |a, b| a ^ b)?;
                        bench.reductions(team, Min, Ord::min)?;
                        bench.reductions(team, And, |a, b| a & b)?;
                    )*
                };
            }
            integers!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize);
            macro_rules! floats {
                ($($ty:ident),*) => {
                    $(
                        let bench = Bench::<$ty>::new(&shmem, &stream, 17)?;
                        let by = |f: fn(f64, f64) -> f64| {
                            move |a: $ty, b: $ty| $ty::of_f64(f(a.as_f64(), b.as_f64()))
                        };
                        bench.reductions(team, FloatOp::Sum, by(|a, b| a + b))?;
                        bench.reductions(team, FloatOp::Prod, by(|a, b| a * b))?;
                        bench.reductions(team, FloatOp::Min, by(f64::min))?;
                        bench.reductions(team, Max, by(f64::max))?;
                    )*
                };
            }
            floats!(f16, bf16, f32, f64);
            // Elements of sizes and alignments of their own.
            Bench::<u8>::new(&shmem, &stream, 1001)?.data(team)?;
            Bench::<[u8; 3]>::new(&shmem, &stream, 1001)?.data(team)?;
            Bench::<[u64; 5]>::new(&shmem, &stream, 101)?.data(team)?;
            Bench::<u128>::new(&shmem, &stream, 101)?.data(team)?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn parts_of_vectors_at_any_place_are_taken() {
    emulated(3)
        .run(|shmem| {
            let (stream, team, me) = (shmem.stream()?, shmem.team_world(), shmem.my_pe());
            for (to, from, count) in [(1, 2, 5), (3, 3, 301), (7, 4, 40001)] {
                let source = shmem.alloc_from_fn(50000, |i| i as u16 + 1000 * me as u16)?;
                let target = shmem.alloc_zeroed::<u16>(50000)?;
                shmem.reduce_on(&stream, &team, Sum, target.slice(to, count), source.slice(from, count))?;
                stream.synchronize()?;
                let (target, first): (_, usize) = (target.read()?, from);
                assert_eq!(target[to - 1], 0);
                for (i, got) in target[to..to + count].iter().enumerate() {
                    assert_eq!(*got, (3 * (first + i) + 3000) as u16, "element {i} of {count}");
                }
                assert_eq!(target[to + count], 0);
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn blocking_forms_bring_the_same() {
    emulated(3)
        .run(|shmem| {
            let (team, me) = (shmem.team_world(), shmem.my_pe());
            let x = shmem.alloc_from_slice(&[me + 1, 10 * me, 7])?;
            let three = shmem.alloc_zeroed::<u32>(3)?;
            let nine = shmem.alloc_zeroed::<u32>(9)?;
            shmem.reduce(&team, Sum, &three, &x)?;
            assert_eq!(three.read()?, [6, 30, 21]);
            shmem.scan(&team, Sum, &three, &x)?;
            assert_eq!(three.read()?[0], [1, 3, 6][me as usize]);
            shmem.exscan(team.channel(3), Sum, &three, &x)?;
            assert_eq!(three.read()?[0], [0, 1, 3][me as usize]);
            shmem.reduce_to(&team, Max, &three, &x, 1)?;
            assert_eq!(three.read()?[1], if me == 1 { 20 } else { three.read()?[1] });
            shmem.reduce_scatter(&team, Prod, three.slice(0, 1), &x)?;
            assert_eq!(three.read()?[0], [6, 0, 343][me as usize]);
            shmem.fcollect(&team, &nine, &x)?;
            assert_eq!(nine.read()?, [1, 0, 7, 2, 10, 7, 3, 20, 7]);
            shmem.alltoall(&team, &three, &x)?;
            assert_eq!(three.read()?, [[1, 2, 3], [0, 10, 20], [7; 3]][me as usize]);
            shmem.broadcast(&team, &three, &x, 2)?;
            assert_eq!(three.read()?, [3, 20, 7]);
            shmem.collect(&team, &nine, x.slice(0, me as usize + 1))?;
            assert_eq!(nine.read()?[..6], [1, 2, 10, 3, 20, 7]);
            let numbers = |of: [u64; 3]| shmem.alloc_from_slice(&of);
            let (places, begins, counts) = (numbers([0, 3, 6])?, numbers([0, 1, 2])?, numbers([1, 1, 1])?);
            let received = numbers([9; 3])?;
            let parts = Parts {
                target_offsets: places.handle(),
                source_offsets: begins.handle(),
                counts: counts.handle(),
                received: received.handle(),
            };
            shmem.alltoallv(&team, &nine, &x, parts)?;
            let nine = nine.read()?;
            assert_eq!([nine[0], nine[3], nine[6]], [[1, 2, 3], [0, 10, 20], [7; 3]][me as usize]);
            assert_eq!(received.read()?, [1; 3]);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn two_channels_of_a_team_go_side_by_side_from_two_streams() {
    emulated(3)
        .run(|shmem| {
            let (team, a, b) = (shmem.team_world(), shmem.stream()?, shmem.stream()?);
            let (x, y) = (shmem.alloc_zeroed::<u32>(3000)?, shmem.alloc_zeroed::<u32>(3000)?);
            for round in 0..30 {
                x.write(&[round + shmem.my_pe(); 3000])?;
                y.write(&[round * shmem.my_pe(); 3000])?;
                // PEs begin with different ones.
                let first = || shmem.reduce_on(&a, &team, Sum, &x, &x);
                let second = || shmem.reduce_on(&b, team.channel(1), Max, &y, &y);
                if shmem.my_pe() == 1 {
                    second().and_then(|()| first())?;
                } else {
                    first().and_then(|()| second())?;
                }
                a.synchronize()?;
                b.synchronize()?;
                assert_eq!((x.read()?[2999], y.read()?[1]), (3 * round + 3, 2 * round));
            }
            shmem.barrier_all()
        })
        .unwrap();
}

/// Counts the rounds in the first word, and makes what this PE gives in that round.
#[nvshmem_kernel]
fn next_round(shmem: Shmem, data: Sym<[u64]>, count: Global<[u64]>) {
    let (data, count, block) = (shmem.local(data), shmem.local(count), shmem.block());
    let round = count.get(0) + 1;
    block.sync();
    let mut i = block.rank();
    while i < data.len() {
        data.set(i, round * (i + 1 + u64::from(shmem.my_pe())));
        i += block.size();
    }
    if block.is_leader() {
        count.set(0, round);
    }
}

/// Adds all elements of `of` to a word that is wrong from the first wrong one on.
#[nvshmem_kernel]
fn note(shmem: Shmem, of: Sym<[u64]>, count: Global<[u64]>, wrong: Global<[u64]>) {
    let (of, count, wrong) = (shmem.local(of), shmem.local(count), shmem.local(wrong));
    let n = u64::from(shmem.n_pes());
    let mut i = 0;
    while i < of.len() {
        // The sum over the PEs, of which each has the sum of all, by the broadcast that came behind.
        if of.get(i) != count.get(0) * (n * (i + 1) + n * (n - 1) / 2) {
            wrong.set(0, wrong.get(0) + 1);
        }
        i += 1;
    }
}

#[test]
fn a_graph_of_collectives_is_right_in_each_of_a_thousand_launches() {
    emulated(3)
        .run(|shmem| {
            let (team, stream) = (shmem.team_world(), shmem.stream()?);
            let (count, wrong) = (shmem.device_zeroed::<u64>(1)?, shmem.device_zeroed::<u64>(1)?);
            let (source, target) = (shmem.alloc_zeroed::<u64>(5)?, shmem.alloc_zeroed::<u64>(5)?);
            let graph = stream.capture(|| {
                next_round::launch_on(&shmem, &stream, ONE.threads(32), &source, &count)?;
                shmem.reduce_to_on(&stream, &team, Sum, &target, &source, 1)?;
                shmem.broadcast_on(&stream, &team, &target, &target, 1)?;
                note::launch_on(&shmem, &stream, ONE.threads(1), &target, &count, &wrong)?;
                next_round::launch_on(&shmem, &stream, ONE.threads(32), &source, &count)?;
                shmem.reduce_on(&stream, &team, Sum, &source, &source)?;
                note::launch_on(&shmem, &stream, ONE.threads(1), &source, &count, &wrong)
            })?;
            for launch in 1..=1000 {
                graph.launch(&stream)?;
                // What waits in a queue of the emulator has its threads already.
                if launch % 20 == 0 {
                    stream.synchronize()?;
                }
            }
            assert_eq!((count.read()?[0], wrong.read()?[0]), (2000, 0));
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_queued() {
    emulated(2)
        .run(|shmem| {
            let (team, stream) = (shmem.team_world(), shmem.stream()?);
            let (x, y) = (shmem.alloc_zeroed::<u32>(12)?, shmem.alloc_zeroed::<u32>(24)?);
            let own = 12 * shmem.my_pe() as usize;
            let on = &stream;
            let part = |at, count| y.slice(at, count);
            let all: [(oxshmem::Result<()>, &str); 19] = [
                (shmem.broadcast_on(on, &team, &x, &x, 2), "names PE 2 of a team as its root: the team has 2"),
                (shmem.reduce_to_on(on, &team, Sum, &x, &x, 7), "reduce_to_on names PE 7"),
                (shmem.broadcast_on(on, &team, &x, &y, 0), "the target has 12 elements, the source 24"),
                (shmem.reduce_on(on, &team, Sum, &x, &y), "the target has 12 elements, the source 24"),
                (shmem.scan_on(on, &team, Sum, &y, &x), "the target has 24 elements, the source 12"),
                (shmem.reduce_on(on, team.channel(4), Sum, &x, &x), "channel 4 of a team: it has 4"),
                (shmem.fcollect_on(on, &team, &x, &y), "the target has 12 elements, and takes 2 times as many as there are in the source, which has 24"),
                (shmem.reduce_scatter_on(on, &team, Sum, &x, &x), "the source has 12 elements, and takes 2 times"),
                (shmem.alltoall_on(on, &team, part(0, 3), part(12, 3)), "3 elements are no 2 parts"),
                (shmem.reduce_on(on, &team, Sum, part(0, 10), part(5, 10)), "source and target overlap in part"),
                (shmem.exscan_on(on, &team, Sum, part(5, 10), part(0, 10)), "source and target overlap in part"),
                (shmem.alltoall_on(on, &team, part(0, 10), part(5, 10)), "source and target overlap in part"),
                (shmem.fcollect_on(on, &team, &y, part(12 - own, 12)), "or as the source this PE's own part of the target"),
                (shmem.reduce_scatter_on(on, &team, Sum, part(12 - own, 12), &y), "or as the target this PE's own part of the source"),
                (shmem.collect_on(on, &team, part(0, 12), part(8, 12)), "source and target overlap: name ranges that are apart"),
                (shmem.reduce(&team, Sum, &x, &y), "reduce: the target has 12 elements"),
                (alltoallv(&shmem, on, &team, &x, &x, 2), "source and target overlap: name ranges that are apart"),
                (alltoallv(&shmem, on, &team, &x, &y, 3), "`counts` has 3 elements, and takes one for each of the team's 2 PE(s)"),
                (shmem.reduce_on(on, &team, And, y.slice(20, 8), y.slice(0, 8)), "an index out of range of the symmetric heap"),
            ];
            for (number, (result, words)) in all.into_iter().enumerate() {
                let failed = result.err().unwrap_or_else(|| panic!("number {number} is not refused: {words}"));
                says(&failed, &[words]);
            }
            let root = error(shmem.broadcast_on(on, &team, &x, &x, 2));
            let expected = BadCollective::Root { by: "broadcast_on", root: 2, n_pes: 2 };
            assert!(matches!(root, Error::Collective(bad) if bad == expected), "{root}");
            // In place where it is allowed, and where there is nothing.
            shmem.fcollect_on(on, &team, &y, part(own, 12))?;
            shmem.reduce_scatter_on(on, &team, Sum, part(own, 12), &y)?;
            shmem.reduce_on(on, &team, Sum, part(3, 0), part(0, 0))?;
            stream.synchronize()?;
            shmem.barrier_all()
        })
        .unwrap();
}

/// With `counts` of a wrong length, or not.
fn alltoallv(
    shmem: &oxshmem::Shmem,
    stream: &Stream,
    team: &oxshmem::Team,
    target: &SymVec<u32>,
    source: &SymVec<u32>,
    counts: usize,
) -> oxshmem::Result<()> {
    let (two, counts) = (shmem.alloc_zeroed::<u64>(2)?, shmem.alloc_zeroed::<u64>(counts)?);
    let parts = Parts { target_offsets: &two, source_offsets: &two, counts: &counts, received: &two };
    shmem.alltoallv_on(stream, team, target, source, parts)
}

#[test]
fn teams_and_vectors_of_others_are_refused() {
    let (teams, vectors) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
    emulated(2)
        .run(|shmem| {
            let stream = shmem.stream()?;
            let (x, given) = (shmem.alloc_zeroed::<u32>(4)?, shmem.alloc_zeroed::<u32>(4)?);
            teams.lock().unwrap().push((shmem.my_pe(), shmem.team_world()));
            vectors.lock().unwrap().push((shmem.my_pe(), given));
            shmem.barrier_all()?;
            {
                let (teams, vectors) = (teams.lock().unwrap(), vectors.lock().unwrap());
                let (_, foreign) = teams.iter().find(|(pe, _)| *pe != shmem.my_pe()).unwrap();
                let refused = error(shmem.reduce_on(&stream, foreign, Sum, &x, &x));
                assert!(matches!(refused, Error::BadTeam { .. }), "{refused}");
                let (_, foreign) = vectors.iter().find(|(pe, _)| *pe != shmem.my_pe()).unwrap();
                let refused = error(shmem.reduce_on(&stream, &shmem.team_world(), Sum, foreign, foreign));
                assert!(matches!(refused, Error::WrongOwner { .. }), "{refused}");
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_pe_that_does_not_come_is_named_by_all() {
    for (count, gives_up) in [(100, "by packets"), (100_000, "by loads and stores")] {
        emulated(3)
            .deadline(Duration::from_millis(400))
            .run(|shmem| {
                let (me, stream, team) = (shmem.my_pe(), shmem.stream()?, shmem.team_world());
                let x = shmem.alloc_from_fn(count, |i| i as u32)?;
                let comes = if me == 1 { Ok(()) } else { shmem.reduce_on(&stream, &team, Sum, &x, &x) };
                let failed = error(comes.and_then(|()| shmem.barrier_all()));
                let Error::Poisoned(failure) = &failed else { panic!("{failed} {gives_up}") };
                assert_eq!(failure.operation, Operation::Reduce, "{gives_up}");
                assert_eq!(failure.peer, Some(1), "{failed} {gives_up}");
                says(&failed, &["reduce", "deadline 0.4 s expired"]);
                shmem.recover()?;
                // And all is well again.
                shmem.reduce_on(&stream, &team, Sum, &x, &x)?;
                stream.synchronize()?;
                shmem.barrier_all()
            })
            .unwrap();
    }
}

#[test]
fn lengths_that_only_the_device_knows_are_found_there() {
    emulated(2)
        .deadline(Duration::from_secs(2))
        .run(|shmem| {
            let (team, me) = (shmem.team_world(), shmem.my_pe());
            let (x, y) = (shmem.alloc_zeroed::<u32>(12)?, shmem.alloc_zeroed::<u32>(20)?);
            let failed = error(shmem.collect(&team, &y, &x));
            let Error::Poisoned(failure) = &failed else { panic!("{failed}") };
            assert_eq!(failure.operation, Operation::Collect);
            says(&failed, &["20", "24"]);
            shmem.recover()?;
            // A team of one, of the other kind.
            let alone = shmem.team_split_strided(&team, 0, 1, 1)?;
            if let Some(alone) = alone {
                assert_eq!((alone.n_pes(), alone.world_pe(0)), (1, Some(me)));
                shmem.collect(&alone, &y, &x)?;
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn the_checker_finds_nothing_in_them_and_the_race_of_one_who_writes_beside_them() {
    let reduces = |beside: bool| {
        let options = oxshmem::CheckOptions::default().seeds(4);
        oxshmem::check(&options, 2, move |shmem: oxshmem::Shmem| {
            let (stream, team) = (shmem.stream()?, shmem.team_world());
            let (other, second) = (1 - shmem.my_pe(), shmem.stream()?);
            for count in [3, 3000] {
                let (x, y) = (shmem.alloc_zeroed::<u32>(count)?, shmem.alloc_zeroed::<u32>(2 * count)?);
                shmem.reduce_on(&stream, &team, Sum, &x, &x)?;
                if beside {
                    shmem.p_on(&second, x.at(1), 7, other)?;
                }
                shmem.fcollect_on(&stream, &team, &y, &x)?;
                shmem.reduce_to_on(&stream, &team, Max, &x, &x, 1)?;
                shmem.broadcast_on(&stream, &team, &x, &x, 1)?;
                shmem.alltoall_on(&stream, &team, &y, &y)?;
                stream.synchronize()?;
                second.synchronize()?;
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap()
    };
    let well = reduces(false);
    assert!(well.findings.is_empty(), "{well}");
    says(reduces(true), &["data-race", "reduce at"]);
}

#[test]
fn the_checker_finds_two_streams_on_one_channel_and_pes_that_do_not_call_alike() {
    let checked = |f: fn(&oxshmem::Shmem, &[Stream; 2]) -> oxshmem::Result<()>| {
        let options = oxshmem::CheckOptions::default().seeds(4);
        oxshmem::check(&options, 2, move |shmem: oxshmem::Shmem| {
            let streams = [shmem.stream()?, shmem.stream()?];
            f(&shmem, &streams)?;
            streams.iter().try_for_each(Stream::synchronize)?;
            shmem.barrier_all()
        })
        .unwrap()
    };
    let apart = checked(|shmem, [first, second]| {
        let (x, y) = (shmem.alloc_zeroed::<u32>(4)?, shmem.alloc_zeroed::<u32>(4)?);
        let team = shmem.team_world();
        shmem.reduce_on(first, &team, Sum, &x, &x)?;
        shmem.reduce_on(second, team.channel(1), Sum, &y, &y)
    });
    assert!(apart.findings.is_empty(), "{apart}");
    let at_once = checked(|shmem, [first, second]| {
        let (x, team) = (shmem.alloc_zeroed::<u32>(4)?, shmem.team_world());
        shmem.reduce_on(first, &team, Sum, &x, &x)?;
        shmem.reduce_on(second, &team, Sum, &x, &x)
    });
    says(at_once, &["collective-overlap", "reduce at"]);
    let shorter = checked(|shmem, [stream, _]| {
        let (x, team) = (shmem.alloc_zeroed::<u32>(4)?, shmem.team_world());
        let part = x.slice(0, 4 - shmem.my_pe() as usize);
        shmem.reduce_on(stream, &team, Sum, part, part)
    });
    says(
        shorter,
        &["collective-mismatch", "call number 1 of Team::WORLD, channel 0", "3 elements of 4 bytes"],
    );
    let left_out = checked(|shmem, [stream, _]| {
        let (x, team) = (shmem.alloc_zeroed::<u32>(4)?, shmem.team_world());
        match shmem.my_pe() {
            0 => shmem.broadcast_on(stream, &team, &x, &x, 0),
            _ => Ok(()),
        }
    });
    says(left_out, &["collective-mismatch", "1 of 2 PEs have come to call number 1"]);
}
