//! Preloaded, this library makes unmodified libibverbs and libmlx5 open the emulated NIC of `oxshmem_emulator::nic`, as
//! if a kernel drove a ConnectX-7. NVIDIA's own user-space driver thereby checks the model and what oxshmem posts.
//!
//! | environment variable | meaning |
//! |---|---|
//! | `LD_PRELOAD` | this library |
//! | `SYSFS_PATH` | a folder, which the library fills with what sysfs says of the devices, and where libibverbs looks for it |
//! | `OXSHMEM_NIC_DEVICES` | how many NICs this process has, 1 to 8; 1 if not set |
//! | `OXSHMEM_NIC_FABRIC` | a file by which the NICs of several processes reach each other |
//! | `OXSHMEM_NIC_SEED` | seed of the adversary that delays and reorders; none if not set |
//! | `OXSHMEM_NIC_POISON` | `off` leaves consumed work requests in the queue as they are, to be looked at |
//! | `OXSHMEM_NIC_LINK` | `ethernet` for ports of RoCE; else they are InfiniBand's |
//! | `OXSHMEM_NIC_WITHOUT` | what devices are to lack: `devx`, the right to commands to the firmware, or `atomics` |
//! | `OXSHMEM_NIC_LOG` | a file to which refusals are appended |
//!
//! A device's descriptor is a memory file whose pages are the doorbell pages, so that the kernel's own `mmap` maps them
//! and no privilege is needed. Calls that no kernel of ours answers get an `errno` and stand in the record, which
//! `oxshmem_nic_record` gives; `oxshmem_nic_link` takes a port's link away. A descriptor is not to be duplicated or used
//! after `fork`. The C library must have `stat` as a function (glibc 2.33 or newer).
//!
//! | module | what it holds |
//! |---|---|
//! | `interpose` | the C functions that stand in front of the C library's |
//! | `system` | the system calls behind them |
//! | `sysfs` | the tree by which libibverbs finds the devices |
//! | `attribute` | one call of the uverbs ioctl interface |
//! | `table` | the open devices, by descriptor |
//! | `file` | an open device: its objects and doorbell pages |
//! | `object` | what a handle can stand for |
//! | `event` | what the NIC reports on its own, on its way to the program |
//! | `method` | what each call does |
//! | `nics` | the NICs of this process |
//! | `record` | what was refused |

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("the uverbs interface is answered on 64-bit little-endian Linux only");

mod attribute;
mod event;
mod file;
mod interpose;
mod method;
mod nics;
mod object;
mod record;
mod sysfs;
mod system;
mod table;
