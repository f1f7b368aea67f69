//! Time inside a kernel, for measuring. Nothing that oxshmem promises depends on it.
//!
//! ```
//! use oxshmem_device::{clock, prelude::*};
//!
//! /// How long a put of `source` and its quiet take.
//! #[nvshmem_kernel]
//! pub fn timed_put(shmem: Shmem, target: Sym<[f32]>, source: Sym<[f32]>, nanoseconds: Global<[u64]>, pe: u32) {
//!     let block = shmem.block();
//!     let start = clock::nanoseconds();
//!     block.put_nbi(target, source, pe);
//!     block.quiet();
//!     if block.is_leader() {
//!         shmem.local(nanoseconds).set(0, clock::nanoseconds() - start);
//!     }
//! }
//! ```

use crate::abi::trace::ClockWords;
use crate::arch::{Word, order};
use crate::context::Shmem;
use crate::poll::{Polled, poll};
use core::mem::offset_of;

/// Nanoseconds, the same for all threads of a device (`%globaltimer`, PTX ISA 10). Its step is the device's: 32 ns on an
/// H200, a microsecond on some others. Emulated: the machine's steps, a thousand nanoseconds each.
///
/// By any thread; orders nothing on the device, and the compiler moves no access of memory past it.
#[inline(always)]
pub fn nanoseconds() -> u64 {
    order::globaltimer()
}

/// Cycles of the multiprocessor that the calling thread runs on (`%clock64`, PTX ISA 10): of use for differences taken by
/// one thread. Emulated: the machine's steps.
///
/// By any thread; orders nothing on the device, and the compiler moves no access of memory past it.
#[inline(always)]
pub fn cycles() -> u64 {
    order::clock64()
}

/// Answers `rounds` questions for the time of a record (see [`ClockWords`]), by one thread. Ends early when the deadline of
/// a wait passes without a question, or a PE fails.
///
/// # Safety
/// `words` is the address of [`ClockWords`] that the device reaches and that stay until the kernel is over.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn answer(shmem: Shmem, words: u64, rounds: u64) {
    let (asked, answered) = (words, words + offset_of!(ClockWords, answered) as u64);
    let time = words + offset_of!(ClockWords, time) as u64;
    let mut round = 1;
    while round <= rounds {
        let polled = poll(shmem, shmem.abi.deadline, || {
            // SAFETY: the caller's promise; both sides access the words atomically, here and below.
            let seen = unsafe { u64::load_relaxed(asked) };
            (seen >= round, seen)
        });
        if !matches!(polled, Polled::Held) {
            return;
        }
        // SAFETY: as above.
        unsafe {
            u64::store_relaxed(time, order::trace_time());
            u64::store_release(answered, round);
        }
        round += 1;
    }
}
