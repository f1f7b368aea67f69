//! The system calls that this library stands in front of, made without the C library's own functions of those names,
//! which here are ours.

use std::ffi::{c_char, c_int, c_ulong};
use std::mem::MaybeUninit;

/// What a call gives that is `-1` with `errno` set on failure.
fn narrow(value: libc::c_long) -> c_int {
    // The kernel's answers to these calls fit an int.
    value as c_int
}

/// `openat(2)` from the current folder.
///
/// # Safety
/// `path` is a C string.
pub(crate) unsafe fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the arguments are those that the caller had for `open`.
    narrow(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) })
}

/// `close(2)`.
pub(crate) fn close(fd: c_int) -> c_int {
    // SAFETY: closing a number touches no memory.
    narrow(unsafe { libc::syscall(libc::SYS_close, fd) })
}

/// `ioctl(2)`.
///
/// # Safety
/// `argument` is what the request needs.
pub(crate) unsafe fn ioctl(fd: c_int, request: c_ulong, argument: *mut libc::c_void) -> c_int {
    // SAFETY: the arguments are those that the caller had for `ioctl`.
    narrow(unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) })
}

/// `stat(2)`. On the 64-bit targets the kernel's structure is the C library's.
///
/// # Safety
/// `path` is a C string, `out` may be written.
pub(crate) unsafe fn stat(path: *const c_char, out: *mut libc::stat) -> c_int {
    // SAFETY: the arguments are those that the caller had for `stat`.
    narrow(unsafe { libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path, out, 0) })
}

/// `fstat(2)`.
///
/// # Safety
/// `out` may be written.
pub(crate) unsafe fn fstat(fd: c_int, out: *mut libc::stat) -> c_int {
    // SAFETY: the arguments are those that the caller had for `fstat`.
    narrow(unsafe { libc::syscall(libc::SYS_fstat, fd, out) })
}

/// `socket(2)`.
pub(crate) fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: makes a descriptor and touches no memory.
    narrow(unsafe { libc::syscall(libc::SYS_socket, domain, kind, protocol) })
}

/// What `stat` says of a device node.
pub(crate) fn character_device(device: libc::dev_t) -> libc::stat {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut out: libc::stat = unsafe { MaybeUninit::zeroed().assume_init() };
    out.st_mode = libc::S_IFCHR | 0o666;
    out.st_nlink = 1;
    out.st_rdev = device;
    out
}

/// Sets `errno` and gives the C functions' answer for a failure.
pub(crate) fn fail(errno: c_int) -> c_int {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = errno };
    -1
}
