//! What the processes of a job say to each other over the connection that each has to PE 0's. A message is read only if
//! it makes sense to its last byte; what a sender may say has a largest size in every part.

use super::call::{Agreed, Arrival, Call};
use super::errors::{read_error, read_list, read_name, read_text, write_error, write_name, write_text};
use crate::alloc::AllocationId;
use crate::driver::DeviceId;
use crate::error::{Error, Result as Outcome};
use crate::wire::{Malformed, Reader, Writer};
use std::sync::Arc;

/// Most PEs of a job.
const PES: usize = crate::env::variables::MAX_PES as usize;
/// Most allocations that one arrival says are released; the rest wait for the next.
pub(crate) const RELEASED: usize = 1 << 15;
/// Most that all PEs are told of at once.
pub(super) const RELEASED_BY_ALL: usize = 1 << 15;
/// Most bytes of a PE in an all_gather.
pub(crate) const GATHERED: usize = 512;

/// The first message of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) pid: u32,
    /// The version of oxshmem and of its layouts.
    pub(crate) version: String,
    /// Which system it runs on.
    pub(crate) host: String,
    /// Where it hands out its heap memory.
    pub(crate) exchange: String,
}

/// What all processes must have alike, and what they need of each other's device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// What must be equal: a name and a value each.
    pub(crate) alike: Vec<(String, String)>,
    pub(crate) device: DeviceFacts,
}

/// What processes need to know of each other's device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceFacts {
    pub(crate) id: DeviceId,
    pub(crate) name: String,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Bytes by which that is handed out.
    pub(crate) granule: u64,
}

/// What all processes know of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Where it hands out its heap memory.
    pub(crate) exchange: String,
    pub(crate) device: DeviceFacts,
}

/// What a process is told when all have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    /// By PE.
    pub(crate) peers: Vec<Peer>,
    /// Where the tags of allocations start.
    pub(crate) tags: u64,
}

/// What a PE says.
#[derive(Clone, Debug)]
pub(crate) enum FromPe {
    Hello(Hello),
    Ready(Ready),
    Arrival(Box<Arrival>),
    /// It ends because `failed` failed.
    Failed {
        failed: u32,
        error: Error,
    },
    /// Its closure has returned.
    Finished,
}

/// What a PE is told.
#[derive(Clone, Debug)]
pub(crate) enum ToPe {
    Welcome(Welcome),
    /// What became of its arrival of this number.
    Answer {
        number: u32,
        result: Outcome<Agreed>,
    },
    /// A PE failed: the first of all.
    Failed {
        pe: u32,
        error: Error,
    },
    /// The closures of all PEs have returned.
    Ended,
}

impl FromPe {
    /// In bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Hello(hello) => {
                to.u8(0).u32(hello.rank).u32(hello.size).u32(hello.pid);
                [&hello.version, &hello.host, &hello.exchange]
                    .iter()
                    .for_each(|text| write_text(&mut to, text));
            }
            Self::Ready(ready) => {
                to.u8(1).u32(ready.alike.len() as u32);
                for (name, value) in &ready.alike {
                    write_text(&mut to, name);
                    write_text(&mut to, value);
                }
                write_device(&mut to, &ready.device);
            }
            Self::Arrival(arrival) => {
                to.u8(2);
                write_arrival(&mut to, arrival);
            }
            Self::Failed { failed, error } => {
                to.u8(3).u32(*failed);
                write_error(&mut to, error);
            }
            Self::Finished => _ = to.u8(4),
        }
        to.finish()
    }

    /// Out of bytes.
    ///
    /// # Errors
    /// If they are not a message, or something stands behind it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => Self::Hello(Hello {
                rank: from.u32()?,
                size: from.u32()?,
                pid: from.u32()?,
                version: read_text(&mut from)?,
                host: read_text(&mut from)?,
                exchange: read_text(&mut from)?,
            }),
            1 => {
                let alike = read_list(&mut from, 32, |from| Ok((read_text(from)?, read_text(from)?)))?;
                Self::Ready(Ready { alike, device: read_device(&mut from)? })
            }
            2 => Self::Arrival(Box::new(read_arrival(&mut from)?)),
            3 => Self::Failed { failed: from.u32()?, error: read_error(&mut from)? },
            4 => Self::Finished,
            other => return Err(Malformed::Unknown(other.into())),
        };
        from.finish()?;
        Ok(message)
    }
}

impl ToPe {
    /// In bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Welcome(welcome) => {
                to.u8(0).u64(welcome.tags).u32(welcome.peers.len() as u32);
                for peer in &welcome.peers {
                    write_text(&mut to, &peer.exchange);
                    write_device(&mut to, &peer.device);
                }
            }
            Self::Answer { number, result } => {
                to.u8(1).u32(*number);
                match result {
                    Ok(agreed) => {
                        to.bool(true);
                        write_agreed(&mut to, agreed);
                    }
                    Err(error) => {
                        to.bool(false);
                        write_error(&mut to, error);
                    }
                }
            }
            Self::Failed { pe, error } => {
                to.u8(2).u32(*pe);
                write_error(&mut to, error);
            }
            Self::Ended => _ = to.u8(3),
        }
        to.finish()
    }

    /// Out of bytes.
    ///
    /// # Errors
    /// If they are not a message, or something stands behind it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => {
                let tags = from.u64()?;
                let peers = read_list(&mut from, PES, |from| {
                    Ok(Peer { exchange: read_text(from)?, device: read_device(from)? })
                })?;
                Self::Welcome(Welcome { peers, tags })
            }
            1 => {
                let number = from.u32()?;
                let result = match from.bool()? {
                    true => Ok(read_agreed(&mut from)?),
                    false => Err(read_error(&mut from)?),
                };
                Self::Answer { number, result }
            }
            2 => Self::Failed { pe: from.u32()?, error: read_error(&mut from)? },
            3 => Self::Ended,
            other => return Err(Malformed::Unknown(other.into())),
        };
        from.finish()?;
        Ok(message)
    }
}

fn write_device(to: &mut Writer, device: &DeviceFacts) {
    to.bytes(&device.id);
    write_text(to, &device.name);
    to.u64(device.memory).u64(device.granule);
}

fn read_device(from: &mut Reader<'_>) -> Result<DeviceFacts, Malformed> {
    let id = from.bytes(size_of::<DeviceId>())?;
    let id = id.try_into().map_err(|_| Malformed::Short { wanted: size_of::<DeviceId>(), left: id.len() })?;
    Ok(DeviceFacts { id, name: read_text(from)?, memory: from.u64()?, granule: from.u64()? })
}

fn write_call(to: &mut Writer, call: &Call) {
    match call {
        Call::BarrierAll => _ = to.u8(0),
        Call::Alloc { how, holds, elements, element_bytes } => {
            to.u8(1);
            write_name(to, how);
            write_name(to, holds);
            to.u64(*elements).u64(*element_bytes);
        }
        Call::Taken(goal) => _ = to.u8(2).u64(*goal),
        Call::Mapped(goal) => _ = to.u8(3).u64(*goal),
        Call::Filled(id, offset) => _ = to.u8(4).u64(id.0).u64(*offset),
        Call::Free(id) => _ = to.u8(5).u64(id.0),
        Call::Gather { bytes } => _ = to.u8(6).u64(*bytes),
        Call::RecoverDrained => _ = to.u8(7),
        Call::RecoverReset => _ = to.u8(8),
        Call::Team { what, bytes } => {
            to.u8(9);
            write_name(to, what);
            to.u64(*bytes);
        }
    }
}

fn read_call(from: &mut Reader<'_>) -> Result<Call, Malformed> {
    Ok(match from.u8()? {
        0 => Call::BarrierAll,
        1 => Call::Alloc {
            how: read_name(from)?,
            holds: read_name(from)?,
            elements: from.u64()?,
            element_bytes: from.u64()?,
        },
        2 => Call::Taken(from.u64()?),
        3 => Call::Mapped(from.u64()?),
        4 => Call::Filled(AllocationId(from.u64()?), from.u64()?),
        5 => Call::Free(AllocationId(from.u64()?)),
        6 => Call::Gather { bytes: from.u64()? },
        7 => Call::RecoverDrained,
        8 => Call::RecoverReset,
        9 => Call::Team { what: read_name(from)?, bytes: from.u64()? },
        other => return Err(Malformed::Unknown(other.into())),
    })
}

fn write_arrival(to: &mut Writer, arrival: &Arrival) {
    to.u32(arrival.number);
    write_call(to, &arrival.call);
    to.u32(arrival.members.len() as u32);
    arrival.members.iter().for_each(|pe| _ = to.u32(*pe));
    to.option(arrival.trouble.as_ref(), write_error);
    to.option(arrival.recovers_from.as_ref(), write_error);
    write_released(to, &arrival.released);
    to.bytes(&arrival.data);
}

fn read_arrival(from: &mut Reader<'_>) -> Result<Arrival, Malformed> {
    Ok(Arrival {
        number: from.u32()?,
        call: read_call(from)?,
        members: read_list(from, PES, |from| from.u32())?,
        trouble: from.option(read_error)?,
        recovers_from: from.option(read_error)?,
        released: read_released(from, RELEASED)?,
        data: from.bytes(GATHERED)?.to_vec(),
    })
}

fn write_agreed(to: &mut Writer, agreed: &Agreed) {
    write_released(to, &agreed.released);
    to.u32(agreed.gathered.len() as u32);
    agreed.gathered.iter().for_each(|data| _ = to.bytes(data));
}

fn read_agreed(from: &mut Reader<'_>) -> Result<Agreed, Malformed> {
    let released = read_released(from, RELEASED_BY_ALL)?;
    let gathered = read_list(from, PES, |from| from.bytes(GATHERED).map(<[u8]>::to_vec))?;
    Ok(Agreed { released: Arc::new(released), gathered: Arc::new(gathered), allocated: None })
}

fn write_released(to: &mut Writer, released: &[AllocationId]) {
    to.u32(released.len() as u32);
    released.iter().for_each(|id| _ = to.u64(id.0));
}

fn read_released(from: &mut Reader<'_>, limit: usize) -> Result<Vec<AllocationId>, Malformed> {
    read_list(from, limit, |from| from.u64().map(AllocationId))
}
