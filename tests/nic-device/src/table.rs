//! The open devices of this process, by descriptor.

use crate::attribute::Call;
use crate::file::File;
use crate::{method, record, system};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Descriptors of open devices, 0 where there is none: asked at every `close` and `ioctl` of the process, so without a
/// lock.
static DESCRIPTORS: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
static FILES: Mutex<BTreeMap<c_int, Arc<File>>> = Mutex::new(BTreeMap::new());

fn files() -> MutexGuard<'static, BTreeMap<c_int, Arc<File>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a descriptor is an open device.
pub(crate) fn is_open(fd: c_int) -> bool {
    fd > 0 && DESCRIPTORS.iter().any(|slot| slot.load(Ordering::Acquire) == fd)
}

fn find(fd: c_int) -> Option<Arc<File>> {
    is_open(fd).then(|| files().get(&fd).cloned()).flatten()
}

/// Which NIC a descriptor is for.
pub(crate) fn device(fd: c_int) -> Option<usize> {
    find(fd).map(|file| file.index())
}

/// The open devices of NIC `index`.
pub(crate) fn of_nic(index: usize) -> Vec<Arc<File>> {
    files().values().filter(|file| file.index() == index).cloned().collect()
}

/// Opens NIC `index`.
pub(crate) fn open(index: usize) -> c_int {
    // SAFETY: the name is a C string; the file is new.
    let fd = unsafe { libc::memfd_create(c"oxshmem-nic".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return -1;
    }
    let give_up = |why: String| {
        record::say(format!("device {index} cannot be opened: {why}"));
        system::close(fd);
        system::fail(libc::ENOMEM)
    };
    if let Err(why) = crate::nics::start(index) {
        return give_up(why);
    }
    let file = match File::new(index, fd) {
        Ok(file) => file,
        Err(refusal) => return give_up(refusal.why().into()),
    };
    let claim = |slot: &AtomicI32| slot.compare_exchange(0, fd, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    files().insert(fd, Arc::new(file));
    if DESCRIPTORS.iter().any(claim) {
        return fd;
    }
    files().remove(&fd);
    give_up(format!("{} are open", DESCRIPTORS.len()))
}

/// Forgets a descriptor, and destroys what was made by it.
pub(crate) fn forget(fd: c_int) {
    for slot in &DESCRIPTORS {
        // Those of others stay.
        let _ = slot.compare_exchange(fd, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
    let file = files().remove(&fd);
    if let Some(file) = file
        && !file.clear()
    {
        // Its doorbell pages stay for the NIC to look at.
        std::mem::forget(file);
    }
}

/// Answers an ioctl.
///
/// # Safety
/// `argument` is what [`Call::read`] needs.
pub(crate) unsafe fn call(fd: c_int, argument: *mut c_void) -> c_int {
    let Some(file) = find(fd) else { return system::fail(libc::EBADF) };
    // SAFETY: the caller's promise.
    let answer = unsafe { Call::read(argument) }.and_then(|mut call| method::answer(&file, &mut call));
    match answer {
        Ok(()) => 0,
        Err(refusal) => {
            if !refusal.expected() {
                record::say(refusal.why().to_string());
            }
            system::fail(refusal.errno())
        }
    }
}
