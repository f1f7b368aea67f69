//! The clock of the device, for timelines.

use oxshmem_device::clock;
use oxshmem_device::prelude::*;

/// Answers `rounds` questions for the device's time that the host asks by the words at `words`
/// (`oxshmem_device::abi::trace::ClockWords`), by one thread.
#[nvshmem_kernel]
pub fn tell_time(shmem: Shmem, words: u64, rounds: u64) {
    // SAFETY: the host runtime alone launches this kernel, with such words.
    unsafe { clock::answer(shmem, words, rounds) }
}
