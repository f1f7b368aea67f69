//! A NIC's end of the wire.

use super::file::Fabric;
use super::mailbox::Mailbox;
use super::place::{self, Identity, Place};
use crate::nic::description::Address;
use crate::nic::packet::Header;
use crate::nic::refused::Refused;
use std::sync::Arc;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::nic) enum Sent {
    /// It is on its way.
    Yes,
    /// There is no room now, or nobody there yet.
    Later,
    /// The NIC that is meant is there no more.
    Gone,
}

/// A peer, as a queue pair remembers it.
#[derive(Clone, Copy, Debug)]
pub(in crate::nic) struct Peer {
    address: Address,
    found: Option<Place>,
}

impl Peer {
    pub(in crate::nic) fn new(address: Address) -> Self {
        Self { address, found: None }
    }

    /// Whether a packet came from this peer.
    pub(in crate::nic) fn sent(&mut self, port: &Port, header: &Header) -> bool {
        self.find(port).is_some_and(|place| {
            (place.slot, place.generation) == (header.source_slot, header.source_generation)
        })
    }

    /// Once found it is that NIC: another one that later has its address is a stranger.
    fn find(&mut self, port: &Port) -> Option<Place> {
        self.found = self.found.or_else(|| place::find(&port.fabric, self.address));
        self.found
    }
}

/// A NIC's place on a fabric: the only one that writes its outgoing mailboxes and reads its incoming ones.
#[derive(Debug)]
pub(in crate::nic) struct Port {
    fabric: Arc<Fabric>,
    place: Place,
    identity: Identity,
    /// The mailbox to be looked at next.
    turn: u32,
}

impl Port {
    pub(in crate::nic) fn claim(fabric: &Arc<Fabric>, lid: u16, gid: [u8; 16]) -> Result<Self, Refused> {
        let (place, identity) = place::claim(fabric, Identity { lid, gid })?;
        Ok(Self { fabric: Arc::clone(fabric), place, identity, turn: 0 })
    }

    pub(in crate::nic) fn lid(&self) -> u16 {
        self.identity.lid
    }

    pub(in crate::nic) fn gid(&self) -> [u8; 16] {
        self.identity.gid
    }

    /// Sends a packet to a peer; who sends and who is meant is filled in.
    pub(in crate::nic) fn send(&mut self, peer: &mut Peer, mut header: Header, payload: &[u8]) -> Sent {
        let Some(target) = peer.find(self) else { return Sent::Later };
        if place::generation(&self.fabric, target.slot) != target.generation {
            return Sent::Gone;
        }
        header.source_slot = self.place.slot;
        header.source_generation = self.place.generation;
        header.target_generation = target.generation;
        let mailbox = Mailbox(self.fabric.mailbox(self.place.slot, target.slot));
        if mailbox.push(&self.fabric, &header, payload) { Sent::Yes } else { Sent::Later }
    }

    /// Looks at another sender first from now on.
    pub(in crate::nic) fn next_turn(&mut self) {
        self.turn = (self.turn + 1) % self.fabric.nics();
    }

    /// The next packet for this NIC, of whichever sender has one.
    pub(in crate::nic) fn receive(&mut self, payload: &mut Vec<u8>) -> Option<Header> {
        for _ in 0..self.fabric.nics() {
            let mailbox = Mailbox(self.fabric.mailbox(self.turn, self.place.slot));
            // Packets for whoever was here before are dropped.
            while let Some(header) = mailbox.pop(&self.fabric, payload) {
                if header.target_generation == self.place.generation && header.source_slot == self.turn {
                    return Some(header);
                }
            }
            self.next_turn();
        }
        None
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        place::release(&self.fabric, self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::packet::Kind;

    #[test]
    fn whoever_comes_to_a_place_gets_nothing_that_was_meant_for_the_one_before() {
        let fabric = Fabric::local(2).unwrap();
        let mut sender = Port::claim(&fabric, 1, [0; 16]).unwrap();
        let first = Port::claim(&fabric, 2, [0; 16]).unwrap();
        let slot = first.place.slot;
        let mut peer = Peer::new(Address::Lid(2));
        let header = Header::new(Kind::Read);
        assert_eq!(sender.send(&mut peer, header, &[1]), Sent::Yes);
        drop(first);
        // Nobody is there, then another with the same address.
        assert_eq!(sender.send(&mut peer, header, &[2]), Sent::Gone);
        let mut second = Port::claim(&fabric, 2, [0; 16]).unwrap();
        assert_eq!(second.place.slot, slot);
        assert_eq!(sender.send(&mut peer, header, &[3]), Sent::Gone);
        let mut payload = Vec::new();
        assert_eq!(second.receive(&mut payload), None, "the first packet lay in the mailbox");
        // Who looks the address up anew means the one that is there now.
        assert_eq!(sender.send(&mut Peer::new(Address::Lid(2)), header, &[4]), Sent::Yes);
        assert!(second.receive(&mut payload).is_some());
        assert_eq!(payload, [4]);
    }

    #[test]
    fn a_peer_that_is_not_there_yet_can_come_later_and_a_stranger_is_none() {
        let fabric = Fabric::local(3).unwrap();
        let mut sender = Port::claim(&fabric, 1, [0; 16]).unwrap();
        let mut peer = Peer::new(Address::Lid(9));
        assert_eq!(sender.send(&mut peer, Header::new(Kind::Read), &[]), Sent::Later);
        let mut late = Port::claim(&fabric, 9, [0; 16]).unwrap();
        assert_eq!(sender.send(&mut peer, Header::new(Kind::Read), &[]), Sent::Yes);
        let header = late.receive(&mut Vec::new()).unwrap();
        assert!(Peer::new(Address::Lid(1)).sent(&late, &header));
        assert!(!Peer::new(Address::Lid(9)).sent(&late, &header));
    }
}
