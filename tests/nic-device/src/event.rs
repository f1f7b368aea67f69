//! What the NIC reports on its own, on its way to the program: by sockets whose other ends libibverbs and libmlx5 read.

use crate::attribute::Refusal;
use crate::file::File;
use crate::object::Object;
use crate::system;
use oxshmem_emulator::nic::Event;
use oxshmem_emulator::nic::command::Created;
use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// The end of a socket pair to which events go. Dropping it closes it.
pub(crate) struct Sender(c_int);

impl Sender {
    /// Sends an event. One that has no room, or no reader any more, is lost, as with a full queue of a kernel.
    fn send(&self, event: &[u8]) {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: a socket of our own, and a buffer of that length.
        unsafe { libc::send(self.0, event.as_ptr().cast(), event.len(), flags) };
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        system::close(self.0);
    }
}

/// A socket pair that keeps events apart: the descriptor to read from, and the end to send to.
pub(crate) fn pair() -> Result<(u32, Sender), Refusal> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: an array of two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Err(Refusal::new(libc::EMFILE, "no sockets for events"));
    }
    Ok((ends[0] as u32, Sender(ends[1])))
}

/// Asynchronous events of verbs on their way.
pub(crate) struct Stream {
    reader: u32,
    sender: Sender,
}

/// `struct ib_uverbs_async_event_desc`: the element, the type, a reserved word.
type Descriptor = [u8; 16];

impl Stream {
    pub(crate) fn new(reader: u32, sender: Sender) -> Self {
        Stream { reader, sender }
    }

    /// Takes back what was sent of an element and not read yet; how many events.
    fn withdraw(&self, element: u64) -> u32 {
        let mut others = Vec::new();
        let mut count = 0;
        loop {
            let mut event: Descriptor = [0; 16];
            // SAFETY: the other end of our own socket, which libibverbs keeps open for as long as the device, and a
            // buffer of that length.
            let length = unsafe {
                libc::recv(self.reader as c_int, event.as_mut_ptr().cast(), event.len(), libc::MSG_DONTWAIT)
            };
            if length != event.len() as isize {
                break;
            }
            if event[..8] == element.to_ne_bytes() {
                count += 1;
            } else {
                others.push(event);
            }
        }
        others.iter().for_each(|event| self.sender.send(event));
        count
    }
}

/// What a channel of DEVX was asked to report.
pub(crate) struct Subscription {
    pub(crate) created: Created,
    /// The firmware's type of the event.
    pub(crate) kind: u16,
    pub(crate) cookie: u64,
}

/// A channel for events of DEVX.
pub(crate) struct Channel {
    reader: u32,
    sender: Sender,
    subscriptions: Mutex<Vec<Subscription>>,
}

impl Channel {
    pub(crate) fn new(reader: u32, sender: Sender) -> Self {
        Channel { reader, sender, subscriptions: Mutex::default() }
    }

    pub(crate) fn is_read_from(&self, descriptor: u32) -> bool {
        self.reader == descriptor
    }

    pub(crate) fn add(&self, subscription: Subscription) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).push(subscription);
    }

    /// Sends the cookie and an event queue entry, of which the second byte is the type.
    fn report(&self, created: Created, kind: u16) {
        for subscription in &*self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner) {
            if (subscription.created, subscription.kind) == (created, kind) {
                let mut event = [0; 8 + 64];
                event[..8].copy_from_slice(&subscription.cookie.to_ne_bytes());
                event[9] = kind as u8;
                self.sender.send(&event);
            }
        }
    }
}

/// Hands an event on to who has a device open.
pub(crate) fn hand_on(file: &File, event: Event) {
    // Of whom, its number in `enum ibv_event_type`, and the firmware's.
    let (created, verbs, firmware) = match event {
        Event::CompletionQueueError { cqn } => (Some(Created::Cq(cqn)), 0, 0x04),
        Event::QueuePairFatal { qpn } => (Some(Created::Qp(qpn)), 1, 0x05),
        Event::QueuePairRequest { qpn } => (Some(Created::Qp(qpn)), 2, 0x10),
        Event::QueuePairAccess { qpn } => (Some(Created::Qp(qpn)), 3, 0x11),
        Event::PortUp => (None, 9, 0x09),
        Event::PortDown => (None, 10, 0x09),
        // Completions are polled for: there are no channels for them.
        _ => return,
    };
    // The element by which the program knows it: the address of its queue, or the number of the port.
    let mut element = created.is_none().then_some(1);
    file.each(|object| match object {
        Object::Queue { created: this, user, reported, .. } if created == Some(*this) => {
            reported.fetch_add(1, Ordering::Relaxed);
            element = Some(*user);
        }
        Object::Channel(channel) => {
            if let Some(created) = created {
                channel.report(created, firmware);
            }
        }
        _ => {}
    });
    // A queue of DEVX has none.
    let Some(element) = element else { return };
    let mut bytes: Descriptor = [0; 16];
    bytes[..8].copy_from_slice(&u64::to_ne_bytes(element));
    bytes[8..12].copy_from_slice(&u32::to_ne_bytes(verbs));
    file.each(|object| {
        if let Object::Events(stream) = object {
            stream.sender.send(&bytes);
        }
    });
}

/// How many events of a queue the program has read: libibverbs waits at the queue's end until as many were acknowledged.
/// Those that it has not read are taken back.
pub(crate) fn read_of(file: &File, queue: u32) -> u32 {
    let found = file.find(queue, |object| match object {
        Object::Queue { user, reported, .. } => Some((*user, reported.load(Ordering::Relaxed))),
        _ => None,
    });
    let Ok((user, mut count)) = found else { return 0 };
    file.each(|object| {
        if let Object::Events(stream) = object {
            count = count.saturating_sub(stream.withdraw(user));
        }
    });
    count
}
