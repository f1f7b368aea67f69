//! The collective area: what collective operations keep in every heap, behind the fixed part of the control area. All of it
//! is zero at start and after `recover()`.
//!
//! Each team and channel has a *channel*:
//!
//! | offset | content |
//! |---|---|
//! | [`ROUNDS`] | `u64`: how many collective operations there were, in units of [`ROUND`]; the lanes of one add [`ROUND`] together |
//! | [`ROOTED`] | `u64`: the round of the last operation after which not every PE has heard of every other |
//! | [`ROOTED_BEFORE`] | `u64`: that of the last one before it |
//! | [`FLAGS`] | for each lane and PE two `u64`: that PE is *ready*, that PE is *done*, as the round's number |
//! | behind | packets: two halves, for even and odd rounds; in each a part for each lane, in each a part for each other PE |
//!
//! A *lane* is one block of a grid, with flags and packets of its own. A scope within a block is lane 0 alone.

use super::{control, teams};

/// Offset in a channel of the count of its operations.
pub const ROUNDS: u64 = 0;
/// What the lanes of one operation add to the count together.
pub const ROUND: u64 = 1 << 20;
/// Offset in a channel of the round after which the others must be asked.
pub const ROOTED: u64 = 8;
/// Offset in a channel of the last such round before it.
pub const ROOTED_BEFORE: u64 = 16;
/// Offset in a channel of its flags.
pub const FLAGS: u64 = 64;
/// From the word by which a PE is ready to that by which it is done.
pub const DONE: u64 = 8;
/// Bytes of the flags of one PE for one lane.
pub const FLAG_PAIR: u64 = 16;
/// Bytes of a packet.
pub const PACKET: u64 = 16;
/// Most lanes of a channel of the team of all PEs, and bytes that their flags may have.
const WORLD_LANES: (u32, u32) = (128, 128 << 10);
/// The same of a channel of another team.
const TEAM_LANES: (u32, u32) = (16, 16 << 10);
/// Bytes for packets in a channel of the team of all PEs.
const WORLD_PACKETS: u32 = 256 << 10;
/// Most bytes for packets in a channel of another team, and bytes for each PE that may send them.
const TEAM_PACKETS: (u32, u32) = (24 << 10, 8 << 10);

/// `bytes` divided by the lowest power of two that is not less than `parts`: a division, on a device, takes as long as a tenth
/// of a packet's way.
#[inline(always)]
pub const fn divided(bytes: u32, parts: u32) -> u32 {
    let power = u32::BITS - parts.saturating_sub(1).leading_zeros();
    if power < u32::BITS { bytes >> power } else { 0 }
}

/// Lanes of a channel of the team in this slot, in a job of `n_pes` PEs: fewer where there are very many PEs.
#[inline(always)]
pub const fn lanes(slot: u64, n_pes: u32) -> u32 {
    let (most, bytes) = if slot == teams::WORLD as u64 { WORLD_LANES } else { TEAM_LANES };
    let lanes = divided(bytes / FLAG_PAIR as u32, n_pes);
    if lanes == 0 {
        1
    } else if lanes < most {
        lanes
    } else {
        most
    }
}

/// Bytes for packets in a channel of the team in this slot, in a job of `n_pes` PEs: none for one PE, else at least two for each
/// PE in each half.
#[inline(always)]
pub const fn packets(slot: u64, n_pes: u32) -> u32 {
    let (most, others) = (TEAM_PACKETS.0, TEAM_PACKETS.1 * (n_pes - 1));
    let usual = match (n_pes, slot == teams::WORLD as u64) {
        (1, _) => 0,
        (_, true) => WORLD_PACKETS,
        _ if others < most => others,
        _ => most,
    };
    let least = if n_pes == 1 { 0 } else { 64 * n_pes.next_power_of_two() };
    if usual > least { usual } else { least }
}

/// Bytes of the flags of one lane, in a job of `n_pes` PEs.
#[inline(always)]
pub const fn lane_flags(n_pes: u32) -> u64 {
    FLAG_PAIR * n_pes as u64
}

/// Bytes of a channel of the team in this slot, in a job of `n_pes` PEs.
#[inline(always)]
pub const fn channel_bytes(slot: u64, n_pes: u32) -> u64 {
    FLAGS + lanes(slot, n_pes) as u64 * lane_flags(n_pes) + packets(slot, n_pes) as u64
}

/// Heap offset of a channel of the team in this slot, in a job of `n_pes` PEs.
#[inline(always)]
pub const fn channel(slot: u64, channel: u32, n_pes: u32) -> u64 {
    let channels = control::TEAM_CHANNELS as u64;
    let own = channel_bytes(slot, n_pes) * channel as u64;
    if slot == teams::WORLD as u64 {
        return control::BYTES + own;
    }
    let before = channel_bytes(teams::WORLD as u64, n_pes) + (slot - 1) * channel_bytes(slot, n_pes);
    control::BYTES + channels * before + own
}

/// Bytes at the start of every heap of a job of `n_pes` PEs that are not the program's: the control area and this one.
pub const fn reserved(n_pes: u32) -> u64 {
    channel(teams::SLOTS as u64, 0, n_pes).next_multiple_of(ALIGNMENT)
}

/// What [`reserved`] is a multiple of.
const ALIGNMENT: u64 = 64 << 10;

const _: () = {
    assert!(
        FLAGS.is_multiple_of(16)
            && WORLD_PACKETS.is_multiple_of(32)
            && TEAM_PACKETS.0.is_multiple_of(32)
            && TEAM_PACKETS.1.is_multiple_of(32)
            && control::BYTES.is_multiple_of(ALIGNMENT)
    );
    // What the docs say.
    assert!(reserved(1) < 1 << 20 && reserved(8) < 8 << 20 && reserved(1024) < 32 << 20);
};
