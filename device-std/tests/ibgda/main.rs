//! The queue pairs of `net::ibgda` against a small NIC that reads the tables by itself and refuses what they do not allow:
//! what each operation does, what goes wrong and how it is told, and many threads at once.
//!
//! | file | what it holds |
//! |---|---|
//! | `plain` | memory by its addresses in this process |
//! | `nic` | the NIC |
//! | `world` | a queue pair with all that it needs |
//! | `operations`, `lengths`, `faults`, `threads`, `warp` | tests |

mod faults;
mod lengths;
mod nic;
mod operations;
mod plain;
mod threads;
mod warp;
mod world;
