//! Barriers of teams on streams: what they order, side by side, from a graph, and to which a PE does not come.

mod common;

use common::*;
use oxshmem::Error;
use oxshmem_device::abi::Operation;
use oxshmem_device::prelude::*;
use std::time::Duration;

#[test]
fn teams_meet_on_streams_side_by_side() {
    emulated(4)
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let (row, column) = shmem.team_split_2d(&shmem.team_world(), 2)?;
            let (by_row, by_column) = (shmem.alloc_zeroed::<u32>(1)?, shmem.alloc_zeroed::<u32>(1)?);
            let (in_row, in_column) = (me ^ 1, me ^ 2);
            for round in 1..20u32 {
                shmem.p_on(&stream, by_row.at(0), round << 4 | me, in_row)?;
                shmem.team_barrier_on(&stream, &row)?;
                // What came in along the row goes on along the column.
                shmem.put_on(&stream, &by_column, &by_row, in_column)?;
                shmem.team_barrier_on(&stream, &column)?;
                stream.synchronize()?;
                assert_eq!(by_row.read()?, [round << 4 | in_row]);
                assert_eq!(by_column.read()?, [round << 4 | (in_column ^ 1)]);
                // Before the next round puts over it.
                shmem.team_sync_on(&stream, &column)?;
                shmem.team_sync_on(&stream, &row)?;
            }
            stream.synchronize()?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_graph_meets_its_team_as_often_as_it_is_launched() {
    emulated(3)
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let passed = shmem.alloc_zeroed::<u32>(2)?;
            let Some(pair) = shmem.team_split_strided(&shmem.team_world(), 0, 2, 2)? else {
                return shmem.barrier_all();
            };
            if me == 0 {
                passed.write(&[1, 0])?;
            }
            // Both words go to the other, one behind the other.
            let graph = stream.capture(|| {
                shmem.put_on(&stream, passed.slice(1, 1), passed.slice(0, 1), 2 - me)?;
                shmem.team_barrier_on(&stream, &pair)?;
                shmem.get_on(&stream, passed.slice(0, 1), passed.slice(1, 1), me)?;
                shmem.team_sync_on(&stream, &pair)
            })?;
            assert_eq!(graph.len(), 4);
            for _ in 0..51 {
                graph.launch(&stream)?;
            }
            stream.synchronize()?;
            assert_eq!(passed.read()?[0], me / 2, "an odd number of turns");
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_member_that_does_not_come_expires_and_teams_of_others_are_refused() {
    let config = emulated(3).deadline(Duration::from_millis(300));
    config
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let team = shmem.team_from_pes(&shmem.team_world(), &[2, 0, 1])?.unwrap();
            shmem.all_gather(&0u32)?;
            let comes = if me == 1 { Ok(()) } else { shmem.team_barrier_on(&stream, &team) };
            let failed = error(comes.and_then(|()| shmem.barrier_all()));
            let Error::Poisoned(failure) = &failed else { panic!("{failed}") };
            assert_eq!(failure.operation, Operation::TeamBarrier);
            assert_ne!(failure.pe, 1);
            says(
                &failed,
                &["on the team barrier word", "deadline 0.3 s expired", "stream_kernels__team_barrier"],
            );
            shmem.recover()?;
            shmem.team_barrier_on(&stream, &team)?;
            stream.synchronize()?;
            // Nobody may use it any more, nor a graph that has it.
            let graph = stream.capture(|| shmem.team_sync_on(&stream, &team))?;
            shmem.team_destroy(team)?;
            assert!(matches!(error(graph.launch(&stream)), Error::BadTeam { .. }));
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn the_checker_knows_threads_from_those_of_a_larger_block_that_had_their_place() {
    let checked = oxshmem::check(&oxshmem::CheckOptions::default().seeds(5), 2, |shmem: oxshmem::Shmem| {
        let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
        let (v, w) = (shmem.alloc_zeroed::<u32>(1 << 20)?, shmem.alloc_zeroed::<u32>(1 << 20)?);
        let ready = shmem.alloc_signals(1)?;
        shmem.wait_until_on(&stream, ready.at(0), Cmp::Ge, 1)?;
        shmem.put_on(&stream, &w, &v, other)?;
        shmem.signal(ready.at(0), SignalOp::Set(1), other)?;
        shmem.free(w)?;
        shmem.free(v)?;
        shmem.wait_until_on(&stream, ready.at(0), Cmp::Ge, 2)?;
        shmem.barrier_all()
    });
    let said = checked.unwrap().to_string();
    says(said, &["deadlock"]);
}
