//! Running a program: makes the PEs of this process, one thread each, and brings their results and their first
//! failure home.

use crate::config::Config;
use crate::driver;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::pe::Pe;
use crate::shmem::Shmem;
use oxshmem_device::abi::control;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs `f` on every PE, as the environment asks: one PE, or `OXSHMEM_PES` of them as threads of this process.
///
/// If a PE fails, by an error or a panic, the blocking calls of the others end with [`Error::PeFailed`].
///
/// # Errors
/// [`Error::Environment`]; what keeps the devices from starting; the first failure of any PE.
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
    /// How many PEs there will be.
    pub fn n_pes(&self) -> u32 {
        self.pes
    }

    /// Runs `f` on every PE and returns what each returned, by PE.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::TooManyPes`], or what keeps the devices from starting; the first failure of any PE.
    pub fn run<T, F>(self, f: F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(Shmem) -> Result<T> + Send + Sync,
    {
        let job = Arc::new(Job::new(&self)?);
        let pes: Vec<Arc<Pe>> = (0..self.pes).map(|me| Pe::new(&job, me)).collect::<Result<_>>()?;
        let results: Vec<Option<T>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(pes.len());
            for pe in &pes {
                let body = {
                    let f = &f;
                    move || run_pe(pe, f)
                };
                match std::thread::Builder::new()
                    .name(format!("oxshmem pe {}", pe.me))
                    .spawn_scoped(scope, body)
                {
                    Ok(thread) => threads.push(Some(thread)),
                    Err(error) => {
                        let what = format!("PE {}", pe.me);
                        fail(pe, Error::NoThread { what, reason: error.to_string() });
                        threads.push(None);
                    }
                }
            }
            threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect()
        });
        let drained = end(&job, &pes);
        match job.group.first_failure() {
            Some(error) => Err(error),
            None => {
                drained?;
                results
                    .into_iter()
                    .collect::<Option<_>>()
                    .ok_or_else(|| Error::other("a PE returned nothing"))
            }
        }
    }
}

/// One PE's thread. A panic or an error is told to the others.
fn run_pe<T>(pe: &Arc<Pe>, f: &(impl Fn(Shmem) -> Result<T> + Sync)) -> Option<T> {
    match run_closure(pe, f) {
        Ok(value) => {
            pe.job.group.finish(pe.me);
            Some(value)
        }
        Err(error) => {
            fail(pe, error);
            None
        }
    }
}

fn run_closure<T>(pe: &Arc<Pe>, f: &(impl Fn(Shmem) -> Result<T> + Sync)) -> Result<T> {
    let _entered = driver::enter(&*pe.device)?;
    // What `f` shares with others it must itself keep in order when it panics, as with any thread.
    let result = match catch_unwind(AssertUnwindSafe(|| f(Shmem::new(pe.clone())))) {
        Ok(result) => result,
        Err(panic) => Err(Error::PePanicked { pe: pe.me, message: message(&*panic) }),
    };
    // Work that is still under way when the closure returns belongs to the run.
    result.and_then(|value| pe.settle().map(|()| value))
}

/// Notes that a PE failed, and has all kernels give up.
fn fail(pe: &Pe, error: Error) {
    // What follows from another PE's failure is not a failure of its own.
    let (failed, error) = match error {
        Error::PeFailed { pe, cause } => (pe, *cause),
        error => (pe.me, error),
    };
    if pe.job.group.fail(pe.me, failed, error) {
        pe.job.any_failed.store(true, Ordering::Release);
        let abort = (1 + u64::from(pe.me)).to_ne_bytes();
        for base in &pe.job.bases {
            // SAFETY: the abort word of a mapped control area; kernels reach it by atomic accesses of 8 bytes.
            // If the write fails, kernels give up at their deadlines.
            let _ = unsafe { pe.copies.write(base + control::ABORT, &abort) };
        }
    }
}

/// Waits for the kernels of all PEs, and closes the run. If a kernel does not end, what it may use is leaked, and
/// nobody waits for it.
fn end(job: &Arc<Job>, pes: &[Arc<Pe>]) -> Result<()> {
    let drained: Vec<Result<()>> = pes.iter().map(|pe| pe.drain()).collect();
    job.ended.store(true, Ordering::Release);
    if drained.iter().any(|drained| matches!(drained, Err(Error::StreamStuck { .. }))) {
        pes.iter().for_each(|pe| std::mem::forget(pe.clone()));
        job.device_of_pe.iter().for_each(|device| device.abandon());
    }
    drained.into_iter().collect()
}

/// A panic's message.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)").to_owned()
}
