//! Strided operations on streams.

use crate::calls::Calls;
use crate::driver;
use crate::error::Result;
use crate::memory::{Far, OnDevice, OnHeap, SourceOnDevice};
use crate::shmem::Shmem;
use crate::stream::Stream;
use crate::strided::{Strided, Strides};
use bytemuck::Pod;

/// # Strided access on a stream
impl Shmem {
    /// Writes `count` elements of `source`, each `source_stride` elements after the one before, to `target` on `pe`, each
    /// `target_stride` elements after the one before, on `stream`. Elements between them are not touched. Source and target must
    /// not overlap; as [`put_on`](Self::put_on) otherwise.
    ///
    /// # Errors
    /// [`Error::Strides`](crate::Error::Strides) for a stride of 0, or elements that lie outside of a range; those of
    /// [`put_on`](Self::put_on).
    #[track_caller]
    #[expect(clippy::too_many_arguments, reason = "those of OpenSHMEM's, and the stream")]
    pub fn iput_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnHeap<T>,
        source: impl SourceOnDevice<T>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        let strides = Strides { target: target_stride, source: source_stride, count };
        let strided = Strided {
            by: "iput_on",
            target: target.range(),
            source: source.range(),
            strides,
            far: Far::Target(pe),
        };
        strided.launch::<T>(&Calls::on(self.pe(), stream)?)
    }

    /// Reads `count` elements of `source` on `pe`, each `source_stride` elements after the one before, into `target`, each
    /// `target_stride` elements after the one before, on `stream`; they are there for what the stream does next. As
    /// [`iput_on`](Self::iput_on) otherwise.
    ///
    /// # Errors
    /// Those of [`iput_on`](Self::iput_on).
    #[track_caller]
    #[expect(clippy::too_many_arguments, reason = "those of OpenSHMEM's, and the stream")]
    pub fn iget_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnDevice<T>,
        source: impl OnHeap<T>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        let strides = Strides { target: target_stride, source: source_stride, count };
        let strided = Strided {
            by: "iget_on",
            target: target.range(),
            source: source.range(),
            strides,
            far: Far::Source(pe),
        };
        strided.launch::<T>(&Calls::on(self.pe(), stream)?)
    }
}
