//! Where PEs meet: the words of a team's channel.

use crate::abi::control;

/// Where the PEs of a context meet, and who this one is among them.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// This PE's number.
    pub(crate) me: u32,
    /// The team's handle, as a number.
    pub(crate) team: u64,
    pub(crate) channel: u32,
}

impl Meeting {
    /// Heap offset of the channel's epoch.
    #[inline(always)]
    pub(crate) fn words(self) -> u64 {
        control::team_words(self.team) + control::TEAM_CHANNEL * u64::from(self.channel)
    }
}
