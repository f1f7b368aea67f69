//! Buffers that are used in turn: too few of them, too few credits, or the wrong one.

use super::{Kernel, Pair, share};
use oxshmem_device::prelude::*;
use oxshmem_emulator::check::{Kind, World, WorldGrid};

const fn pair(
    name: &'static str,
    kind: Kind,
    pes: u32,
    grid: WorldGrid,
    mechanism: &'static str,
    make: fn(&mut World, bool) -> Kernel,
) -> Pair {
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("buffers.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "one-buffer-for-two",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a protocol for two buffers runs on one",
        one_buffer_for_two,
    ),
    pair(
        "credit-distance",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "the sender of a double buffer runs three rounds ahead of its credit",
        credit_distance,
    ),
    pair(
        "weak-credit",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "the credit for a slot that was read is a weak signal",
        weak_credit,
    ),
    pair(
        "credit-of-two-blocks",
        Kind::DataRace,
        2,
        WorldGrid::of(2, 4),
        "two blocks read a slot, and the sender waits for the credit of one",
        credit_of_two_blocks,
    ),
    pair(
        "credit-while-lent",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "a slot's credit is given while another PE, which was told of it, still gets it",
        credit_while_lent,
    ),
    pair(
        "slots-overlap",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "the stride between the senders' slots is one element too short",
        slots_overlap,
    ),
    pair(
        "halo-of-other-parity",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a step reads the halo row of the other parity",
        halo_of_other_parity,
    ),
    pair(
        "mailbox-weak-ack",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a long mailbox is filled again on a weak acknowledgement",
        mailbox_weak_ack,
    ),
    pair(
        "one-signal-for-two-slots",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "two slots count on one word, and the count is taken to say which of them is full",
        one_signal_for_two_slots,
    ),
    pair(
        "packet-without-ack",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a packet is sent again before its receiver has taken it",
        packet_without_ack,
    ),
    pair(
        "batch-of-three",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "credits come in batches of three stages, and the pipeline has two",
        batch_of_three,
    ),
    pair(
        "odd-credit",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "credits come every second round, and the last round is odd",
        odd_credit,
    ),
];

fn one_buffer_for_two(world: &mut World, broken: bool) -> Kernel {
    let (from, slots) = (world.data::<u32>("from", 6), world.data::<u32>("slots", 12));
    let (full, credit) = (world.signals("full", 2), world.signals("credit", 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=4u64 {
            let slot = slots.slice(if broken { 0 } else { 6 * (k & 1) }, 6);
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k.saturating_sub(2));
                t.put_signal(slot, from, full.at(k & 1), SignalOp::Set(k), 1); // one-buffer-for-two: two
                t.fence();
            } else {
                t.wait_reached(full.at(k & 1), k);
                let came = shmem.local(slot).get(5); // one-buffer-for-two: one
                t.signal(credit, SignalOp::Set(k), 0);
                shmem.local(from).set(k, came);
            }
        }
    })
}

fn credit_distance(world: &mut World, broken: bool) -> Kernel {
    let (from, slots) = (world.data::<u32>("from", 6), world.data::<u32>("slots", 12));
    let (full, credit) = (world.signals("full", 2), world.signals("credit", 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=4u64 {
            let slot = slots.slice(6 * (k & 1), 6);
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k.saturating_sub(if broken { 3 } else { 2 }));
                t.put_signal(slot, from, full.at(k & 1), SignalOp::Set(k), 1); // credit-distance: two
                t.fence();
            } else {
                t.wait_reached(full.at(k & 1), k);
                let came = shmem.local(slot).get(0); // credit-distance: one
                t.signal(credit, SignalOp::Set(k), 0);
                shmem.local(from).set(k, came);
            }
        }
    })
}

fn weak_credit(world: &mut World, broken: bool) -> Kernel {
    let [from, slot] = ["from", "slot"].map(|name| world.data::<f32>(name, 4));
    let [full, credit] = ["full", "credit"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=3 {
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k - 1);
                t.put_signal(slot, from, full, SignalOp::Set(k), 1); // weak-credit: two
                t.fence();
            } else {
                t.wait_reached(full, k);
                let came = shmem.local(slot).get(1); // weak-credit: one
                if broken {
                    t.signal_weak(credit, SignalOp::Add(1), 0);
                } else {
                    t.signal(credit, SignalOp::Add(1), 0);
                }
                shmem.local(from).set(k, came);
            }
        }
    })
}

fn credit_of_two_blocks(world: &mut World, broken: bool) -> Kernel {
    let [from, slot, seen] = ["from", "slot", "seen"].map(|name| world.data::<u32>(name, 10));
    let [full, credit] = ["full", "credit"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let (block, number) = (shmem.block(), u64::from(thread::block()));
        for k in 1..=2 {
            if shmem.my_pe() == 1 {
                block.wait_reached(full, k);
                for i in share(shmem, 5).map(|i| 5 * number + i) {
                    shmem.local(seen).set(i, shmem.local(slot).get(i)); // credit-of-two-blocks: one
                }
                block.signal(credit, SignalOp::Add(1), 0);
            } else if number == 0 {
                block.wait_reached(credit, (k - 1) * if broken { 1 } else { 2 });
                block.put_signal(slot, from, full, SignalOp::Set(k), 1); // credit-of-two-blocks: two
            }
        }
    })
}

fn credit_while_lent(world: &mut World, broken: bool) -> Kernel {
    let [from, slot, copy] = ["from", "slot", "copy"].map(|name| world.data::<u32>(name, 3));
    let [full, credit] = ["full", "credit"].map(|name| world.signals(name, 1).at(0));
    let [lent, returned] = ["lent", "returned"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=2 {
            match shmem.my_pe() {
                0 => {
                    t.wait_reached(credit, k - 1);
                    t.put_signal(slot, from, full, SignalOp::Set(k), 1); // credit-while-lent: two
                }
                1 => {
                    t.wait_reached(full, k);
                    t.signal(lent, SignalOp::Set(k), 2);
                    shmem.local(copy).set(k, shmem.local(slot).get(0));
                    if !broken {
                        t.wait_reached(returned, k);
                    }
                    t.signal(credit, SignalOp::Set(k), 0);
                }
                _ => {
                    t.wait_reached(lent, k);
                    t.get(copy, slot, 1); // credit-while-lent: one
                    t.signal(returned, SignalOp::Set(k), 1);
                }
            }
        }
    })
}

fn slots_overlap(world: &mut World, broken: bool) -> Kernel {
    let (send, receive) = (world.data::<u32>("send", 4), world.data::<u32>("receive", 12));
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, me) = (shmem.thread(), u64::from(shmem.my_pe()));
        let slot = receive.slice(me * if broken { 3 } else { 4 }, 4);
        t.put_signal(slot, send, arrived, SignalOp::Add(1), 0); // slots-overlap: one
        if me == 0 {
            t.wait_until(arrived, Cmp::Ge, 3);
            shmem.local(send).set(0, shmem.local(receive).get(3));
        }
    })
}

fn halo_of_other_parity(world: &mut World, broken: bool) -> Kernel {
    let (row, halo) = (world.data::<f32>("row", 9), world.data::<f32>("halo", 18));
    let sums = world.data::<f32>("sums", 4);
    let (arrived, credit) = (world.signals("arrived", 2), world.signals("credit", 1).at(0));
    Box::new(move |shmem: Collective| {
        let (t, peer) = (shmem.thread(), shmem.next_pe());
        for step in 1..=3u64 {
            let parity = step & 1;
            t.wait_reached(credit, step.saturating_sub(2));
            let target = halo.slice(9 * parity, 9);
            t.put_signal(target, row, arrived.at(parity), SignalOp::Set(step), peer); // halo-of-other-parity: two
            t.wait_reached(arrived.at(parity), step);
            let read = if broken { 1 - parity } else { parity };
            let edge = shmem.local(halo).get(9 * read + 4); // halo-of-other-parity: one
            t.signal(credit, SignalOp::Set(step), peer);
            shmem.local(sums).set(step, edge);
        }
    })
}

fn mailbox_weak_ack(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<[u32; 4]>(name, 5));
    let mailbox = world.mailboxes::<[u32; 4], 5>("mailbox", 1).at(0);
    let taken = world.signals("taken", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for round in 1..=2 {
            if shmem.my_pe() == 0 {
                t.wait_reached(taken, round - 1);
                t.put_mailbox(mailbox, from, round, 1); // mailbox-weak-ack: two
                t.fence();
            } else {
                t.wait_mailbox(to, mailbox, round); // mailbox-weak-ack: one
                if broken {
                    t.signal_weak(taken, SignalOp::Set(round), 0);
                } else {
                    t.signal(taken, SignalOp::Set(round), 0);
                }
            }
        }
    })
}

fn one_signal_for_two_slots(world: &mut World, broken: bool) -> Kernel {
    let (from, slots) = (world.data::<u32>("from", 3), world.data::<u32>("slots", 6));
    let full = world.signals("full", 2);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 0..2 {
            let (slot, word) = (slots.slice(3 * k, 3), full.at(if broken { 0 } else { k }));
            if shmem.my_pe() == 0 {
                t.put_signal(slot, from, word, SignalOp::Add(1), 1); // one-signal-for-two-slots: one
            } else {
                t.wait_until(word, Cmp::Ge, if broken { k + 1 } else { 1 });
                let came = shmem.local(slot).get(0); // one-signal-for-two-slots: two
                shmem.local(from).set(k, came);
            }
        }
    })
}

fn packet_without_ack(world: &mut World, broken: bool) -> Kernel {
    let [message, ack] = ["message", "ack"].map(|name| world.packets::<u32>(name, 1).at(0));
    let seen = world.data::<u32>("seen", 3);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for round in 1..=2 {
            if shmem.my_pe() == 0 {
                t.p_packet(message, 40 + round as u32, round, 1);
                t.fence();
                if !broken {
                    t.wait_packet(ack, round);
                }
            } else {
                let value = t.wait_packet(message, round); // packet-without-ack: one
                shmem.local(seen).set(round, value);
                t.p_packet(ack, 0, round, 0);
            }
        }
    })
}

fn batch_of_three(world: &mut World, broken: bool) -> Kernel {
    let (from, ring) = (world.data::<u32>("from", 4), world.data::<u32>("ring", 12));
    let (full, credit) = (world.signals("full", 3), world.signals("credit", 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        let stages = if broken { 2 } else { 3 };
        for k in 1..=6u64 {
            let (slot, word) = (ring.slice(4 * (k % stages), 4), full.at(k % stages));
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k.saturating_sub(stages)); // batch-of-three: one
                t.put_signal(slot, from, word, SignalOp::Set(k), 1);
            } else {
                t.wait_reached(word, k);
                let came = shmem.local(slot).get(3);
                if k % 3 == 0 {
                    t.signal(credit, SignalOp::Set(k), 0);
                    shmem.local(from).set(0, came);
                }
            }
        }
    })
}

fn odd_credit(world: &mut World, broken: bool) -> Kernel {
    let (from, slots) = (world.data::<u32>("from", 2), world.data::<u32>("slots", 4));
    let (full, credit) = (world.signals("full", 2), world.signals("credit", 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=5u64 {
            let slot = slots.slice(2 * (k & 1), 2);
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k.saturating_sub(2));
                t.put_signal(slot, from, full.at(k & 1), SignalOp::Set(k), 1);
            } else {
                t.wait_reached(full.at(k & 1), k);
                shmem.local(from).set(0, shmem.local(slot).get(1));
                if !broken || k & 1 == 0 {
                    t.signal(credit, SignalOp::Set(k), 0);
                }
            }
        }
        if shmem.my_pe() == 0 {
            t.wait_reached(credit, 5); // odd-credit: one
        }
    })
}
