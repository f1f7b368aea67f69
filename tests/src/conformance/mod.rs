//! The conformance suite: one body per rule, by name, over scope, element type, count, alignment and number of
//! PEs. The same bodies run emulated and on a GPU. A rule is checked by the host from what is in memory after
//! the kernel.
//!
//! A row is a rule at a scope. Output: one line per rule, then `N rows, M failed`, how many of device-std's public
//! functions the kernels call, and `N passed, M failed` of all checks.

mod alignments;
mod atomics;
mod coverage;
mod element;
mod failures;
mod large;
mod nbi;
mod ordering;
mod packets;
mod peers;
mod ported;
mod rma;
mod signals;
mod strided;
mod suite;
mod teams;
mod tiles;
mod updates;
mod waits;
mod warps;

use oxshmem::Config;
use std::process::ExitCode;
use std::time::Instant;
use suite::{Bench, Report};

/// Runs the whole suite with the numbers of PEs in the arguments (default 1, 2, 3, 5 and 8); under the checker
/// (`OXSHMEM_CHECK=1`) without the rules that are about failures and about heaps beyond 4 GiB.
pub fn main() -> ExitCode {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let numbers = if numbers.is_empty() { vec![1, 2, 3, 5, 8] } else { numbers };
    let report = Report::default();
    let checked = std::env::var_os("OXSHMEM_CHECK").is_some_and(|value| value == "1");
    for n in numbers {
        let start = Instant::now();
        let before = report.checks();
        let result = Config::from_env().and_then(|config| {
            config.pes(n).run(|shmem| {
                let mut bench = Bench::new(&shmem, &report)?;
                rma::all(&mut bench)?;
                alignments::all(&mut bench)?;
                nbi::all(&mut bench)?;
                strided::all(&mut bench)?;
                tiles::all(&mut bench)?;
                signals::all(&mut bench)?;
                packets::all(&mut bench)?;
                waits::all(&mut bench)?;
                ordering::all(&mut bench)?;
                atomics::all(&mut bench)?;
                peers::all(&mut bench)?;
                warps::all(&mut bench)?;
                ported::all(&mut bench)?;
                teams::all(&mut bench)?;
                updates::all(&mut bench)?;
                if shmem.my_pe() == 0 {
                    println!("device: {}", shmem.device_name());
                }
                Ok(())
            })
        });
        if let Err(error) = result {
            report.fail(format!("{n} PEs: {error}"));
        }
        // What fails on purpose, the checker reports.
        if !checked {
            if let Err(error) = large::all(n, &report) {
                report.fail(format!("{n} PEs, beyond 4 GiB: {error}"));
            }
            if let Err(error) = failures::all(n, &report) {
                report.fail(format!("{n} PEs, failures: {error}"));
            }
            if let Err(error) = failures::exits(n, &report) {
                report.fail(format!("{n} PEs, global_exit: {error}"));
            }
        }
        println!("{n} PEs: {} checks in {:.1} s", report.checks() - before, start.elapsed().as_secs_f64());
    }
    report.finish(&coverage::scan())
}
