//! Pairs of kernels: a correct one, and one that is broken in one way. The two lines that a report of the broken one must
//! name carry the comments `// <name>: one` and `// <name>: two`; the second is missing where there is one line to name.
//!
//! | file | what is broken |
//! |---|---|
//! | `ordering` | the fence between data and its signal |
//! | `delivery` | completion at the target, where a third PE or a get relies on it |
//! | `completion` | memory of the caller that a non-blocking operation still uses |
//! | `signals` | what a signal's value, time or sender is taken to say |
//! | `buffers` | buffers that are used in turn, and their credits |
//! | `atomics` | orders and widths of atomics |
//! | `scopes`, `joins` | threads of a block or grid that are not joined, or do not call together |
//! | `waits`, `lost` | waits that never end |
//! | `collectives` | barriers of all PEs |
//! | `mismatch` | collective operations that the PEs do not call alike |
//! | `operands` | sources and targets of collective operations |
//! | `turns` | collective operations of one PE: two at once, or called by a part of the scope |
//! | `tiles` | shared memory |
//! | `memory`, `bounds` | what is read before it is written, written by two, or not there |
//! | `teams` | numbers of PEs in a team and in the job |
//! | `crashes` | kernels that panic or do not end |

mod atomics;
mod bounds;
mod buffers;
mod collectives;
mod completion;
mod crashes;
mod delivery;
mod joins;
mod lost;
mod memory;
mod mismatch;
mod operands;
mod ordering;
mod scopes;
mod signals;
mod teams;
mod tiles;
mod turns;
mod waits;

use oxshmem_device::prelude::*;
use oxshmem_emulator::check::{Kind, World, WorldGrid};

/// A kernel, as one PE's threads run it.
pub type Kernel = Box<dyn Fn(Collective) + Send + Sync>;

/// A kernel in two versions.
#[derive(Clone, Copy)]
pub struct Pair {
    /// Its name, which no other has.
    pub name: &'static str,
    /// How it is broken, and how that differs from every other pair.
    pub mechanism: &'static str,
    /// What must be reported.
    pub kind: Kind,
    /// How many PEs it runs on.
    pub pes: u32,
    /// Blocks and threads of each PE.
    pub grid: WorldGrid,
    /// The source file that holds it, as `file!()` names it, and its text.
    pub source: (&'static str, &'static str),
    /// Takes its memory and makes the kernel: the broken one, or the correct one.
    pub make: fn(&mut World, broken: bool) -> Kernel,
}

/// All pairs.
pub fn all() -> Vec<Pair> {
    [
        ordering::PAIRS,
        delivery::PAIRS,
        completion::PAIRS,
        signals::PAIRS,
        buffers::PAIRS,
        atomics::PAIRS,
        scopes::PAIRS,
        joins::PAIRS,
        waits::PAIRS,
        lost::PAIRS,
        collectives::PAIRS,
        mismatch::PAIRS,
        operands::PAIRS,
        turns::PAIRS,
        tiles::PAIRS,
        memory::PAIRS,
        bounds::PAIRS,
        teams::PAIRS,
        crashes::PAIRS,
    ]
    .concat()
}

/// The indices below `len` that are the calling thread's among those of its block.
fn share(shmem: Collective, len: u64) -> impl Iterator<Item = u64> {
    let block = shmem.block();
    (block.rank()..len).step_by(block.size() as usize)
}

/// Writes numbers that tell PEs and elements apart into the own copy, and joins the block.
fn fill(shmem: Collective, memory: Sym<[u32]>) {
    for i in share(shmem, memory.len()) {
        shmem.local(memory).set(i, 1000 * shmem.my_pe() + i as u32);
    }
    shmem.block().sync();
}
