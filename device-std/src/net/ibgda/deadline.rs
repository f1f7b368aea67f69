//! How long a wait may take.

use crate::arch::order;

/// Tells a wait whether to go on. One may serve several waits one after the other, which then share its time.
pub trait Deadline {
    /// After a look that found nothing: lets others run, and says whether the wait may go on. `failed` counts such looks of
    /// this wait, from 1.
    fn goes_on(&mut self, failed: u32) -> bool;
}

/// So many units of the device's clock (nanoseconds; emulated: steps) from the first look at it on, which comes after many
/// failed looks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    budget: u64,
    /// 0 before the first look at the clock.
    moment: u64,
}

impl Ticks {
    /// `budget` units of the device's clock.
    #[inline(always)]
    pub const fn within(budget: u64) -> Self {
        Self { budget, moment: 0 }
    }
}

impl Deadline for Ticks {
    #[inline(always)]
    fn goes_on(&mut self, failed: u32) -> bool {
        if failed.is_multiple_of(order::POLLS_PER_CHECK) {
            if self.moment == 0 {
                self.moment = order::now().saturating_add(self.budget);
            } else if order::now() >= self.moment {
                return false;
            }
        }
        order::poll_failed(failed, self.moment);
        true
    }
}
