//! An mlx5 NIC by NVIDIA's user-space driver.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mailbox`] | commands to the NIC's firmware, byte by byte |

pub mod mailbox;
