//! The half of a queue pair that asks.
//!
//! Work requests go through it in order: rung for (`doorbell`), read (`queue`), sent as packets (`send`), answered
//! (`answer`), completed (`complete`). All counters of WQEBBs and packets have 64 bits; what travels is their lower
//! part.

mod answer;
mod complete;
mod doorbell;
mod queue;
mod send;

pub(super) use queue::Requester;
