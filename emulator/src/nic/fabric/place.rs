//! Who is where on a fabric.

use super::file::Fabric;
use crate::nic::description::Address;
use crate::nic::refused::Refused;
use std::sync::atomic::Ordering;

/// Words of a place.
const OWNER: usize = 0;
const GENERATION: usize = 1;
const LID: usize = 2;
const GID: usize = 3;

/// A NIC's place, and which of those that were there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// What a claimed place is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) lid: u16,
    pub(super) gid: [u8; 16],
}

/// Takes a place for a NIC of this process. A LID of 0, or a GID of zeros, is chosen.
pub(super) fn claim(fabric: &Fabric, wanted: Identity) -> Result<(Place, Identity), Refused> {
    let nics = fabric.nics();
    let mut taken = Vec::new();
    let mut free = Vec::new();
    for slot in 0..nics {
        let owner = fabric.place_word(slot, OWNER).load(Ordering::Acquire);
        let lid = fabric.place_word(slot, LID).load(Ordering::Relaxed) as u16;
        if owner != 0 && is_alive(owner) {
            taken.push(lid);
        } else if owner != 0 && wanted.lid != 0 && lid == wanted.lid {
            // Whoever had this LID died: its place is the right one, so that the LID is not there twice.
            free.insert(0, (slot, owner));
        } else {
            free.push((slot, owner));
        }
    }
    if wanted.lid != 0 && taken.contains(&wanted.lid) {
        return Err(Refused::Fabric(format!("LID {} is another NIC's; give each its own", wanted.lid)));
    }
    for (slot, owner) in free {
        let word = fabric.place_word(slot, OWNER);
        if word.compare_exchange(owner, own_name(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        let lid = match wanted.lid {
            0 => (slot as u16 + 1..).find(|lid| !taken.contains(lid)).unwrap_or(u16::MAX),
            lid => lid,
        };
        let gid = if wanted.gid == [0; 16] { gid_of(lid) } else { wanted.gid };
        let (high, low) = halves(gid);
        // Whoever looks for the old identity while this goes on finds the old generation, or nobody.
        fabric.place_word(slot, LID).store(u64::from(lid), Ordering::Relaxed);
        fabric.place_word(slot, GID).store(high, Ordering::Relaxed);
        fabric.place_word(slot, GID + 1).store(low, Ordering::Relaxed);
        let generation = fabric.place_word(slot, GENERATION).fetch_add(1, Ordering::Release) + 1;
        return Ok((Place { slot, generation: generation as u32 }, Identity { lid, gid }));
    }
    Err(Refused::Fabric(format!("all {nics} places are taken; make it for more NICs")))
}

/// Gives a place back.
pub(super) fn release(fabric: &Fabric, place: Place) {
    fabric.place_word(place.slot, LID).store(0, Ordering::Relaxed);
    fabric.place_word(place.slot, GID).store(0, Ordering::Relaxed);
    fabric.place_word(place.slot, GID + 1).store(0, Ordering::Relaxed);
    fabric.place_word(place.slot, GENERATION).fetch_add(1, Ordering::Release);
    fabric.place_word(place.slot, OWNER).store(0, Ordering::Release);
}

/// Which NIC is at a place now.
pub(super) fn generation(fabric: &Fabric, slot: u32) -> u32 {
    fabric.place_word(slot, GENERATION).load(Ordering::Acquire) as u32
}

/// The NIC with an address, alive or not.
pub(super) fn find(fabric: &Fabric, address: Address) -> Option<Place> {
    (0..fabric.nics()).find_map(|slot| {
        let generation = generation(fabric, slot);
        let word = |at| fabric.place_word(slot, at).load(Ordering::Relaxed);
        let is_it = word(OWNER) != 0
            && match address {
                Address::Lid(lid) => lid != 0 && word(LID) == u64::from(lid),
                Address::Gid(gid) => gid != [0; 16] && (word(GID), word(GID + 1)) == halves(gid),
            };
        is_it.then_some(Place { slot, generation })
    })
}

/// A link-local GID that names the LID.
fn gid_of(lid: u16) -> [u8; 16] {
    let [high, low] = lid.to_be_bytes();
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff, 0xfe, 0, high, low]
}

fn halves(gid: [u8; 16]) -> (u64, u64) {
    let whole = u128::from_be_bytes(gid);
    ((whole >> 64) as u64, whole as u64)
}

/// This process: its number, and when it started, since numbers are used again.
fn own_name() -> u64 {
    let pid = std::process::id();
    u64::from(pid) << 32 | u64::from(started(pid).unwrap_or(0))
}

fn is_alive(owner: u64) -> bool {
    started((owner >> 32) as u32) == Some(owner as u32)
}

/// When a process started, in ticks since boot modulo 2^32; `None` if there is none, or it has ended and only waits
/// to be collected.
fn started(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold anything; state is field 3, start 22.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse::<u64>().ok().map(|ticks| ticks as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Identity = Identity { lid: 0, gid: [0; 16] };

    #[test]
    fn places_are_claimed_once_and_found_by_lid_and_gid() {
        let fabric = Fabric::local(2).unwrap();
        let (first, known) = claim(&fabric, ANY).unwrap();
        let (second, other) = claim(&fabric, Identity { lid: 9, gid: [7; 16] }).unwrap();
        assert_ne!(first.slot, second.slot);
        assert_eq!(find(&fabric, Address::Lid(known.lid)), Some(first));
        assert_eq!(find(&fabric, Address::Gid(known.gid)), Some(first));
        assert_eq!(find(&fabric, Address::Gid(other.gid)), Some(second));
        assert_eq!(find(&fabric, Address::Lid(0)), None);
        assert!(claim(&fabric, ANY).unwrap_err().to_string().contains("all 2 places are taken"));
        let error = claim(&fabric, Identity { lid: 9, ..ANY }).unwrap_err();
        assert!(error.to_string().contains("LID 9 is another NIC's"), "{error}");
        release(&fabric, second);
        assert_eq!(find(&fabric, Address::Lid(9)), None);
        let (again, _) = claim(&fabric, Identity { lid: 9, ..ANY }).unwrap();
        assert_ne!(again, second, "another NIC at the same place");
    }

    #[test]
    fn the_place_of_a_process_that_died_is_claimed_again() {
        let fabric = Fabric::local(1).unwrap();
        // Process 0 is none.
        fabric.place_word(0, OWNER).store(1, Ordering::Relaxed);
        fabric.place_word(0, LID).store(5, Ordering::Relaxed);
        let (place, _) = claim(&fabric, Identity { lid: 5, ..ANY }).unwrap();
        assert_eq!(place, Place { slot: 0, generation: 1 });
    }
}
