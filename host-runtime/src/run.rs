//! Running a program: makes the PEs of this process, one thread each, and brings their results and the first failure of
//! the job home.

use crate::config::Config;
use crate::driver;
use crate::error::{Error, Result};
use crate::pe::Pe;
use crate::process::Process;
use crate::shmem::Shmem;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs `f` on every PE of this process, as the environment asks: on the one PE that a launcher (`oxshmem-run`,
/// `torchrun`) has started this process as; or on `OXSHMEM_PES` PEs as threads of this process; or on one.
///
/// If a PE fails, by an error or a panic, or its process ends, the blocking calls of the others end with
/// [`Error::PeFailed`]. When `f` has returned, this waits until it has returned on all PEs of the job.
///
/// # Errors
/// What [`Config::from_env`] and [`Config::run`] return.
pub fn run<F>(f: F) -> Result<()>
where
    F: Fn(Shmem) -> Result<()> + Send + Sync,
{
    Config::from_env()?.run(f).map(drop)
}

/// Runs `f` on `pes` PEs as threads of this process, otherwise as the environment asks, and returns what each
/// returned, by PE. For tests.
///
/// # Errors
/// As [`run`].
pub fn run_local<T, F>(pes: u32, f: F) -> Result<Vec<T>>
where
    T: Send,
    F: Fn(Shmem) -> Result<T> + Send + Sync,
{
    Config::from_env()?.pes(pes).run(f)
}

impl Config {
    /// How many PEs the job will have.
    pub fn n_pes(&self) -> u32 {
        self.pes
    }

    /// Runs `f` on every PE of this process and returns what each returned, by PE: one result if this process is one of
    /// several of its job, else those of all PEs.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::TooManyPes`], or what keeps the devices from starting; for a process of a job what
    /// keeps it from joining ([`Error::NotJoined`], [`Error::Missing`], [`Error::ProcessesDiffer`]); the first failure
    /// of any PE.
    pub fn run<T, F>(self, f: F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        #[cfg(feature = "emulator")]
        if let Some(from_env) = &self.check {
            return self.run_checked(from_env, &f);
        }
        let process = Process::start(&self)?;
        let results = run_pes(&process, &f);
        process.end()?;
        complete(results)
    }

    /// Runs `f` on every PE of this process under the checker that the machine has, and returns what that found, too.
    #[cfg(feature = "emulator")]
    pub(crate) fn run_once<T, F>(self, f: &F) -> (Result<Vec<T>>, Option<oxshmem_emulator::check::Checked>)
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        let process = match Process::start(&self) {
            Ok(process) => process,
            Err(error) => return (Err(error), None),
        };
        let results = run_pes(&process, f);
        let device = process.pes().first().map(|pe| pe.device.clone());
        let ended = process.end();
        let found = device.and_then(|device| device.checker()?.found());
        (ended.and_then(|()| complete(results)), found)
    }
}

/// Runs `f` on every PE of a process, one thread each.
fn run_pes<T, F>(process: &Process, f: &F) -> Vec<Option<T>>
where
    T: Send,
    F: Fn(Shmem) -> Result<T> + Send + Sync,
{
    let results: Vec<Option<T>> = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(process.pes().len());
        for pe in process.pes() {
            let body = move || run_pe(pe, f);
            match std::thread::Builder::new().name(format!("oxshmem pe {}", pe.me)).spawn_scoped(scope, body)
            {
                Ok(thread) => threads.push(Some(thread)),
                Err(error) => {
                    let what = format!("PE {}", pe.me);
                    pe.fail(Error::NoThread { what, reason: error.to_string() });
                    threads.push(None);
                }
            }
        }
        threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect()
    });
    results
}

/// What every PE returned.
fn complete<T>(results: Vec<Option<T>>) -> Result<Vec<T>> {
    results.into_iter().collect::<Option<_>>().ok_or_else(|| Error::other("a PE returned nothing"))
}

/// One PE's thread. A panic or an error is told to the others.
fn run_pe<T>(pe: &Arc<Pe>, f: &(impl Fn(Shmem) -> Result<T> + Sync)) -> Option<T> {
    // Until the others know how it ended: under the checker they would be found to wait for nobody.
    let entered = driver::enter(&*pe.device, pe.me);
    let result = match &entered {
        Ok(_) => run_closure(pe, f),
        Err(error) => Err(error.clone()),
    };
    match result {
        Ok(value) => {
            pe.finish();
            Some(value)
        }
        Err(error) => {
            pe.fail(error);
            None
        }
    }
}

fn run_closure<T>(pe: &Arc<Pe>, f: &(impl Fn(Shmem) -> Result<T> + Sync)) -> Result<T> {
    // What `f` shares with others it must itself keep in order when it panics, as with any thread.
    let all = || {
        let value = f(Shmem::new(pe.clone()))?;
        // Work that is still under way when the closure returns belongs to the run.
        pe.settle().map(|()| value)
    };
    catch_unwind(AssertUnwindSafe(all))
        .unwrap_or_else(|panic| Err(Error::PePanicked { pe: pe.me, message: message(&*panic) }))
}

/// A panic's message.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)").to_owned()
}
