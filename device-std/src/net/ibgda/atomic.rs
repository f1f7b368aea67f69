//! Atomics and signals, carried out by the peer's NIC. They are atomic against others that come through that NIC, not against
//! the peer's GPU or CPU: read-modify-writes of one word all go one way.

use super::super::mlx5::wqe::{self, Masked, Place};
use super::super::mlx5::{CARRY_NOWHERE, Completion, Inline};
use super::abi::QueuePairAbi;
use super::deadline::Deadline;
use super::failure::Failure;
use super::memory::Memory;
use super::queue::{QueuePair, Reserved, field};

/// What an atomic does to an aligned word at the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicAtomic {
    /// Adds to 8 bytes.
    Add8(u64),
    /// Compares 8 bytes, and swaps them if they are equal.
    CompareSwap8 {
        /// What is compared.
        compare: u64,
        /// What is swapped in.
        swap: u64,
    },
    /// Exclusive or of 8 bytes.
    Xor8(u64),
    /// Compares and swaps bits of 8 bytes. It takes three blocks.
    Masked8(Masked<u64>),
    /// Adds to 4 bytes.
    Add4(u32),
    /// Exclusive or of 4 bytes.
    Xor4(u32),
    /// Compares and swaps bits of 4 bytes.
    Masked4(Masked<u32>),
}

macro_rules! bits {
    ($($ty:ty, $masked:ident: $set:ident $and:ident $or:ident $width:literal;)*) => {
        $(
            #[doc = concat!("Swaps ", $width, " bytes.")]
            #[inline(always)]
            pub const fn $set(value: $ty) -> Self {
                Self::$masked(Masked { compare: 0, compare_mask: 0, swap: value, swap_mask: <$ty>::MAX })
            }
            #[doc = concat!("And of ", $width, " bytes: clears the bits that `value` does not have.")]
            #[inline(always)]
            pub const fn $and(value: $ty) -> Self {
                Self::$masked(Masked { compare: 0, compare_mask: 0, swap: 0, swap_mask: !value })
            }
            #[doc = concat!("Or of ", $width, " bytes: sets the bits that `value` has.")]
            #[inline(always)]
            pub const fn $or(value: $ty) -> Self {
                Self::$masked(Masked { compare: 0, compare_mask: 0, swap: value, swap_mask: value })
            }
        )*
    };
}

impl NicAtomic {
    bits! {
        u64, Masked8: swap8 and8 or8 "8";
        u32, Masked4: swap4 and4 or4 "4";
    }

    /// Compares 4 bytes, and swaps them if they are equal.
    #[inline(always)]
    pub const fn compare_swap4(compare: u32, swap: u32) -> Self {
        Self::Masked4(Masked { compare, compare_mask: u32::MAX, swap, swap_mask: u32::MAX })
    }

    /// Whether it works on 4 bytes, and not on 8.
    #[inline(always)]
    pub(super) const fn is_narrow(self) -> bool {
        matches!(self, Self::Add4(_) | Self::Xor4(_) | Self::Masked4(_))
    }

    /// Blocks of its request, without what must stand behind one of two.
    #[inline(always)]
    pub(super) const fn blocks(self) -> u32 {
        if matches!(self, Self::Masked8(_)) { 2 } else { 1 }
    }
}

/// How a signal word of 8 bytes is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicSignal {
    /// Set, atomic against other updates through the NIC. It takes three blocks.
    Set(u64),
    /// Set by a plain write of 8 bytes: for words that no atomic updates. It takes one block.
    Write(u64),
    /// Add. A wait for a sum does not tell whose updates have arrived.
    Add(u64),
}

impl NicSignal {
    /// Its blocks, completion included.
    #[inline(always)]
    pub(super) const fn blocks(self) -> u32 {
        if matches!(self, Self::Set(_)) { 3 } else { 1 }
    }
}

impl<M: Memory> QueuePair<M> {
    /// Updates a signal word at the peer, after everything that was posted to this queue pair before.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn signal(
        &self,
        word: Place,
        signal: NicSignal,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        let blocks = self.reserve(signal.blocks(), deadline)?;
        self.write_signal(blocks, word, signal);
        self.publish(blocks, deadline)
    }

    /// Performs an atomic at the peer, and drops the old value.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn update(&self, at: Place, atomic: NicAtomic, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let behind = atomic.blocks() - 1;
        let blocks = self.reserve(atomic.blocks() + behind, deadline)?;
        self.write_atomic(blocks.first, at, atomic, self.landing(0), behind == 0);
        if behind != 0 {
            self.write_nop(blocks.end - 1);
        }
        self.publish(blocks, deadline)
    }

    /// Writes a signal's requests into its blocks.
    #[inline(always)]
    pub(super) fn write_signal(&self, blocks: Reserved, word: Place, signal: NicSignal) {
        match signal {
            NicSignal::Set(value) => {
                self.write_atomic(blocks.first, word, NicAtomic::swap8(value), self.landing(0), false);
                self.write_nop(blocks.end - 1);
            }
            NicSignal::Write(value) => {
                let control = self.control(blocks.first, Completion::Always);
                self.write_at(blocks.first, wqe::write_inline(control, word, Inline::of_u64(value)));
            }
            NicSignal::Add(value) => {
                self.write_atomic(blocks.first, word, NicAtomic::Add8(value), self.landing(0), true);
            }
        }
    }

    /// Writes an atomic's request; `completes` if nothing stands behind it.
    #[inline(always)]
    pub(super) fn write_atomic(&self, index: u64, at: Place, atomic: NicAtomic, old: Place, completes: bool) {
        let completion = if completes { Completion::Always } else { Completion::OnError };
        let control = self.control(index, completion);
        match atomic {
            NicAtomic::Add8(add) => self.write_at(index, wqe::atomic_fetch_add(control, at, add, old)),
            NicAtomic::CompareSwap8 { compare, swap } => {
                self.write_at(index, wqe::atomic_compare_swap(control, at, compare, swap, old));
            }
            NicAtomic::Xor8(bits) => {
                self.write_at(index, wqe::atomic_add_8(control, at, bits, CARRY_NOWHERE, old));
            }
            NicAtomic::Masked8(what) => self.write_at(index, wqe::atomic_swap_8(control, at, what, old)),
            NicAtomic::Add4(add) => self.write_at(index, wqe::atomic_add_4(control, at, add, 0, old)),
            NicAtomic::Xor4(bits) => {
                self.write_at(index, wqe::atomic_add_4(control, at, bits, CARRY_NOWHERE as u32, old));
            }
            NicAtomic::Masked4(what) => self.write_at(index, wqe::atomic_swap_4(control, at, what, old)),
        }
    }

    /// Writes a request of one block that completes.
    #[inline(always)]
    pub(super) fn write_nop(&self, index: u64) {
        self.write_at(index, wqe::nop(self.control(index, Completion::Always)));
    }

    /// Landing memory as the NIC names it: number 0 takes what nobody reads, slot `n` has number `n + 1`.
    #[inline(always)]
    pub(super) fn landing(&self, number: u64) -> Place {
        let key = super::super::mlx5::Key::from_memory(field!(self, u32 landing_key));
        Place { address: field!(self, u64 landing_registered) + 8 * number, key }
    }
}
