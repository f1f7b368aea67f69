//! What is asked of the checker.

use oxshmem_emulator::check::CheckOptions;
use std::path::PathBuf;

/// What the environment asks of the checker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FromEnv {
    pub(crate) options: CheckOptions,
    /// Where the report goes as JSON.
    pub(crate) json: Option<PathBuf>,
}
