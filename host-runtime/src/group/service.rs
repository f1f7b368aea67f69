//! PE 0's side of the rendezvous: two threads for each other process, one that reads what it says and one that tells it
//! what became of that, so that a process which does not read holds up nobody.

use super::message::{FromPe, ToPe};
use super::rendezvous::Rendezvous;
use super::watch::Watch;
use crate::board::Board;
use crate::error::{Error, Result};
use crate::wire::{Closer, Receiver, Sender, WireError};
use std::fmt::{self, Formatter};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Another process.
pub(crate) struct Remote {
    pub(crate) pe: u32,
    pub(crate) pid: u32,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
}

/// The rendezvous and its connections. Dropped, it tells the others what it has to, and ends them.
pub(crate) struct Service {
    rendezvous: Arc<Rendezvous>,
    connections: Vec<Connection>,
    watch: Option<Watch>,
}

struct Connection {
    pe: u32,
    reads: JoinHandle<()>,
    writes: JoinHandle<()>,
    closer: Closer,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("rendezvous", &self.rendezvous).finish_non_exhaustive()
    }
}

impl Service {
    /// Serves these processes.
    ///
    /// # Errors
    /// [`Error::NoThread`].
    pub(crate) fn new(rendezvous: Rendezvous, board: Arc<Board>, remotes: Vec<Remote>) -> Result<Self> {
        let rendezvous = Arc::new(rendezvous);
        let no_thread = |error: std::io::Error| Error::NoThread {
            what: "serving the other processes of the job".into(),
            reason: error.to_string(),
        };
        let processes: Vec<(u32, u32)> = remotes.iter().map(|remote| (remote.pe, remote.pid)).collect();
        let mut service = Self { rendezvous: rendezvous.clone(), connections: Vec::new(), watch: None };
        for remote in remotes {
            service.connections.push(Connection::new(rendezvous.clone(), remote).map_err(no_thread)?);
        }
        let tick = {
            let rendezvous = rendezvous.clone();
            move || {
                board.beat(0);
                rendezvous.tend();
            }
        };
        let ended = move |pe, pid| lost(&rendezvous, pe, pid, "has ended");
        service.watch = Some(Watch::new(&processes, tick, ended).map_err(no_thread)?);
        Ok(service)
    }

    pub(super) fn rendezvous(&self) -> &Rendezvous {
        &self.rendezvous
    }
}

impl Connection {
    fn new(rendezvous: Arc<Rendezvous>, remote: Remote) -> std::io::Result<Self> {
        let Remote { pe, pid, mut sender, mut receiver } = remote;
        let closer = sender.closer();
        let (afar, news) = mpsc::channel::<ToPe>();
        rendezvous.set_afar(pe, Some(afar));
        let write = move || {
            for one in news {
                if sender.send(&one.write()).is_err() {
                    // The reader learns that too, and notes it.
                    sender.closer().close();
                    return;
                }
            }
        };
        let read = move || read_all(&rendezvous, pe, pid, &mut receiver);
        let writes = std::thread::Builder::new().name(format!("oxshmem to {pe}")).spawn(write)?;
        let reads = std::thread::Builder::new().name(format!("oxshmem from {pe}")).spawn(read)?;
        Ok(Self { pe, reads, writes, closer })
    }
}

/// Takes what a process says until its connection ends.
fn read_all(rendezvous: &Rendezvous, pe: u32, pid: u32, receiver: &mut Receiver) {
    let why = loop {
        let message = match receiver.receive(None) {
            Ok(message) => message,
            Err(WireError::Closed) => break "has ended its connection without a word".to_owned(),
            Err(error) => break format!("has a connection that failed: {error}"),
        };
        match FromPe::read(&message) {
            Ok(FromPe::Arrival(arrival)) => rendezvous.arrive_from_afar(pe, *arrival),
            Ok(FromPe::Failed { failed, error }) => rendezvous.fail(pe, failed, error),
            Ok(FromPe::Finished) => rendezvous.finish(pe),
            Ok(FromPe::Hello(_) | FromPe::Ready(_)) => break "has joined twice".to_owned(),
            Err(error) => break format!("has sent what makes no sense: {error}"),
        }
    };
    receiver.closer().close();
    lost(rendezvous, pe, pid, &why);
}

/// Notes that a process is gone, unless it had ended well before.
fn lost(rendezvous: &Rendezvous, pe: u32, pid: u32, how: &str) {
    if !rendezvous.has_returned(pe) {
        rendezvous.fail(pe, pe, Error::PeLost { pe, pid, how: how.to_owned() });
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.watch = None;
        for connection in &self.connections {
            // What was said before is still sent; then the writer ends.
            self.rendezvous.set_afar(connection.pe, None);
        }
        let me = std::thread::current().id();
        for Connection { reads, writes, closer, .. } in self.connections.drain(..) {
            let _ = writes.join();
            closer.close();
            if reads.thread().id() != me {
                let _ = reads.join();
            }
        }
    }
}
