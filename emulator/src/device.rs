//! An emulated GPU as the host sees it: occupancy, memory, streams, statistics. What runs on it is the
//! worker's business.

use crate::check::desk::Desk;
use crate::clock::Clock;
use crate::config::MachineConfig;
use crate::error::Error;
use crate::launch::Submission;
use crate::memory::{Allocation, Physical, Table};
use crate::occupancy;
use crate::statistics::Statistics;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a device's host side and its worker share.
#[derive(Debug)]
pub(crate) struct DeviceShared {
    pub(crate) index: u32,
    pub(crate) config: Arc<MachineConfig>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) table: Arc<Table>,
    pub(crate) account: Arc<Account>,
    pub(crate) statistics: Mutex<Statistics>,
    /// The checker, if the machine is checked.
    pub(crate) desk: Option<Arc<Desk>>,
    /// Launches that the worker has not taken yet.
    arrivals: Mutex<Arrivals>,
    /// Whether the worker should look at `arrivals`.
    news: AtomicBool,
}

#[derive(Debug, Default)]
struct Arrivals {
    launches: VecDeque<Submission>,
    /// Set when the device has stopped: nothing more is taken.
    stopped: Option<String>,
}

/// What the worker finds when it looks for work.
#[derive(Debug)]
pub(crate) enum News {
    Launches(VecDeque<Submission>),
    Stop(String),
}

impl DeviceShared {
    pub(crate) fn new(
        index: u32,
        config: Arc<MachineConfig>,
        clock: Arc<Clock>,
        table: Arc<Table>,
        memory: u64,
        desk: Option<Arc<Desk>>,
    ) -> Arc<Self> {
        let account = Arc::new(Account { device: index, total: memory, used: AtomicU64::new(0) });
        Arc::new(Self {
            index,
            config,
            clock,
            table,
            account,
            statistics: Mutex::default(),
            desk,
            arrivals: Mutex::default(),
            news: AtomicBool::new(false),
        })
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a launch to the worker.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the device takes no more.
    pub(crate) fn submit(&self, launch: Submission) -> Result<(), Error> {
        let mut arrivals = self.arrivals();
        if let Some(reason) = &arrivals.stopped {
            return Err(Error::Stopped { device: self.index, reason: reason.clone() });
        }
        arrivals.launches.push_back(launch);
        self.news.store(true, Ordering::Release);
        // Last: a worker that sees this epoch sees the launch, too.
        self.clock.set_busy(self.index);
        drop(arrivals);
        self.clock.wake(self.index);
        Ok(())
    }

    /// Tells the worker to stop.
    pub(crate) fn stop(&self) {
        self.close("its machine was dropped");
        self.clock.wake(self.index);
    }

    /// Takes no more launches. The first reason stays.
    pub(crate) fn close(&self, reason: &str) {
        let mut arrivals = self.arrivals();
        arrivals.stopped.get_or_insert_with(|| reason.to_owned());
        self.news.store(true, Ordering::Release);
    }

    /// What has come since the worker looked last.
    pub(crate) fn news(&self) -> Option<News> {
        if !self.news.load(Ordering::Relaxed) || !self.news.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut arrivals = self.arrivals();
        match &arrivals.stopped {
            Some(reason) => Some(News::Stop(reason.clone())),
            None => Some(News::Launches(core::mem::take(&mut arrivals.launches))),
        }
    }

    /// The launches that nobody will take any more.
    pub(crate) fn left_over(&self) -> VecDeque<Submission> {
        core::mem::take(&mut self.arrivals().launches)
    }

    /// Marks the device as idle, unless something came.
    pub(crate) fn idle(&self) -> bool {
        let arrivals = self.arrivals();
        let idle = arrivals.launches.is_empty() && arrivals.stopped.is_none();
        if idle {
            self.clock.set_idle(self.index);
        }
        idle
    }
}

/// Memory of a device: what it has and what is used.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) device: u32,
    total: u64,
    used: AtomicU64,
}

impl Account {
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Error> {
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.total);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(used) => Err(Error::OutOfMemory {
                device: self.device,
                asked: bytes,
                free: self.total - used,
                total: self.total,
            }),
        }
    }

    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// An emulated GPU. A cheap handle.
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<DeviceShared>,
}

impl Device {
    pub(crate) fn new(shared: Arc<DeviceShared>) -> Self {
        Self { shared }
    }

    /// Its number in the machine.
    pub fn index(&self) -> u32 {
        self.shared.index
    }

    /// How many blocks of `block_threads` threads and `shared_bytes` of shared memory the device holds at
    /// once; 0 if not even one fits.
    pub fn active_blocks(&self, block_threads: u32, shared_bytes: u32) -> u32 {
        occupancy::active_blocks(&self.shared.config, block_threads, shared_bytes)
    }

    /// Bytes of device memory that are free, and bytes in all.
    pub fn memory(&self) -> (u64, u64) {
        let account = &self.shared.account;
        (account.total - account.used.load(Ordering::Relaxed), account.total)
    }

    /// Creates mappable, zeroed device memory; `bytes` is rounded up to [`GRANULARITY`](crate::GRANULARITY).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has less free, [`Error::System`] if the system refuses.
    pub fn create(&self, bytes: u64) -> Result<Physical, Error> {
        Physical::create(self.shared.account.clone(), bytes)
    }

    /// Allocates zeroed local memory; `bytes` is rounded up to [`GRANULARITY`](crate::GRANULARITY).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has less free, [`Error::System`] if the system refuses.
    pub fn allocate(&self, bytes: u64) -> Result<Allocation, Error> {
        Allocation::new(self.shared.table.clone(), self.shared.account.clone(), bytes)
    }

    pub(crate) fn shared(&self) -> &Arc<DeviceShared> {
        &self.shared
    }

    /// What the device has done. Exact once the streams asked about are synchronised.
    pub fn statistics(&self) -> Statistics {
        *self.shared.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Launch;
    use std::hint::spin_loop;

    fn submission(config: &MachineConfig) -> Submission {
        let launch = Launch {
            name: "nothing",
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            collective: false,
            // SAFETY: integers only, for which all zero is right; nobody runs it.
            context: unsafe { std::mem::zeroed() },
            site: None,
            run: Box::new(|_| ()),
        };
        let stacks = launch.stacks(config).unwrap();
        Submission { stream: Arc::default(), launch, stacks, ticket: 0, after: None }
    }

    #[test]
    fn whoever_sees_the_epoch_of_a_launch_sees_the_launch() {
        const LAUNCHES: u64 = 20_000;
        let config = Arc::new(MachineConfig::default());
        let clock = Arc::new(Clock::new(&config));
        let device = DeviceShared::new(0, config.clone(), clock.clone(), Arc::default(), 1 << 20, None);
        let (taken, mut epoch, mut missed) = (AtomicU64::new(0), clock.epoch(), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for taking in 1..=LAUNCHES {
                    while clock.epoch() == epoch {
                        spin_loop();
                    }
                    epoch = clock.epoch();
                    let mut news = device.news();
                    missed += u64::from(news.is_none());
                    while news.is_none() {
                        news = device.news();
                    }
                    taken.store(taking, Ordering::Release);
                }
            });
            for before in 0..LAUNCHES {
                while taken.load(Ordering::Acquire) < before {
                    spin_loop();
                }
                device.submit(submission(&config)).unwrap();
            }
        });
        assert_eq!(missed, 0);
    }
}
