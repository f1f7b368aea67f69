//! Everything that a kernel usually names.

pub use crate::atomic::Atomic;
pub use crate::collective::{And, Max, Min, Or, Prod, Sum, Xor};
pub use crate::context::{Collective, Shmem};
pub use crate::global::Global;
pub use crate::launch::LaunchConfig;
pub use crate::local::Local;
pub use crate::peer::PeerPtr;
pub use crate::rma::{Mailbox, Packet};
pub use crate::scope::GridScope as _;
pub use crate::shared::{Shared, SharedSlice};
pub use crate::signal::{Signal, SignalOp};
pub use crate::stage::{BulkStage, Stage};
pub use crate::sym::{Reach, Sym};
pub use crate::team::{OnTeam, Team};
pub use crate::tile::{BulkTile, Tile};
pub use crate::updates::{Update, UpdateBuffer, UpdateInbox};
pub use crate::wait::{Cmp, Every};
pub use crate::{bf16, f16, nvshmem_kernel, shared, thread, updates, warp};
