//! What the PEs of a process share: the rendezvous, the heap, the devices, and the words in host memory by
//! which kernels report failure.

use crate::alloc::{Heap, Tags};
use crate::board::Board;
use crate::claims::Claims;
use crate::config::{Config, HEAP_UNIT};
use crate::debug;
use crate::driver::{self, Backing, Device, Registered};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::group::{Group, Rendezvous};
use crate::ledger::Ledger;
use crate::space::AddressSpace;
use crate::stop::Stop;
use oxshmem_device::abi::Cause;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::abi::tuning::Tuning;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// How long the record of the first failure may come after that of a later one.
const RECORD_PATIENCE: Duration = Duration::from_millis(50);
/// Beyond this many deadlines, and [`KERNEL_MARGIN`], kernels that should have given up are stuck: a wait takes
/// one deadline, a grid barrier behind it two, and one more for what follows.
const KERNEL_DEADLINES: u32 = 4;
/// See [`KERNEL_DEADLINES`].
const KERNEL_MARGIN: Duration = Duration::from_secs(10);

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
    pub(crate) group: Arc<Group>,
    /// What makes the kernels of this process give up when a PE has failed.
    pub(crate) stop: Arc<Stop>,
    /// Whether the run is over, so that vectors kept beyond it must not be used.
    pub(crate) ended: AtomicBool,
    /// The device of each PE, if the PE belongs to this process.
    pub(crate) device_of_pe: Vec<Option<Arc<dyn Device>>>,
    /// How many PEs share the device of each PE.
    pub(crate) pes_on_device: Vec<u32>,
    /// A number of the device of each PE, the same for those on one device.
    pub(crate) gpu_of_pe: Vec<u32>,
    /// What is held of each device by PEs of this process, by the device's number.
    pub(crate) ledgers: Vec<Arc<Ledger>>,
    /// Address of each PE's heap segment.
    pub(crate) bases: Vec<u64>,
    /// From each of them to the next.
    pub(crate) stride: u64,
    /// Bytes that are mapped at the start of each segment.
    pub(crate) mapped: AtomicU64,
    /// Number of the run in this process, to tell vectors of different runs apart.
    pub(crate) number: u64,
    /// What the handles of the job's teams carry, by which those of another job are known.
    pub(crate) team_tag: u16,
    /// Where processes hand each other heap memory.
    pub(crate) exchange: Option<Exchange>,
    /// By what collective operations choose: the word of a [`Tuning`].
    tuning: AtomicU64,
    /// What is registered of the program's memory.
    pub(crate) claims: Arc<Claims>,
    /// When it was first seen that the job has failed, and by what.
    failing: Mutex<Option<(Instant, &'static str)>>,
    // Fields drop in order: devices forget the board before it goes. What is mapped holds its device.
    heap: Mutex<Heap>,
    shared: Box<dyn Registered>,
    pub(crate) board: Arc<Board>,
}

/// What a job is made of.
pub(crate) struct Parts {
    pub(crate) group: Arc<Group>,
    pub(crate) board: Arc<Board>,
    /// The device of each PE, if the PE belongs to this process.
    pub(crate) device_of_pe: Vec<Option<Arc<dyn Device>>>,
    /// How many PEs share the device of each PE.
    pub(crate) pes_on_device: Vec<u32>,
    /// A number of the device of each PE, the same for those on one device.
    pub(crate) gpu_of_pe: Vec<u32>,
    /// Bytes of addresses for each PE's heap.
    pub(crate) segment: u64,
    /// Bytes by which heaps grow.
    pub(crate) granule: u64,
    pub(crate) tags: Tags,
    pub(crate) exchange: Option<Exchange>,
}

impl Job {
    /// By what the collective operations of kernels choose that are launched now.
    pub(crate) fn chosen_by(&self) -> Tuning {
        let one_gpu = self.gpu_of_pe.iter().all(|gpu| *gpu == self.gpu_of_pe[0]);
        Tuning { word: self.tuning.load(Ordering::Relaxed) }.on_one_gpu(one_gpu)
    }

    pub(crate) fn choose_by(&self, tuning: Tuning) {
        self.tuning.store(tuning.word, Ordering::Relaxed);
    }

    /// A job whose PEs are threads of this process: opens the devices and makes the heaps.
    pub(crate) fn of_threads(config: &Config) -> Result<Self> {
        let devices = driver::open(config)?;
        let of = |pe: usize| devices[pe % devices.len()].clone();
        let device_of_pe: Vec<Arc<dyn Device>> = (0..config.pes as usize).map(of).collect();
        let sharers = |device: &Arc<dyn Device>| {
            let ordinal = device.info().ordinal;
            device_of_pe.iter().filter(|other| other.info().ordinal == ordinal).count() as u32
        };
        let pes_on_device: Vec<u32> = device_of_pe.iter().map(sharers).collect();
        let gpu_of_pe = device_of_pe.iter().map(|device| device.info().ordinal).collect();
        let mut segment = u64::MAX;
        for (device, &pes) in device_of_pe.iter().zip(&pes_on_device) {
            segment = segment.min(segment_bytes(config, &**device, pes)?);
        }
        let board = Arc::new(Board::new(config.pes)?);
        let patience = kernel_patience(config, &*devices[0]);
        let job = Self::new(
            config,
            Parts {
                group: Arc::new(Group::Threads(Rendezvous::new(
                    config.pes,
                    config.deadline,
                    patience,
                    board.clone(),
                ))),
                board,
                device_of_pe: device_of_pe.into_iter().map(Some).collect(),
                pes_on_device,
                gpu_of_pe,
                segment,
                granule: devices.iter().map(|device| device.info().granule).max().unwrap_or(1),
                tags: Tags::Shared,
                exchange: None,
            },
        )?;
        let grown = job.heap().grow_here(reserved(config.pes), |_| Backing::Device);
        grown.map_err(|error| no_start(error, config, devices.len() as u32, devices[0].info().granule))?;
        job.mapped.store(job.heap().mapped(), Ordering::Release);
        Ok(job)
    }

    /// A job of these parts, whose heap has no memory yet.
    pub(crate) fn new(config: &Config, parts: Parts) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Parts { group, board, device_of_pe, pes_on_device, gpu_of_pe, segment, granule, tags, exchange } =
            parts;
        let space = AddressSpace::new(&device_of_pe, segment, granule);
        let space = space.map_err(|error| no_addresses(error, config))?;
        debug!(target: debug::HEAP, n_pes = config.pes, segment, granule, "addresses for the heaps are reserved");
        let heap = Heap::new(space, config.pes, config.heap_limit, tags);
        for checker in device_of_pe.iter().flatten().filter_map(|device| device.checker()) {
            checker.heaps(heap.bases()[0], heap.stride(), segment, config.pes);
        }
        let nobody = || Error::Config { what: "no PE of the job belongs to this process".into() };
        let own: Vec<&Arc<dyn Device>> = device_of_pe.iter().flatten().collect();
        let first = own.first().ok_or_else(nobody)?;
        let (start, bytes) = board.for_devices();
        // SAFETY: whole pages of a map that the job keeps until after what this returns.
        let shared = unsafe { first.register_host(start, bytes)? };
        let kernel_patience = kernel_patience(config, &***first);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Of a job of several processes, what all of them know alike.
        let team_tag = match tags {
            Tags::Shared => number as u16,
            Tags::From(start) => start as u16,
        };
        let numbers = own.iter().map(|device| device.info().ordinal + 1).max().unwrap_or(0);
        Ok(Self {
            n_pes: config.pes,
            deadline: config.deadline,
            group,
            kernel_patience,
            kernel_limit: config.kernel_limit,
            stop: Arc::default(),
            tuning: AtomicU64::new(config.collectives.of(config.pes).word),
            ended: AtomicBool::new(false),
            ledgers: (0..numbers).map(|_| Arc::default()).collect(),
            bases: heap.bases(),
            stride: heap.stride(),
            mapped: AtomicU64::new(0),
            number,
            team_tag,
            failing: Mutex::new(None),
            device_of_pe,
            pes_on_device,
            gpu_of_pe,
            exchange,
            claims: Arc::default(),
            heap: Mutex::new(heap),
            shared,
            board,
        })
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The PEs of this process.
    pub(crate) fn own_pes(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.device_of_pe).filter(|(_, device)| device.is_some()).map(|(pe, _)| pe)
    }

    /// Device address of the alarm word.
    pub(crate) fn alarm_address(&self) -> u64 {
        self.shared.device()
    }

    /// Device address of a PE's error record.
    pub(crate) fn record_address(&self, pe: u32) -> u64 {
        self.shared.device() + Board::record_offset(pe)
    }

    /// Whether a kernel of any PE has failed since the start or the last recovery.
    pub(crate) fn alarm(&self) -> bool {
        self.board.alarm().load(Ordering::Acquire) != 0
    }

    /// Whether any PE's closure has failed: a look that takes no lock.
    pub(crate) fn any_failed(&self) -> bool {
        self.stop.is_set()
    }

    /// The error of a poisoned job, if it is poisoned: the first failure of all PEs.
    pub(crate) fn poisoned(&self) -> Option<Error> {
        if !self.alarm() {
            return None;
        }
        let start = Instant::now();
        let first = loop {
            let first =
                (0..self.n_pes).filter_map(|pe| self.board.record(pe)).min_by_key(|record| record.ticket);
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
            let kernel = self.board.launched(record.pe, record.launch).map(|(kernel, _)| kernel);
            Failure::from_record(&record, place, kernel, self.deadline)
        });
        Some(match failure {
            Some(Failure { cause: Cause::GlobalExit, pe, seen, .. }) => {
                Error::GlobalExit { pe, status: (seen as u32).cast_signed() }
            }
            Some(failure) => Error::Poisoned(Box::new(failure)),
            None => Error::other("a kernel failed, and its error record makes no sense: call recover()"),
        })
    }

    /// Since when the job has failed, as far as was noticed, and by what.
    pub(crate) fn failing(&self) -> Option<(Instant, &'static str)> {
        let why = if self.any_failed() {
            "another PE failed"
        } else if self.alarm() {
            "a kernel failed"
        } else {
            return None;
        };
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        Some(*failing.get_or_insert_with(|| {
            warn!(target: debug::FAILURE, why, "the job has failed");
            (Instant::now(), why)
        }))
    }

    /// Takes the alarm back, when all records are empty.
    pub(crate) fn clear_alarm(&self) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.board.alarm().store(0, Ordering::Release);
    }

    /// The error that ends a PE's host calls because of what happened elsewhere: another PE's failure, or
    /// poison.
    pub(crate) fn trouble_for(&self, pe: u32) -> Option<Error> {
        if self.any_failed()
            && let Some(error) = self.group.failure_for(pe)
        {
            return Some(error);
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

/// How long the kernels of a PE may take when somebody waits for them to end.
pub(crate) fn kernel_patience(config: &Config, device: &dyn Device) -> Duration {
    match device.info().emulated {
        // An emulated kernel may take any time, and its waits expire by the emulator's own clock.
        true => Duration::from_secs(1 << 32),
        false => config.deadline * KERNEL_DEADLINES + KERNEL_MARGIN,
    }
}

/// Bytes to reserve for each PE: the limit, or all of the device, which `pes_on_device` PEs share.
pub(crate) fn segment_bytes(config: &Config, device: &dyn Device, pes_on_device: u32) -> Result<u64> {
    let info = device.info();
    // The start of the heap, and a granule for the tables of teams and what else a PE keeps.
    let start = reserved(config.pes).next_multiple_of(info.granule);
    let least = u64::from(pes_on_device) * (start + info.granule);
    if info.memory < least {
        return Err(Error::DeviceTooSmall {
            device: info.name.clone(),
            emulated: info.emulated,
            given: info.memory,
            least,
            pes_on_device,
            start,
            granule: info.granule,
        });
    }
    let Some(asked) = config.heap_limit else { return Ok(info.memory / info.granule * info.granule) };
    if asked > info.memory / u64::from(pes_on_device) {
        let (device, memory) = (info.name.clone(), info.memory);
        return Err(Error::HeapTooLarge { asked, device, memory, pes_on_device });
    }
    let own = reserved(config.pes);
    let bytes = asked.min(MOST_ADDRESSES - own) + own;
    Ok(bytes.next_multiple_of(info.granule))
}

/// Makes of a heap that does not even start an error that says why.
fn no_start(error: Error, config: &Config, devices: u32, granule: u64) -> Error {
    match error {
        Error::OutOfMemory { available, limit, .. } => Error::OutOfMemory {
            what: "device memory for the start of each PE's heap",
            asked: granule * u64::from(config.pes.div_ceil(devices)),
            available,
            limit,
        },
        other => other,
    }
}

/// Makes of addresses that were not given an error that says whose they are.
fn no_addresses(error: Error, config: &Config) -> Error {
    match error {
        Error::NoAddresses { asked, reason, .. } => Error::NoAddresses {
            asked,
            pes: config.pes,
            limited: config.heap_limit.is_some(),
            least: HEAP_UNIT,
            reason,
        },
        other => other,
    }
}
