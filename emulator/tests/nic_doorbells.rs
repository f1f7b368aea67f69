//! Rules for doorbells, records and completion queues: each has a driver that breaks it alone.

mod nic_poster;

use nic_poster::{Entry, Memory, Pair, Setup};
use oxshmem_emulator::nic::{Event, Rule, State, Syndrome};

/// A seed that is late seldom, for long runs.
const MILD: Option<u64> = Some(4476);

fn sentence(pair: &Pair, rule: Rule, words: &str) {
    let violations = pair.a.nic.violations();
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert_eq!((violations[0].rule, violations[0].qpn), (rule, pair.a.qpn), "{}", violations[0]);
    assert!(violations[0].sentence.contains(words), "{words:?} is not in {}", violations[0]);
}

/// The queue pair is in error, and what was rung for is flushed.
fn fatal(pair: &mut Pair, rule: Rule, words: &str) {
    pair.settle();
    sentence(pair, rule, words);
    assert_eq!(pair.a.nic.query_qp(pair.a.qpn).unwrap().state, State::Error);
    assert_eq!(pair.a.nic.events(), [Event::QueuePairFatal { qpn: pair.a.qpn }]);
}

#[test]
fn both_forms_of_doorbell_ring() {
    for names_entry in [false, true] {
        let mut pair = Pair::new(Setup { log_send: 3, ..Setup::default() });
        for _ in 0..40 {
            // Three WQEBBs: one entry of one, one of two.
            let entry = Entry::nop().flags(0);
            pair.a.post(entry);
            let (at, to) = (pair.remote(0), pair.local(0));
            let index = pair.a.index();
            let last = Entry::masked_swap8(at, to, [1, 2, 3, 4]);
            pair.a.post(last.clone());
            pair.a.set_record(u32::from(pair.a.index()));
            if names_entry {
                let bytes = last.at(index, pair.a.qpn);
                let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
                pair.a.bell(word(0), word(4));
            } else {
                pair.a.bell(u32::from(pair.a.index()) << 8, pair.a.qpn << 8);
            }
            assert_eq!(pair.completions(1)[0].counter, index);
        }
        pair.assert_clean();
    }
}

#[test]
fn the_index_wraps_at_65536_whatever_the_rings_size() {
    for (log_send, seed) in [(4, None), (15, MILD)] {
        let mut pair = Pair::new(Setup { log_send, seed, ..Setup::default() });
        let batch = (1_u64 << log_send).min(60);
        while pair.a.posted < 65_800 {
            let (at, to) = (pair.remote(0), pair.local(0));
            for _ in 4..batch {
                pair.a.post(Entry::nop().flags(0));
            }
            pair.a.post(Entry::fetch_add(at, to, 1).flags(0));
            // Two WQEBBs, at an odd index now and then, so that it goes around the ring's end.
            pair.a.post(Entry::nop().flags(0));
            let last = pair.a.post(Entry::masked_swap8(at, to, [0, 0, 0, 0]));
            pair.a.ring();
            assert_eq!(pair.completions(1)[0].counter, last);
        }
        pair.assert_clean();
        let state = pair.a.nic.query_qp(pair.a.qpn).unwrap();
        assert_eq!((state.hw_send_wqebb, state.sw_send_wqebb), (pair.a.index(), pair.a.index()));
    }
}

#[test]
fn queues_of_one_entry_work() {
    for seed in [None, Some(1), Some(2)] {
        let mut pair = Pair::new(Setup { seed, log_send: 0, log_completions: 0, ..Setup::default() });
        for round in 0..300 {
            let entry = Entry::fetch_add(pair.remote(0), pair.local(0), 1);
            pair.a.post(entry);
            pair.a.ring();
            assert_eq!(pair.completions(1)[0].counter, round);
        }
        assert_eq!(pair.b.heap.load64(0), 300);
        pair.assert_clean();
    }
}

#[test]
fn a_doorbell_before_ready_to_send_is_not_remembered() {
    let setup = Setup::default();
    let mut pair = Pair::new(setup);
    for state in ["Reset", "Init", "Rtr"] {
        pair = Pair::new(setup);
        pair.a.nic.modify_qp(pair.a.qpn, oxshmem_emulator::nic::Transition::ToReset).unwrap();
        pair.a.posted = 0;
        if state != "Reset" {
            pair.a.nic.modify_qp(pair.a.qpn, init()).unwrap();
        }
        if state == "Rtr" {
            pair.a.nic.modify_qp(pair.a.qpn, rtr(&pair)).unwrap();
        }
        pair.a.post(Entry::nop());
        pair.a.ring();
        pair.settle();
        sentence(&pair, Rule::DoorbellState, &format!("a doorbell in state {state}"));
        assert_eq!(pair.a.poll(), None);
    }
    drop(pair);
}

fn init() -> oxshmem_emulator::nic::Transition {
    oxshmem_emulator::nic::Transition::ToInit { access: oxshmem_emulator::nic::Access::ALL }
}

fn rtr(pair: &Pair) -> oxshmem_emulator::nic::Transition {
    oxshmem_emulator::nic::Transition::ToRtr {
        remote_qpn: pair.b.qpn,
        receive_psn: 0,
        mtu: 1024,
        address: oxshmem_emulator::nic::Address::Gid(pair.b.nic.gid()),
        log_max_inbound_reads: 4,
        log_max_message: 30,
        min_rnr_timer: 1,
    }
}

#[test]
fn doorbells_in_the_wrong_place() {
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.set_record(1);
    pair.a.bell(1 << 8, (pair.a.qpn + 100) << 8);
    pair.step();
    let violations = pair.a.nic.violations();
    assert!(violations[0].sentence.contains("which there is not"), "{violations:?}");
    assert_eq!(violations[0].rule, Rule::DoorbellPlace);

    let mut pair = Pair::new(Setup::default());
    let page = Memory::new(4096);
    // SAFETY: the page outlives the last step.
    let uar = unsafe { pair.a.nic.alloc_uar(page.start()) }.unwrap();
    pair.a.post(Entry::nop());
    pair.a.set_record(1);
    let value = |pair: &Pair| {
        let [a, b, c, d] = (1_u32 << 8).to_be_bytes();
        let [e, f, g, h] = (pair.a.qpn << 8).to_be_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    };
    page.store64(0xd00, value(&pair));
    pair.step();
    sentence(&pair, Rule::DoorbellPlace, &format!("a doorbell on page {}", uar.0));

    let pair = Pair::new(Setup::default());
    pair.a.nic.doorbell(pair.a.uar, 0x810, value(&pair));
    sentence(&pair, Rule::DoorbellPlace, "offset 0x810 of a doorbell page is no register");

    // Every register, and the call in place of a store.
    let mut pair = Pair::new(Setup::default());
    for at in 0..8 {
        pair.a.post(Entry::nop());
        pair.a.set_record(u32::from(pair.a.index()));
        let [a, b, c, d] = (u32::from(pair.a.index()) << 8).to_be_bytes();
        let [e, f, g, h] = (pair.a.qpn << 8).to_be_bytes();
        pair.a.nic.doorbell(pair.a.uar, 0x800 + at * 0x100, u64::from_ne_bytes([a, b, c, d, e, f, g, h]));
        assert_eq!(pair.completions(1).len(), 1);
    }
    pair.assert_clean();
}

#[test]
fn a_doorbell_ahead_of_its_record() {
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.bell(1 << 8, pair.a.qpn << 8);
    fatal(&mut pair, Rule::DoorbellIndex, "a doorbell for index 0x0001 while the record says 0x0000");
    // Word 0 in place of word 1.
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.set_receives(1);
    pair.a.bell(1 << 8, pair.a.qpn << 8);
    fatal(&mut pair, Rule::DoorbellIndex, "the record must be written first");
    // The entry's form.
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.bell(0, pair.a.qpn << 8 | 1);
    fatal(&mut pair, Rule::DoorbellIndex, "the record must be written first");
}

#[test]
fn a_doorbell_that_names_another_entry() {
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.set_record(1);
    pair.a.bell(0x08, pair.a.qpn << 8 | 3);
    fatal(&mut pair, Rule::DoorbellIndex, "names the entry at 0x0000 by its first 8 bytes");
    let mut pair = Pair::new(Setup::default());
    pair.a.post(Entry::nop());
    pair.a.set_record(1);
    pair.a.bell(0x0100_0100, pair.a.qpn << 8);
    fatal(&mut pair, Rule::DoorbellIndex, "is an index shifted by 8 bits");
}

#[test]
fn doorbells_and_records_that_go_back() {
    let mut pair = Pair::new(Setup::default());
    for _ in 0..3 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    pair.settle();
    pair.a.bell(2 << 8, pair.a.qpn << 8);
    fatal(&mut pair, Rule::DoorbellIndex, "a doorbell for index 0x0002 after one for 0x0003");

    let mut pair = Pair::new(Setup::default());
    for _ in 0..3 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    pair.settle();
    pair.a.set_record(2);
    fatal(&mut pair, Rule::RecordBackwards, "its record went back from 0x0003 to 0x0002");
}

#[test]
fn a_record_further_ahead_than_the_queue_is_deep() {
    let mut pair = Pair::new(Setup { log_send: 3, ..Setup::default() });
    for _ in 0..9 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    fatal(
        &mut pair,
        Rule::Depth,
        "its record says that 9 WQEBBs are posted and not known to be complete; the queue has 8",
    );
    // Hardware is through with the first 8, but no completion says so.
    let mut pair = Pair::new(Setup { log_send: 3, ..Setup::default() });
    for _ in 0..8 {
        pair.a.post(Entry::nop().flags(0));
    }
    pair.a.ring();
    pair.settle();
    pair.assert_clean();
    pair.a.post(Entry::nop());
    pair.a.ring();
    fatal(&mut pair, Rule::Depth, "9 WQEBBs are posted and not known to be complete");
    // The completion of the first frees one WQEBB, not the seven that hardware is through with too.
    let mut pair = Pair::new(Setup { log_send: 3, ..Setup::default() });
    pair.a.post(Entry::nop());
    for _ in 0..7 {
        pair.a.post(Entry::nop().flags(0));
    }
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].counter, 0);
    for _ in 0..2 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    fatal(&mut pair, Rule::Depth, "9 WQEBBs are posted and not known to be complete");
}

#[test]
fn a_record_in_the_wrong_byte_order_or_with_more_than_16_bits() {
    for (value, words) in
        [(1_u32.swap_bytes(), "wrong byte order"), (0x1_0001, "the upper 16 bits are reserved")]
    {
        let mut pair = Pair::new(Setup::default());
        pair.a.post(Entry::nop());
        pair.a.set_record(value);
        pair.a.bell(1 << 8, pair.a.qpn << 8);
        fatal(&mut pair, Rule::Reserved, words);
    }
}

#[test]
fn posted_and_never_rung() {
    let mut pair = Pair::new(Setup { watchdog_us: 500, ..Setup::default() });
    pair.a.post(Entry::nop());
    pair.a.set_record(1);
    for _ in 0..490 {
        pair.step();
    }
    pair.assert_clean();
    for _ in 0..1000 {
        pair.step();
    }
    sentence(&pair, Rule::NeverRung, "its record says 1 WQEBBs are posted, 0 were rung for");
    assert_eq!(pair.a.poll(), None);
    // A late doorbell is none the less one, and entries without a record are nobody's business.
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].code, 0);
    pair.a.post(Entry::nop());
    for _ in 0..2000 {
        pair.step();
    }
    assert_eq!(pair.a.nic.violations().len(), 1);
}

#[test]
fn doorbells_to_a_shared_page_are_not_lost_by_being_stored_over() {
    let setup = Setup::default();
    let mut pair = Pair::new(setup);
    let other = oxshmem_emulator::nic::QpDescription {
        pd: pair.a.pd,
        send: oxshmem_emulator::nic::Place { umem: pair.a.umem, offset: 4096 },
        log_send: 0,
        record: oxshmem_emulator::nic::Place { umem: pair.a.umem, offset: 64 },
        send_cqn: pair.a.cqn,
        receive: None,
        uar: pair.a.uar,
        user_index: 0,
    };
    // A second queue pair on the page, whose doorbell is stored over the first's.
    let qpn = pair.a.nic.create_qp(&other).unwrap();
    pair.a.nic.modify_qp(qpn, init()).unwrap();
    pair.a.nic.modify_qp(qpn, rtr(&pair)).unwrap();
    let rts = oxshmem_emulator::nic::Transition::ToRts {
        send_psn: 0,
        log_max_outbound_reads: 0,
        ack_timeout: 0,
        retry_count: 0,
        rnr_retry: 0,
    };
    pair.a.nic.modify_qp(qpn, rts).unwrap();
    pair.a.post(Entry::nop());
    pair.a.ring();
    pair.a.bell(0, qpn << 8);
    assert_eq!(pair.completions(1)[0].code, 0);
    pair.assert_clean();
}

#[test]
fn a_completion_queue_that_overruns_takes_its_queue_pair_along() {
    let mut pair = Pair::new(Setup { log_completions: 2, ..Setup::default() });
    for _ in 0..5 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    pair.settle();
    sentence(&pair, Rule::Overrun, "is full with 4 entries; poll it");
    let (cqn, qpn) = (pair.a.cqn, pair.a.qpn);
    assert_eq!(pair.a.nic.events(), [Event::CompletionQueueError { cqn }, Event::QueuePairFatal { qpn }]);
    assert_eq!(pair.a.poll_all().len(), 4);
}

#[test]
fn completion_queues_wrap_and_their_consumers_may_not_run_ahead() {
    let mut pair = Pair::new(Setup { log_completions: 2, ..Setup::default() });
    for round in 0..50 {
        for _ in 0..1 + round % 4 {
            pair.a.post(Entry::nop());
        }
        pair.a.ring();
        let last = pair.completions(1 + round % 4).pop().unwrap();
        assert_eq!(last.counter, pair.a.index() - 1);
    }
    pair.assert_clean();
    pair.a.queue.store32(8, (pair.a.consumed as u32 + 3).to_be());
    pair.a.post(Entry::nop());
    pair.a.ring();
    pair.settle();
    sentence(&pair, Rule::Consumer, "completions were taken");
}

#[test]
fn a_completion_queue_that_was_not_prepared() {
    let mut pair = Pair::new(Setup::default());
    pair.a.queue.write(4096, &[0; 64]);
    pair.a.post(Entry::nop());
    pair.a.ring();
    pair.settle();
    sentence(
        &pair,
        Rule::CompletionBuffer,
        "byte 63 of entry 0 is 0x00 before its first use; fill the queue with 0xff",
    );
}

#[test]
fn a_collapsed_queue_has_the_newest_completion_in_its_first_entry() {
    let mut pair = Pair::new(Setup { collapsed: true, ..Setup::default() });
    for round in 1..200_u16 {
        pair.a.post(Entry::nop());
        pair.a.post(Entry::nop());
        pair.a.ring();
        pair.settle();
        assert_eq!(pair.a.poll().map(|cqe| cqe.counter), Some(2 * round - 1));
        assert_eq!(pair.a.queue.read(4096 + 64, 64), [0xff; 64]);
    }
    pair.assert_clean();
    // The first cause of an error is lost, as the facts about this mode say.
    let bad = Entry::new(0, 0x77, Vec::new());
    pair.a.post(bad);
    pair.a.post(Entry::nop());
    pair.a.ring();
    pair.settle();
    assert_eq!(pair.a.poll().and_then(|cqe| cqe.syndrome), Some(Syndrome::Flushed));
}

#[test]
fn an_armed_queue_tells_of_its_next_completion() {
    let mut pair = Pair::new(Setup::default());
    let (cqn, uar) = (pair.a.cqn, pair.a.uar);
    let arm = |pair: &Pair, consumed: u32| {
        let [a, b, c, d] = consumed.to_be_bytes();
        let [e, f, g, h] = cqn.to_be_bytes();
        pair.a.nic.doorbell(uar, 0x20, u64::from_ne_bytes([a, b, c, d, e, f, g, h]));
    };
    arm(&pair, 0);
    assert_eq!(pair.a.nic.events(), []);
    for _ in 0..2 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    pair.completions(2);
    assert_eq!(pair.a.nic.events(), [Event::Completion { cqn }]);
    // One came since: told at once.
    arm(&pair, 1);
    assert_eq!(pair.a.nic.events(), [Event::Completion { cqn }]);
    pair.assert_clean();
}
