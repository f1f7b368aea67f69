//! The C functions that stand in front of the C library's: they answer for the emulated devices and hand everything
//! else to the kernel.
//!
//! `open` and `ioctl` take a variable argument in C. It is an integer or a pointer in the place of a third argument,
//! which on the 64-bit Linux targets is where a fixed one would be.

use crate::attribute::REQUEST;
use crate::{nics, record, sysfs, system, table};
use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `NETLINK_RDMA` of `linux/netlink.h`: by it libibverbs asks the kernel for its devices before it looks into sysfs.
const NETLINK_RDMA: c_int = 20;

/// Runs before the program's `main`.
extern "C" fn prepare() {
    if let Err(error) = sysfs::prepare() {
        eprintln!("oxshmem-nic-device: cannot fill SYSFS_PATH: {error}");
    }
}

// SAFETY: the section holds functions without arguments or results, to be called once at load.
#[used]
#[unsafe(link_section = ".init_array")]
static PREPARE: extern "C" fn() = prepare;

/// Which NIC's node a path names.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn named(path: *const c_char) -> Option<usize> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_str().ok()?;
    // Nearly all paths end here, and this runs at every open of the process.
    if !path.starts_with("/dev/infiniband/uverbs") {
        return None;
    }
    (0..nics::count()).find(|index| sysfs::node(*index) == path)
}

/// No panic may cross into C.
fn guarded(call: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        record::say("the emulated device panicked".into());
        system::fail(libc::EIO)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: `open`'s contract with its caller.
    match unsafe { named(path) } {
        Some(index) => guarded(|| table::open(index)),
        // SAFETY: as above.
        None => unsafe { system::open(path, flags, mode) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the two differ on 32-bit targets only.
    unsafe { open(path, flags, mode) }
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    if table::is_open(fd) {
        guarded(|| {
            table::forget(fd);
            0
        });
    }
    system::close(fd)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if table::is_open(fd) && request == REQUEST {
        // SAFETY: the request says that the argument is a uverbs header with its attributes.
        return guarded(|| unsafe { table::call(fd, argument) });
    }
    // SAFETY: `ioctl`'s contract with its caller.
    unsafe { system::ioctl(fd, request, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stat(path: *const c_char, out: *mut libc::stat) -> c_int {
    // SAFETY: `stat`'s contract with its caller.
    unsafe {
        match named(path) {
            Some(index) => {
                *out = system::character_device(sysfs::device_number(index));
                0
            }
            None => system::stat(path, out),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stat64(path: *const c_char, out: *mut libc::stat) -> c_int {
    // SAFETY: the two differ on 32-bit targets only.
    unsafe { stat(path, out) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstat(fd: c_int, out: *mut libc::stat) -> c_int {
    // SAFETY: `fstat`'s contract with its caller.
    unsafe {
        match table::device(fd) {
            Some(index) => {
                *out = system::character_device(sysfs::device_number(index));
                0
            }
            None => system::fstat(fd, out),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstat64(fd: c_int, out: *mut libc::stat) -> c_int {
    // SAFETY: the two differ on 32-bit targets only.
    unsafe { fstat(fd, out) }
}

/// A kernel that has RDMA devices of its own would name those; without an answer libibverbs reads sysfs.
#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if domain == libc::AF_NETLINK && protocol == NETLINK_RDMA {
        return system::fail(libc::EPROTONOSUPPORT);
    }
    system::socket(domain, kind, protocol)
}

/// Copies what was refused and how the NICs' rules were broken, a line each, into `buffer`, as far as it has room, and
/// gives the length of the whole text.
///
/// # Safety
/// `buffer` may be written for `room` bytes, or `room` is 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_nic_record(buffer: *mut u8, room: usize) -> usize {
    let text = catch_unwind(|| record::all() + &nics::violations()).unwrap_or_default();
    let filled = text.len().min(room);
    if filled > 0 {
        // SAFETY: the caller's promise.
        unsafe { buffer.copy_from_nonoverlapping(text.as_ptr(), filled) };
    }
    text.len()
}

/// Takes the link of NIC `index` away, or gives it back. 0, or -1 if that NIC does not run.
#[unsafe(no_mangle)]
extern "C" fn oxshmem_nic_link(index: usize, up: bool) -> c_int {
    guarded(|| if nics::link(index, up) { 0 } else { system::fail(libc::ENODEV) })
}
