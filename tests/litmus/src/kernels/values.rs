//! What a round writes: values that no other round writes to the same place.

use oxshmem_device::prelude::*;
use oxshmem_device::{Scope, Scoped};

/// The value of element `i` in `round`: a permutation of the rounds for each `i`.
#[inline(always)]
pub(super) fn value(round: u32, i: u64) -> u32 {
    round.wrapping_mul(0x9e37_79b1) ^ i as u32
}

/// Calls `each` with the indices below `len` that are the calling thread's.
#[inline(always)]
pub(super) fn share<S: Scope>(scope: Scoped<S, Collective>, len: u64, mut each: impl FnMut(u64)) {
    let mut i = scope.rank();
    while i < len {
        each(i);
        i += scope.size();
    }
}

/// Writes the round's values to own memory; each thread its part. Joins nobody.
#[inline(always)]
pub(super) fn fill<S: Scope>(scope: Scoped<S, Collective>, own: Local<u32>, round: u32) {
    share(scope, own.len(), |i| own.set(i, value(round, i)));
}

/// Whether the calling thread's part of `own` holds anything else than the round's values.
#[inline(always)]
pub(super) fn differs<S: Scope>(scope: Scoped<S, Collective>, own: Local<u32>, round: u32) -> bool {
    let mut differs = false;
    share(scope, own.len(), |i| differs |= own.get(i) != value(round, i));
    differs
}
