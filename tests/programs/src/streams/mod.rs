//! Host operations, operations on streams and graphs, on any number of PEs, as threads or as processes. Every check is made
//! by each PE; one that fails is an error that says what was found.
//!
//! | file | what it checks |
//! |---|---|
//! | `host` | blocking operations |
//! | `on_stream` | operations on streams, in order with kernels, with each other and with events |
//! | `graphs` | graphs, launched again and again with data that changes |
//! | `collectives` | collective operations of teams |
//! | `failures` | waits that expire on a stream and in a graph, and what works after recovery |

mod collectives;
mod failures;
mod graphs;
mod host;
mod on_stream;

use oxshmem::{Error, Result, Shmem};
use std::fmt::Debug;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Launches of the graph.
    pub replays: u64,
    /// Whether waits are left to expire.
    pub failures: bool,
}

/// Makes every check.
///
/// # Errors
/// What was found wrong, or what failed.
pub fn all(shmem: &Shmem, extent: Extent) -> Result<()> {
    host::all(shmem)?;
    on_stream::all(shmem)?;
    graphs::all(shmem, extent.replays)?;
    collectives::all(shmem, extent.replays)?;
    if extent.failures {
        failures::all(shmem)?;
    }
    shmem.barrier_all()
}

/// Elements of 8 bytes that are moved: around a vector access, a kernel's share, and what the copy engine takes.
fn sizes(shmem: &Shmem) -> Vec<usize> {
    let mut sizes = vec![0, 1, 2, 7, 33, 500, 8191, 8192, 8193];
    if !shmem.is_emulated() {
        sizes.extend([100_003, 1 << 21]);
    }
    sizes
}

/// Fails if it is not so.
fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::other(format!("{what}: found {found:?}, expected {expected:?}"))),
    }
}

/// Fails with the first element that differs.
fn same_elements(what: &str, found: &[u64], expected: impl Fn(usize) -> u64) -> Result<()> {
    match found.iter().enumerate().find(|(i, value)| **value != expected(*i)) {
        None => Ok(()),
        Some((i, value)) => {
            Err(Error::other(format!("{what}: element {i} is {value:#x}, expected {:#x}", expected(i))))
        }
    }
}
