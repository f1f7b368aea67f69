//! Each rule for queue entries has an entry that breaks it alone: it fails with the right syndrome, the right sentence is
//! recorded, nothing of memory changes, and what is posted behind it is flushed.

mod nic_poster;

use nic_poster::entry::{data, four, pair as operands, remote};
use nic_poster::{Entry, HEAP, IOVA, Pair, Setup};
use oxshmem_emulator::nic::{Access, Rule, State, Syndrome};

/// Posts bytes as they are with a good entry in front and one behind, and checks what came of it.
fn breaks(pair: &mut Pair, bytes: &[u8], rule: Rule, syndrome: Syndrome, words: &str) {
    let before = pair.b.heap.read(0, 4096);
    let good = pair.a.post(Entry::nop());
    let bad = pair.a.write_entry(bytes);
    pair.a.post(Entry::nop().flags(0));
    pair.a.ring();
    let cqes = pair.completions(3);
    let said: Vec<_> = cqes.iter().map(|cqe| (cqe.counter, cqe.syndrome)).collect();
    // What is behind begins where the entry says that it ends.
    let behind = bad + u16::from(bytes[7] & 0x3f).div_ceil(4).max(1);
    let wanted = [(good, None), (bad, Some(syndrome)), (behind, Some(Syndrome::Flushed))];
    assert_eq!(said, wanted, "{words}: {:?}", pair.violations());
    let violations = pair.a.nic.violations();
    assert_eq!(violations.len(), 1, "{violations:?}");
    let violation = &violations[0];
    assert_eq!(
        (violation.rule, violation.qpn, violation.index),
        (rule, pair.a.qpn, Some(bad)),
        "{violation}"
    );
    assert!(violation.sentence.contains(words), "{words:?} is not in {violation}");
    assert!(bytes.starts_with(&violation.bytes[..bytes.len().min(violation.bytes.len())]));
    assert_eq!(pair.a.nic.query_qp(pair.a.qpn).unwrap().state, State::Error);
    assert_eq!(pair.b.heap.read(0, 4096), before);
}

/// The rule that a change of one entry breaks. The entry itself breaks none.
fn one(make: impl Fn(&Pair) -> Entry, change: impl Fn(&mut Vec<u8>), rule: Rule, words: &str) {
    let mut pair = Pair::new(Setup::default());
    let entry = make(&pair);
    pair.a.post(entry.clone());
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].code, 0, "{:?}", pair.violations());
    let mut pair = Pair::new(Setup::default());
    let mut bytes = make(&pair).at(pair.a.index() + 1, pair.a.qpn);
    change(&mut bytes);
    breaks(&mut pair, &bytes, rule, rule.syndrome(), words);
}

fn write(pair: &Pair) -> Entry {
    Entry::write(pair.remote(64), pair.local(0), 100)
}

fn inline(pair: &Pair) -> Entry {
    Entry::inline(pair.remote(64), &[7; 20])
}

fn add(pair: &Pair) -> Entry {
    Entry::fetch_add(pair.remote(64), pair.local(0), 5)
}

#[test]
fn the_control_segment() {
    use Rule::{Control, Index, OpMod, Opcode, QueuePair, Reserved, Size};
    one(write, |bytes| bytes[2] += 1, Index, "it has index 0x0002 and lies at 0x0001");
    one(write, |bytes| bytes[1] = 1, Index, "it has index 0x0101");
    one(write, |bytes| bytes[6] ^= 1, QueuePair, "it names queue pair");
    one(write, |bytes| bytes[4] = 0x80, QueuePair, "it names queue pair 0x80");
    for bit in [0x40, 0x80] {
        one(write, move |bytes| bytes[7] |= bit, Reserved, "bits 6 and 7 of its size");
        one(write, move |bytes| bytes[8] |= bit, Reserved, "signature and stream");
    }
    one(write, |bytes| bytes[9] = 1, Reserved, "signature and stream");
    one(write, |bytes| bytes[10] = 1, Reserved, "signature and stream");
    one(write, |bytes| bytes[11] |= 0x10, Reserved, "bits 4 and 0 of its flags 0x18");
    one(write, |bytes| bytes[11] |= 0x01, Reserved, "bits 4 and 0 of its flags 0x09");
    for fence in [5, 6, 7] {
        one(write, move |bytes| bytes[11] |= fence << 5, Control, "its fence mode is");
    }
    one(write, |bytes| bytes[11] |= 2, Control, "no receive that could be solicited");
    one(write, |bytes| bytes[15] = 1, Control, "has no immediate value");
    one(write, |bytes| bytes[0] = 1, OpMod, "operation 0x08 has modifier 1; it must be 0");
    one(add, |bytes| bytes[0] = 8, OpMod, "it must be 0 (this is no masked atomic)");
    one(write, |bytes| bytes[3] = 0x0a, Opcode, "is a send");
    one(write, |bytes| bytes[3] = 0x0b, Opcode, "is a send");
    one(write, |bytes| bytes[3] = 0x01, Opcode, "is a send");
    one(write, |bytes| bytes[3] = 0x0f, Opcode, "wait for another queue's completion");
    one(write, |bytes| bytes[3] = 0x25, Opcode, "is not supported");
    one(write, |bytes| bytes[3] = 0x2f, Opcode, "is not supported");
    one(write, |bytes| bytes[3] = 0x77, Opcode, "is none that there is");
    one(write, |bytes| bytes[7] = 0, Size, "its size is 0 units");
    one(write, |bytes| bytes[7] = 1, Size, "it must be 2 or more");
    one(|_| Entry::nop(), |bytes| bytes[7] = 2, Size, "operation 0x00 has 2 units of 16 bytes; it must be 1");
}

#[test]
fn sizes_by_operation() {
    let dump = |pair: &Pair| Entry::dump(pair.local(0), 8);
    one(dump, |bytes| bytes[7] = 1, Rule::Size, "it must be 2: the control segment and a pointer");
    one(dump, |bytes| bytes[7] = 3, Rule::Size, "operation 0x23 has 3 units");
    one(
        add,
        |bytes| bytes[7] = 3,
        Rule::Size,
        "operation 0x12 on 8 bytes has 3 units of 16 bytes; it must be 4",
    );
    let swap8 = |pair: &Pair| Entry::masked_swap8(pair.remote(64), pair.local(0), [0, 1, 0, 0]);
    one(
        swap8,
        |bytes| bytes[7] = 4,
        Rule::Size,
        "operation 0x14 on 8 bytes has 4 units of 16 bytes; it must be 5",
    );
    one(
        swap8,
        |bytes| bytes[0] = 8,
        Rule::Size,
        "operation 0x14 on 4 bytes has 5 units of 16 bytes; it must be 4",
    );
    one(swap8, |bytes| bytes[0] = 0, Rule::OpMod, "it must be 8 (for 4 bytes) or 9 (for 8)");
    let add4 = |pair: &Pair| Entry::masked_add4(pair.remote(64), pair.local(0), 0, 0);
    for at in 40..48 {
        one(
            add4,
            move |bytes| bytes[at] = 1,
            Rule::Reserved,
            "the upper 8 bytes behind a masked add of 4 bytes",
        );
    }
    // An entry that says more WQEBBs than are posted.
    let mut pair = Pair::new(Setup::default());
    let mut bytes = write(&pair).at(0, pair.a.qpn);
    bytes[7] = 20;
    pair.a.write_entry(&bytes);
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].syndrome, Some(Syndrome::LocalOperation));
    assert!(pair.a.sentence().contains("it takes 5 WQEBBs, and 1 are posted"), "{}", pair.a.sentence());
}

#[test]
fn the_remote_address() {
    for at in 28..32 {
        one(write, move |bytes| bytes[at] = 1, Rule::Reserved, "bytes 12 to 15 of the remote address");
    }
}

#[test]
fn data_segments() {
    one(write, |bytes| bytes[32..36].fill(0), Rule::Length, "a segment of 2147483648 bytes (count 0)");
    one(write, |bytes| bytes[32] = 0x40, Rule::Length, "a segment of 1073741924 bytes");
    one(write, |bytes| bytes[39] ^= 1, Rule::LocalKey, "is no region's");
    one(write, |bytes| bytes[36..40].reverse(), Rule::LocalKey, "its bytes are in the wrong order");
    one(write, |bytes| bytes[40] = 1, Rule::LocalBounds, "do not lie in lkey");
    // Sums, ends of lists.
    let mut pair = Pair::new(Setup::default());
    let (to, key) = (pair.remote(0), pair.a.keys.lkey);
    let half = data(1 << 29, key, IOVA);
    let list = [remote(to.0, to.1), half.clone(), half, data(1, key, IOVA)].concat();
    let bytes = Entry::new(0, 8, list).at(1, pair.a.qpn);
    breaks(&mut pair, &bytes, Rule::Length, Syndrome::LocalLength, "its segments are 1073741825 bytes");
    let mut pair = Pair::new(Setup::default());
    let list = [remote(to.0, to.1), data(0, 0x100, 0), data(1, key, IOVA)].concat();
    let bytes = Entry::new(0, 8, list).at(1, pair.a.qpn);
    breaks(&mut pair, &bytes, Rule::Size, Syndrome::LocalOperation, "1 segments follow the one that ends");
    // The last byte of the heap, and the one behind it.
    let mut pair = Pair::new(Setup::default());
    let (to, last) = (pair.remote(0), pair.local(HEAP - 1));
    pair.a.post(Entry::write(to, last, 1));
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].code, 0);
    let bytes = Entry::write(to, last, 2).at(pair.a.index() + 1, pair.a.qpn);
    breaks(
        &mut pair,
        &bytes,
        Rule::LocalBounds,
        Syndrome::LocalProtection,
        "2 bytes at 0x7000000fffff do not lie",
    );
}

#[test]
fn inline_data() {
    one(inline, |bytes| bytes[35] = 29, Rule::Inline, "29 bytes inline take 3 units");
    one(inline, |bytes| bytes[35] = 12, Rule::Inline, "12 bytes inline take 1 units");
    one(inline, |bytes| bytes[33] = 1, Rule::Inline, "bytes inline take");
    let read = |pair: &Pair| Entry::read(pair.remote(64), pair.local(0), 100);
    one(read, |bytes| bytes[32] |= 0x80, Rule::Inline, "inline data stand where a pointer must");
    one(add, |bytes| bytes[48] |= 0x80, Rule::Inline, "an atomic's result needs a pointer");
    let mut pair = Pair::new(Setup::default());
    let (to, from) = (pair.remote(0), pair.local(0));
    let list = [remote(to.0, to.1), data(4, from.1, from.0), four([0x8000_0004, 0, 0, 0])].concat();
    let bytes = Entry::new(0, 8, list).at(1, pair.a.qpn);
    breaks(
        &mut pair,
        &bytes,
        Rule::Inline,
        Syndrome::LocalOperation,
        "inline data stand where a pointer must",
    );
}

#[test]
fn atomics() {
    one(add, |bytes| bytes[51] = 4, Rule::Atomic, "an atomic of 8 bytes has a place of 4 bytes");
    one(add, |bytes| bytes[51] = 16, Rule::Atomic, "an atomic of 8 bytes has a place of 16 bytes");
    let add4 = |pair: &Pair| Entry::masked_add4(pair.remote(64), pair.local(0), 0, 0);
    one(add4, |bytes| bytes[51] = 8, Rule::Atomic, "an atomic of 4 bytes has a place of 8 bytes");
}

#[test]
fn local_rights_and_domains() {
    let mut pair = Pair::new(Setup::default());
    let access = Access { local_write: false, remote_write: false, remote_atomic: false, ..Access::ALL };
    let memory = nic_poster::Memory::new(4096);
    // SAFETY: the memory outlives the last step of the NIC.
    let keys = unsafe { pair.a.nic.register(pair.a.pd, IOVA, memory.start(), 4096, access) }.unwrap();
    let from = pair.remote(64);
    let bytes = Entry::read(from, (IOVA, keys.lkey), 8).at(1, pair.a.qpn);
    breaks(&mut pair, &bytes, Rule::LocalKey, Syndrome::LocalProtection, "registered without local writes");
    let mut pair = Pair::new(Setup::default());
    let other = pair.a.nic.alloc_pd().unwrap();
    // SAFETY: as above.
    let keys = unsafe { pair.a.nic.register(other, IOVA, memory.start(), 4096, access) }.unwrap();
    let to = pair.remote(64);
    let bytes = Entry::write(to, (IOVA, keys.lkey), 8).at(1, pair.a.qpn);
    breaks(&mut pair, &bytes, Rule::LocalKey, Syndrome::LocalProtection, "is of protection domain");
    // Deregistered: the key is nobody's.
    let mut pair = Pair::new(Setup::default());
    pair.a.nic.deregister(pair.a.keys.lkey).unwrap();
    let bytes = write(&pair).at(1, pair.a.qpn);
    breaks(&mut pair, &bytes, Rule::LocalKey, Syndrome::LocalProtection, "is no region's");
}

/// What the responder refuses: it records the sentence, the requester gets the syndrome, both are in error.
fn refuses(setup: Setup, make: impl Fn(&Pair) -> Entry, rule: Rule, syndrome: Syndrome, words: &str) {
    for seed in [None, Some(3), Some(11)] {
        let mut pair = Pair::new(Setup { seed, ..setup });
        let entry = make(&pair);
        let before = pair.b.heap.read(0, 4096);
        let good = pair.a.post(Entry::nop());
        let bad = pair.a.post(entry);
        let behind = pair.a.post(Entry::nop());
        pair.a.ring();
        let cqes = pair.completions(3);
        let said: Vec<_> = cqes.iter().map(|cqe| (cqe.counter, cqe.syndrome)).collect();
        let violations = pair.b.nic.violations();
        assert_eq!(
            said,
            [(good, None), (bad, Some(syndrome)), (behind, Some(Syndrome::Flushed))],
            "{violations:?}"
        );
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!((violations[0].rule, violations[0].qpn), (rule, pair.b.qpn));
        assert!(violations[0].sentence.contains(words), "{words:?} is not in {}", violations[0]);
        assert_eq!(pair.b.nic.query_qp(pair.b.qpn).unwrap().state, State::Error);
        assert_eq!(pair.b.heap.read(0, 4096), before);
        assert_eq!(pair.a.nic.violations(), []);
    }
}

#[test]
fn remote_keys_and_bounds() {
    use Syndrome::RemoteAccess;
    let setup = Setup::default();
    let refused =
        |make: fn(&Pair) -> Entry, words| refuses(setup, make, Rule::RemoteKey, RemoteAccess, words);
    refused(|pair| Entry::write((IOVA, pair.b.keys.rkey ^ 1), pair.local(0), 8), "is no region's");
    refused(|pair| Entry::write((IOVA, pair.b.keys.rkey.swap_bytes()), pair.local(0), 8), "wrong order");
    refused(|pair| Entry::read((IOVA, 0), pair.local(0), 8), "rkey 0x0 is no region's");
    let outside = |make: fn(&Pair) -> Entry| {
        refuses(setup, make, Rule::RemoteBounds, RemoteAccess, "do not lie in rkey");
    };
    outside(|pair| Entry::write(pair.remote(HEAP - 7), pair.local(0), 8));
    outside(|pair| Entry::write((IOVA - 1, pair.b.keys.rkey), pair.local(0), 8));
    outside(|pair| Entry::write((u64::MAX - 3, pair.b.keys.rkey), pair.local(0), 8));
    outside(|pair| Entry::read(pair.remote(HEAP - 4), pair.local(0), 5000));
    outside(|pair| Entry::fetch_add(pair.remote(HEAP), pair.local(0), 1));
    // The last packet alone is outside: not even the first is written.
    outside(|pair| Entry::write(pair.remote(HEAP - 4096), pair.local(0), 4097));
}

#[test]
fn remote_rights() {
    let without = |change: fn(&mut Access)| {
        let mut access = Access::ALL;
        change(&mut access);
        access
    };
    type Case = (fn(&mut Access), fn(&Pair) -> Entry, &'static str);
    let cases: [Case; 3] = [
        (|access| access.remote_write = false, |pair| write(pair), "writes"),
        (|access| access.remote_read = false, |pair| Entry::read(pair.remote(0), pair.local(0), 8), "reads"),
        (|access| access.remote_atomic = false, |pair| add(pair), "atomics"),
    ];
    for (change, make, name) in cases {
        let access = without(change);
        let setup = Setup { access, ..Setup::default() };
        refuses(
            setup,
            make,
            Rule::RemoteKey,
            Syndrome::RemoteAccess,
            &format!("registered without remote {name}"),
        );
        let setup = Setup { rights: access, ..Setup::default() };
        let words = format!("set up without remote {name}");
        refuses(setup, make, Rule::RemoteRequest, Syndrome::RemoteInvalidRequest, &words);
    }
}

#[test]
fn remote_requests() {
    let setup = Setup::default();
    let invalid = |make: fn(&Pair) -> Entry, words: &str| {
        refuses(setup, make, Rule::RemoteRequest, Syndrome::RemoteInvalidRequest, words);
    };
    invalid(|pair| Entry::fetch_add(pair.remote(60), pair.local(0), 1), "which is not aligned to them");
    invalid(|pair| Entry::masked_add4(pair.remote(62), pair.local(0), 1, 0), "an atomic of 4 bytes at");
    invalid(|pair| Entry::write_immediate(pair.remote(0), pair.local(0), 8, 1), "has no receive side");
}

#[test]
fn operands_that_are_not_looked_at_may_be_anything() {
    let mut pair = Pair::new(Setup::default());
    let (at, to) = (pair.remote(64), pair.local(0));
    for compare in [0, 1, u64::MAX] {
        let rest = [remote(at.0, at.1), operands(1, compare), data(8, to.1, to.0)].concat();
        pair.a.post(Entry::new(0, 0x12, rest));
    }
    // Stale bytes behind an entry's end, in its last WQEBB.
    let mut bytes = Entry::nop().at(pair.a.index(), pair.a.qpn);
    bytes.resize(64, 0xff);
    pair.a.write_entry(&bytes);
    pair.a.ring();
    assert!(pair.completions(4).iter().all(|cqe| cqe.code == 0));
    pair.assert_clean();
}

#[test]
fn an_entry_that_is_not_written_afresh_is_seen_by_its_poison() {
    let mut pair = Pair::new(Setup { log_send: 3, ..Setup::default() });
    for _ in 0..8 {
        pair.a.post(Entry::nop());
    }
    pair.a.ring();
    assert_eq!(pair.completions(8).len(), 8);
    assert_eq!(pair.a.read_entry(0), [0xa5; 64]);
    // The driver forgets to write the entry.
    pair.a.posted += 1;
    pair.a.ring();
    assert_eq!(pair.completions(1)[0].syndrome, Some(Syndrome::LocalOperation));
    assert!(pair.a.sentence().contains("was not written since"), "{}", pair.a.sentence());
    let mut pair = Pair::new(Setup { poison: false, ..Setup::default() });
    pair.a.post(Entry::nop());
    pair.a.ring();
    assert_eq!(pair.completions(1).len(), 1);
    assert_eq!(pair.a.read_entry(0)[..16], Entry::nop().at(0, pair.a.qpn));
}
