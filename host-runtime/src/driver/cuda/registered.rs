//! Memory of the program's that kernels of a GPU are to use: what the driver says that it is.

use super::check::cu;
use super::context::Context;
use crate::driver::{DeviceInfo, Registered};
use crate::error::{Error, Registration, Result, Unregistrable};
use cudarc::driver::sys::{CUcontext, CUmemorytype, CUpointer_attribute as Attribute};
use std::ffi::c_void;
use std::sync::Arc;

/// Memory of the program's on a GPU, which stays the program's: nothing is done to it, and nothing undone.
#[derive(Debug)]
pub(super) struct Owned {
    address: u64,
    _context: Arc<Context>,
}

impl Owned {
    /// # Errors
    /// [`Error::Registration`] if a part of it is no memory that this GPU's kernels reach.
    ///
    /// # Safety
    /// It stays allocated until this is dropped.
    pub(super) unsafe fn new(
        context: Arc<Context>,
        (pe, info): (u32, &DeviceInfo),
        address: u64,
        bytes: u64,
    ) -> Result<Self> {
        context.enter()?;
        let refuse = |why| Error::Registration(Box::new(Registration { pe, start: address, bytes, why }));
        let (mut at, end) = (address, address + bytes);
        // One tensor may span several allocations that were mapped side by side.
        while at < end {
            let found = Found::at(at)?;
            found.check(at, &context, info).map_err(refuse)?;
            at = found.end().filter(|&end| end > at).ok_or_else(|| refuse(found.nothing(at, info)))?;
        }
        Ok(Self { address, _context: context })
    }
}

impl Registered for Owned {
    fn device(&self) -> u64 {
        self.address
    }
}

/// What the driver knows about an address. All zero if it knows nothing.
#[derive(Debug, Default)]
pub(super) struct Found {
    kind: u32,
    device: i32,
    context: usize,
    managed: u64,
    pub(super) start: u64,
    pub(super) bytes: usize,
}

impl Found {
    pub(super) fn at(address: u64) -> Result<Self> {
        let mut found = Self::default();
        let mut attributes = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
            Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let mut to: [*mut c_void; 6] = [
            (&raw mut found.kind).cast(),
            (&raw mut found.device).cast(),
            (&raw mut found.context).cast(),
            (&raw mut found.managed).cast(),
            (&raw mut found.start).cast(),
            (&raw mut found.bytes).cast(),
        ];
        let (count, doing) = (attributes.len() as u32, "asking what memory of the program's is");
        // SAFETY: as many attributes as places, each of which has the attribute's size or more (CUDA Driver API,
        // cuPointerGetAttribute). An address that the driver does not know leaves them 0.
        unsafe {
            cu!(cuPointerGetAttributes(count, attributes.as_mut_ptr(), to.as_mut_ptr(), address), doing)
        }?;
        Ok(found)
    }

    /// The address after the allocation's last.
    pub(super) fn end(&self) -> Option<u64> {
        self.start.checked_add(self.bytes as u64)
    }

    fn nothing(&self, at: u64, info: &DeviceInfo) -> Unregistrable {
        let found = match self.kind {
            kind if kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32 => "pinned host memory",
            kind if kind == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => {
                "no whole allocation of the CUDA driver's"
            }
            _ => "nothing that the CUDA driver has allocated",
        };
        Unregistrable::NotDeviceMemory { at, found, device: info.name.clone() }
    }

    fn check(&self, at: u64, context: &Context, info: &DeviceInfo) -> Result<(), Unregistrable> {
        // Managed memory moves to who uses it.
        if self.managed as u8 != 0 {
            return Ok(());
        }
        if self.kind != CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
            return Err(self.nothing(at, info));
        }
        if self.device != context.device {
            let found = format!("GPU {}", self.device);
            return Err(Unregistrable::OtherDevice { found, device: info.name.clone() });
        }
        // Memory of a pool or of the driver's virtual memory management belongs to no context.
        let of = self.context as CUcontext;
        if of.is_null() || context.is(of) {
            return Ok(());
        }
        Err(Unregistrable::OtherContext { device: info.name.clone() })
    }
}
