//! Data and flag in one access, and loads and stores of a peer's memory.

use super::Shape;
use super::shape::Verdict;
use super::words::{WAIT_AND_READ_X, Words, packet_as_data, packet_as_words};
use oxshmem_device::SignalOp::Set;
use oxshmem_emulator::check::Kind;
use oxshmem_emulator::check::Kind::{
    AtomicAndPlain, DataRace, FlagByData, MixedWidth, SignalOvertakesData, UnorderedPuts,
};

/// What it may be called that a packet is written by other accesses than those it is read by.
const NOT_ONE_ACCESS: &[Kind] = &[FlagByData, AtomicAndPlain, MixedWidth, DataRace];

pub(super) const SHAPES: &[Shape] = &[
    Shape::new((72, ""), "packet", "P0: packet {7,1}@1 ‖ P1: W_packet(1)", 2, Verdict::ok(&[&[7]]), |w| {
        let (packet, r) = (w.packets::<u64>("packet", 1).at(0), w.registers(1));
        Box::new(move |shmem| {
            let t = shmem.thread();
            if shmem.my_pe() == 0 {
                t.p_packet(packet, 7, 1, 1);
            } else {
                r.set(0, t.wait_packet(packet, 1));
            }
        })
    }),
    Shape::new(
        (73, ""),
        "packet-by-weak-store",
        "P0: *ptr(packet@1)={7,1}, weak ‖ P1: W_packet(1)",
        2,
        Verdict::race(NOT_ONE_ACCESS, &[&[7]]),
        |w| {
            let (packet, r) = (w.packets::<u64>("packet", 1).at(0), w.registers(1));
            Box::new(move |shmem| {
                if shmem.my_pe() != 0 {
                    r.set(0, shmem.thread().wait_packet(packet, 1));
                } else if let Some(there) = shmem.ptr::<u128>(packet_as_data(packet), 1) {
                    there.store(1 << 64 | 7);
                }
            })
        },
    ),
    Shape::new(
        (73, "h"),
        "packet-in-halves",
        "P0: *ptr(packet@1)=7; *ptr(packet@1 + 8)=1, relaxed ‖ P1: W_packet(1)",
        2,
        Verdict::race(NOT_ONE_ACCESS, &[&[7]]),
        |w| {
            let (packet, r) = (w.packets::<u64>("packet", 1).at(0), w.registers(1));
            Box::new(move |shmem| {
                if shmem.my_pe() != 0 {
                    r.set(0, shmem.thread().wait_packet(packet, 1));
                } else if let Some(there) = shmem.ptr::<u64>(packet_as_words(packet), 1) {
                    there.at(0).store_relaxed(7);
                    there.at(1).store_relaxed(1);
                }
            })
        },
    ),
    Shape::new(
        (74, ""),
        "packet-of-other-data",
        "P0: put y@1=1; packet {7,1}@1 ‖ P1: W_packet(1); R y",
        2,
        Verdict::race(&[SignalOvertakesData, DataRace], &[&[0], &[1]]).exact(),
        |w| {
            let (packet, y, r) = (w.packets::<u64>("packet", 1).at(0), w.data::<u64>("y", 1), w.registers(1));
            Box::new(move |shmem| {
                let t = shmem.thread();
                if shmem.my_pe() == 0 {
                    t.put(y, &[1], 1);
                    t.p_packet(packet, 7, 1, 1);
                } else {
                    t.wait_packet(packet, 1);
                    r.set(0, shmem.local(y).get(0));
                }
            })
        },
    ),
    Shape::new(
        (75, ""),
        "packet-sent-again",
        "P0: packet {7,1}@1; packet {8,2}@1 ‖ P1: W_packet(1)",
        2,
        // That the two packets have no order either may be said of its own.
        Verdict::hang(&[&[7]]).may_find(&[UnorderedPuts]),
        |w| {
            let (packet, r) = (w.packets::<u64>("packet", 1).at(0), w.registers(1));
            Box::new(move |shmem| {
                let t = shmem.thread();
                if shmem.my_pe() == 0 {
                    t.p_packet(packet, 7, 1, 1);
                    t.p_packet(packet, 8, 2, 1);
                } else {
                    r.set(0, t.wait_packet(packet, 1));
                }
            })
        },
    ),
    Shape::new(
        (84, ""),
        "ptr-store+strong",
        "P0: *ptr(x@1)=1; s:=!1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    if let Some(there) = me.shmem.ptr::<u64>(me.x, 1) {
                        there.store(1);
                    }
                    t.signal(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (84, "w"),
        "ptr-store+weak",
        "P0: *ptr(x@1)=1; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::race(&[SignalOvertakesData, DataRace], &[&[1]]).only(&[&[0], &[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    if let Some(there) = me.shmem.ptr::<u64>(me.x, 1) {
                        there.store(1);
                    }
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
];
