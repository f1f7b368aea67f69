//! An open device: the objects that were made by it, and its doorbell pages.
//!
//! The descriptor is a memory file, a doorbell page at each 4096 bytes: the program maps it as it would a device, and
//! the NIC looks at the same pages by a mapping of its own.

use crate::attribute::{Answer, Refusal};
use crate::nics::{self, Nic};
use crate::object::{Mapping, Object};
use crate::record;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a doorbell page.
pub(crate) const PAGE: usize = 4096;
/// Doorbell pages that a context can have.
const PAGES: usize = 1024;

/// An object, and the handles of those that it needs for as long as it lives.
struct Entry {
    object: Object,
    needs: Vec<u32>,
}

#[derive(Default)]
struct Objects {
    last: u32,
    pages: usize,
    live: BTreeMap<u32, Entry>,
}

/// An open device.
pub(crate) struct File {
    index: usize,
    objects: Mutex<Objects>,
    /// The memory file, as the NIC sees it.
    pages: Mapping,
}

impl File {
    /// Sizes the memory file `fd` and maps it.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(index: usize, fd: c_int) -> Result<File, Refusal> {
        // SAFETY: a file of our own.
        if unsafe { libc::ftruncate(fd, (PAGES * PAGE) as libc::off_t) } != 0 {
            return Err(Refusal::new(libc::ENOMEM, "no memory for doorbell pages"));
        }
        let pages = Mapping::new(fd, 0, PAGES * PAGE)?;
        Ok(File { index, objects: Mutex::default(), pages })
    }

    /// Which NIC it is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The NIC.
    pub(crate) fn nic(&self) -> &'static Nic {
        nics::nic(self.index)
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an object, which needs those of the handles; its own handle.
    pub(crate) fn insert(&self, object: Object, needs: &[u32]) -> u32 {
        let mut objects = self.objects();
        objects.last += 1;
        let handle = objects.last;
        objects.live.insert(handle, Entry { object, needs: needs.to_vec() });
        handle
    }

    /// What `found` makes of the object of a handle.
    ///
    /// # Errors
    /// `ENOENT` if there is none, or `found` wants another kind.
    pub(crate) fn find<T>(&self, handle: u32, found: impl Fn(&Object) -> Option<T>) -> Result<T, Refusal> {
        self.objects().live.get(&handle).and_then(|entry| found(&entry.object)).ok_or_else(|| {
            Refusal::new(libc::ENOENT, format!("handle {handle} is of no object, or of one of another kind"))
        })
    }

    /// Destroys the object of a handle, if it is of the kind that `kind` says yes to and nothing needs it.
    ///
    /// # Errors
    /// `ENOENT`, `EBUSY`, or why the NIC keeps it.
    pub(crate) fn destroy(&self, handle: u32, kind: impl Fn(&Object) -> bool) -> Answer {
        let mut objects = self.objects();
        let Some(entry) = objects.live.get(&handle).filter(|entry| kind(&entry.object)) else {
            let why = format!(
                "handle {handle} is of no object, or of one of another kind, and cannot be destroyed"
            );
            return Err(Refusal::new(libc::ENOENT, why));
        };
        if let Some((user, _)) = objects.live.iter().find(|(_, other)| other.needs.contains(&handle)) {
            let why = format!("handle {handle} cannot be destroyed while {user} needs it");
            return Err(Refusal::new(libc::EBUSY, why));
        }
        entry.object.destroy(self.nic())?;
        objects.live.remove(&handle);
        Ok(())
    }

    /// A fresh doorbell page: its offset in the memory file, and where the NIC sees it.
    pub(crate) fn page(&self) -> Result<(usize, *mut u8), Refusal> {
        let mut objects = self.objects();
        if objects.pages == PAGES {
            return Err(Refusal::new(libc::ENOSPC, format!("a context has at most {PAGES} doorbell pages")));
        }
        let offset = objects.pages * PAGE;
        objects.pages += 1;
        // Within the mapping, which has as many pages.
        Ok((offset, self.pages.start().wrapping_add(offset)))
    }

    /// Destroys everything, the newest first, as a kernel does when the descriptor goes; false if the NIC kept something,
    /// which it may go on to use.
    pub(crate) fn clear(&self) -> bool {
        let mut all = true;
        let mut objects = self.objects();
        while let Some((handle, entry)) = objects.live.pop_last() {
            if let Err(refusal) = entry.object.destroy(self.nic()) {
                record::say(format!("at close, handle {handle}: {}", refusal.why()));
                all = false;
                // Its memory stays.
                std::mem::forget(entry);
            }
        }
        all
    }

    /// Looks at every object.
    pub(crate) fn each(&self, mut look: impl FnMut(&Object)) {
        self.objects().live.values().for_each(|entry| look(&entry.object));
    }
}
