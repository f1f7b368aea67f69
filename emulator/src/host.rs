//! Host threads: one that may still launch something, or write memory, holds the clock back.
//!
//! A host thread of a PE registers itself. Inside [`Stream::synchronize`](crate::Stream::synchronize) it is
//! known to wait, and the device marks it as running when it lets it go, so no moment is lost between the two.
//! The same holds inside [`HostThread::waiting`], where whoever ends the wait says so first.
//! Inside [`HostThread::blocked`] it waits for something that the emulator does not know; then quiescence must
//! stand for [`MachineConfig::host_grace`](crate::MachineConfig::host_grace) of wall time before it counts.

use crate::check::baton::{Baton, Did};
use crate::clock::Clock;
use crate::standing::{BLOCKED, HostState, WAITING};
use core::panic::Location;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

thread_local! {
    /// This thread's registrations; one per machine.
    static REGISTERED: RefCell<Vec<(Weak<Clock>, Arc<HostState>)>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread's state on the machine of `clock`, if it is registered there.
pub(crate) fn registered(clock: &Arc<Clock>) -> Option<Arc<HostState>> {
    REGISTERED.with_borrow(|all| {
        let found = all.iter().rev().find(|(of, _)| of.as_ptr() == Arc::as_ptr(clock));
        found.map(|(_, state)| state.clone())
    })
}

/// The calling thread, registered with a machine until dropped. Every host thread of a PE registers before the
/// first launch; threads that do not are taken to do nothing that a kernel could wait for. While it is neither in
/// [`Stream::synchronize`](crate::Stream::synchronize) nor in [`blocked`](Self::blocked) no wait of a kernel
/// expires by quiescence, for at most
/// [`MachineConfig::host_patience`](crate::MachineConfig::host_patience) of wall time.
#[derive(Debug)]
pub struct HostThread {
    clock: Arc<Clock>,
    state: Arc<HostState>,
    /// On a checked machine: the baton, and the thread's number.
    checked: Option<(Arc<Baton>, usize)>,
    /// It speaks for the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl HostThread {
    #[track_caller]
    pub(crate) fn new(clock: Arc<Clock>, checked: Option<(Arc<Baton>, u32)>) -> Self {
        let state = Arc::new(HostState::default());
        clock.add_host(state.clone());
        REGISTERED.with_borrow_mut(|all| all.push((Arc::downgrade(&clock), state.clone())));
        let checked = checked.map(|(baton, pe)| {
            let host = baton.join(pe);
            (baton, host)
        });
        Self { clock, state, checked, _thread: PhantomData }
    }

    /// Runs `wait`, which blocks this thread without launching anything: a rendezvous with other PEs, a
    /// [`Stream::synchronize`](crate::Stream::synchronize).
    pub fn blocked<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.aside(BLOCKED, wait)
    }

    fn aside<R>(&self, state: u8, wait: impl FnOnce() -> R) -> R {
        if let Some((baton, host)) = &self.checked {
            return baton.aside(*host, wait);
        }
        struct Running<'a>(&'a HostThread);
        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.state.set_running();
                self.0.clock.changed();
            }
        }
        self.state.state.store(state, Ordering::Release);
        self.clock.changed();
        let _running = Running(self);
        wait()
    }

    /// Runs `wait`, which blocks this thread until another thread ends that, having called
    /// [`HostHandle::released`] first. Such a wait holds the clock back in no way.
    pub fn waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.aside(WAITING, wait)
    }

    /// A handle for others, who end this thread's waits.
    pub fn handle(&self) -> HostHandle {
        HostHandle { clock: self.clock.clone(), state: self.state.clone(), checked: self.checked.clone() }
    }

    /// Says that this thread asked something without blocking. A thread that does nothing else while nothing
    /// else happens does not hold the clock back.
    pub fn tick(&self) {
        self.state.ticks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Speaks for a [`HostThread`] from other threads.
#[derive(Clone, Debug)]
pub struct HostHandle {
    clock: Arc<Clock>,
    state: Arc<HostState>,
    checked: Option<(Arc<Baton>, usize)>,
}

impl HostHandle {
    /// Says that the thread's wait is about to be ended. Whoever ends it calls this first: then the clock does
    /// not move between that and the moment at which the thread really runs.
    pub fn released(&self) {
        if let Some((baton, host)) = &self.checked {
            baton.released(*host);
        }
        self.state.set_running();
        self.clock.changed();
    }
}

impl HostThread {
    /// Says, of a checked machine, that the thread comes to a meeting of these PEs, or of all if there is none. `completes`:
    /// everything that its PE has launched is over by then, and what it did has arrived. Others may go first.
    pub fn arrives(&self, at: &'static Location<'static>, members: &[u32], completes: bool) {
        if let Some((baton, host)) = &self.checked {
            baton.at(*host, at);
            baton.pass(*host);
            baton.note(*host, Did::Arrives { members: members.to_vec(), completes });
        }
    }

    /// Says, of a checked machine, that the thread goes on after it has waited, or not, for the others of a meeting. It
    /// returns when it is its turn.
    pub fn back(&self) {
        if let Some((baton, host)) = &self.checked {
            baton.back(*host);
        }
    }

    /// Says, of a checked machine, that everything that the thread's PE has launched is over, and that what it did has arrived.
    pub fn completes(&self, at: &'static Location<'static>) {
        if let Some((baton, host)) = &self.checked {
            baton.at(*host, at);
            baton.note(*host, Did::Completes);
        }
    }

    /// Says that it leaves the meeting, in which all have come.
    pub fn leaves(&self, at: &'static Location<'static>, members: &[u32]) {
        if let Some((baton, host)) = &self.checked {
            baton.at(*host, at);
            baton.note(*host, Did::Leaves { members: members.to_vec() });
        }
    }
}

impl Drop for HostThread {
    fn drop(&mut self) {
        if let Some((baton, host)) = &self.checked {
            baton.leave(*host);
        }
        self.clock.remove_host(&self.state);
        // Fails only while the thread ends, and its list with it.
        let _ =
            REGISTERED.try_with(|all| all.borrow_mut().retain(|(_, state)| !Arc::ptr_eq(state, &self.state)));
    }
}
