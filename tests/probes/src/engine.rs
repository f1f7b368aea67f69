//! Puts and gets through the bulk copy engine.

use oxshmem_device::prelude::*;

const TILE: usize = 512;

shared! {
    /// What the engine reads and writes.
    pub struct Engine {
        tile: BulkTile<u32, TILE>,
        stage: BulkStage<4096>,
    }
}

#[nvshmem_kernel(shared = Engine)]
pub fn put_tile(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    tile.set(thread::in_block(), 1);
    block.put(dst, &tile, pe);
}

#[nvshmem_kernel(shared = Engine)]
pub fn put_nbi_tile(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    tile.set(thread::in_block(), 1);
    let request = block.put_nbi(dst, tile, pe);
    let tile = request.flush(block);
    tile.set(thread::in_block(), 0);
    block.quiet();
}

#[nvshmem_kernel(shared = Engine)]
pub fn put_signal_tile(shmem: Shmem, dst: Sym<[u32]>, signal: Sym<Signal>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    tile.set(thread::in_block(), 1);
    block.put_signal(dst, &tile, signal, SignalOp::Set(1), pe);
}

/// The signal is a later operation's: it covers the tile, too.
#[nvshmem_kernel(shared = Engine)]
pub fn put_nbi_tile_then_signal(shmem: Shmem, dst: Sym<[u32]>, signal: Sym<Signal>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    tile.set(thread::in_block(), 1);
    let request = block.put_nbi(dst, tile, pe);
    block.signal(signal, SignalOp::Set(1), pe);
    request.quiet(block);
}

#[nvshmem_kernel(shared = Engine)]
pub fn get_tile(shmem: Shmem, out: Global<[u32]>, src: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let mut tile = block.tile(Engine::of(shmem).tile);
    block.get(&mut tile, src, pe);
    shmem.local(out).set(thread::in_grid(), tile.get(thread::in_block()));
}

#[nvshmem_kernel(shared = Engine)]
pub fn get_nbi_tile(shmem: Shmem, out: Global<[u32]>, src: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    let tile = block.get_nbi(tile, src, pe).quiet(block);
    shmem.local(out).set(thread::in_grid(), tile.get(thread::in_block()));
}

#[nvshmem_kernel(shared = Engine)]
pub fn put_staged(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let mut stage = block.stage(Engine::of(shmem).stage);
    block.put_staged(dst, src, &mut stage, pe);
}

#[nvshmem_kernel(shared = Engine)]
pub fn get_staged(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let mut stage = block.stage(Engine::of(shmem).stage);
    block.get_staged(dst, src, &mut stage, pe);
}

#[nvshmem_kernel(shared = Engine)]
pub fn put_add_tile(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let block = shmem.block();
    let tile = block.tile(Engine::of(shmem).tile);
    tile.set(thread::in_block(), 1);
    block.put_add(dst, &tile, pe);
}
