//! The PE of this process for a program that cannot give up its `main`.

use crate::config::Config;
use crate::driver::{self, Entered};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::shmem::Shmem;
use std::fmt::{self, Formatter};
use std::ops::Deref;

/// The PE of this process, from [`init`] to [`end`](Self::end). It stays on its thread.
///
/// Dropped without [`end`](Self::end) it ends the PE as well: as a failure if the thread panics, else well. What goes
/// wrong then is only said on stderr.
pub struct Session {
    shmem: Shmem,
    /// Until the end.
    running: Option<(Process, Entered)>,
}

/// Makes this process one PE, as the environment asks: the one that a launcher (`oxshmem-run`, `torchrun`) has started
/// it as, or the only one.
///
/// ```
/// fn main() -> oxshmem::Result<()> {
///     let session = oxshmem::init()?;
///     let ranks = session.all_gather(&session.my_pe())?;
///     assert_eq!(ranks.len(), session.n_pes() as usize);
///     session.end()
/// }
/// ```
///
/// # Errors
/// Those of [`Config::from_env`] and [`Config::init`].
pub fn init() -> Result<Session> {
    Config::from_env()?.init()
}

impl Config {
    /// Makes this process one PE: see [`init`].
    ///
    /// # Errors
    /// [`Error::Config`] if this process is to have several PEs; what keeps the device from starting, or this process
    /// from joining its job.
    pub fn init(self) -> Result<Session> {
        if self.launched.is_none() && self.pes != 1 {
            let what = format!(
                "init() makes one PE of this process, and {} were asked for (OXSHMEM_PES, Config::pes): use run(), or start processes with oxshmem-run",
                self.pes
            );
            return Err(Error::Config { what });
        }
        let process = Process::start(&self)?;
        let pe = process.pes().first().cloned().ok_or_else(|| Error::other("there is no PE"))?;
        let entered = driver::enter(&*pe.device).inspect_err(|error| pe.fail(error.clone()))?;
        Ok(Session { shmem: Shmem::new(pe), running: Some((process, entered)) })
    }
}

impl Session {
    /// Ends this PE: waits until everything that it launched is over, and then for all other PEs to have ended.
    ///
    /// # Errors
    /// What stands against further work; the first failure of any PE.
    pub fn end(mut self) -> Result<()> {
        let result = self.shmem.pe().settle();
        self.close(result)
    }

    fn close(&mut self, result: Result<()>) -> Result<()> {
        let Some((process, entered)) = self.running.take() else { return Ok(()) };
        match result {
            Ok(()) => self.shmem.pe().finish(),
            Err(error) => self.shmem.pe().fail(error),
        }
        drop(entered);
        process.end()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.shmem).finish()
    }
}

impl Deref for Session {
    type Target = Shmem;

    fn deref(&self) -> &Shmem {
        &self.shmem
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.running.is_none() {
            return;
        }
        let result = match std::thread::panicking() {
            true => Err(Error::PePanicked { pe: self.shmem.my_pe(), message: "see above".into() }),
            false => self.shmem.pe().settle(),
        };
        if let Err(error) = self.close(result) {
            eprintln!("oxshmem: {error}");
        }
    }
}
