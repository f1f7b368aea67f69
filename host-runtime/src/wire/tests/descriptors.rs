//! Descriptors that are passed.

use super::{LONG, SHORT, both, half_proven, proven, unused_name};
use crate::wire::WireError;
use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::{FdFlags, fcntl_getfd, pread, pwrite};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

fn memory() -> OwnedFd {
    let memory = memfd_create("oxshmem-test", MemfdFlags::CLOEXEC).unwrap();
    pwrite(&memory, b"shared", 0).unwrap();
    memory
}

#[test]
fn a_descriptor_is_the_same_file_at_the_other_side() {
    let (mut ours, mut theirs) = proven(&unused_name());
    let memory = memory();
    ours.send(b"before").unwrap();
    ours.send_descriptor(memory.as_fd()).unwrap();
    ours.send(b"after").unwrap();
    assert_eq!(theirs.receive(Some(LONG)).unwrap(), b"before");
    let passed = theirs.receive_descriptor(LONG).unwrap();
    assert_eq!(theirs.receive(Some(LONG)).unwrap(), b"after");

    assert_eq!(fstat(&passed).unwrap().st_ino, fstat(&memory).unwrap().st_ino);
    assert!(fcntl_getfd(&passed).unwrap().contains(FdFlags::CLOEXEC));
    pwrite(&memory, b"S", 0).unwrap();
    let mut read = [0; 6];
    pread(&passed, &mut read, 0).unwrap();
    assert_eq!(&read, b"Shared");
}

#[test]
fn no_descriptor_goes_over_tcp() {
    let [tcp, _] = both();
    let (mut ours, mut theirs) = proven(&tcp);
    assert!(matches!(ours.send_descriptor(memory().as_fd()), Err(WireError::NotUnix)));
    assert!(matches!(theirs.receive_descriptor(SHORT), Err(WireError::NotUnix)));
    ours.send(b"as before").unwrap();
    assert_eq!(theirs.receive(Some(LONG)).unwrap(), b"as before");
}

#[test]
fn another_number_of_descriptors_is_refused_and_all_are_closed() {
    for count in [0, 2, 3, 9] {
        let (mut ours, theirs, _) = half_proven();
        let (mut read, write) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&read, true).unwrap();
        let descriptors = vec![write.as_fd(); count];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(9))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(count == 0 || control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(&theirs, &[IoSlice::new(b"d")], &mut control, SendFlags::empty()).unwrap();
        let error = ours.receive_descriptor(LONG).unwrap_err();
        // What there was no room for the kernel has closed.
        assert!(
            matches!(error, WireError::Descriptors { came } if came == count || 1 < came && came < count),
            "{count}: {error}"
        );
        drop(write);
        // The end of the pipe is seen only if nobody can write to it any more.
        assert_eq!(read.read(&mut [0]).ok(), Some(0), "{count}: one is still open");
        assert!(matches!(ours.receive_descriptor(LONG), Err(WireError::Closed)));
    }
}

#[test]
fn a_message_is_no_descriptor_and_silence_is_no_fault() {
    let (mut ours, mut theirs) = proven(&unused_name());
    assert!(matches!(ours.receive_descriptor(SHORT), Err(WireError::Silent { waited: SHORT })));
    theirs.send(b"message").unwrap();
    assert!(matches!(ours.receive_descriptor(LONG), Err(WireError::Forged)));
    assert!(matches!(theirs.receive_descriptor(LONG), Err(WireError::Closed)));
}
