//! What an mlx5 NIC reads and writes, as bytes: shared by the device, which posts, and the host, which sets up and reports.
//!
//! Everything is `const`, allocates nothing and cannot panic. A work request (WQE) is made of [`Segment`]s of 16 bytes, which
//! the device stores one by one; all fields of more than one byte are big endian. Where a layout comes from: the headers of
//! rdma-core (`mlx5dv.h`, `mlx5_ifc.h`), checked against what libmlx5 writes.
//!
//! | file | what it holds |
//! |---|---|
//! | `segment` | 16 bytes; keys and queue pair numbers as they stand in memory |
//! | `opcode` | operations, fences, when a completion is written |
//! | `ctrl`, `raddr`, `data`, `inline`, `atomic`, `masked` | one kind of segment each |
//! | `wqe` | whole work requests, one function for each operation |
//! | `cqe`, `syndrome` | completions; what the NIC says of a failed request |
//! | `doorbell` | doorbell records, doorbells, and where they stand in a page |

mod atomic;
pub mod cqe;
mod ctrl;
mod data;
pub mod doorbell;
mod inline;
mod masked;
mod opcode;
mod raddr;
mod segment;
mod syndrome;
pub mod wqe;

pub use atomic::{compare_swap, fetch_add};
pub use ctrl::{Control, ctrl};
pub use data::{MAX_MESSAGE, data};
pub use inline::{Inline, inline_header};
pub use masked::{
    CARRY_NOWHERE, masked_compare_swap_4, masked_compare_swap_8, masked_fetch_add_4, masked_fetch_add_8,
};
pub use opcode::{Completion, Fence, Opcode, opmod};
pub use raddr::raddr;
pub use segment::{Key, QueueNumber, Segment};
pub use syndrome::Syndrome;
