//! A unique id that the program hands to its processes itself. Its maker listens from then on, and is PE 0.

use super::host_name::Host;
use super::{Bootstrap, listen};
use crate::config::Config;
use crate::env::variables::MAX_PES;
use crate::error::{Error, Result};
use crate::launched::{Launched, Meeting};
use crate::wire::{self, Listener, Secret};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const PREFIX: &str = "oxshmem-id1";

/// By what processes join a job without a launcher that oxshmem knows. One process makes it and is PE 0; the program
/// passes it to all others by a way of its own, as a file, a broadcast of PyTorch or MPI, or a command line; all then
/// call [`init_with_unique_id`](crate::init_with_unique_id), or run a [`Config::unique_id`].
///
/// It serves one job. It holds the job's secret: who reads it can join. As text it is one line without spaces, of
/// [`BYTES`](Self::BYTES) characters at most; as bytes it has always this many.
///
/// ```
/// use oxshmem::{Config, DeviceChoice, UniqueId};
///
/// let id = UniqueId::new()?;                       // In the process that is PE 0.
/// let passed = id.to_bytes();                      // By a file, a broadcast, …
/// let id = UniqueId::from_bytes(&passed)?;         // In every process.
/// let config = Config::default().device(DeviceChoice::Emulated).unique_id(0, 1, &id);
/// config.run(|shmem| shmem.barrier_all())?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UniqueId {
    host: Host,
    /// As [`wire::UniqueId::to_text`] wrote it.
    wire: String,
}

/// Why something is no unique id. It does not repeat it, as that may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no unique id of oxshmem: {why}")]
pub struct BadUniqueId {
    why: String,
}

/// Where the ids that this process has made are listened at; nothing for one that was used.
static MADE: Mutex<BTreeMap<String, Option<Listener>>> = Mutex::new(BTreeMap::new());

fn made() -> MutexGuard<'static, BTreeMap<String, Option<Listener>>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UniqueId {
    /// Bytes of an id.
    pub const BYTES: usize = 256;

    /// Makes an id in the process that is to be PE 0. From now on this process listens, over what the environment asks
    /// for (`OXSHMEM_RENDEZVOUS`, `OXSHMEM_INTERFACE`), until PE 0 has joined and all have come, or it ends.
    ///
    /// # Errors
    /// [`Error::Environment`] and [`Error::Contradiction`] for these variables, [`Error::Interface`],
    /// [`Error::NotJoined`] if the system gives no socket.
    pub fn new() -> Result<Self> {
        Config::from_env_without_launcher()?.new_unique_id()
    }

    /// The id as bytes: its text, filled up with zeros.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let text = self.to_string();
        let mut bytes = [0; Self::BYTES];
        for (byte, of) in bytes.iter_mut().zip(text.bytes()) {
            *byte = of;
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made.
    ///
    /// # Errors
    /// [`BadUniqueId`] if it is something else, or has another length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadUniqueId> {
        let bad = |why: String| BadUniqueId { why };
        if bytes.len() != Self::BYTES {
            return Err(bad(format!("it has {} bytes, and an id has {}", bytes.len(), Self::BYTES)));
        }
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        if bytes[text.len()..].iter().any(|&byte| byte != 0) {
            return Err(bad("its text is followed by something".into()));
        }
        std::str::from_utf8(text).map_err(|_| bad("it is no text".into()))?.parse()
    }
}

impl Config {
    /// As [`UniqueId::new`], over what this configuration says.
    ///
    /// # Errors
    /// Those of [`UniqueId::new`].
    pub fn new_unique_id(&self) -> Result<UniqueId> {
        let secret = Secret::random().map_err(|error| super::not_joined(0, OPENING, error.to_string()))?;
        let listener = listen(self)?;
        let wire = wire::UniqueId { address: listener.address().clone(), secret }.to_text();
        made().insert(wire.clone(), Some(listener));
        Ok(UniqueId { host: Host::own(0), wire })
    }

    /// Makes this process PE `rank` of `n_pes` by an id that PE 0's process has made, whatever a launcher says. Every
    /// process passes the same id and number of PEs and its own rank; all are on one host.
    pub fn unique_id(mut self, rank: u32, n_pes: u32, id: &UniqueId) -> Self {
        self.pes = n_pes;
        self.launched = None;
        self.bootstrap = Some(std::sync::Arc::new(Invited { rank, size: n_pes, id: id.clone() }));
        self
    }
}

const OPENING: &str = "opening the rendezvous";

impl Debug for UniqueId {
    /// Without the secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "UniqueId(made on {})", self.host)
    }
}

impl Display for UniqueId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}:{}:{}", self.host.to_text(), self.wire)
    }
}

impl FromStr for UniqueId {
    type Err = BadUniqueId;

    fn from_str(text: &str) -> Result<Self, BadUniqueId> {
        let bad = |why: &dyn ToString| BadUniqueId { why: why.to_string() };
        let mut parts = text.trim().splitn(3, ':');
        let (Some(PREFIX), Some(host), Some(wire)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad(&format!("its text has the form {PREFIX}:HOST:SECRET-AND-ADDRESS")));
        };
        let host = Host::from_text(host).ok_or_else(|| bad(&"its host has no such form"))?;
        let wire: wire::UniqueId = wire.parse().map_err(|error| bad(&error))?;
        Ok(Self { host, wire: wire.to_text() })
    }
}

/// The place that a program has given this process.
#[derive(Debug)]
struct Invited {
    rank: u32,
    size: u32,
    id: UniqueId,
}

impl Bootstrap for Invited {
    fn size(&self) -> Option<u32> {
        Some(self.size)
    }

    fn place(&self, _: Instant) -> Result<Launched> {
        let Self { rank, size, id } = self;
        let (rank, size) = (*rank, *size);
        let bad = |why: String| Error::BadUniqueId { pe: rank, why };
        if size == 0 || size > MAX_PES {
            return Err(bad(format!("a job of {size} PEs was asked for, and one has 1 to {MAX_PES}")));
        }
        if rank >= size {
            return Err(bad(format!("ranks count from 0, so each is less than the {size} PEs of the job")));
        }
        let own = Host::own(rank);
        if !id.host.is(&own) {
            let what = format!("PE {rank} runs on {own}, and its unique id was made on {}", id.host);
            return Err(Error::OtherHosts { what });
        }
        match (rank, made().get(&id.wire)) {
            (0, Some(Some(_))) | (1.., None) => {}
            (0, Some(None)) => return Err(bad(USED.into())),
            (0, None) => {
                let why = "this process has not made it: PE 0 is the process that calls UniqueId::new, and passes it to the others";
                return Err(bad(why.into()));
            }
            (_, Some(_)) => {
                let why = "this process has made it, and its maker is PE 0: pass rank 0 here, and each other rank in a process of its own";
                return Err(bad(why.into()));
            }
        }
        let wire = id.wire.parse().map_err(|error| bad(format!("{error}")))?;
        if size == 1 {
            drop(take(&wire)?);
        }
        Ok(Launched { rank, size, local_rank: rank, meeting: Meeting::Known(wire), refused: None })
    }
}

const USED: &str = "it has been used already: make a new one for each job, and pass that to all";

/// The listener of an id that this process has made, for its one use.
pub(super) fn take(id: &wire::UniqueId) -> Result<Listener> {
    let taken = made().get_mut(&id.to_text()).and_then(Option::take);
    taken.ok_or_else(|| Error::BadUniqueId { pe: 0, why: USED.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rank: u32, size: u32, id: &UniqueId) -> Result<Launched> {
        Invited { rank, size, id: id.clone() }.place(Instant::now())
    }

    fn longest() -> UniqueId {
        let host = Host::from_text(&format!("{}/{}", "a".repeat(32), "n".repeat(24))).unwrap();
        UniqueId { host, wire: format!("oxshmem1:{}:unix:{}", "c0de".repeat(16), "n".repeat(107)) }
    }

    #[test]
    fn an_id_survives_its_bytes_and_its_text_and_shows_no_secret() {
        for id in [UniqueId::new().unwrap(), longest()] {
            assert_eq!(UniqueId::from_bytes(&id.to_bytes()).unwrap(), id);
            assert_eq!(format!(" {id}\n").parse(), Ok(id.clone()));
            assert!(!format!("{id:?}").contains("oxshmem1"), "{id:?}");
        }
        assert_eq!(longest().to_string().len(), UniqueId::BYTES);
    }

    #[test]
    fn what_is_no_id_is_refused_with_its_reason() {
        let id = UniqueId::new().unwrap();
        let mut changed = id.to_bytes();
        changed[UniqueId::BYTES - 1] = b'x';
        for (bytes, why) in [
            (&[][..], "0 bytes"),
            (&id.to_bytes()[1..], "255 bytes"),
            (&changed, "followed by something"),
            (&[0xff; UniqueId::BYTES], "no text"),
            (&[0; UniqueId::BYTES], "the form"),
        ] {
            let error = UniqueId::from_bytes(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let text = id.to_string();
        for (text, why) in [
            (text.replace("oxshmem-id1", "oxshmem-id2"), "the form"),
            (text.replacen('/', "", 1), "host"),
            (text.replace("oxshmem1", "oxshmem9"), "SECRET"),
            (text.replace("oxshmem1:", "oxshmem1:a"), "digits"),
        ] {
            let error = text.parse::<UniqueId>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn only_its_maker_is_pe_0_and_only_once() {
        let id = UniqueId::new().unwrap();
        let refused = |rank, size, id: &UniqueId| place(rank, size, id).unwrap_err().to_string();
        assert!(refused(1, 2, &id).contains("its maker is PE 0"));
        assert!(refused(2, 2, &id).contains("less than the 2 PEs"));
        assert!(refused(0, 0, &id).contains("a job of 0 PEs"));
        assert!(refused(0, 1025, &id).contains("1 to 1024"));
        assert!(refused(0, 2, &longest()).contains("PE 0 runs on"), "of another host");
        let mut stranger = id.clone();
        stranger.wire = stranger.wire.replace("oxshmem-rendezvous-", "oxshmem-rendezvous-0");
        assert!(refused(0, 2, &stranger).contains("has not made it"));
        assert!(place(1, 2, &stranger).is_ok());
        assert!(place(0, 1, &id).is_ok());
        assert!(refused(0, 1, &id).contains("used already"));
    }
}
