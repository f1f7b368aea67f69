//! Doorbell pages.

use super::context::Context;
use super::dv::DevxUar;
use super::error::Result;
use std::ptr::NonNull;
use std::sync::Arc;

/// `MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED`: not write-combined, and ours alone. Newer libraries have it.
const DEDICATED: u32 = 1 << 31;
/// `MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF`: write-combined.
const BLUE_FLAME: u32 = 0;

/// A doorbell page of our own. A store to its register tells the NIC that work was posted.
#[derive(Debug)]
pub struct Uar {
    context: Arc<Context>,
    pointer: NonNull<DevxUar>,
    number: u32,
    register: NonNull<u64>,
    combining: bool,
}

// SAFETY: the library's page is read once, at its making; the register is the device's.
unsafe impl Send for Uar {}
// SAFETY: as above.
unsafe impl Sync for Uar {}

impl Uar {
    /// Allocates a page: one without write-combining if the library can give one.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn new(context: &Arc<Context>) -> Result<Arc<Uar>> {
        let allocate = |kind| {
            // SAFETY: an open context.
            NonNull::new(unsafe {
                (context.library.mlx5.mlx5dv_devx_alloc_uar)(context.pointer.as_ptr(), kind)
            })
        };
        let (pointer, combining) = match allocate(DEDICATED) {
            Some(pointer) => (pointer, false),
            None => match allocate(BLUE_FLAME) {
                Some(pointer) => (pointer, true),
                None => {
                    let remedy = "; the NIC may be out of doorbell pages";
                    return Err(context.failed("mlx5dv_devx_alloc_uar", remedy));
                }
            },
        };
        // SAFETY: a page of the library's.
        let (number, register) = unsafe { ((*pointer.as_ptr()).page_id, (*pointer.as_ptr()).reg_addr) };
        let Some(register) = NonNull::new(register.cast()) else {
            // SAFETY: the page is ours.
            unsafe { (context.library.mlx5.mlx5dv_devx_free_uar)(pointer.as_ptr()) };
            return Err(context.failed("mlx5dv_devx_alloc_uar", "; the page is not mapped"));
        };
        Ok(Arc::new(Uar { context: Arc::clone(context), pointer, number, register, combining }))
    }

    /// Its number, for commands.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The register: 8 bytes, to which doorbells are stored.
    pub fn register(&self) -> NonNull<u64> {
        self.register
    }

    /// Whether stores to it are combined, so that one needs a fence behind it.
    pub fn combining(&self) -> bool {
        self.combining
    }
}

impl Drop for Uar {
    fn drop(&mut self) {
        // SAFETY: the page is this one's own, and queues that ring on it keep it.
        unsafe { (self.context.library.mlx5.mlx5dv_devx_free_uar)(self.pointer.as_ptr()) };
    }
}
