//! The rendezvous of the PEs of a job, in the process that serves it: every collective host call meets here, the last
//! PE to arrive does the common part, and all leave with its result. Calls over a team are meetings of its PEs alone:
//! several may be under way, and each PE is in one at a time. A PE that fails or returns ends the wait of the
//! others with an error that names it; a PE that does not come ends it after the deadline. A PE of this process waits in
//! its own thread; one of another process is told what becomes of its arrival.

use super::call::{Agreed, Arrival, Call};
use super::message::{RELEASED_BY_ALL, ToPe};
use super::{END, FailureHook, Lead, OnFailure, SILENCE, failure_for};
use crate::alloc::AllocationId;
use crate::board::{Board, Doing, now};
use crate::driver::{self, Release};
use crate::error::{Error, Result};
use std::fmt::{self, Formatter};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often one that waits for the end looks whether the others can still run.
const LOOK: Duration = Duration::from_millis(500);

/// How long a PE that does not come may take, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// While it runs host code.
    host: u64,
    /// While it waits for its kernels, whose own waits are bounded.
    kernels: u64,
}

impl Patience {
    /// How long a process may not have said that it can run.
    fn silence(self) -> u64 {
        self.host.max(SILENCE.as_nanos() as u64)
    }
}

/// The PEs of a job.
pub(crate) struct Rendezvous {
    patience: Patience,
    board: Arc<Board>,
    state: Mutex<State>,
    changed: Condvar,
    on_failure: FailureHook,
}

struct State {
    /// By PE.
    seats: Vec<Seat>,
    /// The first PE that failed, and how.
    failed: Option<(u32, Error)>,
    /// What PEs have released since the last agreement.
    released: Vec<AllocationId>,
}

#[derive(Default)]
struct Seat {
    /// What it has brought, if it has come to the present rendezvous and waits, and since when.
    arrival: Option<(Arrival, u64)>,
    /// What the arrival of a PE that waits was ended with: the rendezvous's result, or why it was sent home. It
    /// stays until that PE has woken, whatever the others do meanwhile.
    answer: Option<Result<Agreed>>,
    /// Whether its closure has returned.
    returned: bool,
    /// Ends the device's view that the PE's thread waits.
    waiting: Option<Release>,
    /// Leads to the PE if it is another process.
    afar: Option<Sender<ToPe>>,
    /// The number of its last arrival, if it is another process.
    number: u32,
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendezvous").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Rendezvous {
    pub(crate) fn new(n_pes: u32, deadline: Duration, kernel_patience: Duration, board: Arc<Board>) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
        let seats = (0..n_pes).map(|_| Seat::default()).collect();
        Self {
            patience: Patience { host: nanoseconds(deadline), kernels: nanoseconds(kernel_patience) },
            board,
            state: Mutex::new(State { seats, failed: None, released: Vec::new() }),
            changed: Condvar::new(),
            on_failure: FailureHook::default(),
        }
    }

    /// Comes to a rendezvous and waits for the others. `lead` is run once, by the last to arrive, while the
    /// others wait; every PE passes the same.
    ///
    /// # Errors
    /// Another PE's trouble or failure; [`Error::CallsDiffer`], [`Error::Absent`], [`Error::Returned`]; what
    /// `lead` returns. If the arrival has trouble of its own, that of another PE may come first.
    pub(super) fn meet(&self, pe: u32, arrival: Arrival, lead: Option<Lead<'_>>) -> Result<Agreed> {
        let mut state = self.lock();
        if let Some(result) = self.arrive(&mut state, pe, arrival, lead) {
            return result;
        }
        loop {
            if let Some(answer) = self.look(&mut state, pe) {
                return answer;
            }
            if state.seats[pe as usize].arrival.is_none() {
                // The PE that came last has panicked in the common part, which is a fault of this library.
                let broken = || Error::other("the common part of a collective call did not end");
                return Err(state.failure_for(pe).unwrap_or_else(broken));
            }
            // What the others do changes without a word: it is looked at anew now and then.
            let rest = state.patience_left(pe, self.patience, &self.board).min(self.patience.host);
            let rest = Duration::from_nanos(rest);
            state.seats[pe as usize].waiting = driver::release();
            let changed = &self.changed;
            state = driver::waiting(|| {
                changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
            });
            state.seats[pe as usize].waiting = None;
        }
    }

    /// Takes the arrival of a PE of another process, which is told what becomes of it.
    pub(super) fn arrive_from_afar(&self, pe: u32, arrival: Arrival) {
        let mut state = self.lock();
        state.seats[pe as usize].number = arrival.number;
        let result = self.arrive(&mut state, pe, arrival, None).or_else(|| self.look(&mut state, pe));
        if let Some(result) = result {
            state.answer(pe, result);
        }
    }

    /// Ends the waits of PEs of other processes that have taken too long.
    pub(super) fn tend(&self) {
        let mut state = self.lock();
        let afar = (0..).zip(&state.seats).filter(|(_, seat)| seat.afar.is_some());
        // Nobody's patience ends before that of the one who came first to the same meeting.
        let mut first: Vec<(u64, u32)> =
            afar.filter_map(|(pe, seat)| Some((seat.arrival.as_ref()?.1, pe))).collect();
        first.sort_unstable();
        let mut looked: Vec<Vec<u32>> = Vec::new();
        for (_, pe) in first {
            let Some((Arrival { members, .. }, _)) = &state.seats[pe as usize].arrival else { continue };
            if looked.contains(members) {
                continue;
            }
            looked.push(members.clone());
            if let Some(answer) = self.look(&mut state, pe) {
                state.answer(pe, answer);
            }
        }
    }

    /// Takes an arrival; its result, if that is known at once.
    fn arrive(
        &self,
        state: &mut State,
        pe: u32,
        mut arrival: Arrival,
        lead: Option<Lead<'_>>,
    ) -> Option<Result<Agreed>> {
        state.released.append(&mut arrival.released);
        // What ended an earlier call says nothing about this one.
        state.seats[pe as usize].answer = None;
        if let Some(error) = state.failure_for(pe) {
            return Some(Err(error));
        }
        let recovers = arrival.call.recovers();
        match (&arrival.trouble, &arrival.recovers_from) {
            (Some(poison), _) if poison.is_poison() && !recovers => {
                state.send_home(poison);
                self.wake(state);
                return Some(Err(poison.clone()));
            }
            (_, Some(cause)) => {
                state.send_home(cause);
                self.wake(state);
            }
            _ => {}
        }
        if !recovers && let Some(cause) = state.arrivals().find_map(|other| other.recovers_from.clone()) {
            return Some(Err(cause));
        }
        if !arrival.members.is_empty() && !state.can_meet(pe, &arrival.members) {
            return Some(Err(Error::other("a call over a team that there cannot be")));
        }
        state.seats[pe as usize].arrival = Some((arrival, now()));
        let all_here = state.missing(pe).next().is_none();
        let (meeting, result) = match all_here {
            true => {
                let meeting = state.meeting(pe);
                let come = |other: &u32| Some(state.seats[*other as usize].arrival.take()?.0);
                let arrivals: Vec<Arrival> = meeting.iter().filter_map(come).collect();
                let result = conclude(&meeting, arrivals, state, lead);
                (meeting, result)
            }
            // Every PE waits for one that waits elsewhere.
            false if state.arrivals().count() == state.seats.len() => {
                let calls = state.all().map(|pe| state.call_of(pe)).collect();
                state.seats.iter_mut().for_each(|seat| seat.arrival = None);
                (state.all().collect(), Err(Error::CallsDiffer { calls }))
            }
            false => return None,
        };
        for other in meeting.into_iter().filter(|other| *other != pe) {
            state.seats[other as usize].answer = Some(result.clone());
        }
        self.wake(state);
        Some(result)
    }

    /// What has become of the arrival of a PE that waits, if anything.
    fn look(&self, state: &mut State, pe: u32) -> Option<Result<Agreed>> {
        let seat = &mut state.seats[pe as usize];
        if let Some(answer) = seat.answer.take() {
            return Some(answer);
        }
        let (Arrival { members, .. }, since) = seat.arrival.as_ref()?;
        let (members, since) = (members.clone(), *since);
        if let Some(error) = state.failure_for(pe).or_else(|| state.returned_error(pe)) {
            state.seats[pe as usize].arrival = None;
            return Some(Err(error));
        }
        if state.patience_left(pe, self.patience, &self.board) > 0 {
            return None;
        }
        // Over for all that came to this meeting, so that each of them names the same PEs.
        let absent = state.absent(pe, since, self.patience.silence(), &self.board);
        for (other, seat) in (0..).zip(&mut state.seats) {
            let same = seat.arrival.take_if(|(arrival, _)| arrival.members == members);
            if same.is_some() && other != pe {
                seat.answer = Some(Err(absent.clone()));
            }
        }
        self.wake(state);
        Some(Err(absent))
    }

    /// Tells the PEs of other processes what has become of their arrivals.
    fn look_afar(&self, state: &mut State) {
        for pe in 0..state.seats.len() as u32 {
            if state.seats[pe as usize].afar.is_some()
                && let Some(answer) = self.look(state, pe)
            {
                state.answer(pe, answer);
            }
        }
    }

    /// Wakes those that wait. Their devices know that they are about to run before they do. Those of other processes are
    /// told at once, so that what follows reaches them later.
    fn wake(&self, state: &mut State) {
        for pe in 0..state.seats.len() as u32 {
            let seat = &mut state.seats[pe as usize];
            if seat.afar.is_some()
                && let Some(answer) = seat.answer.take()
            {
                state.answer(pe, answer);
            }
        }
        state.seats.iter().filter_map(|seat| seat.waiting.as_ref()).for_each(|release| release());
        self.changed.notify_all();
    }

    /// Notes that a PE ended because `failed` failed, and tells the others. Only the first failure counts.
    pub(crate) fn fail(&self, pe: u32, failed: u32, error: Error) {
        let mut state = self.lock();
        state.seats[pe as usize].returned = true;
        let first = state.failed.is_none();
        if first {
            state.tell_all(&ToPe::Failed { pe: failed, error: error.clone() });
            state.failed = Some((failed, error));
        }
        self.ended(&mut state);
        drop(state);
        if first {
            self.on_failure.call(failed);
        }
    }

    /// Notes that a PE's closure returned, and tells those that wait.
    pub(crate) fn finish(&self, pe: u32) {
        let mut state = self.lock();
        state.seats[pe as usize].returned = true;
        self.ended(&mut state);
    }

    /// What follows from the end of a PE.
    fn ended(&self, state: &mut State) {
        if state.is_over() {
            state.tell_all(&ToPe::Ended);
        }
        self.wake(state);
        self.look_afar(state);
    }

    /// Waits until the closures of all PEs have returned, or one has failed. What they still compute may take any time.
    ///
    /// # Errors
    /// [`Error::Absent`] for PEs whose processes have not run for a deadline.
    pub(super) fn wait_for_end(&self, pe: u32) -> Result<()> {
        let start = now();
        let mut state = self.lock();
        while !state.is_over() && state.failed.is_none() {
            let stopped = |other: u32| {
                let quiet = |beat: u64| now().saturating_sub(beat.max(start)) > self.patience.silence();
                !state.seats[other as usize].returned && self.board.last_beat(other).is_some_and(quiet)
            };
            let missing: Vec<u32> = (0..state.seats.len() as u32).filter(|other| stopped(*other)).collect();
            if !missing.is_empty() {
                let waited = Duration::from_nanos(now().saturating_sub(start));
                let (call, stopped) = (END.to_owned(), missing.clone());
                return Err(Error::Absent { pe, call, missing, in_kernels: Vec::new(), stopped, waited });
            }
            let changed = &self.changed;
            state = driver::blocked(|| {
                changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
            });
        }
        Ok(())
    }

    /// Whether a PE's closure has returned, or failed.
    pub(super) fn has_returned(&self, pe: u32) -> bool {
        self.lock().seats[pe as usize].returned
    }

    /// Names the way to a PE of another process, or takes it away: then what it was told last has left this process
    /// when the other end of the way is empty.
    pub(super) fn set_afar(&self, pe: u32, afar: Option<Sender<ToPe>>) {
        let mut state = self.lock();
        state.seats[pe as usize].afar = afar;
        // Another one may have failed before this one was served.
        if let Some((failed, error)) = state.failed.clone() {
            state.tell(pe, ToPe::Failed { pe: failed, error });
        }
    }

    /// The first PE that failed, and how.
    pub(super) fn failed(&self) -> Option<(u32, Error)> {
        self.lock().failed.clone()
    }

    pub(super) fn on_failure(&self, then: OnFailure) {
        self.on_failure.set(then, || self.failed());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic in `lead` the arrivals are gone and there is no answer, which those that wait see.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn all(&self) -> std::ops::Range<u32> {
        0..self.seats.len() as u32
    }

    /// Whether these are PEs of the job, `pe` among them.
    fn can_meet(&self, pe: u32, members: &[u32]) -> bool {
        members.contains(&pe) && members.iter().all(|member| self.all().contains(member))
    }

    /// Who meets in the call that a PE has come to.
    fn meeting(&self, pe: u32) -> Vec<u32> {
        match &self.seats[pe as usize].arrival {
            Some((arrival, _)) if !arrival.members.is_empty() => arrival.members.clone(),
            _ => self.all().collect(),
        }
    }

    fn arrivals(&self) -> impl Iterator<Item = &Arrival> {
        self.seats.iter().filter_map(|seat| seat.arrival.as_ref().map(|(arrival, _)| arrival))
    }

    /// Ends the wait of those that have come to a call that is no recovery.
    fn send_home(&mut self, error: &Error) {
        for seat in &mut self.seats {
            if seat.arrival.take_if(|(arrival, _)| !arrival.call.recovers()).is_some() {
                seat.answer = Some(Err(error.clone()));
            }
        }
    }

    /// Tells a PE of another process what became of its last arrival.
    fn answer(&mut self, pe: u32, result: Result<Agreed>) {
        let number = self.seats[pe as usize].number;
        self.tell(pe, ToPe::Answer { number, result });
    }

    fn tell(&mut self, pe: u32, news: ToPe) {
        if let Some(afar) = &self.seats[pe as usize].afar {
            // A PE whose connection has ended is lost, which is noted elsewhere.
            let _ = afar.send(news);
        }
    }

    fn tell_all(&mut self, news: &ToPe) {
        (0..self.seats.len() as u32).for_each(|pe| self.tell(pe, news.clone()));
    }

    fn is_over(&self) -> bool {
        self.seats.iter().all(|seat| seat.returned)
    }

    fn failure_for(&self, pe: u32) -> Option<Error> {
        failure_for(pe, self.failed.clone())
    }

    fn call_of(&self, pe: u32) -> String {
        self.seats[pe as usize]
            .arrival
            .as_ref()
            .map(|(arrival, _)| arrival.call.to_string())
            .unwrap_or_default()
    }

    fn returned_error(&self, pe: u32) -> Option<Error> {
        let returned: Vec<u32> =
            self.missing(pe).filter(|&other| self.seats[other as usize].returned).collect();
        (!returned.is_empty()).then(|| Error::Returned { pe, call: self.call_of(pe), returned })
    }

    /// How much longer the missing PEs may take, for one that waits.
    fn patience_left(&self, pe: u32, patience: Patience, board: &Board) -> u64 {
        let Some((_, start)) = self.seats[pe as usize].arrival else { return 0 };
        let until = |pe: u32| {
            let until = match board.doing(pe) {
                Doing::Host(since) => since.max(start).saturating_add(patience.host),
                Doing::Kernels(since) => since.max(start).saturating_add(patience.kernels),
            };
            // A process that cannot run is waited for as if it ran host code, whatever its kernels do.
            let stopped = board.last_beat(pe).map(|beat| beat.max(start).saturating_add(patience.silence()));
            until.min(stopped.unwrap_or(u64::MAX))
        };
        let first = self.missing(pe).map(until).min();
        first.map_or(patience.host, |first| first.saturating_sub(now()))
    }

    fn absent(&self, pe: u32, since: u64, silence: u64, board: &Board) -> Error {
        let missing: Vec<u32> = self.missing(pe).collect();
        let waits = |pe: &u32| matches!(board.doing(*pe), Doing::Kernels(_));
        let in_kernels = missing.iter().copied().filter(waits).collect();
        let waited = Duration::from_nanos(now().saturating_sub(since));
        let quiet = |pe: &u32| board.last_beat(*pe).is_some_and(|beat| now().saturating_sub(beat) > silence);
        let stopped = missing.iter().copied().filter(quiet).collect();
        Error::Absent { pe, call: self.call_of(pe), missing, in_kernels, stopped, waited }
    }

    /// Who has not come to the meeting that a PE waits in.
    fn missing(&self, pe: u32) -> impl Iterator<Item = u32> {
        let members = self.seats[pe as usize].arrival.as_ref().map(|(arrival, _)| &arrival.members);
        let listed = members.map_or(&[][..], Vec::as_slice);
        let all = if listed.is_empty() { self.all() } else { 0..0 };
        let come = move |other: &u32| {
            let arrival = self.seats[*other as usize].arrival.as_ref();
            arrival.map(|(arrival, _)| &arrival.members) == members
        };
        all.chain(listed.iter().copied()).filter(move |other| !come(other))
    }
}

/// Ends a meeting to which all have come.
fn conclude(
    meeting: &[u32],
    mut arrivals: Vec<Arrival>,
    state: &mut State,
    lead: Option<Lead<'_>>,
) -> Result<Agreed> {
    for (&pe, arrival) in meeting.iter().zip(&arrivals) {
        if let Some(cause) = &arrival.trouble {
            return Err(match cause {
                // A heap that cannot grow cannot for all.
                Error::OutOfMemory { .. } if matches!(arrival.call, Call::Taken(_)) => cause.clone(),
                _ => Error::of_another_pe(pe, cause.root().clone()),
            });
        }
    }
    if arrivals.iter().any(|arrival| arrival.call != arrivals[0].call) {
        let mut calls = vec![String::new(); state.seats.len()];
        for (&pe, arrival) in meeting.iter().zip(&arrivals) {
            calls[pe as usize] = arrival.call.to_string();
        }
        return Err(Error::CallsDiffer { calls });
    }
    let gathered = arrivals.iter_mut().map(|arrival| std::mem::take(&mut arrival.data)).collect();
    // What is told to other processes has a largest size; threads need not wait for the rest. It is for all PEs.
    let released = &mut state.released;
    let most = match lead.is_some() {
        _ if meeting.len() < state.seats.len() => 0,
        true => released.len(),
        false => released.len().min(RELEASED_BY_ALL),
    };
    let released = released.drain(..most).collect();
    let mut agreed = Agreed { released: Arc::new(released), gathered: Arc::new(gathered), allocated: None };
    if let Some(lead) = lead {
        lead(&mut agreed)?;
    }
    Ok(agreed)
}

#[cfg(test)]
mod tests;
