//! Local memory of a PE that comes from elsewhere: registered by the program, or host memory. What goes with it stays as long
//! as something that was launched may use it.

use crate::claims::Claim;
use crate::driver::Registered;
use std::fmt::{self, Debug, Formatter};

/// What goes with local memory that the device's queue has not allocated.
pub(crate) enum Foreign {
    /// Memory of the program's. Fields drop in order: the device forgets it before its owner may free it.
    Registered {
        memory: Box<dyn Registered>,
        claim: Claim,
        #[expect(dead_code, reason = "held until dropped")]
        owner: Box<dyn Send>,
    },
    /// Host memory of so many bytes.
    Host { memory: Box<dyn Registered>, bytes: u64 },
}

impl Debug for Foreign {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { memory, claim, .. } => write!(f, "Registered({memory:?}, {claim:?})"),
            Self::Host { memory, bytes } => write!(f, "Host({memory:?}, {bytes} bytes)"),
        }
    }
}
