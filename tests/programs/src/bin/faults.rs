//! What the PEs of a job learn when one of them dies, at every point where it may: see `oxshmem_programs::faults`.
//!
//! `faults [--part K/N] [ROW]` runs the rows whose name contains ROW, all without it, of these each N-th from the K-th on;
//! `OXSHMEM_DEVICE` says on what.

fn main() -> std::process::ExitCode {
    oxshmem_programs::faults::main()
}
