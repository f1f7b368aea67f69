//! The adversary's choices: all of them come from one seed.

use super::config::Adversary;
use crate::random::Random;

/// What can be late.
#[derive(Clone, Copy, Debug)]
pub(super) enum Late {
    /// A work request's start.
    Start,
    /// A piece of a write.
    Piece,
    /// The sampling and sending of a read's data, or another answer.
    Answer,
    /// A piece of a read's data at its initiator.
    Landing,
    /// A completion.
    Completion,
    /// A look at a doorbell page.
    Doorbell,
}

const KINDS: usize = 6;

/// Makes every choice of a NIC.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    random: Random,
    /// One in so many steps, what can be late is not; `None` without an adversary.
    odds: Option<[u32; KINDS]>,
}

impl Chance {
    /// `lid` keeps NICs apart that have the same seed.
    pub(super) fn new(adversary: Option<Adversary>, lid: u16) -> Self {
        let seed = adversary.map_or(0, |adversary| adversary.seed);
        let mut random = Random::new(seed ^ (u64::from(lid) << 48));
        // Each kind has its own temper for the whole run: reorderings need one thing much later than another.
        let mut temper = || [1, 1, 2, 8, 32][random.below(5) as usize];
        let odds = adversary.map(|_| std::array::from_fn(|_| temper()));
        Self { random, odds }
    }

    /// Whether there is an adversary.
    pub(super) fn is_adverse(&self) -> bool {
        self.odds.is_some()
    }

    /// Whether this is left for a later step.
    pub(super) fn late(&mut self, what: Late) -> bool {
        let Some(odds) = self.odds else { return false };
        self.random.below(odds[what as usize]) != 0
    }

    /// A number below `n`, which is at least 1; 0 without an adversary.
    pub(super) fn below(&mut self, n: usize) -> usize {
        match self.odds {
            // Queues are far shorter than 2^32.
            Some(_) => self.random.below(n as u32) as usize,
            None => 0,
        }
    }

    /// Brings a list into another order; leaves it without an adversary.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        if self.is_adverse() {
            for last in (1..list.len()).rev() {
                list.swap(last, self.below(last + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Late};
    use crate::nic::Adversary;

    #[test]
    fn a_seed_fixes_the_choices_and_no_seed_makes_none() {
        let choices = |seed| {
            let mut chance = Chance::new(Some(Adversary { seed }), 3);
            (0..100).map(|_| (chance.late(Late::Piece), chance.below(1000))).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
        let mut none = Chance::new(None, 3);
        assert!(!none.late(Late::Answer) && none.below(9) == 0);
        let mut list = [1, 2, 3];
        none.shuffle(&mut list);
        assert_eq!(list, [1, 2, 3]);
    }
}
