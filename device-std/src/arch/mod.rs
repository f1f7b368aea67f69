//! The one place where device-std touches the machine: memory accesses with a stated order and scope,
//! atomics, fences, thread indices, warp and block collectives, shared memory, time and exit.
//!
//! `ptx/` holds the instructions, `host/` a twin of the same name and signature for each, which the emulator
//! stands behind. Everything above this folder is the same code on both sides.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod host;
#[cfg(target_arch = "nvptx64")]
mod ptx;

#[cfg(not(target_arch = "nvptx64"))]
use host as imp;
#[cfg(target_arch = "nvptx64")]
use ptx as imp;

pub(crate) use imp::atomic;
pub(crate) use imp::bulk;
pub(crate) use imp::fault;
pub(crate) use imp::float;
pub(crate) use imp::nic;
pub(crate) use imp::order;
pub(crate) use imp::shared;
pub(crate) use imp::thread;
pub(crate) use imp::warp;

/// 16 bytes that move in one access.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V16(pub(crate) u64, pub(crate) u64);

/// A machine word of 1, 2, 4, 8 or 16 bytes that can be read and written in each state space.
///
/// Accesses are *weak* unless the name says otherwise: they may only touch memory that a barrier, wait or
/// scope barrier has ordered against every other access.
pub trait Word: Copy {
    /// Loads from global memory (`ld.global`, weak).
    ///
    /// # Safety
    /// `address` is aligned to the word, mapped for this device, and not written concurrently.
    unsafe fn load_global(address: u64) -> Self;
    /// Stores to global memory (`st.global`, weak).
    ///
    /// # Safety
    /// As [`load_global`](Self::load_global), and not read concurrently.
    unsafe fn store_global(address: u64, value: Self);
    /// Stores to global memory that a peer may read at the same time (`st.relaxed.sys.global`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn store_relaxed(address: u64, value: Self);
    /// Loads from global memory that a peer may write at the same time (`ld.relaxed.sys.global`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn load_relaxed(address: u64) -> Self;
    /// Loads from global memory, and orders everything after it (`ld.acquire.sys.global`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn load_acquire(address: u64) -> Self;
    /// Stores to global memory; everything before it is visible first (`st.release.sys.global`). No fence stands in
    /// front of it: that would cost the same again and add nothing (PTX ISA 8.8, release pattern).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn store_release(address: u64, value: Self);
    /// Loads from global memory, as often and in the order that the program says (`ld.volatile.global`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn load_volatile(address: u64) -> Self;
    /// Stores to global memory, as often and in the order that the program says (`st.volatile.global`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn store_volatile(address: u64, value: Self);
    /// Loads from this block's shared memory (`ld.shared`).
    ///
    /// # Safety
    /// `address` is a shared-window address inside the block's allocation, aligned to the word.
    unsafe fn load_shared(address: u64) -> Self;
    /// Stores to this block's shared memory (`st.shared`).
    ///
    /// # Safety
    /// As [`load_shared`](Self::load_shared).
    unsafe fn store_shared(address: u64, value: Self);
    /// Loads through a generic address, for memory private to the thread (`ld`).
    ///
    /// # Safety
    /// `address` is a live, aligned generic address.
    unsafe fn load_generic(address: u64) -> Self;
    /// Stores through a generic address (`st`).
    ///
    /// # Safety
    /// As [`load_generic`](Self::load_generic).
    unsafe fn store_generic(address: u64, value: Self);
}

/// How a read-modify-write is ordered; its scope is always `.sys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantic {
    /// Orders nothing else.
    Relaxed,
    /// What follows comes after it.
    Acquire,
    /// What came before is visible first.
    Release,
    /// Both.
    AcqRel,
}

/// Read-modify-writes of a machine word in global memory that take any bits for a value. `order` is a constant at every
/// call, so that one instruction is left.
pub trait Exchange: Word {
    /// Stores `new` if the word equals `expected`; returns the old value (`atom.cas`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn compare_swap(order: Semantic, address: u64, expected: Self, new: Self) -> Self;
    /// Stores `value`, returns the old one (`atom.exch`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn swap(order: Semantic, address: u64, value: Self) -> Self;
}

/// Read-modify-writes that compute, of a `T` in global memory. The forms that return nothing are `red`, where the order
/// is one that `red` has.
pub(crate) trait Add: Copy {
    /// Adds (`red.add`).
    ///
    /// # Safety
    /// `address` is aligned and mapped for this device.
    unsafe fn add(order: Semantic, address: u64, value: Self);
    /// Adds, returns the old value (`atom.add`).
    ///
    /// # Safety
    /// `address` is aligned and mapped for this device.
    unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self;
}

/// Bitwise read-modify-writes of a machine word in global memory: forms as in [`Add`].
pub trait Bitwise: Word {
    /// And (`red.and`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn and(order: Semantic, address: u64, value: Self);
    /// And, returns the old value (`atom.and`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn fetch_and(order: Semantic, address: u64, value: Self) -> Self;
    /// Or (`red.or`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn or(order: Semantic, address: u64, value: Self);
    /// Or, returns the old value (`atom.or`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn fetch_or(order: Semantic, address: u64, value: Self) -> Self;
    /// Exclusive or (`red.xor`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn xor(order: Semantic, address: u64, value: Self);
    /// Exclusive or, returns the old value (`atom.xor`).
    ///
    /// # Safety
    /// `address` is aligned to the word and mapped for this device.
    unsafe fn fetch_xor(order: Semantic, address: u64, value: Self) -> Self;
}
