//! Inboxes for updates: what the host refuses, and what a report about one says.

mod common;

use common::*;
use oxshmem::Error;
use oxshmem_device::prelude::*;
use std::time::Duration;

shared! {
    /// For two PEs.
    struct Layout {
        buffer: UpdateBuffer<u32, 4, 2>,
    }
}

/// Each thread adds 1 to `index` of PE 1's table; PE `missing` does not take part.
#[nvshmem_kernel(shared = Layout)]
fn count(shmem: Collective, table: Sym<[Atomic<u32>]>, inbox: UpdateInbox<u32>, index: u64, missing: u32) {
    if shmem.my_pe() != missing {
        let mut updates = shmem.block().updates(Layout::of(shmem).buffer, updates::Add, table, inbox);
        updates.add(Some(Update { index, value: 1, pe: 1 }));
        updates.finish();
    }
}

/// Nobody.
const NONE: u32 = 9;
/// One block of 3 threads.
const THREE: LaunchConfig = LaunchConfig::blocks(1).threads(3);

#[test]
fn a_report_names_the_word_and_the_pe() {
    emulated(2)
        .deadline(Duration::from_secs(5))
        .run(|shmem| {
            let table = shmem.alloc_atomics::<u32>(5, Reach::Node)?;
            let inbox = shmem.alloc_update_inbox::<u32>(1, 4)?;
            let small = shmem.alloc_update_inbox::<u32>(0, 4)?;
            let other = shmem.alloc_update_inbox::<u32>(1, 6)?;
            let cases: [(&_, u64, u32, &[&str]); 5] = [
                (
                    &inbox,
                    0,
                    1,
                    &[
                        "PE 0: update buffer at heap offset ",
                        "(allocation #1 \"update inbox block\", element 0) from PE 1: expected >= 1, seen 0; deadline 5 s",
                    ],
                ),
                (&inbox, 0, NONE, &["update buffer", ": launch 1 uses the inbox, or has ended without `finish`"]),
                (&small, 0, NONE, &["update buffer", ": the launch has 1 blocks, the inbox is for 0"]),
                (&other, 0, NONE, &["update buffer", ": the buffer has batches of 4, the inbox of 6"]),
                // PE 0's and PE 1's update alike; the sender says whose table it is.
                (&inbox, 5, NONE, &["update buffer", ": index 5 of 5"]),
            ];
            for (inbox, index, missing, words) in cases {
                // The other PE may have launched, and failed, before this one has left the reset's barrier.
                let ready = if index == 5 { shmem.reset_update_inbox(inbox) } else { Ok(()) };
                let launched =
                    ready.and_then(|()| count::launch(&shmem, THREE, &table, inbox, index, missing));
                let error = error(launched.and_then(|()| shmem.barrier_all()));
                says(&error, words);
                shmem.recover()?;
            }
            shmem.reset_update_inbox(&inbox)?;
            count::launch(&shmem, THREE, &table, &inbox, 4, NONE)?;
            shmem.barrier_all()?;
            assert_eq!(table.values()?[4], 6 * shmem.my_pe());
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_cannot_be_allocated_is_refused_on_every_pe() {
    emulated(2)
        .run(|shmem| {
            for (blocks, batch) in [(1 << 24, 1), (1, 1 << 24), (u32::MAX, u32::MAX), (1, 0)] {
                let error = error(shmem.alloc_update_inbox::<u64>(blocks, batch));
                assert!(matches!(error, Error::Config { .. }), "{blocks}, {batch}: {error}");
                assert!(error.to_string().contains(&format!("{blocks} blocks")), "{error}");
            }
            let error = error(shmem.alloc_update_inbox::<u64>((1 << 24) - 1, (1 << 24) - 1));
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            // Nothing was taken.
            shmem.alloc_update_inbox::<u64>(1, 1).map(drop)
        })
        .unwrap();
}

#[test]
fn pes_that_ask_for_different_inboxes_are_told() {
    let ended = emulated(2).run(|shmem| {
        let me = shmem.my_pe();
        let error = error(shmem.alloc_update_inbox::<u32>(2, 4 + me));
        assert!(matches!(error, Error::CallsDiffer { .. }), "{error}");
        Ok(())
    });
    ended.unwrap();
}

#[test]
fn an_inbox_that_was_freed_cannot_be_launched_with() {
    emulated(1)
        .run(|shmem| {
            let table = shmem.alloc_atomics::<u32>(5, Reach::Node)?;
            let inbox = shmem.alloc_update_inbox::<u32>(1, 4)?;
            let handle = inbox.handle();
            shmem.free_update_inbox(inbox)?;
            let error = error(count::launch(&shmem, THREE, &table, handle, 0, NONE));
            assert!(matches!(error, Error::BadHandle { parameter: 1, .. }), "{error}");
            Ok(())
        })
        .unwrap();
}
