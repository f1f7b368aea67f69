//! A small job for tests: PEs with heaps on emulated devices, without a host runtime.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use oxshmem_device::KernelContext;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::abi::{ContextAbi, ErrorRecord, TeamAbi, teams};
use oxshmem_device::prelude::*;
use oxshmem_emulator::{
    Device, Error, HostMemory, HostThread, Launch, Machine, MachineConfig, Reservation, Stream,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes of each heap.
pub const HEAP: u64 = 32 << 20;
/// Where data starts in a heap.
pub const DATA: u64 = reserved(64);
/// Where the table of teams starts in the shared memory.
const TEAMS: u64 = 48 << 10;
/// Steps that a wait may take, unless a test says otherwise.
pub const DEADLINE: u64 = 1_000_000;

/// PEs, their heaps and one stream each.
pub struct Job {
    pub machine: Arc<Machine>,
    pub pes: Vec<Pe>,
    pub deadline: u64,
    pub host: HostThread,
    pub shared: HostMemory,
    _heaps: Reservation,
}

pub struct Pe {
    pub device: Device,
    pub stream: Stream,
    pub heap: u64,
}

impl Job {
    /// `pes` PEs, dealt out over the devices of the machine.
    pub fn new(pes: u32, config: MachineConfig) -> Self {
        let devices = config.devices;
        let machine = Machine::new(config).expect("a machine");
        let host = machine.host_thread(0);
        // The alarm word, then the error records.
        let shared = machine.allocate_host(1 << 16).expect("host memory");
        let heaps = machine.reserve(HEAP * u64::from(pes)).expect("addresses");
        let pes: Vec<Pe> = (0..pes)
            .map(|pe| {
                let device = machine.device(pe % devices).expect("a device");
                let at = HEAP * u64::from(pe);
                heaps.map(at, &device.create(HEAP).expect("memory")).expect("a mapping");
                Pe { stream: device.create_stream(), device, heap: heaps.address() + at }
            })
            .collect();
        Self { machine, pes, deadline: DEADLINE, host, shared, _heaps: heaps }
    }

    /// One PE per device.
    pub fn devices(devices: u32) -> Self {
        Self::new(
            devices,
            MachineConfig { devices, sms: 4, threads_per_sm: 2048, ..MachineConfig::default() },
        )
    }

    pub fn with_deadline(self, deadline: u64) -> Self {
        Self { deadline, ..self }
    }

    fn word(&self, address: u64) -> &AtomicU64 {
        // SAFETY: callers pass addresses of mapped memory that lives as long as the job.
        unsafe { &*(address as *const AtomicU64) }
    }

    fn record_address(&self, pe: u32) -> u64 {
        self.shared.address() + 8192 + size_of::<ErrorRecord>() as u64 * u64::from(pe)
    }

    pub fn context(&self, pe: u32) -> ContextAbi {
        ContextAbi {
            my_pe: pe,
            n_pes: self.pes.len() as u32,
            heap_base: self.pes[pe as usize].heap,
            heap_bytes: HEAP,
            peer_stride: HEAP,
            error_record: self.record_address(pe),
            alarm: self.shared.address() + 4096,
            deadline: self.deadline,
            grid_slot: pe,
            launch: 1,
            teams: self.shared.address() + TEAMS,
            trace: 0,
            tuning: oxshmem_device::abi::tuning::H200,
        }
    }

    /// Writes an entry of the table of teams that all PEs of this job share.
    pub fn write_team(&self, slot: u32, team: TeamAbi) {
        let at = self.shared.address() + TEAMS + u64::from(slot) * size_of::<TeamAbi>() as u64;
        // SAFETY: inside of the shared memory, aligned; no kernel runs yet.
        unsafe { (at as *mut TeamAbi).write_volatile(team) };
    }

    /// Puts a list of PEs where kernels reach it; its address.
    pub fn write_list(&self, pes: &[u32]) -> u64 {
        let at = self.shared.address() + TEAMS + teams::BYTES;
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(pes.as_ptr(), at as *mut u32, pes.len()) };
        at
    }

    /// The error record of a PE.
    pub fn record(&self, pe: u32) -> ErrorRecord {
        // SAFETY: the record's own place; kernels have ended.
        unsafe { (self.record_address(pe) as *const ErrorRecord).read_volatile() }
    }

    /// Whether any PE has failed.
    pub fn alarmed(&self) -> bool {
        self.word(self.shared.address() + 4096).load(Ordering::Acquire) != 0
    }

    /// A word of a PE's heap.
    pub fn peek(&self, pe: u32, offset: u64) -> u64 {
        self.word(self.pes[pe as usize].heap + offset).load(Ordering::Acquire)
    }

    /// A byte of a PE's heap.
    pub fn byte(&self, pe: u32, offset: u64) -> u8 {
        // SAFETY: mapped heap memory that lives as long as the job.
        let byte = unsafe { &*((self.pes[pe as usize].heap + offset) as *const AtomicU8) };
        byte.load(Ordering::Acquire)
    }

    /// A launch of `kernel` by `pe`.
    pub fn kernel(
        &self,
        pe: u32,
        (blocks, threads): (u32, u32),
        kernel: impl Fn(Collective) + Send + 'static,
    ) -> Launch {
        Launch {
            name: "test_kernel",
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            collective: true,
            context: self.context(pe),
            site: None,
            // SAFETY: the emulator passes the context of this launch.
            run: Box::new(move |abi| kernel(unsafe { Collective::from_abi(abi, true) })),
        }
    }

    /// Launches `kernel` on `pe`'s stream.
    pub fn launch(&self, pe: u32, shape: (u32, u32), kernel: impl Fn(Collective) + Send + 'static) {
        self.pes[pe as usize].stream.launch(self.kernel(pe, shape, kernel)).expect("a launch");
    }

    /// Launches the same kernel on all PEs.
    pub fn launch_all(&self, shape: (u32, u32), kernel: impl Fn(Collective) + Clone + Send + 'static) {
        (0..self.pes.len() as u32).for_each(|pe| self.launch(pe, shape, kernel.clone()));
    }

    /// Waits for all PEs; the outcome of each.
    pub fn outcomes(&self) -> Vec<Result<(), Error>> {
        self.pes.iter().map(|pe| pe.stream.synchronize()).collect()
    }

    /// Waits for all PEs, all of which must do well.
    pub fn finish(&self) {
        for (pe, outcome) in self.outcomes().into_iter().enumerate() {
            if let Err(error) = outcome {
                panic!("PE {pe}: {error}");
            }
        }
    }
}

/// Runs `kernel` as one block of `threads` threads on one PE, and hands out the job to look at.
pub fn one_block(threads: u32, kernel: impl Fn(Collective) + Send + 'static) -> Job {
    let job = Job::devices(1);
    job.launch(0, (1, threads), kernel);
    job.finish();
    job
}

/// A slice at a byte offset behind the control area.
pub fn slice<T: oxshmem_device::bytemuck::Pod>(offset: u64, len: u64) -> Sym<[T]> {
    // SAFETY: tests stay inside of their heaps.
    unsafe { Sym::from_parts(DATA + offset, len, Reach::World) }
}

/// A signal at a byte offset behind the control area.
pub fn signal(offset: u64) -> Sym<Signal> {
    // SAFETY: as above.
    unsafe { Sym::from_parts(DATA + offset, (), Reach::World) }
}
