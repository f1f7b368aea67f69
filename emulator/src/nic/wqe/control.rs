//! The control segment: 16 bytes, big endian.

use crate::nic::regions::Broken;
use crate::nic::violation::Rule;

/// Bytes of a WQEBB.
pub(in crate::nic) const BLOCK: usize = 64;

/// What a control segment says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) opmod: u8,
    pub(super) opcode: u8,
    /// Units of 16 bytes.
    pub(super) units: usize,
    /// A completion also when all went well.
    pub(super) signalled: bool,
    /// Starts only after the results of all earlier reads and atomics.
    pub(super) fenced: bool,
    pub(super) solicited: bool,
    pub(super) immediate: u32,
}

/// The big-endian word at an offset.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let [a, b, c, d] = bytes[at..at + 4] else { return 0 };
    u32::from_be_bytes([a, b, c, d])
}

/// The big-endian word of 8 bytes at an offset.
pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) << 32 | u64::from(word(bytes, at + 4))
}

/// WQEBBs that an entry takes by the first 8 bytes of it; `None` if it has no size at all.
pub(in crate::nic) fn blocks_of(start: &[u8]) -> Option<u64> {
    let units = u64::from(word(start, 4) & 0x3f);
    (units != 0).then(|| units.div_ceil(4))
}

impl Control {
    /// `bytes` are the entry's first 16, `index` and `qpn` what it must name.
    pub(super) fn read(bytes: &[u8], index: u16, qpn: u32) -> Result<Self, Broken> {
        let (first, second) = (word(bytes, 0), word(bytes, 4));
        let found = (first >> 8) as u16;
        if found != index {
            return Err(Broken::new(
                Rule::Index,
                format!("it has index {found:#06x} and lies at {index:#06x}, counted in WQEBBs modulo 65536"),
            ));
        }
        let named = second >> 8;
        if named != qpn {
            return Err(Broken::new(
                Rule::QueuePair,
                format!("it names queue pair {named:#x}, not {qpn:#x}"),
            ));
        }
        if second & 0xc0 != 0 {
            let sentence = format!("bits 6 and 7 of its size {:#04x} are reserved", second & 0xff);
            return Err(Broken::new(Rule::Reserved, sentence));
        }
        if word(bytes, 8) >> 8 != 0 {
            let sentence = format!(
                "signature and stream (bytes 8 to 10) are {:#08x}; an RC queue pair without signatures has 0",
                word(bytes, 8) >> 8
            );
            return Err(Broken::new(Rule::Reserved, sentence));
        }
        let flags = bytes[11];
        if flags & 0x11 != 0 {
            return Err(Broken::new(
                Rule::Reserved,
                format!("bits 4 and 0 of its flags {flags:#04x} are reserved"),
            ));
        }
        let fence = flags >> 5;
        if fence > 4 {
            return Err(Broken::new(Rule::Control, format!("its fence mode is {fence}; there are 0 to 4")));
        }
        Ok(Self {
            opmod: (first >> 24) as u8,
            opcode: first as u8,
            units: (second & 0x3f) as usize,
            signalled: flags >> 2 & 3 >= 2,
            // Mode 1, the small fence, waits for local invalidations alone, which this NIC has none of.
            fenced: fence >= 2,
            solicited: flags & 2 != 0,
            immediate: word(bytes, 12),
        })
    }
}
