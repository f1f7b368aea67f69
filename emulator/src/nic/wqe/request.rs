//! Whole entries.

use super::atomic::Atomic;
use super::control::{BLOCK, Control, long, word};
use super::data::{Data, Source, landing, length, pointers, source};
use crate::nic::packet::LONGEST;
use crate::nic::regions::Broken;
use crate::nic::violation::Rule;

const NOP: u8 = 0x00;
const SEND_INVALIDATE: u8 = 0x01;
const WRITE: u8 = 0x08;
const WRITE_IMMEDIATE: u8 = 0x09;
const SEND: u8 = 0x0a;
const SEND_IMMEDIATE: u8 = 0x0b;
const WAIT: u8 = 0x0f;
const READ: u8 = 0x10;
const DUMP: u8 = 0x23;
const UMR: u8 = 0x25;
const MMO: u8 = 0x2f;

/// A place in the peer's memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::nic) struct Remote {
    pub(in crate::nic) address: u64,
    pub(in crate::nic) key: u32,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(in crate::nic) enum Operation {
    Nop,
    Dump(Data),
    Write { to: Remote, source: Source, immediate: Option<u32> },
    Read { from: Remote, landing: Data },
    Atomic { at: Remote, atomic: Atomic, landing: Data },
}

impl Operation {
    /// Whether it brings a result, which a fence waits for.
    pub(in crate::nic) fn fetches(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Atomic { .. })
    }

    /// Bytes of the message.
    pub(in crate::nic) fn length(&self) -> u64 {
        match self {
            Self::Nop => 0,
            Self::Dump(data) => length(data),
            Self::Write { source, .. } => source.length(),
            Self::Read { landing, .. } => length(landing),
            Self::Atomic { atomic, .. } => u64::from(atomic.size),
        }
    }
}

/// An entry that keeps all rules.
#[derive(Clone, Debug)]
pub(in crate::nic) struct Request {
    pub(in crate::nic) signalled: bool,
    pub(in crate::nic) fenced: bool,
    pub(in crate::nic) operation: Operation,
}

impl Request {
    /// Reads an entry. `bytes` are all of its WQEBBs; `longest` is the queue pair's longest message.
    pub(in crate::nic) fn read(bytes: &[u8], index: u16, qpn: u32, longest: u64) -> Result<Self, Broken> {
        let control = Control::read(bytes, index, qpn)?;
        let Some(segments) = bytes.get(16..control.units * 16) else {
            let sentence =
                format!("its size is {} units of 16 bytes; the control segment is 1", control.units);
            return Err(Broken::new(Rule::Size, sentence));
        };
        debug_assert!(bytes.len() < control.units * 16 + BLOCK);
        let operation = operation(&control, segments)?;
        let has_immediate = control.opcode == WRITE_IMMEDIATE;
        if control.immediate != 0 && !has_immediate {
            let sentence = format!(
                "bytes 12 to 15 are {:#010x}; operation {:#04x} has no immediate value",
                control.immediate, control.opcode
            );
            return Err(Broken::new(Rule::Control, sentence));
        }
        if control.solicited && !has_immediate {
            let sentence =
                format!("operation {:#04x} reaches no receive that could be solicited", control.opcode);
            return Err(Broken::new(Rule::Control, sentence));
        }
        let total = operation.length();
        if total > longest.min(LONGEST) {
            let sentence = format!("a message of {total} bytes; this queue pair's are at most {longest}");
            return Err(Broken::new(Rule::Length, sentence));
        }
        Ok(Self { signalled: control.signalled, fenced: control.fenced, operation })
    }
}

fn operation(control: &Control, segments: &[u8]) -> Result<Operation, Broken> {
    let Control { opmod, opcode, units, .. } = *control;
    let refused = |why: &str| Err(Broken::new(Rule::Opcode, format!("operation {opcode:#04x} {why}")));
    match opcode {
        SEND | SEND_IMMEDIATE | SEND_INVALIDATE => {
            return refused("is a send: this NIC has receives for immediate values only; write instead");
        }
        WAIT => return refused("(wait for another queue's completion) is not supported; poll, then post"),
        UMR | MMO => return refused("is not supported by this NIC"),
        NOP | WRITE | WRITE_IMMEDIATE | READ | DUMP => {}
        _ if Atomic::is_atomic(opcode) => return atomic(control, segments),
        _ => return refused("is none that there is"),
    }
    if opmod != 0 {
        let sentence = format!("operation {opcode:#04x} has modifier {opmod}; it must be 0");
        return Err(Broken::new(Rule::OpMod, sentence));
    }
    let size = |right: &str| {
        let sentence = format!("operation {opcode:#04x} has {units} units of 16 bytes; it must be {right}");
        Err(Broken::new(Rule::Size, sentence))
    };
    match opcode {
        NOP if units == 1 => Ok(Operation::Nop),
        NOP => size("1, the control segment"),
        DUMP if units == 2 => Ok(Operation::Dump(pointers(segments)?)),
        DUMP => size("2: the control segment and a pointer"),
        _ if units < 2 => size("2 or more: the control segment, the address, and the data if there are any"),
        READ => {
            let (from, data) = remote(segments)?;
            Ok(Operation::Read { from, landing: pointers(data)? })
        }
        _ => {
            let (to, data) = remote(segments)?;
            let immediate = (opcode == WRITE_IMMEDIATE).then_some(control.immediate);
            Ok(Operation::Write { to, source: source(data)?, immediate })
        }
    }
}

fn atomic(control: &Control, segments: &[u8]) -> Result<Operation, Broken> {
    let opcode = control.opcode;
    let size = Atomic::size(opcode, control.opmod)?;
    let operands = Atomic::segments(opcode, size);
    if control.units != operands + 3 {
        let sentence = format!(
            "operation {opcode:#04x} on {size} bytes has {} units of 16 bytes; it must be {}",
            control.units,
            operands + 3
        );
        return Err(Broken::new(Rule::Size, sentence));
    }
    let (at, rest) = remote(segments)?;
    let (operands, data) = rest.split_at(operands * 16);
    Ok(Operation::Atomic { at, atomic: Atomic::read(opcode, size, operands)?, landing: landing(data, size)? })
}

/// The remote address, and what follows.
fn remote(segments: &[u8]) -> Result<(Remote, &[u8]), Broken> {
    let (segment, rest) = segments.split_at(16);
    if word(segment, 12) != 0 {
        let sentence =
            format!("bytes 12 to 15 of the remote address are reserved, and are {:#x}", word(segment, 12));
        return Err(Broken::new(Rule::Reserved, sentence));
    }
    Ok((Remote { address: long(segment, 0), key: word(segment, 8) }, rest))
}
