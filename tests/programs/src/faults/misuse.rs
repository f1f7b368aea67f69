//! What a program does wrong with memory of its own: errors, which the others learn of as of any other.

use crate::kernels::registered::put_in_rounds;
use crate::own_memory::OwnMemory;
use oxshmem::dlpack::{Managed, RawTensor, Tensor};
use oxshmem::{LaunchConfig, Result, Shmem, Signal, SymVec};
use std::ptr::NonNull;

/// Elements of the memory.
pub(super) const LEN: usize = 1000;
/// One block of it copies.
pub(super) const SHAPE: LaunchConfig = LaunchConfig::blocks(1).threads(64);

/// Launches a kernel with memory whose registration has ended.
pub(super) fn uses_dropped(shmem: &Shmem, inbox: &SymVec<u32>, ready: &SymVec<Signal>) -> Result<()> {
    let mut own = OwnMemory::new(shmem, LEN)?;
    // SAFETY: it is dropped after the registration, at the end of which nothing uses it.
    let registered = unsafe { shmem.buffer_register(own.start(), LEN)? };
    let handle = registered.handle();
    shmem.buffer_unregister(registered)?;
    put_in_rounds::launch(shmem, SHAPE, inbox, handle, ready.at(0), 1)
}

/// Registers a tensor of a device that this PE does not use.
pub(super) fn registers_elsewhere(shmem: &Shmem) -> Result<()> {
    const CPU: i32 = 1;
    const CUDA: i32 = 2;
    let (mut values, mut shape) = (vec![0f32; LEN], [LEN as i64]);
    let tensor = RawTensor {
        data: values.as_mut_ptr().cast(),
        device_type: if shmem.is_emulated() { CUDA } else { CPU },
        device_id: 0,
        ndim: 1,
        code: 2,
        bits: 32,
        lanes: 1,
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let mut managed = Managed { tensor, context: std::ptr::null_mut(), deleter: None };
    // SAFETY: it outlives the call, which refuses it.
    let tensor = unsafe { Tensor::from_managed(NonNull::from(&mut managed)) };
    shmem.buffer_register_dlpack::<f32>(tensor).map(drop)
}
