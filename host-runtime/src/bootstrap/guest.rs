//! The part that every PE but PE 0 has in joining.

use super::{hello, name_peers, not_joined, open_device, parts, publication, ready};
use crate::board::Board;
use crate::config::Config;
use crate::debug;
use crate::driver::Shareable;
use crate::error::{Error, Result, pid_in_brackets};
use crate::exchange::{Exchange, Piece};
use crate::fault;
use crate::group::{self, FromPe, Group, Link, ToPe, Welcome};
use crate::job::Parts;
use crate::launched::{Launched, Meeting};
use crate::wire::{self, Channel, Receiver, Sender, UniqueId, WireError};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::debug;

/// How long PE 0 may take to prove itself.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Pauses between attempts to prove the secret: the first, and where they end, some seconds later.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(5));

/// See [`super::join`].
pub(super) fn join(config: &Config, launched: &Launched, meeting: &Meeting) -> Result<Parts> {
    let (me, until) = (launched.rank, Instant::now() + config.join_deadline);
    fault::point("start", me);
    let (id, channel) = match meeting {
        Meeting::Named(name) => {
            let id = publication::find(me, name, until)?;
            let channel = connect(me, &id, until)?;
            (id, channel)
        }
        Meeting::Known(id) => (id.clone(), connect_to_maker(me, id, until)?),
    };
    debug!(target: debug::BOOTSTRAP, pe = me, address = %id.address, "connected to PE 0");
    // The kernel's word, which holds in this process's namespace; over TCP there is none, and nobody to watch.
    let server = channel.credentials().map_or(0, |(pid, _)| u32::try_from(pid).unwrap_or(0));
    let exchange = Exchange::new(me, &id.secret)?;
    let (mut sender, mut receiver) = channel.split();
    say(me, &mut sender, &FromPe::Hello(hello(launched, &exchange)))?;
    fault::point("connected", me);
    let device = open_device(config).map_err(|error| failed(me, &mut sender, error))?;
    say(me, &mut sender, &FromPe::Ready(ready(config, &*device)))?;
    // PE 0 waits for the others as long as it may, and then says so. Where it has hung up it has said why.
    let left = until.saturating_duration_since(Instant::now()) + HANDSHAKE;
    let said = receiver.receive(Some(left));
    let welcome = told(me, "waiting for the other processes", server, said)?;
    let board = fetch_board(config, me, server, &exchange, &welcome, &mut receiver);
    let board = Arc::new(board.map_err(|error| failed(me, &mut sender, error))?);
    debug!(target: debug::BOOTSTRAP, pe = me, size = welcome.peers.len(), "welcomed: all have come");
    let link = Link::new(me, server, config.deadline, board.clone(), (sender, receiver))?;
    parts(config, me, device, &welcome, (exchange, board), Group::Linked(link))
}

fn say(me: u32, sender: &mut Sender, message: &FromPe) -> Result<()> {
    match sender.send(&message.write()) {
        // What PE 0 said last, or that it is gone, shows where its answer is read.
        Ok(()) | Err(WireError::Closed) => Ok(()),
        Err(error) => Err(not_joined(me, "speaking to PE 0", error.to_string())),
    }
}

/// Says that this PE has failed, and returns with what.
fn failed(me: u32, sender: &mut Sender, error: Error) -> Error {
    let said = say(me, sender, &FromPe::Failed { failed: me, error: error.clone() });
    said.err().unwrap_or(error)
}

/// Connects to PE 0 and proves the secret; again if strangers took the place before that was done.
fn connect(me: u32, id: &UniqueId, until: Instant) -> Result<Channel> {
    let refused = |error: &dyn ToString| not_joined(me, "connecting to PE 0", error.to_string());
    let mut pause = PAUSES.0;
    loop {
        let stream = wire::connect(&id.address, until).map_err(|error| refused(&error))?;
        match Channel::connect(stream, &id.secret, HANDSHAKE) {
            Ok(channel) => return Ok(channel),
            Err(WireError::Closed | WireError::Refused { .. })
                if pause < PAUSES.1 && Instant::now() < until =>
            {
                std::thread::sleep(pause);
                pause *= 2;
            }
            Err(error) => return Err(refused(&error)),
        }
    }
}

/// The same for an id whose maker listens since it has made it, and answers when it joins as PE 0.
fn connect_to_maker(me: u32, id: &UniqueId, until: Instant) -> Result<Channel> {
    let start = Instant::now();
    let refused = |why: String| not_joined(me, "connecting to the maker of the unique id", why);
    let mut pause = PAUSES.0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let error = match wire::attempt(&id.address, left) {
            Ok(stream) => match Channel::connect(stream, &id.secret, left.max(PAUSES.0)) {
                Ok(channel) => return Ok(channel),
                Err(WireError::Slow { .. }) => {
                    let waited = start.elapsed().as_secs_f64();
                    return Err(refused(format!(
                        "it is there, and has not joined as PE 0 for {waited:.1} s (OXSHMEM_JOIN_DEADLINE): does it call init_with_unique_id with this id?"
                    )));
                }
                // Strangers may have taken the place, or PE 0's job has begun.
                Err(WireError::Closed | WireError::Refused { .. }) if !left.is_zero() => None,
                Err(error) => return Err(refused(error.to_string())),
            },
            Err(error) => Some(error),
        };
        match error {
            Some(error) if error.kind() == ErrorKind::ConnectionRefused => {
                let why = "nobody listens there any more: its maker has ended, or runs in another network namespace, or all PEs of its job have come already and the id was used twice";
                return Err(refused(why.into()));
            }
            Some(error) if error.kind() != ErrorKind::WouldBlock || left.is_zero() => {
                return Err(refused(format!("{}: {error}", id.address)));
            }
            _ => std::thread::sleep(pause.min(left)),
        }
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// Whether a process goes on, when its connection has ended: one that ends closes that a moment before.
fn lives(pid: u32) -> bool {
    let Some(process) = group::open_process(pid) else { return false };
    for _ in 0..20 {
        if group::has_ended(&process) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// What PE 0 says before it serves: a welcome, or why there is none.
fn told(me: u32, doing: &'static str, server: u32, said: Result<Vec<u8>, WireError>) -> Result<Welcome> {
    let message = said.map_err(|error| match error {
        WireError::Closed if lives(server) => {
            not_joined(me, doing, "PE 0 has hung up and runs on: all PEs of its job have come already, so two processes have the same rank, or two jobs the same name")
        }
        WireError::Silent { .. } => {
            let process = pid_in_brackets(server);
            not_joined(me, doing, format!("PE 0{process} is there and says nothing: was it stopped? ({error})"))
        }
        WireError::Closed => {
            let how = "has ended its connection before all had come".to_owned();
            Error::PeFailed { pe: 0, cause: Box::new(Error::PeLost { pe: 0, pid: server, how }) }
        }
        error => not_joined(me, doing, error.to_string()),
    })?;
    match ToPe::read(&message) {
        Ok(ToPe::Welcome(welcome)) if welcome.peers.len() > me as usize => Ok(welcome),
        Ok(ToPe::Failed { pe, error }) if pe == me => Err(error),
        Ok(ToPe::Failed { pe, error }) => Err(Error::of_another_pe(pe, error)),
        Ok(_) => Err(not_joined(me, doing, "PE 0 said something else")),
        Err(error) => Err(not_joined(me, doing, error.to_string())),
    }
}

/// Opens the words that all PEs share. Until then nobody else listens to PE 0.
fn fetch_board(
    config: &Config,
    me: u32,
    server: u32,
    exchange: &Exchange,
    welcome: &Welcome,
    receiver: &mut Receiver,
) -> Result<Board> {
    let doing = "opening the words that PEs share";
    name_peers(me, exchange, &welcome.peers)?;
    let receiver = RefCell::new(receiver);
    let lost = || match receiver.borrow_mut().receive(Some(Duration::ZERO)) {
        Err(WireError::Silent { .. }) => None,
        said => told(me, doing, server, said).err(),
    };
    match exchange.fetch(0, Piece::Board, config.deadline, &lost)? {
        Shareable::Descriptor(file) => Board::open(config.pes, file),
        Shareable::Fabric(_) => Err(not_joined(me, doing, "PE 0 sent no descriptor")),
    }
}
