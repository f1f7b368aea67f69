//! The PE of this process for a program that cannot give up its `main`.

use crate::bootstrap::UniqueId;
use crate::config::Config;
use crate::driver::{self, Entered};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::say::say;
use crate::shmem::Shmem;
use crate::stream::Stream;
use oxshmem_device::launch::{Kernel, LaunchConfig, Launcher};
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
/// use oxshmem_device::prelude::*;
///
/// /// Adds 1 to a word of the right neighbour.
/// #[nvshmem_kernel]
/// fn greet(shmem: Shmem, greetings: Sym<Atomic<u64>>) {
///     shmem.thread().atomic_fetch_add(greetings, 1, shmem.next_pe());
/// }
///
/// fn main() -> oxshmem::Result<()> {
///     let session = oxshmem::init()?;
///     let greetings = session.alloc_atomics::<u64>(1, Reach::World)?;
///     greet::launch(&session, LaunchConfig::blocks(1).threads(1), greetings.at(0))?;
///     session.barrier_all()?;
///     let all = session.all_gather(&greetings.values()?[0])?;
///     assert_eq!(all.iter().sum::<u64>(), u64::from(session.n_pes()));
///     session.end()
/// }
/// ```
///
/// # Errors
/// Those of [`Config::from_env`] and [`Config::init`].
pub fn init() -> Result<Session> {
    Config::from_env()?.init()
}

/// Makes this process PE `rank` of `n_pes` by a unique id that PE 0's process has made and passed to all, otherwise as the
/// environment asks; what a launcher says there is disregarded. Every process of the job calls this, with the same id and
/// number and its own rank.
///
/// ```
/// # fn read_or_wait() -> oxshmem::Result<oxshmem::UniqueId> { unreachable!() }
/// # let (rank, n_pes) = (0, 1);
/// // Over a file, for example; or by a broadcast of PyTorch or MPI.
/// let id = if rank == 0 {
///     let id = oxshmem::UniqueId::new()?;
///     # let path = std::env::temp_dir().join(format!("oxshmem-doc-id-{}", std::process::id()));
///     std::fs::write(&path, id.to_string())?;
///     # std::fs::remove_file(&path)?;
///     id
/// } else {
///     read_or_wait()?
/// };
/// let session = oxshmem::init_with_unique_id(rank, n_pes, &id)?;
/// assert_eq!(session.n_pes(), n_pes);
/// session.end()?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadUniqueId`] if the wrong process is PE 0, the id was used, or the rank cannot be; [`Error::OtherHosts`];
/// [`Error::Environment`]; those of [`Config::init`]. A process that does not come is an [`Error::Missing`] on all others, with
/// its rank, after `OXSHMEM_JOIN_DEADLINE`; a maker that never joins an [`Error::NotJoined`].
pub fn init_with_unique_id(rank: u32, n_pes: u32, id: &UniqueId) -> Result<Session> {
    Config::from_env_without_launcher()?.unique_id(rank, n_pes, id).init()
}

impl Config {
    /// Makes this process one PE: see [`init`].
    ///
    /// # Errors
    /// [`Error::Config`] if this process is to have several PEs; what keeps the device from starting, or this process
    /// from joining its job.
    pub fn init(self) -> Result<Session> {
        if self.launched.is_none() && self.bootstrap.is_none() && self.pes != 1 {
            let what = format!(
                "init() makes one PE of this process, and {} were asked for (OXSHMEM_PES, Config::pes): use run(), or start processes with oxshmem-run",
                self.pes
            );
            return Err(Error::Config { what });
        }
        #[cfg(feature = "emulator")]
        if self.check.is_some() {
            return Err(Error::Config {
                what:
                    "the checker runs programs that use run(), which it can call again: this one uses init()"
                        .into(),
            });
        }
        let process = Process::start(&self)?;
        let pe = process.pes().first().cloned().ok_or_else(|| Error::other("there is no PE"))?;
        let entered = driver::enter(&*pe.device, pe.me).inspect_err(|error| pe.fail(error.clone()))?;
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

impl Launcher for Session {
    type Error = Error;
    type Stream = Stream;

    /// As on [`Shmem`].
    fn launch_kernel<K: Kernel>(
        &self,
        stream: Option<&Stream>,
        config: LaunchConfig,
        raw: K::Raw,
    ) -> Result<()> {
        self.shmem.launch_kernel::<K>(stream, config, raw)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.running.is_none() {
            return;
        }
        let result = match std::thread::panicking() {
            true => Err(Error::PePanicked {
                pe: self.shmem.my_pe(),
                message: "in its main thread; its own output tells more".into(),
            }),
            false => self.shmem.pe().settle(),
        };
        if let Err(error) = self.close(result) {
            say(error);
        }
    }
}
