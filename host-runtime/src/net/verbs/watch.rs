//! Queue pairs of ours that went to the error state: events of objects that commands to the firmware made.

use super::context::Context;
use super::dv::DevxEventChannel;
use super::error::Result;
use super::qp::Qp;
use std::ptr::NonNull;
use std::sync::Arc;

/// Event types of the firmware (programmer's reference, "event queue entry").
const FATAL: u16 = 0x05;
const BAD_REQUEST: u16 = 0x10;
const ACCESS: u16 = 0x11;

/// Bytes of an event: the cookie, then the event queue entry, whose second byte is the type.
const EVENT: usize = 8 + 64;

/// Why a queue pair went to the error state by itself. A failed work request has a completion and no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpFault {
    /// Its queue or doorbell record cannot be read, or its completion queue overran.
    Fatal,
    /// The peer sent what is no request.
    BadRequest,
    /// The peer asked for what it may not do.
    Access,
    /// Another event of the firmware, by its type.
    Other(u8),
}

/// Reports queue pairs that went to the error state.
#[derive(Debug)]
pub struct QpWatch {
    context: Arc<Context>,
    pointer: NonNull<DevxEventChannel>,
}

// SAFETY: libmlx5's channel is read and subscribed to by system calls alone.
unsafe impl Send for QpWatch {}
// SAFETY: as above.
unsafe impl Sync for QpWatch {}

impl QpWatch {
    /// Opens a channel for events.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn new(context: &Arc<Context>) -> Result<Self> {
        // SAFETY: an open context; 0 asks for events with their data.
        let made =
            unsafe { (context.library.mlx5.mlx5dv_devx_create_event_channel)(context.pointer.as_ptr(), 0) };
        match NonNull::new(made) {
            Some(pointer) => Ok(QpWatch { context: Arc::clone(context), pointer }),
            None => Err(context.failed("mlx5dv_devx_create_event_channel", "")),
        }
    }

    /// Reports the queue pair from now on, by its number, for as long as it is there.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn add(&self, qp: &Qp) -> Result<()> {
        let mut kinds = [FATAL, BAD_REQUEST, ACCESS];
        // SAFETY: a channel and an object that live; the kinds are an array of that many bytes.
        let code = unsafe {
            (self.context.library.mlx5.mlx5dv_devx_subscribe_devx_event)(
                self.pointer.as_ptr(),
                qp.object.pointer(),
                size_of_val(&kinds) as u16,
                kinds.as_mut_ptr(),
                u64::from(qp.number()),
            )
        };
        self.context.check("mlx5dv_devx_subscribe_devx_event", code)
    }

    /// The next queue pair that went to the error state, by its number, if there is one.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn next(&self) -> Result<Option<(u32, QpFault)>> {
        // SAFETY: a channel that lives, whose descriptor the library does not change.
        if !self.context.is_readable(unsafe { (*self.pointer.as_ptr()).fd })? {
            return Ok(None);
        }
        let mut event = [0_u64; EVENT / 8];
        // SAFETY: a channel that lives, and a buffer of that many bytes.
        let length = unsafe {
            (self.context.library.mlx5.mlx5dv_devx_get_event)(
                self.pointer.as_ptr(),
                event.as_mut_ptr().cast(),
                EVENT,
            )
        };
        if length < 10 {
            return Err(self.context.failed("mlx5dv_devx_get_event", ""));
        }
        let [_, kind, ..] = event[1].to_ne_bytes();
        let fault = match u16::from(kind) {
            FATAL => QpFault::Fatal,
            BAD_REQUEST => QpFault::BadRequest,
            ACCESS => QpFault::Access,
            _ => QpFault::Other(kind),
        };
        // The cookie is the number that it was added by.
        Ok(Some((event[0] as u32, fault)))
    }
}

impl Drop for QpWatch {
    fn drop(&mut self) {
        // SAFETY: the channel is this one's own.
        unsafe { (self.context.library.mlx5.mlx5dv_devx_destroy_event_channel)(self.pointer.as_ptr()) };
    }
}
