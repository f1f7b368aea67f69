//! Work requests that libmlx5 wrote, as bytes, and a straightforward reader of any of them.

use super::super::{CARRY_NOWHERE, Completion, Fence, QueueNumber};
use super::*;
use proptest::prelude::*;

const LOCAL: Place = Place { address: 0x0000_7f12_3456_7000, key: Key::new(0x1800a5) };
const REMOTE: Place = Place { address: 0x0000_7fab_cdef_0120, key: Key::new(0x1801a6) };

fn control(index: u64, fence: Fence) -> Control {
    let completion = if fence == Fence::None { Completion::OnError } else { Completion::Always };
    Control { queue: QueueNumber::new(0x1003), index, fence, completion }
}

fn bytes(segments: &[Segment]) -> Vec<u8> {
    segments.iter().flat_map(|segment| segment.to_bytes()).collect()
}

/// Bytes in hexadecimal, with spaces anywhere.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The layout that libmlx5 (rdma-core 44.0) gives such requests; the addresses are numbers of this test. What libmlx5 writes itself is
/// compared in `tests/nic-device`.
#[test]
fn each_request_has_the_bytes_that_libmlx5_writes() {
    let (raddr, laddr) = ("00007fabcdef0120", "00007f1234567000");
    let rkey = "001801a6 00000000";
    let signalled = |index| Control { completion: Completion::Always, ..control(index, Fence::None) };
    let cases = [
        (
            bytes(&write(signalled(2), REMOTE, LOCAL, 4068)),
            format!("00000208 00100303 00000008 00000000 {raddr} {rkey} 00000fe4 001800a5 {laddr}"),
        ),
        (
            bytes(&read(signalled(0x1a), REMOTE, LOCAL, 4068)),
            format!("00001a10 00100303 00000008 00000000 {raddr} {rkey} 00000fe4 001800a5 {laddr}"),
        ),
        (
            bytes(&atomic_fetch_add(signalled(0x1d), REMOTE, 26, LOCAL)),
            format!(
                "00001d12 00100304 00000008 00000000 {raddr} {rkey} 000000000000001a 0000000000000000 \
                 00000008 001800a5 {laddr}"
            ),
        ),
        (
            bytes(&atomic_compare_swap(control(0x23, Fence::FenceAndSmall), REMOTE, 0, 0x20, LOCAL)),
            format!(
                "00002311 00100304 00000088 00000000 {raddr} {rkey} 0000000000000020 0000000000000000 \
                 00000008 001800a5 {laddr}"
            ),
        ),
    ];
    for (ours, theirs) in cases {
        assert_eq!(ours, hex(&theirs), "{theirs}");
    }
}

/// The longest golden entry: 104 bytes inline, in 9 segments, with the header that [`inline_header`] makes.
#[test]
fn long_inline_data_begins_as_libmlx5_writes_it() {
    let control = control(0x0c, Fence::FenceAndSmall);
    let head = [ctrl(control, Opcode::RdmaWrite, opmod::NONE, 9), raddr(REMOTE.address, REMOTE.key)];
    let mut ours = bytes(&head);
    ours.extend(inline_header(104).to_ne_bytes());
    assert_eq!(ours, hex("00000c08 00100309 00000088 00000000 00007fabcdef0120 001801a6 00000000 80000068"));
}

#[test]
fn requests_take_the_blocks_that_their_segments_need() {
    let counted: Vec<u32> = (1..=9).map(blocks).collect();
    assert_eq!(counted, [1, 1, 1, 1, 2, 2, 2, 2, 3]);
    assert_eq!(blocks(63), 16);
}

#[test]
fn a_warps_write_holds_each_lanes_bytes_in_order() {
    let lanes: [u64; 32] = core::array::from_fn(|lane| 0x0101_0101_0101_0101 * (lane as u64 + 1));
    let lane = |at: u32| lanes.get(at as usize).copied().unwrap_or(u64::MAX);
    let signalled = control(7, Fence::None);
    let mut segments = warp::head(signalled, REMOTE).to_vec();
    segments.extend((0..warp::DATA_SEGMENTS).map(|at| {
        let first = 2 * at;
        warp::data(at, lane(first.wrapping_sub(1)), lane(first), lane(first + 1))
    }));
    let bytes = bytes(&segments);
    assert_eq!(bytes.len(), 19 * 16);
    assert_eq!(bytes[..32], hex("00000708 00100313 00000000 00000000 00007fabcdef0120 001801a6 00000000"));
    assert_eq!(bytes[32..36], [0x80, 0, 1, 0]);
    let expected: Vec<u8> = lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect();
    assert_eq!(bytes[36..36 + 256], expected);
    assert_eq!(bytes[36 + 256..], [0; 12]);
}

/// Bytes, lkey and address of a local range.
type Landing = Option<(u32, u32, u64)>;

/// A request, its modifier and opcode, whether it names the peer's memory, its operands, and its local range.
type Case = (Vec<u8>, (u8, u8), bool, Vec<u64>, Landing);

/// A request as read from its bytes, by the tables alone.
#[derive(Debug, PartialEq)]
struct Parsed {
    opmod: u8,
    index: u16,
    opcode: u8,
    qpn: u32,
    flags: u8,
    remote: Option<(u64, u32)>,
    operands: Vec<u64>,
    local: Landing,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn parse(bytes: &[u8]) -> Parsed {
    assert_eq!(usize::from(bytes[7]) * 16, bytes.len(), "the size that it says is the size that it has");
    assert_eq!((&bytes[8..11], &bytes[12..16]), ([0; 3].as_slice(), [0; 4].as_slice()));
    let (opmod, opcode) = (bytes[0], bytes[3]);
    let mut rest = &bytes[16..];
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count);
        rest = left;
        number(taken)
    };
    let remote = [0x08, 0x10, 0x11, 0x12, 0x14, 0x15].contains(&opcode).then(|| {
        let remote = (take(8), take(4) as u32);
        assert_eq!(take(4), 0);
        remote
    });
    let widths: &[usize] = match (opcode, opmod) {
        (0x11 | 0x12, 0) | (0x15, 9) => &[8, 8],
        (0x15, 8) => &[4, 4, 8],
        (0x14, 8) => &[4, 4, 4, 4],
        (0x14, 9) => &[8, 8, 8, 8],
        (0x00 | 0x08 | 0x10 | 0x23, 0) => &[],
        other => panic!("no such operation: {other:?}"),
    };
    let operands = widths.iter().map(|&width| take(width)).collect();
    let local = (opcode != 0).then(|| (take(4) as u32, take(4) as u32, take(8)));
    assert!(rest.is_empty());
    Parsed {
        opmod,
        index: number(&bytes[1..3]) as u16,
        opcode,
        qpn: number(&bytes[4..7]) as u32,
        flags: bytes[11],
        remote,
        operands,
        local,
    }
}

fn places() -> impl Strategy<Value = Place> {
    (any::<u64>(), any::<u32>()).prop_map(|(address, key)| Place { address, key: Key::new(key) })
}

proptest! {
    #[test]
    fn a_reader_of_the_tables_finds_what_was_written(
        qpn in 0u32..1 << 24,
        index: u64,
        (at, local) in (places(), places()),
        count in 1u32..=1 << 30,
        (a, b, c, d) in any::<(u64, u64, u64, u64)>(),
    ) {
        let control = Control {
            queue: QueueNumber::new(qpn),
            index,
            fence: Fence::Fence,
            completion: Completion::Always,
        };
        let place = |place: Place| (place.address, place.key.number());
        let lands = |bytes| Some((bytes, local.key.number(), local.address));
        let (a4, b4, c4, d4) = (a as u32, b as u32, c as u32, d as u32);
        let wide = |words: &[u32]| words.iter().map(|&word| u64::from(word)).collect::<Vec<_>>();
        let masked_4 = Masked { compare: a4, compare_mask: b4, swap: c4, swap_mask: d4 };
        let masked_8 = Masked { compare: a, compare_mask: b, swap: c, swap_mask: d };
        let cases: [Case; 11] = [
            (bytes(&nop(control)), (0, 0x00), false, vec![], None),
            (bytes(&write(control, at, local, count)), (0, 0x08), true, vec![], lands(count)),
            (bytes(&read(control, at, local, count)), (0, 0x10), true, vec![], lands(count)),
            (bytes(&atomic_compare_swap(control, at, a, b, local)), (0, 0x11), true, vec![b, a], lands(8)),
            (bytes(&atomic_fetch_add(control, at, a, local)), (0, 0x12), true, vec![a, 0], lands(8)),
            (bytes(&atomic_add_4(control, at, a4, b4, local)), (8, 0x15), true, wide(&[a4, b4, 0]), lands(4)),
            (bytes(&atomic_add_8(control, at, a, b, local)), (9, 0x15), true, vec![a, b], lands(8)),
            (
                bytes(&atomic_swap_4(control, at, masked_4, local)),
                (8, 0x14),
                true,
                wide(&[c4, a4, d4, b4]),
                lands(4),
            ),
            (bytes(&atomic_swap_8(control, at, masked_8, local)), (9, 0x14), true, vec![c, a, d, b], lands(8)),
            (bytes(&dump(control, local, count)), (0, 0x23), false, vec![], lands(count)),
            (
                bytes(&atomic_add_8(control, at, a, CARRY_NOWHERE, local)),
                (9, 0x15),
                true,
                vec![a, u64::MAX],
                lands(8),
            ),
        ];
        for (bytes, (opmod, opcode), is_remote, operands, local) in cases {
            let expected = Parsed {
                opmod,
                index: index as u16,
                opcode,
                qpn,
                flags: 0x48,
                remote: is_remote.then(|| place(at)),
                operands,
                local,
            };
            prop_assert_eq!(parse(&bytes), expected);
        }
    }

    #[test]
    fn inline_data_comes_back(words: [u32; 3], count in 1u32..=12, at in places()) {
        let inline = Inline::of_words(words, count).expect("at most 12 bytes");
        let bytes = bytes(&write_inline(control(0, Fence::None), at, inline));
        prop_assert_eq!(bytes.len(), 48);
        prop_assert_eq!(number(&bytes[32..36]), 1 << 31 | u64::from(count));
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        prop_assert_eq!(&bytes[36..], data.as_slice());
    }
}
