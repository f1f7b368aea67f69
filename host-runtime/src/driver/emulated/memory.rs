//! Heap segments and host memory of the emulated machine.

use super::{Registered, Reservation, Shareable, failed};
use crate::driver::{Backing, site};
use crate::error::{Error, Registration, Result, Unregistrable};
use oxshmem_emulator as emu;
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Segment {
    // Dropped before the machine.
    inner: emu::Reservation,
    created: Option<emu::Physical>,
    /// Bytes of what is mapped, by offset.
    mapped: HashMap<u64, u64>,
    device: emu::Device,
    _machine: Arc<emu::Machine>,
}

impl Segment {
    pub(super) fn new(machine: Arc<emu::Machine>, device: emu::Device, inner: emu::Reservation) -> Self {
        Self { inner, created: None, mapped: HashMap::new(), device, _machine: machine }
    }
}

impl Reservation for Segment {
    fn base(&self) -> u64 {
        self.inner.address()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn create(&mut self, bytes: u64, backing: Backing) -> Result<()> {
        let physical = match backing {
            Backing::Device => self.device.create(bytes),
            Backing::Host => emu::Physical::of_host(bytes),
            Backing::Existing { pe, address } => {
                let why = Unregistrable::NotMappable { found: "memory of an emulated GPU's host" };
                return Err(Error::Registration(Box::new(Registration { pe, start: address, bytes, why })));
            }
        };
        self.created = Some(physical.map_err(|error| failed(error, "allocating heap memory"))?);
        Ok(())
    }

    fn map_created(&mut self, at: u64) -> Result<()> {
        match self.created.take() {
            Some(physical) => {
                self.inner.map(at, &physical).map_err(|error| failed(error, "mapping heap memory"))?;
                self.mapped.insert(at, physical.bytes());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn drop_created(&mut self) {
        self.created = None;
    }

    fn export(&self) -> Result<Shareable> {
        let doing = "exporting heap memory";
        let physical = self.created.as_ref().ok_or_else(|| nothing(doing))?;
        let file = physical.as_fd().try_clone_to_owned();
        file.map(Shareable::Descriptor).map_err(|error| Error::Emulated { what: error.to_string(), doing })
    }

    fn import(&mut self, shareable: Shareable, bytes: u64) -> Result<()> {
        let doing = "importing another PE's heap memory";
        let refuse = |what: String| Err(Error::Emulated { what, doing });
        let Shareable::Descriptor(file) = shareable else {
            return refuse("it came as a fabric handle, and an emulated GPU has no fabric".into());
        };
        let physical = emu::Physical::import(file).map_err(|error| failed(error, doing))?;
        if physical.bytes() != bytes {
            return refuse(format!("it has {} bytes, and not {bytes}", physical.bytes()));
        }
        self.created = Some(physical);
        Ok(())
    }

    fn unmap(&mut self, at: u64) {
        if let Some(bytes) = self.mapped.remove(&at) {
            // It was mapped so; should the system refuse, it stays until the reservation goes.
            let _ = self.inner.unmap(at, bytes);
        }
    }
}

fn nothing(doing: &'static str) -> Error {
    Error::Emulated { what: "no memory was taken".into(), doing }
}

#[derive(Debug)]
pub(super) struct Shared {
    address: u64,
    _registration: emu::HostRegistration,
}

impl Shared {
    pub(super) fn new(address: u64, registration: emu::HostRegistration) -> Self {
        Self { address, _registration: registration }
    }
}

impl Registered for Shared {
    fn device(&self) -> u64 {
        self.address
    }
}

/// Host memory that is local memory of a PE: the program's own, or allocated for it.
#[derive(Debug)]
pub(super) struct Local {
    address: u64,
    machine: Arc<emu::Machine>,
    _memory: Memory,
}

/// What goes with it.
#[derive(Debug)]
#[expect(dead_code, reason = "held until dropped")]
enum Memory {
    Registered(emu::HostRegistration),
    Allocated(emu::HostMemory),
}

impl Local {
    pub(super) fn registered(
        machine: Arc<emu::Machine>,
        registration: emu::HostRegistration,
        (address, bytes): (u64, u64),
    ) -> Self {
        machine.allocated_local(site(), address, bytes, "registered memory");
        Self { address, machine, _memory: Memory::Registered(registration) }
    }

    pub(super) fn allocated(machine: Arc<emu::Machine>, memory: emu::HostMemory, bytes: u64) -> Self {
        let address = memory.address();
        machine.allocated_local(site(), address, bytes, "host memory");
        Self { address, machine, _memory: Memory::Allocated(memory) }
    }
}

impl Registered for Local {
    fn device(&self) -> u64 {
        self.address
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.machine.freed_local(site(), self.address);
    }
}
