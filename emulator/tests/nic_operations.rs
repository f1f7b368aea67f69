//! Every operation does to memory what its entry says, and completes as the reference has it; the reference's golden
//! entries are understood.

mod nic_poster;

use nic_poster::entry::{data, remote};
use nic_poster::{Cqe, Entry, IOVA, Pair, SIGNAL, Setup};
use oxshmem_emulator::nic::{Access, Fabric, Nic, NicConfig};

fn bytes(seed: u64, count: u64) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + seed) as u8).collect()
}

fn run(pair: &mut Pair, entry: Entry) -> Cqe {
    let (opcode, index) = (entry.opcode, pair.a.post(entry));
    pair.a.ring();
    let cqe = pair.completions(1)[0];
    pair.assert_clean();
    assert_eq!((cqe.code, cqe.opcode, cqe.counter, cqe.qpn), (0, opcode, index, pair.a.qpn));
    assert_eq!(cqe.user_index, 0xabc);
    cqe
}

#[test]
fn writes_of_any_size_and_alignment_arrive_and_nothing_beside_them_changes() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        let mut pair = Pair::new(Setup { seed, mtu: 256, ..Setup::default() });
        for (at, length) in
            [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000, 4096, 70_001].into_iter().enumerate()
        {
            let (from, to) = (at as u64 * 3, 100 + at as u64 * 5);
            pair.b.heap.write(0, &vec![0xee; 100_000]);
            let content = bytes(at as u64, length);
            pair.a.heap.write(from, &content);
            let entry = if length == 0 {
                Entry::new(0, 0x08, remote(pair.remote(to).0, 0))
            } else {
                Entry::write(pair.remote(to), pair.local(from), length as u32)
            };
            run(&mut pair, entry);
            assert_eq!(pair.b.heap.read(to, length), content);
            assert!(pair.b.heap.read(0, to).iter().all(|&byte| byte == 0xee));
            assert!(pair.b.heap.read(to + length, 1000).iter().all(|&byte| byte == 0xee));
        }
    }
}

#[test]
fn inline_writes_of_every_length_arrive() {
    let mut pair = Pair::new(Setup::default());
    for length in 0..=200 {
        let content = bytes(length, length);
        pair.b.heap.write(0, &[0xee; 300]);
        let entry = Entry::inline(pair.remote(9), &content);
        assert_eq!(entry.rest.len() as u64, 16 + (length + 4).div_ceil(16) * 16);
        run(&mut pair, entry);
        assert_eq!(pair.b.heap.read(9, length), content);
        assert_eq!(pair.b.heap.read(9 + length, 1), [0xee]);
    }
}

#[test]
fn lists_are_gathered_and_scattered() {
    let mut pair = Pair::new(Setup { mtu: 256, ..Setup::default() });
    pair.a.heap.write(0, &bytes(1, 5000));
    let key = pair.a.keys.lkey;
    let list = [(3_u32, 1000_u64), (700, 2000), (1, 3000), (64, 100)];
    let segments = |end: bool| {
        let mut all: Vec<u8> = list.iter().flat_map(|&(count, at)| data(count, key, IOVA + at)).collect();
        if end {
            all.extend(data(0, 0x100, 0));
        }
        all
    };
    for end in [false, true] {
        let to = pair.remote(77);
        run(&mut pair, Entry::new(0, 0x08, [remote(to.0, to.1), segments(end)].concat()));
        let wanted: Vec<u8> =
            list.iter().flat_map(|&(count, at)| pair.a.heap.read(at, u64::from(count))).collect();
        assert_eq!(pair.b.heap.read(77, 768), wanted);
    }
    pair.b.heap.write(0, &bytes(99, 768));
    let from = pair.remote(0);
    let cqe = run(&mut pair, Entry::new(0, 0x10, [remote(from.0, from.1), segments(false)].concat()));
    assert_eq!(cqe.bytes, 768);
    let got: Vec<u8> = list.iter().flat_map(|&(count, at)| pair.a.heap.read(at, u64::from(count))).collect();
    assert_eq!(got, bytes(99, 768));
}

#[test]
fn reads_of_any_size_come_back() {
    for seed in [None, Some(4), Some(5)] {
        let mut pair = Pair::new(Setup { seed, mtu: 512, ..Setup::default() });
        pair.b.heap.write(0, &bytes(3, 100_000));
        for length in [1, 8, 511, 512, 513, 66_000] {
            let (from, to) = (pair.remote(11), pair.local(300));
            let cqe = run(&mut pair, Entry::read(from, to, length));
            assert_eq!(cqe.bytes, length);
            assert_eq!(pair.a.heap.read(300, u64::from(length)), pair.b.heap.read(11, u64::from(length)));
        }
        // Nothing is read, and no key is needed.
        run(&mut pair, Entry::new(0, 0x10, remote(0, 0)));
    }
}

#[test]
fn atomics_change_the_word_and_return_what_it_was() {
    let mut pair = Pair::new(Setup::default());
    let (at, to) = (pair.remote(64), pair.local(8));
    pair.b.heap.store64(64, 40);
    assert_eq!(run(&mut pair, Entry::fetch_add(at, to, 2)).bytes, 8);
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (42, 40));
    run(&mut pair, Entry::compare_swap(at, to, 7, 41));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (42, 42));
    run(&mut pair, Entry::compare_swap(at, to, 7, 42));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (7, 42));
    run(&mut pair, Entry::masked_add8(at, to, u64::MAX, u64::MAX));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (!7, 7), "all boundaries: exclusive or");
    run(&mut pair, Entry::masked_add8(at, to, 9, 0));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (1, !7));
    // Entries of 2 WQEBBs: the index of a completion is the first one's.
    run(&mut pair, Entry::masked_swap8(at, to, [0xaa00, 1, 0xff00, 0xff]));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (0xaa01, 1));
    run(&mut pair, Entry::masked_swap8(at, to, [5, 0, u64::MAX, 0]));
    assert_eq!((pair.b.heap.load64(64), pair.a.heap.load64(8)), (5, 0xaa01));
}

#[test]
fn atomics_of_4_bytes_leave_their_neighbour_and_return_big_endian() {
    let mut pair = Pair::new(Setup::default());
    let (at, to) = (pair.remote(68), pair.local(8));
    pair.b.heap.store64(64, 0x0000_0010_1111_1111);
    let landed = |pair: &Pair| u32::from_be_bytes(pair.a.heap.read(8, 4).try_into().unwrap());
    assert_eq!(run(&mut pair, Entry::masked_add4(at, to, u32::MAX, 0)).bytes, 4);
    assert_eq!((pair.b.heap.load64(64), landed(&pair)), (0x0000_000f_1111_1111, 0x10));
    run(&mut pair, Entry::masked_add4(at, to, 0xff, u32::MAX));
    assert_eq!((pair.b.heap.load64(64), landed(&pair)), (0x0000_00f0_1111_1111, 0xf));
    run(&mut pair, Entry::masked_swap4(at, to, [0x1234, 0xf0, 0xff00, 0xff]));
    assert_eq!((pair.b.heap.load64(64), landed(&pair)), (0x0000_12f0_1111_1111, 0xf0));
    assert_eq!(pair.a.heap.read(12, 4), [0; 4]);
}

#[test]
fn nop_and_dump_complete_and_unsignalled_requests_do_not() {
    let mut pair = Pair::new(Setup::default());
    run(&mut pair, Entry::nop());
    let from = pair.local(0);
    run(&mut pair, Entry::dump(from, 64));
    pair.a.post(Entry::nop().flags(0));
    pair.a.post(Entry::nop().flags(0x04));
    let (to, from) = (pair.remote(0), pair.local(0));
    pair.a.post(Entry::write(to, from, 8).flags(0));
    let last = pair.a.post(Entry::nop().flags(SIGNAL));
    pair.a.ring();
    pair.settle();
    let cqes = pair.a.poll_all();
    assert_eq!(cqes.iter().map(|cqe| cqe.counter).collect::<Vec<_>>(), [last]);
    pair.assert_clean();
}

#[test]
fn a_write_with_immediate_takes_a_receive() {
    let mut pair = Pair::new(Setup { receive: true, mtu: 256, ..Setup::default() });
    pair.b.set_receives(2);
    pair.a.heap.write(0, &bytes(5, 1000));
    for (at, immediate) in [0xdead_beef, 1].into_iter().enumerate() {
        let (to, from) = (pair.remote(8), pair.local(0));
        run(&mut pair, Entry::write_immediate(to, from, 1000, immediate));
        let cqe = pair.b.poll().expect("the receiver's completion");
        assert_eq!((cqe.code, cqe.immediate, cqe.bytes), (1, immediate, 1000));
        assert_eq!((cqe.counter, cqe.qpn), (at as u16, pair.b.qpn));
    }
    assert_eq!(pair.b.heap.read(8, 1000), bytes(5, 1000));
}

#[test]
fn a_queue_pair_can_be_connected_to_its_own_nic_and_to_itself() {
    let setup = Setup::default();
    let fabric = Fabric::local(1).unwrap();
    let nic = Nic::new(NicConfig::default(), &fabric).unwrap();
    let mut end = nic_poster::End::new(nic, &setup);
    end.connect(end.nic.lid(), end.qpn, &setup, (5, 5));
    end.heap.write(0, b"to myself");
    end.post(Entry::write((IOVA + 100, end.keys.rkey), (IOVA, end.keys.lkey), 9));
    end.ring();
    while end.nic.step() {}
    assert_eq!(end.poll().map(|cqe| cqe.code), Some(0));
    assert_eq!(end.heap.read(100, 9), b"to myself");
}

/// What the stock libmlx5 wrote, with the keys and numbers of that run in place of ours.
#[test]
fn golden_entries_are_understood() {
    let mut pair = Pair::new(Setup { log_send: 6, ..Setup::default() });
    let (qpn, lkey, rkey) = (pair.a.qpn, pair.a.keys.lkey, pair.b.keys.rkey);
    let fill = |text: &str| -> Vec<u8> {
        let text = text
            .replace("QPN_", &format!("{qpn:06x}"))
            .replace("LKEY", &format!("{lkey:08x}"))
            .replace("RKEY", &format!("{rkey:08x}"))
            .replace("RADDR", &format!("{:016x}", IOVA + 0x100))
            .replace("LADDR", &format!("{:016x}", IOVA + 0x2000))
            .replace(' ', "");
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let inline: String = (0..104).map(|at| format!("{:02x}", at + 1)).collect();
    let inline = format!("00000c08 QPN_09 00000088 00000000 RADDR RKEY 00000000 80000068 {inline} 5a5a5a5a");
    let golden = [
        (0x02_u16, "00000208 QPN_03 00000008 00000000 RADDR RKEY 00000000 00000fe4 LKEY LADDR"),
        (0x0c, inline.as_str()),
        (0x1a, "00001a10 QPN_03 00000008 00000000 RADDR RKEY 00000000 00000fe4 LKEY LADDR"),
        (
            0x1d,
            "00001d12 QPN_04 00000008 00000000 RADDR RKEY 00000000 000000000000001a 0000000000000000 00000008 LKEY LADDR",
        ),
        (
            0x23,
            "00002311 QPN_04 00000088 00000000 RADDR RKEY 00000000 0000000000000020 0000000000000000 00000008 LKEY LADDR",
        ),
    ];
    for (index, text) in golden {
        while pair.a.index() < index {
            pair.a.post(Entry::nop().flags(0));
        }
        let entry = fill(text);
        assert_eq!(pair.a.write_entry(&entry), index);
        pair.a.ring();
        let cqe = pair.completions(1)[0];
        assert_eq!((cqe.code, cqe.opcode, cqe.counter), (0, entry[3], index), "{:?}", pair.violations());
    }
    // Inline bytes 1 to 104; then 26 was added to the first 8; then 32 would have replaced a 0.
    let first = u64::from_le_bytes([1, 2, 3, 4, 5, 6, 7, 8]) + 26;
    assert_eq!(pair.b.heap.load64(0x100), first);
    assert_eq!(pair.a.heap.load64(0x2000), first);
    pair.assert_clean();
}

#[test]
fn a_message_of_a_gibibyte_is_allowed_and_one_byte_more_is_not() {
    // The memory is not there: the local key's bounds say so, which come after the length.
    let mut pair = Pair::new(Setup::default());
    for (count, wanted) in
        [(1_u32 << 30, "do not lie in lkey"), ((1 << 30) + 1, "a message has at most 1073741824")]
    {
        let mut pair =
            std::mem::replace(&mut pair, Pair::new(Setup { access: Access::ALL, ..Setup::default() }));
        let (to, from) = (pair.remote(0), pair.local(0));
        pair.a.post(Entry::write(to, from, count));
        pair.a.ring();
        assert_eq!(pair.completions(1)[0].code, 13);
        assert!(pair.a.sentence().contains(wanted), "{}", pair.a.sentence());
    }
}
