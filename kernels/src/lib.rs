//! Pieces of kernels that communicate while they compute, with the host plans that allocate what they need.
//!
//! | module | on the device | on the host |
//! |---|---|---|
//! | [`halo`] | [`halo::Halo`]: boundary rows to both neighbours, with credits | [`halo::HaloPlan`] |
//! | [`ordered_sum`] | [`ordered_sum::OrderedSum`]: a sum over all PEs whose order does not depend on their number | [`ordered_sum::OrderedSumPlan`] |
//! | [`split`] | rows over PEs | the same |

pub mod halo;
pub mod ordered_sum;
pub mod split;
