//! Litmus shapes: a few operations of two to four PEs, what the checker must find in them, and every outcome that they may
//! have. Each is searched under all schedules.
//!
//! Notation. All words are 0 at the start. `Pi.t` is thread `t` of PE `i`, `Pi.bt` its block; without either it has one
//! thread. `‖` separates threads.
//!
//! | written | is |
//! |---|---|
//! | `put x@1=1`, `pn`, `G`, `Gn` | put to PE 1's copy, put_nbi, get, get_nbi |
//! | `put x@1←a`, `Gn a←x@1` | the same from and to the own symmetric memory `a` |
//! | `PS x@1,s:=1`, `PS x@1,s` and `PS x@1,+s` | put_signal that sets, sets to 1, adds 1 |
//! | `s:=1`, `s+=1`, `s:=!1` | weak signal that sets, that adds; strong one |
//! | `x@1:=1`, `x@1:=!1`, `add`, `fetch` | atomic set, relaxed and releasing; atomic add; atomic fetch |
//! | `W(s≥1)`, `test` | wait, test |
//! | `R x`, `x=1` | plain read and write of the own copy |
//! | `F`, `Q`, `B`, `BAR`, `SYN` | fence, quiet, barrier of the block, `barrier_all`, `sync_all` |
//!
//! Signals lie on the PE that waits for them.
//!
//! | file | shapes |
//! |---|---|
//! | `shape`, `words` | – : what a shape and its verdict are; the words that actors use |
//! | `message` | does who sees the signal see the data? |
//! | `completion` | when has a put or get happened, when may its memory be reused? |
//! | `threads` | what does one thread's release or acquire do for the others of its PE? |
//! | `chain` | does a third PE see what the first wrote? |
//! | `order` | in which order do PEs see what two of them write? |
//! | `barriers` | what barriers complete, and who must come to them |
//! | `protocols` | credits, double buffers, counters, epochs |
//! | `waits` | comparisons, several words, lost signals |
//! | `atomics` | words that atomics and other accesses meet in |
//! | `packets` | data and flag in one access, and loads and stores of a peer's memory |
//! | `own` | a PE alone, nothing to send, nothing written |

mod atomics;
mod barriers;
mod chain;
mod completion;
mod message;
mod order;
mod own;
mod packets;
mod protocols;
mod shape;
mod threads;
mod waits;
mod words;

pub use shape::{Rows, Shape, Verdict};

use oxshmem_device::Collective;
use oxshmem_emulator::check::{Kind, Outcomes, Profile, Search, World};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A kernel, as one PE's threads run it.
pub type Kernel = Box<dyn Fn(Collective) + Send + Sync>;

/// Rows of the table of shapes that this API cannot write down, and why.
pub const NOT_EXPRESSIBLE: &[(u32, &str)] = &[
    (32, "no atomic has block scope"),
    (52, "no collective operation but barriers; by put_signal and waits it is shape 60o"),
    (53, "no collective operation but barriers; by put_signal and waits it is shape 58"),
    (54, "no collective operation but barriers; by put_signal it is shape 6"),
    (76, "the bulk engine is used inside of operations only, which wait for it"),
    (77, "the bulk engine is used inside of operations only, which wait for it"),
    (78, "the bulk engine is used inside of operations only, which fence its source"),
    (79, "the bulk engine is used inside of operations only, which fence its source"),
    (80, "a process maps each heap once"),
    (81, "no operation loads by `.nc`"),
    (88, "the host's barrier_all completes what kernels did"),
];

/// All shapes, by number.
pub fn all() -> Vec<Shape> {
    let mut shapes = [
        message::SHAPES,
        completion::SHAPES,
        threads::SHAPES,
        chain::SHAPES,
        order::SHAPES,
        barriers::SHAPES,
        protocols::SHAPES,
        waits::SHAPES,
        atomics::SHAPES,
        packets::SHAPES,
        own::SHAPES,
    ]
    .concat();
    shapes.sort_by_key(|shape| (shape.number, shape.variant));
    shapes
}

/// What the search of a shape saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many runs there were.
    pub runs: u64,
    /// Each outcome, and how many runs ended so.
    pub outcomes: BTreeMap<Vec<u64>, u64>,
}

/// Searches a shape under these rules, in at most so many runs, and compares what was seen with its verdict.
///
/// # Errors
/// A sentence for each way in which the two differ, among them that the search was not complete.
pub fn run(shape: &Shape, profile: Profile, runs: u64) -> Result<Summary, Vec<String>> {
    let mut world = World::new(shape.pes).map_err(|error| vec![format!("{shape}: no world: {error}")])?;
    let kernel = (shape.make)(&mut world);
    let seen = world.search(Search { profile, runs }, shape.grid, kernel);
    let problems = problems(shape.verdict(profile), &seen);
    if problems.is_empty() {
        return Ok(Summary { runs: seen.runs, outcomes: seen.outcomes });
    }
    Err(problems.into_iter().map(|problem| format!("{shape}, profile {profile}: {problem}")).collect())
}

/// All shapes with their verdicts, as a Markdown table. `=` is the verdict of the default profile.
pub fn table() -> String {
    let mut text = String::from("| # | name | shape |");
    for profile in Profile::ALL {
        let _ = write!(text, " {profile} |");
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(Profile::ALL.len()));
    text.push('\n');
    for shape in all() {
        let _ = write!(text, "| {}{} | {} | `{}` |", shape.number, shape.variant, shape.name, shape.text);
        let default = shape.verdict(Profile::default());
        for profile in Profile::ALL {
            let verdict = shape.verdict(profile);
            if profile != Profile::default() && verdict == default {
                text.push_str(" = |");
            } else {
                let _ = write!(text, " {verdict} |");
            }
        }
        text.push('\n');
    }
    text
}

/// How what was seen differs from the verdict.
fn problems(verdict: Verdict, seen: &Outcomes) -> Vec<String> {
    let mut problems = Vec::new();
    if !verdict.one_of.is_empty() && !verdict.one_of.iter().any(|kind| seen.kinds.contains(kind)) {
        let (expected, found) = (names(verdict.one_of, " or "), names(&seen.kinds, ", "));
        problems.push(format!(
            "expected {expected}, found {}",
            if found.is_empty() { "nothing" } else { &found }
        ));
    }
    if verdict.hangs && !seen.kinds.contains(&Kind::Deadlock) {
        problems.push("expected a schedule in which nothing can go on, but every run ended".to_owned());
    }
    for &kind in seen.kinds.iter().filter(|&&kind| !verdict.accepts(kind)) {
        let finding = seen.findings.iter().find(|finding| finding.kind == kind);
        let finding = finding.map_or(String::new(), ToString::to_string);
        problems.push(format!("found {kind}, of which there is none\n{finding}"));
    }
    for &row in verdict.reached.iter().filter(|&&row| !seen.outcomes.contains_key(row)) {
        let all: Vec<_> = seen.outcomes.keys().map(|outcome| shape::outcome(outcome)).collect();
        problems.push(format!("expected the outcome {}, saw {}", shape::outcome(row), all.join(" ")));
    }
    for (outcome, count) in &seen.outcomes {
        if !verdict.allows(outcome) {
            let outcome = shape::outcome(outcome);
            problems.push(format!("saw the outcome {outcome} in {count} runs, which is not allowed"));
        }
    }
    if !seen.complete {
        problems.push(format!("the search did not come to its end in {} runs", seen.runs));
    }
    problems
}

/// The names of some kinds.
fn names<'a>(kinds: impl IntoIterator<Item = &'a Kind>, between: &str) -> String {
    kinds.into_iter().map(|kind| kind.name()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The last row of the table; shapes above it were added here.
    const ROWS: u32 = 90;

    #[test]
    fn every_row_of_the_table_is_here_or_has_a_reason() {
        let here: BTreeSet<_> = all().iter().map(|shape| shape.number).collect();
        let absent: BTreeSet<_> = NOT_EXPRESSIBLE.iter().map(|&(number, _)| number).collect();
        for row in 1..=ROWS {
            assert!(here.contains(&row) != absent.contains(&row), "row {row}");
        }
    }

    #[test]
    fn no_two_shapes_have_one_name_or_one_number() {
        let shapes = all();
        let names: BTreeSet<_> = shapes.iter().map(|shape| shape.name).collect();
        let numbers: BTreeSet<_> = shapes.iter().map(|shape| (shape.number, shape.variant)).collect();
        assert_eq!((names.len(), numbers.len()), (shapes.len(), shapes.len()));
    }

    #[test]
    fn a_verdict_does_not_contradict_itself() {
        for shape in all() {
            for profile in Profile::ALL {
                let verdict = shape.verdict(profile);
                let rows = || verdict.reached.iter().chain(verdict.allowed.unwrap_or_default());
                for &row in rows() {
                    assert!(verdict.allows(row), "{shape}, profile {profile}: {}", shape::outcome(row));
                }
                let lengths: BTreeSet<_> = rows().map(|row| row.len()).collect();
                assert!(lengths.len() <= 1, "{shape}, profile {profile}: {lengths:?}");
            }
        }
    }

    #[test]
    fn what_is_as_the_verdict_says_is_no_problem() {
        let verdict = Verdict::race(&[Kind::DataRace], &[&[0], &[1]]).exact();
        let seen = Outcomes {
            runs: 2,
            complete: true,
            outcomes: [(vec![0], 1), (vec![1], 1)].into(),
            kinds: [Kind::DataRace].into(),
            findings: Vec::new(),
        };
        assert_eq!(problems(verdict, &seen), [""; 0]);
        let none = Outcomes { kinds: BTreeSet::new(), ..seen.clone() };
        assert_eq!(problems(verdict, &none), ["expected data-race, found nothing"]);
        let other = Outcomes { outcomes: [(vec![0], 1), (vec![2], 1)].into(), complete: false, ..seen };
        assert_eq!(
            problems(verdict, &other),
            [
                "expected the outcome (1), saw (0) (2)",
                "saw the outcome (2) in 1 runs, which is not allowed",
                "the search did not come to its end in 2 runs"
            ]
        );
    }

    #[test]
    fn the_table_has_a_line_for_each_shape() {
        let table = table();
        assert_eq!(table.lines().count(), 2 + all().len());
        for line in table.lines() {
            assert_eq!(line.matches('|').count(), 4 + Profile::ALL.len(), "{line}");
        }
        assert!(table.contains("| ok; every 4 of 0 and 1 | ok; every 4 of 0 and 1 but (1, 0, 1, 0) |"));
    }

    #[test]
    fn the_page_of_the_memory_model_has_this_table() {
        let page = include_str!("../../../../docs/src/memory-model.md");
        let (begin, end) = ("<!-- litmus table: begin -->", "<!-- litmus table: end -->");
        let (_, rest) = page.split_once(begin).expect("a begin marker");
        let (there, _) = rest.split_once(end).expect("an end marker");
        assert_eq!(there.trim(), table().trim());
    }
}
