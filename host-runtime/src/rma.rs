//! Remote memory access by the host, blocking: `put`, `get`, `p`, `g`. On a stream: `on_stream.rs`.

use crate::debug;
use crate::driver;
use crate::error::Result;
use crate::memory::{Data, DataMut, Destination, OnHeap, Range, Source, moves, same_length};
use crate::shmem::Shmem;
use crate::trace::What;
use bytemuck::Pod;
use oxshmem_device::Sym;
use tracing::trace;

/// # Remote memory access
///
/// These wait until everything that this PE has launched is over, then move the data, and return when it is there: what a
/// kernel wrote before is what is sent, and whoever is told of it afterwards finds it. What *other* PEs do is ordered by
/// [`barrier_all`](Self::barrier_all), as for every access of the host. Kernels that run meanwhile on other PEs must not
/// use what is written here; words that they poll are updated by signals and atomics.
impl Shmem {
    /// Writes `source` to `target` on `pe`, and returns when it is there. Lengths are in elements and must be equal; zero is
    /// allowed. Source and target must not overlap in part. (OpenSHMEM 1.6, 9.6.)
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let data = shmem.alloc_zeroed::<u32>(8)?;
    ///     let next = (shmem.my_pe() + 1) % shmem.n_pes();
    ///     shmem.put(data.slice(2, 3), &[7, 8, 9], next)?;
    ///     shmem.barrier_all()?;
    ///     assert_eq!(data.read()?, [0, 0, 7, 8, 9, 0, 0, 0]);
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchPe`](crate::Error::NoSuchPe), [`Error::LengthsDiffer`](crate::Error::LengthsDiffer),
    /// [`Error::Overlap`](crate::Error::Overlap), [`Error::WrongOwner`](crate::Error::WrongOwner);
    /// [`Error::BadHandle`](crate::Error::BadHandle) for a range that is out of its vector or whose vector is gone; what a
    /// kernel or another PE failed with; [`Error::Cuda`](crate::Error::Cuda) if the driver refuses. Nothing was written then.
    #[track_caller]
    pub fn put<T: Pod>(&self, target: impl OnHeap<T>, source: impl Source<T>, pe: u32) -> Result<()> {
        driver::here();
        const BY: &str = "put";
        let (me, target) = (self.pe(), target.range());
        let what = || What::on(BY, pe, target.bytes());
        me.traced(what, || {
            me.check_peer(BY, pe)?;
            let to = me.address(BY, 0, &target, pe)?;
            trace!(target: debug::OPERATION, pe = me.me, name = BY, to = pe, bytes = target.bytes(), "blocking");
            match source.data() {
                Data::Host(values) => {
                    same_length(BY, target.len, values.len() as u64)?;
                    me.settle()?;
                    if target.bytes() > 0 {
                        // SAFETY: a live range of that PE's heap, mapped here, with as many bytes; no kernel of this PE runs, and
                        // that others' do not use it is what the user is told to order.
                        unsafe { me.copies.write(to, bytemuck::cast_slice(values))? };
                    }
                }
                Data::Device(source) => {
                    same_length(BY, target.len, source.len)?;
                    let from = me.address(BY, 1, &source, me.me)?;
                    let moves = moves(BY, to, from, target.bytes())?;
                    me.settle()?;
                    if moves {
                        // SAFETY: as above, and a live range of this PE's memory.
                        unsafe { me.copies.copy(to, from, target.bytes())? };
                    }
                }
            }
            Ok(())
        })
    }

    /// Reads `source` on `pe` into `target`, and returns when it is there. As [`put`](Self::put) otherwise.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[track_caller]
    pub fn get<T: Pod>(
        &self,
        mut target: impl Destination<T>,
        source: impl OnHeap<T>,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        const BY: &str = "get";
        let (me, source) = (self.pe(), source.range());
        let what = || What::on(BY, pe, source.bytes());
        me.traced(what, || {
            me.check_peer(BY, pe)?;
            let from = me.address(BY, 1, &source, pe)?;
            trace!(target: debug::OPERATION, pe = me.me, name = BY, from = pe, bytes = source.bytes(), "blocking");
            match target.data() {
                DataMut::Host(values) => {
                    same_length(BY, values.len() as u64, source.len)?;
                    me.settle()?;
                    if source.bytes() > 0 {
                        // SAFETY: as in `put`.
                        unsafe { me.copies.read(from, bytemuck::cast_slice_mut(values))? };
                    }
                }
                DataMut::Device(target) => {
                    same_length(BY, target.len, source.len)?;
                    let to = me.address(BY, 0, &target, me.me)?;
                    let moves = moves(BY, to, from, source.bytes())?;
                    me.settle()?;
                    if moves {
                        // SAFETY: as in `put`.
                        unsafe { me.copies.copy(to, from, source.bytes())? };
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes one element on `pe`, and returns when it is there.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[track_caller]
    pub fn p<T: Pod>(&self, target: Sym<T>, value: T, pe: u32) -> Result<()> {
        driver::here();
        let me = self.pe();
        me.traced(
            || What::on("p", pe, size_of::<T>() as u64),
            || {
                me.check_peer("p", pe)?;
                trace!(target: debug::OPERATION, pe = me.me, name = "p", to = pe, "blocking");
                let to = me.address("p", 0, &Range::element(target), pe)?;
                me.settle()?;
                if size_of::<T>() > 0 {
                    // SAFETY: as in `put`.
                    unsafe { me.copies.write(to, bytemuck::bytes_of(&value))? };
                }
                Ok(())
            },
        )
    }

    /// One element of `pe`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[track_caller]
    pub fn g<T: Pod>(&self, source: Sym<T>, pe: u32) -> Result<T> {
        driver::here();
        let me = self.pe();
        me.traced(
            || What::on("g", pe, size_of::<T>() as u64),
            || {
                me.check_peer("g", pe)?;
                trace!(target: debug::OPERATION, pe = me.me, name = "g", from = pe, "blocking");
                let from = me.address("g", 0, &Range::element(source), pe)?;
                me.settle()?;
                let mut value = T::zeroed();
                if size_of::<T>() > 0 {
                    // SAFETY: as in `put`.
                    unsafe { me.copies.read(from, bytemuck::bytes_of_mut(&mut value))? };
                }
                Ok(value)
            },
        )
    }
}
