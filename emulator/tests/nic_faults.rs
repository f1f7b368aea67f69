//! Every fault gives its syndrome, in bounded time, and the flush that follows it.

mod nic_poster;

use nic_poster::{Entry, Pair, SIGNAL, Setup};
use oxshmem_emulator::nic::{Event, Fault, State, Syndrome, Transition};

/// Tries that end soon: 8 of 65 µs.
fn impatient() -> Setup {
    Setup { ack_timeout: 4, ..Setup::default() }
}

fn write(pair: &Pair) -> Entry {
    Entry::write(pair.remote(0), pair.local(0), 8)
}

/// The syndromes of what was posted, oldest first.
fn syndromes(pair: &mut Pair, count: usize) -> Vec<(u16, Option<Syndrome>)> {
    pair.completions(count).iter().map(|cqe| (cqe.counter, cqe.syndrome)).collect()
}

#[test]
fn every_syndrome_on_demand_with_its_flush_train() {
    for seed in [None, Some(1), Some(2)] {
        for syndrome in Syndrome::ALL {
            let mut pair = Pair::new(Setup { seed, ..Setup::default() });
            let qpn = pair.a.qpn;
            pair.a.nic.inject(Fault::Completion { qpn, skip: 2, syndrome, vendor: 0x93 }).unwrap();
            pair.b.heap.store64(0, 77);
            for at in 0..6 {
                let entry =
                    if at == 1 { Entry::read(pair.remote(0), pair.local(8), 8) } else { write(&pair) };
                // An error is told even of requests that asked for no completion.
                pair.a.post(entry.flags(if at < 3 { 0 } else { SIGNAL }));
            }
            pair.a.ring();
            let cqes = pair.completions(4);
            assert_eq!((cqes[0].counter, cqes[0].syndrome, cqes[0].vendor), (2, Some(syndrome), 0x93));
            assert_eq!((cqes[0].opcode, cqes[0].qpn, cqes[0].code), (0x08, qpn, 13));
            for (cqe, counter) in cqes[1..].iter().zip(3..) {
                assert_eq!((cqe.counter, cqe.syndrome, cqe.vendor), (counter, Some(Syndrome::Flushed), 0));
            }
            assert_eq!(pair.a.nic.query_qp(qpn).unwrap().state, State::Error);
            // What is posted later is flushed as well.
            let later = pair.a.post(Entry::nop());
            pair.a.ring();
            assert_eq!(syndromes(&mut pair, 1), [(later, Some(Syndrome::Flushed))]);
            pair.assert_clean();
        }
    }
}

#[test]
fn a_peer_that_does_not_answer_is_retry_exceeded_after_its_time() {
    let setup = impatient();
    let mut pair = Pair::new(setup);
    pair.b.nic.inject(Fault::Silent { qpn: pair.b.qpn }).unwrap();
    let first = pair.a.post(write(&pair));
    let second = pair.a.post(write(&pair));
    pair.a.ring();
    // 4.096 µs · 2^4 · 8 tries are 524 µs, and a step is one.
    for _ in 0..500 {
        pair.step();
    }
    assert_eq!(pair.a.poll(), None);
    for _ in 0..100 {
        pair.step();
    }
    let cqes = pair.a.poll_all();
    let said: Vec<_> = cqes.iter().map(|cqe| (cqe.counter, cqe.syndrome, cqe.vendor)).collect();
    assert_eq!(said, [(first, Some(Syndrome::RetryExceeded), 0x81), (second, Some(Syndrome::Flushed), 0)]);
}

#[test]
fn what_is_under_way_is_bounded_and_long_messages_go_on() {
    let mut pair = Pair::new(Setup { mtu: 256, ..Setup::default() });
    pair.b.nic.inject(Fault::Frozen(true)).unwrap();
    pair.a.heap.write(0, &[6; 200_000]);
    pair.a.post(Entry::write(pair.remote(0), pair.local(0), 200_000));
    pair.a.ring();
    for _ in 0..1000 {
        pair.step();
    }
    assert_eq!(pair.a.nic.statistics().sent, 64);
    pair.b.nic.inject(Fault::Frozen(false)).unwrap();
    assert_eq!(syndromes(&mut pair, 1)[0].1, None);
    assert_eq!(pair.b.heap.read(0, 200_000), vec![6; 200_000]);
}

#[test]
fn patience_starts_afresh_with_every_answer() {
    let mut pair = Pair::new(impatient());
    for _ in 0..40 {
        pair.a.post(write(&pair));
        pair.a.ring();
        assert_eq!(syndromes(&mut pair, 1)[0].1, None);
        for _ in 0..300 {
            pair.step();
        }
    }
    // No timeout at all: it waits for as long as it takes.
    let mut pair = Pair::new(Setup { ack_timeout: 0, ..Setup::default() });
    pair.b.nic.inject(Fault::Frozen(true)).unwrap();
    pair.a.post(write(&pair));
    pair.a.ring();
    for _ in 0..100_000 {
        pair.step();
    }
    assert_eq!(pair.a.poll(), None);
    pair.b.nic.inject(Fault::Frozen(false)).unwrap();
    assert_eq!(syndromes(&mut pair, 1)[0].1, None);
}

#[test]
fn a_frozen_nic_a_dead_nic_and_a_queue_pair_in_reset_are_all_silence() {
    let kill: [fn(&mut Pair); 3] = [
        |pair| pair.b.nic.inject(Fault::Frozen(true)).unwrap(),
        |pair| pair.b.nic.modify_qp(pair.b.qpn, Transition::ToReset).unwrap(),
        |pair| pair.b.nic.modify_qp(pair.b.qpn, Transition::ToError).unwrap(),
    ];
    for kill in kill {
        for seed in [None, Some(9)] {
            let mut pair = Pair::new(Setup { seed, ack_timeout: 8, ..Setup::default() });
            kill(&mut pair);
            for entry in [write(&pair), Entry::read(pair.remote(0), pair.local(0), 8)] {
                pair.a.post(entry);
            }
            pair.a.ring();
            let said = syndromes(&mut pair, 2);
            assert_eq!(said, [(0, Some(Syndrome::RetryExceeded)), (1, Some(Syndrome::Flushed))]);
        }
    }
}

#[test]
fn a_peer_that_is_gone_from_the_fabric_is_silence_even_if_another_takes_its_place() {
    let setup = impatient();
    let Pair { mut a, b } = Pair::new(setup);
    let (lid, there) = (b.nic.lid(), (nic_poster::IOVA, b.keys.rkey));
    drop(b);
    a.post(Entry::write(there, (nic_poster::IOVA, a.keys.lkey), 8));
    a.ring();
    let mut cqe = None;
    for _ in 0..5000 {
        a.nic.step();
        cqe = cqe.or_else(|| a.poll());
    }
    assert_eq!(cqe.and_then(|cqe| cqe.syndrome), Some(Syndrome::RetryExceeded));
    assert_ne!(lid, a.nic.lid());
}

#[test]
fn a_wrong_packet_number_or_a_stranger_is_silence() {
    let setup = impatient();
    for wrong in 0..2 {
        let mut pair = Pair::new(setup);
        for end in [&pair.a, &pair.b] {
            end.nic.modify_qp(end.qpn, Transition::ToReset).unwrap();
        }
        let (lid_a, lid_b) = (pair.a.nic.lid(), pair.b.nic.lid());
        pair.a.connect(lid_b, pair.b.qpn, &setup, (10, 20));
        if wrong == 0 {
            pair.b.connect(lid_a, pair.a.qpn, &setup, (20, 11));
        } else {
            pair.b.connect(lid_a, pair.a.qpn + 1, &setup, (20, 10));
        }
        pair.a.post(write(&pair));
        pair.a.ring();
        assert_eq!(syndromes(&mut pair, 1)[0].1, Some(Syndrome::RetryExceeded));
        assert_eq!(pair.b.nic.statistics().dropped, 1);
    }
}

#[test]
fn sides_with_different_mtu_do_not_understand_each_other() {
    let setup = impatient();
    let mut pair = Pair::new(setup);
    for end in [&pair.a, &pair.b] {
        end.nic.modify_qp(end.qpn, Transition::ToReset).unwrap();
    }
    pair.a.connect(pair.b.nic.lid(), pair.b.qpn, &Setup { mtu: 2048, ..setup }, (0, 0));
    pair.b.connect(pair.a.nic.lid(), pair.a.qpn, &Setup { mtu: 1024, ..setup }, (0, 0));
    pair.a.post(Entry::write(pair.remote(0), pair.local(0), 2048));
    pair.a.ring();
    assert_eq!(syndromes(&mut pair, 1)[0].1, Some(Syndrome::RemoteInvalidRequest));
    assert!(pair.b.sentence().contains("both sides need one MTU"));
}

#[test]
fn more_reads_than_the_responder_takes_are_invalid() {
    let setup = Setup { log_reads: 3, ..Setup::default() };
    let mut pair = Pair::new(setup);
    pair.b.nic.modify_qp(pair.b.qpn, Transition::ToReset).unwrap();
    pair.b.connect(pair.a.nic.lid(), pair.a.qpn, &Setup { log_reads: 1, ..setup }, (7, 0xff_fffe));
    for _ in 0..8 {
        pair.a.post(Entry::read(pair.remote(0), pair.local(0), 8));
    }
    pair.a.ring();
    // All 8 leave before the responder looks; it takes 2.
    pair.a.nic.step();
    let cqes = pair.completions(8);
    assert!(cqes.iter().any(|cqe| cqe.syndrome == Some(Syndrome::RemoteInvalidRequest)), "{cqes:?}");
    assert!(pair.b.sentence().contains("more than 2 reads and atomics at once"));
}

#[test]
fn a_receiver_that_is_not_ready_is_tried_again_and_then_given_up() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        // Three times not ready, with seven tries.
        let setup = Setup { seed, receive: true, rnr_retry: 3, mtu: 256, ..Setup::default() };
        let mut pair = Pair::new(setup);
        pair.b.set_receives(8);
        pair.a.heap.write(0, &[4; 900]);
        pair.b.nic.inject(Fault::NotReady { qpn: pair.b.qpn, times: 3 }).unwrap();
        let (to, from) = (pair.remote(0), pair.local(0));
        pair.a.post(Entry::write_immediate(to, from, 900, 11));
        pair.a.post(Entry::fetch_add(pair.remote(1024), pair.local(1024), 1));
        pair.a.post(Entry::nop());
        pair.a.post(Entry::read(to, pair.local(2048), 900));
        pair.a.ring();
        assert!(syndromes(&mut pair, 4).iter().all(|said| said.1.is_none()));
        assert_eq!((pair.b.heap.load64(1024), pair.b.heap.read(0, 900)), (1, vec![4; 900]));
        assert_eq!(pair.a.heap.read(2048, 900), [4; 900]);
        assert_eq!(pair.b.poll().map(|cqe| cqe.immediate), Some(11));
        // Once more than it may be.
        pair.b.nic.inject(Fault::NotReady { qpn: pair.b.qpn, times: 4 }).unwrap();
        let index = pair.a.post(Entry::write_immediate(to, from, 8, 12));
        pair.a.post(Entry::nop());
        pair.a.ring();
        let said = syndromes(&mut pair, 2);
        assert_eq!(said[0], (index, Some(Syndrome::RnrRetryExceeded)));
        assert_eq!(said[1].1, Some(Syndrome::Flushed));
        pair.assert_clean();
    }
}

#[test]
fn a_write_with_immediate_waits_for_a_receive_for_ever_if_told_so() {
    let mut pair = Pair::new(Setup { receive: true, rnr_retry: 7, ..impatient() });
    let (to, from) = (pair.remote(0), pair.local(0));
    pair.a.post(Entry::write_immediate(to, from, 8, 1));
    pair.a.ring();
    for _ in 0..20_000 {
        pair.step();
    }
    assert_eq!(pair.a.poll(), None);
    pair.b.set_receives(1);
    assert_eq!(syndromes(&mut pair, 1)[0].1, None);
}

#[test]
fn receives_are_flushed_too() {
    for seed in [None, Some(1)] {
        let mut pair = Pair::new(Setup { seed, receive: true, ..Setup::default() });
        pair.b.set_receives(3);
        pair.a.post(Entry::write_immediate(pair.remote(0), pair.local(0), 8, 1));
        pair.a.post(Entry::write((nic_poster::IOVA, 0x77), pair.local(0), 8));
        pair.a.ring();
        pair.settle();
        let said: Vec<_> =
            pair.b.poll_all().iter().map(|cqe| (cqe.code, cqe.counter, cqe.syndrome)).collect();
        let flushed = Some(Syndrome::Flushed);
        assert_eq!(said, [(1, 0, None), (14, 1, flushed), (14, 2, flushed)]);
    }
}

#[test]
fn a_queue_pair_that_fails_by_itself() {
    for seed in [None, Some(3)] {
        let mut pair = Pair::new(Setup { seed, ..Setup::default() });
        let qpn = pair.a.qpn;
        pair.b.nic.inject(Fault::Frozen(true)).unwrap();
        for _ in 0..3 {
            pair.a.post(write(&pair));
        }
        pair.a.ring();
        for _ in 0..50 {
            pair.step();
        }
        pair.a.nic.inject(Fault::QueuePair { qpn }).unwrap();
        assert_eq!(pair.a.nic.events(), [Event::QueuePairFatal { qpn }]);
        let flushed = Some(Syndrome::Flushed);
        assert_eq!(syndromes(&mut pair, 3), [(0, flushed), (1, flushed), (2, flushed)]);
    }
}

#[test]
fn refusals_raise_the_responders_event() {
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::write((nic_poster::IOVA, 0x77), pair.local(0), 8));
    pair.a.ring();
    pair.completions(1);
    assert_eq!(pair.b.nic.events(), [Event::QueuePairAccess { qpn: pair.b.qpn }]);
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::fetch_add(pair.remote(4), pair.local(0), 8));
    pair.a.ring();
    pair.completions(1);
    assert_eq!(pair.b.nic.events(), [Event::QueuePairRequest { qpn: pair.b.qpn }]);
}

#[test]
fn a_port_without_a_link_recovers_in_time_or_not_at_all() {
    for (down_us, wanted) in [(200, None), (2000, Some(Syndrome::RetryExceeded))] {
        for at_sender in [true, false] {
            let mut pair = Pair::new(impatient());
            let nic = if at_sender { pair.a.nic.clone() } else { pair.b.nic.clone() };
            nic.inject(Fault::Port { up: false }).unwrap();
            nic.inject(Fault::Port { up: false }).unwrap();
            pair.a.post(write(&pair));
            pair.a.post(Entry::read(pair.remote(0), pair.local(8), 8));
            pair.a.ring();
            for _ in 0..down_us {
                pair.step();
            }
            nic.inject(Fault::Port { up: true }).unwrap();
            assert_eq!(nic.events(), [Event::PortDown, Event::PortUp]);
            assert_eq!(syndromes(&mut pair, 2)[0].1, wanted);
        }
    }
}

#[test]
fn a_lost_doorbell_is_made_good_by_the_next_and_is_no_fault_of_the_driver() {
    let mut pair = Pair::new(Setup { watchdog_us: 300, ..Setup::default() });
    pair.a.nic.inject(Fault::LostDoorbell { qpn: pair.a.qpn, times: 2 }).unwrap();
    for _ in 0..2 {
        pair.a.post(write(&pair));
        pair.a.ring();
        for _ in 0..1000 {
            pair.step();
        }
        assert_eq!(pair.a.poll(), None);
    }
    pair.assert_clean();
    pair.a.post(write(&pair));
    pair.a.ring();
    assert_eq!(pair.completions(3).len(), 3);
    pair.assert_clean();
}

#[test]
fn a_queue_pair_is_usable_again_after_reset() {
    let setup = Setup::default();
    let mut pair = Pair::new(setup);
    for round in 0..5 {
        let bad = Entry::write((nic_poster::IOVA, 0x77), pair.local(0), 8);
        for entry in [write(&pair), bad, write(&pair)] {
            pair.a.post(entry);
        }
        pair.a.ring();
        let said = syndromes(&mut pair, 3);
        let wanted = [None, Some(Syndrome::RemoteAccess), Some(Syndrome::Flushed)];
        assert_eq!(said.iter().map(|said| said.1).collect::<Vec<_>>(), wanted, "round {round}");
        for end in [&mut pair.a, &mut pair.b] {
            end.nic.modify_qp(end.qpn, Transition::ToReset).unwrap();
            end.posted = 0;
            end.set_record(0);
        }
        pair.a.connect(pair.b.nic.lid(), pair.b.qpn, &setup, (round, 3));
        pair.b.connect(pair.a.nic.lid(), pair.a.qpn, &setup, (3, round));
    }
}

#[test]
fn memory_that_is_deregistered_on_the_way_is_not_touched() {
    for seed in 0..60 {
        let mut pair = Pair::new(Setup { mtu: 256, ..Setup::seed(seed) });
        pair.a.heap.write(0, &[1; 4000]);
        let (to, from) = (pair.remote(0), pair.local(0));
        pair.a.post(Entry::write(to, from, 4000));
        pair.a.post(Entry::read(to, pair.local(8192), 4000));
        pair.a.ring();
        for _ in 0..seed {
            pair.step();
        }
        pair.b.nic.deregister(pair.b.keys.rkey).unwrap();
        let before = pair.b.heap.read(0, 4000);
        let cqes = pair.completions(2);
        assert_eq!(pair.b.heap.read(0, 4000), before);
        // What was done already stands; the rest is refused and flushed.
        let codes: Vec<_> = cqes.iter().map(|cqe| cqe.syndrome.is_some()).collect();
        assert!(codes.is_sorted(), "{cqes:?}");
    }
}
