//! Memory that the NIC may use: regions that work requests name, and memory in which queues lie.

use super::abi::{IbvMr, IbvPd};
use super::context::Context;
use super::dv::{DevxUmem, DevxUmemIn, DvPd, OBJ_PD, Obj, UMEM_DMABUF};
use super::error::{Result, VerbsError};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a NIC may do with memory: a sum of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(i32);

impl Access {
    /// Read it for our own work requests, which is always allowed.
    pub const LOCAL_READ: Self = Access(0);
    /// Write results of our own reads and atomics.
    pub const LOCAL_WRITE: Self = Access(1);
    /// All that peers may do to a heap: write, read, atomics. Writes stay in order: relaxed ordering would break the
    /// order of data and signal.
    pub const HEAP: Self = Access(1 | 2 | 4 | 8);
}

/// A protection domain: regions and queue pairs of one domain fit together.
#[derive(Debug)]
pub struct Pd {
    pub(super) context: Arc<Context>,
    pub(super) pointer: NonNull<IbvPd>,
    number: u32,
}

// SAFETY: libibverbs' functions on a domain may be called from any thread.
unsafe impl Send for Pd {}
// SAFETY: as above.
unsafe impl Sync for Pd {}

impl Pd {
    /// Makes a domain.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call).
    pub fn new(context: &Arc<Context>) -> Result<Arc<Pd>> {
        // SAFETY: an open context.
        let made = unsafe { (context.library.verbs.ibv_alloc_pd)(context.pointer.as_ptr()) };
        let Some(pointer) = NonNull::new(made) else {
            return Err(context.failed("ibv_alloc_pd", ""));
        };
        // From here on the domain is given back.
        let mut pd = Pd { context: Arc::clone(context), pointer, number: 0 };
        let mut found = DvPd { pdn: 0, comp_mask: 0, room: [0; 2] };
        let mut ask = Obj { pd_in: pointer.as_ptr(), pd_out: &raw mut found, ..Obj::empty() };
        // SAFETY: a domain that lives, and structures with more room than the library writes.
        let code = unsafe { (context.library.mlx5.mlx5dv_init_obj)(&raw mut ask, OBJ_PD) };
        context.check("mlx5dv_init_obj of a protection domain", code)?;
        pd.number = found.pdn;
        Ok(Arc::new(pd))
    }

    /// Its number, for commands.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: what was made in the domain keeps it, so nothing is left.
        let code = unsafe { (self.context.library.verbs.ibv_dealloc_pd)(self.pointer.as_ptr()) };
        if code != 0 {
            tracing::warn!(device = self.context.name(), code, "a protection domain could not be freed");
        }
    }
}

/// Memory that work requests may name. Dropping it takes the right away.
#[derive(Debug)]
pub struct Region {
    pd: Arc<Pd>,
    pointer: NonNull<IbvMr>,
    address: u64,
    length: u64,
    lkey: u32,
    rkey: u32,
}

// SAFETY: the library's region is read once, at its making.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Registers memory that this process has mapped: its own, or a GPU's through peer memory.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call).
    ///
    /// # Safety
    /// The memory stays mapped, and what the NIC does to it is no data race, until the region is dropped.
    pub unsafe fn of_mapped(pd: &Arc<Pd>, start: *mut u8, length: usize, access: Access) -> Result<Region> {
        // SAFETY: a domain that lives; the memory is the caller's promise.
        let made = unsafe {
            (pd.context.library.verbs.ibv_reg_mr)(pd.pointer.as_ptr(), start.cast(), length, access.0)
        };
        let remedy = "; if it is GPU memory, load the kernel module nvidia-peermem; if the limit of locked memory is low, raise it (ulimit -l)";
        // SAFETY: the pointer comes from the call.
        unsafe { Self::own(pd, made, start as u64, length as u64) }
            .ok_or_else(|| pd.context.failed("ibv_reg_mr", remedy))
    }

    /// Registers memory of a dma-buf, from byte `offset` on. Work requests name its first byte by `address`.
    ///
    /// # Errors
    /// [`Newer`](VerbsError::Newer), [`Call`](VerbsError::Call).
    ///
    /// # Safety
    /// What the NIC does to the memory is no data race until the region is dropped.
    pub unsafe fn of_dmabuf(
        pd: &Arc<Pd>,
        buffer: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        address: u64,
        access: Access,
    ) -> Result<Region> {
        let Some(register) = pd.context.library.verbs.ibv_reg_dmabuf_mr else {
            return Err(VerbsError::Newer {
                what: "registering a dma-buf",
                function: "ibv_reg_dmabuf_mr",
                since: 34,
            });
        };
        // SAFETY: a domain that lives and a descriptor that is open; the memory is the caller's promise.
        let made =
            unsafe { register(pd.pointer.as_ptr(), offset, length, address, buffer.as_raw_fd(), access.0) };
        let remedy = "; dma-buf needs Linux 5.12 with mlx5_ib, and NVIDIA's open kernel modules";
        // SAFETY: the pointer comes from the call.
        unsafe { Self::own(pd, made, address, length as u64) }
            .ok_or_else(|| pd.context.failed("ibv_reg_dmabuf_mr", remedy))
    }

    /// # Safety
    /// `made` is null or a region of the domain that nothing else destroys.
    unsafe fn own(pd: &Arc<Pd>, made: *mut IbvMr, address: u64, length: u64) -> Option<Region> {
        let pointer = NonNull::new(made)?;
        // SAFETY: the caller's promise.
        let (lkey, rkey) = unsafe { ((*made).lkey, (*made).rkey) };
        Some(Region { pd: Arc::clone(pd), pointer, address, length, lkey, rkey })
    }

    /// The address by which work requests name its first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Names it in our own work requests' local segments.
    pub fn lkey(&self) -> u32 {
        self.lkey
    }

    /// Names it in peers' work requests.
    pub fn rkey(&self) -> u32 {
        self.rkey
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is this one's own.
        let code = unsafe { (self.pd.context.library.verbs.ibv_dereg_mr)(self.pointer.as_ptr()) };
        if code != 0 {
            tracing::warn!(
                device = self.pd.context.name(),
                code,
                "a memory region could not be deregistered"
            );
        }
    }
}

/// Memory in which queues and doorbell records lie.
#[derive(Debug)]
pub struct Umem {
    context: Arc<Context>,
    pointer: NonNull<DevxUmem>,
    number: u32,
    length: u64,
}

// SAFETY: libmlx5's functions on it may be called from any thread.
unsafe impl Send for Umem {}
// SAFETY: as above.
unsafe impl Sync for Umem {}

impl Umem {
    /// Registers memory that this process has mapped.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call).
    ///
    /// # Safety
    /// The memory stays mapped, and what the NIC does to it is no data race, until the last queue in it is dropped.
    pub unsafe fn of_mapped(context: &Arc<Context>, start: *mut u8, length: usize) -> Result<Arc<Umem>> {
        // SAFETY: an open context; the memory is the caller's promise.
        let made = unsafe {
            (context.library.mlx5.mlx5dv_devx_umem_reg)(
                context.pointer.as_ptr(),
                start.cast(),
                length,
                Access::LOCAL_WRITE.0 as u32,
            )
        };
        Self::own(context, made, length, "mlx5dv_devx_umem_reg")
    }

    /// Registers memory of a dma-buf, from byte `offset` on.
    ///
    /// # Errors
    /// [`Newer`](VerbsError::Newer), [`Call`](VerbsError::Call).
    ///
    /// # Safety
    /// What the NIC does to the memory is no data race until the last queue in it is dropped.
    pub unsafe fn of_dmabuf(
        context: &Arc<Context>,
        buffer: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<Arc<Umem>> {
        let Some(register) = context.library.mlx5.mlx5dv_devx_umem_reg_ex else {
            return Err(VerbsError::Newer {
                what: "queues in a dma-buf",
                function: "mlx5dv_devx_umem_reg_ex",
                since: 35,
            });
        };
        let mut ask = DevxUmemIn {
            addr: std::ptr::without_provenance_mut(offset as usize),
            size: length,
            access: Access::LOCAL_WRITE.0 as u32,
            // Any page size that the driver has.
            pgsz_bitmap: !0xfff,
            comp_mask: UMEM_DMABUF,
            dmabuf_fd: buffer.as_raw_fd(),
        };
        // SAFETY: an open context and a descriptor that is open; the memory is the caller's promise.
        let made = unsafe { register(context.pointer.as_ptr(), &raw mut ask) };
        Self::own(context, made, length, "mlx5dv_devx_umem_reg_ex")
    }

    fn own(
        context: &Arc<Context>,
        made: *mut DevxUmem,
        length: usize,
        call: &'static str,
    ) -> Result<Arc<Umem>> {
        let Some(pointer) = NonNull::new(made) else {
            return Err(context.failed(call, "; queues need memory that the NIC can reach"));
        };
        // SAFETY: the pointer is new memory of the library's.
        let number = unsafe { (*made).umem_id };
        Ok(Arc::new(Umem { context: Arc::clone(context), pointer, number, length: length as u64 }))
    }

    /// Its number, for commands.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the memory is this one's own, and queues in it keep it.
        let code = unsafe { (self.context.library.mlx5.mlx5dv_devx_umem_dereg)(self.pointer.as_ptr()) };
        if code != 0 {
            tracing::warn!(device = self.context.name(), code, "memory of queues could not be deregistered");
        }
    }
}

/// Bytes of `2^log` pieces of `piece` bytes; more than any memory has where that is no number.
pub(super) fn bytes_of(piece: u64, log: u32) -> u64 {
    1_u64.checked_shl(log).and_then(|count| count.checked_mul(piece)).unwrap_or(u64::MAX)
}

/// A place in memory of queues.
#[derive(Clone, Debug)]
pub struct Place {
    /// The memory.
    pub umem: Arc<Umem>,
    /// Bytes from its start.
    pub offset: u64,
}

impl Place {
    /// The place, which has room for `needed` bytes.
    pub(super) fn holding(&self, what: &'static str, needed: u64) -> Result<&Self> {
        let length = self.umem.length;
        match self.offset.checked_add(needed) {
            Some(end) if end <= length => Ok(self),
            _ => Err(VerbsError::Memory { what, needed, offset: self.offset, length }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_do_not_wrap() {
        assert_eq!(bytes_of(64, 9), 32 << 10);
        assert_eq!(bytes_of(64, 57), 1 << 63);
        for log in [58, 63, 64, u32::MAX] {
            assert_eq!(bytes_of(64, log), u64::MAX);
        }
    }
}
