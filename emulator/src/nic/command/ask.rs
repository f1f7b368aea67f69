//! Queries, and their answers.

use super::failure::{Failure, Status};
use super::input::Input;
use crate::nic::{NicConfig, QpState, State};

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Where a queue pair stands.
    Qp {
        /// The queue pair.
        qpn: u32,
    },
    /// What the device can do in general.
    General,
    /// Which atomics it can do.
    Atomic,
    /// Another kind of capabilities, of which it has none.
    Other {
        /// The kind.
        kind: u64,
    },
}

impl Ask {
    /// Reads a command.
    ///
    /// # Errors
    /// What is wrong with it, or that it is no query.
    pub fn read(bytes: &[u8]) -> Result<Self, Failure> {
        match Input::opcode(bytes) {
            Some(0x50b) => {
                let mut input = Input::of("QUERY_QP", bytes, 0x10)?;
                let qpn = input.number(0x8 * 8 + 8, 24);
                input.finish()?;
                Ok(Ask::Qp { qpn })
            }
            Some(0x100) => {
                let mut input = Input::of("QUERY_HCA_CAP", bytes, 0x10)?;
                // What is set now, and what could be, are the same here.
                let kind = input.take(0x4 * 8 + 16, 15);
                input.take(0x4 * 8 + 31, 1);
                input.finish()?;
                Ok(match kind {
                    0 => Ask::General,
                    3 => Ask::Atomic,
                    kind => Ask::Other { kind },
                })
            }
            other => {
                let sentence = format!("command {:#x} is no query that is known", other.unwrap_or(0));
                Err(Failure::new(Status::BadOperation, sentence))
            }
        }
    }
}

/// Puts a value of up to 32 bits into the word at byte `word`, so that its last bit is bit `last` of it.
fn put(answer: &mut [u8], word: usize, last: u32, value: u32) {
    let old = u32::from_be_bytes(std::array::from_fn(|i| answer[word + i]));
    answer[word..word + 4].copy_from_slice(&(old | value << (31 - last)).to_be_bytes());
}

fn room(answer: &mut [u8], needed: usize) -> Result<(), Failure> {
    if answer.len() < needed {
        let sentence = format!("an answer of {needed} bytes has room for {}", answer.len());
        return Err(Failure::new(Status::BadOutputLength, sentence));
    }
    answer.fill(0);
    Ok(())
}

/// Writes the answer to [`Ask::Qp`].
pub(super) fn queue_pair(found: QpState, answer: &mut [u8]) -> Result<(), Failure> {
    room(answer, 0x110)?;
    let state = match found.state {
        State::Reset => 0,
        State::Init => 1,
        State::Rtr => 2,
        State::Rts => 3,
        State::Error => 6,
    };
    put(answer, 0x18, 3, state);
    put(answer, 0x18, 20, 3);
    put(answer, 0x18 + 0xb4, 15, u32::from(found.hw_send_wqebb));
    put(answer, 0x18 + 0xb4, 31, u32::from(found.sw_send_wqebb));
    Ok(())
}

/// Writes the answer to [`Ask::General`].
pub(super) fn general(config: &NicConfig, answer: &mut [u8]) -> Result<(), Failure> {
    room(answer, 0x110)?;
    let at = |word: usize| 0x10 + word;
    put(answer, at(0x10), 15, u32::from(config.log_max_queue));
    put(answer, at(0x10), 31, 18); // queue pairs
    put(answer, at(0x18), 15, u32::from(config.log_max_completions));
    put(answer, at(0x18), 31, 20); // completion queues
    put(answer, at(0x28), 15, 4); // reads out
    put(answer, at(0x28), 31, 4); // reads in
    put(answer, at(0x34), 31, 1); // ports
    put(answer, at(0x38), 7, 30); // the longest message
    put(answer, at(0x3c), 31, 1); // the version of completion entries
    put(answer, at(0x40), 30, 1); // atomics
    put(answer, at(0x4c), 15, 9); // a BlueFlame register
    Ok(())
}

/// Writes the answer to [`Ask::Atomic`].
pub(super) fn atomic(answer: &mut [u8]) -> Result<(), Failure> {
    room(answer, 0x110)?;
    let at = |word: usize| 0x10 + word;
    put(answer, at(0x8), 1, 1); // in the host's order
    put(answer, at(0x10), 31, 0xf); // all four
    put(answer, at(0x14), 31, 4 | 8); // of 4 and 8 bytes
    Ok(())
}

/// Writes an answer without a capability.
pub(super) fn nothing(answer: &mut [u8]) -> Result<(), Failure> {
    room(answer, 0x10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let mut ask = [0; 16];
        ask[..2].copy_from_slice(&[0x05, 0x0b]);
        ask[9..12].copy_from_slice(&[1, 2, 3]);
        assert_eq!(Ask::read(&ask), Ok(Ask::Qp { qpn: 0x010203 }));
        ask[8] = 1;
        assert!(Ask::read(&ask).unwrap_err().sentence.contains("byte 0x8"));
        let of = |kind: u8| Ask::read(&[1, 0, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((of(0), of(1)), (Ok(Ask::General), Ok(Ask::General)));
        assert_eq!((of(6), of(7)), (Ok(Ask::Atomic), Ok(Ask::Atomic)));
        assert_eq!(of(5), Ok(Ask::Other { kind: 2 }));
    }

    #[test]
    fn answers_need_room() {
        let found = QpState { state: State::Error, hw_send_wqebb: 0x1234, sw_send_wqebb: 0xabcd };
        let mut answer = [0xff; 0x110];
        queue_pair(found, &mut answer).unwrap();
        assert_eq!(answer[0x18], 0x60);
        assert_eq!(answer[0xcc..0xd0], [0x12, 0x34, 0xab, 0xcd]);
        let failure = queue_pair(found, &mut answer[..0x10f]).unwrap_err();
        assert_eq!(failure.status, Status::BadOutputLength);
        failure.write(&mut answer);
        assert_eq!((answer[0], answer[4]), (0x51, 0x0e));
        // As much of it as there is room for.
        failure.write(&mut answer[..5]);
        failure.write(&mut []);
    }
}
