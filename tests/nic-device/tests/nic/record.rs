//! What the preloaded library has refused, and where the NIC's rules were broken.

use std::error::Error;

type Record = unsafe extern "C" fn(*mut u8, usize) -> usize;

/// The record so far.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"oxshmem_nic_record".as_ptr()) };
    if found.is_null() {
        return Err("the library of the emulated device is not preloaded".into());
    }
    // SAFETY: the library's function of that name has this type.
    let record: Record = unsafe { std::mem::transmute(found) };
    let mut text = vec![0; 1 << 20];
    // SAFETY: a buffer of that length.
    let length = unsafe { record(text.as_mut_ptr(), text.len()) };
    text.truncate(length);
    Ok(String::from_utf8_lossy(&text).into_owned())
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
