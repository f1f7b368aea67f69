//! Which protocol collective operations take on this machine: measured by both, and written as the table that the runtime reads
//! (`OXSHMEM_COLLECTIVES`).

use crate::case::{Case, Scope, Test};
use crate::cli::Tune;
use crate::error::{Failure, Trouble};
use crate::run::run;
use crate::stats;
use oxshmem::{Config, Error, Shmem, Tuning};
use std::fs;

/// What is measured, in the order of [`Tuning::measured`], which takes the reductions' for the scans, too.
const TESTS: [Test; 3] = [Test::Broadcast, Test::Fcollect, Test::Reduce];

/// Threads of the block that is measured.
const THREADS: u32 = 256;

/// Bytes of each source and target.
const MEMORY: u64 = 64 << 20;

/// What a PE sends all others together, from the least to the greatest.
const TOTALS: std::ops::RangeInclusive<u32> = 10..=18;

/// Measures, tells, and writes the table.
pub(crate) fn tune(options: &Tune) -> Result<(), Failure> {
    let mut lines = Vec::new();
    println!("{:<10} {:>4} {:>10} {:>12} {:>12}", "", "PEs", "bytes", "packets [us]", "stores [us]");
    for &pes in &options.pes {
        if pes < 2 {
            return Err(Failure::Asked(format!("one PE sends nobody anything: --pes {pes} is less than 2")));
        }
        let results = Config::from_env()?.pes(pes).run(|shmem| on_pe(&shmem, options.runs))?;
        let bytes =
            results.into_iter().next().ok_or_else(|| Failure::Asked("no PE has measured".into()))??;
        lines.push((pes, bytes));
    }
    let Some(tuning) = Tuning::measured(lines) else {
        return Err(Failure::Asked("there is no number of PEs in --pes".into()));
    };
    let text = format!("# Written by {}\n{tuning}", std::env::args().collect::<Vec<_>>().join(" "));
    match &options.out {
        Some(path) => fs::write(path, text).map_err(Failure::io(format!("cannot write {}", path.display()))),
        None => {
            print!("\n{text}");
            Ok(())
        }
    }
}

/// The most bytes by packets of each kind; PE 0 tells what it measures.
fn on_pe(shmem: &Shmem, runs: u32) -> Result<Result<[u64; 4], Failure>, Error> {
    let mut most = [0; 4];
    for (test, most) in TESTS.into_iter().zip(&mut most) {
        match threshold(shmem, test, runs) {
            Ok(bytes) => *most = bytes,
            Err(Trouble::Failed(error)) => return Err(error),
            Err(why) => return Ok(Err(Failure::Case { case: test.to_string(), why: Box::new(why) })),
        }
    }
    most[3] = most[2];
    Ok(Ok(most))
}

/// The greatest total up to which packets are faster at every one.
fn threshold(shmem: &Shmem, test: Test, runs: u32) -> Result<u64, Trouble> {
    let others = u64::from(shmem.n_pes() - 1);
    let emulated = shmem.is_emulated();
    let mut most = 0;
    let mut faster = true;
    for total in TOTALS.map(|power| 1u64 << power) {
        // Whole packets, and whole accesses of stores.
        let bytes = (total / others / 16 * 16).max(16);
        let case = Case {
            scope: Scope::Block,
            threads: if emulated { 32 } else { THREADS },
            bytes,
            iters: if emulated { 2 } else { 200 },
            ..Case::new(test)
        };
        let mut times = [Vec::new(), Vec::new()];
        for seed in 1..=runs {
            for (tuning, times) in [Tuning::packets(), Tuning::stores()].iter().zip(&mut times) {
                shmem.set_collectives(tuning)?;
                times.push(run(shmem, &case, MEMORY, seed)?.ns / f64::from(case.iters) / 1e3);
            }
        }
        // PE 0's, so that all go on alike.
        let medians = times.map(|times| stats::median(&times).unwrap_or(f64::INFINITY));
        let [packets, stores] = shmem.all_gather(&medians)?[0];
        if shmem.my_pe() == 0 {
            println!("{test:<10} {:>4} {bytes:>10} {packets:>12.2} {stores:>12.2}", shmem.n_pes());
        }
        faster &= packets < stores;
        if faster {
            most = total;
        }
    }
    Ok(most)
}
