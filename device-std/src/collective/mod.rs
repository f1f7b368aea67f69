//! Collectives: operations in which all PEs of a team take part.

pub mod schedule;
