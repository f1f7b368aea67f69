//! Which protocol an operation takes, and on how many lanes, as the table in the launch context says. All PEs decide alike: nothing
//! but the arguments that they share goes into it, and that table.

use super::lane::Lane;
use super::packets::part_bytes;
use crate::abi::collective::{self as area, PACKET};
use crate::abi::teams;
use crate::abi::tuning::Kind;
use crate::context::MayWait;
use crate::scope::{Scope, Scoped};
use crate::trace::Recorded;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) packets: bool,
    pub(super) lanes: u32,
}

impl Plan {
    /// Of an operation in which each PE sends each other one `bytes`; by packets on one lane, where some PE does not hear of some
    /// other.
    #[inline(always)]
    pub(super) fn of<S: Scope, C: MayWait>(scoped: Scoped<S, C>, bytes: u64, kind: Kind) -> Self {
        let rooted = matches!(kind, Kind::Broadcast | Kind::Scan);
        let tuning = scoped.shmem().abi.tuning;
        let meeting = scoped.context.meeting();
        let slot = teams::slot(meeting.team);
        let (most, packets) = (most_lanes(scoped), area::packets(slot, scoped.shmem().n_pes()));
        let words = bytes.div_ceil(8);
        let lanes = if rooted || most == 1 {
            1
        } else {
            (bytes / tuning.block_by_packets()).clamp(1, most.into()) as u32
        };
        let each = if lanes == 1 { words } else { words.div_ceil(lanes.into()) };
        let others = scoped.context.pes() - 1;
        let room = part_bytes(packets, lanes * others);
        let sent = each * 8 * u64::from(others);
        if each * PACKET <= room.into() && sent <= tuning.most_by_packets(kind) {
            return Self { packets: true, lanes };
        }
        let lanes =
            if most == 1 { 1 } else { (bytes / tuning.block_by_stores()).clamp(1, most.into()) as u32 };
        Self { packets: false, lanes }
    }

    /// Notes in the timeline what an operation of so many PEs does.
    #[inline(always)]
    pub(super) fn note(self, recorded: &Recorded, pes: u32) {
        recorded.chose(self.packets && pes > 1, self.lanes);
    }

    /// Most lanes of an operation that sends each PE two packets before the data.
    #[inline(always)]
    pub(super) fn varying<S: Scope, C: MayWait>(scoped: Scoped<S, C>) -> u32 {
        let slot = teams::slot(scoped.context.meeting().team);
        let packets = area::packets(slot, scoped.shmem().n_pes());
        let others = (scoped.context.pes() - 1).max(1);
        most_lanes(scoped).min((packets / 2 / others / (2 * PACKET as u32)).max(1))
    }
}

/// As many as the scope has blocks and the channel has lanes.
#[inline(always)]
fn most_lanes<S: Scope, C: MayWait>(scoped: Scoped<S, C>) -> u32 {
    let (_, blocks) = scoped.scope.lane();
    blocks.min(area::lanes(teams::slot(scoped.context.meeting().team), scoped.shmem().n_pes()))
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// First word and number of words of this lane's, of `bytes`.
    #[inline(always)]
    pub(super) fn words(self, bytes: u64) -> (u64, u64) {
        let words = bytes.div_ceil(8);
        let begin = super::begin_of(words, self.lanes, self.lane);
        (begin, super::begin_of(words, self.lanes, self.lane + 1) - begin)
    }

    /// First and one past the last byte of this lane's part of a range of `bytes`: whole words of 16 bytes, but for the end.
    #[inline(always)]
    pub(super) fn range(self, bytes: u64) -> (u64, u64) {
        let words = bytes.div_ceil(16);
        let begin = 16 * super::begin_of(words, self.lanes, self.lane);
        let end = 16 * super::begin_of(words, self.lanes, self.lane + 1);
        (begin.min(bytes), end.min(bytes))
    }
}
