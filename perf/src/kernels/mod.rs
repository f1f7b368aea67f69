//! The kernels of `oxshmem-perf`: one per test, and one instance per scope where a test has several.
//!
//! | module | tests |
//! |---|---|
//! | [`bandwidth`] | put-bw, get-bw, by loads and stores and through the bulk engine |
//! | [`element`] | p-bw, g-bw, gather-bw |
//! | [`latency`] | put-lat, get-lat, p-lat, g-lat |
//! | [`ping_pong`] | signal-pingpong, put-signal-pingpong |
//! | [`atomics`] | atomic-bw, atomic-lat, gups by atomics |
//! | [`barrier`] | barrier, sync |
//! | [`collective`] | broadcast, fcollect, alltoall, reduce |
//! | [`data`] | what they move: patterns, poison, and the check afterwards |
//! | [`who`], [`time`] | scopes as types; the loop that takes the time |

pub mod atomics;
pub mod bandwidth;
pub mod barrier;
pub mod collective;
pub mod data;
pub mod element;
pub mod latency;
pub mod ping_pong;
pub mod time;
pub mod who;
