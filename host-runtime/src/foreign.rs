//! Local memory of a PE that comes from elsewhere: registered by the program, or host memory. What goes with it stays as long
//! as something that was launched may use it.

use crate::claims::Claim;
use crate::driver::Registered;
use crate::run::message;
use crate::say::say;
use std::fmt::{self, Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the program gives along with memory, to be dropped when its time has come. That may be on any thread, in any call and
/// beside others, so a panic of its drop ends there.
pub(crate) struct Owner {
    pe: u32,
    /// There until it is dropped.
    kept: Option<Box<dyn Send>>,
}

impl Owner {
    /// The owner of memory of PE `pe`.
    pub(crate) fn new(pe: u32, kept: impl Send + 'static) -> Self {
        Self { pe, kept: Some(Box::new(kept)) }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let kept = self.kept.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(kept))) {
            let (pe, message) = (self.pe, message(&*panic));
            say(format_args!(
                "PE {pe}: the owner of registered memory panicked when it was dropped: {message}"
            ));
        }
    }
}

/// What goes with local memory that the device's queue has not allocated.
pub(crate) enum Foreign {
    /// Memory of the program's. Fields drop in order: the device forgets it before its owner may free it.
    Registered {
        memory: Box<dyn Registered>,
        claim: Claim,
        #[expect(dead_code, reason = "held until dropped")]
        owner: Owner,
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
