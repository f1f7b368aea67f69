//! Why firmware does not carry a command out.

use crate::nic::Refused;
use std::fmt;
use std::panic::Location;

/// The status of an answer (programmer's reference, "command delivery status").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// No such command.
    BadOperation = 0x02,
    /// A value is wrong or not supported.
    BadParameter = 0x03,
    /// There is no such object.
    BadResource = 0x05,
    /// An object is in use.
    ResourceBusy = 0x06,
    /// The transition does not start from this state.
    BadQueuePairState = 0x10,
    /// The command is too short.
    BadInputLength = 0x50,
    /// There is no room for the answer.
    BadOutputLength = 0x51,
}

/// A command that is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub status: Status,
    /// The check that failed, by a number of the emulator's own.
    pub syndrome: u32,
    /// What was wrong, and what would be right.
    pub sentence: String,
}

impl Failure {
    /// The syndrome is the place of the check: the line from which this is called.
    #[track_caller]
    pub(super) fn new(status: Status, sentence: impl Into<String>) -> Self {
        Failure { status, syndrome: 0x0e00_0000 | Location::caller().line(), sentence: sentence.into() }
    }

    /// Writes it as an answer.
    pub fn write(&self, answer: &mut [u8]) {
        answer.fill(0);
        for (to, from) in answer.iter_mut().zip([self.status as u8]) {
            *to = from;
        }
        for (to, from) in answer.iter_mut().skip(4).zip(self.syndrome.to_be_bytes()) {
            *to = from;
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {:#x}, syndrome {:#x})", self.sentence, self.status as u8, self.syndrome)
    }
}

impl From<Refused> for Failure {
    #[track_caller]
    fn from(refused: Refused) -> Self {
        let status = match refused {
            Refused::NoSuch { .. } => Status::BadResource,
            Refused::InUse { .. } => Status::ResourceBusy,
            Refused::Transition { .. } => Status::BadQueuePairState,
            _ => Status::BadParameter,
        };
        Failure::new(status, refused.to_string())
    }
}
