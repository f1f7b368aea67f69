//! What can go wrong, one variant per cause: what was asked, what was found, what to do.
//!
//! Launch and memory errors are the caller's to mend. [`Error::KernelPanicked`], [`Error::WildAccess`] and
//! [`Error::Diverged`] are reports of a kernel's own mistakes and come out of
//! [`Stream::synchronize`](crate::Stream::synchronize).

use core::fmt;
use core::panic::Location;
use oxshmem_device::abi::Operation;

/// Any failure of the emulated machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the configuration has a value that no machine can have.
    #[error("the machine's configuration has `{field}` = {found}; it needs {needed}")]
    Config {
        /// The field's name.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What it may be.
        needed: &'static str,
    },
    /// There is no such device.
    #[error("device {asked} was asked for, the machine has {devices} (0 to {}); set `devices`", devices - 1)]
    NoDevice {
        /// The device asked for.
        asked: u32,
        /// How many there are.
        devices: u32,
    },
    /// The operating system gave no thread for a device.
    #[error(
        "only {started} of {devices} emulated devices could get an operating-system thread ({reason}); use \
         fewer devices, or put several PEs on one"
    )]
    Workers {
        /// Devices asked for.
        devices: u32,
        /// Devices that got their thread.
        started: u32,
        /// The system's words.
        reason: String,
    },
    /// A system call for memory failed.
    #[error("{what} of {bytes} bytes failed: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// How many bytes it was about.
        bytes: u64,
        /// The system's words.
        reason: String,
    },
    /// A device's memory is used up.
    #[error(
        "device {device} cannot give {asked} bytes: {free} of its {total} are free; free some, or raise \
         `memory_per_device`"
    )]
    OutOfMemory {
        /// The device.
        device: u32,
        /// Bytes asked for, after rounding.
        asked: u64,
        /// Bytes free.
        free: u64,
        /// Bytes the device has.
        total: u64,
    },
    /// A mapping, or its removal, does not fit its reservation.
    #[error("{bytes} bytes at offset {offset} of a reservation of {reserved} bytes: {problem}")]
    Mapping {
        /// Offset in the reservation, in bytes.
        offset: u64,
        /// Bytes to map or unmap.
        bytes: u64,
        /// Bytes of the reservation.
        reserved: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A launch has a zero in its grid or block.
    #[error(
        "`{kernel}` was launched with grid {grid:?} of blocks {block:?}: every dimension must be at least 1"
    )]
    EmptyLaunch {
        /// The kernel.
        kernel: &'static str,
        /// Grid asked for.
        grid: [u32; 3],
        /// Block asked for.
        block: [u32; 3],
    },
    /// A block has too many threads.
    #[error("`{kernel}` was launched with {threads} threads per block; a block has at most {limit}")]
    BlockTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Threads per block asked for.
        threads: u64,
        /// The most there may be.
        limit: u32,
    },
    /// A grid has too many blocks in one dimension.
    #[error("`{kernel}` was launched with grid {grid:?}; the limits are {limit:?}")]
    GridTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Grid asked for.
        grid: [u32; 3],
        /// The most per dimension.
        limit: [u32; 3],
    },
    /// A block needs more shared memory than a block may have.
    #[error(
        "`{kernel}` was launched with {asked} bytes of shared memory per block; a block has at most {limit}"
    )]
    SharedTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Bytes asked for.
        asked: u32,
        /// The most there may be.
        limit: u32,
    },
    /// A collective launch has more blocks than the device can hold at once.
    #[error(
        "`{kernel}` may wait for its own grid, so its {needed} blocks of {threads} threads must be resident \
         together; the device holds {available} of them; use fewer or smaller blocks"
    )]
    NotResident {
        /// The kernel.
        kernel: &'static str,
        /// Blocks of the launch.
        needed: u64,
        /// Blocks of that shape which the device can hold.
        available: u32,
        /// Threads per block.
        threads: u32,
    },
    /// A launch needs more coroutine stacks than the process may have.
    #[error(
        "`{kernel}` needs {asked} emulated threads at once; this process can have {limit}, of which {in_use} \
         are in use; use fewer threads, or raise vm.max_map_count or the memory limit"
    )]
    TooManyThreads {
        /// The kernel.
        kernel: &'static str,
        /// Threads that must run at once.
        asked: u64,
        /// Threads that all devices of the process can have.
        limit: u64,
        /// Threads that run or are promised to other launches.
        in_use: u64,
    },
    /// A kernel panicked.
    #[error("{site} panicked at {location}: {message}")]
    KernelPanicked {
        /// Where it ran.
        site: Box<Site>,
        /// The panic's message.
        message: String,
        /// The panic's source line.
        location: String,
    },
    /// A kernel reached for memory that it may not touch.
    #[error("{site} accessed {bytes} bytes at {address:#x}: {problem}")]
    WildAccess {
        /// Where it ran.
        site: Box<Site>,
        /// First byte.
        address: u64,
        /// Width in bytes.
        bytes: u32,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A kernel thread has used up its stack.
    #[error(
        "{site} has used up its stack of {stack} bytes: it recurses, or has large arrays; raise `stack_bytes` if it is \
         right so"
    )]
    StackOverflow {
        /// The thread.
        site: Box<Site>,
        /// Bytes of a stack.
        stack: usize,
    },
    /// The threads of a block wait for each other at different places: none can go on.
    #[error(
        "{site} is in a block whose {living} living threads all wait, {at_barrier} at a block barrier and \
         {at_warp} at warp collectives: they can never meet; every thread named by a collective must call it"
    )]
    Diverged {
        /// One of the threads that wait.
        site: Box<Site>,
        /// Threads of the block that have not exited.
        living: u32,
        /// How many wait at a block barrier.
        at_barrier: u32,
        /// How many wait at a warp collective.
        at_warp: u32,
    },
    /// A launch on a checked machine by a thread that is none of its host threads.
    #[error(
        "a thread that is no PE's own launches on device {device}: under the checker each PE is used by its own thread alone, which the checker schedules"
    )]
    Stranger {
        /// The device.
        device: u32,
    },
    /// The machine was dropped, or its worker ended by a mistake of this crate.
    #[error("device {device} has stopped: {reason}")]
    Stopped {
        /// The device.
        device: u32,
        /// Why.
        reason: String,
    },
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No device or registered host memory is there.
    NotMapped,
    /// The address is no multiple of the width.
    Misaligned,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotMapped => "no device memory or registered host memory is there",
            Self::Misaligned => "the address is no multiple of the width",
        })
    }
}

/// A thread of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel.
    pub kernel: &'static str,
    /// The PE that launched it.
    pub pe: u32,
    /// Block index, x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block, x, y, z.
    pub thread: [u32; 3],
    /// The last public operation that the thread entered, if any.
    pub operation: Option<LastOperation>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, pe, block, thread, .. } = self;
        write!(f, "kernel `{kernel}` on PE {pe}, block {block:?}, thread {thread:?}")?;
        match self.operation {
            Some(last) => write!(f, " (last operation: {last})"),
            None => Ok(()),
        }
    }
}

/// An operation that a thread entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastOperation {
    /// Which.
    pub operation: Operation,
    /// Heap offset in bytes of what it named.
    pub offset: u64,
    /// Bytes that the whole scope moved.
    pub bytes: u64,
    /// The PE that it named.
    pub pe: u32,
    /// The source line of the call.
    pub location: &'static Location<'static>,
}

impl fmt::Display for LastOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.operation, self.location)
    }
}
