//! What a machine is like: its devices, their room, and the patience of its clock.

use crate::check::Checking;
use crate::error::Error;
use crate::stack;
use std::time::Duration;

/// What the machine is like. Start from [`Default`]: two small multiprocessors with the limits of an `sm_90`
/// per device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineConfig {
    /// Devices; each takes one operating-system thread. Default 1.
    pub devices: u32,
    /// Streaming multiprocessors per device. Default 2.
    pub sms: u32,
    /// Threads that a multiprocessor holds. Default 1024.
    pub threads_per_sm: u32,
    /// Blocks that a multiprocessor holds. Default 32.
    pub blocks_per_sm: u32,
    /// Shared memory that a block may ask for, in bytes. Default 227 KiB.
    pub shared_per_block: u32,
    /// Shared memory of a multiprocessor, in bytes; each block costs 1 KiB more than it asks for. Default 228 KiB.
    pub shared_per_sm: u32,
    /// Threads that a block may have. Default 1024.
    pub max_threads_per_block: u32,
    /// Memory of each device, in bytes. Default: what the system has available, divided by the devices.
    pub memory_per_device: Option<u64>,
    /// Stack of each GPU thread, in bytes of address space; committed as it is used. Default 1 MiB: unoptimised kernels have large frames.
    pub stack_bytes: usize,
    /// Order in which runnable threads run: in turn (`None`), or pseudo-random by seed. Several devices run
    /// beside each other, so a seed fixes the order within each device only. Default `None`.
    pub seed: Option<u64>,
    /// How long quiescence must stand, in wall time, before it counts while a host thread is blocked in
    /// something that the emulator does not know. Default 250 ms.
    pub host_grace: Duration,
    /// How long a host thread that runs user code may hold the clock of an otherwise quiescent machine, in
    /// wall time. Default 60 s.
    pub host_patience: Duration,
    /// How long quiescence must stand, in wall time, before it counts if other processes write this machine's
    /// memory, which no proof in this one covers. Default `None`: there are no such processes.
    pub outside_grace: Option<Duration>,
    /// Whether what runs is checked, and how. One operating-system thread then runs all devices. Default `None`.
    pub check: Option<Checking>,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            devices: 1,
            sms: 2,
            threads_per_sm: 1024,
            blocks_per_sm: 32,
            shared_per_block: 227 * 1024,
            shared_per_sm: 228 * 1024,
            max_threads_per_block: 1024,
            memory_per_device: None,
            stack_bytes: 1024 * 1024,
            seed: None,
            host_grace: Duration::from_millis(250),
            host_patience: Duration::from_secs(60),
            outside_grace: None,
            check: None,
        }
    }
}

impl MachineConfig {
    /// With `devices` devices, each no larger than lets the residents of all of them have stacks at once: a
    /// process has room for about 30,000 emulated threads.
    #[must_use]
    pub fn with_devices(self, devices: u32) -> Self {
        let each = stack::limit() / u64::from(devices.max(1)) / u64::from(self.sms.max(1));
        let room = u32::try_from(each / 32 * 32).unwrap_or(u32::MAX).max(32);
        Self { devices, threads_per_sm: self.threads_per_sm.min(room), ..self }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let positive = "at least 1";
        for (field, found, good, needed) in [
            ("devices", self.devices, self.devices > 0, positive),
            ("sms", self.sms, (1..=1 << 16).contains(&self.sms), "1 to 65536"),
            ("threads_per_sm", self.threads_per_sm, self.threads_per_sm >= 32, "at least 32, one warp"),
            ("blocks_per_sm", self.blocks_per_sm, (1..=1 << 12).contains(&self.blocks_per_sm), "1 to 4096"),
            ("max_threads_per_block", self.max_threads_per_block, self.max_threads_per_block > 0, positive),
            ("shared_per_sm", self.shared_per_sm, self.shared_per_sm >= 1024, "at least 1024, one block's"),
        ] {
            if !good {
                return Err(Error::Config { field, found: found.into(), needed });
            }
        }
        Ok(())
    }
}
