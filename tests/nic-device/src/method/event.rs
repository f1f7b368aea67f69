//! The descriptor of asynchronous events: a pipe into which the NIC's reports are written.

use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;
use crate::object::Object;

/// Gives the end from which events are read.
pub(super) fn allocate(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0])?;
    let mut ends = [0; 2];
    // SAFETY: an array of two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(Refusal::new(libc::EMFILE, "no pipe for asynchronous events"));
    }
    let [reader, writer] = ends;
    // SAFETY: the new pipe's reading end, from which libibverbs reads, and waits.
    unsafe { libc::fcntl(reader, libc::F_SETFL, 0) };
    file.insert(Object::Events { writer }, &[]);
    call.give_handle(0, reader as u32)
}
