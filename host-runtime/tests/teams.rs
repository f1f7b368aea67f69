//! Teams on the host: who takes part, whose handle is taken, and what stays.

mod common;

use common::*;
use oxshmem::{Error, Shmem};
use oxshmem_device::prelude::*;
use std::sync::Mutex;

/// Sets the word of the next PE of the team to this PE's number in the job, plus 1.
#[nvshmem_kernel]
fn tell_next(shmem: oxshmem_device::Shmem, team: Team, word: Sym<u32>) {
    let team = shmem.team(team);
    team.thread().p(word, 1 + shmem.my_pe(), team.next_pe());
}

/// A team of all PEs in the order `start`, `start + stride`, ….
fn team(shmem: &Shmem, start: u32, stride: i32, size: u32) -> Option<oxshmem::Team> {
    shmem.team_split_strided(&shmem.team_world(), start, stride, size).unwrap()
}

#[test]
fn teams_of_other_pes_that_have_the_same_slot_are_told_apart() {
    let handles = Mutex::new(Vec::new());
    emulated(4)
        .run(|shmem| {
            // PEs 0 and 1, and PEs 2 and 3: neither pair knows of the other's.
            let low = team(&shmem, 0, 1, 2);
            let high = team(&shmem, 2, 1, 2);
            let own = low.or(high).unwrap();
            handles.lock().unwrap().push((shmem.my_pe(), own.handle()));
            let word = shmem.alloc_zeroed::<u32>(1)?;
            tell_next::launch(&shmem, ONE, &own, word.at(0))?;
            shmem.barrier_all()?;
            assert_eq!(word.read()?[0], 1 + (shmem.my_pe() ^ 1));
            let handles = handles.lock().unwrap().clone();
            for (pe, handle) in handles {
                let launched = tell_next::launch(&shmem, ONE, handle, word.at(0));
                if pe / 2 == shmem.my_pe() / 2 {
                    launched?;
                    continue;
                }
                assert_eq!(handle.slot(), own.handle().slot(), "the test is of one slot");
                let error = error(launched);
                assert!(matches!(error, Error::BadTeam { .. }), "{error}");
                says(&error, &["tell_next: parameter 0 names Team(slot 4, ", "no live team of this PE"]);
            }
            shmem.barrier_all()
        })
        .unwrap();
}

/// Meets the team, and counts it.
#[nvshmem_kernel]
fn meet_team(shmem: Collective, team: Team, times: u64, channel: u32) {
    let Some(team) = shmem.try_team(team) else { return };
    let mut i = 0;
    while i < times {
        team.channel(channel).block().team_barrier();
        i += 1;
    }
}

#[test]
fn a_slot_that_other_pes_have_used_more_often_serves_a_new_team() {
    emulated(3)
        .run(|shmem| {
            // PEs 0 and 1 have gone further in the slot than PE 2 ever was.
            let pair = team(&shmem, 0, 1, 2);
            meet_team::launch(&shmem, ONE, pair.as_ref(), 7, 0)?;
            if let Some(pair) = pair {
                shmem.team_barrier(&pair)?;
                shmem.team_destroy(pair)?;
            }
            let (row, column) = shmem.team_split_2d(&shmem.team_world(), 3)?;
            assert_eq!((row.n_pes(), column.n_pes()), (3, 1));
            meet_team::launch(&shmem, ONE, &row, 2, 0)?;
            meet_team::launch(&shmem, ONE, &column, 2, 3)?;
            shmem.team_sync(&row)?;
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn a_channel_that_a_team_has_not_got_and_a_pe_that_does_not_come_end_the_kernel() {
    let error = emulated(1)
        .run(|shmem| {
            meet_team::launch(&shmem, ONE, shmem.team_world(), 1, 4)?;
            shmem.barrier_all()
        })
        .unwrap_err();
    says(&error, &["PE 0: team", "index 4", "4"]);
    let error = emulated(2)
        .deadline(std::time::Duration::from_millis(200))
        .run(|shmem| {
            let times = u64::from(shmem.my_pe());
            meet_team::launch(&shmem, ONE, shmem.team_world(), times, 2)?;
            shmem.barrier_all()
        })
        .unwrap_err();
    says(&error, &["PE 1: team_barrier", "team barrier word", "from PE 0", "expired"]);
}

#[test]
fn pes_that_name_different_lists_are_told() {
    emulated(2)
        .run(|shmem| {
            let mine = [shmem.my_pe(), 1 - shmem.my_pe()];
            says(
                error(shmem.team_from_pes(&shmem.team_world(), &mine)),
                &["team_from_pes", "the list of PEs"],
            );
            says(error(shmem.team_from_pes(&shmem.team_world(), &[0, 0])), &["PE 0 was named twice"]);
            says(error(shmem.team_split_2d(&shmem.team_world(), 0)), &["x_range is 0"]);
            let back = shmem.team_from_pes(&shmem.team_world(), &[1, 0])?.unwrap();
            assert_eq!(back.my_pe(), 1 - shmem.my_pe());
            shmem.team_destroy(back)
        })
        .unwrap();
}

#[test]
fn a_team_of_another_run_or_of_another_pe_is_refused() {
    let kept = emulated(2).run(|shmem| Ok(team(&shmem, 0, 1, 2).unwrap())).unwrap();
    emulated(2)
        .run(|shmem| {
            let word = shmem.alloc_zeroed::<u32>(1)?;
            // Of the same slot, PEs and count, in another run.
            let own = team(&shmem, 0, 1, 2).unwrap();
            assert_ne!(own.handle(), kept[0].handle());
            let refused = [
                error(tell_next::launch(&shmem, ONE, &kept[0], word.at(0))),
                error(shmem.team_split_strided(&kept[shmem.my_pe() as usize], 0, 1, 1)),
            ];
            for error in refused {
                assert!(matches!(error, Error::BadTeam { .. }), "{error}");
            }
            shmem.barrier_all()
        })
        .unwrap();
    for team in kept {
        assert_eq!((team.n_pes(), team.world_pe(1), team.world_pe(2)), (2, Some(1), None));
    }
}

#[test]
fn a_pe_that_has_returned_is_named_to_its_team() {
    let error = emulated(3)
        .run(|shmem| {
            let pair = team(&shmem, 0, 2, 2);
            match (shmem.my_pe(), pair) {
                (0, Some(pair)) => shmem.team_split_strided(&pair, 0, 1, 1).map(drop),
                _ => Ok(()),
            }
        })
        .unwrap_err();
    assert!(matches!(&error, Error::Returned { returned, .. } if *returned == [2]), "{error}");
}

#[test]
fn a_split_and_another_call_are_told_at_once() {
    emulated(3)
        .run(|shmem| {
            let result = match shmem.my_pe() {
                2 => shmem.barrier_all(),
                _ => shmem.team_split_strided(&shmem.team_world(), 0, 1, 3).map(drop),
            };
            says(error(result), &["PE 0: team_split_strided; ", "PE 2: barrier_all"]);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn teams_outlive_a_failure_and_its_recovery() {
    emulated(3)
        .run(|shmem| {
            let pair = team(&shmem, 2, -2, 2);
            let word = shmem.alloc_zeroed::<u32>(1)?;
            // PE 1 is in no such team. Another PE may still be on its way out of the allocation when it fails.
            let launched = tell_next::launch(&shmem, ONE, pair.as_ref(), word.at(0));
            let error = error(launched.and_then(|()| shmem.barrier_all()));
            says(&error, &["PE 1: team: this PE does not belong to the team in slot 3; "]);
            shmem.recover()?;
            if let Some(pair) = &pair {
                tell_next::launch(&shmem, ONE, pair, word.at(0))?;
            }
            shmem.barrier_all()?;
            assert_eq!(word.read()?[0], [3, 0, 1][shmem.my_pe() as usize]);
            pair.map_or(Ok(()), |pair| shmem.team_destroy(pair))
        })
        .unwrap();
}

#[test]
fn a_pe_is_on_a_gpu_with_those_that_share_it() {
    emulated(5)
        .emulated_devices(2)
        .run(|shmem| {
            let (node, gpu) = (shmem.team_node(), shmem.team_same_gpu());
            assert_eq!((node.n_pes(), node.my_pe()), (5, shmem.my_pe()));
            let pes: Vec<u32> = (0..gpu.n_pes()).map_while(|pe| gpu.world_pe(pe)).collect();
            assert_eq!(pes, [&[0, 2, 4][..], &[1, 3]][shmem.my_pe() as usize % 2]);
            assert_eq!(node.translate(shmem.my_pe(), &gpu), Some(gpu.my_pe()));
            assert_eq!(node.translate(shmem.my_pe() ^ 1, &gpu), None);
            Ok(())
        })
        .unwrap();
}
