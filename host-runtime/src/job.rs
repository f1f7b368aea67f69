//! What the PEs of a process share: the rendezvous, the heap, the devices, and the words in host memory by
//! which kernels report failure.

use crate::alloc::{self, AllocationId, Heap};
use crate::config::Config;
use crate::driver::{self, Device, HostMemory};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::group::Group;
use crate::ledger::Ledger;
use crate::space::AddressSpace;
use oxshmem_device::abi::{ErrorRecord, RECORD_COMPLETE, control};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many launches of a PE are remembered by name.
const REMEMBERED: usize = 256;
/// How long the record of the first failure may come after that of a later one.
const RECORD_PATIENCE: Duration = Duration::from_millis(50);
/// Beyond this many deadlines, and [`KERNEL_MARGIN`], kernels that should have given up are stuck: a wait takes
/// one deadline, a grid barrier behind it two, and one more for what follows.
const KERNEL_DEADLINES: u32 = 4;
/// See [`KERNEL_DEADLINES`].
const KERNEL_MARGIN: Duration = Duration::from_secs(10);
/// The alarm word has these bytes of the host memory to itself; the records follow.
const ALARM_BYTES: usize = 64;

/// More addresses than any process has.
const MOST_ADDRESSES: u64 = 1 << 62;

/// A run's shared part.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) n_pes: u32,
    pub(crate) deadline: Duration,
    /// How long the kernels of a PE may take when somebody waits for them to end.
    pub(crate) kernel_patience: Duration,
    /// How long a kernel may run when its PE waits for it, though nothing has failed.
    pub(crate) kernel_limit: Option<Duration>,
    pub(crate) group: Group,
    /// Whether any PE's closure has failed: a look that takes no lock.
    pub(crate) any_failed: AtomicBool,
    /// Whether the run is over, so that vectors kept beyond it must not be used.
    pub(crate) ended: AtomicBool,
    /// The device of each PE.
    pub(crate) device_of_pe: Vec<Arc<dyn Device>>,
    /// What is held of each device, by the device's number.
    pub(crate) ledgers: Vec<Arc<Ledger>>,
    /// Address of each PE's heap segment.
    pub(crate) bases: Vec<u64>,
    /// Bytes that are mapped at the start of each segment.
    pub(crate) mapped: AtomicU64,
    /// Number of the run in this process, to tell vectors of different runs apart.
    pub(crate) number: u64,
    /// What PEs have released and do not use any more; a PE names each of its own once.
    released: Mutex<Vec<AllocationId>>,
    recent: Vec<Mutex<Recent>>,
    /// When it was first seen that the job has failed, and by what.
    failing: Mutex<Option<(Instant, &'static str)>>,
    // Fields drop in order: the heap unmaps before the devices go.
    heap: Mutex<Heap>,
    shared: Box<dyn HostMemory>,
}

/// The latest launches of a PE.
#[derive(Debug)]
struct Recent([Launched; REMEMBERED]);

#[derive(Clone, Copy, Debug, Default)]
struct Launched {
    /// From 1; 0 stands for none.
    number: u32,
    stream: u32,
    kernel: &'static str,
}

impl Job {
    /// Opens the devices and reserves the heaps.
    pub(crate) fn new(config: &Config) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        config.check()?;
        let devices = driver::open(config)?;
        let device_of_pe: Vec<Arc<dyn Device>> =
            (0..config.pes as usize).map(|pe| devices[pe % devices.len()].clone()).collect();
        let segment = segment_bytes(config, &devices)?;
        let heap = AddressSpace::new(&device_of_pe, segment)
            .and_then(|space| Heap::new(space, config.pes, config.heap_limit));
        let heap = heap.map_err(|error| heap_error(error, config, &devices))?;
        let shared = devices[0].host_memory(ALARM_BYTES + config.pes as usize * size_of::<ErrorRecord>())?;
        // An emulated kernel may take any time, and its waits expire by the emulator's own clock.
        let kernel_patience = match devices[0].info().emulated {
            true => Duration::from_secs(1 << 32),
            false => config.deadline * KERNEL_DEADLINES + KERNEL_MARGIN,
        };
        Ok(Self {
            n_pes: config.pes,
            deadline: config.deadline,
            group: Group::new(config.pes, config.deadline, kernel_patience),
            kernel_patience,
            kernel_limit: config.kernel_limit,
            any_failed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            ledgers: ledgers(&devices),
            bases: heap.bases(),
            mapped: AtomicU64::new(heap.mapped()),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            recent: (0..config.pes).map(|_| Mutex::new(Recent([Launched::default(); REMEMBERED]))).collect(),
            released: Mutex::new(Vec::new()),
            failing: Mutex::new(None),
            device_of_pe,
            heap: Mutex::new(heap),
            shared,
        })
    }

    /// How many PEs share the device of `pe`.
    pub(crate) fn pes_on_device(&self, pe: u32) -> u32 {
        let ordinal = self.device_of_pe[pe as usize].info().ordinal;
        self.device_of_pe.iter().filter(|device| device.info().ordinal == ordinal).count() as u32
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn released(&self) -> MutexGuard<'_, Vec<AllocationId>> {
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device address of the alarm word.
    pub(crate) fn alarm_address(&self) -> u64 {
        self.shared.device()
    }

    /// Device address of a PE's error record.
    pub(crate) fn record_address(&self, pe: u32) -> u64 {
        self.shared.device() + (ALARM_BYTES + pe as usize * size_of::<ErrorRecord>()) as u64
    }

    /// Whether a kernel of any PE has failed since the start or the last recovery.
    pub(crate) fn alarm(&self) -> bool {
        self.alarm_word().load(Ordering::Acquire) != 0
    }

    fn alarm_word(&self) -> &AtomicU32 {
        // SAFETY: the first bytes of host memory that lives as long as self, aligned to a page; host and
        // devices reach the word by atomic accesses only.
        unsafe { self.shared.host().cast::<AtomicU32>().as_ref() }
    }

    /// The words of a PE's record.
    fn record_words(&self, pe: u32) -> &[AtomicU32] {
        let words = size_of::<ErrorRecord>() / size_of::<AtomicU32>();
        // SAFETY: inside the host memory, which lives as long as self; reached by atomic accesses only.
        unsafe {
            let first = self.shared.host().add(ALARM_BYTES + pe as usize * size_of::<ErrorRecord>());
            std::slice::from_raw_parts(first.cast::<AtomicU32>().as_ptr(), words)
        }
    }

    /// A PE's record, if it is complete.
    fn record(&self, pe: u32) -> Option<ErrorRecord> {
        let words = self.record_words(pe);
        let state = offset_of!(ErrorRecord, state) / size_of::<AtomicU32>();
        if words[state].load(Ordering::Acquire) != RECORD_COMPLETE {
            return None;
        }
        let mut bytes = [0u8; size_of::<ErrorRecord>()];
        for (to, word) in bytes.chunks_exact_mut(size_of::<u32>()).zip(words) {
            to.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        // SAFETY: ErrorRecord is repr(C) of integers only, so any bytes are one.
        Some(unsafe { bytes.as_ptr().cast::<ErrorRecord>().read_unaligned() })
    }

    /// The error of a poisoned job, if it is poisoned: the first failure of all PEs.
    pub(crate) fn poisoned(&self) -> Option<Error> {
        if !self.alarm() {
            return None;
        }
        let start = Instant::now();
        let first = loop {
            let first = (0..self.n_pes).filter_map(|pe| self.record(pe)).min_by_key(|record| record.ticket);
            // Tickets count from 0: a higher one means that an earlier failure is still being written.
            match first {
                Some(record) if record.ticket == 0 || start.elapsed() > RECORD_PATIENCE => {
                    break Some(record);
                }
                None if start.elapsed() > RECORD_PATIENCE => break None,
                _ => std::thread::sleep(Duration::from_micros(100)),
            }
        };
        let failure = first.and_then(|record| {
            let place = self.heap().place(record.offset);
            Failure::from_record(&record, place, self.launched(record.pe, record.launch), self.deadline)
        });
        Some(match failure {
            Some(failure) => Error::Poisoned(Box::new(failure)),
            None => Error::other("a kernel failed, and its error record makes no sense: call recover()"),
        })
    }

    /// Empties a PE's record.
    pub(crate) fn clear_record(&self, pe: u32) {
        for word in self.record_words(pe) {
            word.store(0, Ordering::Release);
        }
    }

    /// Since when the job has failed, as far as was noticed, and by what.
    pub(crate) fn failing(&self) -> Option<(Instant, &'static str)> {
        let why = if self.any_failed.load(Ordering::Acquire) {
            "another PE failed"
        } else if self.alarm() {
            "a kernel failed"
        } else {
            return None;
        };
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        Some(*failing.get_or_insert_with(|| (Instant::now(), why)))
    }

    /// Takes the alarm back, when all records are empty.
    pub(crate) fn clear_alarm(&self) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.alarm_word().store(0, Ordering::Release);
    }

    /// Remembers a launch by name.
    pub(crate) fn remember(&self, pe: u32, number: u32, stream: u32, kernel: &'static str) {
        let mut recent = self.recent[pe as usize].lock().unwrap_or_else(PoisonError::into_inner);
        recent.0[number as usize % REMEMBERED] = Launched { number, stream, kernel };
    }

    fn launched(&self, pe: u32, launch: u32) -> Option<&'static str> {
        let recent = self.recent.get(pe as usize)?.lock().unwrap_or_else(PoisonError::into_inner);
        let Launched { number, kernel, .. } = recent.0[launch as usize % REMEMBERED];
        (number == launch && launch != 0).then_some(kernel)
    }

    /// The first launch on a stream of a PE with a number from `from` to `to`, of those that are remembered.
    pub(crate) fn first_launch(
        &self,
        pe: u32,
        stream: u32,
        from: u64,
        to: u64,
    ) -> Option<(&'static str, u32)> {
        let recent = self.recent.get(pe as usize)?.lock().unwrap_or_else(PoisonError::into_inner);
        let from = from.max((to + 1).saturating_sub(REMEMBERED as u64));
        (from..=to)
            .map(|number| (number as u32, &recent.0[number as usize % REMEMBERED]))
            .find(|(number, launched)| launched.number == *number && launched.stream == stream)
            .map(|(number, launched)| (launched.kernel, number))
    }

    /// The error that ends a PE's host calls because of what happened elsewhere: another PE's failure, or
    /// poison.
    pub(crate) fn trouble_for(&self, pe: u32) -> Option<Error> {
        if self.any_failed.load(Ordering::Acquire)
            && let Some(error) = self.group.failure_for(pe)
        {
            return Some(match error.root() {
                Error::Poisoned(_) => error.root().clone(),
                _ => error,
            });
        }
        self.poisoned()
    }

    /// Why nothing may be used any more, if the run is over.
    pub(crate) fn ended(&self) -> Option<Error> {
        self.ended.load(Ordering::Acquire).then(|| Error::Config {
            what: "a vector or stream was used after the run that made it was over".into(),
        })
    }
}

/// A ledger for each number that a device has.
fn ledgers(devices: &[Arc<dyn Device>]) -> Vec<Arc<Ledger>> {
    let numbers = devices.iter().map(|device| device.info().ordinal + 1).max().unwrap_or(0);
    (0..numbers).map(|_| Arc::default()).collect()
}

/// Bytes to reserve for each PE: the limit, or all of the smallest device.
fn segment_bytes(config: &Config, devices: &[Arc<dyn Device>]) -> Result<u64> {
    let mut bytes = MOST_ADDRESSES;
    for (number, info) in devices.iter().map(|device| device.info()).enumerate() {
        let pes_on_device = config.pes.saturating_sub(number as u32).div_ceil(devices.len() as u32).max(1);
        // A granule for the start of the heap, and one for the table of peers.
        let least = u64::from(pes_on_device) * 2 * info.granule;
        if info.memory < least {
            return Err(Error::DeviceTooSmall {
                device: info.name.clone(),
                emulated: info.emulated,
                given: info.memory,
                least,
                pes_on_device,
                granule: info.granule,
            });
        }
        bytes = bytes.min(info.memory / info.granule * info.granule);
        if let Some(asked) = config.heap_limit
            && asked > info.memory / u64::from(pes_on_device)
        {
            let (device, memory) = (info.name.clone(), info.memory);
            return Err(Error::HeapTooLarge { asked, device, memory, pes_on_device });
        }
    }
    let granule = devices[0].info().granule;
    let limited = |limit: u64| {
        limit.min(MOST_ADDRESSES - control::BYTES).saturating_add(control::BYTES).next_multiple_of(granule)
    };
    Ok(config.heap_limit.map_or(bytes, limited))
}

/// Makes of a heap that does not even start an error that says why.
fn heap_error(error: Error, config: &Config, devices: &[Arc<dyn Device>]) -> Error {
    match error {
        Error::OutOfMemory { available, limit, .. } => Error::OutOfMemory {
            what: "device memory for the start of each PE's heap",
            asked: devices[0].info().granule * u64::from(config.pes.div_ceil(devices.len() as u32)),
            available,
            limit,
        },
        Error::NoAddresses { asked, reason, .. } => Error::NoAddresses {
            asked,
            pes: config.pes,
            limited: config.heap_limit.is_some(),
            least: alloc::UNIT,
            reason,
        },
        other => other,
    }
}
