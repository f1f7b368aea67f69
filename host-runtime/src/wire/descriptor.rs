//! Passing a descriptor to another process over a Unix socket. It goes with one byte, because the kernel does
//! not pass any without.

use super::error::WireError;
use super::stream::Stream;
use super::until::Until;
use rustix::cmsg_space;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// The byte. A message may begin with it too: which of the two comes next is for the two sides to agree on.
const MARK: u8 = b'd';
/// How many descriptors there is room for. More than one is refused, and said by its number up to here.
const ROOM: usize = 4;

/// Sends a descriptor within `limit`.
pub(super) fn send(stream: &Stream, descriptor: BorrowedFd<'_>, limit: Duration) -> Result<(), WireError> {
    let until = Until::after(limit);
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)), "the space is for one descriptor");
    loop {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(stream, &[IoSlice::new(&[MARK])], &mut control, flags) {
            Ok(_) => return Ok(()),
            Err(Errno::AGAIN | Errno::INTR) if until.ready(stream, PollFlags::OUT)? => {}
            Err(Errno::AGAIN | Errno::INTR) => return Err(WireError::Slow { limit }),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits `limit` for a descriptor. It is closed when this process starts another program.
pub(super) fn receive(stream: &Stream, limit: Duration) -> Result<OwnedFd, WireError> {
    let until = Until::after(limit);
    loop {
        match take(stream) {
            Err(WireError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            taken => return taken,
        }
        if !until.ready(stream, PollFlags::IN)? {
            return Err(WireError::Silent { waited: limit });
        }
    }
}

/// Takes what has come.
fn take(stream: &Stream) -> Result<OwnedFd, WireError> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(ROOM))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = loop {
        match recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, flags) {
            Err(Errno::INTR) => {}
            result => break result?,
        }
    };
    // All that came are owned from here on, and closed unless they are handed on.
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    for item in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = item {
            descriptors.extend(passed);
        }
    }
    if message.bytes == 0 {
        return Err(WireError::Closed);
    }
    if byte != [MARK] {
        return Err(WireError::Forged);
    }
    let came = descriptors.len();
    match descriptors.pop() {
        Some(descriptor) if came == 1 && !message.flags.contains(ReturnFlags::CTRUNC) => Ok(descriptor),
        _ => Err(WireError::Descriptors { came }),
    }
}
