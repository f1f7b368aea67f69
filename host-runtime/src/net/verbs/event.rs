//! What a NIC reports on its own.

use super::abi::{IbvAsyncEvent, IbvQp};
use super::context::Context;
use super::error::Result;
use std::ffi::c_int;
use std::io;

/// What a NIC reports on its own. Queue pairs that were made by commands to the firmware are not among it: see
/// [`QpWatch`](super::QpWatch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A queue pair of libmlx5's went to the error state.
    QueuePair {
        /// Which.
        qpn: u32,
        /// `ibv_event_type`: fatal 1, bad request 2, access violation 3.
        code: i32,
    },
    /// The device failed as a whole.
    DeviceFailed,
    /// A port has a link again.
    PortUp {
        /// Which, from 1.
        port: u8,
    },
    /// A port lost its link.
    PortDown {
        /// Which, from 1.
        port: u8,
    },
    /// A port's addresses or keys changed.
    PortChanged {
        /// Which, from 1.
        port: u8,
    },
    /// Anything else.
    Other {
        /// `ibv_event_type`.
        code: i32,
    },
}

impl Context {
    /// Whether there is an event.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn has_event(&self) -> Result<bool> {
        // SAFETY: an open context, whose descriptor the library does not change.
        self.is_readable(unsafe { (*self.pointer.as_ptr()).async_fd })
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn event(&self) -> Result<Option<Event>> {
        if !self.has_event()? {
            return Ok(None);
        }
        let mut event = IbvAsyncEvent { element: 0, event_type: 0 };
        // SAFETY: an open context; an event is there, so the call does not wait.
        let code = unsafe { (self.library.verbs.ibv_get_async_event)(self.pointer.as_ptr(), &raw mut event) };
        self.check("ibv_get_async_event", code)?;
        let port = event.element as u8;
        let told = match event.event_type {
            code @ 1..=3 => {
                // SAFETY: for these types the element is a queue pair, which lives until the event is acknowledged.
                let qpn = unsafe { (*(event.element as *const IbvQp)).qp_num };
                Event::QueuePair { qpn, code }
            }
            8 => Event::DeviceFailed,
            9 => Event::PortUp { port },
            10 => Event::PortDown { port },
            11 | 12 | 13 | 17 | 18 => Event::PortChanged { port },
            code => Event::Other { code },
        };
        // SAFETY: the event came from the library and is acknowledged once.
        unsafe { (self.library.verbs.ibv_ack_async_event)(&raw mut event) };
        Ok(Some(told))
    }

    /// Whether an event waits at a descriptor.
    pub(super) fn is_readable(&self, fd: c_int) -> Result<bool> {
        let mut asked = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor to be asked without waiting.
        match unsafe { libc::poll(&raw mut asked, 1, 0) } {
            0 => Ok(false),
            1 => Ok(true),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(false),
            _ => Err(self.failed("poll of events", "")),
        }
    }
}
