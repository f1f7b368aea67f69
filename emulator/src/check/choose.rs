//! Who goes next, and which of several values is read: every choice of a run is made here, so that a seed, or a list of
//! choices, fixes the run.

use super::options::{Choice, Schedule};
use crate::random::Random;
use std::collections::HashSet;

/// How a seed treats updates that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// They arrive soon, the oldest first.
    Eager,
    /// They arrive at random.
    Random,
    /// Those to one PE arrive when nothing else can happen; threads run until they wait.
    Starve { pe: u32 },
}

#[derive(Debug)]
enum Mode {
    Seeded { random: Random, style: Style },
    Replay { choices: Vec<Choice>, next: usize },
    Search(Tree),
}

/// The search: what was chosen at each point of the run, and of how many.
#[derive(Debug, Default)]
struct Tree {
    path: Vec<(u32, u32)>,
    /// Points of this run so far.
    depth: usize,
    seen: HashSet<u64>,
}

/// What can happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agents {
    /// Threads that can run; the first is the one that ran last, if it can.
    pub(crate) threads: u32,
    /// Whether the first is the one that ran last.
    pub(crate) goes_on: bool,
    /// Updates under way; their options come after the threads'.
    pub(crate) updates: u32,
    /// Host threads that can go on; their options come last.
    pub(crate) hosts: u32,
}

/// All choices of a run.
#[derive(Debug)]
pub(crate) struct Chooser {
    mode: Mode,
    /// Points so far.
    at: u64,
    /// What was chosen, if not the default.
    taken: Vec<Choice>,
}

impl Chooser {
    pub(crate) fn new(schedule: &Schedule, pes: u32) -> Self {
        let mode = match schedule {
            Schedule::Seed(seed) => {
                let mut random = Random::new(*seed);
                let style = match seed % 3 {
                    0 => Style::Eager,
                    1 => Style::Random,
                    _ => Style::Starve { pe: random.below(pes.max(1)) },
                };
                Mode::Seeded { random, style }
            }
            Schedule::Choices(choices) => Mode::Replay { choices: choices.clone(), next: 0 },
        };
        Self { mode, at: 0, taken: Vec::new() }
    }

    pub(crate) fn search() -> Self {
        Self { mode: Mode::Search(Tree::default()), at: 0, taken: Vec::new() }
    }

    pub(crate) fn searches(&self) -> bool {
        matches!(self.mode, Mode::Search(_))
    }

    /// What was chosen so far, but for the defaults.
    pub(crate) fn taken(&self) -> &[Choice] {
        &self.taken
    }

    /// The PE for which updates are held back.
    pub(crate) fn starved(&self) -> Option<u32> {
        match self.mode {
            Mode::Seeded { style: Style::Starve { pe }, .. } => Some(pe),
            _ => None,
        }
    }

    /// Notes what was chosen at this point.
    pub(crate) fn made(&mut self, option: u32) -> u32 {
        if option != 0 {
            self.taken.push(Choice { at: self.at, option });
        }
        self.at += 1;
        option
    }

    /// One of `options`, where all but the first are the exception.
    pub(crate) fn rare(&mut self, options: u32) -> u32 {
        if options <= 1 {
            return 0;
        }
        let option = match &mut self.mode {
            Mode::Seeded { random, .. } => {
                if random.below(6) == 0 {
                    random.below(options)
                } else {
                    0
                }
            }
            _ => self.fixed(options),
        };
        self.made(option)
    }

    /// What the replay or the search says.
    fn fixed(&mut self, options: u32) -> u32 {
        match &mut self.mode {
            Mode::Replay { choices, next } => match choices.get(*next) {
                Some(choice) if choice.at == self.at => {
                    *next += 1;
                    choice.option.min(options - 1)
                }
                _ => 0,
            },
            Mode::Search(tree) => {
                let depth = tree.depth;
                tree.depth += 1;
                match tree.path.get(depth) {
                    Some(&(option, of)) => {
                        debug_assert_eq!(of, options, "the same choices lead to the same point");
                        option.min(options - 1)
                    }
                    None => {
                        tree.path.push((0, options));
                        0
                    }
                }
            }
            Mode::Seeded { .. } => 0,
        }
    }

    /// What happens next. The caller [notes](Self::made) it, as its number among all that could.
    pub(crate) fn next(&mut self, agents: Agents) -> u32 {
        let Agents { threads, goes_on, updates, hosts } = agents;
        let options = threads + updates + hosts;
        if options <= 1 {
            return 0;
        }
        match &mut self.mode {
            Mode::Seeded { random, style } => match style {
                _ if hosts > 0 && random.below(4) == 0 => threads + updates + random.below(hosts),
                Style::Eager if updates > 0 && !random.below(4) == 0 => threads,
                Style::Eager | Style::Random if goes_on && random.below(3) != 0 => 0,
                Style::Eager | Style::Random if updates > 0 && random.below(2) == 0 => {
                    threads + random.below(updates)
                }
                Style::Starve { .. } if goes_on && !random.below(24) == 0 => 0,
                Style::Starve { .. } if updates > 0 && random.below(12) == 0 => {
                    threads + random.below(updates)
                }
                _ if threads > 0 => random.below(threads),
                _ if hosts > 0 && updates == 0 => threads + updates + random.below(hosts),
                _ => threads + random.below(updates.max(1)),
            },
            _ => self.fixed(options),
        }
    }

    /// Whether the search goes on from a state that it has not met. Only asked where the run has left what was before.
    pub(crate) fn is_new(&mut self, state: u64) -> bool {
        match &mut self.mode {
            Mode::Search(tree) if tree.depth >= tree.path.len() => tree.seen.insert(state),
            _ => true,
        }
    }

    /// Goes to the next run of a search. False if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        let Mode::Search(tree) = &mut self.mode else { return false };
        tree.path.truncate(tree.depth);
        tree.depth = 0;
        self.at = 0;
        self.taken.clear();
        while let Some((option, options)) = tree.path.pop() {
            if option + 1 < options {
                tree.path.push((option + 1, options));
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_makes_every_choice() {
        let mut chooser = Chooser::search();
        let mut seen = Vec::new();
        loop {
            let first = chooser.rare(3);
            let second = if first == 1 { chooser.rare(2) } else { 9 };
            seen.push((first, second));
            if !chooser.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 9), (1, 0), (1, 1), (2, 9)]);
    }

    #[test]
    fn what_a_seed_chose_can_be_chosen_again() {
        let agents = Agents { threads: 5, goes_on: true, updates: 3, hosts: 0 };
        let run = |schedule: &Schedule| {
            let mut chooser = Chooser::new(schedule, 4);
            let made: Vec<u32> = (0..50)
                .map(|i| {
                    if i % 3 == 0 {
                        chooser.rare(4)
                    } else {
                        let option = chooser.next(agents);
                        chooser.made(option)
                    }
                })
                .collect();
            (made, chooser.taken().to_vec())
        };
        for seed in 0..9 {
            let (made, taken) = run(&Schedule::Seed(seed));
            assert_eq!(run(&Schedule::Seed(seed)).0, made);
            assert_eq!(run(&Schedule::Choices(taken)).0, made);
        }
        assert!(run(&Schedule::Choices(Vec::new())).0.iter().all(|&option| option == 0));
    }
}
