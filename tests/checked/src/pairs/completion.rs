//! Memory of the caller that a non-blocking operation still reads or writes.

use super::{Kernel, Pair, fill, share};
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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("completion.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "source-in-loop",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 1),
        "one source is filled again in the next round, with nothing that completes the put",
        source_in_loop,
    ),
    pair(
        "source-after-sync",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 16),
        "a block barrier is taken for the flush of a block's put",
        source_after_sync,
    ),
    pair(
        "source-after-signal",
        Kind::SourceInUse,
        3,
        WorldGrid::of(1, 4),
        "the left neighbour's signal is taken to complete the put_signal_nbi to the right one",
        source_after_signal,
    ),
    pair(
        "source-after-fence",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 1),
        "a fence is taken to release the source of a put",
        source_after_fence,
    ),
    pair(
        "source-after-pe-quiet",
        Kind::SourceInUse,
        3,
        WorldGrid::of(1, 1),
        "the quiet that is to release the source names another PE than the put",
        source_after_pe_quiet,
    ),
    pair(
        "quiet-before-issue",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 2),
        "one thread quiets for another one's put, with no barrier between the two",
        quiet_before_issue,
    ),
    pair(
        "flush-a-round-late",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 1),
        "of two staging slots the first is filled again one round before the flush",
        flush_a_round_late,
    ),
    pair(
        "strided-source",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 1),
        "an element between the first and last of a strided put's source is changed before it completes",
        strided_source,
    ),
    pair(
        "get-read-early",
        Kind::DestinationInUse,
        2,
        WorldGrid::of(1, 1),
        "what a non-blocking get brings is read before the quiet",
        get_read_early,
    ),
    pair(
        "get-overwritten",
        Kind::DestinationInUse,
        2,
        WorldGrid::of(1, 1),
        "padding is written into a get's destination before the quiet",
        get_overwritten,
    ),
    pair(
        "get-forwarded",
        Kind::DestinationInUse,
        3,
        WorldGrid::of(1, 1),
        "what a non-blocking get brings is put on, after a fence",
        get_forwarded,
    ),
    pair(
        "columns-after-sync",
        Kind::DestinationInUse,
        2,
        WorldGrid::of(1, 8),
        "a block barrier is taken for the quiet of a strided get",
        columns_after_sync,
    ),
    pair(
        "lookup-after-flush",
        Kind::DestinationInUse,
        2,
        WorldGrid::of(1, 1),
        "a flush, which completes puts' sources only, is taken for the quiet of a gather",
        lookup_after_flush,
    ),
    pair(
        "get-strong-ack",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a strong signal is taken to complete a non-blocking get, whose source the owner then overwrites",
        get_strong_ack,
    ),
];

fn source_in_loop(world: &mut World, broken: bool) -> Kernel {
    let (stage, to) = (world.data::<u32>("stage", 1), world.data::<u32>("to", 3));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            for k in 0..3 {
                shmem.local(stage).set(0, 10 + k as u32); // source-in-loop: two
                t.put_nbi(to.slice(k, 1), stage, 1); // source-in-loop: one
                if !broken {
                    t.flush();
                }
            }
            t.quiet();
        }
    })
}

fn source_after_sync(world: &mut World, broken: bool) -> Kernel {
    let [stage, to] = ["stage", "to"].map(|name| world.data::<u32>(name, 37));
    Box::new(move |shmem: Collective| {
        let block = shmem.block();
        fill(shmem, stage);
        block.put_nbi(to, stage, shmem.next_pe()); // source-after-sync: one
        if broken {
            block.sync();
        } else {
            block.flush();
        }
        for i in share(shmem, 37) {
            shmem.local(stage).set(i, 0); // source-after-sync: two
        }
        block.quiet();
    })
}

fn source_after_signal(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 11));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (block, next) = (shmem.block(), shmem.next_pe());
        fill(shmem, from);
        block.put_signal_nbi(to, from, ready, SignalOp::Set(1), next); // source-after-signal: one
        block.wait_until(ready, Cmp::Ge, 1);
        if !broken {
            block.flush();
        }
        for i in share(shmem, 11) {
            shmem.local(from).set(i, shmem.local(to).get(i)); // source-after-signal: two
        }
        block.quiet();
    })
}

fn source_after_fence(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<f32>(name, 6));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 1 {
            t.put_nbi(to, from, 0); // source-after-fence: one
            if broken {
                t.fence();
            } else {
                t.quiet();
            }
            shmem.local(from).set(5, 1.5); // source-after-fence: two
            t.quiet();
        }
    })
}

fn source_after_pe_quiet(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 6));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put_nbi(to, from, 2); // source-after-pe-quiet: one
            t.pe_quiet(if broken { 1 } else { 2 });
            shmem.local(from).set(0, 3); // source-after-pe-quiet: two
            t.quiet();
        }
    })
}

fn quiet_before_issue(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u64>(name, 2));
    Box::new(move |shmem: Collective| {
        let (t, block) = (shmem.thread(), shmem.block());
        if shmem.my_pe() != 0 {
            return;
        }
        if thread::in_block() == 1 {
            t.put_nbi(to, from, 1); // quiet-before-issue: one
        }
        if !broken {
            block.sync();
        }
        if block.is_leader() {
            t.quiet();
        }
        block.sync();
        if thread::in_block() == 1 {
            shmem.local(from).set(1, 8); // quiet-before-issue: two
        }
        block.quiet();
    })
}

fn flush_a_round_late(world: &mut World, broken: bool) -> Kernel {
    let (stage, to) = (world.data::<u32>("stage", 2), world.data::<u32>("to", 5));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            let first = if broken { 3 } else { 2 };
            for k in 0..5 {
                if k >= first {
                    t.flush();
                }
                shmem.local(stage).set(k & 1, k as u32); // flush-a-round-late: two
                t.put_nbi(to.slice(k, 1), stage.slice(k & 1, 1), 1); // flush-a-round-late: one
            }
            t.quiet();
        }
    })
}

fn strided_source(world: &mut World, broken: bool) -> Kernel {
    let (matrix, column) = (world.data::<u32>("matrix", 20), world.data::<u32>("column", 5));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.iput_nbi(column, matrix, 1, 4, 5, 1); // strided-source: one
            // Element 9 lies between two of those that are sent, element 8 is one of them.
            shmem.local(matrix).set(if broken { 8 } else { 9 }, 1); // strided-source: two
            t.quiet();
        }
    })
}

fn get_read_early(world: &mut World, broken: bool) -> Kernel {
    let [remote, copy] = ["remote", "copy"].map(|name| world.data::<u32>(name, 3));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        t.get_nbi(copy, remote, shmem.next_pe()); // get-read-early: one
        if !broken {
            t.quiet();
        }
        let sum = shmem.local(copy).get(0); // get-read-early: two
        t.quiet();
        shmem.local(copy).set(0, sum);
    })
}

fn get_overwritten(world: &mut World, broken: bool) -> Kernel {
    let [remote, tile] = ["remote", "tile"].map(|name| world.data::<f32>(name, 9));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.get_nbi(tile, remote, 1); // get-overwritten: one
            if !broken {
                t.quiet();
            }
            shmem.local(tile).set(8, 0.0); // get-overwritten: two
            t.quiet();
        }
    })
}

fn get_forwarded(world: &mut World, broken: bool) -> Kernel {
    let [remote, stage, to] = ["remote", "stage", "to"].map(|name| world.data::<u32>(name, 5));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 1 {
            t.get_nbi(stage, remote, 0); // get-forwarded: one
            if broken {
                t.fence();
            } else {
                t.quiet();
            }
            t.put(to, stage, 2); // get-forwarded: two
            t.quiet();
        }
    })
}

fn columns_after_sync(world: &mut World, broken: bool) -> Kernel {
    let (matrix, column) = (world.data::<u64>("matrix", 30), world.data::<u64>("column", 10));
    let seen = world.data::<u64>("seen", 10);
    Box::new(move |shmem: Collective| {
        let block = shmem.block();
        block.iget_nbi(column, matrix, 1, 3, 10, shmem.next_pe()); // columns-after-sync: one
        if broken {
            block.sync();
        } else {
            block.quiet();
        }
        for i in share(shmem, 10) {
            shmem.local(seen).set(i, shmem.local(column).get(9 - i)); // columns-after-sync: two
        }
        block.quiet();
    })
}

fn lookup_after_flush(world: &mut World, broken: bool) -> Kernel {
    let (table, numbers) = (world.data::<f32>("table", 40), world.data::<u32>("numbers", 6));
    let [rows, sums] = ["rows", "sums"].map(|name| world.data::<f32>(name, 6));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for i in 0..6 {
            shmem.local(numbers).set(i, 7 * i as u32 % 40);
        }
        t.gather_nbi(rows, table, numbers, shmem.next_pe()); // lookup-after-flush: one
        if broken {
            t.flush();
        } else {
            t.quiet();
        }
        for i in 0..6 {
            shmem.local(sums).set(i, shmem.local(rows).get(i)); // lookup-after-flush: two
        }
        t.quiet();
    })
}

fn get_strong_ack(world: &mut World, broken: bool) -> Kernel {
    let [remote, copy] = ["remote", "copy"].map(|name| world.data::<u32>(name, 4));
    let taken = world.signals("taken", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.get_nbi(copy, remote, 1); // get-strong-ack: one
            if !broken {
                t.quiet();
            }
            t.signal(taken, SignalOp::Set(1), 1);
            t.quiet();
        } else {
            t.wait_until(taken, Cmp::Ge, 1);
            shmem.local(remote).set(2, 6); // get-strong-ack: two
        }
    })
}
