//! Machine time, and the proof that nothing can happen any more.
//!
//! Time is counted in steps, never in wall time: all devices' active steps divided by the number of busy
//! devices. A step is *active* if the thread did anything other than fail a poll again. Time also jumps: when
//! the machine is *quiescent*, to the earliest deadline of a wait, so that exactly this wait expires.
//!
//! | what | how it is known |
//! |---|---|
//! | the epoch | grows after every stretch of active steps, every launch, and when a host thread comes or goes |
//! | a device is clean at epoch E | it read E, then resumed each of its runnable threads, and none was active |
//! | the machine is quiescent | every busy device is clean at E, the epoch still is E, and no host thread is about to act |
//!
//! Why that is a proof: take the first active step that any device makes after it was clean at E. The thread
//! saw something that its clean pass did not: a word that another device wrote, later than E was read. That
//! write was an active step; had it come before its own device's clean pass, the epoch would have grown in
//! between, and the records would not all say E; so it came after, and was itself an earlier such step.
//! Therefore there is none. It holds for one process: for memory that other processes write there is
//! [`MachineConfig::outside_grace`].

use crate::config::MachineConfig;
use crate::standing::{HostState, Standing};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Steps that stand for one second of a deadline.
pub const STEPS_PER_SECOND: u64 = 1_000_000;

/// A deadline in steps.
pub fn steps(deadline: Duration) -> u64 {
    u64::try_from(deadline.as_micros().saturating_mul(u128::from(STEPS_PER_SECOND)) / 1_000_000)
        .unwrap_or(u64::MAX)
}

/// No wait has a deadline.
pub(crate) const NEVER: u64 = u64::MAX;

/// One clock per machine.
#[derive(Debug)]
pub(crate) struct Clock {
    time: AtomicU64,
    epoch: AtomicU64,
    /// Counts what devices did and what was written into their memory, but not the comings and goings of host threads.
    activity: AtomicU64,
    busy: AtomicU32,
    /// Per device: what wakes its worker, and where its time jumps at its next pass (0: nowhere).
    workers: Vec<Worker>,
    state: Mutex<State>,
    grace: Duration,
    patience: Duration,
    outside: Duration,
}

#[derive(Debug, Default)]
struct Worker {
    thread: OnceLock<Thread>,
    jump: AtomicU64,
}

#[derive(Debug)]
struct State {
    devices: Vec<Record>,
    hosts: Vec<Arc<HostState>>,
    /// Since when every busy device has been clean at this epoch.
    standing: Option<(u64, Instant)>,
    /// Since when there has been no activity but this.
    quiet: Option<(u64, Instant)>,
}

impl State {
    /// Since when the count of activity has been this.
    fn quiet_since(&mut self, activity: u64) -> Instant {
        match self.quiet {
            Some((at, since)) if at == activity => since,
            _ => self.quiet.insert((activity, Instant::now())).1,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    busy: bool,
    /// The epoch at which the device was clean; the epoch starts at 1.
    clean: u64,
    /// Its earliest deadline then.
    earliest: u64,
}

impl Clock {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        let records = vec![Record::default(); config.devices as usize];
        Self {
            time: AtomicU64::new(0),
            epoch: AtomicU64::new(1),
            activity: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            workers: (0..config.devices).map(|_| Worker::default()).collect(),
            state: Mutex::new(State { devices: records, hosts: Vec::new(), standing: None, quiet: None }),
            grace: config.host_grace,
            patience: config.host_patience,
            outside: config.outside_grace.unwrap_or(Duration::ZERO),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker of `device` is the calling thread.
    pub(crate) fn attach(&self, device: u32) {
        let _ = self.workers[device as usize].thread.set(std::thread::current());
    }

    /// Ends the sleep of a device's worker, or its next one.
    pub(crate) fn wake(&self, device: u32) {
        if let Some(thread) = self.workers[device as usize].thread.get() {
            thread.unpark();
        }
    }

    /// Wakes every device whose number is one of these bits, modulo 64, but `except`.
    pub(crate) fn wake_touched(&self, bits: u64, except: u32) {
        for device in 0..self.workers.len() as u32 {
            if device != except && bits & (1 << (device % 64)) != 0 {
                self.wake(device);
            }
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Something happened that may make waiting threads go on.
    pub(crate) fn changed(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// As [`changed`](Self::changed), and it was more than a host thread's coming or going.
    fn acted(&self) {
        self.activity.fetch_add(1, Ordering::AcqRel);
        self.changed();
    }

    /// Something happened outside of all devices: they look again at once.
    pub(crate) fn changed_outside(&self) {
        self.acted();
        self.wake_touched(u64::MAX, u32::MAX);
    }

    /// Adds a device's active steps; `carry` keeps what the division leaves.
    pub(crate) fn publish(&self, active: u64, carry: &mut u64) {
        let busy = u64::from(self.busy.load(Ordering::Relaxed).max(1));
        *carry += active;
        self.time.fetch_add(*carry / busy, Ordering::AcqRel);
        *carry %= busy;
        self.acted();
    }

    /// A device has work from now on.
    pub(crate) fn set_busy(&self, device: u32) {
        let mut state = self.state();
        let record = &mut state.devices[device as usize];
        if !record.busy {
            record.busy = true;
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
        self.acted();
    }

    /// A device has no work left.
    pub(crate) fn set_idle(&self, device: u32) {
        let mut state = self.state();
        let record = &mut state.devices[device as usize];
        if record.busy {
            record.busy = false;
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
        self.changed();
    }

    pub(crate) fn add_host(&self, host: Arc<HostState>) {
        self.state().hosts.push(host);
        self.changed();
    }

    pub(crate) fn remove_host(&self, host: &Arc<HostState>) {
        self.state().hosts.retain(|h| !Arc::ptr_eq(h, host));
        self.changed();
    }

    /// Where `device`'s time jumps in the pass that it is about to make, if it does. One thread sees it; the
    /// device calls [`landed`](Self::landed) when nothing more follows from that, and until then no one else
    /// sees the new time: so one wait expires, and the others see what it does.
    pub(crate) fn jump_of(&self, device: u32) -> Option<u64> {
        let jump = &self.workers[device as usize].jump;
        if jump.load(Ordering::Relaxed) == 0 {
            return None;
        }
        Some(jump.swap(0, Ordering::AcqRel))
    }

    /// Makes a jump the time of all devices.
    pub(crate) fn landed(&self, time: u64) {
        self.time.fetch_max(time, Ordering::AcqRel);
        self.acted();
    }

    /// A device is clean at `epoch` with `earliest` as its earliest deadline. If that makes the machine
    /// quiescent, some device's time jumps.
    pub(crate) fn clean(&self, device: u32, epoch: u64, earliest: u64) {
        let mut state = self.state();
        let quiet = state.quiet_since(self.activity.load(Ordering::Acquire));
        let record = &mut state.devices[device as usize];
        record.clean = epoch;
        record.earliest = earliest;
        if self.epoch() != epoch || state.devices.iter().any(|d| d.busy && d.clean != epoch) {
            return;
        }
        let since = match state.standing {
            Some((at, since)) if at == epoch => since,
            _ => {
                let now = Instant::now();
                state.standing = Some((epoch, now));
                state.hosts.iter().for_each(|host| host.mark_ticks());
                now
            }
        };
        let needed = state.hosts.iter().map(|host| match host.standing() {
            Standing::Waits => Duration::ZERO,
            Standing::MayReturn => self.grace,
            Standing::Runs => self.patience,
        });
        if since.elapsed() < needed.max().unwrap_or(Duration::ZERO) || quiet.elapsed() < self.outside {
            return;
        }
        let busy = state.devices.iter().enumerate().filter(|(_, d)| d.busy);
        let Some((first, until)) = busy.map(|(at, d)| (at, d.earliest)).min_by_key(|&(_, until)| until)
        else {
            return;
        };
        if until == NEVER {
            return;
        }
        // 0 means "no jump"; a deadline of 0 has passed anyway.
        self.workers[first].jump.store(until.max(1), Ordering::Release);
        self.changed();
        self.wake(first as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(devices: u32) -> Clock {
        let clock = Clock::new(&MachineConfig { devices, ..MachineConfig::default() });
        (0..devices).for_each(|d| clock.set_busy(d));
        clock
    }

    #[test]
    fn time_is_shared_by_the_busy_devices() {
        let (clock, mut carry) = (clock(4), 0);
        clock.publish(10, &mut carry);
        assert_eq!((clock.now(), carry), (2, 2));
        clock.publish(2, &mut carry);
        assert_eq!((clock.now(), carry), (3, 0));
    }

    #[test]
    fn the_earliest_wait_expires_when_all_busy_devices_are_clean_at_one_epoch() {
        let clock = clock(3);
        clock.set_idle(2);
        let epoch = clock.epoch();
        clock.clean(0, epoch, 700);
        assert_eq!(clock.jump_of(0), None);
        clock.clean(1, epoch, 500);
        assert_eq!((clock.jump_of(0), clock.jump_of(1)), (None, Some(500)));
        assert_eq!(clock.now(), 0, "the others do not see the jump yet");
        clock.landed(500);
        assert_eq!(clock.now(), 500);
    }

    #[test]
    fn activity_in_between_spoils_the_proof() {
        let clock = clock(2);
        let epoch = clock.epoch();
        clock.clean(0, epoch, 700);
        clock.publish(1, &mut 0);
        clock.clean(1, clock.epoch(), 500);
        assert_eq!((clock.jump_of(0), clock.jump_of(1)), (None, None));
    }

    #[test]
    fn a_running_host_thread_holds_the_clock_back() {
        let clock = clock(1);
        let host = Arc::new(HostState::default());
        clock.add_host(host.clone());
        clock.clean(0, clock.epoch(), 5);
        assert_eq!(clock.jump_of(0), None);
        host.set_waiting();
        clock.clean(0, clock.epoch(), 5);
        assert_eq!(clock.jump_of(0), Some(5));
    }

    #[test]
    fn a_host_thread_that_comes_and_goes_does_not_put_off_what_other_processes_may_do() {
        let outside_grace = Some(Duration::from_millis(30));
        let clock = Clock::new(&MachineConfig { outside_grace, ..MachineConfig::default() });
        clock.set_busy(0);
        clock.clean(0, clock.epoch(), 5);
        assert_eq!(clock.jump_of(0), None, "nothing has stood for so long");
        std::thread::sleep(Duration::from_millis(40));
        clock.changed();
        clock.clean(0, clock.epoch(), 5);
        assert_eq!(clock.jump_of(0), Some(5));
        clock.landed(5);
        clock.clean(0, clock.epoch(), 9);
        assert_eq!(clock.jump_of(0), None, "a jump is activity");
    }

    #[test]
    fn seconds_are_steps() {
        assert_eq!(steps(Duration::from_secs(30)), 30_000_000);
        assert_eq!(steps(Duration::MAX), u64::MAX);
    }
}
