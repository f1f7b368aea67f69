//! Another PE's side of the rendezvous: it sends its arrival to PE 0's process and waits for the answer. A thread reads
//! what comes, so that a failure is known at once, whatever the PE is doing.

use super::call::{Agreed, Arrival};
use super::message::{FromPe, ToPe};
use super::watch::Watch;
use super::{END, FailureHook, OnFailure, SILENCE, failure_for};
use crate::board::{Board, now};
use crate::driver;
use crate::error::{Error, Result};
use crate::wire::{Receiver, Sender, WireError};
use std::fmt::{self, Formatter};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The PE whose process serves the rendezvous.
const SERVER: u32 = 0;
/// How often one that waits looks whether the server can still run.
const LOOK: Duration = Duration::from_millis(200);

/// A PE's connection to the rendezvous.
pub(crate) struct Link {
    me: u32,
    server_pid: u32,
    deadline: Duration,
    board: Arc<Board>,
    sender: Mutex<Sender>,
    state: Mutex<State>,
    changed: Condvar,
    on_failure: FailureHook,
    threads: Mutex<Option<Threads>>,
}

#[derive(Default)]
struct State {
    /// The number of the last arrival.
    number: u32,
    answer: Option<Result<Agreed>>,
    failed: Option<(u32, Error)>,
    ended: bool,
    /// Whether this PE has said that it ends.
    said: bool,
    /// Why this PE has given the server up. Its books may not be those of the others any more, so that is final.
    gave_up: Option<Error>,
}

struct Threads {
    _watch: Watch,
    reads: JoinHandle<()>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("me", &self.me)
            .field("server_pid", &self.server_pid)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// The link of PE `me`.
    ///
    /// # Errors
    /// [`Error::NoThread`].
    pub(crate) fn new(
        me: u32,
        server_pid: u32,
        deadline: Duration,
        board: Arc<Board>,
        (sender, receiver): (Sender, Receiver),
    ) -> Result<Arc<Self>> {
        let link = Arc::new(Self {
            me,
            server_pid,
            deadline,
            board,
            sender: Mutex::new(sender),
            state: Mutex::default(),
            changed: Condvar::new(),
            on_failure: FailureHook::default(),
            threads: Mutex::new(None),
        });
        let no_thread = |error: std::io::Error| Error::NoThread {
            what: "listening to the job's rendezvous".into(),
            reason: error.to_string(),
        };
        let ended = {
            let link = Arc::downgrade(&link);
            move |_, _| _ = link.upgrade().inspect(|link| link.lost("has ended"))
        };
        let board = link.board.clone();
        let watch = Watch::new(&[(SERVER, server_pid)], move || board.beat(me), ended).map_err(no_thread)?;
        let read = {
            let link = link.clone();
            move || link.read_all(receiver)
        };
        let reads = std::thread::Builder::new().name("oxshmem link".into()).spawn(read).map_err(no_thread)?;
        *link.threads.lock().unwrap_or_else(PoisonError::into_inner) = Some(Threads { _watch: watch, reads });
        Ok(link)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_all(&self, mut receiver: Receiver) {
        let why = loop {
            let message = match receiver.receive(None) {
                Ok(message) => message,
                Err(WireError::Closed) => break "has ended its connection without a word".to_owned(),
                Err(error) => break format!("has a connection that failed: {error}"),
            };
            match ToPe::read(&message) {
                Ok(ToPe::Answer { number, result }) => {
                    let mut state = self.lock();
                    // An answer to an arrival that was given up says nothing about a later one.
                    if state.number == number {
                        state.answer = Some(result);
                    }
                }
                Ok(ToPe::Failed { pe, error }) => self.failed_elsewhere(pe, error),
                Ok(ToPe::Ended) => self.lock().ended = true,
                Ok(ToPe::Welcome(_)) => break "has welcomed this PE twice".to_owned(),
                Err(error) => break format!("has sent what makes no sense: {error}"),
            }
            self.changed.notify_all();
        };
        receiver.closer().close();
        self.lost(&why);
    }

    /// Notes that the server is gone, unless all is over.
    fn lost(&self, how: &str) {
        if !self.lock().ended {
            let how = how.to_owned();
            self.failed_elsewhere(SERVER, Error::PeLost { pe: SERVER, pid: self.server_pid, how });
        }
    }

    fn failed_elsewhere(&self, pe: u32, error: Error) {
        let mut state = self.lock();
        let first = state.failed.is_none();
        if first {
            state.failed = Some((pe, error));
        }
        drop(state);
        self.changed.notify_all();
        if first {
            self.on_failure.call(pe);
        }
    }

    fn send(&self, message: &FromPe) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // If it fails the connection has ended: the reader takes what the server said last, which may say why, and then
        // notes that.
        let _ = sender.send(&message.write());
    }

    /// As [`Rendezvous::meet`](super::Rendezvous::meet).
    pub(super) fn meet(&self, mut arrival: Arrival) -> Result<Agreed> {
        let call = arrival.call.to_string();
        {
            let mut state = self.lock();
            if let Some(error) = failure_for(self.me, state.failed.clone()).or_else(|| state.gave_up.clone())
            {
                return Err(error);
            }
            state.number = state.number.wrapping_add(1);
            state.answer = None;
            arrival.number = state.number;
        }
        self.send(&FromPe::Arrival(Box::new(arrival)));
        let start = now();
        let mut state = self.lock();
        loop {
            if let Some(answer) = state.answer.take() {
                return answer;
            }
            if let Some(error) = failure_for(self.me, state.failed.clone()) {
                return Err(error);
            }
            if self.server_stopped_since(start) {
                // Should an answer come yet, it is too late.
                state.number = state.number.wrapping_add(1);
                drop(state);
                return Err(self.give_up(call, start));
            }
            let changed = &self.changed;
            state = driver::blocked(|| {
                changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
            });
        }
    }

    /// As [`Rendezvous::fail`](super::Rendezvous::fail), for this PE.
    pub(super) fn fail(&self, failed: u32, error: Error) {
        self.lock().said = true;
        // Noted first: the server tells it to all, and what comes back has lost its type.
        self.failed_elsewhere(failed, error.clone());
        self.send(&FromPe::Failed { failed, error });
    }

    /// As [`Rendezvous::finish`](super::Rendezvous::finish), for this PE.
    pub(super) fn finish(&self) {
        self.lock().said = true;
        self.send(&FromPe::Finished);
    }

    /// As [`Rendezvous::wait_for_end`](super::Rendezvous::wait_for_end).
    pub(super) fn wait_for_end(&self) -> Result<()> {
        let start = now();
        let mut state = self.lock();
        while !state.ended && state.failed.is_none() {
            if self.server_stopped_since(start) {
                drop(state);
                return Err(self.give_up(END.into(), start));
            }
            let changed = &self.changed;
            state = driver::blocked(|| {
                changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
            });
        }
        Ok(())
    }

    /// Whether the server has not been able to run for a deadline, all of it after `start`.
    fn server_stopped_since(&self, start: u64) -> bool {
        let last = self.board.last_beat(SERVER).unwrap_or(0).max(start);
        Duration::from_nanos(now().saturating_sub(last)) > self.deadline.max(SILENCE)
    }

    /// Gives the server up: what it decides from now on this PE does not learn, so the job is over for it, and the others
    /// are told so when the server goes on.
    fn give_up(&self, call: String, start: u64) -> Error {
        let waited = Duration::from_nanos(now().saturating_sub(start));
        let (missing, stopped) = (vec![SERVER], vec![SERVER]);
        let error = Error::Absent { pe: self.me, call, missing, in_kernels: Vec::new(), stopped, waited };
        let mut state = self.lock();
        state.gave_up = Some(error.clone());
        state.said = true;
        drop(state);
        self.send(&FromPe::Failed { failed: self.me, error: error.clone() });
        error
    }

    pub(super) fn failed(&self) -> Option<(u32, Error)> {
        self.lock().failed.clone()
    }

    pub(super) fn on_failure(&self, then: OnFailure) {
        self.on_failure.set(then, || self.failed());
    }

    /// Ends the connection and its threads.
    pub(super) fn close(&self) {
        let said = self.lock().said;
        if !said {
            let error = Error::other("it has ended without a result");
            self.send(&FromPe::Failed { failed: self.me, error });
        }
        self.lock().ended = true;
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).closer().close();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Threads { reads, .. }) = threads
            && reads.thread().id() != std::thread::current().id()
        {
            let _ = reads.join();
        }
    }
}
