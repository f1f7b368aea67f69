//! The table of shapes.

use super::bench::{Bench, Words};
use crate::kernels::{Run, bulk, bytes, chain, credit, message, order, release, words};
use oxshmem::{Result, Shmem};
use oxshmem_device::LaunchConfig;

/// One block of four warps: blocks, and threads of each.
const BLOCK: (u32, u32) = (1, 128);
/// One block of one warp.
const WARP: (u32, u32) = (1, 32);
/// Two blocks.
const GRID: (u32, u32) = (2, 128);

/// A shape.
#[derive(Debug)]
pub(super) struct Shape {
    /// What output calls it.
    pub(super) name: &'static str,
    /// PEs of a group.
    pub(super) roles: u32,
    /// Blocks of its launch.
    pub(super) blocks: u32,
    /// How many blocks of its kernel this PE has room for beside the other PEs of its device.
    pub(super) room: fn(&Shmem) -> Result<u32>,
    /// Launches its kernel on the calling PE.
    pub(super) launch: fn(&Bench<'_>, &Words, Run) -> Result<()>,
}

macro_rules! shapes {
    ($($name:literal: $roles:literal PEs, $shape:ident, $file:ident::$kernel:ident($($memory:ident),*);)*) => {
        &[$(Shape {
            name: $name,
            roles: $roles,
            blocks: $shape.0,
            room: |shmem| shmem.resident_blocks::<$file::$kernel>($shape.1),
            launch: |bench, words, run| {
                let (signals, tally) = (words.signals.handle(), words.tally.handle());
                $file::$kernel::launch(
                    bench.shmem,
                    LaunchConfig::blocks($shape.0).threads($shape.1),
                    $(shapes!(@memory bench words $memory),)*
                    signals,
                    tally,
                    run,
                )
            },
        }),*]
    };
    (@memory $bench:ident $words:ident words) => { $words.words.handle() };
    (@memory $bench:ident $words:ident $memory:ident) => { $bench.$memory() };
}

/// All of them.
pub(super) const SHAPES: &[Shape] = shapes! {
    "message: put, fence, weak signal": 2 PEs, BLOCK, message::message_fence(data, source);
    "message: put, strong signal": 2 PEs, BLOCK, message::message_strong(data, source);
    "message: put_signal": 2 PEs, BLOCK, message::message_put_signal(data, source);
    "message: put, quiet, weak signal": 2 PEs, BLOCK, message::message_quiet(data, source);
    "message: put, put, strong signal": 2 PEs, BLOCK, message::message_put_put(data, source);
    "message: the wait acquires": 2 PEs, BLOCK, message::message_acquire(data, source);
    "put, quiet, get": 2 PEs, BLOCK, message::message_put_get(data, source, back);
    "release of a block": 2 PEs, BLOCK, release::release_block(data);
    "release of two warps": 2 PEs, BLOCK, release::release_warps(data);
    "release of a warp": 2 PEs, WARP, release::release_warp(data);
    "release of a grid": 2 PEs, GRID, release::release_grid(data);
    "chain: own memory": 3 PEs, BLOCK, chain::chain_own_memory(data, back);
    "chain: the third PE's memory": 3 PEs, BLOCK, chain::chain_third_memory(data, source);
    "chain: the middle PE's memory": 3 PEs, BLOCK, chain::chain_middle_memory(data, source, back);
    "store buffering with quiet": 2 PEs, WARP, order::store_buffering(lines);
    "2+2W with fence": 3 PEs, WARP, order::two_plus_two(words);
    "R: fence against quiet": 3 PEs, WARP, order::fence_against_quiet(words);
    "IRIW with quiet": 4 PEs, WARP, order::two_readers(words);
    "credit: read, strong signal, overwrite": 2 PEs, BLOCK, credit::overwrite(data, source);
    "put_signal: additions of two PEs": 3 PEs, BLOCK, credit::both_additions(data, source);
    "bulk: put_signal of a tile": 2 PEs, BLOCK, bulk::bulk_put_signal(tile);
    "bulk: put_nbi, strong signal": 2 PEs, BLOCK, bulk::bulk_strong(tile);
    "bulk: put_nbi, fence, weak signal": 2 PEs, BLOCK, bulk::bulk_fence(tile);
    "bulk: put_nbi, flush, overwrite": 2 PEs, BLOCK, bulk::bulk_flush(tile);
    "bulk: stores, then get into a tile": 2 PEs, BLOCK, bulk::bulk_get(tile);
    "bulk: stores, then get through a stage": 2 PEs, BLOCK, bulk::bulk_get_staged(data, back);
    "bulk: received, then put through a stage": 2 PEs, BLOCK, bulk::bulk_put_staged(data, source, back);
    "neighbouring words: atomics": 2 PEs, WARP, words::neighbours(words);
    "16 bytes by p: data and flag": 2 PEs, WARP, words::flag_in_word(wide, halves);
    "neighbouring bytes: puts": 2 PEs, BLOCK, bytes::side_by_side(byte_data, byte_source);
};
