//! Reading of a command's bits, with a memory of which were read.

use super::failure::{Failure, Status};

/// A command that is being read. Bits are counted from the first byte's most significant.
#[derive(Clone, Debug)]
pub struct Input {
    command: &'static str,
    /// The bytes, zero where they were read.
    left: Vec<u8>,
}

impl Input {
    /// The number of a command.
    pub fn opcode(bytes: &[u8]) -> Option<u16> {
        Some(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]))
    }

    /// A command that must have `length` bytes; more are allowed, and must be zero.
    pub(super) fn of(command: &'static str, bytes: &[u8], length: usize) -> Result<Self, Failure> {
        if bytes.len() < length {
            let sentence = format!("{command} has {} bytes, and needs {length}", bytes.len());
            return Err(Failure::new(Status::BadInputLength, sentence));
        }
        let mut input = Input { command, left: bytes.to_vec() };
        // The number was looked at by whoever came here; the owner's id is the driver's business.
        input.take(0, 32);
        Ok(input)
    }

    /// Reads `width` bits from bit `at` on, up to 64.
    pub(super) fn take(&mut self, at: usize, width: usize) -> u64 {
        let mut value = 0;
        for bit in at..at + width {
            let mask = 0x80 >> (bit % 8);
            let byte = &mut self.left[bit / 8];
            value = value << 1 | u64::from(*byte & mask != 0);
            *byte &= !mask;
        }
        value
    }

    /// Reads up to 32 bits.
    pub(super) fn number(&mut self, at: usize, width: usize) -> u32 {
        debug_assert!(width <= 32, "use take");
        self.take(at, width) as u32
    }

    /// Reads bytes.
    pub(super) fn bytes<const N: usize>(&mut self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.take(at + 8 * i, 8) as u8)
    }

    /// Reads a value that can only be one.
    #[track_caller]
    pub(super) fn only(&mut self, field: &str, at: usize, width: usize, value: u64) -> Result<(), Failure> {
        let found = self.take(at, width);
        self.need(found == value, || format!("{field} is {found}, and must be {value}"))
    }

    /// Refuses the command with a sentence unless `fine`.
    #[track_caller]
    pub(super) fn need(&self, fine: bool, sentence: impl FnOnce() -> String) -> Result<(), Failure> {
        if fine {
            return Ok(());
        }
        Err(Failure::new(Status::BadParameter, format!("{}: {}", self.command, sentence())))
    }

    /// Refuses the command if a bit is set that nobody read.
    #[track_caller]
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.left.iter().position(|byte| *byte != 0) {
            None => Ok(()),
            Some(at) => {
                let sentence = format!(
                    "{}: byte {at:#x} has {:#04x} in bits that are reserved or not supported",
                    self.command, self.left[at]
                );
                Err(Failure::new(Status::BadParameter, sentence))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_read_is_found() {
        let mut bytes = vec![0_u8; 12];
        bytes[8] = 0b0010_1100;
        let read = |width| {
            let mut input = Input::of("TEST", &bytes, 12)?;
            assert_eq!(input.take(64, width), 0b001011 >> (6 - width));
            input.finish()
        };
        assert!(read(6).is_ok());
        assert!(read(4).unwrap_err().sentence.contains("byte 0x8 has 0x0c"));
    }

    #[test]
    fn short_commands_are_refused() {
        assert_eq!(Input::of("TEST", &[0; 11], 12).unwrap_err().status, Status::BadInputLength);
        assert_eq!(Input::opcode(&[5]), None);
    }
}
