//! Numbers of some bits in a mailbox of big-endian 32-bit words.

/// Where a number stands: in the word at byte `word`, from bit `bit` (0 is the most significant), `width` bits up to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    name: &'static str,
    word: usize,
    bit: u32,
    width: u32,
}

impl Field {
    /// A field within one word.
    pub const fn new(name: &'static str, word: usize, bit: u32, width: u32) -> Self {
        assert!(
            word.is_multiple_of(4) && width > 0 && bit + width <= 32,
            "a field lies within a 32-bit word"
        );
        Field { name, word, bit, width }
    }

    /// The same field of a structure that starts at byte `base` of the mailbox.
    pub const fn of(self, base: usize) -> Self {
        Self::new(self.name, base + self.word, self.bit, self.width)
    }

    const fn largest(self) -> u32 {
        u32::MAX >> (32 - self.width)
    }

    const fn shift(self) -> u32 {
        32 - self.bit - self.width
    }

    /// Reads the field; 0 where the mailbox ends before it.
    pub const fn read(self, bytes: &[u8]) -> u32 {
        if bytes.len() < self.word + 4 {
            return 0;
        }
        let w = self.word;
        (u32::from_be_bytes([bytes[w], bytes[w + 1], bytes[w + 2], bytes[w + 3]]) >> self.shift())
            & self.largest()
    }
}

/// A number that does not fit its field. Fault: the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} does not fit `{field}`, which ends at {largest}")]
pub struct TooLarge {
    /// The field's name in the programmer's reference.
    pub field: &'static str,
    /// The number.
    pub value: u64,
    /// The largest that fits.
    pub largest: u64,
}

/// A mailbox of `N` bytes that is being filled. What is not set is zero.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox<const N: usize> {
    bytes: [u8; N],
    too_large: Option<TooLarge>,
}

/// The command's number, and its variant.
const OPCODE: Field = Field::new("opcode", 0x0, 0, 16);
const OP_MOD: Field = Field::new("op_mod", 0x4, 16, 16);

impl<const N: usize> Mailbox<N> {
    /// The mailbox of a command.
    pub const fn command(opcode: u16, variant: u16) -> Self {
        Mailbox { bytes: [0; N], too_large: None }.with(OPCODE, opcode as u32).with(OP_MOD, variant as u32)
    }

    /// Sets a field. The first number that does not fit is kept as the error of [`finish`](Self::finish).
    pub const fn with(mut self, field: Field, value: u32) -> Self {
        if value > field.largest() {
            if self.too_large.is_none() {
                self.too_large = Some(TooLarge {
                    field: field.name,
                    value: value as u64,
                    largest: field.largest() as u64,
                });
            }
            return self;
        }
        let w = field.word;
        let old =
            u32::from_be_bytes([self.bytes[w], self.bytes[w + 1], self.bytes[w + 2], self.bytes[w + 3]]);
        let new = (old & !(field.largest() << field.shift()) | value << field.shift()).to_be_bytes();
        let mut i = 0;
        while i < 4 {
            self.bytes[w + i] = new[i];
            i += 1;
        }
        self
    }

    /// Sets one bit.
    pub const fn flag(self, field: Field, on: bool) -> Self {
        self.with(field, on as u32)
    }

    /// Sets 64 bits at byte `at`.
    pub const fn wide(self, at: usize, value: u64) -> Self {
        self.with(Field::new("", at, 0, 32), (value >> 32) as u32)
            .with(Field::new("", at + 4, 0, 32), value as u32)
    }

    /// Copies bytes to byte `at`, in their order.
    pub const fn copy<const M: usize>(mut self, at: usize, from: [u8; M]) -> Self {
        let mut i = 0;
        while i < M {
            self.bytes[at + i] = from[i];
            i += 1;
        }
        self
    }

    /// The bytes.
    ///
    /// # Errors
    /// The first number that did not fit its field.
    pub const fn finish(self) -> Result<[u8; N], TooLarge> {
        match self.too_large {
            None => Ok(self.bytes),
            Some(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_touches_its_bits_alone() {
        let ones = Mailbox::<8>::command(0xffff, 0xffff).wide(0, u64::MAX);
        let made = ones.with(Field::new("middle", 4, 8, 5), 0b01010).finish().unwrap();
        assert_eq!(made, [0xff, 0xff, 0xff, 0xff, 0xff, 0b0101_0111, 0xff, 0xff]);
        assert_eq!(Field::new("middle", 4, 8, 5).read(&made), 0b01010);
    }

    #[test]
    fn every_place_and_width_reads_back() {
        for bit in 0..32 {
            for width in 1..=32 - bit {
                let field = Field::new("any", 4, bit, width);
                for value in [0, 1, field.largest() / 3, field.largest()] {
                    let made = Mailbox::<12>::command(0, 0).with(field, value).finish().unwrap();
                    assert_eq!(field.read(&made), value, "{field:?}");
                    assert_eq!(
                        made.iter().map(|b| b.count_ones()).sum::<u32>(),
                        value.count_ones(),
                        "{field:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_number_that_does_not_fit_is_named() {
        let narrow = Field::new("narrow", 4, 0, 3);
        let error = Mailbox::<8>::command(1, 0)
            .with(narrow, 8)
            .with(Field::new("later", 4, 4, 1), 2)
            .finish()
            .unwrap_err();
        assert_eq!(error, TooLarge { field: "narrow", value: 8, largest: 7 });
    }

    #[test]
    fn a_field_past_the_end_reads_zero() {
        assert_eq!(Field::new("end", 8, 0, 32).read(&[0xff; 11]), 0);
    }
}
