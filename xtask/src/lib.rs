//! The project's own commands (`cargo xtask …`) and the runner of a bundle, which share their tables.
//!
//! Everything here may be slow or fail: each long step says what runs and how long it takes ([`say`]), each failure is a
//! sentence with what to do, and no command removes anything from the machine.

pub mod bench;
pub mod bundle;
pub mod checkout;
pub mod cost;
pub mod demo;
pub mod doctor;
pub mod licences;
pub mod machine;
pub mod new;
pub mod ptx;
pub mod runner;
pub mod say;
pub mod setup;
pub mod speed;
pub mod start;
pub mod steps;
pub mod suites;
pub mod timeline;
pub mod tools;

pub use oxshmem_doctor::{gpu, process};
