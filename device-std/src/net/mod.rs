//! The slow path: peers that no load or store reaches, by an RDMA NIC.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mlx5`] | the bytes that an mlx5 NIC reads and writes: work requests, completions, doorbells |
//! | [`ibgda`] | queue pairs that the GPU posts to by itself |

pub mod ibgda;
pub mod mlx5;
