//! The table of variables: what each may be and does.

/// Most PEs of a job. As threads of one process each is a thread, and on the emulator a GPU, which is one more, unless told
/// otherwise; with many more than this a system runs out of threads or memory maps, which std answers by an abort.
pub(crate) const MAX_PES: u32 = 1024;

/// A variable of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What holds if it is unset or empty.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

pub(crate) const PES: Variable = Variable {
    name: "OXSHMEM_PES",
    values: "a number from 1 to 1024",
    default: "1",
    meaning: "how many PEs run as threads of this process",
};
pub(super) const DEVICE: Variable = Variable {
    name: "OXSHMEM_DEVICE",
    values: "cuda, emulated or auto",
    default: "auto",
    meaning: "what kernels run on; auto takes CUDA if there is a driver with a GPU, else the emulator",
};
pub(super) const PATH: Variable = Variable {
    name: "OXSHMEM_PATH",
    values: "p2p, ibgda or proxy",
    default: "p2p",
    meaning: "how PEs reach each other's memory",
};
pub(super) const DEADLINE: Variable = Variable {
    name: "OXSHMEM_DEADLINE",
    values: "a positive number of seconds (2.5), or one with a unit (30s, 500ms)",
    default: "30s",
    meaning: "how long one wait may take, in a kernel and on the host, before it is an error; a PE that waits for another's running kernel on a GPU gives up after four deadlines and 10 s; what a kernel computes between its waits is bounded by OXSHMEM_KERNEL_LIMIT alone",
};
pub(super) const KERNEL_LIMIT: Variable = Variable {
    name: "OXSHMEM_KERNEL_LIMIT",
    values: DEADLINE.values,
    default: "a kernel may compute as long as it likes; after 30 s a line on stderr says which is waited for",
    meaning: "how long a kernel may run from the moment at which its PE waits for it, before that is an error; what it may use is kept until the process ends, and on the emulator one that never comes to an oxshmem operation occupies a thread until then",
};
pub(super) const HEAP: Variable = Variable {
    name: "OXSHMEM_HEAP",
    values: "a positive number of bytes, with K, M, G or T for powers of 1024 (512M)",
    default: "what fits on the device",
    meaning: "largest size of each PE's symmetric heap, 256 bytes at least; memory is taken as it is needed",
};
pub(super) const COLLECTIVES: Variable = Variable {
    name: "OXSHMEM_COLLECTIVES",
    values: "packets, stores, or the path of a table that `oxshmem-perf tune` has written",
    default: "what was measured on H200",
    meaning: "by what collective operations choose between packets and plain stores; of several processes PE 0's counts",
};
pub(super) const EMULATED_DEVICES: Variable = Variable {
    name: "OXSHMEM_EMULATED_DEVICES",
    values: "a number from 1 to 1024",
    default: "one per PE",
    meaning: "how many emulated GPUs there are; PE i runs on GPU i modulo this",
};
pub(super) const EMULATED_MEMORY: Variable = Variable {
    name: "OXSHMEM_EMULATED_MEMORY",
    values: HEAP.values,
    default: "what this machine has available, divided by the emulated GPUs",
    meaning: "memory of each emulated GPU, 4M at least for each of its PEs",
};

pub(super) const EMULATED_SEED: Variable = Variable {
    name: "OXSHMEM_EMULATED_SEED",
    values: "a whole number",
    default: "threads run in turn",
    meaning: "makes each emulated GPU run its threads in a pseudo-random order that this number fixes",
};

pub(super) const TRACE: Variable = Variable {
    name: "OXSHMEM_TRACE",
    values: "a path",
    default: "nothing is recorded",
    meaning: "writes a timeline of the job to this file, in Chrome's trace format, which Perfetto opens: what kernels and hosts of all PEs did when; on a GPU, kernels built in the traced flavour record their operations",
};
pub(super) const TRACE_EVENTS: Variable = Variable {
    name: "OXSHMEM_TRACE_EVENTS",
    values: "a number from 1 to 16777216",
    default: "65536, which takes 3 MiB of each PE's device",
    meaning: "how many operations of each PE the timeline has room for, and how many events of its host; later ones are left out, and counted",
};
pub(super) const DEBUG: Variable = Variable {
    name: "OXSHMEM_DEBUG",
    values: "error, warn, info, debug, trace or off; or a target and one of them (oxshmem::bootstrap=debug), of oxshmem, oxshmem::init, ::bootstrap, ::device, ::heap, ::launch, ::operation, ::graph, ::team, ::group, ::failure; or several, with commas",
    default: "nothing is printed",
    meaning: "prints what the runtime does on stderr, with time, level and PE, if the program has set no tracing subscriber of its own before its first call",
};

pub(crate) const RANK: Variable = Variable {
    name: "OXSHMEM_RANK",
    values: "a number from 0 on, less than OXSHMEM_WORLD_SIZE",
    default: "torchrun's RANK, if that is set",
    meaning: "which PE this process is; set by oxshmem-run, with the following four",
};
pub(crate) const WORLD_SIZE: Variable = Variable {
    name: "OXSHMEM_WORLD_SIZE",
    values: PES.values,
    default: "torchrun's WORLD_SIZE",
    meaning: "how many processes the job has, each of them one PE",
};
pub(crate) const LOCAL_RANK: Variable = Variable {
    name: "OXSHMEM_LOCAL_RANK",
    values: "a number from 0 on",
    default: "torchrun's LOCAL_RANK",
    meaning: "which process this is on its host; it takes the GPU of that number, modulo the GPUs that it sees",
};
pub(crate) const LOCAL_WORLD_SIZE: Variable = Variable {
    name: "OXSHMEM_LOCAL_WORLD_SIZE",
    values: PES.values,
    default: "torchrun's LOCAL_WORLD_SIZE; without that the same as the number of processes",
    meaning: "how many processes of the job this host has; it must be all, as no path to other hosts is built yet",
};
pub(crate) const JOB: Variable = Variable {
    name: "OXSHMEM_JOB",
    values: "text that no other job of this user on this host has",
    default: "torchrun's MASTER_ADDR and MASTER_PORT, with TORCHELASTIC_RUN_ID and TORCHELASTIC_RESTART_COUNT",
    meaning: "names the job: its processes find PE 0 by it",
};
pub(crate) const BOOTSTRAP: Variable = Variable {
    name: "OXSHMEM_BOOTSTRAP",
    values: "auto, own, torchrun, pmix, pmi, pmi1, pmi2, slurm or none",
    default: "auto",
    meaning: "by what the processes of a job come together; auto takes the first of own (oxshmem-run), torchrun, pmix (mpirun of Open MPI), pmi (mpiexec of MPICH; pmi1 and pmi2 fix the protocol) and slurm (srun without either) whose variables are set; none: this process is alone, whatever a launcher says",
};
pub(crate) const PMIX: Variable = Variable {
    name: "OXSHMEM_PMIX",
    values: "a path",
    default: "libpmix.so.2, as the system finds it",
    meaning: "the PMIx library, which is loaded where PMIx is what the processes come together by",
};
pub(super) const RENDEZVOUS: Variable = Variable {
    name: "OXSHMEM_RENDEZVOUS",
    values: "unix, tcp, tcp4, tcp6 or tcp:ADDRESS (tcp:127.0.0.1, tcp:::1)",
    default: "unix; tcp if OXSHMEM_INTERFACE is set",
    meaning: "over what the processes of a job meet; tcp uses an address of OXSHMEM_INTERFACE, or 127.0.0.1 without that (tcp6: ::1), and a port that the kernel chooses; tcp4 and tcp6 want an address of IPv4 or IPv6",
};
pub(super) const INTERFACE: Variable = Variable {
    name: "OXSHMEM_INTERFACE",
    values: "the name of a network interface of PE 0's host (eth0)",
    default: "the loopback address, or that of OXSHMEM_RENDEZVOUS",
    meaning: "the interface over which the processes of a job meet by TCP: PE 0 listens on its first address and on nothing else",
};
pub(super) const JOIN_DEADLINE: Variable = Variable {
    name: "OXSHMEM_JOIN_DEADLINE",
    values: DEADLINE.values,
    default: "120s",
    meaning: "how long a process waits at the start for all others of its job to have come",
};
pub(super) const HANDLES: Variable = Variable {
    name: "OXSHMEM_HANDLES",
    values: "descriptors or fabric",
    default: "descriptors",
    meaning: "how the heap memory of a GPU is named to other processes: as file descriptors, or as fabric handles, which need an NVLink fabric with its IMEX service",
};
pub(super) const LOADING: Variable = Variable {
    name: "OXSHMEM_LOADING",
    values: "on-demand or at-start",
    default: "on-demand",
    meaning: "when a GPU gets kernels that are loaded on demand, which are those of the collective operations of hosts and streams and of packages that say so: when the first of a package is launched, which may take seconds and wait until the kernels that the GPU runs are over; or at the start, with all others",
};

pub(super) const CHECK: Variable = Variable {
    name: "OXSHMEM_CHECK",
    values: "0 or 1",
    default: "0",
    meaning: "runs the program under the checker, on the emulator, with all PEs in this process; what it finds goes to stderr, and run() returns an error then; to make a failing schedule smaller the closure is called again, and prints again",
};
pub(super) const CHECK_SEED: Variable = Variable {
    name: "OXSHMEM_CHECK_SEED",
    values: "a whole number",
    default: "1",
    meaning: "the schedule of the first checked run",
};
pub(super) const CHECK_SEEDS: Variable = Variable {
    name: "OXSHMEM_CHECK_SEEDS",
    values: "a number from 1 on",
    default: "1",
    meaning: "how many checked runs there are, with growing seeds: the closure that run() gets is called so often",
};
pub(super) const CHECK_CHOICES: Variable = Variable {
    name: "OXSHMEM_CHECK_CHOICES",
    values: "none, or AT:OPTION pairs as a report prints them (12:1,40:3)",
    default: "the schedule is made by OXSHMEM_CHECK_SEED",
    meaning: "plays the schedule of a report again",
};
pub(super) const CHECK_PROFILE: Variable = Variable {
    name: "OXSHMEM_CHECK_PROFILE",
    values: "oxshmem, openshmem, mixed or strict",
    default: "oxshmem",
    meaning: "by whose rules is checked: see the memory model's page",
};
pub(super) const CHECK_PATIENCE: Variable = Variable {
    name: "OXSHMEM_CHECK_PATIENCE",
    values: DEADLINE.values,
    default: "2s",
    meaning: "how much processor time a kernel thread may use between two operations before that is a finding",
};
pub(super) const CHECK_JSON: Variable = Variable {
    name: "OXSHMEM_CHECK_JSON",
    values: "a path",
    default: "none is written",
    meaning: "where the checker's report goes as JSON, besides",
};

/// Every variable that the host runtime reads.
pub const VARIABLES: &[Variable] = &[
    PES,
    DEVICE,
    PATH,
    DEADLINE,
    KERNEL_LIMIT,
    HEAP,
    COLLECTIVES,
    RANK,
    WORLD_SIZE,
    LOCAL_RANK,
    LOCAL_WORLD_SIZE,
    JOB,
    BOOTSTRAP,
    PMIX,
    RENDEZVOUS,
    INTERFACE,
    JOIN_DEADLINE,
    HANDLES,
    LOADING,
    EMULATED_DEVICES,
    EMULATED_MEMORY,
    EMULATED_SEED,
    TRACE,
    TRACE_EVENTS,
    DEBUG,
    CHECK,
    CHECK_SEED,
    CHECK_SEEDS,
    CHECK_CHOICES,
    CHECK_PROFILE,
    CHECK_PATIENCE,
    CHECK_JSON,
];

/// Variables that other parts of oxshmem read: no warning for them.
pub(super) const ELSEWHERE: &[&str] = &[
    "OXSHMEM_CACHE",
    "OXSHMEM_CARGO",
    "OXSHMEM_DEVICE_BUILD",
    "OXSHMEM_FAULT",
    "OXSHMEM_PTX",
    "OXSHMEM_PTXAS",
    "OXSHMEM_RUSTC",
    "OXSHMEM_TEST_FULL",
    "OXSHMEM_TEST_PTXAS",
    "OXSHMEM_WRITE_DOCS",
];
