//! The collective area: what collective operations keep in every heap, behind the fixed part of the control area. All of it
//! is zero at start and after `recover()`.
//!
//! Each team and channel has a *channel*:
//!
//! | offset | content |
//! |---|---|
//! | [`ROUNDS`] | `u64`: how many collective operations there were, in units of [`ROUND`]; the lanes of one add [`ROUND`] together |
//! | [`ROOTED`] | `u64`: the round of the last operation after which not every PE has heard of every other |
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
/// Offset in a channel of its flags.
pub const FLAGS: u64 = 64;
/// From the word by which a PE is ready to that by which it is done.
pub const DONE: u64 = 8;
/// Bytes of the flags of one PE for one lane.
pub const FLAG_PAIR: u64 = 16;
/// Bytes of a packet.
pub const PACKET: u64 = 16;
/// Lanes of a channel of the team of all PEs.
pub const WORLD_LANES: u32 = 128;
/// Lanes of a channel of another team.
pub const TEAM_LANES: u32 = 16;
/// Bytes for packets in a channel of the team of all PEs.
pub const WORLD_PACKETS: u32 = 256 << 10;
/// Bytes for packets in a channel of another team.
pub const TEAM_PACKETS: u32 = 24 << 10;

/// Lanes of a channel of the team in this slot.
#[inline(always)]
pub const fn lanes(slot: u64) -> u32 {
    if slot == teams::WORLD as u64 { WORLD_LANES } else { TEAM_LANES }
}

/// Bytes for packets in a channel of the team in this slot, in a job of `n_pes` PEs: at least two for each PE in each half.
#[inline(always)]
pub const fn packets(slot: u64, n_pes: u32) -> u32 {
    let (usual, least) = (if slot == teams::WORLD as u64 { WORLD_PACKETS } else { TEAM_PACKETS }, 64 * n_pes);
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
    FLAGS + lanes(slot) as u64 * lane_flags(n_pes) + packets(slot, n_pes) as u64
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
            && TEAM_PACKETS.is_multiple_of(32)
            && control::BYTES.is_multiple_of(ALIGNMENT)
    );
    // What the docs say of 8 PEs.
    assert!(reserved(8) < 8 << 20);
};
