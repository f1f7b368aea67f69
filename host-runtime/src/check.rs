//! Running a program under the checker: on the emulator, with weak memory, one thread of one PE at a time.

use crate::asked::FromEnv;
use crate::config::{Config, DeviceChoice};
use crate::error::{Error, Result};
use crate::shmem::Shmem;
use oxshmem_emulator::check::{self, Checked, Checking};
pub use oxshmem_emulator::check::{
    CheckOptions, Choice, Finding, Kind, Place, Profile, Report, Schedule, Waiter,
};
use std::collections::HashSet;
use std::io::Write as _;
use std::time::Duration;

/// Longer than any run: under the checker a wait ends when nothing can go on, and not by the clock.
const NEVER: Duration = Duration::from_secs(100_000_000);

/// Longest list of choices that a report shows.
const MOST_CHOICES: usize = 24;

/// Runs `f` on `pes` PEs of this process under the checker, as often as `options` say, and returns what was found.
///
/// Kernels run emulated. Every run has its own schedule, which fixes what the host closures do, too: they run one at a
/// time, and change over at calls of this library. A closure that waits for another one by other means (a `Barrier` of
/// std) keeps it from running.
///
/// ```
/// use oxshmem::{CheckOptions, Kind};
/// use oxshmem_device::prelude::*;
///
/// #[nvshmem_kernel]
/// fn send(shmem: Collective, data: Sym<[u32]>, ready: Sym<Signal>) {
///     let thread = shmem.thread();
///     if shmem.my_pe() == 0 {
///         thread.put(data, &[7], 1);
///         thread.signal_weak(ready, SignalOp::Set(1), 1);
///     } else {
///         thread.wait_until(ready, Cmp::Eq, 1);
///         let _ = shmem.local(data).get(0);
///     }
/// }
///
/// # fn main() -> oxshmem::Result<()> {
/// let report = oxshmem::check(&CheckOptions::default().seeds(20), 2, |shmem| {
///     let data = shmem.alloc_zeroed::<u32>(1)?;
///     let ready = shmem.alloc_signals(1)?;
///     send::launch(&shmem, LaunchConfig::blocks(1).threads(1), &data, ready.at(0))?;
///     shmem.barrier_all()
/// })?;
/// let (finding, _) = &report.findings[0];
/// assert_eq!((finding.kind, &*finding.memory), (Kind::SignalOvertakesData, "data[0] of PE 1"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What keeps the PEs from starting. [`Error::UnderChecker`] with a closure's own error, if nothing was found by then; if
/// something was, the error is in the report.
pub fn check<F>(options: &CheckOptions, pes: u32, f: F) -> Result<Report>
where
    F: Fn(Shmem) -> Result<()> + Send + Sync,
{
    let mut config = Config::from_env()?.pes(pes);
    config.check = None;
    config.check_with(options, &f).map(|(report, _)| report)
}

impl Config {
    /// Runs `f` under the checker; what was found, and what the closures of the last run returned.
    pub(crate) fn check_with<T, F>(&self, options: &CheckOptions, f: &F) -> Result<(Report, Option<Vec<T>>)>
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        if self.launched.is_some() {
            return Err(Error::Config {
                what: "the checker needs all PEs in one process, and this is one of several of its job: start it without a launcher, with OXSHMEM_PES".into(),
            });
        }
        let (mut report, mut keys, mut values) = (Report::default(), HashSet::new(), None);
        for run in 0..options.seeds.max(1) {
            let schedule = match &options.schedule {
                Schedule::Seed(seed) => Schedule::Seed(seed.wrapping_add(run.into())),
                fixed @ Schedule::Choices(_) => fixed.clone(),
            };
            let (result, checked) = self.check_once(options, &schedule, f);
            report.runs += 1;
            let Checked { findings, choices, operations } = match checked {
                Some(checked) => checked,
                // It did not come so far.
                None => return result.map(|values| (report, Some(values))),
            };
            report.operations += operations;
            values = match result {
                Ok(values) => Some(values),
                // What was found before explains it, or is worth knowing at least.
                Err(error) if findings.is_empty() && !report.findings.is_empty() => {
                    report.error = Some((error.to_string(), schedule));
                    return Ok((report, None));
                }
                Err(error) if findings.is_empty() => {
                    return Err(Error::UnderChecker { again: schedule.to_string(), error: Box::new(error) });
                }
                Err(_) => None,
            };
            // Each such run takes as long as it is waited for.
            let endless = findings.iter().any(|finding| finding.kind == Kind::NoProgress);
            for finding in findings {
                if keys.insert(finding.key()) {
                    let small = self.smallest(options, &schedule, (&choices, operations), finding, f);
                    report.findings.push(small);
                }
            }
            if endless || matches!(options.schedule, Schedule::Choices(_)) {
                break;
            }
        }
        Ok((report, values))
    }

    /// A finding with as small a schedule as still shows it, as that shows it.
    fn smallest<T, F>(
        &self,
        options: &CheckOptions,
        schedule: &Schedule,
        (choices, operations): (&[Choice], u64),
        finding: Finding,
        f: &F,
    ) -> (Finding, Schedule)
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        if !options.minimise || finding.kind == Kind::NoProgress {
            return (finding, schedule.clone());
        }
        let key = finding.key();
        let mut last = None;
        let mut shows = |choices: &[Choice]| {
            let schedule = Schedule::Choices(choices.to_vec());
            let (_, checked) = self.check_once(options, &schedule, f);
            let found =
                checked.and_then(|checked| checked.findings.into_iter().find(|other| other.key() == key));
            let shows = found.is_some();
            last = found.map(|found| (choices.to_vec(), found)).or(last.take());
            shows
        };
        let fewest = check::minimise(choices.to_vec(), operations, &mut shows);
        match (fewest, last) {
            // A long list says less than the seed.
            (Some(fewest), Some((choices, found))) if fewest == choices && fewest.len() <= MOST_CHOICES => {
                (found, Schedule::Choices(fewest))
            }
            _ => (finding, schedule.clone()),
        }
    }

    fn check_once<T, F>(
        &self,
        options: &CheckOptions,
        schedule: &Schedule,
        f: &F,
    ) -> (Result<Vec<T>>, Option<Checked>)
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        let mut config = self.clone();
        config.check = None;
        config.device = DeviceChoice::Emulated;
        (config.deadline, config.kernel_limit) = (NEVER, None);
        let CheckOptions { profile, steps, patience, .. } = *options;
        let schedule = schedule.clone();
        config.machine.check = Some(Checking { profile, schedule, steps, patience, pes: config.pes });
        config.run_once(f)
    }

    /// Runs `f` as the environment asks of the checker, and tells on stderr what was found.
    pub(crate) fn run_checked<T, F>(&self, from_env: &FromEnv, f: &F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        let unwritable = |path: &std::path::Path, error: std::io::Error| Error::Config {
            what: format!("OXSHMEM_CHECK_JSON: {} cannot be written: {error}", path.display()),
        };
        // Before the runs, which may take long.
        let mut json = match &from_env.json {
            Some(path) => Some((std::fs::File::create(path).map_err(|error| unwritable(path, error))?, path)),
            None => None,
        };
        let (report, values) = self.check_with(&from_env.options, f)?;
        // Nobody may be reading it: then the error that is returned tells.
        let _ = writeln!(std::io::stderr().lock(), "{report}");
        let written = json.as_mut().map(|(file, path)| {
            writeln!(file, "{}", report.to_json()).map_err(|error| unwritable(path, error))
        });
        match (report.findings.first(), values) {
            (None, Some(values)) => written.unwrap_or(Ok(())).map(|()| values),
            (first, _) => {
                let first = first.map_or(String::new(), |(finding, _)| finding.kind.what().to_owned());
                Err(Error::Checked { findings: report.findings.len() as u32, first })
            }
        }
    }
}

/// Runs a test under the checker. `#[check_test]` calls this.
///
/// # Panics
/// With the report if anything was found, and with the closure's error.
#[doc(hidden)]
pub fn check_test<F>(pes: u32, seeds: u32, profile: &str, f: F)
where
    F: Fn(Shmem) -> Result<()> + Send + Sync,
{
    let Some(profile) = Profile::from_name(profile) else {
        panic!("`{profile}` is no profile: oxshmem, openshmem, mixed or strict")
    };
    let options = CheckOptions::default().seeds(seeds).profile(profile);
    match check(&options, pes, f) {
        Ok(report) if report.findings.is_empty() => {}
        Ok(report) => panic!("{report}"),
        Err(error) => panic!("{error}"),
    }
}
