//! Results of driver calls as errors that say which call failed and what oxshmem was doing.

use crate::error::{Error, Result};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};

/// A driver call as a `Result`: `unsafe { cu!(cuInit(0), "starting CUDA") }?`.
macro_rules! cu {
    ($call:ident($($argument:expr),* $(,)?), $doing:expr) => {
        $crate::driver::cuda::check::check(
            cudarc::driver::sys::$call($($argument),*),
            stringify!($call),
            $doing,
        )
    };
}
pub(super) use cu;

/// Turns a result into ours.
pub(super) fn check(result: CUresult, call: &'static str, doing: &'static str) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let (code, name, text) = (result as u32, name(result), text(result));
    match result {
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_ASSERT
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUresult::CUDA_ERROR_INVALID_PC
        | CUresult::CUDA_ERROR_LAUNCH_FAILED => Err(Error::KernelCrashed { code, name, text, doing }),
        _ => Err(Error::Cuda { call, code, name, text, doing }),
    }
}

/// A result's name, as `CUDA_ERROR_INVALID_VALUE`.
pub(super) fn name(result: CUresult) -> String {
    let mut name = std::ptr::null();
    // SAFETY: `name` may be written; the driver gives a string that lives for ever, or leaves null.
    let known = unsafe { sys::cuGetErrorName(result, &mut name) };
    owned(known, name).unwrap_or_else(|| "unknown result".into())
}

fn text(result: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: as in `name`.
    let known = unsafe { sys::cuGetErrorString(result, &mut text) };
    owned(known, text).unwrap_or_else(|| "the driver has no explanation".into())
}

fn owned(known: CUresult, text: *const c_char) -> Option<String> {
    if known != CUresult::CUDA_SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: the driver's strings end in NUL and live for ever.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Whether an error is this result of a driver call.
pub(super) fn is(error: &Error, result: CUresult) -> bool {
    matches!(error, Error::Cuda { code, .. } if *code == result as u32)
}
