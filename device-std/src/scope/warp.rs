//! One warp.

use super::{Scope, Width, end_if_given_up};
use crate::arch::warp;
use crate::context::Shmem;
use crate::fault::Expired;
use crate::poll::Polled;
use crate::together::Together;
use crate::{thread as indices, warp as lanes};

/// The threads of one warp: 32, or what is left of the block in its last warp.
#[derive(Clone, Copy, Debug)]
pub struct Warp;

impl Scope for Warp {
    type Worker = Self;
    #[inline(always)]
    fn worker(self) -> Self {
        self
    }
    const TOGETHER: Together = Together::OneWarp;
    const WIDTH: Width = Width::Warp;
    #[inline(always)]
    fn rank(self) -> u64 {
        u64::from(indices::in_block() & 31)
    }
    #[inline(always)]
    fn size(self) -> u64 {
        u64::from(lanes::size())
    }
    #[inline(always)]
    fn leads(self) -> bool {
        indices::in_block() & 31 == 0
    }
    #[inline(always)]
    fn polls(self) -> bool {
        self.leads()
    }
    #[inline(always)]
    fn sync(self, _: Shmem) {
        warp::sync(lanes::mask());
    }
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        end_if_given_up(shmem, any(!matches!(polled, Polled::Held)), polled, expired);
    }
    #[inline(always)]
    fn share(self, _: Shmem, value: u64) -> u64 {
        let value = lanes::shuffle(value, 0);
        warp::sync(lanes::mask());
        value
    }
    #[inline(always)]
    fn agree(self, _: Shmem, holds: bool) -> bool {
        any(self.leads() && holds)
    }
}

/// Whether any lane's `predicate` is true.
#[inline(always)]
fn any(predicate: bool) -> bool {
    // The vote alone does not order memory; the warp barrier does (PTX ISA 9.7.13.4).
    let any = warp::any(lanes::mask(), predicate);
    warp::sync(lanes::mask());
    any
}
