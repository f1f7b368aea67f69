//! Commands for the NIC's firmware, byte by byte: what `mlx5dv_devx_*` calls carry.
//!
//! A command is a struct of plain numbers with a const `encode`, which gives the bytes or the first field that a number
//! does not fit. Offsets are those of the mlx5 programmer's reference as rdma-core's `mlx5_ifc.h` has them, but for
//! the completion queue's, which are not in that header. The tests hold the bytes fixed.
//!
//! | module | what it holds |
//! |---|---|
//! | [`field`] | [`Field`], [`Mailbox`]: numbers of some bits in big-endian words |
//! | [`create_cq`], [`create_qp`] | make a completion queue, a queue pair |
//! | [`rst2init`], [`init2rtr`], [`rtr2rts`] | a queue pair's way to sending |
//! | [`leave`] | to reset, to the error state |
//! | [`query_qp`] | where a queue pair stands |
//! | [`query_hca_cap`] | what the device can do |
//! | [`answer`] | status and syndrome of an answer |
//! | `qpc` | offsets that several commands of queue pairs share |

pub mod answer;
pub mod create_cq;
pub mod create_qp;
#[cfg(all(test, feature = "emulator"))]
mod decoded;
pub mod field;
pub mod init2rtr;
pub mod leave;
mod qpc;
pub mod query_hca_cap;
pub mod query_qp;
pub mod rst2init;
pub mod rtr2rts;

pub use answer::Answer;
pub use create_cq::CreateCq;
pub use create_qp::CreateQp;
pub use field::{Field, Mailbox, TooLarge};
pub use init2rtr::{Init2Rtr, Route};
pub use leave::{ToError, ToReset};
pub use query_hca_cap::{AtomicCapabilities, GeneralCapabilities};
pub use query_qp::{QueryQp, Standing};
pub use rst2init::Rst2Init;
pub use rtr2rts::Rtr2Rts;

/// Compares a command with its words that are not zero, each by its byte offset.
#[cfg(test)]
fn golden(bytes: &[u8], words: &[(usize, u32)]) {
    let made: Vec<(usize, u32)> = bytes
        .chunks_exact(4)
        .enumerate()
        .map(|(i, word)| (4 * i, u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
        .filter(|(_, word)| *word != 0)
        .collect();
    assert_eq!(made, words, "left: {made:#x?}");
}
