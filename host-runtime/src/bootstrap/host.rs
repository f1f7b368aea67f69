//! PE 0's part of joining: it opens the rendezvous, takes in the others, and welcomes them when all are ready.

use super::host_name::Host;
use super::publication::Publication;
use super::{hello, listen, name_peers, not_joined, open_device, parts, ready, unique_id};
use crate::board::Board;
use crate::config::Config;
use crate::debug;
use crate::driver::{Device, Shareable};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Piece};
use crate::fault;
use crate::group::{self, FromPe, Group, Hello, Peer, Ready, Remote, Rendezvous, Service, ToPe, Welcome};
use crate::intern::intern;
use crate::job::{Parts, kernel_patience};
use crate::launched::{Launched, Meeting};
use crate::wire::{Acceptor, Channel, Receiver, Refusals, Secret, Sender, UniqueId, WireError};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::debug;

const ME: u32 = 0;
/// How long a process that has proven the secret may take to say who it is.
const WORD: Duration = Duration::from_secs(5);
/// How often it is looked whether those that have come still live.
const LOOK: Duration = Duration::from_millis(100);
/// The same while somebody is expected to say who it is.
const SOON: Duration = Duration::from_micros(200);
/// How many may be about to say who they are.
const STRANGERS: usize = 128;

/// How long those that come late are told that the job has failed.
const LATE: Duration = Duration::from_millis(500);

/// A process that has come.
struct Guest {
    hello: Hello,
    sender: Sender,
    receiver: Receiver,
    /// Its process, if the system lets us watch it.
    process: Option<OwnedFd>,
}

/// See [`super::join`].
pub(super) fn join(config: &Config, launched: &Launched, meeting: &Meeting) -> Result<Parts> {
    let until = Instant::now() + config.join_deadline;
    fault::point("start", ME);
    let refused = |error: std::io::Error| not_joined(ME, "opening the rendezvous", error.to_string());
    let (listener, id) = match meeting {
        Meeting::Named(_) => {
            let listener = listen(config)?;
            let (address, secret) = (listener.address().clone(), Secret::random().map_err(refused)?);
            (listener, UniqueId { address, secret })
        }
        Meeting::Known(id) => (unique_id::take(id)?, id.clone()),
    };
    debug!(target: debug::BOOTSTRAP, pe = ME, address = %id.address, "listens");
    let secret = id.secret.clone();
    let mut acceptor = Acceptor::new(listener, secret.clone(), "PE 0, rendezvous").map_err(refused)?;
    let exchange = Exchange::new(ME, &secret)?;
    let publication = match meeting {
        Meeting::Named(name) => Some(Publication::new(name, &id)?),
        Meeting::Known(_) => None,
    };
    let own = hello(launched, &exchange);

    // The device opens while the others come.
    let mut guests = nobody(launched.size);
    let mut door = Door { strangers: VecDeque::new(), refusals: Refusals::new("PE 0, rendezvous") };
    let (taken_in, device) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| open_device(config));
        let taken_in = match &launched.refused {
            Some(error) => Err(error.clone()),
            None => take_in(&mut acceptor, &mut door, &own, &mut guests, until),
        };
        let opened = opening.join().unwrap_or_else(|_| Err(Error::other("opening the device panicked")));
        (taken_in, opened)
    });
    let mut guests = those_in(guests);
    fault::point("connected", ME);
    let joined = taken_in.and(device).and_then(|device| {
        let welcome = welcome(config, &own, &*device, &mut guests, until)?;
        name_peers(ME, &exchange, &welcome.peers)?;
        let board = Board::new(launched.size)?;
        let file = board.file().try_clone_to_owned().map_err(refused)?;
        exchange.offer(Piece::Board, Shareable::Descriptor(file));
        Ok((device, welcome, Arc::new(board)))
    });
    let (device, welcome, board) = match joined {
        Ok(joined) => joined,
        Err(error) => {
            let (failed, cause) = match &error {
                Error::PeFailed { pe, cause } => (*pe, (**cause).clone()),
                error => (ME, error.clone()),
            };
            turn_away(&mut guests, failed, &cause);
            let late = late(launched.size, &guests, failed, &cause);
            turn_away(&mut take_in_late(&mut acceptor, &mut door, &own, &late), failed, &cause);
            return Err(error);
        }
    };
    debug!(target: debug::BOOTSTRAP, pe = ME, size = launched.size, "all have come");
    drop((publication, acceptor));
    tell(&mut guests, &ToPe::Welcome(welcome.clone()));
    let patience = kernel_patience(config, &*device);
    let rendezvous = Rendezvous::new(launched.size, config.deadline, patience, board.clone());
    let remotes = guests.into_iter().map(|(pe, Guest { hello, sender, receiver, .. })| Remote {
        pe,
        pid: hello.pid,
        sender,
        receiver,
    });
    let service = Service::new(rendezvous, board.clone(), remotes.collect())?;
    parts(config, ME, device, &welcome, (exchange, board), Group::Serves(service))
}

/// Takes in the others until all have come.
fn take_in(
    acceptor: &mut Acceptor,
    door: &mut Door,
    own: &Hello,
    guests: &mut [Option<Guest>],
    until: Instant,
) -> Result<()> {
    let start = Instant::now();
    loop {
        let missing: Vec<u32> = (1..own.size).filter(|pe| guests[*pe as usize].is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Missing { pe: ME, n_pes: own.size, missing, waited: start.elapsed() });
        }
        let come = acceptor.next(left.min(door.pause()));
        let come =
            come.map_err(|error| not_joined(ME, "taking in the other processes", error.to_string()))?;
        door.let_in(come, own, guests);
        for (pe, guest) in (0..).zip(&*guests) {
            if let Some(Guest { hello, process: Some(process), .. }) = guest
                && group::has_ended(process)
            {
                return Err(lost(pe, hello.pid, "has ended before all had come"));
            }
        }
    }
}

/// Those that have proven the secret and have not said who they are yet.
struct Door {
    /// The oldest first.
    strangers: VecDeque<(Channel, Instant)>,
    refusals: Refusals,
}

impl Door {
    /// How long to wait for the next to come.
    fn pause(&self) -> Duration {
        if self.strangers.is_empty() { LOOK } else { SOON }
    }

    /// Takes in those that say who they are, if they belong here.
    fn let_in(&mut self, come: Option<Channel>, own: &Hello, guests: &mut [Option<Guest>]) {
        if let Some(channel) = come {
            self.strangers.push_back((channel, Instant::now()));
        }
        if self.strangers.len() > STRANGERS
            && let Some((oldest, _)) = self.strangers.pop_front()
        {
            self.refusals.note(&oldest.peer(), &"others wanted its place before it said who it is");
        }
        for (mut channel, since) in std::mem::take(&mut self.strangers) {
            match channel.receive(Some(Duration::ZERO)) {
                Ok(message) => self.judge(channel, &message, own, guests),
                Err(WireError::Silent { .. }) if since.elapsed() < WORD => {
                    self.strangers.push_back((channel, since));
                }
                Err(error) => self.refusals.note(&channel.peer(), &error),
            }
        }
    }

    fn judge(&mut self, mut channel: Channel, said: &[u8], own: &Hello, guests: &mut [Option<Guest>]) {
        let peer = channel.peer();
        let Ok(FromPe::Hello(mut hello)) = FromPe::read(said) else {
            // Who is not understood is not of this job's making.
            self.refusals.note(&peer, &"it did not say who it is");
            return;
        };
        if let Err(error) = check(&hello, own, guests) {
            self.refusals.note(&format!("{peer}, process {}", hello.pid), &error);
            // It may be gone already.
            let _ = channel.send(&ToPe::Failed { pe: hello.rank, error }.write());
            return;
        }
        // The kernel's word, which holds in this process's namespace; over TCP there is none, and nobody to watch.
        hello.pid = channel.credentials().map_or(0, |(pid, _)| u32::try_from(pid).unwrap_or(0));
        let place = hello.rank as usize;
        let process = group::open_process(hello.pid);
        let (sender, receiver) = channel.split();
        debug!(target: debug::BOOTSTRAP, pe = ME, guest = hello.rank, pid = hello.pid, "a process has come");
        guests[place] = Some(Guest { hello, sender, receiver, process });
    }
}

fn check(hello: &Hello, own: &Hello, guests: &[Option<Guest>]) -> Result<()> {
    let rank = hello.rank;
    let differ = |what, theirs: &dyn ToString, ours: &dyn ToString| {
        Err(Error::ProcessesDiffer { what, one: (rank, theirs.to_string()), other: (ME, ours.to_string()) })
    };
    if hello.version != own.version {
        return differ("the version of oxshmem", &hello.version, &own.version);
    }
    if hello.size != own.size {
        return differ("the number of processes", &hello.size, &own.size);
    }
    let hosts = (Host::from_text(&hello.host), Host::from_text(&own.host));
    match hosts {
        (Some(theirs), Some(ours)) if theirs.is(&ours) => {}
        (Some(theirs), Some(ours)) => {
            let what = format!("PE {rank} runs on {theirs}, PE {ME} on {ours}");
            return Err(Error::OtherHosts { what });
        }
        _ => return differ("what names a host", &hello.host, &own.host),
    }
    let doing = "saying which PE it is";
    match guests.get(rank as usize) {
        Some(None) if rank != ME => Ok(()),
        Some(Some(other)) => {
            let why = format!("the process {} has this rank already: two have the same", other.hello.pid);
            Err(not_joined(rank, doing, why))
        }
        _ => {
            Err(not_joined(rank, doing, format!("there is no such rank for it among {} processes", own.size)))
        }
    }
}

/// Waits until all are ready, compares what they bring, and makes the welcome.
fn welcome(
    config: &Config,
    own: &Hello,
    device: &dyn Device,
    guests: &mut [(u32, Guest)],
    until: Instant,
) -> Result<Welcome> {
    let mine = ready(config, device);
    let mut peers = vec![Peer { exchange: own.exchange.clone(), device: mine.device }];
    for (pe, guest) in guests {
        let theirs = ready_of(*pe, own.size, guest, until)?;
        for ((name, ours), (_, value)) in mine.alike.iter().zip(&theirs.alike) {
            if ours != value {
                let (one, other) = ((ME, ours.clone()), (*pe, value.clone()));
                return Err(Error::ProcessesDiffer { what: intern(name), one, other });
            }
        }
        peers.push(Peer { exchange: guest.hello.exchange.clone(), device: theirs.device });
    }
    // Any start does; one that no other job is likely to have shows a handle of that as foreign.
    let tags = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9) ^ u64::from(own.size);
    Ok(Welcome { peers, tags })
}

fn ready_of(pe: u32, n_pes: u32, guest: &mut Guest, until: Instant) -> Result<Ready> {
    let waited = until.saturating_duration_since(Instant::now()).max(WORD);
    let pid = guest.hello.pid;
    let message = guest.receiver.receive(Some(waited)).map_err(|error| match error {
        WireError::Closed => lost(pe, pid, "has ended its connection while it opened its device"),
        WireError::Silent { .. } => Error::Missing { pe: ME, n_pes, missing: vec![pe], waited },
        error => lost(pe, pid, &format!("has a connection that failed: {error}")),
    })?;
    match FromPe::read(&message) {
        Ok(FromPe::Ready(ready)) => Ok(ready),
        Ok(FromPe::Failed { error, .. }) => Err(Error::PeFailed { pe, cause: Box::new(error) }),
        _ => Err(lost(pe, pid, "has sent what makes no sense")),
    }
}

/// Tells all that have come that nothing comes of it.
fn turn_away(guests: &mut [(u32, Guest)], failed: u32, cause: &Error) {
    tell(guests, &ToPe::Failed { pe: failed, error: cause.clone() });
}

/// Tells all that have come the same.
fn tell(guests: &mut [(u32, Guest)], news: &ToPe) {
    let message = news.write();
    for (_, guest) in guests {
        // Who is gone is noted elsewhere.
        let _ = guest.sender.send(&message);
    }
}

/// Who may still come when the job has failed.
fn late(n_pes: u32, guests: &[(u32, Guest)], failed: u32, cause: &Error) -> Vec<u32> {
    let comes = |pe: &u32| match cause {
        Error::Missing { missing, .. } => !missing.contains(pe),
        _ => *pe != failed,
    };
    (1..n_pes).filter(|pe| guests.iter().all(|(guest, _)| guest != pe)).filter(comes).collect()
}

/// Takes in for a moment those that come when all is over already, so that they too are told, and neither wait in vain
/// nor blame PE 0.
fn take_in_late(acceptor: &mut Acceptor, door: &mut Door, own: &Hello, late: &[u32]) -> Vec<(u32, Guest)> {
    let (until, mut guests) = (Instant::now() + LATE, nobody(own.size));
    while late.iter().any(|pe| guests[*pe as usize].is_none()) && Instant::now() < until {
        let Ok(come) = acceptor.next(door.pause()) else { break };
        door.let_in(come, own, &mut guests);
    }
    those_in(guests)
}

fn nobody(n_pes: u32) -> Vec<Option<Guest>> {
    (0..n_pes).map(|_| None).collect()
}

fn those_in(guests: Vec<Option<Guest>>) -> Vec<(u32, Guest)> {
    (0..).zip(guests).filter_map(|(pe, guest)| Some((pe, guest?))).collect()
}

fn lost(pe: u32, pid: u32, how: &str) -> Error {
    Error::PeFailed { pe, cause: Box::new(Error::PeLost { pe, pid, how: how.to_owned() }) }
}
