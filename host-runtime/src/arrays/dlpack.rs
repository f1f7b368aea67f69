//! DLPack: how array libraries hand each other tensors (`dlpack.h` of <https://github.com/dmlc/dlpack>, versions 0.8 and 1).
//!
//! In Python, `array.__dlpack__()` makes a capsule whose pointer is a `DLManagedTensor` (the capsule is called `dltensor`) or a
//! `DLManagedTensorVersioned` (`dltensor_versioned`). Who takes the pointer renames the capsule to `used_…` and owns the tensor
//! from then on. PyTorch orders the tensor's work against a stream that the caller names to `__dlpack__`; oxshmem's streams are
//! its own, so synchronise the stream that filled the tensor before a kernel reads it.

use super::element::{ArrayElement, Kind, contiguous};
use crate::driver::{self, DeviceInfo};
use crate::error::{Error, Registration, Result, Unregistrable};
use crate::foreign::Owner;
use crate::local::DeviceVec;
use crate::registered::SourceVec;
use crate::shmem::Shmem;
use std::ffi::c_void;
use std::ptr::NonNull;

/// `DLDeviceType` of host memory, of a GPU's memory and of CUDA's managed memory.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_MANAGED: i32 = 13;
/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;
/// The major version of `DLManagedTensorVersioned` that this is written for.
const MAJOR: u32 = 1;

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawTensor {
    /// Where the data is, but for `byte_offset`.
    pub data: *mut c_void,
    /// `DLDeviceType`.
    pub device_type: i32,
    /// The device's number.
    pub device_id: i32,
    /// How many axes.
    pub ndim: i32,
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Lanes of an element.
    pub lanes: u16,
    /// `ndim` extents, in elements.
    pub shape: *mut i64,
    /// `ndim` strides, in elements; null: row-major without gaps.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Managed {
    /// The tensor.
    pub tensor: RawTensor,
    /// Its owner's.
    pub context: *mut c_void,
    /// Frees it; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedVersioned {
    /// Major version of DLPack.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Its owner's.
    pub context: *mut c_void,
    /// Frees it; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// `DLPACK_FLAG_…`.
    pub flags: u64,
    /// The tensor.
    pub tensor: RawTensor,
}

/// A tensor that is owned: its deleter is called once, when this is dropped.
#[derive(Debug)]
pub struct Tensor(Form);

#[derive(Debug)]
enum Form {
    Plain(NonNull<Managed>),
    Versioned(NonNull<ManagedVersioned>),
}

// SAFETY: who made it has promised that its deleter may be called on any thread; the rest is only read.
unsafe impl Send for Tensor {}

impl Tensor {
    /// Takes over what a capsule `dltensor` points to.
    ///
    /// # Safety
    /// `managed` points to a `DLManagedTensor` that is nobody else's, as its format describes it: what it names is there until
    /// its deleter is called, which may be on any thread; and the program orders what kernels and operations do with the data
    /// against every other use of it.
    pub unsafe fn from_managed(managed: NonNull<Managed>) -> Self {
        Self(Form::Plain(managed))
    }

    /// Takes over what a capsule `dltensor_versioned` points to.
    ///
    /// # Safety
    /// As for [`from_managed`](Self::from_managed), of a `DLManagedTensorVersioned`.
    pub unsafe fn from_versioned(managed: NonNull<ManagedVersioned>) -> Self {
        Self(Form::Versioned(managed))
    }

    /// Whether its owner lets it be read only. Before version 1 of DLPack none could say so.
    pub fn is_read_only(&self) -> bool {
        match self.0 {
            Form::Plain(_) => false,
            // SAFETY: it is there as long as self; flags mean that in this major version.
            Form::Versioned(managed) => unsafe {
                (*managed.as_ptr()).major == MAJOR && (*managed.as_ptr()).flags & READ_ONLY != 0
            },
        }
    }

    /// The tensor, if its layout is one that is known here.
    fn raw(&self) -> Result<RawTensor, Unregistrable> {
        match self.0 {
            // SAFETY: it is there as long as self.
            Form::Plain(managed) => Ok(unsafe { managed.as_ref() }.tensor),
            Form::Versioned(managed) => {
                // SAFETY: as above; the version stands first in every version.
                let (major, minor) = unsafe { ((*managed.as_ptr()).major, (*managed.as_ptr()).minor) };
                if major != MAJOR {
                    let what = format!(
                        "it is of DLPack {major}.{minor}, and {MAJOR} is known here: ask for `max_version=(1, 0)`"
                    );
                    return Err(Unregistrable::Description { what });
                }
                // SAFETY: as above.
                Ok(unsafe { managed.as_ref() }.tensor)
            }
        }
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        match self.0 {
            // SAFETY: it is this value's, which is dropped once; the deleter is its owner's.
            Form::Plain(managed) => unsafe {
                if let Some(deleter) = (*managed.as_ptr()).deleter {
                    deleter(managed.as_ptr());
                }
            },
            // SAFETY: as above; a deleter stands at the same place in every version.
            Form::Versioned(managed) => unsafe {
                if let Some(deleter) = (*managed.as_ptr()).deleter {
                    deleter(managed.as_ptr());
                }
            },
        }
    }
}

/// Address of the first element, and how many there are.
fn check<T: ArrayElement>(raw: &RawTensor, here: &DeviceInfo) -> Result<(u64, usize), Unregistrable> {
    let code = match T::KIND {
        Kind::Int => 0,
        Kind::UInt => 1,
        Kind::Float => 2,
        Kind::BFloat => 4,
    };
    if (raw.code, u64::from(raw.bits), raw.lanes) != (code, 8 * size_of::<T>() as u64, 1) {
        return Err(Unregistrable::ElementType { found: type_name(raw), wanted: T::NAME });
    }
    check_device(here, raw.device_type, raw.device_id)?;
    let invalid = |what: &str| Unregistrable::Description { what: what.to_owned() };
    let axes = usize::try_from(raw.ndim).map_err(|_| invalid("it has a negative number of axes"))?;
    if axes > 0 && raw.shape.is_null() {
        return Err(invalid("it has no shape"));
    }
    let extents = |of: *mut i64| match axes {
        0 => &[][..],
        // SAFETY: `ndim` numbers, as the format says, which live as long as the tensor.
        axes => unsafe { std::slice::from_raw_parts(of, axes) },
    };
    let strides = (!raw.strides.is_null()).then(|| extents(raw.strides));
    let len = contiguous(extents(raw.shape), strides, 1, "elements")?;
    let start = (raw.data.expose_provenance() as u64).checked_add(raw.byte_offset);
    Ok((start.ok_or(Unregistrable::BeyondAddresses)?, len))
}

/// A type as NumPy calls it.
fn type_name(raw: &RawTensor) -> String {
    let RawTensor { code, bits, lanes, .. } = *raw;
    let kind = match code {
        0 => "int",
        1 => "uint",
        2 => "float",
        4 => "bfloat",
        5 => "complex",
        6 => "bool",
        _ => return format!("of DLPack's type {code} with {bits} bits and {lanes} lane(s)"),
    };
    if lanes == 1 { format!("{kind}{bits}") } else { format!("{lanes} lanes of {kind}{bits}") }
}

/// Refuses memory that is on no device which this one's kernels reach.
fn check_device(here: &DeviceInfo, device_type: i32, device_id: i32) -> Result<(), Unregistrable> {
    let found = match (device_type, here.emulated) {
        (CPU, true) | (CUDA_MANAGED, false) => return Ok(()),
        (CUDA, false) if u32::try_from(device_id) == Ok(here.ordinal) => return Ok(()),
        (CPU, false) => "the host".to_owned(),
        (CUDA, _) => format!("GPU {device_id}"),
        (CUDA_MANAGED, true) => "a GPU, in managed memory".to_owned(),
        (other, _) => format!("a device of DLPack's type {other}, number {device_id}"),
    };
    Err(Unregistrable::OtherDevice { found, device: here.name.clone() })
}

/// # Tensors of other libraries
impl Shmem {
    /// Registers a [DLPack](crate::dlpack) tensor: as
    /// [`buffer_register_owned`](Self::buffer_register_owned), with the tensor as the owner, so that its deleter is called once.
    /// Its elements are `T`, row-major and without gaps; on a CUDA device it is on the PE's GPU, on an emulated one on the host.
    ///
    /// # Errors
    /// [`Error::Registration`] with what is not so, or [`Unregistrable::ReadOnly`]; those of
    /// [`buffer_register`](Self::buffer_register). The tensor is given back then.
    #[track_caller]
    pub fn buffer_register_dlpack<T: ArrayElement>(&self, tensor: Tensor) -> Result<DeviceVec<T>> {
        driver::here();
        if tensor.is_read_only() {
            return Err(self.refuses(&tensor, Unregistrable::ReadOnly));
        }
        self.take_dlpack(tensor)
    }

    /// As [`buffer_register_dlpack`](Self::buffer_register_dlpack), for a tensor that is only read; it may be read-only.
    ///
    /// # Errors
    /// Those of [`buffer_register_dlpack`](Self::buffer_register_dlpack).
    #[track_caller]
    pub fn buffer_register_dlpack_source<T: ArrayElement>(&self, tensor: Tensor) -> Result<SourceVec<T>> {
        driver::here();
        self.take_dlpack(tensor).map(SourceVec)
    }

    fn take_dlpack<T: ArrayElement>(&self, tensor: Tensor) -> Result<DeviceVec<T>> {
        let checked = tensor.raw().and_then(|raw| check::<T>(&raw, self.pe().device.info()));
        let (start, len) = checked.map_err(|why| self.refuses(&tensor, why))?;
        // SAFETY: what a tensor names is there until its deleter is called, which its drop does.
        unsafe { self.register(start, len, Owner::new(self.my_pe(), tensor)) }
    }

    fn refuses(&self, tensor: &Tensor, why: Unregistrable) -> Error {
        let start = tensor.raw().map_or(0, |raw| raw.data.expose_provenance() as u64);
        Error::Registration(Box::new(Registration { pe: self.my_pe(), start, bytes: 0, why }))
    }
}
