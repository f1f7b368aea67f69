//! Commands to the firmware, and objects that are made by them.

use super::context::Context;
use super::dv::DevxObj;
use super::error::{Result, VerbsError};
use super::mailbox::{Answer, TooLarge};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// The bytes of a command, or why it cannot be made.
pub(super) fn encoded<const N: usize>(
    command: &'static str,
    bytes: std::result::Result<[u8; N], TooLarge>,
) -> Result<[u8; N]> {
    bytes.map_err(|source| VerbsError::TooLarge { command, source })
}

impl Context {
    /// Sends a command that is about no object, and fills the answer.
    ///
    /// # Errors
    /// [`Firmware`](VerbsError::Firmware).
    pub fn command(&self, command: &'static str, input: &[u8], answer: &mut [u8]) -> Result<()> {
        // SAFETY: an open context, and two buffers of the lengths that are said.
        let code = unsafe {
            (self.library.mlx5.mlx5dv_devx_general_cmd)(
                self.pointer.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                answer.as_mut_ptr().cast(),
                answer.len(),
            )
        };
        self.judge(command, code, answer)
    }

    fn judge(&self, command: &'static str, code: i32, answer: &[u8]) -> Result<()> {
        let said = Answer::read(answer);
        if code == 0 && said.status == 0 {
            return Ok(());
        }
        Err(VerbsError::Firmware {
            device: self.name().into(),
            command,
            meaning: said.meaning(),
            status: said.status,
            syndrome: said.syndrome,
            errno: code,
        })
    }

    /// The number of the event queue for completion vector 0.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call).
    pub fn event_queue(&self) -> Result<u32> {
        let mut number = 0;
        // SAFETY: an open context; the number may be written.
        let code =
            unsafe { (self.library.mlx5.mlx5dv_devx_query_eqn)(self.pointer.as_ptr(), 0, &raw mut number) };
        self.check("mlx5dv_devx_query_eqn", code)?;
        Ok(number)
    }
}

/// An object of the firmware. Dropping it destroys it.
#[derive(Debug)]
pub(super) struct Object {
    context: Arc<Context>,
    pointer: NonNull<DevxObj>,
}

// SAFETY: libmlx5's functions on an object may be called from any thread; the kernel orders them.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Makes an object, and fills the answer.
    pub(super) fn create(
        context: &Arc<Context>,
        command: &'static str,
        input: &[u8],
        answer: &mut [u8],
    ) -> Result<Self> {
        // SAFETY: an open context, and two buffers of the lengths that are said.
        let made = unsafe {
            (context.library.mlx5.mlx5dv_devx_obj_create)(
                context.pointer.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                answer.as_mut_ptr().cast(),
                answer.len(),
            )
        };
        match NonNull::new(made) {
            Some(pointer) => Ok(Object { context: Arc::clone(context), pointer }),
            None => {
                let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                context.judge(command, errno, answer)?;
                unreachable!("an errno that is not 0 is an error")
            }
        }
    }

    /// Changes it.
    pub(super) fn modify(&self, command: &'static str, input: &[u8]) -> Result<()> {
        let mut answer = [0; 16];
        // SAFETY: an object that lives, and two buffers of the lengths that are said.
        let code = unsafe {
            (self.context.library.mlx5.mlx5dv_devx_obj_modify)(
                self.pointer.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                answer.as_mut_ptr().cast(),
                answer.len(),
            )
        };
        self.context.judge(command, code, &answer)
    }

    /// The library's object.
    pub(super) fn pointer(&self) -> *mut DevxObj {
        self.pointer.as_ptr()
    }

    /// Asks for it, and fills the answer.
    pub(super) fn query(&self, command: &'static str, input: &[u8], answer: &mut [u8]) -> Result<()> {
        // SAFETY: an object that lives, and two buffers of the lengths that are said.
        let code = unsafe {
            (self.context.library.mlx5.mlx5dv_devx_obj_query)(
                self.pointer.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                answer.as_mut_ptr().cast(),
                answer.len(),
            )
        };
        self.context.judge(command, code, answer)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object is this one's own, and what uses it keeps it.
        let code = unsafe { (self.context.library.mlx5.mlx5dv_devx_obj_destroy)(self.pointer.as_ptr()) };
        if code != 0 {
            tracing::warn!(
                device = self.context.name(),
                code,
                "an object of the NIC's firmware could not be destroyed"
            );
        }
    }
}
