//! A model of what all-reduce takes on machines that are not there: the schedules that kernels execute
//! ([`oxshmem_device::collective::schedule`]), replayed step by step on links with latency and bandwidth.
//!
//! | module | what it holds |
//! |---|---|
//! | [`machine`] | links, ports and blocks, and where their numbers come from |
//! | [`replay`] | the replay, and the rules of the model |
//! | [`fold`] | which PEs stand for which, exactly |
//! | [`plan`] | algorithms with lanes, chunks and depths; the choice among them |
//! | [`table`] | rows, bounds, crossover points; text, Markdown and JSON |

pub mod fold;
pub mod machine;
pub mod plan;
pub mod replay;
pub mod table;

#[cfg(test)]
mod tests;
