//! What a table says of a kernel, and how it is checked.

use super::reader::{Entry, From};

/// What the PTX of some kernels must have, and must not. Instructions are given by their beginning, up to the end of a
/// word; behind a `*` by a part of them; `a|b` is either.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    /// Without the crate's name.
    pub(crate) names: &'static [&'static str],
    /// Somewhere.
    pub(crate) has: &'static [&'static str],
    /// Somewhere on sm_90, nowhere on sm_80: the bulk copy engine, and fences that came with it.
    pub(crate) newer: &'static [&'static str],
    /// Somewhere on sm_80: what does without the newer instructions.
    pub(crate) older: &'static [&'static str],
    /// Nowhere.
    pub(crate) lacks: &'static [&'static str],
    /// On every path that returns, in this order.
    pub(crate) always: &'static [&'static str],
    /// Loads in one basic block before this instruction takes the first one's result.
    pub(crate) in_flight: &'static [InFlight],
    /// What is passed on every path between two places.
    pub(crate) between: &'static [Between],
    /// At most so many, where an assembler is at hand.
    pub(crate) registers: Option<u32>,
}

/// `count` of `load` are in flight when `user` takes the first result; on a path through several blocks if `user` is
/// empty.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    pub(crate) load: &'static str,
    pub(crate) user: &'static str,
    pub(crate) count: usize,
}

/// No path leads from `from` to one of `to` but through each of `through`, in this order.
#[derive(Clone, Copy)]
pub(crate) struct Between {
    /// Says so only of this architecture.
    pub(crate) only_on: Option<&'static str>,
    pub(crate) from: From<'static>,
    pub(crate) through: &'static [&'static str],
    pub(crate) to: &'static [&'static str],
}

impl Kernel {
    /// Expects nothing.
    pub(crate) const NAMED: Self = Self {
        names: &[],
        has: &[],
        newer: &[],
        older: &[],
        lacks: &[],
        always: &[],
        in_flight: &[],
        between: &[],
        registers: None,
    };

    /// Each instruction without which a kernel for `arch` is not what it should be.
    pub(crate) fn needs(&self, arch: &str) -> impl Iterator<Item = &'static str> {
        let between =
            self.between.iter().filter(move |between| between.only_on.is_none_or(|only| only == arch));
        let passed = between.flat_map(|between| between.through.iter().chain(between.to));
        let loads = self.in_flight.iter().map(|in_flight| &in_flight.load);
        let newer = if arch == "sm_80" { self.older } else { self.newer };
        self.has.iter().chain(newer).chain(self.always).chain(passed).chain(loads).copied()
    }

    /// Everything wrong with `entry` for `arch`.
    pub(crate) fn check(&self, entry: &Entry<'_>, arch: &str, wrong: &mut Vec<String>) {
        let mut say = |what: String| wrong.push(format!("{arch}: {}: {what}", entry.name));
        let is_newer = arch != "sm_80";
        let lacking = if is_newer { &[] } else { self.newer };
        let having = if is_newer { self.newer } else { self.older };
        for pattern in self.has.iter().chain(having).filter(|pattern| !entry.has(pattern)) {
            say(format!("has no `{pattern}`"));
        }
        for pattern in self.lacks.iter().chain(lacking) {
            if let Some(found) = entry.instructions.iter().find(|instruction| instruction.is(pattern)) {
                say(format!("has `{}`, line {}", found.text, found.line));
            }
        }
        for &InFlight { load, user, count } in self.in_flight {
            let found =
                if user.is_empty() { entry.in_flight_on_a_path(load) } else { entry.in_flight(load, user) };
            if found != count {
                say(format!("{found} of `{load}` are in flight before `{user}`, not {count}"));
            }
        }
        let always = Between { only_on: None, from: From::Entry, through: self.always, to: &["ret"] };
        for between in self.between.iter().chain((!self.always.is_empty()).then_some(&always)) {
            if between.only_on.is_some_and(|only| only != arch) {
                continue;
            }
            // Between two places that are not there every path passes anything.
            let absent = |pattern: &&&str| !entry.has(pattern);
            let start = if let From::Each(start) = &between.from { Some(start) } else { None };
            if let Some(absent) = start.into_iter().chain(between.to).find(absent) {
                say(format!("has no `{absent}`, from or to which a path should lead"));
            }
            if let Some(reached) = entry.path(between.from, between.through, between.to) {
                let through = between.through.join("`, then `");
                say(format!(
                    "a path leads from {:?} to `{}`, line {}, without `{through}`",
                    between.from, reached.text, reached.line
                ));
            }
        }
    }
}
