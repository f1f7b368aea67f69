//! The shared memory of a fabric: made by whoever comes first, in one process or in several.

use crate::nic::refused::Refused;
use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Says what a file is and which layout it has; a layout that differs gets another number.
const MAGIC: u64 = u64::from_le_bytes(*b"oxsnic01");
/// Most NICs of a fabric.
const MOST: u32 = 64;
/// Bytes of the file's head: the magic number and the number of places.
const HEAD: usize = 4096;
/// Bytes of one place.
pub(super) const PLACE: usize = 256;
/// Bytes of a mailbox's counters.
pub(super) const COUNTERS: usize = 4096;
/// Bytes of a mailbox's ring: a power of two.
pub(super) const RING: usize = 128 << 10;

/// What connects NICs: all that share one see each other.
#[derive(Debug)]
pub struct Fabric {
    base: *mut u8,
    bytes: usize,
    nics: u32,
    fd: OwnedFd,
}

// SAFETY: the mapping lives as long as the value; the files of this folder say who may access which part when.
unsafe impl Send for Fabric {}
// SAFETY: as above; shared parts are accessed through atomics.
unsafe impl Sync for Fabric {}

impl Fabric {
    /// A fabric of this process, with room for `nics` NICs (1 to 64).
    ///
    /// # Errors
    /// [`Refused::Fabric`] if the number is out of range, or the system gives no memory.
    pub fn local(nics: u32) -> Result<Arc<Self>, Refused> {
        let fd = memfd_create("oxshmem-nic-fabric", MemfdFlags::CLOEXEC)
            .map_err(|errno| Refused::Fabric(format!("memfd_create failed: {errno}")))?;
        Self::of_descriptor(fd, nics)
    }

    /// The fabric of a file, which is made if it is not there: every process names the same file and number.
    /// A folder in memory, such as `/dev/shm`, keeps it from being written to disk. Whoever uses it removes it.
    /// The processes must see each other under `/proc` (one PID namespace): that is how the place of one that died is
    /// known.
    ///
    /// # Errors
    /// [`Refused::Fabric`] if the file cannot be made, is something else, or was made for another number.
    pub fn file(path: &Path, nics: u32) -> Result<Arc<Self>, Refused> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = open(path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| Refused::Fabric(format!("{} cannot be opened: {errno}", path.display())))?;
        Self::of_descriptor(fd, nics)
    }

    /// The fabric of a descriptor, such as one that another process passed on.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn of_descriptor(fd: OwnedFd, nics: u32) -> Result<Arc<Self>, Refused> {
        if nics == 0 || nics > MOST {
            return Err(Refused::Fabric(format!("it has room for {nics} NICs; it must be 1 to {MOST}")));
        }
        let failed = |what: &str, errno| Refused::Fabric(format!("{what} failed: {errno}"));
        let bytes = HEAD + places(nics) + (nics * nics) as usize * (COUNTERS + RING);
        let stat = rustix::fs::fstat(&fd).map_err(|errno| failed("fstat", errno))?;
        let found = stat.st_size as u64;
        if found != 0 && found != bytes as u64 {
            return Err(Refused::Fabric(format!(
                "its file has {found} bytes, {bytes} are needed for {nics} NICs; give the same number \
                 everywhere, or remove the file"
            )));
        }
        // Fresh bytes read as zero, which is the state of an empty fabric: nothing is left to set up, and it does not
        // matter who comes first.
        ftruncate(&fd, bytes as u64).map_err(|errno| failed("ftruncate", errno))?;
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0)
        };
        let base: *mut u8 = base.map_err(|errno| failed("mmap", errno))?.cast();
        let fabric = Self { base, bytes, nics, fd };
        fabric.agree(0, MAGIC, "it is no fabric of this version")?;
        fabric.agree(8, u64::from(nics), "it was made for another number of NICs")?;
        Ok(Arc::new(fabric))
    }

    /// A word of the head must be this value; the first to come writes it.
    fn agree(&self, offset: usize, value: u64, otherwise: &str) -> Result<(), Refused> {
        match self.word(offset).compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire) {
            Err(found) if found != value => {
                Err(Refused::Fabric(format!("{otherwise} ({found:#x} instead of {value:#x})")))
            }
            _ => Ok(()),
        }
    }

    /// Room for so many NICs.
    pub fn nics(&self) -> u32 {
        self.nics
    }

    /// The file: another process that gets it can join by [`of_descriptor`](Self::of_descriptor).
    pub fn descriptor(&self) -> impl AsFd + '_ {
        self.fd.as_fd()
    }

    /// The word of 8 bytes at an offset that is aligned to 8 and inside of the file: this folder's files compute
    /// offsets from the layout alone.
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned; words are accessed as atomics
        // by every process.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    /// A word of a place.
    pub(super) fn place_word(&self, slot: u32, word: usize) -> &AtomicU64 {
        assert!(slot < self.nics && word < PLACE / 8);
        self.word(HEAD + slot as usize * PLACE + word * 8)
    }

    /// Where the mailbox from one place to another starts.
    pub(super) fn mailbox(&self, from: u32, to: u32) -> usize {
        assert!(from < self.nics && to < self.nics);
        HEAD + places(self.nics) + (from * self.nics + to) as usize * (COUNTERS + RING)
    }

    /// The bytes of a ring, which one side at a time may access.
    pub(super) fn ring(&self, mailbox: usize) -> *mut u8 {
        assert!(mailbox + COUNTERS + RING <= self.bytes);
        // SAFETY: inside of the mapping.
        unsafe { self.base.add(mailbox + COUNTERS) }
    }
}

/// Bytes of all places, in whole pages.
fn places(nics: u32) -> usize {
    (nics as usize * PLACE).next_multiple_of(4096)
}

impl Drop for Fabric {
    fn drop(&mut self) {
        // SAFETY: this value's own mapping; ports, which access it, hold the fabric.
        let unmapped = unsafe { munmap(self.base.cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}
