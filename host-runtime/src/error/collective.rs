//! What is wrong with a collective operation that the host asks for.

/// A collective operation that cannot be: nothing is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCollective {
    /// The root is no PE of the team.
    #[error("{by} names PE {root} of a team as its root: the team has {n_pes}, numbered from 0")]
    Root {
        /// The operation.
        by: &'static str,
        /// The root.
        root: u32,
        /// PEs of the team.
        n_pes: u32,
    },
    /// The team has no such channel.
    #[error("{by} names channel {channel} of a team: it has {channels}, numbered from 0")]
    Channel {
        /// The operation.
        by: &'static str,
        /// The channel.
        channel: u32,
        /// How many there are.
        channels: u32,
    },
    /// Of source and target one is to have a part for each PE, as long as the other.
    #[error(
        "{by}: the {longer} has {len} elements, and takes {} times as many as there are in the {}, which has {part}",
        n_pes,
        if *longer == "target" { "source" } else { "target" }
    )]
    Lengths {
        /// The operation.
        by: &'static str,
        /// `target` or `source`: the one with a part for each PE.
        longer: &'static str,
        /// Its elements.
        len: u64,
        /// Elements of the other one.
        part: u64,
        /// PEs of the team.
        n_pes: u32,
    },
    /// Source and target are to have parts of the same length for each PE.
    #[error("{by}: {len} elements are no {n_pes} parts of the same length: each PE of the team takes one")]
    Parts {
        /// The operation.
        by: &'static str,
        /// Elements of source and target.
        len: u64,
        /// PEs of the team.
        n_pes: u32,
    },
    /// An array is to have an element for each PE.
    #[error("{by}: `{array}` has {len} elements, and takes one for each of the team's {n_pes} PE(s)")]
    Array {
        /// The operation.
        by: &'static str,
        /// Which of its arguments.
        array: &'static str,
        /// Its elements.
        len: u64,
        /// PEs of the team.
        n_pes: u32,
    },
    /// Ranges overlap as the operation does not allow.
    #[error("{by}: source and target overlap: name ranges that are apart{or}")]
    InPlace {
        /// The operation.
        by: &'static str,
        /// What it allows besides, in words; nothing if it allows nothing.
        or: &'static str,
    },
}
