//! One test over sizes, on the PEs of this job: PE 0 prints its rows as they come.

use crate::case::Test;
use crate::cli::Sweep;
use crate::error::Failure;
use crate::plot::{Plot, Series};
use crate::report::{self, HEADER, Row};
use crate::run::run;
use oxshmem::{Config, Shmem};
use std::path::{Path, PathBuf};

/// Where the seeds of the data begin: each case has its own, the same on all PEs.
const SEED: u32 = 0x5eed;

/// Runs `test` as `sweep` asks.
pub(crate) fn single(test: Test, sweep: &Sweep) -> Result<(), Failure> {
    let config = Config::from_env()?;
    let pes = config.n_pes();
    if test.is_between_two() && pes != 2 {
        let there = if pes == 1 { "there is 1".to_owned() } else { format!("there are {pes}") };
        return Err(Failure::Asked(format!(
            "{test} is between 2 PEs, and {there}: set OXSHMEM_PES=2, or start it by `oxshmem-run -n 2`"
        )));
    }
    let results = config.run(|shmem| match on_pe(&shmem, test, sweep).map_err(Failure::of_job) {
        Ok(()) => Ok(Ok(())),
        Err(Ok(error)) => Err(error),
        Err(Err(failure)) => Ok(Err(failure)),
    })?;
    results.into_iter().collect()
}

/// All PEs run the same cases and come to the same end; PE 0 tells.
fn on_pe(shmem: &Shmem, test: Test, sweep: &Sweep) -> Result<(), Failure> {
    let cases = sweep.cases(test, shmem.is_emulated()).map_err(Failure::Asked)?;
    let tells = shmem.my_pe() == 0;
    // What PE 0 cannot write ends the run after the cases, so that no PE waits for it.
    let (mut rows, mut told) = (Vec::new(), Ok(()));
    let objects = sweep.json.as_deref() == Some(Path::new("-"));
    if tells && !objects {
        println!("{test}  {}  {} PEs\n{HEADER}", shmem.device_name(), shmem.n_pes());
    }
    for (case, seed) in cases.iter().zip(SEED..) {
        let outcome = run(shmem, case, u64::MAX, seed)
            .map_err(|why| Failure::Case { case: case.to_string(), why: Box::new(why) })?;
        if tells {
            let row = Row { case: *case, outcome, pes: shmem.n_pes(), message_rate: sweep.message_rate };
            let object = row.json(shmem.device_name());
            match &sweep.json {
                Some(_) if objects => println!("{object}"),
                file => {
                    println!("{}", row.line());
                    let write = |path: &PathBuf| report::add(&mut report::lines(path)?, &object);
                    told = told.and_then(|()| file.as_ref().map_or(Ok(()), write));
                }
            }
            rows.push(row);
        }
    }
    told?;
    match (tells, &sweep.svg) {
        (true, Some(path)) => plot(test, shmem.device_name(), &rows).draw(path).map_err(Failure::Asked),
        _ => Ok(()),
    }
}

/// Values over sizes.
fn plot(test: Test, device: &str, rows: &[Row]) -> Plot {
    let points = rows.iter().filter_map(|row| Some((row.case.bytes as f64, row.value().0?))).collect();
    let unit = rows.first().map_or("", |row| row.value().1);
    Plot {
        title: format!("{test}, {device}"),
        x: "bytes".into(),
        y: unit.into(),
        series: vec![Series { name: "oxshmem".into(), points, ceiling: false }],
    }
}
