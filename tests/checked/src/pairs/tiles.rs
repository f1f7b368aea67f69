//! Races in a block's shared memory.

use super::{Kernel, Pair};
use oxshmem_device::prelude::*;
use oxshmem_emulator::check::{Kind, World, WorldGrid};

const fn pair(
    name: &'static str,
    kind: Kind,
    pes: u32,
    grid: WorldGrid,
    mechanism: &'static str,
    make: fn(&mut World, bool) -> Kernel,
) -> Pair {
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("tiles.rs")), make }
}

shared! {
    /// What a block of two warps keeps.
    struct Layout {
        tile: [u32; 64],
    }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "tile-read-too-early",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "a tile in shared memory is read before the barrier after it was filled",
        tile_read_too_early,
    ),
    pair(
        "tile-refilled-too-early",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "a tile is filled again without a second barrier, while others read it",
        tile_refilled_too_early,
    ),
    pair(
        "tree-without-barriers",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "the steps of a reduction tree are not joined",
        tree_without_barriers,
    ),
    pair(
        "partials-across-warps",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "one partial sum per warp, added behind a barrier of the warp",
        partials_across_warps,
    ),
    pair(
        "lanes-in-step",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 17).shared(Layout::BYTES),
        "lanes of one warp exchange through shared memory as if they ran in step",
        lanes_in_step,
    ),
    pair(
        "shared-bins",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "threads read, raise and write one bin of a histogram in shared memory",
        shared_bins,
    ),
    pair(
        "tile-put-by-one-warp",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "a warp puts a tile of which it filled only half",
        tile_put_by_one_warp,
    ),
    pair(
        "groups-share-a-tile",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 64).shared(Layout::BYTES),
        "groups of warps join among themselves, and read what another group filled",
        groups_share_a_tile,
    ),
];

fn tile_read_too_early(world: &mut World, broken: bool) -> Kernel {
    let data = world.local::<u32>("data", 64)[0];
    Box::new(move |shmem| {
        let (tile, t) = (Layout::of(shmem).tile, thread::in_block());
        tile.set(t, t); // tile-read-too-early: one
        if !broken {
            shmem.block().sync();
        }
        let mirrored = tile.get(63 - t); // tile-read-too-early: two
        shmem.local(data).set(t.into(), mirrored);
    })
}

fn tile_refilled_too_early(world: &mut World, broken: bool) -> Kernel {
    let data = world.local::<u32>("data", 192)[0];
    Box::new(move |shmem| {
        let (tile, t) = (Layout::of(shmem).tile, thread::in_block());
        for round in 0..3 {
            tile.set(t, round + t); // tile-refilled-too-early: one
            shmem.block().sync();
            let next = tile.get((t + 1) % 64); // tile-refilled-too-early: two
            shmem.local(data).set((64 * round + t).into(), next);
            if !broken {
                shmem.block().sync();
            }
        }
    })
}

fn tree_without_barriers(world: &mut World, broken: bool) -> Kernel {
    let sum = world.local::<u32>("sum", 1)[0];
    Box::new(move |shmem| {
        let (block, tile, t) = (shmem.block(), Layout::of(shmem).tile, thread::in_block());
        let mut part = t;
        tile.set(t, part);
        block.sync();
        let mut half = 32;
        while half > 0 {
            if t < half {
                part += tile.get(t + half); // tree-without-barriers: one
                tile.set(t, part); // tree-without-barriers: two
            }
            if !broken {
                block.sync();
            }
            half /= 2;
        }
        if t == 0 {
            shmem.local(sum).set(0, part);
        }
    })
}

fn partials_across_warps(world: &mut World, broken: bool) -> Kernel {
    let sum = world.local::<u32>("sum", 1)[0];
    Box::new(move |shmem| {
        let (tile, t) = (Layout::of(shmem).tile, thread::in_block());
        if warp::lane() == 0 {
            tile.set(t / 32, 100 + t); // partials-across-warps: one
        }
        if broken {
            warp::sync();
        } else {
            shmem.block().sync();
        }
        if t == 0 {
            let total = tile.get(0) + tile.get(1); // partials-across-warps: two
            shmem.local(sum).set(0, total);
        }
    })
}

fn lanes_in_step(world: &mut World, broken: bool) -> Kernel {
    let data = world.local::<u32>("data", 17)[0];
    Box::new(move |shmem| {
        let (tile, lane) = (Layout::of(shmem).tile, warp::lane());
        tile.set(lane, 3 * lane); // lanes-in-step: one
        if !broken {
            warp::sync();
        }
        let next = tile.get((lane + 1) % 17); // lanes-in-step: two
        shmem.local(data).set(lane.into(), next);
    })
}

fn shared_bins(world: &mut World, broken: bool) -> Kernel {
    let counts = world.local::<u32>("counts", 64)[0];
    Box::new(move |shmem| {
        let (block, bins, t) = (shmem.block(), Layout::of(shmem).tile, thread::in_block());
        bins.set(t, 0);
        block.sync();
        let bin = if broken { t % 8 } else { t };
        let count = bins.get(bin); // shared-bins: one
        bins.set(bin, count + 1); // shared-bins: two
        block.sync();
        shmem.local(counts).set(t.into(), bins.get(t));
    })
}

fn tile_put_by_one_warp(world: &mut World, broken: bool) -> Kernel {
    let inbox = world.data::<u32>("inbox", 64);
    Box::new(move |shmem| {
        let (tile, t) = (Layout::of(shmem).tile, thread::in_block());
        tile.set(t, t); // tile-put-by-one-warp: one
        if !broken {
            shmem.block().sync();
        }
        if t < 32 {
            shmem.warp().put(inbox, &tile, shmem.next_pe()); // tile-put-by-one-warp: two
        }
    })
}

fn groups_share_a_tile(world: &mut World, broken: bool) -> Kernel {
    let data = world.local::<u32>("data", 64)[0];
    Box::new(move |shmem| {
        let (tile, t) = (Layout::of(shmem).tile, thread::in_block());
        let group = shmem.warps(if broken { 1 } else { 2 });
        tile.set(t, t); // groups-share-a-tile: one
        group.sync();
        let mirrored = tile.get(63 - t); // groups-share-a-tile: two
        shmem.local(data).set(t.into(), mirrored);
    })
}
