//! What the checker is tested with.
//!
//! | module | what it holds |
//! |---|---|
//! | [`pairs`] | small kernels, each correct and broken in one way |
//! | [`litmus`] | shapes of a few operations, with every outcome that they may have |
//! | [`speed`] | how fast kernels run on the emulator, checked and unchecked |

pub mod litmus;
pub mod pairs;
pub mod speed;
