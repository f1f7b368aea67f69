//! The machine: every emulated device of a process, one clock, one table of memory.

use crate::clock::Clock;
use crate::device::{Device, DeviceShared};
use crate::error::Error;
use crate::host::HostThread;
use crate::memory::{self, HostMemory, HostRegistration, Reservation, Table};
use crate::{panics, stack, worker};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the machine is like. Start from [`Default`]: two small multiprocessors with the limits of an `sm_90`
/// per device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineConfig {
    /// Devices; each takes one operating-system thread. Default 1.
    pub devices: u32,
    /// Streaming multiprocessors per device. Default 2.
    pub sms: u32,
    /// Threads that a multiprocessor holds. Default 1024.
    pub threads_per_sm: u32,
    /// Blocks that a multiprocessor holds. Default 32.
    pub blocks_per_sm: u32,
    /// Shared memory that a block may ask for, in bytes. Default 227 KiB.
    pub shared_per_block: u32,
    /// Shared memory of a multiprocessor, in bytes; each block costs 1 KiB more than it asks for. Default 228 KiB.
    pub shared_per_sm: u32,
    /// Threads that a block may have. Default 1024.
    pub max_threads_per_block: u32,
    /// Memory of each device, in bytes. Default: what the system has available, divided by the devices.
    pub memory_per_device: Option<u64>,
    /// Stack of each GPU thread, in bytes of address space; committed as it is used. Default 256 KiB.
    pub stack_bytes: usize,
    /// Order in which runnable threads run: in turn (`None`), or pseudo-random by seed. Several devices run
    /// beside each other, so a seed fixes the order within each device only. Default `None`.
    pub seed: Option<u64>,
    /// How long quiescence must stand, in wall time, before it counts while a host thread is blocked in
    /// something that the emulator does not know. Default 250 ms.
    pub host_grace: Duration,
    /// How long a host thread that runs user code may hold the clock of an otherwise quiescent machine, in
    /// wall time. Default 60 s.
    pub host_patience: Duration,
    /// How long quiescence must stand, in wall time, before it counts if other processes write this machine's
    /// memory, which no proof in this one covers. Default `None`: there are no such processes.
    pub outside_grace: Option<Duration>,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            devices: 1,
            sms: 2,
            threads_per_sm: 1024,
            blocks_per_sm: 32,
            shared_per_block: 227 * 1024,
            shared_per_sm: 228 * 1024,
            max_threads_per_block: 1024,
            memory_per_device: None,
            stack_bytes: 256 * 1024,
            seed: None,
            host_grace: Duration::from_millis(250),
            host_patience: Duration::from_secs(60),
            outside_grace: None,
        }
    }
}

impl MachineConfig {
    /// With `devices` devices, each no larger than lets the residents of all of them have stacks at once: a
    /// process has room for about 30,000 emulated threads.
    #[must_use]
    pub fn with_devices(self, devices: u32) -> Self {
        let each = stack::limit() / u64::from(devices.max(1)) / u64::from(self.sms.max(1));
        let room = u32::try_from(each / 32 * 32).unwrap_or(u32::MAX).max(32);
        Self { devices, threads_per_sm: self.threads_per_sm.min(room), ..self }
    }

    fn check(&self) -> Result<(), Error> {
        let positive = "at least 1";
        for (field, found, good, needed) in [
            ("devices", self.devices, self.devices > 0, positive),
            ("sms", self.sms, (1..=1 << 16).contains(&self.sms), "1 to 65536"),
            ("threads_per_sm", self.threads_per_sm, self.threads_per_sm >= 32, "at least 32, one warp"),
            ("blocks_per_sm", self.blocks_per_sm, (1..=1 << 12).contains(&self.blocks_per_sm), "1 to 4096"),
            ("max_threads_per_block", self.max_threads_per_block, self.max_threads_per_block > 0, positive),
            ("shared_per_sm", self.shared_per_sm, self.shared_per_sm >= 1024, "at least 1024, one block's"),
        ] {
            if !good {
                return Err(Error::Config { field, found: found.into(), needed });
            }
        }
        Ok(())
    }
}

/// All emulated devices of a process. Dropping it stops them: running kernels are unwound, and streams that
/// are left return [`Error::Stopped`].
#[derive(Debug)]
pub struct Machine {
    config: Arc<MachineConfig>,
    clock: Arc<Clock>,
    table: Arc<Table>,
    devices: Vec<Arc<DeviceShared>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl Machine {
    /// Starts a machine.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that no machine can have, [`Error::Workers`] if the system gives
    /// too few threads.
    pub fn new(config: MachineConfig) -> Result<Arc<Self>, Error> {
        config.check()?;
        panics::install();
        let config = Arc::new(config);
        let clock = Arc::new(Clock::new(&config));
        let table = Arc::new(Table::default());
        let memory =
            config.memory_per_device.unwrap_or_else(|| memory::available() / u64::from(config.devices));
        let devices = (0..config.devices)
            .map(|index| DeviceShared::new(index, config.clone(), clock.clone(), table.clone(), memory))
            .collect();
        let machine = Self { config, clock, table, devices, workers: Mutex::default() };
        for (started, device) in machine.devices.iter().enumerate() {
            let name = format!("oxshmem gpu {started}");
            let shared = device.clone();
            let worker = std::thread::Builder::new().name(name).spawn(move || worker::run(shared));
            match worker {
                Ok(handle) => machine.workers().push(handle),
                Err(error) => {
                    return Err(Error::Workers {
                        devices: machine.config.devices,
                        started: started as u32,
                        reason: error.to_string(),
                    });
                }
            }
        }
        Ok(Arc::new(machine))
    }

    fn workers(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the machine is like.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// A device, `0 .. devices`.
    ///
    /// # Errors
    /// [`Error::NoDevice`].
    pub fn device(&self, index: u32) -> Result<Device, Error> {
        match self.devices.get(index as usize) {
            Some(shared) => Ok(Device::new(shared.clone())),
            None => Err(Error::NoDevice { asked: index, devices: self.config.devices }),
        }
    }

    /// Reserves addresses; `bytes` is rounded up to [`GRANULARITY`](crate::GRANULARITY).
    ///
    /// # Errors
    /// [`Error::System`] if the system refuses.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, Error> {
        Reservation::new(self.table.clone(), bytes)
    }

    /// Allocates zeroed host memory that every device may access; `bytes` is rounded up to whole pages.
    ///
    /// # Errors
    /// [`Error::System`] if the system refuses.
    pub fn allocate_host(&self, bytes: u64) -> Result<HostMemory, Error> {
        HostMemory::new(self.table.clone(), bytes)
    }

    /// Lets every device access `bytes` of the program's own memory at `address`. Ranges must not overlap.
    ///
    /// # Safety
    /// The memory stays valid until the registration is dropped and every kernel that uses it has ended, and
    /// the program makes no reference to it meanwhile that kernels' accesses would break.
    pub unsafe fn register_host(&self, address: u64, bytes: u64) -> HostRegistration {
        HostRegistration::new(self.table.clone(), address, bytes)
    }

    /// Registers the calling thread as one that may launch kernels or write memory. See [`HostThread`].
    pub fn host_thread(&self) -> HostThread {
        HostThread::new(self.clock.clone())
    }

    /// Says that the host wrote memory that kernels may be polling, so that they look again.
    pub fn memory_changed(&self) {
        self.clock.changed_outside();
    }

    /// Machine time, in steps ([`STEPS_PER_SECOND`](crate::STEPS_PER_SECOND)).
    pub fn now(&self) -> u64 {
        self.clock.now()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for device in &self.devices {
            device.stop();
        }
        let workers = core::mem::take(&mut *self.workers());
        for worker in workers {
            // A kernel's closure may hold the last handle of the machine; its worker then ends by itself.
            if worker.thread().id() != std::thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}
