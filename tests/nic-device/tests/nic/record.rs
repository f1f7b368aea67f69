//! What the preloaded library has refused, and where the NIC's rules were broken.

use std::error::Error;
use std::ffi::{CStr, c_int, c_void};

/// A function of the preloaded library.
fn find(name: &CStr) -> Result<*mut c_void, Box<dyn Error>> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() {
        Err("the library of the emulated device is not preloaded".into())
    } else {
        Ok(found)
    }
}

/// The record so far.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    // SAFETY: the library's function of that name has this type.
    let record: unsafe extern "C" fn(*mut u8, usize) -> usize =
        unsafe { std::mem::transmute(find(c"oxshmem_nic_record")?) };
    // SAFETY: without room it only says how long the text is.
    let length = unsafe { record(std::ptr::null_mut(), 0) };
    let mut text = vec![0; length];
    // SAFETY: a buffer of that length.
    let now = unsafe { record(text.as_mut_ptr(), length) };
    text.truncate(now);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Takes the link of a NIC away, or gives it back.
pub(crate) fn link(index: usize, up: bool) -> Result<(), Box<dyn Error>> {
    // SAFETY: the library's function of that name has this type.
    let link: extern "C" fn(usize, bool) -> c_int =
        unsafe { std::mem::transmute(find(c"oxshmem_nic_link")?) };
    if link(index, up) == 0 { Ok(()) } else { Err(format!("NIC {index} has no link to change").into()) }
}

/// Fails if anything was refused.
pub(crate) fn is_empty() -> Result<(), Box<dyn Error>> {
    let text = text()?;
    if text.is_empty() { Ok(()) } else { Err(format!("refused, or against the NIC's rules:\n{text}").into()) }
}

/// Fails unless something that contains `part` was refused.
pub(crate) fn says(part: &str) -> Result<(), Box<dyn Error>> {
    let text = text()?;
    if text.contains(part) {
        Ok(())
    } else {
        Err(format!("nothing was said of {part:?}; only:\n{text}").into())
    }
}
