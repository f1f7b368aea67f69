//! Teams as a kernel sees them: the entries of the table, evenly spaced and listed.

mod common;

use common::{DATA, Job, slice};
use oxshmem_device::abi::{Cause, Operation, TeamAbi, teams};
use oxshmem_device::prelude::*;

/// PE `member` of a team in slot 5 whose PEs are `start`, `start + stride`, …; or a list.
fn entry(my_pe: u32, n_pes: u32, (start, stride): (u32, i32), list: u64, handle: Team) -> TeamAbi {
    TeamAbi { my_pe, n_pes, start, stride, list, handle: handle.to_bits() }
}

#[test]
fn numbers_are_found_by_spacing_or_in_a_list_and_translate_both_ways() {
    let job = Job::devices(6);
    let (spaced, listed) = (Team::from_parts(5, 5, 1, 1), Team::from_parts(6, 4, 1, 2));
    job.write_team(5, entry(1, 3, (5, -2), 0, spaced));
    let list = job.write_list(&[4, 0, 3, 1]);
    job.write_team(6, entry(2, 4, (0, 1), list, listed));
    // PE 3 is number 1 of 5, 3, 1 and number 2 of 4, 0, 3, 1.
    job.launch(3, (1, 1), move |shmem| {
        let (a, b) = (shmem.team(spaced), shmem.team(listed));
        assert_eq!((a.my_pe(), a.n_pes(), a.next_pe(), a.prev_pe()), (1, 3, 2, 0));
        assert_eq!((b.my_pe(), b.n_pes(), b.next_pe(), b.prev_pe()), (2, 4, 3, 1));
        assert_eq!([0, 1, 2, 3].map(|pe| a.world_pe(pe)), [Some(5), Some(3), Some(1), None]);
        assert_eq!([0, 1, 2, 3, 4].map(|pe| b.world_pe(pe)), [Some(4), Some(0), Some(3), Some(1), None]);
        assert_eq!([0, 1, 2, 3].map(|pe| a.translate(pe, b)), [None, Some(2), Some(3), None]);
        assert_eq!([0, 1, 2, 3, 4].map(|pe| b.translate(pe, a)), [None, None, Some(1), Some(2), None]);
        for pe in 0..4 {
            b.thread().p(slice::<u64>(0, 1).at(0), 100 + u64::from(pe), pe);
        }
    });
    job.finish();
    let seen: Vec<u64> = (0..6).map(|pe| job.peek(pe, DATA)).collect();
    assert_eq!(seen, [101, 103, 0, 102, 100, 0]);
}

#[test]
fn a_slot_that_another_team_has_and_one_that_none_has_are_not_the_kernels_team() {
    let job = Job::devices(2);
    let (mine, before) = (Team::from_parts(5, 0, 1, 2), Team::from_parts(5, 0, 1, 1));
    job.write_team(5, entry(0, 1, (0, 1), 0, mine));
    job.write_team(teams::NONE, teams::EMPTY);
    job.launch(0, (1, 1), move |shmem| {
        assert!(shmem.try_team(mine).is_some());
        assert!(shmem.try_team(before).is_none() && shmem.try_team(Team::NONE).is_none());
        shmem.team(before);
        unreachable!("the kernel has ended");
    });
    job.finish();
    let record = job.record(0);
    assert_eq!((record.cause, record.operation), (Cause::NotInTeam as u32, Operation::Team as u32));
    assert_eq!((record.seen, record.peer), (5, 0));
}

#[test]
fn a_pe_beyond_the_team_is_refused_with_the_teams_size() {
    let job = Job::devices(4);
    let team = Team::from_parts(5, 1, 1, 1);
    job.write_team(5, entry(0, 2, (1, 2), 0, team));
    job.launch(1, (1, 1), move |shmem| shmem.team(team).thread().p(slice::<u64>(0, 1).at(0), 1, 2));
    job.finish();
    let record = job.record(1);
    assert_eq!((record.cause, record.operation), (Cause::PeOutOfRange as u32, Operation::P as u32));
    assert_eq!((record.expected, record.seen), (2, 2));
}

#[test]
fn a_source_that_is_too_short_is_that_of_the_pe_by_the_jobs_number() {
    for (scope, operation) in [(1, Operation::GetNbi), (32, Operation::G)] {
        let job = Job::devices(3);
        let team = Team::from_parts(5, 2, 1, 1);
        job.write_team(5, entry(1, 2, (2, -1), 0, team));
        job.launch(1, (1, scope), move |shmem| {
            let (on_team, short) = (shmem.team(team), slice::<u32>(0, 7));
            if scope == 1 {
                on_team.thread().get_array_nbi::<u32, 8>(short, 0).quiet(on_team.thread());
            } else {
                on_team.warp().g(short, 0);
            }
            unreachable!("the kernel has ended");
        });
        job.finish();
        let record = job.record(1);
        assert_eq!((record.cause, record.operation), (Cause::LengthMismatch as u32, operation as u32));
        assert_eq!((record.peer, record.seen), (2, 7));
    }
}
