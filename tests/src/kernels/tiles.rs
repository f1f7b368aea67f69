//! Shared memory, the bulk copy engine, and the requests that lend it.

use oxshmem_device::prelude::*;

/// Elements of a tile.
pub const TILE: usize = 512;
/// Bytes of a stage: small, so that a copy has many chunks.
pub const STAGE: usize = 1024;

shared! {
    /// For each of up to four scopes of a block its own.
    pub struct Tiles {
        first: BulkTile<u32, TILE>,
        second: BulkTile<u32, TILE>,
        plain: [u32; TILE],
        stage: BulkStage<STAGE>,
    }
}

/// Calls `$op` on the first thread, warp, pair of warps, or block of the first block.
macro_rules! within_block {
    ($shmem:expr, $scope:expr, |$s:ident| $op:expr) => {
        if thread::block() == 0 {
            let first = thread::in_block();
            match $scope {
                super::scope::THREAD => {
                    if first == 0 {
                        let $s = $shmem.thread();
                        $op
                    }
                }
                super::scope::WARP => {
                    if first < 32 {
                        let $s = $shmem.warp();
                        $op
                    }
                }
                super::scope::WARPS => {
                    let $s = $shmem.warps(2);
                    if first < 64 {
                        $op
                    }
                }
                _ => {
                    let $s = $shmem.block();
                    $op
                }
            }
        }
    };
}

/// Fills a tile from local memory, puts it by the engine to `pe`, signals, overwrites the tile, waits for the own
/// signal, gets what came into another tile, and writes it to `seen`.
#[nvshmem_kernel(shared = Tiles)]
pub fn tile_there_and_back(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    pe: u32,
) {
    within_block!(shmem, scope, |s| {
        let tiles = Tiles::of(shmem);
        let (first, mut second) = (s.tile(tiles.first), s.tile(tiles.second));
        let (from, to) = (shmem.local(src), shmem.local(seen));
        let mut i = s.rank() as u32;
        while i < first.len() {
            first.set(i, from.get(i.into()));
            i += s.size() as u32;
        }
        s.put(dst, &first, pe);
        let mut i = s.rank() as u32;
        while i < first.len() {
            first.set(i, 0xdead);
            i += s.size() as u32;
        }
        s.signal(signal, SignalOp::Set(1), pe);
        s.wait_until(signal, Cmp::Eq, 1);
        s.get(&mut second, dst, shmem.my_pe());
        let mut i = s.rank() as u32;
        while i < second.len() {
            to.set(i.into(), second.get(i));
            i += s.size() as u32;
        }
        s.sync();
        // Once more: the barrier's next phase.
        s.get(&mut second, src, pe);
        let mut i = s.rank() as u32;
        while i < second.len() {
            to.set(i.into(), to.get(i.into()).wrapping_add(second.get(i)));
            i += s.size() as u32;
        }
    });
}

/// As above without waiting: two gets and two puts are in flight, by the engine and by loads and stores, and the memory
/// comes back by its requests. Afterwards `dst` on `pe` has `src` of the own PE doubled; its second half is zero.
#[nvshmem_kernel(shared = Tiles)]
pub fn tiles_in_flight(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    within_block!(shmem, scope, |s| {
        let tiles = Tiles::of(shmem);
        let tile = s.tile(tiles.first);
        let (plain, rest) = tiles.plain.split_at(256);
        let plain = plain.truncated(200);
        let half = TILE as u64;
        let one = s.get_nbi(tile, src.slice(0, half), shmem.my_pe());
        let two = s.get_nbi(plain, src.slice(half, 200), shmem.my_pe());
        let (tile, plain) = (one.quiet(s), two.quiet(s));
        let mut i = s.rank() as u32;
        while i < tile.len() {
            tile.set(i, tile.get(i).wrapping_mul(2));
            i += s.size() as u32;
        }
        let mut i = s.rank() as u32;
        while i < plain.len() {
            plain.set(i, plain.get(i).wrapping_mul(2));
            i += s.size() as u32;
        }
        let one = s.put_nbi(dst.slice(0, half), tile, pe);
        let two = s.put_nbi(dst.slice(half, 200), plain, pe);
        let tile = one.flush(s);
        let mut i = s.rank() as u32;
        while i < tile.len() {
            tile.set(i, 0xdead);
            i += s.size() as u32;
        }
        let plain = two.quiet(s);
        let mut i = s.rank() as u32;
        while i < plain.len() {
            plain.set(i, 0xdead);
            i += s.size() as u32;
        }
        if !rest.is_empty() && s.is_leader() {
            rest.set(0, 0);
        }
    });
}

/// Puts a tile without waiting and drops the request; then overwrites the memory, to which a second layout leads.
#[nvshmem_kernel(shared = Tiles)]
pub fn dropped_request(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    within_block!(shmem, scope, |s| {
        let tile = s.tile(Tiles::of(shmem).first);
        let mut tile = tile;
        s.get(&mut tile, src, shmem.my_pe());
        drop(s.put_nbi(dst, tile, pe));
        s.sync();
        let again = s.tile(Tiles::of(shmem).first);
        let mut i = s.rank() as u32;
        while i < again.len() {
            again.set(i, 0xdead);
            i += s.size() as u32;
        }
        // A get that is dropped has arrived, too.
        drop(s.get_nbi(again, src, pe));
        s.quiet();
    });
}

/// Puts a tile with a signal without waiting, waits for the own signal, and copies what came to `seen`.
#[nvshmem_kernel(shared = Tiles)]
pub fn tile_signal(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    pe: u32,
) {
    within_block!(shmem, scope, |s| {
        let mut tile = s.tile(Tiles::of(shmem).first);
        s.get(&mut tile, src, shmem.my_pe());
        let request = s.put_signal_nbi(dst, tile, signal, SignalOp::Add(1), pe);
        s.wait_until(signal, Cmp::Eq, 1);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
        let _tile = request.quiet(s);
    });
}

macro_rules! sums {
    ($($kernel:ident $layout:ident $ty:ty;)*) => {
        $(
            shared! {
                /// A tile of summands.
                pub struct $layout {
                    tile: BulkTile<$ty, 301>,
                }
            }

            /// Adds `src` to `dst` on every PE, once by `put_add` and once by `put_add_nbi`.
            #[nvshmem_kernel(shared = $layout)]
            pub fn $kernel(shmem: Collective, dst: Sym<[$ty]>, src: Sym<[$ty]>, scope: u32) {
                within_block!(shmem, scope, |s| {
                    let mut tile = s.tile($layout::of(shmem).tile);
                    s.get(&mut tile, src, shmem.my_pe());
                    let mut pe = 0;
                    while pe < shmem.n_pes() {
                        s.put_add(dst, &tile, pe);
                        tile = s.put_add_nbi(dst, tile, pe).flush(s);
                        pe += 1;
                    }
                    s.quiet();
                });
            }
        )*
    };
}
sums! {
    add_u32 SummandsU32 u32;
    add_u64 SummandsU64 u64;
    add_f32 SummandsF32 f32;
    add_f16 SummandsF16 f16;
    add_bf16 SummandsBf16 bf16;
}

/// `put` or `get` through a stage, twice, the second time shifted by one chunk and more.
#[nvshmem_kernel(shared = Tiles, instances(u8, [u32; 3], u128))]
pub fn staged<T: oxshmem_device::bytemuck::Pod>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    get: u32,
    scope: u32,
    pe: u32,
) {
    within_block!(shmem, scope, |s| {
        let mut stage = s.stage(Tiles::of(shmem).stage);
        let mut twice = 0;
        while twice < 2 {
            if get != 0 {
                s.get_staged(dst, src, &mut stage, pe);
            } else {
                s.put_staged(dst, src, &mut stage, pe);
            }
            // The second one is to be the later one.
            s.quiet();
            twice += 1;
        }
    });
}
