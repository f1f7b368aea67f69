//! What may be reordered is, under some seed; what may not never is, under any of many. A run without an adversary, and
//! regions with relaxed ordering, are the controls on both sides.

mod nic_poster;

use nic_poster::{End, Entry, FENCE, Pair, RELAXED, SIGNAL, Setup};

/// Seeds that a forbidden reordering must not be seen under.
const SEEDS: u64 = 200;

/// Steps to the end, one NIC at a time, with a look after each.
fn watch(pair: &Pair, mut look: impl FnMut(&Pair)) {
    let mut quiet = 0;
    for _ in 0..1_000_000 {
        let busy = pair.a.nic.step();
        look(pair);
        let busy = pair.b.nic.step() | busy;
        look(pair);
        quiet = if busy { 0 } else { quiet + 1 };
        if quiet == 3 {
            return;
        }
    }
    panic!("it never settles");
}

/// Under how many of the seeds a run shows something.
fn seen(setup: Setup, seeds: u64, run: impl Fn(&mut Pair) -> bool) -> u64 {
    let count = |seed| {
        let mut pair = Pair::new(Setup { seed, ..setup });
        let shown = run(&mut pair);
        pair.assert_clean();
        u64::from(shown)
    };
    assert_eq!(count(None), 0, "without an adversary everything happens in order");
    (0..seeds).map(|seed| count(Some(seed))).sum()
}

fn never(setup: Setup, run: impl Fn(&mut Pair) -> bool) {
    assert_eq!(seen(setup, SEEDS, run), 0);
}

fn sometimes(setup: Setup, run: impl Fn(&mut Pair) -> bool) {
    let count = seen(setup, 100, run);
    assert!(count > 0, "under none of 100 seeds");
}

const DATA: u64 = 24;
const FLAG: u64 = 8;

/// Data of several cache lines, then a flag: whether the flag is seen while data are missing.
fn flag_overtakes(pair: &mut Pair, flag: impl Fn(&Pair) -> Entry) -> bool {
    pair.a.heap.write(0, &[1; 300]);
    let (to, from) = (pair.remote(DATA), pair.local(0));
    pair.a.post(Entry::write(to, from, 300).flags(0));
    let entry = flag(pair);
    pair.a.post(entry);
    pair.a.ring();
    let mut overtaken = false;
    watch(pair, |pair| {
        let flag = pair.b.heap.load64(FLAG);
        overtaken |= flag != 0 && pair.b.heap.read(DATA, 300) != [1; 300];
    });
    assert_ne!(pair.b.heap.load64(FLAG), 0);
    assert_eq!(pair.b.heap.read(DATA, 300), [1; 300]);
    overtaken
}

fn write_flag(pair: &Pair) -> Entry {
    Entry::inline(pair.remote(FLAG), &7_u64.to_le_bytes())
}

fn add_flag(pair: &Pair) -> Entry {
    Entry::fetch_add(pair.remote(FLAG), pair.local(512), 7)
}

/// Several packets, so that pieces of different packets mix too.
fn small_packets() -> Setup {
    Setup { mtu: 256, ..Setup::default() }
}

#[test]
fn a_flag_never_overtakes_the_data_before_it() {
    never(small_packets(), |pair| flag_overtakes(pair, write_flag));
    never(small_packets(), |pair| flag_overtakes(pair, add_flag));
}

#[test]
fn a_region_with_relaxed_ordering_lets_the_flag_overtake() {
    let relaxed = Setup { access: RELAXED, ..small_packets() };
    sometimes(relaxed, |pair| flag_overtakes(pair, write_flag));
    sometimes(relaxed, |pair| flag_overtakes(pair, add_flag));
}

#[test]
fn with_relaxed_ordering_a_completion_still_means_that_the_bytes_are_there() {
    let relaxed = Setup { access: RELAXED, ..small_packets() };
    never(relaxed, completion_before_data);
}

fn completion_before_data(pair: &mut Pair) -> bool {
    pair.a.heap.write(0, &[1; 600]);
    let (to, from) = (pair.remote(DATA), pair.local(0));
    pair.a.post(Entry::write(to, from, 600).flags(0));
    pair.a.post(Entry::write(pair.remote(2000), from, 64));
    pair.a.ring();
    pair.completions(1);
    pair.b.heap.read(DATA, 600) != [1; 600] || pair.b.heap.read(2000, 64) != [1; 64]
}

#[test]
fn a_completion_of_a_write_means_that_it_and_all_before_are_there() {
    never(small_packets(), completion_before_data);
}

#[test]
fn a_completion_of_a_read_means_that_its_bytes_have_landed() {
    never(small_packets(), |pair| {
        pair.b.heap.write(0, &[9; 700]);
        let (from, to) = (pair.remote(0), pair.local(100));
        pair.a.post(Entry::read(from, to, 700));
        pair.a.ring();
        pair.completions(1);
        pair.a.heap.read(100, 700) != [9; 700]
    });
}

#[test]
fn the_lines_of_one_write_arrive_in_any_order() {
    sometimes(Setup::default(), |pair| {
        pair.a.heap.write(0, &[1; 256]);
        let (to, from) = (pair.remote(0), pair.local(0));
        pair.a.post(Entry::write(to, from, 256));
        pair.a.ring();
        let mut disordered = false;
        watch(pair, |pair| {
            disordered |= pair.b.heap.load64(0) == 0 && pair.b.heap.load64(192) != 0;
        });
        disordered
    });
}

#[test]
fn two_words_of_one_line_may_arrive_apart() {
    sometimes(Setup::default(), |pair| {
        pair.a.heap.write(0, &[1; 16]);
        let (to, from) = (pair.remote(64), pair.local(0));
        pair.a.post(Entry::write(to, from, 16));
        pair.a.ring();
        let mut torn = false;
        watch(pair, |pair| torn |= pair.b.heap.load64(64) == 0 && pair.b.heap.load64(72) != 0);
        torn
    });
}

#[test]
fn an_aligned_word_is_never_torn() {
    never(Setup::default(), |pair| {
        // The write starts in the middle of a word, so its pieces are cut at lines and not at its own multiples.
        pair.a.heap.write(0, &[0xff; 512]);
        let (to, from) = (pair.remote(4), pair.local(3));
        pair.a.post(Entry::write(to, from, 500));
        pair.a.ring();
        let mut torn = false;
        watch(pair, |pair| {
            torn |= (8..496).step_by(8).any(|at| !matches!(pair.b.heap.load64(at), 0 | u64::MAX));
        });
        torn
    });
}

#[test]
fn writes_to_one_place_leave_the_last_one() {
    never(small_packets(), |pair| {
        for value in 1..=5 {
            pair.a.heap.write(value * 1024, &[value as u8; 400]);
            let (to, from) = (pair.remote(3), pair.local(value * 1024));
            pair.a.post(Entry::write(to, from, 400));
        }
        pair.a.ring();
        pair.completions(5);
        pair.b.heap.read(3, 400) != [5; 400]
    });
}

#[test]
fn a_read_sees_the_writes_before_it() {
    for access in [Setup::default().access, RELAXED] {
        never(Setup { access, ..small_packets() }, |pair| {
            pair.a.heap.write(0, &[3; 400]);
            let (there, here) = (pair.remote(0), pair.local(0));
            pair.a.post(Entry::write(there, here, 400).flags(0));
            let back = pair.local(4096);
            pair.a.post(Entry::read(there, back, 400));
            pair.a.ring();
            pair.completions(1);
            pair.a.heap.read(4096, 400) != [3; 400]
        });
    }
}

/// A read, then a write of the same word: whether the read has the later value.
fn write_overtakes_read(pair: &mut Pair, flags: u8) -> bool {
    let (there, here) = (pair.remote(0), pair.local(0));
    pair.a.post(Entry::read(there, here, 8).flags(0));
    pair.a.post(Entry::inline(there, &1_u64.to_le_bytes()).flags(flags));
    pair.a.ring();
    pair.completions(1);
    pair.a.heap.load64(0) != 0
}

#[test]
fn a_write_may_overtake_a_read_unless_it_is_fenced() {
    sometimes(Setup::default(), |pair| write_overtakes_read(pair, SIGNAL));
    for fence in [0x40, 0x60, FENCE] {
        never(Setup::default(), |pair| write_overtakes_read(pair, SIGNAL | fence));
    }
    // The small fence waits for invalidations alone.
    sometimes(Setup::default(), |pair| write_overtakes_read(pair, SIGNAL | 0x20));
}

/// An atomic's result is a source of what follows: whether the old bytes are sent.
fn result_is_sent_too_early(pair: &mut Pair, flags: u8) -> bool {
    pair.b.heap.store64(0, 5);
    let (there, here) = (pair.remote(0), pair.local(0));
    pair.a.post(Entry::fetch_add(there, here, 1).flags(0));
    let to = pair.remote(64);
    pair.a.post(Entry::write(to, here, 8).flags(flags));
    pair.a.ring();
    pair.completions(1);
    pair.b.heap.load64(64) != 5
}

#[test]
fn a_result_may_be_used_by_a_fenced_request_alone() {
    never(Setup::default(), |pair| result_is_sent_too_early(pair, SIGNAL | FENCE));
    // Without a fence it is too early even if nobody is late.
    let early = |seed: Option<u64>| {
        let mut pair = Pair::new(Setup { seed, ..Setup::default() });
        result_is_sent_too_early(&mut pair, SIGNAL)
    };
    assert!(early(None) && (0..20).any(|seed| early(Some(seed))));
}

#[test]
fn results_for_one_place_land_in_order() {
    never(Setup::default(), |pair| {
        let (there, here) = (pair.remote(0), pair.local(0));
        for _ in 0..6 {
            pair.a.post(Entry::fetch_add(there, here, 1).flags(0));
        }
        pair.a.post(Entry::nop());
        pair.a.ring();
        pair.completions(1);
        pair.a.heap.load64(0) != 5
    });
}

#[test]
fn atomics_happen_in_order_and_later_writes_after_them() {
    never(Setup::default(), |pair| {
        let there = pair.remote(0);
        let (first, second) = (pair.local(0), pair.local(8));
        pair.a.post(Entry::fetch_add(there, first, 1).flags(0));
        pair.a.post(Entry::compare_swap(there, second, 5, 1).flags(0));
        pair.a.post(Entry::inline(there, &9_u64.to_le_bytes()));
        pair.a.ring();
        pair.completions(1);
        (pair.a.heap.load64(0), pair.a.heap.load64(8), pair.b.heap.load64(0)) != (0, 1, 9)
    });
}

#[test]
fn reads_may_be_answered_late_but_in_order() {
    never(Setup::default(), |pair| {
        let there = pair.remote(0);
        // The word only grows, so a later read must not have an earlier value.
        for at in 0..6 {
            let to = pair.local(at * 8);
            pair.a.post(Entry::read(there, to, 8).flags(0));
            pair.a.post(Entry::inline(there, &(at + 1).to_le_bytes()).flags(0));
        }
        pair.a.post(Entry::nop());
        pair.a.ring();
        pair.completions(1);
        let values: Vec<u64> = (0..6).map(|at| pair.a.heap.load64(at * 8)).collect();
        !values.is_sorted()
    });
}

#[test]
fn completions_of_a_queue_come_in_order_one_by_one_or_together() {
    let mut together = false;
    for seed in 0..SEEDS / 4 {
        let mut pair = Pair::new(Setup::seed(seed));
        let (there, here) = (pair.remote(0), pair.local(0));
        let indices: Vec<u16> = (0..8)
            .map(|at| match at % 3 {
                0 => pair.a.post(Entry::read(there, here, 8)),
                1 => pair.a.post(Entry::write(there, here, 8)),
                _ => pair.a.post(Entry::nop()),
            })
            .collect();
        pair.a.ring();
        let mut came = Vec::new();
        while came.len() < 8 {
            pair.step();
            let cqes = pair.a.poll_all();
            together |= cqes.len() > 1;
            came.extend(cqes.into_iter().map(|cqe| cqe.counter));
        }
        assert_eq!(came, indices);
    }
    assert!(together);
}

#[test]
fn the_source_of_a_write_is_read_late_and_not_behind_its_completion() {
    let reused = |pair: &mut Pair, wait: bool| {
        pair.a.heap.store64(0, 1);
        let (to, from) = (pair.remote(0), pair.local(0));
        pair.a.post(Entry::write(to, from, 8));
        pair.a.ring();
        if wait {
            pair.completions(1);
        } else {
            pair.a.nic.step();
        }
        pair.a.heap.store64(0, 2);
        pair.settle();
        pair.b.heap.load64(0) == 2
    };
    sometimes(Setup::default(), |pair| reused(pair, false));
    never(Setup::default(), |pair| reused(pair, true));
}

#[test]
fn queue_pairs_are_not_ordered_among_each_other() {
    let mut setup = Setup::default();
    let (mut flag_first, mut data_first) = (0, 0);
    for seed in 0..100 {
        setup.seed = Some(seed);
        let mut pair = Pair::new(setup);
        // Another queue pair between the same NICs, with its own heap.
        let mut c = End::new(pair.a.nic.clone(), &setup);
        let d = End::new(pair.b.nic.clone(), &setup);
        c.connect(d.nic.lid(), d.qpn, &setup, (0, 0));
        d.connect(c.nic.lid(), c.qpn, &setup, (0, 0));
        let to = pair.remote(0);
        pair.a.post(Entry::inline(to, &[1; 8]));
        pair.a.ring();
        c.post(Entry::inline((nic_poster::IOVA, d.keys.rkey), &[1; 8]));
        c.ring();
        watch(&pair, |pair| match (pair.b.heap.load64(0), d.heap.load64(0)) {
            (0, 0) | (1.., 1..) => {}
            (0, _) => flag_first += 1,
            (_, 0) => data_first += 1,
        });
        assert_ne!((pair.b.heap.load64(0), d.heap.load64(0)), (0, 0));
        pair.assert_clean();
    }
    assert!(flag_first > 0 && data_first > 0, "{flag_first} {data_first}");
}

#[test]
fn a_record_may_be_read_before_its_doorbell_while_the_queue_works() {
    let early = |pair: &mut Pair| {
        let (there, here) = (pair.remote(0), pair.local(0));
        for _ in 0..8 {
            pair.a.post(Entry::read(there, here, 8).flags(0));
        }
        pair.a.ring();
        pair.a.nic.step();
        // Posted and recorded, but not rung for.
        pair.a.post(Entry::nop());
        pair.a.set_record(9);
        for _ in 0..3000 {
            pair.step();
        }
        let early = pair.a.poll().is_some();
        pair.a.ring();
        if !early {
            pair.completions(1);
        }
        early
    };
    sometimes(Setup::default(), early);
}

#[test]
fn the_same_seed_and_posts_give_the_same_run() {
    let run = |seed| {
        let mut pair = Pair::new(Setup { mtu: 256, ..Setup::seed(seed) });
        pair.a.heap.write(0, &[1; 1000]);
        for at in 0..10 {
            let (there, here) = (pair.remote(at * 1000), pair.local(0));
            pair.a.post(Entry::write(there, here, 900));
            pair.a.post(Entry::fetch_add(pair.remote(8), pair.local(2000), 1));
            pair.a.post(Entry::read(there, pair.local(4000), 700));
        }
        pair.a.ring();
        let mut trace = Vec::new();
        watch(&pair, |pair| {
            let there = pair.b.heap.read(0, 10_000);
            trace.push((there.iter().map(|&byte| u32::from(byte)).sum::<u32>(), pair.a.nic.statistics()));
        });
        trace
    };
    let first = run(5);
    assert_eq!(first, run(5));
    assert_ne!(first, run(6));
}
