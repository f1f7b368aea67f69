//! The emulated GPU as a device. Its memory is this process's, so copies are memory copies, and a kernel is the
//! Rust function itself.

mod memory;
mod queue;
mod record;

use super::{
    Body, Checker, Device, DeviceId, DeviceInfo, Function, HostThread, Launch, Mark, Queue, Recorded,
    Registered, Release, Reservation, Shareable, not_comparable, recorded_elsewhere,
};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::failure::KernelPanic;
use crate::launched::Launched;
use memory::{Local, Segment, Shared};
use oxshmem_emulator as emu;
use queue::Stream;
use std::ptr::NonNull;
use std::sync::Arc;

/// Starts an emulated machine for this run: with all its devices, or with the one of a PE that is a process.
pub(super) fn open(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    let all = config.emulated_devices.unwrap_or(config.pes).min(config.pes);
    let machine = match &config.launched {
        Some(launched) => of_one_process(config, launched, all),
        None => config.machine.clone().with_devices(all),
    };
    let (count, first) =
        (machine.devices, config.launched.as_ref().map_or(0, |launched| launched.local_rank % all));
    let machine =
        emu::Machine::new(machine).map_err(|error| failed(error, "starting the emulated machine"))?;
    let open = |index| -> Result<Arc<dyn Device>> {
        let device = machine.device(index).map_err(|error| failed(error, "opening an emulated device"))?;
        Ok(Arc::new(Emulated::new(machine.clone(), device, first + index)))
    };
    (0..count).map(open).collect()
}

/// A machine with one device, whose memory other processes write. PEs that name one device share its memory.
fn of_one_process(config: &Config, launched: &Launched, all: u32) -> emu::MachineConfig {
    let sharers = (0..config.pes).filter(|pe| pe % all == launched.rank % all).count() as u64;
    let machine = config.machine.clone().with_devices(1);
    let memory = machine.memory_per_device.unwrap_or_else(|| emu::available_memory() / u64::from(all));
    emu::MachineConfig {
        memory_per_device: Some(memory / sharers.max(1)),
        // No proof covers what other processes do: a wait expires when nothing has happened for so long.
        outside_grace: Some(config.deadline),
        ..machine
    }
}

#[derive(Debug)]
struct Emulated {
    machine: Arc<emu::Machine>,
    device: emu::Device,
    info: DeviceInfo,
}

impl Emulated {
    /// `number` is the device's among those of the job.
    fn new(machine: Arc<emu::Machine>, device: emu::Device, number: u32) -> Self {
        let config = machine.config();
        let max_block_threads = config.max_threads_per_block.min(config.threads_per_sm);
        let info = DeviceInfo {
            name: format!("emulated GPU {number}"),
            model: "emulated GPU".into(),
            emulated: true,
            ordinal: device.index(),
            id: u128::from(number).to_be_bytes(),
            multiprocessors: config.sms,
            memory: device.memory().1,
            granule: emu::GRANULARITY,
            max_block_threads,
            max_block: [max_block_threads, max_block_threads, max_block_threads.min(64)],
            max_grid: [i32::MAX as u32, 65_535, 65_535],
            max_shared: config.shared_per_block,
            copy_engine: false,
            ticks_per_second: emu::STEPS_PER_SECOND,
        };
        Self { machine, device, info }
    }
}

impl Device for Emulated {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn enter(&self, pe: u32) -> Result<Box<dyn HostThread>> {
        Ok(Box::new(OnMachine(self.machine.host_thread(pe))))
    }

    fn checker(&self) -> Option<&dyn Checker> {
        self.machine.config().check.as_ref().map(|_| self as &dyn Checker)
    }

    fn check_reach(&self, _: &DeviceId, _: &str) -> Result<()> {
        Ok(())
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(self.device.memory().0)
    }

    fn reserve(&self, bytes: u64, wish: u64) -> Result<Box<dyn Reservation>> {
        let inner = self.machine.reserve_near(bytes, wish).map_err(|error| no_addresses(error, bytes))?;
        Ok(Box::new(Segment::new(self.machine.clone(), self.device.clone(), inner)))
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Box<dyn Registered>> {
        let address = start.as_ptr().expose_provenance() as u64;
        // SAFETY: the caller's promise.
        let registration = unsafe { self.machine.register_host(address, bytes as u64) };
        let registration = registration.map_err(|error| failed(error, "sharing the error records"))?;
        Ok(Box::new(Shared::new(address, registration)))
    }

    unsafe fn register_local(&self, _: u32, address: u64, bytes: u64) -> Result<Box<dyn Registered>> {
        // SAFETY: the caller's promise.
        let registration = unsafe { self.machine.register_host(address, bytes) };
        let registration = registration.map_err(|error| failed(error, "registering memory"))?;
        Ok(Box::new(Local::registered(self.machine.clone(), registration, (address, bytes))))
    }

    fn allocate_host(&self, bytes: u64) -> Result<Box<dyn Registered>> {
        let memory = self.machine.allocate_host(bytes);
        let memory = memory.map_err(|error| failed(error, "allocating host memory"))?;
        Ok(Box::new(Local::allocated(self.machine.clone(), memory, bytes)))
    }

    fn queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(Stream::new(self.machine.clone(), self.device.clone())))
    }

    fn function(&self, _: &'static str) -> Result<Function> {
        Ok(Function(0))
    }

    fn blocks_per_multiprocessor(&self, _: Function, threads: u32, shared: u32) -> Result<u32> {
        Ok(self.device.active_blocks(threads, shared) / self.info.multiprocessors)
    }

    fn allow_shared(&self, _: Function, _: u32) -> Result<()> {
        Ok(())
    }

    fn abandon(&self) {
        self.machine.stop();
    }
}

impl Checker for Emulated {
    fn allocated(&self, range: (u64, u64, u64), name: &str) {
        self.machine.allocated(super::site(), range, name);
    }

    fn freed(&self, offset: u64) {
        self.machine.freed(super::site(), offset);
    }

    fn heaps(&self, base: u64, stride: u64, bytes: u64, pes: u32) {
        self.machine.heaps(emu::check::Heaps { base, stride, bytes, pes });
    }

    fn found(&self) -> Option<emu::check::Checked> {
        self.machine.checked()
    }
}

struct OnMachine(emu::HostThread);

impl HostThread for OnMachine {
    fn blocked(&self, wait: &mut dyn FnMut()) {
        self.0.blocked(wait);
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        self.0.waiting(wait);
    }

    fn release(&self) -> Release {
        let handle = self.0.handle();
        Arc::new(move || handle.released())
    }

    fn arrives(&self, members: &[u32], completes: bool) {
        self.0.arrives(super::site(), members, completes);
    }

    fn back(&self) {
        self.0.back();
    }

    fn completes(&self) {
        self.0.completes(super::site());
    }

    fn leaves(&self, members: &[u32]) {
        self.0.leaves(super::site(), members);
    }
}

/// The error of addresses that were not given; the job knows whose they are.
fn no_addresses(error: emu::Error, asked: u64) -> Error {
    match error {
        emu::Error::System { reason, .. } => {
            Error::NoAddresses { asked, pes: 1, limited: false, least: 1, reason }
        }
        other => failed(other, "reserving a heap's addresses"),
    }
}

/// The emulator's error as ours.
fn failed(error: emu::Error, doing: &'static str) -> Error {
    let panicked = |site: &emu::Site, message: String, at: Option<String>| {
        Error::KernelFailed(Box::new(KernelPanic {
            pe: site.pe,
            kernel: site.kernel.to_owned(),
            block: site.block,
            thread: site.thread,
            message,
            at,
            last_operation: site.operation.map(|last| last.to_string()),
        }))
    };
    match error {
        emu::Error::KernelPanicked { site, message, location } => panicked(&site, message, Some(location)),
        emu::Error::WildAccess { site, address, bytes, problem } => {
            panicked(&site, format!("access of {bytes} bytes at {address:#x}: {problem}"), None)
        }
        emu::Error::Diverged { site, living, at_barrier, at_warp } => {
            let message = format!(
                "the block's {living} living threads all wait and can never meet: {at_barrier} at a block \
                 barrier, {at_warp} at warp collectives"
            );
            panicked(&site, message, None)
        }
        emu::Error::StackOverflow { site, stack } => {
            panicked(&site, format!("its stack of {stack} bytes is used up"), None)
        }
        emu::Error::OutOfMemory { asked, free, total, .. } => {
            Error::OutOfMemory { what: "emulated device memory", asked, available: free, limit: total }
        }
        emu::Error::Workers { devices, started, reason } => {
            Error::NoThread { what: format!("emulated GPU {started} of {devices}"), reason }
        }
        other => Error::Emulated { what: other.to_string(), doing },
    }
}
