//! The NICs of this machine.

use super::abi::IbvDevice;
use super::context::Context;
use super::dv::{ContextAttr, WITH_DEVX};
use super::error::{Result, VerbsError};
use super::library::Library;
use std::ffi::CStr;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// The library's list, for as long as a device of it may be opened.
#[derive(Debug)]
struct List {
    library: &'static Library,
    first: NonNull<*mut IbvDevice>,
}

// SAFETY: the list is not written after it was made, and the library's functions may be called from any thread.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the list is the library's own, and nothing uses it any more.
        unsafe { (self.library.verbs.ibv_free_device_list)(self.first.as_ptr()) };
    }
}

/// An mlx5 NIC that could be opened.
#[derive(Clone, Debug)]
pub struct Device {
    list: Arc<List>,
    pointer: NonNull<IbvDevice>,
    name: String,
}

// SAFETY: the device belongs to the list, which is kept, and is not written.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// All mlx5 NICs, in the library's order.
    ///
    /// # Errors
    /// Those of [`Library::load`], and [`Call`](VerbsError::Call) if the list cannot be had. No NIC is an empty list.
    pub fn all() -> Result<Vec<Device>> {
        let library = Library::load()?;
        let mut count = 0;
        // SAFETY: the count may be written.
        let first = unsafe { (library.verbs.ibv_get_device_list)(&raw mut count) };
        let Some(first) = NonNull::new(first) else {
            let source = io::Error::last_os_error();
            // A kernel without InfiniBand at all.
            if source.raw_os_error() == Some(libc::ENOSYS) {
                return Ok(Vec::new());
            }
            return Err(VerbsError::Call {
                device: "(any)".into(),
                call: "ibv_get_device_list",
                source,
                remedy: "",
            });
        };
        let list = Arc::new(List { library, first });
        let mut devices = Vec::new();
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the list has that many entries, each a device, whose name is a C string.
            unsafe {
                let Some(pointer) = NonNull::new(*first.as_ptr().add(index)) else { break };
                if !(library.mlx5.mlx5dv_is_supported)(pointer.as_ptr()) {
                    continue;
                }
                let name = CStr::from_ptr((library.verbs.ibv_get_device_name)(pointer.as_ptr()));
                let name = name.to_string_lossy().into_owned();
                devices.push(Device { list: Arc::clone(&list), pointer, name });
            }
        }
        Ok(devices)
    }

    /// The NIC of that name.
    ///
    /// # Errors
    /// Those of [`all`](Self::all), and [`NoDevice`](VerbsError::NoDevice).
    pub fn named(name: &str) -> Result<Device> {
        let mut all = Self::all()?;
        match all.iter().position(|device| device.name == name) {
            Some(index) => Ok(all.swap_remove(index)),
            None => {
                let names: Vec<&str> = all.iter().map(Device::name).collect();
                let found = if names.is_empty() { "none".into() } else { names.join(", ") };
                Err(VerbsError::NoDevice { wanted: name.into(), found })
            }
        }
    }

    /// Its name, as `mlx5_0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens it, with access to its firmware.
    ///
    /// # Errors
    /// [`NotOpened`](VerbsError::NotOpened).
    pub fn open(&self) -> Result<Arc<Context>> {
        let library = self.list.library;
        let mut attributes = ContextAttr { flags: WITH_DEVX, comp_mask: 0 };
        // SAFETY: a device of the list, which is kept by the context.
        let opened = unsafe { (library.mlx5.mlx5dv_open_device)(self.pointer.as_ptr(), &raw mut attributes) };
        match NonNull::new(opened) {
            // SAFETY: the pointer is a context of this library that was opened for it alone.
            Some(pointer) => Ok(Arc::new(unsafe { Context::own(library, pointer, self.clone()) })),
            None => {
                let source = io::Error::last_os_error();
                let remedy = remedy(&source);
                Err(VerbsError::NotOpened { device: self.name.clone(), source, remedy })
            }
        }
    }
}

/// What to do if a NIC cannot be opened.
fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "give the program the capability NET_RAW (in a container: --cap-add NET_RAW) and access to /dev/infiniband/uverbs*"
        }
        Some(libc::EOPNOTSUPP | libc::EPROTONOSUPPORT | libc::EINVAL) => {
            "the kernel's mlx5_ib offers no firmware access: use Linux 5.1 or newer, or NVIDIA's own driver"
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "its node /dev/infiniband/uverbs* is missing: hand it to the container (--device /dev/infiniband), or load mlx5_ib and ib_uverbs"
        }
        _ => "see whether ibv_devinfo can open it, and the kernel's log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_remedy() {
        let of = |errno| remedy(&io::Error::from_raw_os_error(errno));
        let all = [of(libc::EPERM), of(libc::EOPNOTSUPP), of(libc::ENOENT), of(libc::EIO)];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one));
        }
    }
}
