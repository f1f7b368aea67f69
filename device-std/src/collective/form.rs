//! The five reductions and scans as numbers.

use crate::abi::Operation;

/// A reduction or scan, chosen when the kernel runs.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Form {
    /// `reduce`.
    Reduce = 0,
    /// `reduce_scatter`.
    ReduceScatter = 1,
    /// `reduce_to`.
    ReduceTo = 2,
    /// `scan`.
    Scan = 3,
    /// `exscan`.
    Exscan = 4,
}

impl Form {
    /// The form of this number; of any other number the last one.
    #[inline(always)]
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Reduce,
            1 => Self::ReduceScatter,
            2 => Self::ReduceTo,
            3 => Self::Scan,
            _ => Self::Exscan,
        }
    }

    #[inline(always)]
    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::Reduce => Operation::Reduce,
            Self::ReduceScatter => Operation::ReduceScatter,
            Self::ReduceTo => Operation::ReduceTo,
            Self::Scan => Operation::Scan,
            Self::Exscan => Operation::Exscan,
        }
    }
}
