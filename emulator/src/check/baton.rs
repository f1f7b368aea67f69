//! Host threads of a checked run: one of them, or the engine, runs at a time. Who may run holds the baton.
//!
//! A host thread gives the baton back wherever it calls the emulator: when it launches, waits for a stream, meets the
//! other PEs. So one seed fixes what the hosts do, too. Between two such calls it runs alone.

use crate::launch::StreamShared;
use core::panic::Location;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How long a host thread may keep the baton before others go on without it: so many times what a kernel's thread may
/// compute.
const PATIENCE: u32 = 15;

/// What a host thread is doing.
#[derive(Clone, Debug)]
enum Standing {
    /// It waits for the baton.
    Ready,
    /// It has asked something that it may ask again and again, and waits for the baton. With what had happened by then,
    /// once the engine has looked at it.
    Asks(Option<u64>),
    /// It has the baton.
    Runs,
    /// It waits for another host thread.
    Waits,
    /// It waits until so many launches of a stream have ended.
    Stream(Arc<StreamShared>, u64),
    /// It kept the baton too long and is left to itself until it calls the emulator.
    Away,
    Gone,
}

/// What a host thread has done that the engine must know.
#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// It has launched.
    Launched { ticket: u64 },
    /// It has found that all launches of a stream, by its address, are over.
    Synced { stream: usize },
    /// It has accessed memory.
    Accessed { address: u64, bytes: u64, writes: bool },
    /// It comes to a meeting of these PEs, or of all if there is none; what it has launched is complete.
    Arrives { members: Vec<u32>, completes: bool },
    /// All that its PE has launched is over and has arrived.
    Completes,
    /// It leaves it.
    Leaves { members: Vec<u32> },
    /// Its PE has symmetric memory from this offset on.
    Allocated { offset: u64, bytes: u64, element: u64, name: String },
    /// It has given it back.
    Freed { offset: u64 },
    /// Its PE has local memory at this address.
    AllocatedLocal { address: u64, bytes: u64, kind: &'static str },
    /// It has given it back.
    FreedLocal { address: u64 },
    /// A launch calls parts of the heap so: offset, bytes, name.
    Named { parts: Vec<(u64, u64, &'static str)> },
}

/// What was done, by which host thread, and where.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) host: usize,
    pub(crate) did: Did,
    pub(crate) location: &'static Location<'static>,
}

#[derive(Debug)]
struct Slot {
    pe: u32,
    standing: Standing,
    location: &'static Location<'static>,
}

#[derive(Debug, Default)]
struct State {
    /// The host thread that has the baton; `None`: the engine.
    holder: Option<usize>,
    hosts: Vec<Slot>,
    deeds: VecDeque<Deed>,
    tickets: u64,
    /// Whether the machine has been told to stop.
    stopped: bool,
}

/// What host threads and the engine share.
#[derive(Debug, Default)]
pub(crate) struct Baton {
    state: Mutex<State>,
    turn: Condvar,
    /// Host threads that a run has.
    expected: usize,
    /// How long one may keep the baton.
    patience: Duration,
}

thread_local! {
    /// The calling thread's numbers with its machines.
    static MINE: RefCell<Vec<(Weak<Baton>, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread as a host thread of a checked machine.
pub(crate) fn mine(baton: &Arc<Baton>) -> Option<usize> {
    MINE.with_borrow(|all| {
        all.iter().rev().find(|(of, _)| of.as_ptr() == Arc::as_ptr(baton)).map(|&(_, host)| host)
    })
}

impl Baton {
    pub(crate) fn new(expected: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self { expected, patience: patience.saturating_mul(PATIENCE), ..Self::default() })
    }

    /// How long a host thread may keep the baton, for reports.
    pub(crate) fn patience(&self) -> String {
        format!("{:.0} s", self.patience.as_secs_f64().ceil())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the calling thread, number `host`, has the baton.
    fn take(&self, host: usize, mut state: MutexGuard<'_, State>) {
        while state.holder != Some(host) && !state.stopped {
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.hosts[host].standing = Standing::Runs;
    }

    /// Gives the baton back with this standing, if the thread has it.
    fn give(&self, state: &mut State, host: usize, standing: Standing) {
        if state.holder == Some(host) {
            state.holder = None;
        }
        state.hosts[host].standing = standing;
        self.turn.notify_all();
    }

    /// Makes the calling thread the host thread of PE `pe`, and waits for the baton.
    #[track_caller]
    pub(crate) fn join(self: &Arc<Self>, pe: u32) -> usize {
        let mut state = self.state();
        let host = state.hosts.len();
        state.hosts.push(Slot { pe, standing: Standing::Ready, location: Location::caller() });
        self.turn.notify_all();
        MINE.with_borrow_mut(|all| all.push((Arc::downgrade(self), host)));
        self.take(host, state);
        host
    }

    /// The thread ends.
    pub(crate) fn leave(self: &Arc<Self>, host: usize) {
        self.give(&mut self.state(), host, Standing::Gone);
        let _ = MINE.try_with(|all| all.borrow_mut().retain(|(of, _)| of.as_ptr() != Arc::as_ptr(self)));
    }

    /// Lets others go first.
    pub(crate) fn pass(&self, host: usize) {
        let mut state = self.state();
        self.give(&mut state, host, Standing::Ready);
        self.take(host, state);
    }

    /// Lets others go first, of a host thread that asks something, and goes on when something has happened.
    pub(crate) fn ask(&self, host: usize) {
        let mut state = self.state();
        self.give(&mut state, host, Standing::Asks(None));
        self.take(host, state);
    }

    /// Runs `wait`, which another host thread ends. It may hold a lock when it returns that others need: so the baton is
    /// taken [later](Self::back).
    pub(crate) fn aside<R>(&self, host: usize, wait: impl FnOnce() -> R) -> R {
        // Whoever ends a wait lets all others go, too: one that goes on waiting comes here again.
        self.give(&mut self.state(), host, Standing::Waits);
        wait()
    }

    /// Takes the baton again after [`aside`](Self::aside), if it was given.
    pub(crate) fn back(&self, host: usize) {
        let mut state = self.state();
        if state.holder == Some(host) {
            state.hosts[host].standing = Standing::Runs;
            return;
        }
        state.hosts[host].standing = Standing::Ready;
        self.turn.notify_all();
        self.take(host, state);
    }

    /// Says that a host thread's wait is about to end.
    pub(crate) fn released(&self, host: usize) {
        let mut state = self.state();
        if let Standing::Waits = state.hosts[host].standing {
            state.hosts[host].standing = Standing::Ready;
        }
    }

    /// Waits until `goal` launches of a stream have ended, or the machine has stopped.
    pub(crate) fn wait_for(&self, host: usize, stream: &Arc<StreamShared>, goal: u64) {
        let mut state = self.state();
        self.give(&mut state, host, Standing::Stream(stream.clone(), goal));
        self.take(host, state);
    }

    /// Notes at which line a host thread is.
    pub(crate) fn at(&self, host: usize, location: &'static Location<'static>) {
        self.state().hosts[host].location = location;
    }

    /// Notes what a host thread has done, at the line where it is.
    pub(crate) fn note(&self, host: usize, did: Did) {
        let mut state = self.state();
        let location = state.hosts[host].location;
        state.deeds.push_back(Deed { host, did, location });
    }

    /// A number for a launch.
    pub(crate) fn ticket(&self) -> u64 {
        let mut state = self.state();
        state.tickets += 1;
        state.tickets
    }

    /// Lets everybody go: the machine stops.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.turn.notify_all();
    }

    // The engine's side.

    /// Waits until all host threads have come.
    pub(crate) fn gather(&self) {
        let mut state = self.state();
        while state.hosts.len() < self.expected && !state.stopped {
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Whoever came first, they are counted by PE.
    }

    /// The PEs of the host threads, by number.
    pub(crate) fn pes(&self) -> Vec<u32> {
        self.state().hosts.iter().map(|slot| slot.pe).collect()
    }

    /// Takes what host threads have done.
    pub(crate) fn deeds(&self) -> VecDeque<Deed> {
        std::mem::take(&mut self.state().deeds)
    }

    /// Numbers of the host threads that can go on, by PE. Those that ask can if `happened` is another number than when they
    /// asked, or none.
    pub(crate) fn ready(&self, happened: Option<u64>) -> Vec<usize> {
        let mut state = self.state();
        let can = |slot: &mut Slot| match (&mut slot.standing, happened) {
            (Standing::Ready, _) | (Standing::Asks(_), None) => true,
            (Standing::Asks(before), Some(now)) => *before.get_or_insert(now) != now,
            (Standing::Stream(stream, goal), _) => stream.state().ended >= *goal,
            _ => false,
        };
        let hosts = state.hosts.iter_mut().enumerate();
        let mut ready: Vec<(u32, usize)> =
            hosts.filter_map(|(at, slot)| can(slot).then_some((slot.pe, at))).collect();
        ready.sort_unstable();
        ready.into_iter().map(|(_, at)| at).collect()
    }

    /// Whether a host thread asks, or if none is given any.
    pub(crate) fn asks(&self, host: Option<usize>) -> bool {
        let state = self.state();
        let asks = |at: usize| matches!(state.hosts[at].standing, Standing::Asks(_));
        host.map_or_else(|| (0..state.hosts.len()).any(asks), asks)
    }

    /// Whether a host thread is left.
    pub(crate) fn left(&self) -> bool {
        self.state().hosts.iter().any(|slot| !matches!(slot.standing, Standing::Gone))
    }

    /// Whether a host thread is away, and may come back any moment.
    pub(crate) fn is_away(&self) -> bool {
        self.state().hosts.iter().any(|slot| matches!(slot.standing, Standing::Away))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Gives a host thread the baton until it comes back. False if it was away too long, and is left to itself.
    pub(crate) fn run(&self, host: usize) -> bool {
        let mut state = self.state();
        state.holder = Some(host);
        self.turn.notify_all();
        let limit = std::time::Instant::now() + self.patience;
        while state.holder == Some(host) && !state.stopped {
            let rest = limit.saturating_duration_since(std::time::Instant::now());
            if rest.is_zero() {
                state.holder = None;
                state.hosts[host].standing = Standing::Away;
                return false;
            }
            state = self.turn.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits a moment for a host thread to do something.
    pub(crate) fn pause(&self) {
        let state = self.state();
        let _ = self.turn.wait_timeout(state, Duration::from_millis(20));
    }

    /// Who waits, for a report: PE, where, and for what.
    pub(crate) fn waiting(&self) -> Vec<(u32, &'static Location<'static>, &'static str)> {
        let what = |slot: &Slot| match slot.standing {
            Standing::Waits => Some("the other PEs to come to this call"),
            Standing::Stream(..) | Standing::Asks(_) => Some("what it has launched to end"),
            _ => None,
        };
        let state = self.state();
        let mut all: Vec<_> =
            state.hosts.iter().filter_map(|slot| Some((slot.pe, slot.location, what(slot)?))).collect();
        all.sort_by_key(|&(pe, ..)| pe);
        all
    }
}
