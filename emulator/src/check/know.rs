//! What a thread, an update under way, or a signal knows: which events come before, and which updates have arrived.
//!
//! | class | events | known to be before by |
//! |---|---|---|
//! | local, store | loads and stores of one's own memory, and through a pointer | what is issued |
//! | read | blocking gets, fetching atomics | what is issued |
//! | put | what puts, signals and atomics do at PE `t` | what has arrived at `t`, or by a put_signal's own signal |
//! | source | the reads of a non-blocking put to `t` | what is flushed, or by a put_signal's own signal |
//! | get | what a non-blocking get from `t` reads and writes | what is completed |

use super::clock::{self, Clock, Time, Who};
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// How an event becomes known to be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Local,
    /// A store through a pointer into the PE's memory.
    Store(u16),
    Read,
    Put(u16),
    Source(u16),
    Get(u16),
}

/// Which put_signal of whom: the scope that issued it, the PE it went to, and its number among those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Own {
    pub(crate) unit: u32,
    pub(crate) target: u16,
    pub(crate) number: u32,
}

/// The put_signals of one scope to one PE that are known to have arrived: ranges of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrived {
    unit: u32,
    target: u16,
    /// First and last of each range, in order.
    ranges: SmallVec<[(u32, u32); 2]>,
}

/// Which updates are known to be over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    pes: u16,
    /// By class: see [`Over::at`].
    classes: SmallVec<[Rc<Clock>; FEW]>,
    own: SmallVec<[Arrived; 1]>,
}

/// Clocks of a PE in [`Over`], and those besides.
const OF_PE: usize = 4;
const BESIDES: usize = 2;
/// Clocks that lie in [`Over`] itself: those of a run of four PEs.
const FEW: usize = OF_PE * 4 + BESIDES;

/// A part of [`Over`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// Arrived at the PE.
    Put(u16),
    /// Visible to all PEs, and not only at this one.
    Everywhere(u16),
    /// Sources of non-blocking puts to the PE.
    Source(u16),
    /// Non-blocking gets from the PE.
    Get(u16),
    /// Blocking gets, for who does not know of their issue.
    Read,
    /// Own memory, for other PEs.
    Local,
}

impl Over {
    pub(crate) fn new(pes: u32) -> Self {
        let nothing: Rc<Clock> = Rc::default();
        let count = OF_PE * pes as usize + BESIDES;
        Self { pes: pes as u16, classes: smallvec![nothing; count], own: SmallVec::new() }
    }

    /// Everything is over that a clock knows.
    pub(crate) fn all(pes: u32, clock: &Rc<Clock>) -> Self {
        let mut all = Self::new(pes);
        all.classes.fill(clock.clone());
        all
    }

    fn at(&self, part: Part) -> usize {
        let pes = usize::from(self.pes);
        match part {
            Part::Put(pe) => usize::from(pe),
            Part::Everywhere(pe) => pes + usize::from(pe),
            Part::Source(pe) => 2 * pes + usize::from(pe),
            Part::Get(pe) => 3 * pes + usize::from(pe),
            Part::Read => OF_PE * pes,
            Part::Local => OF_PE * pes + 1,
        }
    }

    pub(crate) fn part(&self, part: Part) -> &Rc<Clock> {
        &self.classes[self.at(part)]
    }

    fn learn(&mut self, part: Part, clock: &Rc<Clock>) {
        let at = self.at(part);
        clock::join(&mut self.classes[at], clock);
    }

    /// Whether a put_signal is known to have arrived.
    pub(crate) fn has(&self, own: Own) -> bool {
        let key = (own.unit, own.target);
        let Ok(at) = self.own.binary_search_by_key(&key, |a| (a.unit, a.target)) else { return false };
        let ranges = &self.own[at].ranges;
        let after = ranges.partition_point(|&(first, _)| first <= own.number);
        after > 0 && ranges[after - 1].1 >= own.number
    }

    fn add(&mut self, own: Own) {
        self.add_range(own.unit, own.target, (own.number, own.number));
    }

    fn add_range(&mut self, unit: u32, target: u16, (first, last): (u32, u32)) {
        let at = match self.own.binary_search_by_key(&(unit, target), |a| (a.unit, a.target)) {
            Ok(at) => at,
            Err(at) => {
                self.own.insert(at, Arrived { unit, target, ranges: SmallVec::new() });
                at
            }
        };
        let ranges = &mut self.own[at].ranges;
        let (mut first, mut last) = (first, last);
        let from = ranges.partition_point(|&(_, end)| end.saturating_add(1) < first);
        let mut to = from;
        while to < ranges.len() && ranges[to].0 <= last.saturating_add(1) {
            first = first.min(ranges[to].0);
            last = last.max(ranges[to].1);
            to += 1;
        }
        ranges.drain(from..to);
        ranges.insert(from, (first, last));
    }

    fn covers(&self, other: &Self) -> bool {
        // Many parts share a clock.
        let mut last: Option<(&Rc<Clock>, &Rc<Clock>)> = None;
        let mut covers = |own, other| {
            let again = last.is_some_and(|last| Rc::ptr_eq(last.0, own) && Rc::ptr_eq(last.1, other));
            last = Some((own, other));
            again || Rc::ptr_eq(own, other) || own.covers(other)
        };
        self.classes.iter().zip(&other.classes).all(|(own, other)| covers(own, other))
            && other.own.iter().all(|a| {
                a.ranges.iter().all(|&(first, last)| {
                    let end = |number| Own { unit: a.unit, target: a.target, number };
                    self.has(end(first)) && self.range_holds(a.unit, a.target, first, last)
                })
            })
    }

    fn range_holds(&self, unit: u32, target: u16, first: u32, last: u32) -> bool {
        match self.own.binary_search_by_key(&(unit, target), |a| (a.unit, a.target)) {
            Ok(at) => self.own[at].ranges.iter().any(|&(from, to)| from <= first && to >= last),
            Err(_) => false,
        }
    }

    fn join(&mut self, other: &Self) {
        for (own, other) in self.classes.iter_mut().zip(&other.classes) {
            clock::join(own, other);
        }
        for arrived in &other.own {
            for &range in &arrived.ranges {
                self.add_range(arrived.unit, arrived.target, range);
            }
        }
    }
}

/// All that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Know {
    /// What is issued.
    pub(crate) issued: Rc<Clock>,
    /// What is over.
    pub(crate) over: Rc<Over>,
    /// What quiets have completed, for a weak signal to tell. It travels within a PE only.
    pub(crate) done: Option<Rc<Know>>,
}

impl Know {
    pub(crate) fn new(pes: u32) -> Self {
        Self { issued: Rc::default(), over: Rc::new(Over::new(pes)), done: None }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        let done = match (&self.done, &other.done) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        done && Rc::ptr_eq(&self.issued, &other.issued) && Rc::ptr_eq(&self.over, &other.over)
    }

    /// What another PE learns of it.
    pub(crate) fn abroad(self) -> Self {
        Self { done: None, ..self }
    }

    /// Learns that a quiet has completed this.
    pub(crate) fn complete(&mut self, done: &Rc<Self>) {
        match &mut self.done {
            Some(own) if Rc::ptr_eq(own, done) => {}
            Some(own) => Rc::make_mut(own).join(done),
            None => self.done = Some(done.clone()),
        }
    }

    /// Whether it knows all that `other` knows, as far as that can be told at once.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let done = match (&self.done, &other.done) {
            (_, None) => true,
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (None, Some(_)) => false,
        };
        let issued = Rc::ptr_eq(&self.issued, &other.issued) || self.issued.covers(&other.issued);
        let over = || Rc::ptr_eq(&self.over, &other.over) || self.over.covers(&other.over);
        done && issued && over()
    }

    /// Learns all that `other` knows.
    pub(crate) fn join(&mut self, other: &Self) {
        clock::join(&mut self.issued, &other.issued);
        if let Some(done) = &other.done {
            self.complete(done);
        }
        if Rc::ptr_eq(&self.over, &other.over) || self.over.covers(&other.over) {
            return;
        }
        if other.over.covers(&self.over) {
            self.over = other.over.clone();
            return;
        }
        Rc::make_mut(&mut self.over).join(&other.over);
    }

    /// With what `who` did up to `time`.
    pub(crate) fn and(mut self, who: Who, time: Time) -> Self {
        Rc::make_mut(&mut self.issued).learn(who, time);
        self
    }

    /// Learns that a part is over up to `clock`.
    pub(crate) fn finish(&mut self, part: Part, clock: &Rc<Clock>) {
        let known = self.over.part(part);
        if !Rc::ptr_eq(known, clock) && !known.covers(clock) {
            Rc::make_mut(&mut self.over).learn(part, clock);
        }
    }

    /// Learns that a put_signal has arrived.
    pub(crate) fn receive(&mut self, own: Own) {
        if !self.over.has(own) {
            Rc::make_mut(&mut self.over).add(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(number: u32) -> Own {
        Own { unit: 3, target: 1, number }
    }

    #[test]
    fn arrivals_join_into_ranges() {
        let mut know = Know::new(2);
        for number in [1, 3, 2, 7] {
            know.receive(own(number));
        }
        assert_eq!(know.over.own[0].ranges[..], [(1, 3), (7, 7)]);
        assert!(know.over.has(own(2)) && !know.over.has(own(4)));
        let mut other = Know::new(2);
        other.receive(own(5));
        other.receive(own(4));
        other.join(&know);
        assert_eq!(other.over.own[0].ranges[..], [(1, 5), (7, 7)]);
        assert!(other.over.covers(&know.over) && !know.over.covers(&other.over));
    }

    #[test]
    fn what_is_over_is_known_by_part() {
        let mut clock = Clock::default();
        clock.learn(0, Time { phase: 0, own: 4 });
        let mut know = Know::new(2);
        know.finish(Part::Put(1), &Rc::new(clock));
        let time = Time { phase: 0, own: 4 };
        assert!(know.over.part(Part::Put(1)).knows(0, time));
        assert!(!know.over.part(Part::Put(0)).knows(0, time) && !know.issued.knows(0, time));
    }
}
