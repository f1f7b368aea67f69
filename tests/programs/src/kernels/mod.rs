//! The kernels: some of the conformance suite's sources, and those of these programs.

pub mod combine;
#[path = "../../../src/kernels/failures.rs"]
pub mod failures;
pub mod gather;
#[path = "../../../src/kernels/ordering.rs"]
pub mod ordering;
pub mod registered;
#[path = "../../../src/kernels/scope.rs"]
pub mod scope;
pub mod streams;
#[path = "../../../src/kernels/teams.rs"]
pub mod teams;

pub(crate) use scope::at_scope;
