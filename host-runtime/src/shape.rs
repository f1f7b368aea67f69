//! The shape of a launch: what no device can run is refused before the driver sees it.

use crate::driver::DeviceInfo;
use crate::error::Result;
use crate::known::Described;
use oxshmem_device::launch::LaunchConfig;

/// Checks the shape of a launch; the threads per block.
pub(crate) fn check_shape(kernel: &Described, config: &LaunchConfig, device: &DeviceInfo) -> Result<u32> {
    let threads =
        config.block.iter().try_fold(1u32, |product, &n| product.checked_mul(n)).unwrap_or(u32::MAX);
    let shared = u64::from(kernel.shared) + u64::from(config.extra_shared);
    if config.grid.contains(&0) || config.block.contains(&0) {
        return kernel.refuse(format!(
            "the launch has a grid of {:?} blocks of {:?} threads: no dimension may be 0",
            config.grid, config.block
        ));
    }
    if let Some(block) = kernel.block
        && block != threads
    {
        return kernel.refuse(format!("the kernel is written for blocks of {block} threads, not {threads}"));
    }
    if let Some(most) = kernel.max_block
        && threads > most
    {
        return kernel
            .refuse(format!("the kernel is written for blocks of at most {most} threads, not {threads}"));
    }
    if threads > device.max_block_threads {
        return kernel.refuse(format!(
            "{threads} threads per block are more than {} has room for ({})",
            device.name, device.max_block_threads
        ));
    }
    let exceeds = |dims: [u32; 3], limits: [u32; 3]| dims.iter().zip(limits).any(|(&dim, limit)| dim > limit);
    if exceeds(config.block, device.max_block) || exceeds(config.grid, device.max_grid) {
        return kernel.refuse(format!(
            "a grid of {:?} blocks of {:?} threads exceeds what {} can run: {:?} blocks of {:?} threads",
            config.grid, config.block, device.name, device.max_grid, device.max_block
        ));
    }
    // Device code counts the blocks of a grid in 32 bits.
    if config.total_blocks() > u64::from(u32::MAX) {
        return kernel.refuse(format!(
            "a grid of {:?} has {} blocks; a launch may have {} in all: launch fewer, and let each do more",
            config.grid,
            config.total_blocks(),
            u32::MAX
        ));
    }
    if shared > u64::from(device.max_shared) {
        return kernel.refuse(format!(
            "{shared} bytes of shared memory per block are more than {} has ({})",
            device.name, device.max_shared
        ));
    }
    Ok(threads)
}
