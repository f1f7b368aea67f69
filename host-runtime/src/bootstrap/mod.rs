//! How the processes of a job find each other and agree on what they need to know. Each first learns its place: from its
//! launcher's variables, from its launcher's server, or from the program. PE 0's process opens the rendezvous, with a
//! secret that it has just made, and publishes its unique id where the others look by the job's name, unless they have been
//! given it; they connect, prove the secret, say who they are, open their devices, and are welcomed when all have come.
//!
//! | file | what it holds |
//! |---|---|
//! | `unique_id.rs` | an id that the program passes to its processes |
//! | `pmi/`, `pmix/` | launchers that have a server |
//! | `cards.rs` | what processes tell each other through such a server |
//! | `host_name.rs` | which host a process runs on |
//! | `publication.rs` | where the unique id is published and found |
//! | `listen.rs` | where PE 0 listens |
//! | `host.rs` | PE 0's part |
//! | `guest.rs` | the others' part |

mod cards;
mod guest;
mod host;
mod host_name;
mod listen;
mod pmi;
mod pmix;
mod publication;
#[cfg(test)]
mod tests;
mod unique_id;

use crate::alloc::Tags;
use crate::board::Board;
use crate::config::{Config, Handles};
use crate::debug;
use crate::driver::{self, Device};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::group::{DeviceFacts, Group, Hello, Peer, Ready, Welcome};
use crate::job::{Parts, segment_bytes};
use crate::launched::{Found, Launched, Meeting};
use host_name::Host;
use listen::listen;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::{debug, debug_span};
pub use unique_id::{BadUniqueId, UniqueId};

/// File descriptors that a process needs besides those for each other one: what the program and the device have open.
const DESCRIPTORS: u64 = 48;

/// A way by which a process learns its place in a job.
pub(crate) trait Bootstrap: Debug + Send + Sync {
    /// PEs of the job, if that is known without asking anybody.
    fn size(&self) -> Option<u32>;

    /// Its place, for which a launcher's server may be asked until then.
    fn place(&self, until: Instant) -> Result<Launched>;
}

/// Variables have said it.
impl Bootstrap for Launched {
    fn size(&self) -> Option<u32> {
        Some(self.size)
    }

    fn place(&self, _: Instant) -> Result<Launched> {
        Ok(self.clone())
    }
}

/// What a server has answered. It is asked once in a process.
#[derive(Debug)]
struct Asked(Mutex<Option<Result<Launched>>>);

impl Asked {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn once(&self, ask: impl FnOnce() -> Result<Launched>) -> Result<Launched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(ask).clone()
    }
}

impl Config {
    /// Has this process join what a launcher has started. Where nobody but its server knows how many PEs there are, that
    /// is asked now.
    pub(crate) fn join(&mut self, found: Found) -> Result<()> {
        let by = match &found {
            Found::Place(_) => "variables",
            Found::Pmi(_) => "PMI",
            Found::Pmix(_) => "PMIx",
        };
        let bootstrap: Arc<dyn Bootstrap> = match found {
            Found::Place(launched) => Arc::new(launched),
            Found::Pmi(pmi) => Arc::new(pmi),
            Found::Pmix(pmix) => Arc::new(pmix),
        };
        let size = match bootstrap.size() {
            Some(size) => size,
            None => bootstrap.place(Instant::now() + self.join_deadline)?.size,
        };
        debug!(target: debug::BOOTSTRAP, by, size, "a launcher's job was found");
        if size > 1 {
            self.pes = size;
            self.bootstrap = Some(bootstrap);
        }
        Ok(())
    }

    /// The same with the place of this process, if it is one of several, and with what is left of the time to join.
    ///
    /// # Errors
    /// Those of [`Bootstrap::place`].
    pub(crate) fn placed(&self) -> Result<Self> {
        let mut config = self.clone();
        if config.launched.is_none()
            && let Some(bootstrap) = &self.bootstrap
        {
            let start = Instant::now();
            let launched = bootstrap.place(start + self.join_deadline)?;
            let left = self.join_deadline.saturating_sub(start.elapsed());
            config.join_deadline = left.max(Duration::from_millis(1));
            config.pes = launched.size;
            config.launched = Some(launched).filter(Launched::has_others);
        }
        Ok(config)
    }
}

/// Joins the job as the process that a launcher has started this as: what its job is made of.
///
/// # Errors
/// [`Error::NotJoined`], [`Error::Missing`], [`Error::ProcessesDiffer`], [`Error::OtherHosts`]; a failure of another
/// process at the same time; what keeps the device from starting.
pub(crate) fn join(config: &Config, launched: &Launched) -> Result<Parts> {
    let meeting = match &launched.meeting {
        Meeting::Named(job) => Meeting::Named(format!("{job}:{}", next_run(job, launched.rank))),
        known => known.clone(),
    };
    enough_descriptors(launched)?;
    let by = if matches!(meeting, Meeting::Known(_)) { "a unique id" } else { "the job's name" };
    let _span = debug_span!(target: debug::BOOTSTRAP, "join", pe = launched.rank).entered();
    debug!(
        target: debug::BOOTSTRAP,
        pe = launched.rank,
        size = launched.size,
        local_rank = launched.local_rank,
        by,
        "joins its job"
    );
    match launched.rank {
        0 => host::join(config, launched, &meeting),
        _ => guest::join(config, launched, &meeting),
    }
}

/// Sees to it that this process may open as many descriptors as it will need: PE 0 has a connection and a handle of the
/// process for each of the others, and some more while memory is handed over.
fn enough_descriptors(launched: &Launched) -> Result<()> {
    let others = if launched.rank == 0 { u64::from(launched.size) } else { 0 };
    let needed = DESCRIPTORS + 3 * others;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    if limit.maximum.is_none_or(|most| most >= needed) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    let why = format!(
        "this process may open {} of them, and PE {} of {} processes needs {needed}: raise the limit (ulimit -n)",
        limit.maximum.unwrap_or(u64::MAX),
        launched.rank,
        launched.size
    );
    Err(not_joined(launched.rank, "counting its file descriptors", why))
}

/// How often this process has joined the job before: the runs of a program follow each other on all its processes alike.
fn next_run(job: &str, rank: u32) -> u64 {
    static RUNS: Mutex<BTreeMap<(String, u32), u64>> = Mutex::new(BTreeMap::new());
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let run = runs.entry((job.to_owned(), rank)).or_default();
    *run += 1;
    *run
}

/// The first words of this process.
fn hello(launched: &Launched, exchange: &Exchange) -> Hello {
    Hello {
        rank: launched.rank,
        size: launched.size,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Host::own(launched.rank).to_text(),
        exchange: exchange.address().to_string(),
    }
}

/// What this process brings to the job.
fn ready(config: &Config, device: &dyn Device) -> Ready {
    let info = device.info();
    let handles = match config.handles {
        Handles::Descriptors => "descriptors",
        Handles::Fabric => "fabric",
    };
    let alike = [
        ("the kind of device (OXSHMEM_DEVICE)", if info.emulated { "emulated" } else { "cuda" }.to_owned()),
        ("the deadline (OXSHMEM_DEADLINE)", format!("{:?}", config.deadline)),
        ("the heap limit (OXSHMEM_HEAP)", config.heap_limit.map_or("none".into(), |bytes| bytes.to_string())),
        ("the handles of memory (OXSHMEM_HANDLES)", handles.to_owned()),
    ];
    Ready {
        alike: alike.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        device: DeviceFacts {
            id: info.id,
            name: info.name.clone(),
            memory: info.memory,
            granule: info.granule,
        },
    }
}

/// The device of this process.
fn open_device(config: &Config) -> Result<Arc<dyn Device>> {
    driver::open(config)?.into_iter().next().ok_or_else(|| Error::other("there is no device"))
}

/// Tells the exchange where the others hand out their memory.
fn name_peers(me: u32, exchange: &Exchange, peers: &[Peer]) -> Result<()> {
    let bad = |error| not_joined(me, "reading what PE 0 says of the others", format!("{error}"));
    let addresses = peers.iter().map(|peer| peer.exchange.parse().map_err(bad));
    exchange.set_peers(addresses.collect::<Result<_>>()?);
    Ok(())
}

/// Puts together what is known when all have come. The others learn it if that fails.
fn parts(
    config: &Config,
    me: u32,
    device: Arc<dyn Device>,
    welcome: &Welcome,
    (exchange, board): (Exchange, Arc<Board>),
    group: Group,
) -> Result<Parts> {
    let group = Arc::new(group);
    let parts = try_parts(config, me, device, welcome, (exchange, board), group.clone());
    parts.inspect_err(|error| group.fail(me, error.clone()))
}

fn try_parts(
    config: &Config,
    me: u32,
    device: Arc<dyn Device>,
    welcome: &Welcome,
    (exchange, board): (Exchange, Arc<Board>),
    group: Arc<Group>,
) -> Result<Parts> {
    let peers = &welcome.peers;
    for peer in peers {
        device.check_reach(&peer.device.id, &peer.device.name)?;
    }
    let sharers = |peer: &Peer| peers.iter().filter(|other| other.device.id == peer.device.id).count() as u32;
    let pes_on_device: Vec<u32> = peers.iter().map(sharers).collect();
    let first_on = |peer: &Peer| peers.iter().position(|other| other.device.id == peer.device.id);
    let gpu_of_pe = peers.iter().map(|peer| first_on(peer).unwrap_or(0) as u32).collect();
    let granule = peers.iter().map(|peer| peer.device.granule).max().unwrap_or(1);
    // An emulated device is this process's own, with its part of the memory.
    let on_mine = if device.info().emulated { 1 } else { pes_on_device[me as usize] };
    let mine = segment_bytes(config, &*device, on_mine)?;
    let least = peers.iter().map(|peer| peer.device.memory / granule * granule).min().unwrap_or(0);
    // With a limit it is that of all; else what the smallest device has.
    let segment = if config.heap_limit.is_some() { mine } else { least };
    let mut device_of_pe: Vec<Option<Arc<dyn Device>>> = vec![None; peers.len()];
    device_of_pe[me as usize] = Some(device);
    Ok(Parts {
        group,
        board,
        device_of_pe,
        pes_on_device,
        gpu_of_pe,
        segment,
        granule,
        tags: Tags::From(welcome.tags),
        exchange: Some(exchange),
    })
}

fn not_joined(pe: u32, doing: &'static str, why: impl Into<String>) -> Error {
    Error::NotJoined { pe, doing, why: why.into() }
}
