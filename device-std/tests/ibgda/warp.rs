//! A warp's write as one request, by 32 threads that stand for the lanes.

use crate::nic::read;
use crate::world::{Shape, World};
use oxshmem_device::hooks::{self, BulkQueue, Hooks, Instruction, OperationEvent, Position, Switch};
use oxshmem_device::net::ibgda::{Cause, Waiting};
use std::panic::Location;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// What the lanes exchange values by.
#[derive(Clone)]
struct Lane {
    lane: u32,
    values: Arc<Mutex<[u64; 32]>>,
    meet: Arc<Barrier>,
}

impl Hooks for Lane {
    fn position(&self) -> Position {
        Position {
            thread_idx: [self.lane, 0, 0],
            block_dim: [32, 1, 1],
            grid_dim: [1, 1, 1],
            ..Position::default()
        }
    }
    fn operation(&self, _: OperationEvent, _: &'static Location<'static>) {}
    fn instruction(&self, _: Instruction) {}
    fn switch(&self, _: Switch) {}
    fn block_barrier(&self, predicate: bool) -> u32 {
        self.meet.wait();
        u32::from(predicate)
    }
    fn warp_exchange(&self, mask: u32, value: u64, _: bool) -> ([u64; 32], u32) {
        self.values.lock().unwrap()[self.lane as usize] = value;
        self.meet.wait();
        let values = *self.values.lock().unwrap();
        self.meet.wait();
        (values, mask)
    }
    fn active_lanes(&self) -> u32 {
        u32::MAX
    }
    fn shared(&self) -> (u64, u32) {
        (0, 0)
    }
    fn bulk(&self, _: &mut dyn FnMut(&mut BulkQueue)) {}
    fn scratch(&self) -> u64 {
        0
    }
    fn fixed_shared(&self, _: usize, _: usize, _: usize) -> u64 {
        0
    }
    fn now(&self) -> u64 {
        0
    }
    fn host_time(&self) -> u64 {
        0
    }
    fn exit(&self) -> ! {
        panic!("a lane ended")
    }
}

/// Calls `each` in 32 lanes; what they return.
fn lanes<T: Send>(each: impl Fn(u32) -> T + Sync) -> Vec<T> {
    let (values, meet) = (Arc::new(Mutex::new([0; 32])), Arc::new(Barrier::new(32)));
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..32)
            .map(|lane| {
                let hooks = Lane { lane, values: values.clone(), meet: meet.clone() };
                let each = &each;
                scope.spawn(move || {
                    let _entered = hooks::enter(Box::leak(Box::new(hooks)));
                    each(lane)
                })
            })
            .collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    })
}

#[test]
fn a_warp_writes_256_bytes_by_one_request() {
    let world = World::new(Shape::default());
    // 6 blocks each, so that they wrap at every place of a ring of 16.
    for round in 0..30u64 {
        let value = |lane: u32| (round << 32) + 0x0101 * u64::from(lane) + 0xaa00_0000_0000_0000;
        let ends =
            lanes(|lane| world.queue().p_warp(world.remote(512), value(lane), &mut world.looks(100_000)));
        assert!(ends.iter().all(|end| end.is_ok()));
        world.quiet().unwrap();
        let expected: Vec<u8> = (0..32).flat_map(|lane| value(lane).to_le_bytes()).collect();
        assert_eq!(read(world.remote(512).address, 256), expected);
        assert_eq!(read(world.remote(512 + 256).address, 8), [0; 8]);
    }
    assert_eq!(world.opcodes(), [0x08, 0x00].repeat(30));
}

#[test]
fn every_lane_learns_of_a_failure() {
    let world = World::new(Shape::default());
    world.nic.lock().unwrap().frozen = true;
    let post = || lanes(|lane| world.queue().p_warp(world.remote(0), u64::from(lane), &mut world.looks(20)));
    (0..2).for_each(|_| assert!(post().iter().all(|end| end.is_ok())));
    let ends = post();
    for end in &ends {
        assert_eq!(end.map_err(|failure| failure.cause()), Err(Cause::Expired(Waiting::Room)));
    }
}
