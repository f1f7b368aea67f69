//! What a handle can stand for.

use crate::attribute::{Answer, Refusal};
use crate::event::{Channel, Stream};
use crate::nics::Nic;
use oxshmem_emulator::nic::command::{self, Created};
use oxshmem_emulator::nic::{Pd, Uar, Umem};
use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

/// Memory of a descriptor, mapped for the NIC. Dropping it unmaps.
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    length: usize,
}

// SAFETY: the mapping is only an address here.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes from `offset` on.
    pub(crate) fn new(fd: c_int, offset: u64, length: usize) -> Result<Mapping, Refusal> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, fd, offset as libc::off_t)
        };
        if start == libc::MAP_FAILED {
            let why = format!("descriptor {fd} cannot be mapped for {length} bytes at {offset}");
            return Err(Refusal::new(libc::EBADF, why));
        }
        Ok(Mapping { start, length })
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which the NIC was told to forget before.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

/// What a handle can stand for.
pub(crate) enum Object {
    /// A protection domain.
    Pd(Pd),
    /// A memory region.
    Region {
        /// Its key.
        lkey: u32,
        /// Its memory, if it is a dma-buf's.
        _mapping: Option<Mapping>,
    },
    /// Memory for queues of DEVX.
    Umem {
        /// The memory.
        umem: Umem,
        /// The same as mapped, if it is a dma-buf's.
        _mapping: Option<Mapping>,
    },
    /// A doorbell page.
    Page(Uar),
    /// A completion queue or queue pair of verbs, with the memory that it lies in, and the address by which the program
    /// knows it.
    Queue {
        /// The queue.
        created: Created,
        /// Its entries and its record.
        memory: [Umem; 2],
        /// The program's address.
        user: u64,
        /// Events of it that were sent.
        reported: AtomicU32,
    },
    /// A completion queue or queue pair of DEVX.
    Devx(Created),
    /// Where asynchronous events of verbs go.
    Events(Stream),
    /// Where events of DEVX go, of those objects that were subscribed to.
    Channel(Channel),
}

impl Object {
    /// Destroys what it stands for.
    pub(crate) fn destroy(&self, nic: &Nic) -> Answer {
        let model = nic.model();
        match self {
            Object::Pd(pd) => model.dealloc_pd(*pd)?,
            Object::Region { lkey, .. } => model.deregister(*lkey)?,
            Object::Umem { umem, .. } => model.deregister_umem(*umem)?,
            Object::Page(uar) => model.free_uar(*uar)?,
            Object::Queue { created, memory, .. } => {
                command::destroy(model, *created)?;
                for umem in memory {
                    model.deregister_umem(*umem)?;
                }
            }
            Object::Devx(created) => command::destroy(model, *created)?,
            Object::Events(_) | Object::Channel(_) => {}
        }
        Ok(())
    }
}
