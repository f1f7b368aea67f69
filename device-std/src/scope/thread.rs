//! One thread.

use super::{Scope, Width, end_if_given_up};
use crate::context::Shmem;
use crate::fault::Expired;
use crate::poll::Polled;
use crate::together::Together;

/// One thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread;

impl Scope for Thread {
    type Worker = Self;
    #[inline(always)]
    fn worker(self) -> Self {
        self
    }
    const TOGETHER: Together = Together::OneThread;
    const WIDTH: Width = Width::One;
    #[inline(always)]
    fn rank(self) -> u64 {
        0
    }
    #[inline(always)]
    fn size(self) -> u64 {
        1
    }
    #[inline(always)]
    fn leads(self) -> bool {
        true
    }
    #[inline(always)]
    fn polls(self) -> bool {
        true
    }
    #[inline(always)]
    fn sync(self, _: Shmem) {}
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        end_if_given_up(shmem, !matches!(polled, Polled::Held), polled, expired);
    }
    #[inline(always)]
    fn share(self, _: Shmem, value: u64) -> u64 {
        value
    }
}
