//! Updates of words anywhere in the job, sent in batches: for histograms, graphs and tables that all PEs update at random.
//! A remote atomic for each update is a packet for each; here a block collects the updates for each PE in shared memory,
//! sends full batches by coalesced stores, and the block of the same number there applies them by local atomics.
//!
//! | what | where | made by |
//! |---|---|---|
//! | [`UpdateBuffer<T, BATCH, PES>`](UpdateBuffer) | a field of the kernel's layout: for each PE a bin of `BATCH` updates | `shared!` |
//! | [`UpdateInbox<T>`](UpdateInbox) | symmetric memory: for each block and PE two slots of a batch, their signals and counts | the host's `alloc_update_inbox` |
//! | [`Updates`] | the block's handle, from [`updates`](crate::Scoped::updates) to [`finish`](Updates::finish) | `shmem.block().updates(…)` |
//!
//! Blocks of one number on all PEs form a group; groups know nothing of each other. Between two blocks of a group, in one
//! direction, batches have numbers from 1; batch `n` goes into slot `n - 1` modulo 2 at the receiver.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | entries into the bin of shared memory; block barrier | all | joins them to who sends them |
//! | wait until all but one of the batches before are taken: `ld.acquire.sys` of the own `taken` word; block barrier | the PE's owner | the receiver has read what stood in the slot |
//! | weak stores of the batch into the slot; block barrier | all | joins them to the owner |
//! | `st.release.sys` of the slot's `arrived` word: number, count, whether it is the last | the PE's owner | release of the batch |
//! | `ld.acquire.sys` of `arrived`; block barrier | the receiver's owner | acquire, joins the block to it |
//! | weak loads of the batch; `red.relaxed.sys` on the table; block barrier | all of the receiver | joins the loads to the owner |
//! | `st.release.sys` of the sender's `taken` word | the receiver's owner | the sender may write the slot again |
//!
//! The *owner* of a PE is one thread of the block: number `pe` modulo the size of the block. A block that waits for a slot
//! takes what comes for it meanwhile, so two that send to each other never wait for each other. The last batch of a block,
//! which may have no update, says so; `finish` ends when it has come from each PE. Counts go on from one use of an
//! inbox to the next and wrap; nothing is reset.
//!
//! | file | what it holds |
//! |---|---|
//! | `operation` | [`Add`], [`And`], [`Or`], [`Xor`] |
//! | `entry` | an update as it is sent |
//! | `inbox` | the inbox's handle and layout |
//! | `buffer` | the layout of shared memory |
//! | `block` | `updates`, `add`, `finish` |
//! | `state` | what a block knows meanwhile |
//! | `rounds` | sending and applying |

mod block;
mod buffer;
pub(crate) mod entry;
mod inbox;
mod operation;
mod rounds;
mod state;

pub use block::Update;
pub use buffer::{UpdateBuffer, UpdateMemory};
#[doc(hidden)]
pub use inbox::Shape;
pub use inbox::UpdateInbox;
pub use operation::{Add, And, Or, UpdateOp, Xor};
pub use state::Updates;
