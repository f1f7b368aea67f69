//! Data segments: pointers to local memory, or the data themselves.

use super::control::{long, word};
use crate::nic::packet::LONGEST;
use crate::nic::regions::{Broken, Bytes};
use crate::nic::violation::Rule;
use smallvec::SmallVec;

/// The key that ends a list of pointers.
const END: u32 = 0x100;
/// Set in the length of inline data.
const INLINE: u32 = 1 << 31;

/// Pointers to local memory.
pub(in crate::nic) type Data = SmallVec<[Bytes; 2]>;

/// Where a write's bytes come from.
#[derive(Clone, Debug)]
pub(in crate::nic) enum Source {
    /// Local memory.
    Pointers(Data),
    /// The entry itself.
    Inline(Vec<u8>),
}

impl Source {
    /// Bytes of the message.
    pub(in crate::nic) fn length(&self) -> u64 {
        match self {
            Self::Pointers(data) => length(data),
            Self::Inline(bytes) => bytes.len() as u64,
        }
    }
}

/// Bytes of a list.
pub(in crate::nic) fn length(data: &Data) -> u64 {
    data.iter().map(|bytes| bytes.length).sum()
}

/// Reads what follows the address of a write: inline data or pointers.
pub(super) fn source(segments: &[u8]) -> Result<Source, Broken> {
    if segments.is_empty() || word(segments, 0) & INLINE == 0 {
        return pointers(segments).map(Source::Pointers);
    }
    let bytes = (word(segments, 0) & !INLINE) as usize;
    let units = (bytes + 4).div_ceil(16);
    if units * 16 != segments.len() {
        let sentence = format!(
            "{bytes} bytes inline take {units} units of 16 bytes behind the address, the entry has {}",
            segments.len() / 16
        );
        return Err(Broken::new(Rule::Inline, sentence));
    }
    Ok(Source::Inline(segments[4..4 + bytes].to_vec()))
}

/// Reads a list of pointers that fills `segments`.
pub(super) fn pointers(segments: &[u8]) -> Result<Data, Broken> {
    let mut data = Data::new();
    let last = segments.len() / 16;
    for (at, segment) in segments.chunks_exact(16).enumerate() {
        let (count, key, address) = (word(segment, 0), word(segment, 4), long(segment, 8));
        if count & INLINE != 0 {
            let sentence =
                "inline data stand where a pointer must: only a write has them, as its single segment";
            return Err(Broken::new(Rule::Inline, sentence.to_owned()));
        }
        if count == 0 && key == END {
            if at + 1 != last {
                let sentence = format!("{} segments follow the one that ends the list", last - at - 1);
                return Err(Broken::new(Rule::Size, sentence));
            }
            break;
        }
        // A count of 0 means 2 GiB, which no message may have.
        if count == 0 || u64::from(count) > LONGEST {
            let found = if count == 0 { 1 << 31 } else { u64::from(count) };
            let sentence =
                format!("a segment of {found} bytes (count {count}); a message has at most {LONGEST}");
            return Err(Broken::new(Rule::Length, sentence));
        }
        data.push(Bytes { key, address, length: u64::from(count) });
    }
    let total = length(&data);
    if total > LONGEST {
        return Err(Broken::new(
            Rule::Length,
            format!("its segments are {total} bytes; a message has at most {LONGEST}"),
        ));
    }
    Ok(data)
}

/// The one pointer of an atomic, which must be of the operand's size.
pub(super) fn landing(segment: &[u8], size: u32) -> Result<Data, Broken> {
    let count = word(segment, 0);
    if count & INLINE != 0 {
        let sentence = "an atomic's result needs a pointer, and finds inline data".to_owned();
        return Err(Broken::new(Rule::Inline, sentence));
    }
    if count != size {
        let sentence = format!("an atomic of {size} bytes has a place of {count} bytes for its result");
        return Err(Broken::new(Rule::Atomic, sentence));
    }
    pointers(segment)
}
