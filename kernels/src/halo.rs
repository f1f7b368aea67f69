//! Halo exchange of a grid whose rows are split over PEs, from inside a persistent kernel.
//!
//! Each PE has two buffers used in turn; step `k` reads one and writes the other. Row 0 and row `rows + 1` of
//! a buffer hold the neighbours' boundary rows.
//!
//! | step `k`, by the block that owns the boundary row | edge |
//! |---|---|
//! | wait for the neighbour's row of step `k - 1` ([`Halo::wait_row`]) | acquire: that row is here |
//! | compute the own boundary row | – |
//! | wait for the neighbour's credit of step `k - 1` ([`Halo::send_row`]) | acquire: the neighbour has read what will be overwritten |
//! | `put_signal` of the row, signal set to `k` | its own data before its own signal |
//! | strong signal: credit `k` | release: this block's reads of the halo row of step `k - 1` |
//!
//! Signals hold step numbers that only grow, so a later launch continues where the last one ended. Why
//! credits: a `put_signal` covers only its own bytes, so it does not tell the neighbour that its last row has
//! been read.

use oxshmem_device::prelude::*;
use oxshmem_device::{Block, Scoped};

/// The two neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The PE before, which holds the rows above.
    Up,
    /// The PE after, which holds the rows below.
    Down,
}

/// How many signals a [`Halo`] uses.
pub const SIGNALS: u64 = 4;

/// The device half: made in the kernel from the plan's signals.
#[derive(Clone, Copy, Debug)]
pub struct Halo {
    shmem: Collective,
    signals: Sym<[Signal]>,
}

impl Halo {
    /// `signals` are the [`SIGNALS`] of the plan.
    #[inline(always)]
    pub fn new(shmem: Collective, signals: Sym<[Signal]>) -> Self {
        Self { shmem, signals }
    }

    /// The neighbour on `side`, if there is one: the first PE has none above, the last none below.
    #[inline(always)]
    pub fn neighbour(self, side: Side) -> Option<u32> {
        let (pe, n) = (self.shmem.my_pe(), self.shmem.n_pes());
        match side {
            Side::Up if pe > 0 => Some(pe - 1),
            Side::Down if pe + 1 < n => Some(pe + 1),
            _ => None,
        }
    }

    /// Waits until the row that the neighbour on `side` computed in `step` is in the halo row. Called by all
    /// threads of a block; returns at once where there is no neighbour.
    #[inline(always)]
    #[track_caller]
    pub fn wait_row(self, side: Side, step: u64) {
        if self.neighbour(side).is_some() {
            self.shmem.block().wait_reached(self.row(side), step);
        }
    }

    /// Sends `row`, computed in `step`, to the neighbour on `side`, into its `halo` row, and gives it the
    /// credit that this block has read the halo row on that side. Called by all threads of the block that
    /// computed the row; does nothing where there is no neighbour. The first step after a launch at `base` is
    /// `base + 1`.
    #[inline(always)]
    #[track_caller]
    pub fn send_row(self, side: Side, halo: Sym<[f32]>, row: Sym<[f32]>, step: u64) {
        let Some(pe) = self.neighbour(side) else { return };
        let block: Scoped<Block, Collective> = self.shmem.block();
        let facing = match side {
            Side::Up => Side::Down,
            Side::Down => Side::Up,
        };
        block.wait_reached(self.credit(side), step - 1);
        block.put_signal(halo, row, self.row(facing), SignalOp::Set(step), pe);
        block.signal(self.credit(facing), SignalOp::Set(step), pe);
    }

    /// On this PE: which step's row has arrived from `side`.
    #[inline(always)]
    fn row(self, side: Side) -> Sym<Signal> {
        self.signals.at(side as u64)
    }

    /// On this PE: up to which step the neighbour on `side` has read what this PE sent.
    #[inline(always)]
    fn credit(self, side: Side) -> Sym<Signal> {
        self.signals.at(2 + side as u64)
    }
}

/// The host half: allocates the signals. Made by all PEs together.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct HaloPlan {
    /// Pass this to the kernel.
    pub signals: oxshmem::SymVec<Signal>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl HaloPlan {
    /// Allocates; collective.
    ///
    /// # Errors
    /// Those of [`oxshmem::Shmem::alloc_signals`].
    pub fn new(shmem: &oxshmem::Shmem) -> oxshmem::Result<Self> {
        Ok(Self { signals: shmem.alloc_signals(SIGNALS as usize)? })
    }
}
