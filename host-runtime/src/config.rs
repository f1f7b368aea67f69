//! How a run is set up: from the environment, then changed by the program.

use crate::bootstrap::Bootstrap;
use crate::collective::Tuning;
use crate::env::variables::MAX_PES;
use crate::error::{Error, Result, TraceError};
use crate::launched::Launched;
use crate::trace;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the unit in which ranges of the heap are handed out: every allocation is aligned to it.
pub(crate) const HEAP_UNIT: u64 = 256;

/// What kernels run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// NVIDIA GPUs; an error if there is none.
    Cuda,
    /// The emulator.
    Emulated,
    /// NVIDIA GPUs if there is a driver with at least one, else the emulator.
    #[default]
    Auto,
}

/// How PEs reach each other's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// Loads and stores.
    #[default]
    P2p,
    /// RDMA posted by the GPU. Not built yet.
    Ibgda,
    /// RDMA posted by a host proxy. Not built yet.
    Proxy,
}

/// How the heap memory of one process is named to the others. Processes of one host share descriptors; memory that
/// other hosts of an NVLink fabric are to reach needs fabric handles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handles {
    /// As POSIX file descriptors.
    #[default]
    Descriptors,
    /// As fabric handles (CUDA driver API, `CUmemFabricHandle`); an error if a GPU has none.
    Fabric,
}

/// When a GPU gets kernels whose package says that they are for whoever asks for them (`oxshmem_builder::Builder::on_demand`):
/// of oxshmem's own those of the host's collective operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loading {
    /// When the first of the package's kernels is launched. This may take seconds, and may wait until the kernels that the
    /// GPU runs are over.
    #[default]
    OnDemand,
    /// At the start, with all other kernels: for a program whose kernels wait for what such a launch brings.
    AtStart,
}

/// Over what the processes of a job meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendezvous {
    /// A Unix socket.
    #[default]
    Unix,
    /// TCP on this address of PE 0's host, with a port that the kernel chooses.
    Tcp(IpAddr),
}

/// Which of an interface's addresses may be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// One of IPv4, else one of IPv6.
    #[default]
    Any,
    /// One of IPv4.
    V4,
    /// One of IPv6.
    V6,
}

/// The set-up of a run.
///
/// ```
/// use oxshmem::{Config, DeviceChoice};
///
/// let config = Config::default().pes(2).device(DeviceChoice::Emulated);
/// config.run(|shmem| shmem.barrier_all())?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// PEs of the job.
    pub(crate) pes: u32,
    /// If this process is one of several of the job: who knows which.
    pub(crate) bootstrap: Option<Arc<dyn Bootstrap>>,
    /// The same, once that was asked.
    pub(crate) launched: Option<Launched>,
    pub(crate) rendezvous: Rendezvous,
    /// The interface over which they meet, instead of that.
    pub(crate) interface: Option<(String, Family)>,
    pub(crate) join_deadline: Duration,
    pub(crate) handles: Handles,
    pub(crate) loading: Loading,
    pub(crate) device: DeviceChoice,
    pub(crate) path: Path,
    pub(crate) deadline: Duration,
    pub(crate) kernel_limit: Option<Duration>,
    pub(crate) heap_limit: Option<u64>,
    /// By what collective operations choose.
    pub(crate) collectives: Tuning,
    /// Where the timeline goes, if there is to be one.
    pub(crate) trace: Option<trace::Asked>,
    /// `None`: one per PE.
    pub(crate) emulated_devices: Option<u32>,
    #[cfg(feature = "emulator")]
    pub(crate) machine: oxshmem_emulator::MachineConfig,
    /// What the environment asks of the checker.
    #[cfg(feature = "emulator")]
    pub(crate) check: Option<crate::asked::FromEnv>,
}

impl Default for Config {
    /// One PE, any device, 30 s; nothing from the environment.
    fn default() -> Self {
        Self {
            pes: 1,
            bootstrap: None,
            launched: None,
            rendezvous: Rendezvous::Unix,
            interface: None,
            join_deadline: Duration::from_secs(120),
            handles: Handles::Descriptors,
            loading: Loading::OnDemand,
            device: DeviceChoice::Auto,
            path: Path::P2p,
            deadline: Duration::from_secs(30),
            kernel_limit: None,
            heap_limit: None,
            collectives: Tuning::default(),
            trace: None,
            emulated_devices: None,
            #[cfg(feature = "emulator")]
            machine: oxshmem_emulator::MachineConfig::default(),
            #[cfg(feature = "emulator")]
            check: None,
        }
    }
}

impl Config {
    /// How many PEs run as threads of this process: 1024 at most. What a launcher says is then disregarded.
    pub fn pes(mut self, pes: u32) -> Self {
        self.pes = pes;
        self.bootstrap = None;
        self.launched = None;
        self
    }

    /// Over what the processes of a job meet. Without effect on PEs that are threads.
    pub fn rendezvous(mut self, rendezvous: Rendezvous) -> Self {
        self.rendezvous = rendezvous;
        self.interface = None;
        self
    }

    /// The network interface of PE 0's host over which the processes of a job meet, by TCP: PE 0 listens on its first
    /// address of the family and on nothing else, and addresses of the link alone come last. Without effect on PEs that
    /// are threads. A run fails with [`Error::Interface`] on PE 0 if there is no such interface or address.
    pub fn interface(mut self, name: impl Into<String>, family: Family) -> Self {
        self.interface = Some((name.into(), family));
        self
    }

    /// How long a process waits for all others of its job to have come, at the start.
    pub fn join_deadline(mut self, deadline: Duration) -> Self {
        self.join_deadline = deadline;
        self
    }

    /// How heap memory is named to other processes. Without effect on emulated GPUs.
    pub fn handles(mut self, handles: Handles) -> Self {
        self.handles = handles;
        self
    }

    /// When a GPU gets the kernels that are loaded on demand. Without effect on emulated GPUs.
    pub fn loading(mut self, loading: Loading) -> Self {
        self.loading = loading;
        self
    }

    /// What kernels run on.
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.device = device;
        self
    }

    /// How PEs reach each other's memory.
    pub fn path(mut self, path: Path) -> Self {
        self.path = path;
        self
    }

    /// How long one wait may take, in a kernel and on the host. What a kernel computes between its waits is not
    /// bounded by this: see [`kernel_limit`](Self::kernel_limit).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// By what collective operations choose their protocol. Of a job of several processes PE 0's counts. Default: what was
    /// measured on H200.
    pub fn collectives(mut self, tuning: Tuning) -> Self {
        self.collectives = tuning;
        self
    }

    /// How long a kernel may run from the moment at which its PE waits for it, in wall time. Beyond it
    /// [`Shmem::synchronize`](crate::Shmem::synchronize), [`Shmem::barrier_all`](crate::Shmem::barrier_all) and
    /// the like return [`Error::StreamStuck`]. Default: as long as it likes.
    ///
    /// What such a kernel may use is then kept until the process ends. On a GPU the kernel runs on. On the
    /// emulator it is unwound when the run ends, if it comes to an oxshmem operation; one that never does
    /// (`loop {}`) occupies a thread until the process ends.
    pub fn kernel_limit(mut self, limit: Duration) -> Self {
        self.kernel_limit = Some(limit);
        self
    }

    /// Largest size of each PE's heap in bytes. Memory is taken as it is needed.
    pub fn heap_limit(mut self, bytes: u64) -> Self {
        self.heap_limit = Some(bytes);
        self
    }

    /// Writes a timeline of the run to this file, which begins anew: what kernels and hosts of all PEs did when, in Chrome's
    /// trace format. Each PE keeps its first `operations` operations in its device's memory, 48 bytes each, and as many
    /// events of its host; how many more there were is said. Of a kernel on a GPU only those are there whose crate was built
    /// in the traced flavour (`oxshmem_builder::Builder::trace`). A run under the checker cannot have one.
    pub fn trace(mut self, path: impl Into<PathBuf>, operations: u32) -> Self {
        self.trace = Some(trace::Asked { path: path.into(), events: operations });
        self
    }

    /// How many emulated GPUs there are; PE i runs on GPU i modulo this. Without effect on real ones.
    pub fn emulated_devices(mut self, devices: u32) -> Self {
        self.emulated_devices = Some(devices);
        self
    }

    /// Memory of each emulated GPU in bytes. Without effect on real ones.
    #[cfg_attr(not(feature = "emulator"), allow(unused_mut, unused_variables))]
    pub fn emulated_memory(mut self, bytes: u64) -> Self {
        #[cfg(feature = "emulator")]
        {
            self.machine.memory_per_device = Some(bytes);
        }
        self
    }

    /// Makes each emulated GPU run its threads in a pseudo-random order that `seed` fixes. Without effect on real
    /// ones.
    #[cfg_attr(not(feature = "emulator"), allow(unused_mut, unused_variables))]
    pub fn emulated_seed(mut self, seed: u64) -> Self {
        #[cfg(feature = "emulator")]
        {
            self.machine.seed = Some(seed);
        }
        self
    }

    /// What the emulated machine is like, its number of devices included. Without effect on real ones.
    #[cfg(feature = "emulator")]
    pub fn emulated(mut self, machine: oxshmem_emulator::MachineConfig) -> Self {
        self.emulated_devices = Some(machine.devices);
        self.machine = machine;
        self
    }

    /// Refuses what no run can have.
    pub(crate) fn check(&self) -> Result<()> {
        match self.path {
            Path::P2p => {}
            Path::Ibgda => return Err(Error::PathNotBuilt { path: "ibgda" }),
            Path::Proxy => return Err(Error::PathNotBuilt { path: "proxy" }),
        }
        let refuse = |what: &str| Err(Error::Config { what: what.into() });
        if self.pes == 0 {
            return refuse("there must be at least one PE");
        }
        if self.pes > MAX_PES {
            return Err(Error::TooManyPes { asked: self.pes, limit: MAX_PES });
        }
        if self.deadline.is_zero() || self.deadline > Duration::from_secs(100_000_000) {
            return refuse("the deadline must be longer than 0 and at most 1e8 s");
        }
        if self.join_deadline.is_zero() || self.join_deadline > Duration::from_secs(100_000_000) {
            return refuse("the join deadline must be longer than 0 and at most 1e8 s");
        }
        if self.kernel_limit == Some(Duration::ZERO) {
            return refuse("the kernel limit must be longer than 0");
        }
        if let Some(given) = self.heap_limit
            && given < HEAP_UNIT
        {
            return Err(Error::HeapTooSmall { given, least: HEAP_UNIT });
        }
        if self.trace.as_ref().is_some_and(|trace| trace.events == 0) {
            return refuse("a timeline must have room for at least one operation");
        }
        #[cfg(feature = "emulator")]
        if self.trace.is_some() && self.machine.check.is_some() {
            return Err(TraceError::Checked.into());
        }
        if self.emulated_devices == Some(0) {
            return refuse("there must be at least one emulated device");
        }
        Ok(())
    }
}
