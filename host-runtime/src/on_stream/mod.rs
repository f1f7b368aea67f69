//! Operations on a stream: queued behind what the stream has been given, as launches are, and returned from at once. Those
//! that move much go through the copy engine, the others are small kernels (`oxshmem_stream_kernels`).
//!
//! | operation | done by |
//! |---|---|
//! | `put_on`, `get_on` | a kernel of one block up to [`BY_KERNEL`] bytes, the copy engine above |
//! | `put_signal_on` | the same; above, the signal is a kernel behind the copy |
//! | `g_on` | as `get_on` |
//! | `iput_on`, `iget_on` | a kernel of one block |
//! | collective operations (`crate::collective`) | a kernel of several blocks |
//! | `p_on`, `signal_on`, atomics, waits, `quiet_on`, barriers | a kernel of one thread |
//!
//! A wait is a kernel, and no stream memory operation (`cuStreamWaitValue64`): the driver gives those no deadline, so a
//! signal that never comes would hold the stream for ever, and nothing could recover it.

mod atomic;
mod host;
mod meeting;
mod strided;
mod wait;

use crate::calls::{Calls, ONE_THREAD, block_for};
use crate::driver;
use crate::enqueue::enqueue;
use crate::error::Result;
use crate::memory::{Far, OnDevice, OnHeap, Range, SourceOnDevice, moves, nowhere, same_length};
use crate::shmem::Shmem;
use crate::signal::{numbers, send};
use crate::stream::Stream;
use bytemuck::Pod;
use oxshmem_device::launch::{KernelParam, LaunchConfig, Named};
use oxshmem_device::{Cmp, Reach, Signal, SignalOp, Sym};
use oxshmem_stream_kernels::{order, rma, signal};
pub use wait::WaitsOnStream;

/// Up to so many bytes are copied by a kernel. One block moves them in about the time that its launch takes (46 GB/s over
/// NVLink, `perf/results/`), and the copy engine, which is faster beyond, starts no sooner than a kernel.
const BY_KERNEL: u64 = 64 * 1024;
/// Bytes that a thread of a copying block moves before another is worth it.
const BYTES_PER_THREAD: u64 = 64;

/// # Operations on a stream
///
/// They return at once, and run when everything that was queued on the stream before is over; what is queued behind them
/// waits for them. Memory is that of the device. A range may be dropped as soon as the call has returned: the memory stays
/// until the operation is over. What fails on the device is an error of the next call that looks, as for kernels. They can be
/// [captured](Stream::capture).
impl Shmem {
    /// Writes `source` to `target` on `pe`, on `stream`. What the stream does next may reuse the source. The data arrives at
    /// any later time, in any order, until [`quiet_on`](Self::quiet_on), a [signal](Self::signal_on) or a barrier on the
    /// stream orders it. Lengths are in elements and must be equal; zero is allowed. Source and target must not overlap in
    /// part.
    ///
    /// ```
    /// # use oxshmem::SignalOp;
    /// # use oxshmem_device::Cmp;
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let (src, dst) = (shmem.alloc_from_fn(100, |i| i as f32)?, shmem.alloc_zeroed::<f32>(100)?);
    ///     let (ready, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
    ///     let other = 1 - shmem.my_pe();
    ///     shmem.put_signal_on(&stream, &dst, &src, ready.at(0), SignalOp::Set(1), other)?;
    ///     shmem.wait_until_on(&stream, ready.at(0), Cmp::Ge, 1)?;
    ///     stream.synchronize()?;
    ///     assert_eq!(dst.read()?[99], 99.0);
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`put`](Self::put) and of a launch, with none of the waits: nothing is queued then.
    #[track_caller]
    pub fn put_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnHeap<T>,
        source: impl SourceOnDevice<T>,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        let copy = Copy::new(self, stream, "put_on", &target.range(), &source.range(), Far::Target(pe))?;
        if copy.by_engine() {
            return copy.start();
        }
        let Copy { calls, target, source, shape, moves, .. } = &copy;
        match (target.heap_bytes(), source.heap_bytes(), source.local_bytes()) {
            _ if !moves => calls.look(),
            (Some(target), Some(source), _) => rma::put::launch(calls, *shape, target, source, pe),
            (Some(target), _, Some(source)) => rma::put_local::launch(calls, *shape, target, source, pe),
            _ => Err(nowhere()),
        }
    }

    /// Reads `source` on `pe` into `target`, on `stream`; it is there for what the stream does next. As
    /// [`put_on`](Self::put_on) otherwise.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn get_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnDevice<T>,
        source: impl OnHeap<T>,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        Copy::new(self, stream, "get_on", &target.range(), &source.range(), Far::Source(pe))?.get()
    }

    /// Reads one element of `pe` into `target`, which is device memory of one element, on `stream`; it is there for what the
    /// stream does next.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn g_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnDevice<T>,
        source: Sym<T>,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        Copy::new(self, stream, "g_on", &target.range(), &Range::element(source), Far::Source(pe))?.get()
    }

    /// Writes `source` to `target` on `pe`, then updates `signal` there, on `stream`: whoever sees the new value sees the
    /// data. With zero elements it still signals. As [`put_on`](Self::put_on) otherwise. (OpenSHMEM 1.6, 9.8.3.)
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn put_signal_on<T: Pod>(
        &self,
        stream: &Stream,
        target: impl OnHeap<T>,
        source: impl SourceOnDevice<T>,
        signal: Sym<Signal>,
        op: SignalOp,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        const BY: &str = "put_signal_on";
        let copy = Copy::new(self, stream, BY, &target.range(), &source.range(), Far::Target(pe))?;
        self.pe().address(BY, 2, &Range::word(signal.names()), pe)?;
        if copy.by_engine() {
            copy.start()?;
        }
        let (update, value) = numbers(op);
        let Copy { calls, target, source, shape, moves, .. } = &copy;
        if !moves || copy.by_engine() {
            return send(calls, BY, signal, op, pe);
        }
        match (target.heap_bytes(), source.heap_bytes(), source.local_bytes()) {
            (Some(target), Some(source), _) => {
                rma::put_signal::launch(calls, *shape, target, source, signal, update, value, pe)
            }
            (Some(target), _, Some(source)) => {
                rma::put_signal_local::launch(calls, *shape, target, source, signal, update, value, pe)
            }
            _ => Err(nowhere()),
        }
    }

    /// Writes one element of at most 16 bytes on `pe`, on `stream`. It arrives as a [`put_on`](Self::put_on) does.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn p_on<T: Pod>(&self, stream: &Stream, target: Sym<T>, value: T, pe: u32) -> Result<()> {
        const { assert!(size_of::<T>() <= 16, "`p_on` writes elements of at most 16 bytes: use `put_on`") };
        driver::here();
        let calls = Calls::on(self.pe(), stream)?;
        calls.pe.check_peer("p_on", pe)?;
        let range = Range::element(target);
        calls.pe.address("p_on", 0, &range, pe)?;
        let Some(bytes) = range.heap_bytes().filter(|bytes| !bytes.is_empty()) else { return calls.look() };
        let mut words = [0u64; 2];
        bytemuck::bytes_of_mut(&mut words)[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        // An element whose alignment is its size is one access.
        let Named::Symmetric { offset, tag, .. } = range.named else { return Err(nowhere()) };
        macro_rules! whole {
            ($($ty:ty),*) => {
                $(
                    if size_of::<T>() == size_of::<$ty>() && align_of::<T>() >= align_of::<$ty>() {
                        let value = bytemuck::pod_read_unaligned::<$ty>(bytemuck::bytes_of(&value));
                        // SAFETY: an element that was checked, of the same size and no lower alignment.
                        let target = unsafe { Sym::<$ty>::from_parts(offset, (), Reach::World) }.tagged(tag);
                        return rma::p::<$ty>::launch(&calls, ONE_THREAD, target, value, pe);
                    }
                )*
            };
        }
        whole!(u8, u16, u32, u64, u128);
        rma::p_bytes::launch(&calls, ONE_THREAD, bytes, words, pe)
    }

    /// Updates `signal` on `pe`, on `stream`: whoever sees the new value sees everything that the stream did before.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn signal_on(&self, stream: &Stream, signal: Sym<Signal>, op: SignalOp, pe: u32) -> Result<()> {
        driver::here();
        send(&Calls::on(self.pe(), stream)?, "signal_on", signal, op, pe)
    }

    /// Has `stream` wait until this PE's own `word` compares with `value`: what comes behind on the stream runs then, and sees
    /// what the signal or releasing atomic that made it so covers. (OpenSHMEM 1.6, 9.11.1.)
    ///
    /// The wait has the deadline of all waits, counted from its start, and gives up when a peer fails: every PE learns of it
    /// as of a kernel's wait. It holds room for one block of one thread, which a collective launch beside it must leave.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on); [`Error::NotCoResident`](crate::Error::NotCoResident) if there is no room.
    #[track_caller]
    pub fn wait_until_on<W: WaitsOnStream>(
        &self,
        stream: &Stream,
        word: Sym<W>,
        cmp: Cmp,
        value: W::Value,
    ) -> Result<()> {
        driver::here();
        let calls = Calls::on(self.pe(), stream)?;
        calls.pe.address("wait_until_on", 0, &Range::word(word.names()), calls.pe.me)?;
        W::launch(&calls, word, cmp, value)
    }

    /// As [`wait_until_on`](Self::wait_until_on), until `signal`, a counter that grows, has reached `goal`; right also when it
    /// wraps.
    ///
    /// # Errors
    /// Those of [`wait_until_on`](Self::wait_until_on).
    #[track_caller]
    pub fn wait_reached_on(&self, stream: &Stream, signal: Sym<Signal>, goal: u64) -> Result<()> {
        driver::here();
        let calls = Calls::on(self.pe(), stream)?;
        calls.pe.address("wait_reached_on", 0, &Range::word(signal.names()), calls.pe.me)?;
        signal::wait_reached::launch(&calls, ONE_THREAD, signal, goal)
    }

    /// Completes what `stream` did before: it has arrived, on every PE, when what comes behind runs. (OpenSHMEM 1.6, 9.12.2.)
    ///
    /// # Errors
    /// Those of a launch.
    #[track_caller]
    pub fn quiet_on(&self, stream: &Stream) -> Result<()> {
        driver::here();
        order::quiet::launch(&Calls::on(self.pe(), stream)?, ONE_THREAD)
    }
}

/// A copy on a stream, checked.
struct Copy<'a> {
    calls: Calls<'a>,
    by: &'static str,
    from_pe: u32,
    target: Range<'a>,
    source: Range<'a>,
    /// Addresses here.
    to: u64,
    from: u64,
    bytes: u64,
    /// Whether there is anything to move.
    moves: bool,
    /// The block of a kernel that does it.
    shape: LaunchConfig,
}

impl<'a> Copy<'a> {
    fn new(
        shmem: &'a Shmem,
        stream: &Stream,
        by: &'static str,
        target: &Range<'a>,
        source: &Range<'a>,
        far: Far,
    ) -> Result<Self> {
        let me = shmem.pe();
        let (to_pe, from_pe) = far.pes(me.me);
        me.check_peer(by, far.pe())?;
        let (to, from) = (me.address(by, 0, target, to_pe)?, me.address(by, 1, source, from_pe)?);
        same_length(by, target.len, source.len)?;
        let bytes = target.bytes();
        Ok(Self {
            calls: Calls::on(me, stream)?,
            by,
            from_pe,
            target: *target,
            source: *source,
            to,
            from,
            bytes,
            moves: moves(by, to, from, bytes)?,
            shape: block_for(bytes, BYTES_PER_THREAD),
        })
    }

    /// Starts a get.
    fn get(&self) -> Result<()> {
        if self.by_engine() {
            return self.start();
        }
        let Self { calls, target, source, shape, moves, .. } = self;
        match (source.heap_bytes(), target.heap_bytes(), target.local_bytes()) {
            _ if !moves => calls.look(),
            (Some(source), Some(target), _) => rma::get::launch(calls, *shape, target, source, self.from_pe),
            (Some(source), _, Some(target)) => {
                rma::get_local::launch(calls, *shape, target, source, self.from_pe)
            }
            _ => Err(nowhere()),
        }
    }

    /// Whether the copy engine does it.
    fn by_engine(&self) -> bool {
        self.moves && self.bytes > BY_KERNEL && self.calls.pe.device.info().copy_engine
    }

    /// Gives it to the copy engine.
    fn start(&self) -> Result<()> {
        let Self { calls, by, target, source, to, from, bytes, .. } = self;
        enqueue(calls.pe, calls.slot(), by, &[target.named, source.named], |queue| {
            // SAFETY: live ranges of that many bytes, which this device reaches and which do not overlap; dropped memory is
            // given back only when what was queued before the drop is over.
            unsafe { queue.start_copy(*to, *from, *bytes) }
        })
    }
}
