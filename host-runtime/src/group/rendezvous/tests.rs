//! PEs that are threads meet, and learn who does not come.

use super::*;

fn pes(n_pes: u32, deadline: Duration) -> Rendezvous {
    Rendezvous::new(n_pes, deadline, 10 * deadline, Arc::new(Board::new(n_pes).unwrap()))
}

fn arrival(call: Call) -> Arrival {
    Arrival::at(call)
}

/// What is passed where nobody may lead.
fn nobody() -> Option<Lead<'static>> {
    Some(Box::new(|_| unreachable!()))
}

fn all(
    n: u32,
    group: &Rendezvous,
    each: impl Fn(u32) -> Option<Result<Agreed>> + Sync,
) -> Vec<Option<String>> {
    let _ = group;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n)
            .map(|pe| {
                scope.spawn({
                    let each = &each;
                    move || each(pe)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap().and_then(|r| r.err()).map(|error| error.to_string()))
            .collect()
    })
}

#[test]
fn the_last_to_arrive_leads_and_all_get_the_result() {
    let (group, led) = (pes(4, Duration::from_secs(10)), Mutex::new(0));
    let errors = all(4, &group, |pe| {
        for _ in 0..100 {
            let lead = |_: &mut Agreed| {
                *led.lock().unwrap() += 1;
                Ok(())
            };
            group.meet(pe, arrival(Call::BarrierAll), Some(Box::new(lead))).unwrap();
        }
        None
    });
    assert_eq!(errors, [const { None }; 4]);
    assert_eq!(*led.lock().unwrap(), 100);
}

#[test]
fn different_calls_are_an_error_on_every_pe() {
    let group = pes(3, Duration::from_secs(10));
    let errors = all(3, &group, |pe| {
        let call = if pe == 1 { Call::BarrierAll } else { Call::Free(AllocationId(7)) };
        Some(group.meet(pe, arrival(call), nobody()))
    });
    for error in errors {
        let error = error.unwrap();
        assert!(error.contains("PE 0: free of allocation #7; PE 1: barrier_all"), "{error}");
    }
}

#[test]
fn a_pe_that_does_not_come_is_named_after_the_deadline() {
    let group = pes(3, Duration::from_millis(50));
    let errors = all(3, &group, |pe| (pe != 1).then(|| group.meet(pe, arrival(Call::BarrierAll), nobody())));
    for pe in [0, 2] {
        assert!(errors[pe].as_ref().unwrap().contains("missing: PE 1;"), "{errors:?}");
    }
}

#[test]
fn a_pe_that_waits_for_its_kernels_may_take_longer() {
    let deadline = Duration::from_millis(50);
    let group = pes(2, deadline);
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            group.board.set_doing(1, true);
            std::thread::sleep(4 * deadline);
            group.board.set_doing(1, false);
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), None))
    });
    assert_eq!(errors, [None, None]);
}

#[test]
fn a_pe_that_was_sent_home_leaves_nothing_behind() {
    let group = pes(2, Duration::from_secs(60));
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            // Sends PE 0 home.
            let mut state = group.lock();
            while state.seats[0].arrival.is_none() {
                state = group.changed.wait_timeout(state, Duration::from_millis(1)).unwrap().0;
            }
            state.send_home(&Error::other("go home"));
            group.wake(&mut state);
            return None;
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), nobody()))
    });
    assert_eq!(errors[0].as_deref(), Some("go home"));
    // Nothing of it is left, and if there were, it would say nothing about the next call.
    assert!(group.lock().seats[0].answer.is_none());
    group.lock().seats[0].answer = Some(Err(Error::other("stale")));
    let errors = all(2, &group, |pe| Some(group.meet(pe, arrival(Call::BarrierAll), None)));
    assert_eq!(errors, [None, None]);
}

#[test]
fn a_pe_that_wakes_late_gets_the_result_of_its_own_rendezvous() {
    let group = pes(2, Duration::from_millis(20));
    // PE 0 has come and sleeps; PE 1 ends that rendezvous, then waits in vain at the next one.
    group.lock().seats[0].arrival = Some((arrival(Call::BarrierAll), now()));
    assert!(group.meet(1, arrival(Call::BarrierAll), None).is_ok());
    let error = group.meet(1, arrival(Call::BarrierAll), nobody()).unwrap_err();
    assert!(matches!(error, Error::Absent { pe: 1, .. }), "{error}");
    assert!(matches!(group.lock().seats[0].answer, Some(Ok(_))));
}

#[test]
fn a_pe_of_another_process_is_told_at_once_and_in_order() {
    let group = pes(3, Duration::from_millis(20));
    let (ways, news): (Vec<_>, Vec<_>) = (0..2).map(|_| std::sync::mpsc::channel()).unzip();
    (1..).zip(ways).for_each(|(pe, way)| group.set_afar(pe, Some(way)));
    let come = |pe, number| group.arrive_from_afar(pe, Arrival { number, ..arrival(Call::BarrierAll) });
    // PE 0 comes last: nobody looks after the others for it.
    (1..3).for_each(|pe| come(pe, 1));
    group.meet(0, arrival(Call::BarrierAll), None).unwrap();
    for news in &news {
        assert!(matches!(news.try_recv(), Ok(ToPe::Answer { number: 1, result: Ok(_) })));
    }
    // PE 2 does not come, which PE 0 notices first, and fails by it.
    come(1, 2);
    let absent = group.meet(0, arrival(Call::BarrierAll), None).unwrap_err();
    group.fail(0, 0, absent);
    let answer = news[0].try_recv();
    assert!(
        matches!(answer, Ok(ToPe::Answer { number: 2, result: Err(Error::Absent { .. }) })),
        "{answer:?}"
    );
    assert!(matches!(news[0].try_recv(), Ok(ToPe::Failed { pe: 0, .. })));
}

#[test]
fn a_pe_of_another_process_that_is_served_late_is_told_who_failed_before() {
    let group = pes(3, Duration::from_secs(10));
    let (early, heard_early) = std::sync::mpsc::channel();
    let (late, heard_late) = std::sync::mpsc::channel();
    group.set_afar(1, Some(early));
    assert!(heard_early.try_recv().is_err());
    group.fail(1, 1, Error::PeLost { pe: 1, pid: 7, how: "has ended".into() });
    group.set_afar(2, Some(late));
    for heard in [heard_early, heard_late] {
        assert!(matches!(heard.try_recv(), Ok(ToPe::Failed { pe: 1, error: Error::PeLost { pe: 1, .. } })));
        assert!(heard.try_recv().is_err());
    }
}

#[test]
fn a_pe_that_fails_or_returns_ends_the_wait() {
    let group = pes(2, Duration::from_secs(60));
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            group.finish(1);
            return None;
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), nobody()))
    });
    assert!(errors[0].as_ref().unwrap().contains("PE 1 already returned"), "{errors:?}");

    let group = pes(2, Duration::from_secs(60));
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            group.fail(1, 1, Error::other("no luck"));
            return None;
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), nobody()))
    });
    assert_eq!(errors[0].as_ref().unwrap(), "PE 1 failed: no luck");
}

#[test]
fn a_pe_whose_kernels_have_ended_has_no_more_patience_than_others() {
    let deadline = Duration::from_millis(50);
    // As emulated: kernels may take any time.
    let group = Rendezvous::new(2, deadline, Duration::from_secs(1 << 32), Arc::new(Board::new(2).unwrap()));
    group.board.set_doing(1, true);
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            while group.lock().seats[0].arrival.is_none() {
                std::thread::yield_now();
            }
            // Its kernels end, and it never comes. That wakes nobody.
            group.board.set_doing(1, false);
            return None;
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), nobody()))
    });
    assert!(errors[0].as_ref().unwrap().contains("missing: PE 1;"), "{errors:?}");
}

#[test]
fn a_process_that_does_not_run_is_not_waited_for_whatever_its_kernels_do() {
    let group = pes(2, Duration::from_millis(50));
    group.board.set_doing(1, true);
    group.board.beat(1);
    let error = group.meet(0, arrival(Call::BarrierAll), nobody()).unwrap_err();
    let Error::Absent { waited, missing, .. } = error else { panic!("{error}") };
    // A process speaks ten times a second, and is not stopped because it has not for 50 ms.
    // (`pes` lets kernels take ten deadlines, which end first.)
    assert!(missing == [1] && waited >= Duration::from_millis(500), "{waited:?}");
}

#[test]
fn a_fault_in_the_common_part_leaves_nobody_waiting() {
    let group = pes(2, Duration::from_secs(60));
    let errors = all(2, &group, |pe| {
        if pe == 1 {
            while group.lock().seats[0].arrival.is_none() {
                std::thread::yield_now();
            }
            let lead: Lead<'_> = Box::new(|_| panic!("a fault"));
            let met = || group.meet(1, arrival(Call::BarrierAll), Some(lead)).map(drop);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(met)).is_err());
            group.fail(1, 1, Error::other("it panicked"));
            return None;
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), nobody()))
    });
    assert_eq!(errors[0].as_deref(), Some("PE 1 failed: it panicked"));
}

/// A call over these PEs.
fn over(members: &[u32], what: &'static str) -> Arrival {
    Arrival { members: members.to_vec(), ..Arrival::at(Call::Team { what, bytes: 0 }) }
}

#[test]
fn pes_of_teams_meet_without_the_others_and_leave_with_what_each_brought_in_their_order() {
    let group = pes(5, Duration::from_secs(10));
    let errors = all(5, &group, |pe| {
        // PE 4 comes to no team's meeting, and PE 2 to two that share it.
        for team in [&[2, 0][..], &[3, 1, 2]].iter().filter(|team| team.contains(&pe)) {
            for round in 0..50 {
                let arrival = Arrival { data: vec![pe as u8, round], ..over(team, "split") };
                let agreed = group.meet(pe, arrival, Some(Box::new(|_| Ok(())))).unwrap();
                let expected: Vec<Vec<u8>> = team.iter().map(|pe| vec![*pe as u8, round]).collect();
                assert_eq!(*agreed.gathered, expected);
            }
        }
        Some(group.meet(pe, arrival(Call::BarrierAll), Some(Box::new(|_| Ok(())))))
    });
    assert_eq!(errors, [const { None }; 5]);
}

#[test]
fn what_was_released_is_for_all_pes_and_not_for_a_team() {
    let group = pes(2, Duration::from_secs(10));
    let released = Mutex::new(Vec::new());
    let errors = all(2, &group, |pe| {
        let mine = Arrival { released: vec![AllocationId(7)], ..over(&[pe], "split") };
        assert!(group.meet(pe, mine, Some(Box::new(|_| Ok(())))).unwrap().released.is_empty());
        let agreed = group.meet(pe, arrival(Call::BarrierAll), Some(Box::new(|_| Ok(())))).unwrap();
        released.lock().unwrap().push(agreed.released.len());
        None
    });
    assert_eq!((errors, released.into_inner().unwrap()), (vec![None, None], vec![2, 2]));
}

#[test]
fn a_pe_that_does_not_come_to_its_team_is_named_and_other_meetings_go_on() {
    let group = pes(4, Duration::from_millis(50));
    let errors = all(4, &group, |pe| match pe {
        0 | 1 => Some(group.meet(pe, over(&[0, 1, 2], "split"), nobody())),
        2 => None,
        _ => Some(group.meet(pe, over(&[3], "split"), Some(Box::new(|_| Ok(()))))),
    });
    for pe in [0, 1] {
        assert!(errors[pe].as_ref().unwrap().contains("in split; missing: PE 2;"), "{errors:?}");
    }
    assert_eq!(errors[3], None);
}

#[test]
fn pes_that_wait_for_each_other_in_different_meetings_are_told_at_once() {
    let group = pes(3, Duration::from_secs(100));
    let errors = all(3, &group, |pe| {
        let arrival = if pe == 1 { arrival(Call::BarrierAll) } else { over(&[0, 1, 2], "split") };
        Some(group.meet(pe, arrival, nobody()))
    });
    for error in errors {
        let error = error.unwrap();
        assert!(error.contains("PE 0: split; PE 1: barrier_all; PE 2: split"), "{error}");
    }
}

#[test]
fn different_calls_over_one_team_name_its_pes_alone() {
    let group = pes(3, Duration::from_secs(10));
    let errors = all(3, &group, |pe| {
        let what = if pe == 2 { "destroy" } else { "split" };
        (pe != 0).then(|| group.meet(pe, over(&[2, 1], what), nobody()))
    });
    for pe in [1, 2] {
        let error = errors[pe].as_ref().unwrap();
        assert!(error.contains("calls: PE 1: split; PE 2: destroy; every"), "{error}");
    }
}

#[test]
fn a_meeting_that_does_not_hold_its_pe_is_refused() {
    let group = pes(2, Duration::from_secs(10));
    for members in [&[1][..], &[0, 2]] {
        let error = group.meet(0, over(members, "split"), nobody()).unwrap_err().to_string();
        assert!(error.contains("that there cannot be"), "{error}");
    }
}
