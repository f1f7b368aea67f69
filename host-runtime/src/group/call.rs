//! What PEs bring to a rendezvous, and what they leave with.

use crate::alloc::{Allocation, AllocationId};
use crate::error::Error;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A collective host call, with what must be equal on all PEs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    BarrierAll,
    Alloc {
        how: &'static str,
        holds: &'static str,
        elements: u64,
        element_bytes: u64,
    },
    /// Memory for the heap up to this many bytes was taken.
    Taken(u64),
    /// That memory of all PEs was mapped.
    Mapped(u64),
    /// With the offset, by which books that differ show.
    Filled(AllocationId, u64),
    Free(AllocationId),
    Gather {
        bytes: u64,
    },
    /// A call over the PEs of a team.
    Team {
        what: &'static str,
        bytes: u64,
    },
    RecoverDrained,
    RecoverReset,
}

/// Calls over the PEs of a team to which each comes when all that it has launched is over.
pub(crate) const TEAM_BARRIER: &str = "team_barrier";
pub(crate) const TEAM_DESTROY: &str = "team_destroy";
/// A call over the PEs of a team that waits for nothing but their coming.
pub(crate) const TEAM_SYNC: &str = "team_sync";

impl Call {
    /// Whether a PE comes to it when all that it has launched is over, so that it covers that.
    pub(crate) fn completes(&self) -> bool {
        match self {
            Self::BarrierAll | Self::Free(_) | Self::RecoverDrained => true,
            Self::Team { what, .. } => [TEAM_BARRIER, TEAM_DESTROY].contains(what),
            _ => false,
        }
    }

    /// Whether a PE leaves it with an error if something has failed meanwhile, though all have come.
    pub(crate) fn is_barrier(&self) -> bool {
        match self {
            Self::BarrierAll => true,
            Self::Team { what, .. } => [TEAM_BARRIER, TEAM_SYNC].contains(what),
            _ => false,
        }
    }

    pub(super) fn recovers(&self) -> bool {
        matches!(self, Self::RecoverDrained | Self::RecoverReset)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BarrierAll => f.write_str("barrier_all"),
            Self::Alloc { how, holds, elements, element_bytes } => {
                write!(f, "{how} of {elements} {holds} ({element_bytes} bytes each)")
            }
            Self::Taken(bytes) => write!(f, "growth of the heap to {bytes} bytes"),
            Self::Mapped(bytes) => write!(f, "mapping of the heap up to {bytes} bytes"),
            Self::Filled(id, offset) => {
                write!(f, "filling of allocation #{} at heap offset {offset:#x}", id.0)
            }
            Self::Free(id) => write!(f, "free of allocation #{}", id.0),
            Self::Gather { bytes } => write!(f, "all_gather of {bytes} bytes"),
            Self::Team { what, .. } => f.write_str(what),
            Self::RecoverDrained | Self::RecoverReset => f.write_str("recover"),
        }
    }
}

/// What a PE brings to a rendezvous.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Which of its arrivals this is, for a PE of another process, which is answered by it.
    pub(crate) number: u32,
    pub(crate) call: Call,
    /// The PEs that meet, in the order in which they leave with what each has brought; all PEs of the job if it is empty.
    pub(crate) members: Vec<u32>,
    /// What went wrong on this PE before it came. It comes nevertheless, so that the others learn it. (Poison
    /// they learn from the alarm: it sends those that wait home, and the PE does not come.)
    pub(crate) trouble: Option<Error>,
    /// What a recovery is for. It sends home those that wait in other calls.
    pub(crate) recovers_from: Option<Error>,
    /// What this PE has released and does not use any more; each of its allocations is named once.
    pub(crate) released: Vec<AllocationId>,
    /// What it adds to an all_gather, to a call over a team, or to an allocation: where its memory is, if the program has it.
    pub(crate) data: Vec<u8>,
}

impl Arrival {
    /// One that has nothing to say but the call.
    pub(crate) fn at(call: Call) -> Self {
        let (members, released, data) = (Vec::new(), Vec::new(), Vec::new());
        Self { number: 0, call, members, trouble: None, recovers_from: None, released, data }
    }
}

/// What all PEs leave with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreed {
    /// What PEs have released since the last rendezvous that was agreed on.
    pub(crate) released: Arc<Vec<AllocationId>>,
    /// What they brought, by PE, or to a call over a team, by the team's numbers.
    pub(crate) gathered: Arc<Vec<Vec<u8>>>,
    /// What the PE that came last has allocated for all.
    pub(crate) allocated: Option<Arc<Allocation>>,
}
