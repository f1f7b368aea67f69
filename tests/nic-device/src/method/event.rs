//! Descriptors from which events are read.

use crate::attribute::{Answer, Call, Refusal};
use crate::event::{self, Channel, Stream, Subscription};
use crate::file::File;
use crate::object::Object;

/// Asynchronous events of verbs.
pub(super) fn allocate(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0])?;
    let (reader, sender) = event::pair()?;
    file.insert(Object::Events(Stream::new(reader, sender)), &[]);
    call.give_handle(0, reader)
}

/// Events of DEVX objects.
pub(super) fn allocate_channel(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0x1000, 0x1001])?;
    if call.number(0x1001)? != 0 {
        return Err(Refusal::new(
            libc::EOPNOTSUPP,
            "a channel that leaves the events' data out is not supported",
        ));
    }
    let (reader, sender) = event::pair()?;
    file.insert(Object::Channel(Channel::new(reader, sender)), &[]);
    call.give_handle(0x1000, reader)
}

/// Subscribes to events of an object; those of none, which are the device's, are not offered.
pub(super) fn subscribe(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0x1000, 0x1001, 0x1002, 0x1004])?;
    let (reader, handle, cookie) = (call.handle(0x1000)?, call.handle(0x1001)?, call.number(0x1004)?);
    let created = file.find(handle, |object| match object {
        Object::Devx(created) => Some(*created),
        _ => None,
    })?;
    let kinds = call.bytes(0x1002).unwrap_or_default();
    let kinds = kinds.chunks_exact(2).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    let mut found = false;
    for kind in kinds {
        file.each(|object| {
            if let Object::Channel(channel) = object
                && channel.is_read_from(reader)
            {
                channel.add(Subscription { created, kind, cookie });
                found = true;
            }
        });
    }
    if found {
        return Ok(());
    }
    Err(Refusal::new(
        libc::EINVAL,
        format!("descriptor {reader} is of no channel, or there is no kind of events"),
    ))
}
