//! The fault table: jobs of three processes, of which one dies, stops or fails at a given point. The others must end by
//! themselves with an error that names it, soon, and nothing may be left behind.
//!
//! | file | what it holds |
//! |---|---|
//! | `table.rs` | the rows |
//! | `pe.rs` | what a process of a row does |
//! | `misuse.rs` | what it does wrong with memory of its own |
//! | `waits.rs` | what it does where calls wait |
//! | `said.rs` | what it says of its errors |
//! | `expected.rs` | what it should say |
//! | `row.rs` | runs a row and judges it |
//! | `processes.rs` | the processes of a row |
//! | `pmi_server.rs` | a launcher's server, well-behaved or not |
//! | `traces.rs` | what a row has left behind |

mod expected;
mod misuse;
mod pe;
mod pmi_server;
mod processes;
mod row;
mod said;
mod table;
mod traces;
mod waits;

use row::Bench;
use std::process::ExitCode;
use table::{Point, Row, What};

/// PEs of each job.
const PES: u32 = 3;
/// The first argument of a process that is one PE of a row.
const AS_PE: &str = "--pe";

/// The program: the whole table, or the rows whose name contains the argument.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [AS_PE, number] => {
            match number.parse().ok().and_then(|number: usize| table::rows().get(number).copied()) {
                Some(row) => pe::main(row),
                None => usage(),
            }
        }
        ["--part", part] => parted(part, ""),
        ["--part", part, filter] => parted(part, filter),
        [] => all("", (0, 1)),
        [filter] if !filter.starts_with('-') => all(filter, (0, 1)),
        _ => usage(),
    }
}

/// One part of several of about equal length, for machines whose time is short: `part` is `K/N` with 1 ≤ K ≤ N.
fn parted(part: &str, filter: &str) -> ExitCode {
    let numbers =
        part.split_once('/').and_then(|(k, n)| Some((k.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    match numbers {
        Some((k, n)) if 1 <= k && k <= n => all(filter, (k - 1, n)),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "faults: usage: faults [--part K/N] [ROW]: the rows whose name contains ROW, of these each N-th from the K-th on"
    );
    ExitCode::from(2)
}

fn all(filter: &str, part: (usize, usize)) -> ExitCode {
    match run(filter, part) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the rows that the filter names, of these part `k` of `n`; whether all are as they should be.
fn run(filter: &str, (k, n): (usize, usize)) -> std::io::Result<bool> {
    let rows = table::rows();
    if !rows.iter().any(|row| row.name().contains(filter)) {
        return Err(std::io::Error::other(format!("no row's name contains {filter:?}")));
    }
    let mut bench = Bench::new()?;
    let (mut ran, mut wrong) = (0, 0);
    let mut named = 0;
    for (number, row) in rows.iter().enumerate() {
        // The first is a job that nothing happens to. It tells what the others run on.
        if row.point != Point::Nowhere {
            if !row.name().contains(filter) {
                continue;
            }
            named += 1;
            if (named - 1) % n != k {
                continue;
            }
        }
        let judged = bench.run(number, *row)?;
        println!("{}", judged.line);
        if let Some(why) = judged.wrong {
            eprint!("{why}");
            wrong += 1;
        }
        if row.point == Point::Nowhere && wrong > 0 {
            return Err(std::io::Error::other("a job that nothing happens to does not run here"));
        }
        ran += 1;
    }
    println!("faults: {ran} rows, {wrong} wrong");
    Ok(wrong == 0)
}

impl Row {
    /// Whether no process is a victim.
    fn spares_all(self) -> bool {
        matches!(self.point, Point::Nowhere | Point::Server(_)) || self.what == What::Expires
    }

    /// Whether this process is the PE to which it happens.
    fn is_victim(self, pe: u32) -> bool {
        self.victim == pe && !self.spares_all()
    }
}
