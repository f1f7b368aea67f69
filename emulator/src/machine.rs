//! The machine: every emulated device of a process, one clock, one table of memory.

use crate::check::baton::{self, Did};
use crate::check::desk::Desk;
use crate::check::machine;
use crate::check::{Checked, Heaps};
use crate::clock::Clock;
use crate::config::MachineConfig;
use crate::device::{Device, DeviceShared};
use crate::error::Error;
use crate::host::HostThread;
use crate::memory::{self, HostMemory, HostRegistration, Reservation, Table};
use crate::{panics, trap, worker};
use core::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// All emulated devices of a process. Dropping it stops them: running kernels are unwound, and streams that
/// are left return [`Error::Stopped`].
#[derive(Debug)]
pub struct Machine {
    config: Arc<MachineConfig>,
    clock: Arc<Clock>,
    table: Arc<Table>,
    devices: Vec<Arc<DeviceShared>>,
    desk: Option<Arc<Desk>>,
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
        trap::install();
        let config = Arc::new(config);
        let clock = Arc::new(Clock::new(&config));
        let table = Arc::new(Table::default());
        let memory =
            config.memory_per_device.unwrap_or_else(|| memory::available() / u64::from(config.devices));
        let desk = config.check.clone().map(Desk::new);
        let devices: Vec<_> = (0..config.devices)
            .map(|index| {
                DeviceShared::new(index, config.clone(), clock.clone(), table.clone(), memory, desk.clone())
            })
            .collect();
        let machine = Self { config, clock, table, devices, desk, workers: Mutex::default() };
        if let Some(desk) = &machine.desk {
            let (devices, desk) = (machine.devices.clone(), desk.clone());
            let worker = std::thread::Builder::new().name("oxshmem checker".into());
            let worker = worker.spawn(move || machine::serve(devices, desk));
            let failed = |error: std::io::Error| Error::Workers {
                devices: machine.config.devices,
                started: 0,
                reason: error.to_string(),
            };
            machine.workers().push(worker.map_err(failed)?);
            return Ok(Arc::new(machine));
        }
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
        self.reserve_near(bytes, 0)
    }

    /// As [`reserve`](Self::reserve), from the address `wish` on if that is free, and not 0.
    ///
    /// # Errors
    /// [`Error::System`] if the system refuses.
    pub fn reserve_near(&self, bytes: u64, wish: u64) -> Result<Reservation, Error> {
        Reservation::new(self.table.clone(), bytes, wish)
    }

    /// Allocates zeroed host memory that every device may access; `bytes` is rounded up to whole pages.
    ///
    /// # Errors
    /// [`Error::System`] if the system refuses.
    pub fn allocate_host(&self, bytes: u64) -> Result<HostMemory, Error> {
        HostMemory::new(self.table.clone(), bytes)
    }

    /// Lets every device access `bytes` of the program's own memory at `address`.
    ///
    /// # Errors
    /// [`Error::System`] if it overlaps what devices access already.
    ///
    /// # Safety
    /// The memory stays valid until the registration is dropped and every kernel that uses it has ended, and
    /// the program makes no reference to it meanwhile that kernels' accesses would break.
    pub unsafe fn register_host(&self, address: u64, bytes: u64) -> Result<HostRegistration, Error> {
        HostRegistration::new(self.table.clone(), address, bytes)
    }

    /// Registers the calling thread, that of PE `pe`, as one that may launch kernels or write memory. See [`HostThread`].
    ///
    /// On a checked machine it returns when it is the thread's turn.
    #[track_caller]
    pub fn host_thread(&self, pe: u32) -> HostThread {
        HostThread::new(self.clock.clone(), self.desk.as_ref().map(|desk| (desk.baton.clone(), pe)))
    }

    /// What a checked machine has found. Waits until every host thread has gone; `None` for a machine that is not checked.
    pub fn checked(&self) -> Option<Checked> {
        self.desk.as_ref().map(|desk| desk.result())
    }

    /// Notes what the calling host thread does, if the machine is checked.
    fn note(&self, at: &'static Location<'static>, did: Did) {
        if let Some(desk) = &self.desk
            && let Some(host) = baton::mine(&desk.baton)
        {
            desk.baton.at(host, at);
            desk.baton.note(host, did);
        }
    }

    /// Says, of a checked machine, where the PEs' heaps are, before any host thread registers.
    pub fn heaps(&self, heaps: Heaps) {
        if let Some(desk) = &self.desk {
            *desk.heaps.lock().unwrap_or_else(PoisonError::into_inner) = Some(heaps);
        }
    }

    /// Says, of a checked machine, that the calling host thread is at `at`: its launches and waits are said to be there.
    pub fn comes_to(&self, at: &'static Location<'static>) {
        if let Some(desk) = &self.desk
            && let Some(host) = baton::mine(&desk.baton)
        {
            desk.baton.at(host, at);
        }
    }

    /// Says, of a checked machine, that the calling host thread reads or writes memory of a device at `at`.
    pub fn accessed(&self, at: &'static Location<'static>, address: u64, bytes: u64, writes: bool) {
        self.note(at, Did::Accessed { address, bytes, writes });
    }

    /// Says that the calling host thread's PE has symmetric memory from a heap offset on, and how it is called.
    pub fn allocated(
        &self,
        at: &'static Location<'static>,
        (offset, bytes, element): (u64, u64, u64),
        name: &str,
    ) {
        self.note(at, Did::Allocated { offset, bytes, element, name: name.to_owned() });
    }

    /// Says that it has given it back.
    pub fn freed(&self, at: &'static Location<'static>, offset: u64) {
        self.note(at, Did::Freed { offset });
    }

    /// Says that the calling host thread's PE has local memory at an address, of this kind.
    pub fn allocated_local(
        &self,
        at: &'static Location<'static>,
        address: u64,
        bytes: u64,
        kind: &'static str,
    ) {
        self.note(at, Did::AllocatedLocal { address, bytes, kind });
    }

    /// Says that it has given it back.
    pub fn freed_local(&self, at: &'static Location<'static>, address: u64) {
        self.note(at, Did::FreedLocal { address });
    }

    /// Says how a launch calls parts of the heap: offset, bytes, name.
    pub fn named(&self, at: &'static Location<'static>, parts: Vec<(u64, u64, &'static str)>) {
        self.note(at, Did::Named { parts });
    }

    /// Says that the host wrote memory that kernels may be polling, so that they look again.
    pub fn memory_changed(&self) {
        self.clock.changed_outside();
    }

    /// Stops the devices without waiting: kernels are unwound as soon as they come to an oxshmem operation, a
    /// barrier or a warp collective, and streams that are left return [`Error::Stopped`]. One that never comes
    /// to any runs on, and dropping the machine waits for it.
    pub fn stop(&self) {
        if let Some(desk) = &self.desk {
            desk.baton.stop();
        }
        self.devices.iter().for_each(|device| device.stop());
    }

    /// Machine time, in steps ([`STEPS_PER_SECOND`](crate::STEPS_PER_SECOND)).
    pub fn now(&self) -> u64 {
        self.clock.now()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop();
        let workers = core::mem::take(&mut *self.workers());
        for worker in workers {
            // A kernel's closure may hold the last handle of the machine; its worker then ends by itself.
            if worker.thread().id() != std::thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}
