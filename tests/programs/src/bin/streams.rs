//! Host operations, operations on streams and graphs, checked on every PE; then waits that expire.
//!
//! `streams [REPLAYS [SECONDS]]`: a graph is launched so often (default 1000), and waits expire after so long (default 5).

use oxshmem::{Config, Result};
use oxshmem_programs::streams::{Extent, all};
use std::process::ExitCode;
use std::time::Duration;

fn run(replays: u64, deadline: u64) -> Result<()> {
    let config = Config::from_env()?.deadline(Duration::from_secs(deadline));
    config.run(|shmem| {
        all(&shmem, Extent { replays, failures: true })?;
        if shmem.my_pe() == 0 {
            let (device, n) = (shmem.device_name(), shmem.n_pes());
            println!("streams  {device}  {n} PEs  {replays} launches of a graph  verified yes");
        }
        Ok(())
    })?;
    Ok(())
}

/// Hardware queues for the streams of a GPU, unless the environment says how many: with fewer, PEs that share a GPU would hold
/// each other's streams back (CUDA C++ Programming Guide, environment variables). A process of one PE needs fewer, and under MPS
/// four with 32 each are refused by one GPU.
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

fn connections() -> &'static str {
    if std::env::var_os("OXSHMEM_WORLD_SIZE").is_some() { "16" } else { "32" }
}

fn main() -> ExitCode {
    if std::env::var_os(CONNECTIONS).is_none() {
        // SAFETY: the program has no other thread yet.
        unsafe { std::env::set_var(CONNECTIONS, connections()) };
    }
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|text| text.parse().ok()).collect();
    let (replays, deadline) = match numbers.as_deref() {
        Some([]) => (1000, 5),
        Some([replays]) => (*replays, 5),
        Some([replays, seconds @ 1..=3600]) => (*replays, *seconds),
        _ => {
            eprintln!("streams: the arguments are a number of launches, and of seconds, from 1 to 3600");
            return ExitCode::from(2);
        }
    };
    match run(replays, deadline) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("streams: {error}");
            ExitCode::FAILURE
        }
    }
}
