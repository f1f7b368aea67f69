//! Shows a bounded wait: the last PE waits for a signal that never comes. Every PE must learn which within the
//! deadline and some, and the same context must work afterwards.
//!
//! `bounded-wait [SECONDS]`; `OXSHMEM_PES=2` makes two PEs.

use oxshmem::{Config, Error};
use oxshmem_device::LaunchConfig;
use oxshmem_programs::kernels::failures::wait_for_ever;
use oxshmem_programs::kernels::ordering::barrier_rounds;
use oxshmem_programs::kernels::scope;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn bounded_wait(deadline: Duration) -> oxshmem::Result<bool> {
    let config = Config::from_env()?.deadline(deadline);
    let n = config.n_pes();
    let verified = config.run(|shmem| {
        let me = shmem.my_pe();
        let signals = shmem.alloc_signals(4)?;
        let slots = shmem.alloc_zeroed::<u32>(n as usize + 1)?;
        let shape = LaunchConfig::blocks(2).threads(64);
        shmem.barrier_all()?;
        let start = Instant::now();
        if me == n - 1 {
            wait_for_ever::launch(&shmem, shape, signals.at(3), scope::BLOCK, 7)?;
        }
        let reported = match shmem.barrier_all() {
            Err(Error::Poisoned(failure)) => {
                let after = start.elapsed().as_secs_f64();
                println!("PE {me} learns after {after:.3} s: {failure}");
                failure.pe == n - 1 && failure.expected == 7 && failure.seen == 0
            }
            other => {
                println!("PE {me}: expected the failure, got {other:?}");
                false
            }
        };
        shmem.recover()?;
        let slots_and_wrong = (slots.slice(0, n as usize), slots.slice(n as usize, 1));
        barrier_rounds::launch(&shmem, shape, slots_and_wrong.0, slots_and_wrong.1, scope::GRID, 5)?;
        shmem.barrier_all()?;
        let after = slots.read()?;
        let works = after[..n as usize].iter().all(|&round| round == 5) && after[n as usize] == 0;
        if me == 0 {
            println!(
                "bounded-wait  {}  {n} PEs  deadline {:.1} s  verified {}",
                shmem.device_name(),
                deadline.as_secs_f64(),
                if reported && works { "yes" } else { "no" }
            );
        }
        Ok(reported && works)
    })?;
    Ok(verified.into_iter().all(|verified| verified))
}

fn main() -> ExitCode {
    let seconds = match std::env::args().nth(1).map(|text| text.parse::<f64>()) {
        None => 2.0,
        Some(Ok(seconds)) if seconds > 0.0 && seconds < 3600.0 => seconds,
        Some(_) => {
            eprintln!("bounded-wait: the deadline is a number of seconds, more than 0 and less than 3600");
            return ExitCode::from(2);
        }
    };
    match bounded_wait(Duration::from_secs_f64(seconds)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bounded-wait: {error}");
            ExitCode::FAILURE
        }
    }
}
