//! Why memory of the program's cannot be registered, as local or as symmetric memory.

use super::words::range;

/// Memory of the program's that could not be registered. Fault: the program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("PE {pe} cannot register {}: {why}", range(*start, *bytes))]
pub struct Registration {
    /// The PE that was to use it.
    pub pe: u32,
    /// Address of the first byte.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
    /// What is wrong with it.
    pub why: Unregistrable,
}

/// What is wrong with memory that was to be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unregistrable {
    /// The pointer is null.
    #[error("the pointer is null")]
    Null,
    /// The address does not fit the elements.
    #[error("its address is no multiple of {align}, as its elements need: pass where an element starts")]
    Misaligned {
        /// The alignment that they need, in bytes.
        align: u64,
    },
    /// The range ends beyond the last address.
    #[error("it ends beyond the last address: check the length, which counts elements")]
    BeyondAddresses,
    /// A part of it is registered, or local memory of oxshmem's.
    #[error(
        "{start:#x}..{end:#x} is {what} of PE {pe} already, and a range is registered once: use the first registration, or drop it and call synchronize()"
    )]
    Overlaps {
        /// First address of what is there.
        start: u64,
        /// The one after its last.
        end: u64,
        /// What it is.
        what: &'static str,
        /// Whose.
        pe: u32,
    },
    /// A part of it lies in a symmetric heap.
    #[error("it lies in the symmetric heap of PE {pe}: use the vector's own handle")]
    InHeap {
        /// Whose heap.
        pe: u32,
    },
    /// The driver does not know a part of it as memory of a GPU.
    #[error(
        "{at:#x} is {found}, and kernels reach memory that was allocated on {device}: allocate it there, or copy it"
    )]
    NotDeviceMemory {
        /// The first address that is none.
        at: u64,
        /// What it is.
        found: &'static str,
        /// The PE's device.
        device: String,
    },
    /// It is memory of another device.
    #[error(
        "it is on {found}, and this PE uses {device}: allocate it there (CUDA_VISIBLE_DEVICES, torch.cuda.set_device)"
    )]
    OtherDevice {
        /// Where it is.
        found: String,
        /// The PE's device.
        device: String,
    },
    /// It cannot be mapped at a second address, as a symmetric registration does.
    #[error(
        "it is {found}, and symmetric memory of the program's must be mapped a second time, which can be done with what cuMemCreate has made: allocate it so, or use alloc_uninit or alloc_host_zeroed"
    )]
    NotMappable {
        /// What it is.
        found: &'static str,
    },
    /// It is not all that was mapped there at once.
    #[error(
        "the driver has {start:#x}..{end:#x} mapped there, and a symmetric registration is of all that was mapped at once, whole pages of the heap: pass its start and its whole length"
    )]
    NotWhole {
        /// First address of what is there.
        start: u64,
        /// The one after its last.
        end: u64,
    },
    /// It was made without the handle type by which the PEs of the job share memory.
    #[error(
        "it was made with requestedHandleTypes {found:#x}, and the PEs share memory by {wanted}: pass that to cuMemCreate"
    )]
    NotShareable {
        /// The handle types that it was made with.
        found: u32,
        /// The one that the job uses.
        wanted: &'static str,
    },
    /// It was allocated in a context that is not the GPU's primary one.
    #[error(
        "it was allocated in another context of {device}: allocate it in the primary context, which the CUDA runtime, cudarc and PyTorch use"
    )]
    OtherContext {
        /// The PE's device.
        device: String,
    },
    /// A tensor has elements of another type.
    #[error("its elements are {found}, and it was to be registered as {wanted}")]
    ElementType {
        /// What they are.
        found: String,
        /// What they were to be.
        wanted: &'static str,
    },
    /// A tensor's elements do not lie one after the other in row-major order.
    #[error(
        "its strides {strides:?} (in {unit}) leave gaps or another order than row-major for the shape {shape:?}: make it contiguous first"
    )]
    NotContiguous {
        /// Its shape, in elements.
        shape: Vec<i64>,
        /// Its strides.
        strides: Vec<i64>,
        /// In what they count.
        unit: &'static str,
    },
    /// Its owner lets it be read only.
    #[error(
        "its owner marks it as read-only, so that it can be a source and no destination: register it as a source"
    )]
    ReadOnly,
    /// A description of it is not what its format allows.
    #[error("its description is not valid: {what}")]
    Description {
        /// What is wrong.
        what: String,
    },
}
