//! `cargo test --release -p oxshmem-tests --test checker [-- PATTERN]`: what the checker reports of kernels of which it is
//! known. Each pair's broken kernel must be reported as what it is, at its lines, and its correct one not at all; each
//! litmus shape must have the outcomes that its verdict names.
//!
//! PATTERN selects pairs and shapes by a part of their name. `OXSHMEM_TEST_FULL` runs correct kernels under ten times as
//! many schedules.
//!
//! | file | what it holds |
//! |---|---|
//! | `pair` | one pair, run and judged |
//! | `marker` | the lines that a report must name |
//! | `table` | what was expected against what was reported |
//! | `suite` | rules that the pairs themselves keep |
//! | `litmus` | the litmus shapes |
//! | `spread` | many jobs on the machine's cores |

mod litmus;
mod marker;
mod pair;
mod spread;
mod suite;
mod table;

use std::process::ExitCode;
use table::Table;

fn main() -> ExitCode {
    let pattern = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let full = std::env::var_os("OXSHMEM_TEST_FULL").is_some();

    let all = oxshmem_checked::pairs::all();
    let rules = suite::problems(&all);
    let pairs: Vec<_> = all.into_iter().filter(|pair| pair.name.contains(&pattern)).collect();
    let shapes = litmus::cases(&pattern);

    let seen = spread::over(&pairs, |pair| pair::run(pair, full));
    let (mut table, mut wrong) = (Table::default(), 0);
    for (pair, seen) in pairs.iter().zip(&seen) {
        println!("{:<34} {:<24} {:<10} {}", pair.name, pair.kind.name(), seen.caught(), pair.mechanism);
        table.add(pair.kind.name(), seen.broken.reported);
        table.add(table::CORRECT, seen.correct.reported);
        wrong += usize::from(seen.problems().next().is_some());
    }
    println!();
    let in_pairs = failures(seen.iter().flat_map(pair::Seen::problems));
    let in_shapes = failures(spread::over(&shapes, litmus::run).iter().flatten());
    let in_rules = failures(&rules);

    println!("\n{table}\n{} pairs, {wrong} wrong", pairs.len());
    let passed = 2 * pairs.len() - in_pairs + shapes.len() - in_shapes;
    let failed = in_pairs + in_shapes + in_rules;
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints failures; returns how many they are.
fn failures<'a>(problems: impl IntoIterator<Item = &'a String>) -> usize {
    problems.into_iter().inspect(|problem| println!("FAILED {problem}")).count()
}
