//! What this machine offers to programs that use oxshmem, and what is missing, one line each: `oxshmem-run doctor` prints it,
//! and `cargo xtask doctor` with what builds need besides. No check fails the program: what cannot be found out is a row too.
//!
//! | module | what it finds out |
//! |---|---|
//! | [`gpu`] | the driver and its GPUs, by a process of its own |
//! | `topology.rs` | which GPU reaches which, and over what; what stands against sharing one |
//! | `processes.rs` | what PEs as processes need: limits, pidfds, sockets, MPS |
//! | `launchers.rs` | which launchers there are |
//! | `network.rs` | what `OXSHMEM_INTERFACE` may name |
//! | [`process`] | programs that are run: output, a limit |
//! | [`text`] | how it is shown |

pub mod gpu;
mod launchers;
mod network;
pub mod process;
mod processes;
pub mod text;
mod topology;

use std::io::{self, Write as _};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is there.
    Found,
    /// It is not, and something needs it.
    Missing,
    /// It is not, and nothing basic needs it.
    Absent,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How it ended.
    pub state: State,
    /// What was looked for. Two spaces before it: a part of the row above.
    pub what: String,
    /// What was found, or what to do.
    pub detail: String,
}

impl Row {
    /// A row.
    pub fn new(state: State, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { state, what: what.into(), detail: detail.into() }
    }
}

/// What programs need of this machine: GPUs, processes, launchers, interfaces. The driver's probe is this very program, started
/// with the argument [`gpu::PROBE`].
pub fn machine() -> Vec<Row> {
    let mut rows = topology::rows(gpu::probe());
    rows.extend(processes::rows());
    rows.extend(launchers::rows());
    rows.extend(network::rows());
    rows
}

/// Prints the rows as a table, and whether something is missing; returns that nothing is. Whoever reads it may stop before the
/// end.
///
/// # Errors
/// What else stands against writing to the standard output stream.
pub fn print(rows: &[Row]) -> io::Result<bool> {
    let cells = |row: &Row| {
        let state = match row.state {
            State::Found => "found",
            State::Missing => "MISSING",
            State::Absent => "not here",
        };
        vec![row.what.clone(), state.to_owned(), row.detail.clone()]
    };
    let missing = rows.iter().filter(|row| row.state == State::Missing).count();
    let sum = match missing {
        0 => "nothing is missing".to_owned(),
        1 => "1 thing is missing".to_owned(),
        n => format!("{n} things are missing"),
    };
    let table = text::table(&rows.iter().map(cells).collect::<Vec<_>>());
    let mut out = io::stdout().lock();
    match writeln!(out, "{table}{sum}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(missing == 0),
    }
}
