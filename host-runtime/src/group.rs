//! The rendezvous of the PEs of one process: every collective host call meets here, the last PE to arrive does
//! the common part, and all leave with its result. A PE that fails or returns ends the wait of the others
//! with an error that names it; a PE that does not come ends it after the deadline.

use crate::alloc::{Allocation, AllocationId};
use crate::driver::{self, Release};
use crate::error::{Error, Result};
use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A collective host call, with what must be equal on all PEs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    BarrierAll,
    Alloc { how: &'static str, holds: &'static str, elements: u64, element_bytes: u64 },
    Filled(AllocationId),
    Free(AllocationId),
    RecoverDrained,
    RecoverReset,
}

impl Call {
    fn recovers(&self) -> bool {
        matches!(self, Self::RecoverDrained | Self::RecoverReset)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BarrierAll => f.write_str("barrier_all"),
            Self::Alloc { how, holds, elements, element_bytes } => {
                write!(f, "{how} of {elements} {holds} ({element_bytes} bytes each)")
            }
            Self::Filled(id) => write!(f, "filling of allocation #{}", id.0),
            Self::Free(id) => write!(f, "free of allocation #{}", id.0),
            Self::RecoverDrained | Self::RecoverReset => f.write_str("recover"),
        }
    }
}

/// What a PE brings to a rendezvous.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) call: Call,
    /// What went wrong on this PE before it came. It comes nevertheless, so that the others learn it. (Poison
    /// they learn from the alarm: it sends those that wait home, and the PE does not come.)
    pub(crate) trouble: Option<Error>,
    /// What a recovery is for. It sends home those that wait in other calls.
    pub(crate) recovers_from: Option<Error>,
}

/// What all PEs leave with.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Done,
    Allocated(Arc<Allocation>),
}

/// What a PE that is missing from a rendezvous is doing, and since when.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It runs host code: it may take one deadline to come.
    Host(Instant),
    /// It waits for its kernels, whose own waits are bounded: it may take `kernel_patience`.
    Kernels(Instant),
}

/// The PEs of one process.
pub(crate) struct Group {
    deadline: Duration,
    kernel_patience: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Who has come to the present rendezvous and waits.
    arrivals: Vec<Option<Arrival>>,
    /// What the arrival of a PE that waits was ended with: the rendezvous's result, or why it was sent home. It
    /// stays until that PE has woken, whatever the others do meanwhile.
    answers: Vec<Option<Result<Outcome>>>,
    /// PEs whose closure has returned.
    returned: Vec<bool>,
    doing: Vec<Doing>,
    /// The first PE that failed, and how.
    failed: Option<(u32, Error)>,
    waiting: Vec<Option<Release>>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Group {
    pub(crate) fn new(n_pes: u32, deadline: Duration, kernel_patience: Duration) -> Self {
        let state = State {
            arrivals: vec![None; n_pes as usize],
            answers: vec![None; n_pes as usize],
            returned: vec![false; n_pes as usize],
            doing: vec![Doing::Host(Instant::now()); n_pes as usize],
            failed: None,
            waiting: vec![None; n_pes as usize],
        };
        Self { deadline, kernel_patience, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Comes to a rendezvous and waits for the others. `lead` is run once, by the last to arrive, while the
    /// others wait; every PE passes the same.
    ///
    /// # Errors
    /// The own trouble; another PE's trouble or failure; [`Error::CallsDiffer`], [`Error::Absent`],
    /// [`Error::Returned`]; what `lead` returns.
    pub(crate) fn meet(
        &self,
        pe: u32,
        arrival: Arrival,
        lead: impl FnOnce() -> Result<Outcome>,
    ) -> Result<Outcome> {
        let own_trouble = arrival.trouble.clone();
        let result = self.arrive_and_wait(pe, arrival, lead);
        match own_trouble {
            Some(trouble) => Err(trouble),
            None => result,
        }
    }

    fn arrive_and_wait(
        &self,
        pe: u32,
        arrival: Arrival,
        lead: impl FnOnce() -> Result<Outcome>,
    ) -> Result<Outcome> {
        let mut state = self.lock();
        // What ended an earlier call says nothing about this one.
        state.answers[pe as usize] = None;
        if let Some(error) = state.failure_for(pe) {
            return Err(error);
        }
        let call = arrival.call.clone();
        match (&arrival.trouble, &arrival.recovers_from) {
            (Some(poison @ Error::Poisoned(_)), _) if !call.recovers() => {
                state.send_home(poison);
                self.wake(&state);
                return Err(poison.clone());
            }
            (_, Some(cause)) => {
                state.send_home(cause);
                self.wake(&state);
            }
            _ => {}
        }
        if !call.recovers()
            && let Some(cause) = state.arrivals.iter().flatten().find_map(|other| other.recovers_from.clone())
        {
            return Err(cause);
        }
        state.arrivals[pe as usize] = Some(arrival);
        if state.arrivals.iter().all(Option::is_some) {
            let arrivals: Vec<Arrival> = state.arrivals.iter_mut().filter_map(Option::take).collect();
            let result = conclude(&arrivals, lead);
            for (other, answer) in (0..).zip(&mut state.answers) {
                *answer = (other != pe).then(|| result.clone());
            }
            self.wake(&state);
            return result;
        }
        let start = Instant::now();
        loop {
            if let Some(answer) = state.answers[pe as usize].take() {
                return answer;
            }
            if let Some(error) = state.failure_for(pe).or_else(|| state.returned_error(pe, &call)) {
                state.arrivals[pe as usize] = None;
                return Err(error);
            }
            let rest = state.patience(start, self.deadline, self.kernel_patience);
            if rest.is_zero() {
                // Over for all that came, so that each of them names the same PEs.
                let absent = state.absent(pe, &call, start.elapsed());
                state.arrivals[pe as usize] = None;
                let State { arrivals, answers, .. } = &mut *state;
                for (arrival, answer) in arrivals.iter_mut().zip(answers) {
                    if arrival.take().is_some() {
                        *answer = Some(Err(absent.clone()));
                    }
                }
                self.wake(&state);
                return Err(absent);
            }
            state.waiting[pe as usize] = driver::release();
            let changed = &self.changed;
            state = driver::waiting(|| {
                changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
            });
            state.waiting[pe as usize] = None;
        }
    }

    /// Wakes those that wait. Their devices know that they are about to run before they do.
    fn wake(&self, state: &State) {
        state.waiting.iter().flatten().for_each(|release| release());
        self.changed.notify_all();
    }

    /// Notes that a PE starts to wait for its kernels, or has done so.
    pub(crate) fn waits_for_kernels(&self, pe: u32, waits: bool) {
        let now = Instant::now();
        self.lock().doing[pe as usize] = if waits { Doing::Kernels(now) } else { Doing::Host(now) };
    }

    /// Notes that a PE ended because `failed` failed, and tells those that wait. Only the first failure counts;
    /// true if it is this.
    pub(crate) fn fail(&self, pe: u32, failed: u32, error: Error) -> bool {
        let mut state = self.lock();
        state.returned[pe as usize] = true;
        let first = state.failed.is_none();
        if first {
            state.failed = Some((failed, error));
        }
        self.wake(&state);
        first
    }

    /// Notes that a PE's closure returned, and tells those that wait.
    pub(crate) fn finish(&self, pe: u32) {
        let mut state = self.lock();
        state.returned[pe as usize] = true;
        self.wake(&state);
    }

    /// The first failure of another PE than `pe`, if there is one.
    pub(crate) fn failure_for(&self, pe: u32) -> Option<Error> {
        self.lock().failure_for(pe)
    }

    /// The first failure of all.
    pub(crate) fn first_failure(&self) -> Option<Error> {
        self.lock().failed.clone().map(|(_, error)| error)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in `lead` leaves the state as it was before: the arrivals are gone, and there is no answer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the wait of those that have come to a call that is no recovery.
    fn send_home(&mut self, error: &Error) {
        for (arrival, answer) in self.arrivals.iter_mut().zip(&mut self.answers) {
            if arrival.take_if(|arrival| !arrival.call.recovers()).is_some() {
                *answer = Some(Err(error.clone()));
            }
        }
    }

    fn failure_for(&self, pe: u32) -> Option<Error> {
        match &self.failed {
            Some((failed, cause)) if *failed != pe => {
                Some(Error::PeFailed { pe: *failed, cause: Box::new(cause.clone()) })
            }
            _ => None,
        }
    }

    fn returned_error(&self, pe: u32, call: &Call) -> Option<Error> {
        let returned: Vec<u32> =
            self.missing().into_iter().filter(|&other| self.returned[other as usize]).collect();
        (!returned.is_empty()).then(|| Error::Returned { pe, call: call.to_string(), returned })
    }

    /// How much longer the missing PEs may take, for one that waits since `start`.
    fn patience(&self, start: Instant, deadline: Duration, kernels: Duration) -> Duration {
        let until = |pe: u32| match self.doing[pe as usize] {
            Doing::Host(since) => since.max(start) + deadline,
            Doing::Kernels(since) => since.max(start) + kernels,
        };
        let first = self.missing().into_iter().map(until).min();
        first.map_or(deadline, |first| first.saturating_duration_since(Instant::now()))
    }

    fn absent(&self, pe: u32, call: &Call, waited: Duration) -> Error {
        let missing = self.missing();
        let waits = |pe: &u32| matches!(self.doing[*pe as usize], Doing::Kernels(_));
        let in_kernels = missing.iter().copied().filter(waits).collect();
        Error::Absent { pe, call: call.to_string(), missing, in_kernels, waited }
    }

    fn missing(&self) -> Vec<u32> {
        (0..).zip(&self.arrivals).filter(|(_, arrival)| arrival.is_none()).map(|(pe, _)| pe).collect()
    }
}

fn conclude(arrivals: &[Arrival], lead: impl FnOnce() -> Result<Outcome>) -> Result<Outcome> {
    for (pe, arrival) in (0..).zip(arrivals) {
        if let Some(cause) = &arrival.trouble {
            // A poisoned job is poisoned for all; other trouble is one PE's.
            return Err(match cause {
                Error::Poisoned(_) => cause.clone(),
                _ => Error::PeFailed { pe, cause: Box::new(cause.root().clone()) },
            });
        }
    }
    if arrivals.iter().any(|arrival| arrival.call != arrivals[0].call) {
        return Err(Error::CallsDiffer { calls: arrivals.iter().map(|a| a.call.to_string()).collect() });
    }
    lead()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pes(n_pes: u32, deadline: Duration) -> Group {
        Group::new(n_pes, deadline, 10 * deadline)
    }

    fn arrival(call: Call) -> Arrival {
        Arrival { call, trouble: None, recovers_from: None }
    }

    fn all(
        n: u32,
        group: &Group,
        each: impl Fn(u32) -> Option<Result<Outcome>> + Sync,
    ) -> Vec<Option<String>> {
        let _ = group;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n)
                .map(|pe| {
                    scope.spawn({
                        let each = &each;
                        move || each(pe)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap().and_then(|r| r.err()).map(|error| error.to_string()))
                .collect()
        })
    }

    #[test]
    fn the_last_to_arrive_leads_and_all_get_the_result() {
        let (group, led) = (pes(4, Duration::from_secs(10)), Mutex::new(0));
        let errors = all(4, &group, |pe| {
            for _ in 0..100 {
                let lead = || {
                    *led.lock().unwrap() += 1;
                    Ok(Outcome::Done)
                };
                group.meet(pe, arrival(Call::BarrierAll), lead).unwrap();
            }
            None
        });
        assert_eq!(errors, [const { None }; 4]);
        assert_eq!(*led.lock().unwrap(), 100);
    }

    #[test]
    fn different_calls_are_an_error_on_every_pe() {
        let group = pes(3, Duration::from_secs(10));
        let errors = all(3, &group, |pe| {
            let call = if pe == 1 { Call::BarrierAll } else { Call::Free(AllocationId(7)) };
            Some(group.meet(pe, arrival(call), || unreachable!()))
        });
        for error in errors {
            let error = error.unwrap();
            assert!(error.contains("PE 0: free of allocation #7; PE 1: barrier_all"), "{error}");
        }
    }

    #[test]
    fn a_pe_that_does_not_come_is_named_after_the_deadline() {
        let group = pes(3, Duration::from_millis(50));
        let errors = all(3, &group, |pe| {
            (pe != 1).then(|| group.meet(pe, arrival(Call::BarrierAll), || unreachable!()))
        });
        for pe in [0, 2] {
            assert!(errors[pe].as_ref().unwrap().contains("missing: PE 1;"), "{errors:?}");
        }
    }

    #[test]
    fn a_pe_that_waits_for_its_kernels_may_take_longer() {
        let deadline = Duration::from_millis(50);
        let group = pes(2, deadline);
        let errors = all(2, &group, |pe| {
            if pe == 1 {
                group.waits_for_kernels(1, true);
                std::thread::sleep(4 * deadline);
                group.waits_for_kernels(1, false);
            }
            Some(group.meet(pe, arrival(Call::BarrierAll), || Ok(Outcome::Done)))
        });
        assert_eq!(errors, [None, None]);
    }

    #[test]
    fn a_pe_that_was_sent_home_leaves_nothing_behind() {
        let group = pes(2, Duration::from_secs(60));
        let errors = all(2, &group, |pe| {
            if pe == 1 {
                // Sends PE 0 home.
                let mut state = group.lock();
                while state.arrivals[0].is_none() {
                    state = group.changed.wait_timeout(state, Duration::from_millis(1)).unwrap().0;
                }
                state.send_home(&Error::other("go home"));
                group.wake(&state);
                return None;
            }
            Some(group.meet(pe, arrival(Call::BarrierAll), || unreachable!()))
        });
        assert_eq!(errors[0].as_deref(), Some("go home"));
        // Nothing of it is left, and if there were, it would say nothing about the next call.
        assert!(group.lock().answers[0].is_none());
        group.lock().answers[0] = Some(Err(Error::other("stale")));
        let errors =
            all(2, &group, |pe| Some(group.meet(pe, arrival(Call::BarrierAll), || Ok(Outcome::Done))));
        assert_eq!(errors, [None, None]);
    }

    #[test]
    fn a_pe_that_wakes_late_gets_the_result_of_its_own_rendezvous() {
        let group = pes(2, Duration::from_millis(20));
        // PE 0 has come and sleeps; PE 1 ends that rendezvous, then waits in vain at the next one.
        group.lock().arrivals[0] = Some(arrival(Call::BarrierAll));
        assert!(group.meet(1, arrival(Call::BarrierAll), || Ok(Outcome::Done)).is_ok());
        let error = group.meet(1, arrival(Call::BarrierAll), || unreachable!()).unwrap_err();
        assert!(matches!(error, Error::Absent { pe: 1, .. }), "{error}");
        assert!(matches!(group.lock().answers[0], Some(Ok(Outcome::Done))));
    }

    #[test]
    fn a_pe_that_fails_or_returns_ends_the_wait() {
        let group = pes(2, Duration::from_secs(60));
        let errors = all(2, &group, |pe| {
            if pe == 1 {
                group.finish(1);
                return None;
            }
            Some(group.meet(pe, arrival(Call::BarrierAll), || unreachable!()))
        });
        assert!(errors[0].as_ref().unwrap().contains("PE 1 already returned"), "{errors:?}");

        let group = pes(2, Duration::from_secs(60));
        let errors = all(2, &group, |pe| {
            if pe == 1 {
                group.fail(1, 1, Error::other("no luck"));
                return None;
            }
            Some(group.meet(pe, arrival(Call::BarrierAll), || unreachable!()))
        });
        assert_eq!(errors[0].as_ref().unwrap(), "PE 1 failed: no luck");
    }
}
