//! Everything that can go wrong, one variant per cause. A message says what was asked, what was found, which
//! PE, and what to do; the fields carry the same for programs. Errors are `Clone`, because one PE's error is
//! told to the others. `Debug` says the same as `Display`, so that `fn main() -> oxshmem::Result<()>` ends with
//! the sentence.

mod collective;
mod debug;
mod host_memory;
mod registration;
mod root;
mod strides;
mod trace;
mod words;

use crate::failure::{Failure, KernelPanic};
pub use collective::BadCollective;
pub use host_memory::HostMemory;
pub use registration::{Registration, Unregistrable};
use std::sync::Arc;
use std::time::Duration;
pub use strides::BadStride;
pub use trace::TraceError;
pub(crate) use words::pid_in_brackets;
use words::{because, beside, cuda_version, grows_to, list_calls, list_pes, more_memory, range, why_absent};

/// The result of every oxshmem call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable has a value that means nothing. Fault: the caller's environment.
    #[error("{variable}={value:?} is not valid: expected {valid}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        valid: &'static str,
    },
    /// Two variables of the environment cannot both be right. Fault: the caller's environment.
    #[error("{one} and {other} contradict each other: {why}")]
    Contradiction {
        /// One variable with its value.
        one: String,
        /// The other.
        other: String,
        /// Why they do, and what to do.
        why: &'static str,
    },
    /// Only a part of a launcher's variables is set. Fault: the caller's environment.
    #[error(
        "{present}={value:?} is set, and {missing} is not: a process of a job started by {launcher} has both; start the program with {launcher}, or unset {present} to run it alone"
    )]
    MissingVariable {
        /// A variable that is set.
        present: &'static str,
        /// Its value.
        value: String,
        /// One that is not.
        missing: &'static str,
        /// The launcher that sets both.
        launcher: &'static str,
    },
    /// This process is one of several of a job, and there is no way by which it could meet the others. Fault: the
    /// caller's environment.
    #[error("{by} is set, and this process cannot meet the others of its job: {why}; {remedy}")]
    NoBootstrap {
        /// The variable that says so, with its value.
        by: String,
        /// What is missing.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A unique id is not used as one can be. Fault: the program.
    #[error("PE {pe} cannot join by this unique id: {why}")]
    BadUniqueId {
        /// The PE that was to join.
        pe: u32,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There is no such network interface, or it has no such address. Fault: the caller's environment or configuration.
    #[error(
        "the interface {name:?} (OXSHMEM_INTERFACE, Config::interface) is not there or has no address{asked}; there are {there}"
    )]
    Interface {
        /// Its name.
        name: String,
        /// Which family was asked for, with the word before it; nothing if any.
        asked: &'static str,
        /// The interfaces with their addresses.
        there: String,
    },
    /// The job has processes on other hosts.
    #[error(
        "the job has processes on other hosts ({what}), and no path to other hosts is built yet: start all processes on one host"
    )]
    OtherHosts {
        /// By what that is known.
        what: String,
    },
    /// The processes of a job did not find each other.
    #[error("PE {pe} could not join the job while {doing}: {why}")]
    NotJoined {
        /// The PE whose error this is.
        pe: u32,
        /// What it was doing.
        doing: &'static str,
        /// What went wrong, and what to do.
        why: String,
    },
    /// Some processes of the job did not come.
    #[error(
        "PE {pe} waited {:.1} s for all {n_pes} processes of the job; missing: {}; were they started, by this user on this host? OXSHMEM_JOIN_DEADLINE sets how long is waited", waited.as_secs_f64(), list_pes(missing)
    )]
    Missing {
        /// The PE that waited.
        pe: u32,
        /// Processes of the job.
        n_pes: u32,
        /// Those that did not come.
        missing: Vec<u32>,
        /// How long it waited.
        waited: Duration,
    },
    /// Two processes of a job were set up differently.
    #[error("the processes of the job differ in {what}: PE {} has {:?}, PE {} has {:?}; start all of them alike", one.0, one.1, other.0, other.1)]
    ProcessesDiffer {
        /// In what.
        what: &'static str,
        /// A PE, and what it has.
        one: (u32, String),
        /// Another one.
        other: (u32, String),
    },
    /// A process got no handle of another one's memory.
    #[error("PE {pe} got no handle of PE {from}'s memory: {why}")]
    NoHandle {
        /// The PE that asked.
        pe: u32,
        /// The PE whose memory it is.
        from: u32,
        /// What went wrong.
        why: String,
    },
    /// A PE's process has ended without a word: killed, crashed, or cut off.
    #[error("its process{} {how}", pid_in_brackets(*pid))]
    PeLost {
        /// The PE.
        pe: u32,
        /// Its process, 0 if it is not known.
        pid: u32,
        /// How that showed.
        how: String,
    },
    /// A communication path that this version cannot use yet.
    #[error("the path {path:?} is not built yet: set OXSHMEM_PATH=p2p, or leave it unset")]
    PathNotBuilt {
        /// The path asked for.
        path: &'static str,
    },
    /// A device was chosen whose driver was left out of this build.
    #[error(
        "{device} was chosen, but this program was built without it: enable the feature {feature:?} of the crate oxshmem"
    )]
    DriverNotBuilt {
        /// What was chosen.
        device: &'static str,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// A configuration that no run can have.
    #[error("the configuration is not valid: {what}")]
    Config {
        /// What is wrong, and what to do.
        what: String,
    },
    /// No CUDA driver library.
    #[error(
        "no CUDA driver was found (libcuda.so.1 cannot be loaded): install the NVIDIA driver, version 550 or newer, or run without a GPU with OXSHMEM_DEVICE=emulated"
    )]
    NoDriverLibrary,
    /// The CUDA driver is older than oxshmem needs.
    #[error("the CUDA driver is too old: it supports CUDA {}, oxshmem needs {} (driver 550) or newer; update it, or run without a GPU with OXSHMEM_DEVICE=emulated", cuda_version(*found), cuda_version(*needed))]
    DriverTooOld {
        /// CUDA version of the driver, as 1000 * major + 10 * minor.
        found: i32,
        /// The oldest that works, likewise.
        needed: i32,
    },
    /// The CUDA driver is there and finds no GPU.
    #[error(
        "the CUDA driver finds no GPU{}: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run without a GPU with OXSHMEM_DEVICE=emulated",
        because(cause)
    )]
    NoDevice {
        /// What the driver said, if it said anything.
        cause: Option<String>,
    },
    /// A GPU lacks something that oxshmem needs.
    #[error("{device} cannot be used: {what}")]
    DeviceUnsupported {
        /// The GPU.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
    /// Two GPUs of this process cannot reach each other's memory.
    #[error(
        "{from} cannot {what} the memory of {to}: they are not connected as oxshmem needs, and no slower path is built yet; choose GPUs that are connected by NVLink or share a PCIe root with CUDA_VISIBLE_DEVICES (nvidia-smi topo -p2p r shows them)"
    )]
    NoPeerAccess {
        /// The GPU that would access.
        from: String,
        /// The GPU whose memory it is.
        to: String,
        /// What it cannot do.
        what: &'static str,
    },
    /// A call of the CUDA driver failed.
    #[error("{call} failed while {doing}: {name} ({code}): {text}")]
    Cuda {
        /// The driver function.
        call: &'static str,
        /// Its result.
        code: u32,
        /// The result's name.
        name: String,
        /// The driver's explanation.
        text: String,
        /// What oxshmem was doing.
        doing: &'static str,
    },
    /// A kernel crashed on a GPU, and took the process's context on this GPU with it.
    #[error(
        "a kernel crashed ({name} ({code}): {text}), found while {doing}: a plain Rust panic or a wild access in a kernel does this, and under MPS the death of another process in a kernel; nothing more can run on this GPU in this process, and recover() does not help; run the program with OXSHMEM_DEVICE=emulated to see where"
    )]
    KernelCrashed {
        /// The driver's result.
        code: u32,
        /// The result's name.
        name: String,
        /// The driver's explanation.
        text: String,
        /// What oxshmem was doing.
        doing: &'static str,
    },
    /// The emulated GPU refused something.
    #[error("the emulated GPU failed while {doing}: {what}")]
    Emulated {
        /// What it said.
        what: String,
        /// What oxshmem was doing.
        doing: &'static str,
    },
    /// The heap limit is more than the device has.
    #[error(
        "a heap of {asked} bytes per PE does not fit: {device} has {memory} bytes for {pes_on_device} PE(s); lower OXSHMEM_HEAP"
    )]
    HeapTooLarge {
        /// Bytes per PE.
        asked: u64,
        /// The device.
        device: String,
        /// Bytes of its memory.
        memory: u64,
        /// How many PEs share it.
        pes_on_device: u32,
    },
    /// The heap limit is less than any allocation takes.
    #[error(
        "OXSHMEM_HEAP (Config::heap_limit) lets a heap have {given} bytes, which holds nothing: {least} bytes are the least, and what one allocation takes"
    )]
    HeapTooSmall {
        /// Bytes per PE.
        given: u64,
        /// The least that works.
        least: u64,
    },
    /// A device has less memory than its PEs need to start.
    #[error(
        "{device} has {given} bytes of memory, and its {pes_on_device} PE(s) need at least {least}: for each {start} bytes at the start of its heap, and {granule} for its table of teams; {}", more_memory(*emulated)
    )]
    DeviceTooSmall {
        /// The device.
        device: String,
        /// Whether it is emulated, so that its memory is a setting.
        emulated: bool,
        /// Bytes of its memory.
        given: u64,
        /// The least that works.
        least: u64,
        /// How many PEs share it.
        pes_on_device: u32,
        /// Bytes of the runtime's own at the start of each heap.
        start: u64,
        /// Bytes in which it hands out memory.
        granule: u64,
    },
    /// This process has not got the addresses for its heaps.
    #[error(
        "{pes} heap(s) of {asked} bytes are more than this process can have addresses for ({reason}): each may grow to {}; set or lower OXSHMEM_HEAP (Config::heap_limit), any value of at least {least} bytes works that fits the device", grows_to(*limited)
    )]
    NoAddresses {
        /// Bytes per PE.
        asked: u64,
        /// PEs of this process.
        pes: u32,
        /// Whether a heap limit was set, or it is the device's memory.
        limited: bool,
        /// The least heap limit that works.
        least: u64,
        /// The system's words.
        reason: String,
    },
    /// More PEs than one process runs.
    #[error(
        "{asked} PEs were asked for, and a process runs {limit} at most, each as a thread: lower OXSHMEM_PES (Config::pes)"
    )]
    TooManyPes {
        /// PEs asked for.
        asked: u32,
        /// The most there may be.
        limit: u32,
    },
    /// The system gave no thread.
    #[error(
        "the system gave no thread for {what} ({reason}): run fewer PEs (OXSHMEM_PES), put several on one emulated GPU (OXSHMEM_EMULATED_DEVICES), or raise the limit of threads (ulimit -u)"
    )]
    NoThread {
        /// What it was for.
        what: String,
        /// The system's words.
        reason: String,
    },
    /// An allocation does not fit.
    #[error(
        "out of memory: asked for {asked} bytes, {available} are available ({what}, limit {limit}); free something or raise the limit"
    )]
    OutOfMemory {
        /// Which memory.
        what: &'static str,
        /// Bytes asked for.
        asked: u64,
        /// Bytes that were available.
        available: u64,
        /// Bytes that there are in all.
        limit: u64,
    },
    /// The size in bytes does not fit in 64 bits.
    #[error("{elements} elements of {element_bytes} bytes are more bytes than there are addresses")]
    SizeOverflow {
        /// Elements asked for.
        elements: u64,
        /// Bytes of one.
        element_bytes: u64,
    },
    /// The PEs did not make the same collective call.
    #[error(
        "the PEs made different collective calls: {}; every PE must make the same call with the same arguments",
        list_calls(calls)
    )]
    CallsDiffer {
        /// What each PE called, by PE; nothing for one that takes no part or has returned.
        calls: Vec<String>,
    },
    /// The PEs made a collective call with different arguments.
    #[error("the PEs called {call} with different values of {what}: PE {} with {}, PE {} with {}; all PEs that take part pass the same", one.0, one.1, other.0, other.1)]
    ArgumentsDiffer {
        /// The call.
        call: &'static str,
        /// The argument.
        what: &'static str,
        /// A PE, by its number in the job, and what it passed.
        one: (u32, String),
        /// Another one.
        other: (u32, String),
    },
    /// A split names PEs that the team has not got.
    #[error(
        "a split of a team of {n_pes} PE(s) was asked for {size} of them from {start} on by {stride}: it takes at least one, each once, with numbers from 0 to {}", n_pes - 1
    )]
    TeamRange {
        /// The new team's PE 0, by its number in the parent.
        start: u32,
        /// From one PE to the next.
        stride: i32,
        /// PEs of the new team.
        size: u32,
        /// PEs of the parent.
        n_pes: u32,
    },
    /// A team cannot be divided like that.
    #[error("{call} of a team of {n_pes} PE(s): {what}")]
    BadSplit {
        /// The call.
        call: &'static str,
        /// What it was asked, and why that cannot be.
        what: String,
        /// PEs of the parent.
        n_pes: u32,
    },
    /// The PEs of a new team have no slot for it that is free on all of them.
    #[error(
        "a PE may belong to {limit} teams at once, besides the predefined ones, and the PEs of a new team need a slot that is free on all of them: destroy teams that are not used any more"
    )]
    TooManyTeams {
        /// The most that a PE may belong to.
        limit: u32,
    },
    /// A team cannot be used where it was named.
    #[error("{by} names {team}, {why}")]
    BadTeam {
        /// The call, or the kernel with the parameter's number, from 0, the context not counted.
        by: String,
        /// The team.
        team: String,
        /// Why it cannot.
        why: &'static str,
    },
    /// Some PEs did not come to a collective call in time.
    #[error("PE {pe} waited {:.1} s in {call}; missing: {}; {}", waited.as_secs_f64(), list_pes(missing), why_absent(in_kernels, stopped))]
    Absent {
        /// The PE that waited.
        pe: u32,
        /// The call.
        call: String,
        /// The PEs that did not come.
        missing: Vec<u32>,
        /// Those of them that wait for their own kernels.
        in_kernels: Vec<u32>,
        /// Those of them whose processes do not run.
        stopped: Vec<u32>,
        /// How long it waited.
        waited: Duration,
    },
    /// A PE returned from its closure while others wait for it in a collective call.
    #[error(
        "PE {pe} waits in {call}, but {} already returned from the closure; every PE must make the same collective calls",
        list_pes(returned)
    )]
    Returned {
        /// The PE that waits.
        pe: u32,
        /// The call.
        call: String,
        /// The PEs that have returned.
        returned: Vec<u32>,
    },
    /// A value is too large for an all_gather.
    #[error(
        "all_gather takes {limit} bytes of a PE at most, not {given}: it is for small values; have a kernel put larger ones into symmetric memory"
    )]
    GatherTooLarge {
        /// Bytes of the value.
        given: u64,
        /// The most that it may have.
        limit: u64,
    },
    /// Another PE failed; this is its first error.
    #[error("PE {pe} failed: {cause}")]
    PeFailed {
        /// The PE that failed.
        pe: u32,
        /// Its first error.
        #[source]
        cause: Box<Error>,
    },
    /// A PE's closure panicked.
    #[error("PE {pe} panicked: {message}")]
    PePanicked {
        /// The PE.
        pe: u32,
        /// The panic's message.
        message: String,
    },
    /// A kernel argument names memory that is not allocated.
    #[error("{kernel}: parameter {parameter} names {} of {memory}, {why}", range(*start, *bytes))]
    BadHandle {
        /// The kernel.
        kernel: &'static str,
        /// The parameter's number, from 0, the context not counted.
        parameter: u32,
        /// The heap or local memory.
        memory: &'static str,
        /// First byte (heap offset or device address).
        start: u64,
        /// Bytes.
        bytes: u64,
        /// Why it is wrong.
        why: &'static str,
    },
    /// Memory of the program's cannot be registered.
    #[error("{0}")]
    Registration(Box<Registration>),
    /// A GPU can have no symmetric memory in the host's.
    #[error(transparent)]
    HostMemory(#[from] HostMemory),
    /// A host access outside an allocation.
    #[error("elements {start}..{} of an allocation of {len} elements were accessed", start.saturating_add(*count))]
    OutOfRange {
        /// First element.
        start: u64,
        /// Elements.
        count: u64,
        /// Elements of the allocation.
        len: u64,
    },
    /// An operation of the host names a PE that the job has not got.
    #[error("{by} names PE {pe}: the job has {n_pes}, numbered from 0")]
    NoSuchPe {
        /// The operation.
        by: &'static str,
        /// The PE.
        pe: u32,
        /// PEs of the job.
        n_pes: u32,
    },
    /// Source and target of an operation of the host have different lengths.
    #[error(
        "{by}: the target has {target} elements, the source {source_len}: name as many of both, by `slice`"
    )]
    LengthsDiffer {
        /// The operation.
        by: &'static str,
        /// Elements of the target.
        target: u64,
        /// Elements of the source.
        source_len: u64,
    },
    /// Strided elements do not lie in the range that was named.
    #[error(transparent)]
    Strides(#[from] BadStride),
    /// A collective operation that cannot be.
    #[error(transparent)]
    Collective(#[from] BadCollective),
    /// Source and target of an operation of the host overlap in part.
    #[error(
        "{by}: source and target overlap in part, which gives no certain result: name ranges that are apart, or the same"
    )]
    Overlap {
        /// The operation.
        by: &'static str,
    },
    /// A vector was used on another PE or job than the one that allocated it.
    #[error(
        "this vector belongs to {owner}, not to {user}: every PE uses its own; to name a peer's copy pass the handle and the PE number to a kernel"
    )]
    WrongOwner {
        /// Who allocated it.
        owner: String,
        /// Who used it.
        user: String,
    },
    /// A launch has a shape that cannot run.
    #[error("{kernel}: {what}")]
    LaunchShape {
        /// The kernel.
        kernel: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A collective launch whose blocks cannot all be resident.
    #[error("{kernel} needs {needed} resident blocks, {available} are available on {device}: {per_multiprocessor} per multiprocessor x {multiprocessors} multiprocessors = {device_blocks}, divided by {pes_on_device} PE(s) = {}, less {held} held by this PE's unfinished collective launches{}; launch fewer blocks, use smaller blocks or less shared memory, or synchronize the other streams first{}", device_blocks / pes_on_device, beside(*device_blocks, *held, *held_by_others), if *per_multiprocessor == 0 { "; if registers are what one block has too few of, build the kernel with `max_block = n`" } else { "" })]
    NotCoResident {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
        /// Blocks of the launch.
        needed: u64,
        /// Blocks that may be resident now.
        available: u64,
        /// Blocks that fit on one multiprocessor.
        per_multiprocessor: u32,
        /// Multiprocessors of the device.
        multiprocessors: u32,
        /// The product of the two.
        device_blocks: u64,
        /// PEs that share the device.
        pes_on_device: u64,
        /// Blocks held by this PE's other streams, in blocks of this kernel.
        held: u64,
        /// Blocks held by the other PEs of the device, likewise: what is not known to be over.
        held_by_others: u64,
    },
    /// A kernel failed on some PE; nothing runs until all PEs have called `recover()`.
    #[error("{0}; every PE must call recover() before anything is launched again")]
    Poisoned(Box<Failure>),
    /// A program under the checker failed, and nothing was found that explains it.
    #[error("{error} (under the checker; again: {again})")]
    UnderChecker {
        /// The variables that run the same schedule again.
        again: String,
        /// What the program failed with.
        #[source]
        error: Box<Error>,
    },
    /// The checker has found mistakes; the report is on stderr.
    #[error("the checker has found {findings} mistake{}: {first}", if *findings == 1 { "" } else { "s" })]
    Checked {
        /// How many.
        findings: u32,
        /// The first.
        first: String,
    },
    /// A kernel has ended the job, by `global_exit`. Nothing helps: the program is to end, by
    /// [`exit_status`](Self::exit_status) with this status.
    #[error("a kernel of PE {pe} ended the job with status {status} (global_exit)")]
    GlobalExit {
        /// The PE.
        pe: u32,
        /// The status.
        status: i32,
    },
    /// An emulated kernel panicked or touched memory that is not allocated.
    #[error("{0}")]
    KernelFailed(Box<KernelPanic>),
    /// A stream did not become idle.
    #[error(
        "PE {pe}: kernel {kernel} (launch {launch}), or one launched after it on stream {stream}, still runs {waited:.1?} after {why}: look for a loop without an oxshmem wait, in it or in a kernel that it waits for"
    )]
    StreamStuck {
        /// The PE.
        pe: u32,
        /// The kernel of the stream's first launch that is not known to be over.
        kernel: &'static str,
        /// Number of that launch on its PE, from 1.
        launch: u32,
        /// The stream's number on its PE; 0 is the default stream.
        stream: u32,
        /// How long it waited.
        waited: Duration,
        /// What it waited after.
        why: &'static str,
    },
    /// Something that cannot be part of a graph was called while a stream recorded one.
    #[error(
        "PE {pe}: {what} cannot be recorded, and stream {stream} records a graph: do it before `capture`, or after"
    )]
    Capturing {
        /// The PE.
        pe: u32,
        /// What was called.
        what: &'static str,
        /// The stream that records.
        stream: u32,
    },
    /// More streams than there are grid-barrier words.
    #[error(
        "a PE may have {limit} streams and graphs at once, the default stream included: drop some, and synchronize the streams on which dropped graphs ran"
    )]
    TooManyStreams {
        /// The limit.
        limit: u32,
    },
    /// There is no PTX for a kernel.
    #[error(
        "no device code for {kernel}: {why}; {remedy}; or run without a GPU with OXSHMEM_DEVICE=emulated"
    )]
    NoPtx {
        /// The kernel.
        kernel: &'static str,
        /// Why there is none.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// No image of a module fits the device and its driver.
    #[error("no device code of {package} fits {device} with a driver for CUDA {}: it has {have}; build for this architecture (oxshmem_builder's `arch`) or update the driver", cuda_version(*driver))]
    NoFittingImage {
        /// The package.
        package: &'static str,
        /// Its images: target and PTX version of each.
        have: String,
        /// The device and its compute capability.
        device: String,
        /// CUDA version of the driver, as 1000 * major + 10 * minor.
        driver: i32,
    },
    /// The driver's compiler refused a module.
    #[error("the driver rejected the PTX of {package} for {arch} ({name}): {log}")]
    PtxRejected {
        /// The package.
        package: &'static str,
        /// The image's target.
        arch: &'static str,
        /// The driver's result.
        name: String,
        /// What its compiler printed.
        log: String,
    },
    /// A module's image does not have a kernel that its list names.
    #[error(
        "the device code of {package} has no kernel {kernel}: rebuild it with the oxshmem-builder of the same version"
    )]
    NoFunction {
        /// The package.
        package: &'static str,
        /// The kernel.
        kernel: String,
    },
    /// There is no timeline, or a part of it is missing.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Any other error, from the program's own code.
    #[error("{0}")]
    Other(Arc<dyn std::error::Error + Send + Sync>),
}
