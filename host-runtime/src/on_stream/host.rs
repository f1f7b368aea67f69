//! Copies between this PE's copy of a symmetric vector and pinned host memory, on a stream.

use crate::driver;
use crate::error::Result;
use crate::host_vec::HostVec;
use crate::shmem::Shmem;
use crate::stream::Stream;
use crate::symmetric::SymVec;
use bytemuck::Pod;

impl<T: Pod> SymVec<T> {
    /// Copies this PE's copy into `host`, on `stream`, and returns at once. [`HostVec::read`] waits for it. Lengths must be
    /// equal; for a part of the vector, or another PE's copy, [`Shmem::get_on`].
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(1, |shmem| {
    ///     let (vector, stream) = (shmem.alloc_zeroed::<u32>(1000)?, shmem.stream()?);
    ///     let (from, to) = (shmem.host_from_slice(&[7; 1000])?, shmem.host_zeroed::<u32>(1000)?);
    ///     vector.write_on(&stream, &from)?;
    ///     vector.read_on(&stream, &to)?;
    ///     assert_eq!(to.read()?, [7; 1000]);
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Shmem::get_on`].
    #[track_caller]
    pub fn read_on(&self, stream: &Stream, host: &HostVec<T>) -> Result<()> {
        driver::here();
        let pe = self.owner();
        Shmem::new(pe.clone()).get_on(stream, host, self, pe.me)
    }

    /// Copies `host` into this PE's copy, on `stream`, and returns at once: what the stream does next finds it there. As
    /// [`read_on`](Self::read_on) otherwise.
    ///
    /// # Errors
    /// Those of [`Shmem::put_on`].
    #[track_caller]
    pub fn write_on(&self, stream: &Stream, host: &HostVec<T>) -> Result<()> {
        driver::here();
        let pe = self.owner();
        Shmem::new(pe.clone()).put_on(stream, self, host, pe.me)
    }
}
