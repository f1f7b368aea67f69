//! What goes wrong, and how it is told.

use crate::nic::read;
use crate::plain::{half, word};
use crate::world::{Shape, World};
use oxshmem_device::net::ibgda::abi::flags;
use oxshmem_device::net::ibgda::{Cause, NicAtomic, Waiting};
use oxshmem_device::net::mlx5::cqe::CqeOpcode;
use oxshmem_device::net::mlx5::{Inline, Opcode, Syndrome};
use std::sync::atomic::Ordering::SeqCst;

fn p(world: &World, looks: u32) -> Result<(), Cause> {
    let deadline = &mut world.looks(looks);
    world.queue().p(world.remote(0), Inline::of_u64(1), deadline).map_err(|failure| failure.cause())
}

#[test]
fn a_failed_request_is_told_by_every_later_wait() {
    for syndrome in Syndrome::ALL {
        let world = World::new(Shape::default());
        world.nic.lock().unwrap().fails = Some((2, syndrome as u8));
        (0..6).for_each(|_| p(&world, 1000).unwrap());
        let first = world.quiet().unwrap_err();
        let Cause::Request { opcode, index, error } = first.cause() else { panic!("{first}") };
        assert_eq!((opcode, index, error.syndrome()), (Some(Opcode::RdmaWrite), 2, Some(syndrome)));
        assert_eq!((error.hardware(), error.hardware_type(), error.vendor()), (0x0a, 0x0b, 0x93));
        // The flushed ones behind it change nothing, and nothing waits any longer than it must.
        for _ in 0..3 {
            assert_eq!(world.queue().quiet(&mut world.looks(2)), Err(first));
        }
        let fetched = world.queue().fetch(world.remote(0), NicAtomic::Add8(1), &mut world.looks(2));
        assert_eq!(fetched, Err(first));
        assert_eq!(world.queue().failure(), Some(first));
        let refused = (0..40).find_map(|_| p(&world, 2).err());
        assert_eq!(refused, Some(first.cause()), "the queue fills up, and then nobody waits");
    }
}

#[test]
fn what_completed_before_a_failure_is_no_failure() {
    let world = World::new(Shape::default());
    world.nic.lock().unwrap().fails = Some((1, Syndrome::RemoteAccess as u8));
    let deadline = &mut world.looks(1000);
    let fetched = world.queue().fetch(world.remote(8), NicAtomic::Add8(1), deadline);
    assert_eq!(fetched, Ok(0));
    assert!(world.queue().fetch(world.remote(8), NicAtomic::Add8(1), deadline).is_err());
    assert_eq!(read(world.remote(8).address, 8), 1u64.to_le_bytes());
}

/// Several failures between two looks: a collapsed queue shows the last one alone. That is why a ring is the default.
#[test]
fn a_collapsed_completion_queue_may_lose_the_first_cause() {
    let cause = |flags| {
        let world = World::new(Shape { flags, ..Shape::default() });
        let mut nic = world.nic.lock().unwrap();
        (nic.fails, nic.late) = (Some((0, Syndrome::RemoteAccess as u8)), 3);
        drop(nic);
        (0..3).for_each(|_| p(&world, 1000).unwrap());
        match world.quiet().unwrap_err().cause() {
            Cause::Request { error, .. } => error.syndrome(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause(0), Some(Syndrome::RemoteAccess));
    assert_eq!(cause(flags::COLLAPSED), Some(Syndrome::Flushed));
}

#[test]
fn a_frozen_nic_ends_each_wait_at_its_deadline() {
    for flags in [0, flags::COLLAPSED, flags::HOST_MEMORY] {
        let world = World::new(Shape { flags, ..Shape::default() });
        world.nic.lock().unwrap().frozen = true;
        (0..16).for_each(|_| p(&world, 50).unwrap());
        assert_eq!(p(&world, 50), Err(Cause::Expired(Waiting::Room)));
        // The first cause is kept.
        let quiet = world.queue().quiet(&mut world.looks(50)).unwrap_err();
        assert_eq!(quiet.cause(), Cause::Expired(Waiting::Room));

        let world = World::new(Shape { flags, ..Shape::default() });
        world.nic.lock().unwrap().frozen = true;
        p(&world, 50).unwrap();
        let quiet = world.queue().quiet(&mut world.looks(50)).unwrap_err();
        assert_eq!(quiet.cause(), Cause::Expired(Waiting::Completion));
    }
}

#[test]
fn a_thread_that_never_publishes_ends_the_others_at_their_deadline() {
    let world = World::new(Shape::default());
    world.queue().reserve(1, &mut world.looks(9)).unwrap();
    assert_eq!(p(&world, 50), Err(Cause::Expired(Waiting::Turn)));
}

#[test]
fn a_thread_that_never_ends_ringing_ends_the_others_at_their_deadline() {
    let world = World::new(Shape::default());
    let lock =
        world.state + std::mem::offset_of!(oxshmem_device::net::ibgda::abi::QueuePairState, ring_lock) as u64;
    word(lock).store(1, SeqCst);
    assert_eq!(p(&world, 50), Err(Cause::Expired(Waiting::Ring)));
}

#[test]
fn more_values_on_the_way_than_slots_end_at_the_deadline() {
    let world = World::new(Shape { log_landing: 1, ..Shape::default() });
    let deadline = &mut world.looks(1000);
    let held: Vec<_> = (0..2).map(|_| world.queue().issue_g(world.remote(0), 8, deadline).unwrap()).collect();
    let third = world.queue().issue_g(world.remote(0), 8, &mut world.looks(50)).unwrap_err();
    assert_eq!(third.cause(), Cause::Expired(Waiting::Slot));
    // What was asked for before has arrived nevertheless.
    for awaited in held {
        let arrived = world.queue().wait(awaited, deadline);
        assert!(arrived.is_ok() || arrived == Err(third), "{arrived:?}");
    }
}

#[test]
fn completions_that_cannot_be_are_told() {
    let place = |tail: [u8; 4]| {
        let world = World::new(Shape::default());
        world.nic.lock().unwrap().frozen = true;
        p(&world, 9).unwrap();
        let entries = world.nic.lock().unwrap().entries;
        half(entries + 60).store(u32::from_le_bytes(tail), SeqCst);
        world.quiet().unwrap_err().cause()
    };
    let impossible = |opcode, index| Cause::Impossible { opcode, index };
    // An index that was never posted: the one before, and one too far on.
    assert_eq!(place([0xff, 0xff, 0, 0x00]), impossible(CqeOpcode::Requester, 0xffff));
    assert_eq!(place([0x00, 0x10, 0, 0x00]), impossible(CqeOpcode::Requester, 0x0010));
    // Kinds that no send queue gets.
    assert_eq!(place([0, 0, 0, 0x20]), impossible(CqeOpcode::Other(2), 0));
    assert_eq!(place([0, 0, 0, 0xe0]), impossible(CqeOpcode::ResponderError, 0));
}
