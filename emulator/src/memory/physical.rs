//! Memory itself: of a device (mappable, or plain), and of the host.

use super::{Range, Table, failed, whole};
use crate::device::Account;
use crate::error::Error;
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Device memory that can be mapped into a [`Reservation`](super::Reservation), here or in another process.
/// A cheap handle: the memory is freed with the last handle and the last mapping.
#[derive(Clone, Debug)]
pub struct Physical {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: OwnedFd,
    bytes: u64,
    /// `None` if it is no device's, or came from another process, where it is counted.
    account: Option<Arc<Charge>>,
}

impl Physical {
    /// `bytes` of fresh, zeroed memory, committed page by page as it is used.
    pub(crate) fn create(account: Arc<Account>, bytes: u64) -> Result<Self, Error> {
        let bytes = whole(bytes)?;
        let charge = Charge::new(account, bytes)?;
        Self::fresh("oxshmem device memory", bytes, Some(Arc::new(charge)))
    }

    /// As a device's memory, but the host's: counted against no device.
    ///
    /// # Errors
    /// [`Error::System`] if the system refuses.
    pub fn of_host(bytes: u64) -> Result<Self, Error> {
        Self::fresh("oxshmem host memory", whole(bytes)?, None)
    }

    fn fresh(name: &str, bytes: u64, account: Option<Arc<Charge>>) -> Result<Self, Error> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC)
            .map_err(|errno| failed("creating memory", bytes, errno))?;
        ftruncate(&file, bytes).map_err(|errno| failed("sizing memory", bytes, errno))?;
        Ok(Self { inner: Arc::new(Inner { file, bytes, account }) })
    }

    /// Memory that another process created and whose descriptor it sent. Not counted against a device here.
    ///
    /// # Errors
    /// [`Error::System`] if the descriptor is not one of memory, or its size is not a multiple of
    /// [`GRANULARITY`](super::GRANULARITY).
    pub fn import(file: OwnedFd) -> Result<Self, Error> {
        let stat = fstat(&file).map_err(|errno| failed("importing device memory", 0, errno))?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        if whole(bytes) != Ok(bytes) {
            let reason = "its size is no multiple of 2 MiB".to_owned();
            return Err(Error::System { what: "importing device memory", bytes, reason });
        }
        Ok(Self { inner: Arc::new(Inner { file, bytes, account: None }) })
    }

    /// Its size in bytes, a multiple of [`GRANULARITY`](super::GRANULARITY).
    pub fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    /// What counts it against its device: a mapping keeps that and needs no descriptor.
    pub(super) fn charge(&self) -> Option<Arc<Charge>> {
        self.inner.account.clone()
    }

    /// The device whose memory it is, if that is one of this process.
    pub fn device(&self) -> Option<u32> {
        self.inner.account.as_ref().map(|charge| charge.account.device)
    }
}

impl AsFd for Physical {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.file.as_fd()
    }
}

/// Bytes counted against a device until dropped.
#[derive(Debug)]
pub(super) struct Charge {
    account: Arc<Account>,
    bytes: u64,
}

impl Charge {
    fn new(account: Arc<Account>, bytes: u64) -> Result<Self, Error> {
        account.take(bytes)?;
        Ok(Self { account, bytes })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give(self.bytes);
    }
}

/// An anonymous map that kernels may access.
#[derive(Debug)]
struct Anonymous {
    table: Arc<Table>,
    start: u64,
    bytes: u64,
}

impl Anonymous {
    fn new(table: Arc<Table>, bytes: u64, owner: Option<u32>) -> Result<Self, Error> {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh map at an address of the system's choice.
        let at = unsafe {
            mmap_anonymous(core::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags)
        }
        .map_err(|errno| failed("allocating memory", bytes, errno))?;
        let start = at.expose_provenance() as u64;
        table.insert(Range { start, end: start + bytes, owner });
        Ok(Self { table, start, bytes })
    }
}

impl Drop for Anonymous {
    fn drop(&mut self) {
        self.table.remove(self.start);
        // SAFETY: the map is this value's, and its owner, who drops it, uses it no more. Should it fail, the
        // memory is lost.
        let _ = unsafe {
            munmap(core::ptr::with_exposed_provenance_mut(self.start as usize), self.bytes as usize)
        };
    }
}

/// Local memory of a device, zeroed. Freed when dropped; kernels that use it must have ended.
#[derive(Debug)]
pub struct Allocation {
    memory: Anonymous,
    _charge: Charge,
}

impl Allocation {
    pub(crate) fn new(table: Arc<Table>, account: Arc<Account>, bytes: u64) -> Result<Self, Error> {
        let device = account.device;
        let bytes = whole(bytes)?;
        let charge = Charge::new(account, bytes)?;
        Ok(Self { memory: Anonymous::new(table, bytes, Some(device))?, _charge: charge })
    }

    /// The first address; page-aligned.
    pub fn address(&self) -> u64 {
        self.memory.start
    }

    /// Its size in bytes, a multiple of [`GRANULARITY`](super::GRANULARITY).
    pub fn bytes(&self) -> u64 {
        self.memory.bytes
    }
}

/// Host memory that devices may access (CUDA's mapped host memory), zeroed: error records, alarm words, peer
/// tables. Freed when dropped; kernels that use it must have ended.
#[derive(Debug)]
pub struct HostMemory {
    memory: Anonymous,
}

impl HostMemory {
    pub(crate) fn new(table: Arc<Table>, bytes: u64) -> Result<Self, Error> {
        let bytes = bytes.max(1).checked_next_multiple_of(4096).unwrap_or(u64::MAX);
        Ok(Self { memory: Anonymous::new(table, bytes, None)? })
    }

    /// The first address; page-aligned.
    pub fn address(&self) -> u64 {
        self.memory.start
    }

    /// Its size in bytes, a multiple of the page size.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes
    }
}

/// Keeps a range of the program's own memory accessible to devices until dropped. Registering does not keep
/// the memory alive: that is the caller's business.
#[derive(Debug)]
pub struct HostRegistration {
    table: Arc<Table>,
    start: u64,
}

impl HostRegistration {
    pub(crate) fn new(table: Arc<Table>, start: u64, bytes: u64) -> Result<Self, Error> {
        let range = Range { start, end: start.saturating_add(bytes), owner: None };
        match table.insert_apart(range) {
            Ok(()) => Ok(Self { table, start }),
            Err(Range { start, end, .. }) => {
                let reason = format!("it overlaps {start:#x}..{end:#x}, which devices access already");
                Err(Error::System { what: "registering memory", bytes, reason })
            }
        }
    }
}

impl Drop for HostRegistration {
    fn drop(&mut self) {
        self.table.remove(self.start);
    }
}
