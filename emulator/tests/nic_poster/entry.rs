//! Send queue entries, byte by byte.

/// Flag: a completion also when all went well.
pub const SIGNAL: u8 = 0x08;
/// Flag: starts after earlier reads and atomics.
pub const FENCE: u8 = 0x80;

/// An entry without its index and its queue pair's number.
#[derive(Clone, Debug)]
pub struct Entry {
    pub opmod: u8,
    pub opcode: u8,
    pub flags: u8,
    pub immediate: u32,
    /// What follows the control segment, as 16-byte units.
    pub rest: Vec<u8>,
}

fn segment(parts: &[&[u8]]) -> Vec<u8> {
    let bytes = parts.concat();
    assert_eq!(bytes.len(), 16);
    bytes
}

/// A remote address.
pub fn remote(address: u64, key: u32) -> Vec<u8> {
    segment(&[&address.to_be_bytes(), &key.to_be_bytes(), &[0; 4]])
}

/// A pointer to local data.
pub fn data(count: u32, key: u32, address: u64) -> Vec<u8> {
    segment(&[&count.to_be_bytes(), &key.to_be_bytes(), &address.to_be_bytes()])
}

/// Two numbers of 8 bytes.
pub fn pair(first: u64, second: u64) -> Vec<u8> {
    segment(&[&first.to_be_bytes(), &second.to_be_bytes()])
}

/// Four numbers of 4 bytes.
pub fn four(numbers: [u32; 4]) -> Vec<u8> {
    segment(&[
        &numbers[0].to_be_bytes(),
        &numbers[1].to_be_bytes(),
        &numbers[2].to_be_bytes(),
        &numbers[3].to_be_bytes(),
    ])
}

impl Entry {
    pub fn new(opmod: u8, opcode: u8, rest: Vec<u8>) -> Self {
        Self { opmod, opcode, flags: SIGNAL, immediate: 0, rest }
    }

    pub fn flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    pub fn nop() -> Self {
        Self::new(0, 0x00, Vec::new())
    }

    pub fn write(to: (u64, u32), from: (u64, u32), bytes: u32) -> Self {
        Self::new(0, 0x08, [remote(to.0, to.1), data(bytes, from.1, from.0)].concat())
    }

    pub fn write_immediate(to: (u64, u32), from: (u64, u32), bytes: u32, immediate: u32) -> Self {
        Self { opcode: 0x09, immediate, ..Self::write(to, from, bytes) }
    }

    pub fn inline(to: (u64, u32), bytes: &[u8]) -> Self {
        let mut segment = (bytes.len() as u32 | 0x8000_0000).to_be_bytes().to_vec();
        segment.extend(bytes);
        // Padding is not looked at.
        segment.resize(segment.len().next_multiple_of(16), 0xcc);
        Self::new(0, 0x08, [remote(to.0, to.1), segment].concat())
    }

    pub fn read(from: (u64, u32), to: (u64, u32), bytes: u32) -> Self {
        Self::new(0, 0x10, [remote(from.0, from.1), data(bytes, to.1, to.0)].concat())
    }

    pub fn fetch_add(at: (u64, u32), to: (u64, u32), add: u64) -> Self {
        // The second half is not looked at.
        let operands = pair(add, 0xdead_dead_dead_dead);
        Self::new(0, 0x12, [remote(at.0, at.1), operands, data(8, to.1, to.0)].concat())
    }

    pub fn compare_swap(at: (u64, u32), to: (u64, u32), swap: u64, compare: u64) -> Self {
        Self::new(0, 0x11, [remote(at.0, at.1), pair(swap, compare), data(8, to.1, to.0)].concat())
    }

    pub fn masked_add4(at: (u64, u32), to: (u64, u32), add: u32, boundary: u32) -> Self {
        let operands = four([add, boundary, 0, 0]);
        Self::new(8, 0x15, [remote(at.0, at.1), operands, data(4, to.1, to.0)].concat())
    }

    pub fn masked_add8(at: (u64, u32), to: (u64, u32), add: u64, boundary: u64) -> Self {
        Self::new(9, 0x15, [remote(at.0, at.1), pair(add, boundary), data(8, to.1, to.0)].concat())
    }

    /// Swap, compare, swap mask, compare mask.
    pub fn masked_swap4(at: (u64, u32), to: (u64, u32), numbers: [u32; 4]) -> Self {
        Self::new(8, 0x14, [remote(at.0, at.1), four(numbers), data(4, to.1, to.0)].concat())
    }

    /// Swap, compare, swap mask, compare mask: 5 units, so 2 WQEBBs.
    pub fn masked_swap8(at: (u64, u32), to: (u64, u32), numbers: [u64; 4]) -> Self {
        let [swap, compare, swap_mask, compare_mask] = numbers;
        let operands = [pair(swap, compare), pair(swap_mask, compare_mask)].concat();
        Self::new(9, 0x14, [remote(at.0, at.1), operands, data(8, to.1, to.0)].concat())
    }

    pub fn dump(from: (u64, u32), bytes: u32) -> Self {
        Self::new(0, 0x23, data(bytes, from.1, from.0))
    }

    /// The entry's bytes.
    pub fn at(&self, index: u16, qpn: u32) -> Vec<u8> {
        assert!(self.rest.len().is_multiple_of(16));
        let units = 1 + self.rest.len() as u32 / 16;
        let first = u32::from(self.opmod) << 24 | u32::from(index) << 8 | u32::from(self.opcode);
        let control = four([first, qpn << 8 | units, u32::from(self.flags), self.immediate]);
        [control, self.rest.clone()].concat()
    }
}
