//! That a device can have no symmetric memory in the host's.

/// A GPU whose driver puts no memory of the host behind a heap. Fault: the machine.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "GPU {device} can have no symmetric memory in the host's: the driver refused memory of NUMA node {node} with {result}, so it has no virtual memory management of host memory here: update the driver, let the process bind memory to nodes (in a container, the capability SYS_NICE), or use alloc_zeroed"
)]
pub struct HostMemory {
    /// The GPU's number in the driver.
    pub device: i32,
    /// The host's NUMA node next to it.
    pub node: i32,
    /// What the driver said.
    pub result: String,
}
