//! The benchmark suite. `oxshmem-perf TEST` measures a test over sizes, `serve` answers the requests of a comparison,
//! `compare` makes one, `tune` measures by what collective operations choose, and `simulate` predicts. What is measured how stands in `peers/README.md`; the kernels are this package's library.
//!
//! | module | what it holds |
//! |---|---|
//! | `case` | a test with its parameters: what everything here speaks of |
//! | `cli` | the command line, and the cases that it asks for |
//! | `run`, `check` | a case on oxshmem, and the look at its data |
//! | `single`, `report`, `plot` | a test over sizes: its table, JSON lines and plot |
//! | `serve` | the protocol, answered |
//! | `system` | the protocol, asked: a program that answers it |
//! | `rows`, `collective_rows`, `compare`, `record` | what is compared with which bars, the measuring, and what is told of it |
//! | `tune` | the table by which collective operations choose, measured |
//! | `simulate` | the model of all-reduce at many PEs: its table and plots |
//! | `stats`, `error` | medians and percentiles; what can go wrong |

mod case;
mod check;
mod cli;
mod collective_rows;
mod compare;
mod error;
mod plot;
mod record;
mod report;
mod rows;
mod run;
mod serve;
mod simulate;
mod single;
mod stats;
mod system;
mod tune;

use clap::Parser;
use cli::{Arguments, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match &Arguments::parse().command {
        Command::Test(test) => {
            let (test, sweep) = test.parts();
            single::single(test, sweep)
        }
        Command::Serve(options) => serve::serve(options),
        Command::Compare(options) => compare::compare(options),
        Command::Simulate(options) => simulate::simulate(options),
        Command::Tune(options) => tune::tune(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oxshmem-perf: {error}");
            ExitCode::FAILURE
        }
    }
}
