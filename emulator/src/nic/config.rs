//! What a NIC is made with.

/// How an emulated NIC is set up; [`NicConfig::default`] is one without an adversary, as strict as can be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NicConfig {
    /// The port's local identifier; 0 takes the first free one. Unique on a fabric.
    pub lid: u16,
    /// The port's global identifier; all zero makes one from the LID.
    pub gid: [u8; 16],
    /// Most WQEBBs of a send queue, as a power of two. At most 15: a 16-bit index tells apart no more.
    pub log_max_queue: u8,
    /// Most completions of a completion queue, as a power of two.
    pub log_max_completions: u8,
    /// Who uses the freedoms of the standard; without one every step does all that it can, in order.
    pub adversary: Option<Adversary>,
    /// Consumed WQEBBs are overwritten, so that a queue entry that was not written afresh is seen.
    pub poison: bool,
    /// After so many microseconds a record that is ahead of the doorbell is a [`Rule::NeverRung`](super::Rule);
    /// 0 never looks.
    pub watchdog_us: u64,
    /// What time is measured by.
    pub time: Time,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            lid: 0,
            gid: [0; 16],
            log_max_queue: 15,
            log_max_completions: 22,
            adversary: None,
            poison: true,
            watchdog_us: 5_000_000,
            time: Time::Machine,
        }
    }
}

/// What a NIC's timers run by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The machine's clock: for a NIC that a thread runs.
    Machine,
    /// A microsecond for each call of [`Nic::step`](super::Nic::step): the same steps give the same run.
    Steps,
}

/// Makes choices wherever the standard leaves one: the same seed, posts and steps give the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adversary {
    /// Fixes every choice, and how eager, late or orderly this NIC is altogether.
    pub seed: u64,
}
