//! Streams: launches, copies on a stream of their own, and waiting by looking.

use super::check::{check, cu};
use super::context::Context;
use super::graph::Graph;
use super::memory::Pool;
use crate::driver::{Launch, Mark, Queue, Recorded, not_comparable, recorded_elsewhere};
use crate::error::Result;
use cudarc::driver::sys::{self, CUevent, CUfunction, CUresult, CUstream, CUstream_flags};
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// How often a waiting thread looks without a pause, then with a yield, before it sleeps.
const SPINS: u32 = 200;
/// See [`SPINS`].
const YIELDS: u32 = 2000;
/// Sleep between two later looks.
const NAP: Duration = Duration::from_micros(50);

/// A stream that never waits for the legacy default stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) stream: CUstream,
    pool: Arc<Pool>,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks what it must.
unsafe impl Sync for Stream {}

impl Stream {
    pub(super) fn new(context: Arc<Context>, pool: Arc<Pool>) -> Result<Self> {
        context.enter()?;
        let mut stream = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `stream` may be written.
        unsafe { cu!(cuStreamCreate(&mut stream, flags), "making a stream") }?;
        Ok(Self { context, stream, pool })
    }

    pub(super) fn finish(&self, doing: &'static str) -> Result<()> {
        // SAFETY: a live stream.
        unsafe { cu!(cuStreamSynchronize(self.stream), doing) }
    }
}

/// What a launch hands to the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    pub(super) function: CUfunction,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    pub(super) stream: CUstream,
    pub(super) collective: bool,
}

impl Bare {
    /// Calls the driver, and nothing else.
    ///
    /// # Safety
    /// `params` are addresses of values of the kernel's parameter types, which name memory that stays
    /// allocated until the kernel has ended.
    #[inline(always)]
    pub(super) unsafe fn start(&self, params: *mut *mut c_void) -> CUresult {
        let Self { function, grid: [gx, gy, gz], block: [bx, by, bz], shared, stream, collective } = *self;
        // SAFETY: the caller's promise; function and stream are live and of one context.
        unsafe {
            if collective {
                sys::cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params)
            } else {
                let extra = std::ptr::null_mut();
                sys::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
            }
        }
    }
}

impl Queue for Stream {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        self.context.enter()?;
        let bare = Bare {
            function: launch.function.0 as CUfunction,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            stream: self.stream,
            collective: launch.collective,
        };
        let params = launch.params.as_ptr().cast::<*mut c_void>().cast_mut();
        // SAFETY: the caller's promise; the driver copies the parameters and writes none.
        let result = unsafe { bare.start(params) };
        let call = if launch.collective { "cuLaunchCooperativeKernel" } else { "cuLaunchKernel" };
        check(result, call, "launching a kernel")
    }

    fn is_idle(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: a live stream.
        match unsafe { sys::cuStreamQuery(self.stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => check(result, "cuStreamQuery", "waiting for a kernel").map(|()| true),
        }
    }

    fn is_over(&self) -> bool {
        // SAFETY: a live stream.
        self.context.enter().is_ok()
            && unsafe { sys::cuStreamQuery(self.stream) } != CUresult::CUDA_ERROR_NOT_READY
    }

    fn pause(&self, attempt: u32, _: Duration) {
        pause(attempt);
    }

    fn record(&self) -> Result<Box<dyn Mark>> {
        self.context.enter()?;
        let doing = "recording an event";
        let mut event = std::ptr::null_mut();
        // SAFETY: `event` may be written; flags 0 keep the time.
        unsafe { cu!(cuEventCreate(&mut event, 0), doing) }?;
        let event = Event { context: self.context.clone(), event };
        // SAFETY: event and stream are live and of one context.
        unsafe { cu!(cuEventRecord(event.event, self.stream), doing) }?;
        Ok(Box::new(event))
    }

    unsafe fn write(&self, to: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        let doing = "copying to a GPU";
        // SAFETY: the caller's promise for `to`; `from` lives until the copy has been waited for.
        unsafe { cu!(cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), self.stream), doing) }?;
        self.finish(doing)
    }

    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        let doing = "copying from a GPU";
        // SAFETY: the caller's promise for `from`; `to` is borrowed until the copy has been waited for.
        unsafe { cu!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), self.stream), doing) }?;
        self.finish(doing)
    }

    unsafe fn zero(&self, to: u64, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        let doing = "zeroing GPU memory";
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemsetD8Async(to, 0, bytes as usize, self.stream), doing) }?;
        self.finish(doing)
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        let doing = "copying between GPUs";
        // SAFETY: the caller's promise; addresses are unique among the host and all devices, so they say what lies where
        // (CUDA Driver API, unified addressing).
        unsafe { cu!(cuMemcpyAsync(to, from, bytes as usize, self.stream), doing) }?;
        self.finish(doing)
    }

    unsafe fn start_copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the caller's promise; addresses say what lies where, as in `copy`.
        unsafe { cu!(cuMemcpyAsync(to, from, bytes as usize, self.stream), "copying between GPUs") }
    }

    fn wait(&self, mark: &dyn Mark) -> Result<()> {
        let Some(event) = mark.as_any().downcast_ref::<Event>() else { return Err(not_comparable()) };
        self.context.enter()?;
        // SAFETY: a live stream and a live event that was recorded; flags must be 0.
        unsafe { cu!(cuStreamWaitEvent(self.stream, event.event, 0), "waiting for an event on a stream") }
    }

    fn begin_capture(&self) -> Result<()> {
        self.begin()
    }

    fn end_capture(&self) -> Result<Box<dyn Recorded>> {
        Ok(Box::new(self.end()?))
    }

    unsafe fn replay(&self, recorded: &dyn Recorded) -> Result<()> {
        let Some(graph) = recorded.as_any().downcast_ref::<Graph>() else { return Err(recorded_elsewhere()) };
        self.context.enter()?;
        // SAFETY: a live instance and a live stream of one context; the driver orders it behind its earlier launches. For what
        // it names: the caller's promise.
        unsafe { cu!(cuGraphLaunch(graph.exec, self.stream), "launching a graph") }
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        self.context.enter()?;
        let address = self.pool.allocate(bytes, self.stream)?;
        // Other streams may use it at once.
        self.finish("allocating local device memory")?;
        Ok(address)
    }

    unsafe fn free(&self, address: u64) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the caller's promise; in the order of this stream, which runs no kernels.
        unsafe { cu!(cuMemFreeAsync(address, self.stream), "freeing local device memory") }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: made by `new`, destroyed once. The driver lets queued work end first, and does not wait.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

/// Lets a little time pass between two looks.
fn pause(attempt: u32) {
    match attempt {
        0..SPINS => std::hint::spin_loop(),
        SPINS..YIELDS => std::thread::yield_now(),
        _ => std::thread::sleep(NAP),
    }
}

/// An event that was recorded once.
#[derive(Debug)]
struct Event {
    context: Arc<Context>,
    event: CUevent,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks what it must.
unsafe impl Sync for Event {}

impl Mark for Event {
    fn is_done(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: a live event.
        match unsafe { sys::cuEventQuery(self.event) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => check(result, "cuEventQuery", "waiting for an event").map(|()| true),
        }
    }

    fn pause(&self, attempt: u32, _: Duration) {
        pause(attempt);
    }

    fn since(&self, earlier: &dyn Mark) -> Result<Duration> {
        let Some(earlier) = earlier.as_any().downcast_ref::<Self>() else { return Err(not_comparable()) };
        self.context.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: two live events that keep the time.
        unsafe {
            cu!(
                cuEventElapsedTime(&mut milliseconds, earlier.event, self.event),
                "measuring the time between events"
            )
        }?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: made once, destroyed once; the driver keeps it until it is reached.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
