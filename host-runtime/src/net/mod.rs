//! The network path's host side.
//!
//! | module | what it holds |
//! |---|---|
//! | [`verbs`] | an mlx5 NIC by libibverbs and libmlx5: memory, queue pairs, doorbell pages |

pub mod verbs;
