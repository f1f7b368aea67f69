//! Vector clocks of GPU threads, with a warp as the component.
//!
//! A thread's time is its warp's *phase*, which grows whenever all threads of the warp meet, and a count of its own within
//! that. A clock says of each warp up to which phase it knows all, and of single threads what it knows beyond. So it costs
//! four bytes a warp, and what a barrier joins needs no word per thread.

use smallvec::SmallVec;
use std::rc::Rc;

/// A thread of the run: its warp's number times 32, and its lane. A host thread has a warp of its own.
pub(crate) type Who = u32;

/// When a thread did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Time {
    pub(crate) phase: u32,
    pub(crate) own: u32,
}

/// What is known of all threads' pasts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Everything of the warps below is known, but for the first few, which are host threads.
    from: u32,
    hosts: u32,
    /// By warp, from `from` on: everything of the phases below is known.
    base: Vec<u32>,
    /// Of single threads, in order: everything up to and with this time is known, beyond their warp's base.
    more: SmallVec<[(Who, Time); 4]>,
}

pub(crate) fn warp_of(who: Who) -> usize {
    who as usize >> 5
}

impl Clock {
    /// Knows everything of the warps below `from`, but for the first `hosts`.
    pub(crate) fn from(from: u32, hosts: u32) -> Self {
        Self { from, hosts, ..Self::default() }
    }

    fn base(&self, warp: usize) -> u32 {
        match warp.checked_sub(self.from as usize) {
            Some(at) => self.base.get(at).copied().unwrap_or(0),
            None if warp < self.hosts as usize => 0,
            None => u32::MAX,
        }
    }

    /// Whether what `who` did at `time` is known.
    pub(crate) fn knows(&self, who: Who, time: Time) -> bool {
        if self.base(warp_of(who)) > time.phase {
            return true;
        }
        match self.more.binary_search_by_key(&who, |&(who, _)| who) {
            Ok(at) => self.more[at].1 >= time,
            Err(_) => false,
        }
    }

    /// Learns all that `who` did up to `time`.
    pub(crate) fn learn(&mut self, who: Who, time: Time) {
        if self.base(warp_of(who)) > time.phase {
            return;
        }
        match self.more.binary_search_by_key(&who, |&(who, _)| who) {
            Ok(at) => self.more[at].1 = self.more[at].1.max(time),
            Err(at) => self.more.insert(at, (who, time)),
        }
    }

    /// Learns all that the threads of a warp did in the phases below `phase`.
    pub(crate) fn learn_warp(&mut self, warp: usize, phase: u32) {
        let Some(at) = warp.checked_sub(self.from as usize) else { return };
        if self.base.len() <= at {
            self.base.resize(at + 1, 0);
        }
        if self.base[at] < phase {
            self.base[at] = phase;
            self.more.retain(|&mut (who, time)| warp_of(who) != warp || time.phase >= phase);
        }
    }

    /// Learns all that `other` knows.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.from < other.from {
            let gone = (other.from - self.from) as usize;
            self.base.drain(..gone.min(self.base.len()));
            (self.from, self.hosts) = (other.from, other.hosts);
        }
        let ahead = (self.from - other.from) as usize;
        let theirs = other.base.get(ahead..).unwrap_or_default();
        if self.base.len() < theirs.len() {
            self.base.resize(theirs.len(), 0);
        }
        for (own, other) in self.base.iter_mut().zip(theirs) {
            *own = (*own).max(*other);
        }
        for &(who, time) in &other.more {
            self.learn(who, time);
        }
        let mut more = std::mem::take(&mut self.more);
        more.retain(|&mut (who, time)| self.base(warp_of(who)) <= time.phase);
        self.more = more;
    }

    /// What it knows of some warps.
    pub(crate) fn of(&self, is: impl Fn(usize) -> bool) -> Self {
        let from = self.from as usize;
        let mut base = self.base.clone();
        base.iter_mut().enumerate().filter(|(at, _)| !is(from + at)).for_each(|(_, phase)| *phase = 0);
        let more = self.more.iter().copied().filter(|&(who, _)| is(warp_of(who))).collect();
        Self { base, more, ..*self }
    }

    /// Whether it knows all that `other` knows.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let Some(ahead) = self.from.checked_sub(other.from) else { return false };
        let theirs = other.base.get(ahead as usize..).unwrap_or_default();
        let both = self.base.len().min(theirs.len());
        // Without a way out in between it is done several at a time.
        let behind = |behind: bool, (own, other): (&u32, &u32)| behind | (own < other);
        !self.base.iter().zip(theirs).fold(false, behind)
            && theirs[both..].iter().all(|&base| base == 0)
            && other.more.iter().all(|&(who, time)| self.knows(who, time))
    }
}

/// Has `own` know all that `other` knows, and shares a clock where one of them does.
pub(crate) fn join(own: &mut Rc<Clock>, other: &Rc<Clock>) {
    if Rc::ptr_eq(own, other) || own.covers(other) {
        return;
    }
    if other.covers(own) {
        *own = other.clone();
        return;
    }
    Rc::make_mut(own).join(other);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: u32, own: u32) -> Time {
        Time { phase, own }
    }

    #[test]
    fn a_thread_is_known_by_its_warp_or_by_itself() {
        let mut clock = Clock::default();
        assert!(!clock.knows(70, at(0, 0)));
        clock.learn(70, at(0, 3));
        assert!(clock.knows(70, at(0, 3)) && !clock.knows(70, at(0, 4)) && !clock.knows(71, at(0, 0)));
        clock.learn_warp(2, 1);
        assert!(clock.knows(70, at(0, 9)) && clock.knows(71, at(0, 0)) && !clock.knows(71, at(1, 0)));
        assert!(clock.more.is_empty(), "the warp's base says it");
    }

    #[test]
    fn what_everybody_knows_takes_no_room() {
        let (mut a, mut b) = (Clock::default(), Clock::from(4, 1));
        a.learn_warp(2, 3);
        a.learn_warp(5, 2);
        a.learn(3, at(0, 1));
        assert!(b.knows(70, at(9, 9)) && !b.knows(3, at(0, 0)) && !b.knows(130, at(0, 0)));
        assert!(!a.covers(&b) && !b.covers(&a));
        a.join(&b);
        assert_eq!((a.base.len(), a.from), (2, 4));
        assert!(a.covers(&b) && a.knows(3, at(0, 1)) && a.knows(160, at(1, 0)) && !a.knows(130, at(0, 0)));
        b.learn_warp(6, 1);
        a.join(&b);
        assert!(a.knows(192, at(0, 0)) && a.covers(&b));
    }

    #[test]
    fn a_join_knows_what_both_know() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.learn(1, at(0, 5));
        a.learn_warp(3, 2);
        b.learn(1, at(1, 0));
        b.learn(97, at(1, 1));
        assert!(!a.covers(&b) && !b.covers(&a));
        a.join(&b);
        assert!(a.covers(&b) && a.knows(1, at(1, 0)) && a.knows(97, at(1, 7)));
        let (mut x, y) = (Rc::new(b), Rc::new(a));
        join(&mut x, &y);
        assert!(Rc::ptr_eq(&x, &y), "the greater one is shared");
    }
}
