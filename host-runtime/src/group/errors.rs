//! Errors as processes tell them to each other: what a program may want to tell apart keeps its type, the rest keeps its
//! words.

use crate::error::Error;
use crate::failure::{Failure, KernelPanic, Place};
use crate::intern::intern;
use crate::wire::{Malformed, Reader, Writer};
use oxshmem_device::Cmp;
use oxshmem_device::abi::{Cause, Operation};
use std::time::Duration;

/// Longest text of an error, in bytes; a longer one is cut.
const TEXT: usize = 4096;
/// Longest name of a kernel or a type.
const NAME: usize = 256;
/// Most PEs of which something is told.
const MANY: usize = 1024;

fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

pub(super) fn write_text(to: &mut Writer, text: &str) {
    to.str(cut(text, TEXT));
}

pub(super) fn read_text(from: &mut Reader<'_>) -> Result<String, Malformed> {
    from.str(TEXT).map(str::to_owned)
}

pub(super) fn write_name(to: &mut Writer, name: &str) {
    to.str(cut(name, NAME));
}

/// A name that lives as long as the process.
pub(super) fn read_name(from: &mut Reader<'_>) -> Result<&'static str, Malformed> {
    from.str(NAME).map(intern)
}

/// A list of at most `limit` items.
pub(super) fn read_list<T>(
    from: &mut Reader<'_>,
    limit: usize,
    mut item: impl FnMut(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let length = from.u32()? as usize;
    if length > limit {
        return Err(Malformed::TooLong { length, limit });
    }
    // Grows with what is really there.
    let mut items = Vec::new();
    for _ in 0..length {
        items.push(item(from)?);
    }
    Ok(items)
}

fn write_pes(to: &mut Writer, pes: &[u32]) {
    to.u32(pes.len().min(MANY) as u32);
    pes.iter().take(MANY).for_each(|pe| _ = to.u32(*pe));
}

fn read_pes(from: &mut Reader<'_>) -> Result<Vec<u32>, Malformed> {
    read_list(from, MANY, |from| from.u32())
}

fn write_time(to: &mut Writer, time: Duration) {
    to.u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

fn read_time(from: &mut Reader<'_>) -> Result<Duration, Malformed> {
    from.u64().map(Duration::from_nanos)
}

fn write_triple(to: &mut Writer, triple: [u32; 3]) {
    triple.iter().for_each(|value| _ = to.u32(*value));
}

fn read_triple(from: &mut Reader<'_>) -> Result<[u32; 3], Malformed> {
    Ok([from.u32()?, from.u32()?, from.u32()?])
}

/// Writes an error.
pub(super) fn write_error(to: &mut Writer, error: &Error) {
    match error {
        Error::PeFailed { pe, cause } => {
            to.u8(1).u32(*pe);
            write_error(to, cause.root());
        }
        Error::Poisoned(failure) => {
            to.u8(2);
            write_failure(to, failure);
        }
        Error::KernelFailed(panic) => {
            to.u8(3);
            write_panic(to, panic);
        }
        Error::PePanicked { pe, message } => {
            to.u8(4).u32(*pe);
            write_text(to, message);
        }
        Error::OutOfMemory { what, asked, available, limit } => {
            to.u8(5);
            write_name(to, what);
            to.u64(*asked).u64(*available).u64(*limit);
        }
        Error::SizeOverflow { elements, element_bytes } => _ = to.u8(6).u64(*elements).u64(*element_bytes),
        Error::CallsDiffer { calls } => {
            to.u8(7).u32(calls.len().min(MANY) as u32);
            calls.iter().take(MANY).for_each(|call| write_name(to, call));
        }
        Error::Absent { pe, call, missing, in_kernels, stopped, waited } => {
            to.u8(8).u32(*pe);
            write_text(to, call);
            write_pes(to, missing);
            write_pes(to, in_kernels);
            write_pes(to, stopped);
            write_time(to, *waited);
        }
        Error::Returned { pe, call, returned } => {
            to.u8(9).u32(*pe);
            write_text(to, call);
            write_pes(to, returned);
        }
        Error::PeLost { pe, pid, how } => {
            to.u8(10).u32(*pe).u32(*pid);
            write_text(to, how);
        }
        Error::StreamStuck { pe, kernel, launch, stream, waited, why } => {
            to.u8(11).u32(*pe);
            write_name(to, kernel);
            to.u32(*launch).u32(*stream);
            write_time(to, *waited);
            write_name(to, why);
        }
        Error::Missing { pe, n_pes, missing, waited } => {
            to.u8(12).u32(*pe).u32(*n_pes);
            write_pes(to, missing);
            write_time(to, *waited);
        }
        Error::ProcessesDiffer { what, one, other } => {
            to.u8(13);
            write_name(to, what);
            for (pe, value) in [one, other] {
                to.u32(*pe);
                write_text(to, value);
            }
        }
        Error::NotJoined { pe, doing, why } => {
            to.u8(14).u32(*pe);
            write_name(to, doing);
            write_text(to, why);
        }
        Error::GlobalExit { pe, status } => _ = to.u8(15).u32(*pe).u32(status.cast_unsigned()),
        Error::ArgumentsDiffer { call, what, one, other } => {
            to.u8(16);
            write_name(to, call);
            write_name(to, what);
            for (pe, value) in [one, other] {
                to.u32(*pe);
                write_text(to, value);
            }
        }
        other => {
            to.u8(0);
            write_text(to, &other.to_string());
        }
    }
}

/// Reads an error.
pub(super) fn read_error(from: &mut Reader<'_>) -> Result<Error, Malformed> {
    match from.u8()? {
        1 => {
            let (pe, cause) = (from.u32()?, from.u8()?);
            Ok(Error::PeFailed { pe, cause: Box::new(read_root(from, cause)?) })
        }
        kind => read_root(from, kind),
    }
}

/// Reads an error of this kind that is no consequence of another one.
fn read_root(from: &mut Reader<'_>, kind: u8) -> Result<Error, Malformed> {
    Ok(match kind {
        0 => Error::other(read_text(from)?),
        2 => Error::Poisoned(Box::new(read_failure(from)?)),
        3 => Error::KernelFailed(Box::new(read_panic(from)?)),
        4 => Error::PePanicked { pe: from.u32()?, message: read_text(from)? },
        5 => Error::OutOfMemory {
            what: read_name(from)?,
            asked: from.u64()?,
            available: from.u64()?,
            limit: from.u64()?,
        },
        6 => Error::SizeOverflow { elements: from.u64()?, element_bytes: from.u64()? },
        7 => Error::CallsDiffer { calls: read_list(from, MANY, |from| from.str(NAME).map(str::to_owned))? },
        8 => Error::Absent {
            pe: from.u32()?,
            call: read_text(from)?,
            missing: read_pes(from)?,
            in_kernels: read_pes(from)?,
            stopped: read_pes(from)?,
            waited: read_time(from)?,
        },
        9 => Error::Returned { pe: from.u32()?, call: read_text(from)?, returned: read_pes(from)? },
        10 => Error::PeLost { pe: from.u32()?, pid: from.u32()?, how: read_text(from)? },
        11 => Error::StreamStuck {
            pe: from.u32()?,
            kernel: read_name(from)?,
            launch: from.u32()?,
            stream: from.u32()?,
            waited: read_time(from)?,
            why: read_name(from)?,
        },
        12 => Error::Missing {
            pe: from.u32()?,
            n_pes: from.u32()?,
            missing: read_pes(from)?,
            waited: read_time(from)?,
        },
        13 => Error::ProcessesDiffer {
            what: read_name(from)?,
            one: (from.u32()?, read_text(from)?),
            other: (from.u32()?, read_text(from)?),
        },
        15 => Error::GlobalExit { pe: from.u32()?, status: from.u32()?.cast_signed() },
        16 => Error::ArgumentsDiffer {
            call: read_name(from)?,
            what: read_name(from)?,
            one: (from.u32()?, read_text(from)?),
            other: (from.u32()?, read_text(from)?),
        },
        14 => Error::NotJoined { pe: from.u32()?, doing: read_name(from)?, why: read_text(from)? },
        other => return Err(Malformed::Unknown(other.into())),
    })
}

fn write_failure(to: &mut Writer, failure: &Failure) {
    to.u32(failure.pe).u32(failure.cause as u32).u32(failure.operation as u32);
    to.option(failure.cmp, |to, cmp| _ = to.u32(cmp as u32));
    to.option(failure.peer, |to, peer| _ = to.u32(peer));
    to.u64(failure.offset);
    match &failure.place {
        Place::Control(what) => {
            to.u8(1);
            write_name(to, what);
        }
        Place::Allocation { number, holds, element } => {
            to.u8(2).u64(*number);
            write_name(to, holds);
            to.u64(*element);
        }
        Place::Nothing => _ = to.u8(0),
    }
    to.u64(failure.expected).u64(failure.seen);
    write_time(to, failure.deadline);
    to.option(failure.kernel, write_name);
    to.u32(failure.launch);
    to.option(failure.node, |to, node| _ = to.u32(node));
    write_triple(to, failure.block);
    write_triple(to, failure.thread);
}

fn read_failure(from: &mut Reader<'_>) -> Result<Failure, Malformed> {
    let pe = from.u32()?;
    let cause = from.u32()?;
    let cause = Cause::from_number(cause).ok_or(Malformed::Unknown(cause))?;
    let operation = from.u32()?;
    let operation = Operation::from_number(operation).ok_or(Malformed::Unknown(operation))?;
    let cmp = match from.option(Reader::u32)? {
        Some(cmp) => Some(Cmp::from_number(cmp).ok_or(Malformed::Unknown(cmp))?),
        None => None,
    };
    Ok(Failure {
        pe,
        cause,
        operation,
        cmp,
        peer: from.option(Reader::u32)?,
        offset: from.u64()?,
        place: match from.u8()? {
            0 => Place::Nothing,
            1 => Place::Control(read_name(from)?),
            2 => Place::Allocation { number: from.u64()?, holds: read_name(from)?, element: from.u64()? },
            other => return Err(Malformed::Unknown(other.into())),
        },
        expected: from.u64()?,
        seen: from.u64()?,
        deadline: read_time(from)?,
        kernel: from.option(read_name)?,
        launch: from.u32()?,
        node: from.option(Reader::u32)?,
        block: read_triple(from)?,
        thread: read_triple(from)?,
    })
}

fn write_panic(to: &mut Writer, panic: &KernelPanic) {
    to.u32(panic.pe);
    write_text(to, &panic.kernel);
    write_triple(to, panic.block);
    write_triple(to, panic.thread);
    write_text(to, &panic.message);
    to.option(panic.at.as_deref(), write_text);
    to.option(panic.last_operation.as_deref(), write_text);
}

fn read_panic(from: &mut Reader<'_>) -> Result<KernelPanic, Malformed> {
    Ok(KernelPanic {
        pe: from.u32()?,
        kernel: read_text(from)?,
        block: read_triple(from)?,
        thread: read_triple(from)?,
        message: read_text(from)?,
        at: from.option(read_text)?,
        last_operation: from.option(read_text)?,
    })
}
