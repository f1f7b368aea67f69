//! Streams and launches: what runs on a device, in which order, and how it ended.
//!
//! Launches of one stream run one after the other; those of different streams side by side, as room allows, unless one [waits](Stream::launch_after) for a point of another.
//! Blocks become resident in the order of the launches' starts: a later launch gets room only when all blocks
//! of the earlier ones have it.
//!
//! A stream whose kernel failed ([`Error::KernelPanicked`], [`Error::WildAccess`], [`Error::Diverged`]) runs
//! nothing more: what was queued on it is discarded and [`Stream::launch`] returns the failure again, until
//! [`Stream::synchronize`] hands it out; then the stream is as new.

use crate::check::baton::{self, Baton, Did};
use crate::device::{Device, DeviceShared};
use crate::error::Error;
use crate::host;
use crate::launch::{Launch, Point, StreamShared, Submission};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long one wait for a stream lasts before it starts anew.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A queue of launches on one device. Dropping it waits for nothing: what was launched runs on.
#[derive(Clone, Debug)]
pub struct Stream {
    device: Arc<DeviceShared>,
    shared: Arc<StreamShared>,
}

impl Device {
    /// Makes a stream.
    pub fn create_stream(&self) -> Stream {
        Stream { device: self.shared().clone(), shared: Arc::default() }
    }
}

impl Stream {
    /// Queues a launch and returns.
    ///
    /// # Errors
    /// The stream's failure, if an earlier kernel failed; [`Error::EmptyLaunch`], [`Error::BlockTooLarge`],
    /// [`Error::GridTooLarge`], [`Error::SharedTooLarge`] for a shape that no launch may have;
    /// [`Error::NotResident`] for a collective launch that the device cannot hold at once;
    /// [`Error::TooManyThreads`] if the process cannot have its threads; [`Error::Stopped`]. Nothing has run
    /// then.
    #[track_caller]
    pub fn launch(&self, launch: Launch) -> Result<(), Error> {
        self.submit(launch, None)
    }

    /// As [`launch`](Self::launch), but the launch, and so what comes after it, starts when all before `point` is over. The
    /// point is of a stream of the same device.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_after(&self, launch: Launch, point: &Point) -> Result<(), Error> {
        self.submit(launch, Some(point.clone()))
    }

    /// The end of what was queued so far.
    pub fn point(&self) -> Point {
        Point { stream: self.shared.clone(), goal: self.shared.state().submitted }
    }

    fn submit(&self, launch: Launch, after: Option<Point>) -> Result<(), Error> {
        launch.check(&self.device.config)?;
        let stacks = launch.stacks(&self.device.config)?;
        let mut state = self.shared.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let host = self.checked();
        if self.device.desk.is_some() && host.is_none() {
            return Err(Error::Stranger { device: self.device.index });
        }
        let ticket = host.as_ref().map_or(0, |(baton, host)| {
            let ticket = baton.ticket();
            baton.note(*host, Did::Launched { ticket });
            ticket
        });
        // Under the stream's lock, so that launches reach the worker in the order in which they are counted.
        self.device.submit(Submission { stream: self.shared.clone(), launch, stacks, ticket, after })?;
        state.submitted += 1;
        drop(state);
        // The kernel may run before its host goes on.
        if let Some((baton, host)) = host {
            baton.pass(host);
        }
        Ok(())
    }

    /// The checker's baton, and the calling host thread's number, if the machine is checked.
    fn checked(&self) -> Option<(Arc<Baton>, usize)> {
        let baton = &self.device.desk.as_ref()?.baton;
        baton::mine(baton).map(|host| (baton.clone(), host))
    }

    /// Notes that the calling host thread has found the stream idle.
    fn synced(&self) {
        if let Some((baton, host)) = self.checked() {
            let stream = Arc::as_ptr(&self.shared).addr();
            baton.note(host, Did::Synced { stream });
        }
    }

    /// Waits until every launch that was queued before has ended.
    ///
    /// # Errors
    /// The first failure of a kernel of this stream, once: the stream is as new afterwards.
    /// [`Error::Stopped`] if the machine was dropped meanwhile.
    pub fn synchronize(&self) -> Result<(), Error> {
        while !self.synchronize_for(A_DAY)? {}
        Ok(())
    }

    /// As [`synchronize`](Self::synchronize), for at most `longest` of wall time; false if that was not enough.
    ///
    /// # Errors
    /// Those of [`synchronize`](Self::synchronize).
    pub fn synchronize_for(&self, longest: Duration) -> Result<bool, Error> {
        let host = host::registered(&self.device.clock);
        let until = Instant::now() + longest.min(A_DAY);
        let mut state = self.shared.state();
        let goal = state.submitted;
        if let Some((baton, host)) = self.checked() {
            drop(state);
            baton.wait_for(host, &self.shared, goal);
            self.synced();
            state = self.shared.state();
            if state.ended < goal {
                let reason = "its machine has stopped".to_owned();
                return Err(Error::Stopped { device: self.device.index, reason });
            }
        }
        while state.ended < goal {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                if let Some(host) = &host {
                    // Nobody else marks it as running now, nor later, when it may wait for something else.
                    state.waiters.retain(|waiter| !Arc::ptr_eq(waiter, host));
                    host.set_running();
                    self.device.clock.changed();
                }
                return Ok(false);
            }
            if let Some(host) = &host {
                host.set_waiting();
                state.waiters.push(host.clone());
                self.device.clock.changed();
            }
            state = self.shared.ended.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(true),
        }
    }

    /// Whether every launch that was queued has ended. Never blocks; counts as a
    /// [tick](crate::HostThread::tick) of a registered host thread only if the caller says so.
    pub fn is_idle(&self) -> bool {
        let state = self.shared.state();
        let idle = state.ended == state.submitted;
        drop(state);
        if let Some((baton, host)) = self.checked() {
            if idle {
                self.synced();
            }
            baton.ask(host);
        }
        idle
    }
}

/// On a checked machine.
impl Stream {
    /// Whether everything before a point of this stream is over, which the calling host thread learns if it is. Others may
    /// go first. `None` if the machine is not checked.
    pub fn asked(&self, point: &Point) -> Option<bool> {
        let (baton, host) = self.checked()?;
        baton.ask(host);
        let over = self.shared.state().ended >= point.goal;
        if over {
            self.synced();
        }
        Some(over)
    }

    /// Waits until everything before a point of this stream is over; false if the machine is not checked.
    pub fn wait_checked(&self, point: &Point) -> bool {
        let Some((baton, host)) = self.checked() else { return false };
        baton.wait_for(host, &self.shared, point.goal);
        self.synced();
        true
    }
}
