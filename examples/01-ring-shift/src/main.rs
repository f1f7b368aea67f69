//! Every PE sends a vector to its right neighbour, inside a kernel, and checks what the left one sent.
//!
//! `ring-shift [ELEMENTS [THREADS]]`, the threads of the block that sends; `OXSHMEM_PES=4` makes four PEs of this process, `oxshmem-run -n 4 ring-shift` four processes.

use ::ring_shift::ring_shift;
use oxshmem_device::LaunchConfig;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Element `i` of what PE `pe` sends: its origin can be read off it.
fn element(pe: u32, i: usize) -> f32 {
    ((pe as usize) << 20 | i & 0xf_ffff) as f32
}

fn ring(elements: usize, threads: u32) -> oxshmem::Result<bool> {
    let verified = AtomicBool::new(false);
    oxshmem::run(|shmem| {
        let me = shmem.my_pe();
        let src = shmem.alloc_from_fn(elements, |i| element(me, i))?;
        let dst = shmem.alloc_zeroed::<f32>(elements)?;
        let ready = shmem.alloc_signals(1)?;
        shmem.barrier_all()?;

        let start = Instant::now();
        ring_shift::launch(&shmem, LaunchConfig::blocks(1).threads(threads), &dst, &src, ready.at(0), 1)?;
        shmem.barrier_all()?;
        let time = start.elapsed();

        let left = (me + shmem.n_pes() - 1) % shmem.n_pes();
        let received = dst.read()?;
        let bad = received.iter().enumerate().filter(|&(i, &value)| value != element(left, i)).count();
        let right = shmem.all_gather(&(bad as u64))?.iter().all(|&bad| bad == 0);
        verified.store(right, Ordering::Relaxed);
        if me == 0 {
            println!(
                "01-ring-shift  {}  {} PEs  {elements} f32 per PE  verified {}  {:.6} s",
                shmem.device_name(),
                shmem.n_pes(),
                if right { "yes" } else { "no" },
                time.as_secs_f64()
            );
        }
        Ok(())
    })?;
    Ok(verified.into_inner())
}

fn main() -> ExitCode {
    let mut numbers = [1 << 16, 256];
    for (number, text) in numbers.iter_mut().zip(std::env::args().skip(1)) {
        match text.parse() {
            Ok(given) => *number = given,
            Err(error) => {
                eprintln!("ring-shift: elements and threads are whole numbers, and {text:?} is not: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let [elements, threads] = numbers;
    match ring(elements, u32::try_from(threads).unwrap_or(u32::MAX)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // In one piece: other PEs may write at the same time.
            let said = format!("ring-shift: {error}");
            eprintln!("{said}");
            ExitCode::FAILURE
        }
    }
}
