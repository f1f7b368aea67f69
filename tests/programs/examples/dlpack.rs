//! What `dlpack.py` calls: a PE whose kernels use arrays of Python's, which come as DLPack's tensors. A C interface: each
//! function that can fail returns 0, or writes its message into `message`, of `room` bytes, and returns 1.

use oxshmem::dlpack::{Managed, ManagedVersioned, Tensor};
use oxshmem::{Error, LaunchConfig, Result, Session};
use oxshmem_programs::kernels::registered;
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// Makes this process a PE and returns it, or null.
///
/// # Safety
/// `message` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_start(message: *mut c_char, room: usize) -> *mut Session {
    match oxshmem::init() {
        Ok(session) => Box::into_raw(Box::new(session)),
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { say(&error, message, room) };
            std::ptr::null_mut()
        }
    }
}

/// This PE's number.
///
/// # Safety
/// `session` comes from [`oxshmem_start`] and was not ended, and this is the thread that called that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_my_pe(session: *const Session) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { &*session }.my_pe()
}

/// How many PEs the job has.
///
/// # Safety
/// As for [`oxshmem_my_pe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_n_pes(session: *const Session) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { &*session }.n_pes()
}

/// The number of this PE's GPU, or -1 if its device is emulated.
///
/// # Safety
/// As for [`oxshmem_my_pe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_device(session: *const Session) -> i32 {
    // SAFETY: the caller's promise.
    let session = unsafe { &*session };
    if session.is_emulated() { -1 } else { session.device_number() as i32 }
}

/// Collective. A kernel puts `source` into the next PE's memory, and when all have, gets into `target` what the previous PE
/// received. Both tensors hold as many `f32`; they are given up, and deleted when this returns.
///
/// # Safety
/// As for [`oxshmem_my_pe`] and [`oxshmem_start`]; both point to a `DLManagedTensor` of the caller's own, or to a
/// `DLManagedTensorVersioned` where `versioned` is 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_exchange(
    session: *const Session,
    source: *mut c_void,
    target: *mut c_void,
    versioned: i32,
    message: *mut c_char,
    room: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let (source, target) = unsafe { (tensor(source, versioned == 1), tensor(target, versioned == 1)) };
    // SAFETY: as above.
    let session = unsafe { &*session };
    let exchanged = source.and_then(|source| exchange(session, source, target?));
    // SAFETY: as above.
    unsafe { status(exchanged, message, room) }
}

/// Collective. Whether `ok` is 1 on every PE: 1 or 0; -1 if that cannot be told.
///
/// # Safety
/// As for [`oxshmem_my_pe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_agree(session: *const Session, ok: u32) -> i32 {
    // SAFETY: the caller's promise.
    let all = unsafe { &*session }.all_gather(&ok);
    all.map_or(-1, |all| all.iter().all(|&ok| ok == 1).into())
}

/// Ends the PE.
///
/// # Safety
/// As for [`oxshmem_my_pe`] and [`oxshmem_start`]; `session` is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxshmem_end(session: *mut Session, message: *mut c_char, room: usize) -> i32 {
    // SAFETY: the caller's promise.
    let ended = unsafe { Box::from_raw(session) }.end();
    // SAFETY: as above.
    unsafe { status(ended, message, room) }
}

fn exchange(session: &Session, source: Tensor, target: Tensor) -> Result<()> {
    let source = session.buffer_register_dlpack::<f32>(source)?;
    let target = session.buffer_register_dlpack::<f32>(target)?;
    let inbox = session.alloc_zeroed::<f32>(source.len())?;
    let config = LaunchConfig::blocks(1).threads(128);
    registered::exchange::launch(session, config, &inbox, &source, &target)?;
    session.barrier_all()?;
    session.buffer_unregister(source)?;
    session.buffer_unregister(target)
}

/// # Safety
/// That of [`oxshmem_exchange`].
unsafe fn tensor(managed: *mut c_void, versioned: bool) -> Result<Tensor> {
    let managed = NonNull::new(managed).ok_or_else(|| Error::other("a capsule points to nothing"))?;
    // SAFETY: the caller's promise. Python's deleters take the interpreter's lock themselves.
    Ok(unsafe {
        if versioned {
            Tensor::from_versioned(managed.cast::<ManagedVersioned>())
        } else {
            Tensor::from_managed(managed.cast::<Managed>())
        }
    })
}

/// # Safety
/// That of [`oxshmem_start`].
unsafe fn status(result: Result<()>, message: *mut c_char, room: usize) -> i32 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { say(&error, message, room) };
            1
        }
    }
}

/// # Safety
/// That of [`oxshmem_start`].
unsafe fn say(error: &Error, message: *mut c_char, room: usize) {
    let text = error.to_string();
    let bytes = text.len().min(room.saturating_sub(1));
    if room > 0 {
        // SAFETY: the caller's promise; at most `room` bytes with the 0 at the end.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), message.cast::<u8>(), bytes);
            message.add(bytes).write(0);
        }
    }
}
