//! What can be wrong with a timeline.

/// Why there is no timeline, or a part of one is missing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be made or written. Fault: the caller's environment or configuration.
    #[error(
        "PE {pe} cannot write the timeline to {path:?} (OXSHMEM_TRACE, Config::trace): {reason}; name a file in a folder that exists and that this user may write"
    )]
    File {
        /// The PE whose process asked for it; the first of several.
        pe: u32,
        /// The file.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// A GPU's clock could not be held against the host's.
    #[error("PE {pe} got no time of {device} for the timeline (OXSHMEM_TRACE): {reason}")]
    Clock {
        /// The PE.
        pe: u32,
        /// Its device.
        device: String,
        /// What happened instead, and what to do.
        reason: String,
    },
    /// Under the checker there is no time. Fault: the caller's environment.
    #[error("a run under the checker has no timeline: unset OXSHMEM_TRACE, or OXSHMEM_CHECK")]
    Checked,
}
