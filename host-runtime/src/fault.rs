//! Points at which a test has a PE killed: where a program cannot do so itself. Without the feature `fault-points` they
//! are nothing.

/// Kills this process by SIGKILL if `OXSHMEM_FAULT` is `NAME:PE`.
#[cfg(feature = "fault-points")]
pub(crate) fn point(name: &str, pe: u32) {
    use rustix::process::{Signal, getpid, kill_process};
    if is_at(name, pe) {
        // It does not return: this signal cannot be caught.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

#[cfg(not(feature = "fault-points"))]
pub(crate) fn point(_: &str, _: u32) {}

/// Whether `OXSHMEM_FAULT` is `NAME:PE`.
#[cfg(feature = "fault-points")]
pub(crate) fn is_at(name: &str, pe: u32) -> bool {
    std::env::var("OXSHMEM_FAULT").is_ok_and(|at| at == format!("{name}:{pe}"))
}

#[cfg(not(feature = "fault-points"))]
pub(crate) fn is_at(_: &str, _: u32) -> bool {
    false
}
