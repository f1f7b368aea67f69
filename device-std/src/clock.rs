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

use crate::arch::order;

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
