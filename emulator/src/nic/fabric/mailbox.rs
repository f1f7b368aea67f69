//! One ring of packets: a single writer, a single reader.
//!
//! | step | by whom | order |
//! |---|---|---|
//! | the packet's bytes are written behind `tail` | writer | after an acquire load of `head`: the reader is done with them |
//! | `tail` moves past the packet | writer | release: the bytes are there for whoever sees it |
//! | the bytes are read from `head` on | reader | after an acquire load of `tail` |
//! | `head` moves past the packet | reader | release: the bytes may be overwritten |
//!
//! A side that dies between two steps leaves the counters of before: its packet never was.

use super::file::{COUNTERS, Fabric, RING};
use crate::nic::packet::{HEADER, Header, MTU};
use std::sync::atomic::Ordering;

/// Bytes of the largest packet.
const LARGEST: usize = HEADER + 8 + MTU;
const _: () = assert!(COUNTERS >= 128 && RING.is_power_of_two() && RING > 8 * LARGEST);

/// A mailbox, by where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mailbox(pub(super) usize);

impl Mailbox {
    /// Puts a packet in; false if there is no room now. Only the NIC at the mailbox's origin calls it.
    pub(super) fn push(self, fabric: &Fabric, header: &Header, payload: &[u8]) -> bool {
        let (head, tail) = (fabric.word(self.0), fabric.word(self.0 + 64));
        let at = tail.load(Ordering::Relaxed);
        let whole = HEADER + 8 + payload.len().next_multiple_of(8);
        let used = at.wrapping_sub(head.load(Ordering::Acquire));
        if used > RING as u64 || RING - (used as usize) < whole {
            return false;
        }
        self.copy_in(fabric, at, &(payload.len() as u64).to_le_bytes());
        self.copy_in(fabric, at + 8, &header.to_bytes());
        self.copy_in(fabric, at + 8 + HEADER as u64, payload);
        tail.store(at + whole as u64, Ordering::Release);
        true
    }

    /// Takes the oldest packet, its payload in place of what `payload` held. Only the NIC at the mailbox's
    /// destination calls it.
    pub(super) fn pop(self, fabric: &Fabric, payload: &mut Vec<u8>) -> Option<Header> {
        let (head, tail) = (fabric.word(self.0), fabric.word(self.0 + 64));
        let (at, end) = (head.load(Ordering::Relaxed), tail.load(Ordering::Acquire));
        if at == end {
            return None;
        }
        let there = end.wrapping_sub(at);
        let mut length = [0; 8];
        self.copy_out(fabric, at, &mut length);
        let length = u64::from_le_bytes(length);
        let whole = HEADER as u64 + 8 + length.min(1 << 32).next_multiple_of(8);
        // No writer of this version does that; what follows cannot be understood either.
        if length > MTU as u64 || whole > there || there > RING as u64 {
            head.store(end, Ordering::Release);
            return None;
        }
        let mut header = [0; HEADER];
        self.copy_out(fabric, at + 8, &mut header);
        payload.resize(length as usize, 0);
        self.copy_out(fabric, at + 8 + HEADER as u64, payload);
        head.store(at + whole, Ordering::Release);
        Some(Header::of_bytes(header))
    }

    /// Copies to a position, around the ring's end; at most a packet.
    fn copy_in(self, fabric: &Fabric, at: u64, bytes: &[u8]) {
        let start = at as usize % RING;
        let (first, second) = bytes.split_at(bytes.len().min(RING - start));
        let ring = fabric.ring(self.0);
        // SAFETY: both parts lie inside of the ring; by the counters no reader looks at them now.
        unsafe {
            ring.add(start).copy_from_nonoverlapping(first.as_ptr(), first.len());
            ring.copy_from_nonoverlapping(second.as_ptr(), second.len());
        }
    }

    /// Copies from a position; at most a packet.
    fn copy_out(self, fabric: &Fabric, at: u64, out: &mut [u8]) {
        let start = at as usize % RING;
        let middle = out.len().min(RING - start);
        let (first, second) = out.split_at_mut(middle);
        let ring = fabric.ring(self.0);
        // SAFETY: both parts lie inside of the ring; by the counters no writer touches them now.
        unsafe {
            ring.add(start).copy_to_nonoverlapping(first.as_mut_ptr(), first.len());
            ring.copy_to_nonoverlapping(second.as_mut_ptr(), second.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::packet::Kind;

    #[test]
    fn packets_come_out_as_they_went_in_around_the_end() {
        let fabric = Fabric::local(2).unwrap();
        let mailbox = Mailbox(fabric.mailbox(0, 1));
        let (mut sent, mut taken, mut payload) = (0_u32, 0_u32, Vec::new());
        let content = |number: u32| -> Vec<u8> {
            (0..number as usize * 37 % (MTU + 1)).map(|at| (at as u32 ^ number) as u8).collect()
        };
        while taken < 3000 {
            let header = Header { psn: sent, address: u64::from(sent) << 33, ..Header::new(Kind::Write) };
            if mailbox.push(&fabric, &header, &content(sent)) {
                sent += 1;
                continue;
            }
            for _ in 0..1 + sent % 7 {
                let Some(header) = mailbox.pop(&fabric, &mut payload) else { break };
                assert_eq!((header.psn, header.address), (taken, u64::from(taken) << 33));
                assert_eq!(payload, content(taken));
                taken += 1;
            }
        }
        assert!(sent > taken);
    }

    #[test]
    fn garbage_is_dropped_and_later_packets_come() {
        let fabric = Fabric::local(1).unwrap();
        let mailbox = Mailbox(fabric.mailbox(0, 0));
        assert!(mailbox.push(&fabric, &Header::new(Kind::Read), &[1; 9]));
        mailbox.copy_in(&fabric, 0, &u64::MAX.to_le_bytes());
        let mut payload = Vec::new();
        assert_eq!(mailbox.pop(&fabric, &mut payload), None);
        assert!(mailbox.push(&fabric, &Header::new(Kind::Ack), &[2; 3]));
        assert_eq!(mailbox.pop(&fabric, &mut payload).and_then(|header| header.kind()), Some(Kind::Ack));
        assert_eq!(payload, [2; 3]);
    }
}
