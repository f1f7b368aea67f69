//! Which of device-std's public functions the test kernels call: found by the build script, from the sources.

include!(concat!(env!("OUT_DIR"), "/coverage.rs"));

/// What the scan found.
#[derive(Debug)]
pub(super) struct Coverage {
    /// Public functions.
    pub public: usize,
    /// Those that no kernel calls.
    pub missing: &'static [&'static str],
}

/// The result of the scan.
pub(super) fn scan() -> Coverage {
    Coverage { public: PUBLIC, missing: MISSING }
}
