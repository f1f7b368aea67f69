//! State spaces, and how an element in one is accessed.

use crate::arch::Word;

/// A state space, chosen at compile time.
pub(crate) trait Space: Copy {
    /// Whether an access may be a long trip.
    const IS_FAR: bool = false;
    /// # Safety
    /// `address` is a valid, aligned address of this space; weak access.
    unsafe fn load<W: Word>(address: u64) -> W;
    /// # Safety
    /// As `load`.
    unsafe fn store<W: Word>(address: u64, value: W);
}

/// Device memory: the heap, peers' heaps, local buffers.
#[derive(Clone, Copy)]
pub struct GlobalSpace;
/// The block's shared memory.
#[derive(Clone, Copy)]
pub struct SharedSpace;
/// Memory private to the thread.
#[derive(Clone, Copy)]
pub struct PrivateSpace;

impl Space for GlobalSpace {
    const IS_FAR: bool = true;
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_global(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_global(address, value) }
    }
}
impl Space for SharedSpace {
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_shared(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_shared(address, value) }
    }
}
impl Space for PrivateSpace {
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_generic(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_generic(address, value) }
    }
}

/// How one element is accessed. Implemented by the spaces, and by [`Racing`] for scalar puts and gets.
pub(crate) trait Access {
    /// # Safety
    /// `address` is valid and aligned.
    unsafe fn load_word<W: Word>(address: u64) -> W;
    /// # Safety
    /// `address` is valid and aligned.
    unsafe fn store_word<W: Word>(address: u64, value: W);
}
impl<S: Space> Access for S {
    #[inline(always)]
    unsafe fn load_word<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { S::load(address) }
    }
    #[inline(always)]
    unsafe fn store_word<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { S::store(address, value) }
    }
}

/// Strong relaxed accesses of global memory: `p` and `g`.
pub(crate) struct Racing;
impl Access for Racing {
    #[inline(always)]
    unsafe fn load_word<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_relaxed(address) }
    }
    #[inline(always)]
    unsafe fn store_word<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_relaxed(address, value) }
    }
}
