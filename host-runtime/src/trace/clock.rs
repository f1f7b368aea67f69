//! The time of a GPU in that of the host, whose monotonic clock all processes share.
//!
//! A kernel of one thread answers questions for the time: the host notes when it asks and when it has the answer, between
//! which the device looked at its clock. Of many rounds the shortest counts, and half of it is how wrong its middle may be.
//! Between a reading at the start of a run and one at its end the clocks drift evenly.

use crate::board;
use crate::driver::{Body, Launch};
use crate::error::{Result, TraceError};
use crate::launch::context;
use crate::pe::Pe;
use oxshmem_device::launch::Kernel;
use oxshmem_stream_kernels::clock::tell_time;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Questions of a reading.
const ROUNDS: u64 = 64;
/// Looks at an answer between two looks at the time and at the kernel.
const LOOKS: u32 = 256;

/// Both clocks at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) device: u64,
    pub(super) host: u64,
    /// By how much `host` may be wrong.
    pub(super) within: u64,
}

/// How a device's time becomes the host's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alignment {
    start: Reading,
    end: Reading,
}

impl Alignment {
    /// By the readings at the start and, if there is one, at the end of a run.
    pub(super) fn new(start: Reading, end: Option<Reading>) -> Self {
        Self { start, end: end.filter(|end| end.device > start.device).unwrap_or(start) }
    }

    /// The host's time, in nanoseconds.
    pub(super) fn host(&self, device: u64) -> u64 {
        let Self { start, end } = self;
        let since = i128::from(device) - i128::from(start.device);
        let (span, offset) =
            (end.device - start.device, |r: &Reading| i128::from(r.host) - i128::from(r.device));
        let drift = match i128::from(span) {
            0 => 0,
            span => since * (offset(end) - offset(start)) / span,
        };
        u64::try_from(i128::from(start.host) + since + drift).unwrap_or(0)
    }

    /// By how much a time within the run may be wrong, in nanoseconds, besides the steps of the device's clock.
    pub(super) fn within(&self) -> u64 {
        self.start.within.max(self.end.within)
    }

    /// By how much the device's clock is slower than the host's, in parts of a thousand million.
    pub(super) fn drift(&self) -> i64 {
        let Self { start, end } = self;
        match end.device - start.device {
            0 => 0,
            span => {
                let hosts = i128::from(end.host) - i128::from(start.host);
                ((hosts - i128::from(span)) * 1_000_000_000 / i128::from(span)) as i64
            }
        }
    }
}

/// The words of `oxshmem_device::abi::trace::ClockWords`, in a page of their own, which is what devices are given.
#[repr(C, align(4096))]
#[derive(Debug, Default)]
struct Page {
    asked: AtomicU64,
    answered: AtomicU64,
    time: AtomicU64,
}

/// Reads the clock of a PE's device.
///
/// # Errors
/// [`TraceError::Clock`] if the kernel does not answer within the deadline; what the driver says.
pub(super) fn read(pe: &Pe) -> Result<Reading> {
    let page = Box::<Page>::default();
    // SAFETY: a whole page, which is kept until after the registration, or for ever, and reached by atomic accesses alone.
    let registered = unsafe { pe.device.register_host(NonNull::from(&*page).cast(), size_of::<Page>())? };
    let (queue, words) = (pe.device.queue()?, registered.device());
    let (context, rounds) = (context(pe, 0, 0), ROUNDS);
    let body = move || -> Body {
        Box::new(move |context| {
            // SAFETY: the context of this launch, and the registered words.
            unsafe { tell_time::run_thread(context, ((words, ()), (ROUNDS, ()))) }
        })
    };
    let launch = Launch {
        symbol: tell_time::SYMBOL,
        function: pe.device.function(tell_time::SYMBOL)?,
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        collective: false,
        context,
        site: None,
        params: &[(&raw const context).cast(), (&raw const words).cast(), (&raw const rounds).cast()],
        names: Vec::new(),
        body: &body,
    };
    // SAFETY: the kernel's parameters, and memory that stays until it is over.
    unsafe { queue.launch(&launch)? };
    let best = ask(&page, pe.job.deadline, || queue.is_over());
    let since = Instant::now();
    while best.is_ok() && !queue.is_over() && since.elapsed() < pe.job.deadline {
        queue.pause(0, Duration::from_millis(1));
    }
    if !queue.is_over() {
        // The kernel gives up at its own deadline. Until then it looks at the words.
        std::mem::forget((page, registered));
    }
    best.map_err(|reason| {
        TraceError::Clock { pe: pe.me, device: pe.device.info().name.clone(), reason: reason.into() }.into()
    })
}

/// Asks a kernel for the time, round by round.
fn ask(page: &Page, patience: Duration, over: impl Fn() -> bool) -> Result<Reading, &'static str> {
    let since = Instant::now();
    let mut best: Option<Reading> = None;
    for round in 1..=ROUNDS {
        let before = board::now();
        page.asked.store(round, Ordering::Release);
        let mut looks = 0u32;
        while page.answered.load(Ordering::Acquire) != round {
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                // A kernel that has just answered the last round is over, too.
                if over() && page.answered.load(Ordering::Acquire) != round {
                    return Err("the kernel that reads it ended without an answer");
                }
                if since.elapsed() > patience {
                    return Err("the kernel that reads it did not answer within OXSHMEM_DEADLINE");
                }
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        let after = board::now();
        let within = (after - before).div_ceil(2);
        if best.is_none_or(|best| within < best.within) {
            let device = page.time.load(Ordering::Relaxed);
            best = Some(Reading { device, host: before + (after - before) / 2, within });
        }
    }
    best.ok_or("it was not asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_two_readings_drift_evenly() {
        let start = Reading { device: 5_000_000, host: 1_000_000, within: 700 };
        let end = Reading { device: 6_000_000, host: 2_001_000, within: 900 };
        let aligned = Alignment::new(start, Some(end));
        for (device, host) in
            [(5_000_000, 1_000_000), (5_500_000, 1_500_500), (6_000_000, 2_001_000), (4_000_000, 0)]
        {
            assert_eq!(aligned.host(device), host, "{device}");
        }
        assert_eq!((aligned.within(), aligned.drift()), (900, 1_000_000));
        let alone = Alignment::new(start, None);
        assert_eq!((alone.host(5_000_100), alone.within(), alone.drift()), (1_000_100, 700, 0));
    }

    #[test]
    fn a_kernel_that_ends_or_hangs_is_not_waited_for_for_ever() {
        let page = Page::default();
        assert!(ask(&page, Duration::from_secs(60), || true).unwrap_err().contains("ended"));
        assert!(ask(&page, Duration::from_millis(1), || false).unwrap_err().contains("OXSHMEM_DEADLINE"));
    }

    #[test]
    #[cfg(feature = "emulator")]
    fn a_kernel_tells_the_time_between_question_and_answer() {
        let config = crate::Config::default().device(crate::DeviceChoice::Emulated);
        let readings = config.run(|shmem| {
            let before = board::now();
            let reading = read(shmem.pe())?;
            Ok((before, reading, board::now()))
        });
        // On the emulator the clock that is read is the host's own.
        let (before, reading, after) = readings.unwrap()[0];
        assert!(before <= reading.host && reading.host <= after, "{reading:?}");
        assert!(reading.host.abs_diff(reading.device) <= reading.within, "{reading:?}");
    }
}
