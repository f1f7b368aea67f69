//! What the runtime needs of a device, behind one object-safe trait with two implementations: [`cuda`] and
//! [`emulated`]. Everything above this module is the same for both. Addresses are plain `u64`: nothing here
//! knows what lies at them.

mod backing;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "emulator")]
pub(crate) mod emulated;

pub(crate) use backing::Backing;

use crate::config::{Config, DeviceChoice};
use crate::debug;
use crate::error::{Error, Result};
use oxshmem_device::abi::ContextAbi;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

/// What is fixed about a device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceInfo {
    /// As people know it, with its number.
    pub(crate) name: String,
    /// Without its number.
    pub(crate) model: String,
    pub(crate) emulated: bool,
    /// Its number among the process's devices.
    pub(crate) ordinal: u32,
    /// The same in every process that sees the device, and in no other device of this system.
    pub(crate) id: DeviceId,
    pub(crate) multiprocessors: u32,
    /// Bytes of memory in all.
    pub(crate) memory: u64,
    /// Physical memory comes in multiples of this many bytes.
    pub(crate) granule: u64,
    pub(crate) max_block_threads: u32,
    pub(crate) max_block: [u32; 3],
    pub(crate) max_grid: [u32; 3],
    /// Most bytes of shared memory that a block may have.
    pub(crate) max_shared: u32,
    /// Whether queues have a copy engine ([`Queue::start_copy`]).
    pub(crate) copy_engine: bool,
    /// Units of the device's clock in a second.
    pub(crate) ticks_per_second: u64,
}

impl DeviceInfo {
    /// A duration in units of the device's clock.
    pub(crate) fn ticks(&self, duration: Duration) -> u64 {
        let ticks = duration.as_nanos() * u128::from(self.ticks_per_second) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX).max(1)
    }
}

/// Which device it is, for all processes: a GPU's UUID.
pub(crate) type DeviceId = [u8; 16];

/// How memory of one process is named to another.
#[derive(Debug)]
pub(crate) enum Shareable {
    /// A descriptor: of a memfd, or of a GPU's memory.
    Descriptor(OwnedFd),
    /// A GPU's memory as every GPU of its NVLink fabric knows it (CUDA driver API, `CUmemFabricHandle`).
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    Fabric([u8; 64]),
}

/// A device's own name for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function(pub(crate) usize);

/// One device. All methods may be called from any thread.
pub(crate) trait Device: Send + Sync + Debug {
    fn info(&self) -> &DeviceInfo;

    /// Prepares the calling thread for a PE of this device. What it returns lives as long as the PE runs.
    fn enter(&self, pe: u32) -> Result<Box<dyn HostThread>>;

    /// What is told of symmetric and local memory, if the device is checked.
    fn checker(&self) -> Option<&dyn Checker> {
        None
    }

    /// Whether kernels of this device reach the memory of another one, which is `name`.
    fn check_reach(&self, other: &DeviceId, name: &str) -> Result<()>;

    /// Bytes of memory that are free now.
    fn free_memory(&self) -> Result<u64>;

    /// Reserves addresses, the same for every device of the process, with nothing behind them yet: from `wish` on if that
    /// is free, and not 0.
    fn reserve(&self, bytes: u64, wish: u64) -> Result<Box<dyn Reservation>>;

    /// Lets every device of the process read and write host memory.
    ///
    /// # Safety
    /// It is whole pages that stay mapped until what this returns is dropped, and that are reached by atomic accesses
    /// alone.
    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Box<dyn Registered>>;

    /// Lets PE `pe` of this device use memory of the program's as local memory: device memory, or on an emulated device host memory.
    ///
    /// # Errors
    /// [`Error::Registration`] if it is none that the device can use.
    ///
    /// # Safety
    /// It stays allocated until what this returns is dropped.
    unsafe fn register_local(&self, pe: u32, address: u64, bytes: u64) -> Result<Box<dyn Registered>>;

    /// Takes zeroed host memory, pinned, which the device reaches as local memory. Nothing uses it when it is dropped.
    fn allocate_host(&self, bytes: u64) -> Result<Box<dyn Registered>>;

    /// A new queue.
    fn queue(&self) -> Result<Arc<dyn Queue>>;

    /// Looks a kernel up.
    fn function(&self, symbol: &'static str) -> Result<Function>;

    /// How many blocks of this shape fit on one multiprocessor.
    fn blocks_per_multiprocessor(&self, function: Function, threads: u32, shared: u32) -> Result<u32>;

    /// Lets `function` be launched with this much dynamic shared memory.
    fn allow_shared(&self, function: Function, bytes: u32) -> Result<()>;

    /// Has what still runs stop if that can be done, without waiting for it. The device is of no use then.
    fn abandon(&self) {}
}

/// Addresses with memory behind their first part. Freed when dropped; nothing may use it then.
pub(crate) trait Reservation: Send + Debug {
    fn base(&self) -> u64;
    fn bytes(&self) -> u64;
    /// Takes physical memory, a multiple of the granule, without mapping it yet. At most one at a time. It is zeroed, but for
    /// what the program has.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::HostMemory`] if the device's driver has no such memory of the host's;
    /// [`Error::Registration`] if what the program has cannot be mapped a second time.
    fn create(&mut self, bytes: u64, backing: Backing) -> Result<()>;
    /// Maps what [`create`](Self::create) took at this offset, for every device of the process.
    fn map_created(&mut self, at: u64) -> Result<()>;
    /// Gives back what [`create`](Self::create) took.
    fn drop_created(&mut self);
    /// What [`create`](Self::create) took, for other processes.
    fn export(&self) -> Result<Shareable>;
    /// As [`create`](Self::create), with memory of `bytes` bytes that another process exported.
    fn import(&mut self, shareable: Shareable, bytes: u64) -> Result<()>;
    /// Takes away what [`map_created`](Self::map_created) mapped at this offset, if it did. Nothing uses it.
    fn unmap(&mut self, at: u64);
}

/// Memory from elsewhere that devices reach, until dropped.
pub(crate) trait Registered: Send + Sync + Debug {
    /// Where devices find it.
    fn device(&self) -> u64;
}

/// A stream of work of one device, in order. Dropping it does not wait.
pub(crate) trait Queue: Send + Sync + Debug {
    /// Starts a kernel.
    ///
    /// # Safety
    /// `launch.params` point to values of the kernel's parameter types, and what they name stays allocated
    /// until the kernel has ended.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()>;

    /// Whether everything that was queued is over.
    ///
    /// # Errors
    /// What a kernel of the queue failed with, each failure at least once.
    fn is_idle(&self) -> Result<bool>;

    /// Whether everything that was queued is over, well or not. Takes no failure from
    /// [`is_idle`](Self::is_idle), so that any thread may ask.
    fn is_over(&self) -> bool;

    /// Lets a little time pass, `longest` at most, while the queue is busy: the `attempt`-th time in a row,
    /// from 0.
    fn pause(&self, attempt: u32, longest: Duration);

    /// Marks the end of what was queued so far.
    fn record(&self) -> Result<Box<dyn Mark>>;

    /// Copies into device memory, after the work of this queue alone, and waits for it.
    ///
    /// # Safety
    /// `to` names `from.len()` bytes of device memory that nothing else accesses meanwhile.
    unsafe fn write(&self, to: u64, from: &[u8]) -> Result<()>;

    /// Copies out of device memory, after the work of this queue alone, and waits for it.
    ///
    /// # Safety
    /// `from` names `to.len()` bytes of device memory that nothing else writes meanwhile.
    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Result<()>;

    /// Zeroes device memory, after the work of this queue alone, and waits for it.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    unsafe fn zero(&self, to: u64, bytes: u64) -> Result<()>;

    /// Copies between device memory, also of other devices, after the work of this queue alone, and waits for it.
    ///
    /// # Safety
    /// Both name `bytes` bytes of device memory that this device reaches; they do not overlap, nothing else writes either
    /// meanwhile, and nothing reads what is written.
    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()>;

    /// Has the copy engine copy between device memory, also of other devices, in the order of this queue.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), until the copy is over; what is named stays allocated until then.
    unsafe fn start_copy(&self, to: u64, from: u64, bytes: u64) -> Result<()>;

    /// Has what is queued from now on wait for a point in another queue of the device.
    fn wait(&self, mark: &dyn Mark) -> Result<()>;

    /// Has what is queued from now on be recorded, and not run. Until [`end_capture`](Self::end_capture) nobody asks for or
    /// waits for the queue.
    fn begin_capture(&self) -> Result<()>;

    /// Ends a recording; the queue is as before.
    fn end_capture(&self) -> Result<Box<dyn Recorded>>;

    /// Queues what a queue of the device has recorded, behind earlier replays of it on any queue.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), of all that was recorded.
    unsafe fn replay(&self, recorded: &dyn Recorded) -> Result<()>;

    /// Takes local device memory, aligned to 256 bytes; not zeroed.
    fn allocate(&self, bytes: u64) -> Result<u64>;

    /// Gives it back without waiting for other queues.
    ///
    /// # Safety
    /// `address` comes from `allocate` of a queue of this device, and no work that uses it is left.
    unsafe fn free(&self, address: u64) -> Result<()>;

    /// What a driver's own tools need of it.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    fn as_any(&self) -> &dyn Any;
}

/// What a queue has recorded. Dropping it waits for nothing.
pub(crate) trait Recorded: Send + Sync + Debug {
    #[cfg_attr(not(any(feature = "cuda", feature = "emulator")), allow(dead_code))]
    fn as_any(&self) -> &dyn Any;
}

/// A point in a queue.
pub(crate) trait Mark: Send + Sync + Debug {
    /// Whether everything before it is over.
    fn is_done(&self) -> Result<bool>;
    /// Lets a little time pass, `longest` at most, while it is not reached: the `attempt`-th time in a row,
    /// from 0.
    fn pause(&self, attempt: u32, longest: Duration);
    /// The time from another mark of the same kind of device; both are done.
    fn since(&self, earlier: &dyn Mark) -> Result<Duration>;
    #[cfg_attr(not(any(feature = "cuda", feature = "emulator")), allow(dead_code))]
    fn as_any(&self) -> &dyn Any;
}

/// What the host thread of a PE is to its device.
pub(crate) trait HostThread {
    /// Runs `wait`, which blocks this thread until some time has passed.
    fn blocked(&self, wait: &mut dyn FnMut());
    /// Runs `wait`, which blocks this thread until another PE's thread ends that, having called the
    /// [`Release`] first.
    fn waiting(&self, wait: &mut dyn FnMut());
    /// What others call before they end this thread's wait.
    fn release(&self) -> Release;
    /// The thread comes to a meeting of these PEs, or of all if there is none; `completes`: with all that its PE has
    /// launched over and arrived.
    fn arrives(&self, members: &[u32], completes: bool) {
        let _ = (members, completes);
    }
    /// It has come out of the meeting, from its wait or from leading it.
    fn back(&self) {}
    /// All that its PE has launched is over and has arrived.
    fn completes(&self) {}
    /// It leaves the meeting.
    fn leaves(&self, members: &[u32]) {
        let _ = members;
    }
}

/// What a checker is told of memory.
pub(crate) trait Checker {
    /// The calling PE has symmetric memory: offset, bytes, bytes of an element, and how it is called.
    fn allocated(&self, range: (u64, u64, u64), name: &str);
    /// All PEs have given it back.
    fn freed(&self, offset: u64);
    /// Where the heaps of the PEs are: PE 0's address, from one to the next, bytes of each, how many.
    fn heaps(&self, base: u64, stride: u64, bytes: u64, pes: u32);
    /// What was found, once every PE's host thread has gone.
    #[cfg(feature = "emulator")]
    fn found(&self) -> Option<oxshmem_emulator::check::Checked>;
}

/// Tells a device that a host thread is about to run on.
pub(crate) type Release = Arc<dyn Fn() + Send + Sync>;

/// A kernel's body as one thread runs it on the host.
pub(crate) type Body = Box<dyn Fn(ContextAbi) + Send + Sync>;

/// A launch as a device takes it.
#[cfg_attr(not(all(feature = "cuda", feature = "emulator")), allow(dead_code))]
pub(crate) struct Launch<'a> {
    pub(crate) symbol: &'static str,
    pub(crate) function: Function,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) collective: bool,
    pub(crate) context: ContextAbi,
    /// Where its operations are said to be, if not in the kernel's source.
    pub(crate) site: Option<&'static Location<'static>>,
    /// Addresses of the raw parameters, the context first.
    pub(crate) params: &'a [*const u8],
    /// How the kernel calls parts of the heap: offset, bytes, name. Only for a checker.
    pub(crate) names: Vec<(u64, u64, &'static str)>,
    /// Makes the body, where it is the host that runs it.
    pub(crate) body: &'a dyn Fn() -> Body,
}

/// The devices of a run, in the order of their numbers, none of them twice.
pub(crate) fn open(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    let devices = open_chosen(config)?;
    for device in &devices {
        let DeviceInfo { name, memory, granule, multiprocessors, .. } = device.info();
        debug!(target: debug::DEVICE, name, memory, granule, multiprocessors, "opened");
    }
    Ok(devices)
}

fn open_chosen(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    match config.device {
        DeviceChoice::Cuda => open_cuda(config),
        DeviceChoice::Emulated => open_emulated(config),
        #[cfg(feature = "cuda")]
        DeviceChoice::Auto => match cuda::probe()? {
            true => open_cuda(config),
            false => open_emulated(config),
        },
        #[cfg(not(feature = "cuda"))]
        DeviceChoice::Auto => open_emulated(config),
    }
}

#[cfg(feature = "cuda")]
fn open_cuda(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    cuda::open(config)
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_: &Config) -> Result<Vec<Arc<dyn Device>>> {
    Err(Error::DriverNotBuilt { device: "a CUDA device", feature: "cuda" })
}

#[cfg(feature = "emulator")]
fn open_emulated(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    emulated::open(config)
}

#[cfg(not(feature = "emulator"))]
fn open_emulated(_: &Config) -> Result<Vec<Arc<dyn Device>>> {
    Err(Error::DriverNotBuilt { device: "the emulator", feature: "emulator" })
}

/// The error for what a queue of another kind of device has recorded.
#[cfg_attr(not(any(feature = "cuda", feature = "emulator")), allow(dead_code))]
pub(crate) fn recorded_elsewhere() -> Error {
    Error::Config { what: "a graph runs on the kind of device that recorded it".into() }
}

/// The error for marks of different kinds of device.
#[cfg_attr(not(any(feature = "cuda", feature = "emulator")), allow(dead_code))]
pub(crate) fn not_comparable() -> Error {
    Error::Config { what: "events of different kinds of device cannot be compared".into() }
}

thread_local! {
    static HOST_THREAD: RefCell<Option<Box<dyn HostThread>>> = const { RefCell::new(None) };
}

/// Makes the calling thread a PE's host thread until the guard is dropped.
pub(crate) fn enter(device: &dyn Device, pe: u32) -> Result<Entered> {
    let thread = device.enter(pe)?;
    Ok(Entered { before: HOST_THREAD.replace(Some(thread)) })
}

/// Restores what stood before [`enter`].
pub(crate) struct Entered {
    before: Option<Box<dyn HostThread>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Dropped outside the cell, in case dropping it calls back.
        let _ended = HOST_THREAD.replace(self.before.take());
    }
}

/// Runs `wait`, which blocks for some time, and returns what it returns. The emulated clock may run meanwhile.
#[cfg_attr(not(feature = "emulator"), allow(dead_code))]
pub(crate) fn blocked<T>(wait: impl FnOnce() -> T) -> T {
    aside(wait, |thread, wait| thread.blocked(wait))
}

/// Runs `wait`, which blocks until another PE's thread calls this one's [`release`] and then ends the wait.
pub(crate) fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    aside(wait, |thread, wait| thread.waiting(wait))
}

/// What others call before they end a wait of the calling thread, if it is a PE's host thread.
pub(crate) fn release() -> Option<Release> {
    HOST_THREAD.with_borrow(|thread| thread.as_ref().map(|thread| thread.release()))
}

/// Notes that the calling PE comes to a meeting.
pub(crate) fn arrives(members: &[u32], completes: bool) {
    HOST_THREAD.with_borrow(|thread| thread.iter().for_each(|thread| thread.arrives(members, completes)));
}

/// Notes that it has come out of the meeting's wait.
pub(crate) fn back() {
    HOST_THREAD.with_borrow(|thread| thread.iter().for_each(|thread| thread.back()));
}

/// Notes that all that the calling PE has launched is over and has arrived.
pub(crate) fn completes() {
    HOST_THREAD.with_borrow(|thread| thread.iter().for_each(|thread| thread.completes()));
}

/// Notes that it leaves it.
pub(crate) fn leaves(members: &[u32]) {
    HOST_THREAD.with_borrow(|thread| thread.iter().for_each(|thread| thread.leaves(members)));
}

thread_local! {
    static SITE: Cell<&'static Location<'static>> = const { Cell::new(Location::caller()) };
}

/// Remembers the caller's line as the one from which the program uses this library now.
#[track_caller]
pub(crate) fn here() {
    SITE.set(Location::caller());
}

/// The line from which the program uses this library.
#[cfg_attr(not(feature = "emulator"), allow(dead_code))]
pub(crate) fn site() -> &'static Location<'static> {
    SITE.get()
}

fn aside<T>(wait: impl FnOnce() -> T, how: impl FnOnce(&dyn HostThread, &mut dyn FnMut())) -> T {
    HOST_THREAD.with_borrow(|thread| match thread {
        None => wait(),
        Some(thread) => {
            let (mut wait, mut result) = (Some(wait), None);
            how(&**thread, &mut || result = wait.take().map(|wait| wait()));
            match result {
                Some(result) => result,
                None => unreachable!("a host thread runs the closure exactly once"),
            }
        }
    })
}
