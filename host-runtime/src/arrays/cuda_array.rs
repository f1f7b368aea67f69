//! `__cuda_array_interface__`: how Python objects describe memory of a GPU (Numba's documentation, "CUDA Array Interface",
//! versions 2 and 3).

use super::element::{ArrayElement, Kind, contiguous};
use crate::driver;
use crate::error::{Error, Registration, Result, Unregistrable};
use crate::foreign::Owner;
use crate::local::DeviceVec;
use crate::registered::SourceVec;
use crate::shmem::Shmem;

/// What an object's `__cuda_array_interface__` says. Its `mask` must be none. Work that its `stream` names is the program's to
/// wait for before a kernel uses the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CudaArrayInterface {
    /// Address of the first element: the first part of `data`.
    pub pointer: u64,
    /// Whether it must not be written: the second part of `data`.
    pub read_only: bool,
    /// Extents, in elements.
    pub shape: Vec<i64>,
    /// The element type, as `<f4`.
    pub typestr: String,
    /// Strides in bytes; none: row-major without gaps.
    pub strides: Option<Vec<i64>>,
}

impl CudaArrayInterface {
    /// How many elements there are.
    fn check<T: ArrayElement>(&self) -> Result<usize, Unregistrable> {
        let kind = match T::KIND {
            Kind::Int => Some('i'),
            Kind::UInt => Some('u'),
            Kind::Float => Some('f'),
            // NumPy, whose words these are, has no such type.
            Kind::BFloat => None,
        };
        let wanted = kind.map(|kind| format!("{kind}{}", size_of::<T>()));
        // Of one byte there is no order; all that run this have the lower byte first.
        let found = self.typestr.strip_prefix(['<', '|', '=']).unwrap_or(&self.typestr);
        if wanted.as_deref() != Some(found) {
            return Err(Unregistrable::ElementType { found: format!("{:?}", self.typestr), wanted: T::NAME });
        }
        contiguous(&self.shape, self.strides.as_deref(), size_of::<T>() as i64, "bytes")
    }
}

impl Shmem {
    /// Registers memory that a `__cuda_array_interface__` describes; `owner` is the object or a reference to it. As
    /// [`buffer_register_owned`](Self::buffer_register_owned) otherwise.
    ///
    /// # Errors
    /// [`Error::Registration`] with what is wrong with it, or [`Unregistrable::ReadOnly`]; those of
    /// [`buffer_register`](Self::buffer_register).
    ///
    /// # Safety
    /// The description is true, and that of [`buffer_register_owned`](Self::buffer_register_owned).
    #[track_caller]
    pub unsafe fn buffer_register_cuda_array<T: ArrayElement>(
        &self,
        array: &CudaArrayInterface,
        owner: impl Send + 'static,
    ) -> Result<DeviceVec<T>> {
        driver::here();
        if array.read_only {
            return Err(self.refuses_array(array, Unregistrable::ReadOnly));
        }
        // SAFETY: the caller's promise.
        unsafe { self.take_array(array, Owner::new(self.my_pe(), owner)) }
    }

    /// As [`buffer_register_cuda_array`](Self::buffer_register_cuda_array), for memory that is only read; it may be read-only.
    ///
    /// # Errors
    /// Those of [`buffer_register_cuda_array`](Self::buffer_register_cuda_array).
    ///
    /// # Safety
    /// That of [`buffer_register_cuda_array`](Self::buffer_register_cuda_array).
    #[track_caller]
    pub unsafe fn buffer_register_cuda_array_source<T: ArrayElement>(
        &self,
        array: &CudaArrayInterface,
        owner: impl Send + 'static,
    ) -> Result<SourceVec<T>> {
        driver::here();
        // SAFETY: the caller's promise.
        unsafe { self.take_array(array, Owner::new(self.my_pe(), owner)) }.map(SourceVec)
    }

    /// # Safety
    /// That of [`buffer_register_cuda_array`](Self::buffer_register_cuda_array).
    unsafe fn take_array<T: ArrayElement>(
        &self,
        array: &CudaArrayInterface,
        owner: Owner,
    ) -> Result<DeviceVec<T>> {
        let len = array.check::<T>().map_err(|why| self.refuses_array(array, why))?;
        // SAFETY: the caller's promise.
        unsafe { self.register(array.pointer, len, owner) }
    }

    fn refuses_array(&self, array: &CudaArrayInterface, why: Unregistrable) -> Error {
        Error::Registration(Box::new(Registration { pe: self.my_pe(), start: array.pointer, bytes: 0, why }))
    }
}
