//! The timeline of a run (`OXSHMEM_TRACE`): what kernels and hosts of all PEs did when, as one file for the whole job.
//!
//! | file | what it does |
//! |---|---|
//! | `file` | the file of a job, to which each process adds its part by itself |
//! | `log` | the log that kernels of a PE write, in device memory |
//! | `host` | what the host thread of a PE did |
//! | `clock` | the time of a GPU in that of the host |
//! | `part` | the part of a PE as events of Chrome's trace format |
//! | `json` | how an event is written |
//!
//! No message is sent for it, so that a PE that dies takes only its own part with it.

mod clock;
mod file;
mod host;
mod json;
mod log;
mod part;

pub(crate) use file::TraceFile;
pub(crate) use host::{PeTrace, What};

use std::path::PathBuf;

/// How many operations of each PE are kept, and as many events of its host, if nothing else is said. 3 MiB of device memory.
pub(crate) const EVENTS: u32 = 1 << 16;

/// Where a timeline is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: PathBuf,
    /// For how many operations of each PE there is room.
    pub(crate) events: u32,
}
