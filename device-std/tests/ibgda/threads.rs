//! Many threads that share a queue pair, with a NIC of its own.

use crate::nic::{read, write};
use crate::plain::{Plain, word};
use crate::world::{Numbers, Shape, World, memory};
use oxshmem_device::net::ibgda::abi::{QueuePairAbi, QueuePairState, flags};
use oxshmem_device::net::ibgda::{Deadline, Dirty, NicAtomic, NicSignal, QueuePair, WORDS_AT};
use oxshmem_device::net::mlx5::{Completion, Control, Fence, Inline, QueueNumber, wqe};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Ten seconds for one operation.
struct Seconds(Instant);

impl Seconds {
    fn ten() -> Self {
        Self(Instant::now() + Duration::from_secs(10))
    }
}

impl Deadline for Seconds {
    fn goes_on(&mut self, _: u32) -> bool {
        thread::yield_now();
        Instant::now() < self.0
    }
}

/// Runs `each` on `threads` threads while the NIC works, and with it, in that mode, the thread that rings.
fn run(world: &World, threads: u64, each: impl Fn(u64, QueuePair<Plain>) + Sync) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the world's description, which nobody writes.
            let described = unsafe { *(world.abi as *const QueuePairAbi) };
            while !over.load(SeqCst) {
                if described.is(flags::DOORBELL_BY_HOST) {
                    let next = word(described.doorbell).load(SeqCst) as u16;
                    crate::plain::half(described.record).store(u32::from(next).to_be(), SeqCst);
                }
                world.nic.lock().unwrap().step();
                thread::yield_now();
            }
        });
        let workers: Vec<_> = (0..threads)
            .map(|me| {
                scope.spawn({
                    let each = &each;
                    move || each(me, world.queue())
                })
            })
            .collect();
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, SeqCst);
        ended.into_iter().for_each(|end| end.unwrap());
    });
}

#[test]
fn counters_are_exact_in_every_mode() {
    const ROUNDS: u64 = 300;
    for mode in [0, flags::COLLAPSED, flags::DOORBELL_BY_HOST, flags::FLUSH | flags::HOST_MEMORY] {
        for log_batch in [0, 3] {
            let world = World::new(Shape { flags: mode, log_batch, log_landing: 2, ..Shape::default() });
            run(&world, 6, |me, queue| {
                let (sum, own) = (world.remote(0), world.remote(64 + 8 * me));
                let mut numbers = Numbers::new(me);
                let mut last = None;
                for round in 0..ROUNDS {
                    let deadline = &mut Seconds::ten();
                    match numbers.below(3) {
                        0 => queue.update(sum, NicAtomic::Add8(1), deadline).unwrap(),
                        1 => queue.signal(sum, NicSignal::Add(1), deadline).unwrap(),
                        _ => {
                            // What this thread sees of a sum only grows.
                            let seen = queue.fetch(sum, NicAtomic::Add8(1), deadline).unwrap();
                            assert!(last.replace(seen).is_none_or(|last| last < seen));
                        }
                    }
                    queue.p(own, Inline::of_u64(round), deadline).unwrap();
                    if numbers.below(4) == 0 {
                        queue.quiet(deadline).unwrap();
                        assert_eq!(read(own.address, 8), round.to_le_bytes(), "quiet covers what was posted");
                    }
                }
                queue.quiet(&mut Seconds::ten()).unwrap();
            });
            assert_eq!(read(world.remote(0).address, 8), (6 * ROUNDS).to_le_bytes());
        }
    }
}

#[test]
fn a_signal_tells_that_its_data_is_there() {
    let world = World::new(Shape::default());
    run(&world, 4, |me, queue| {
        let (to, from, word) = (world.remote(4096 + 256 * me), world.local(256 * me), world.remote(8 * me));
        for round in 1..200u64 {
            write(from.address, &[round as u8; 200]);
            let deadline = &mut Seconds::ten();
            queue.put_signal(to, from, 200, word, NicSignal::Set(round), deadline).unwrap();
            while read(word.address, 8) != round.to_le_bytes() {
                assert!(deadline.goes_on(1), "the signal came");
            }
            assert_eq!(read(to.address, 200), [round as u8; 200]);
            queue.quiet(deadline).unwrap();
        }
    });
}

fn write_nop(queue: &QueuePair<Plain>, index: u64) {
    let qpn = QueueNumber::new(crate::nic::QPN);
    let control = Control { queue: qpn, index, fence: Fence::None, completion: Completion::Always };
    queue.write_at(index, wqe::nop(control));
}

/// A thread leaves the ringing to another that has reserved; where that one does not come to it, whoever waits rings.
#[test]
fn who_waits_rings_for_the_others() {
    let world = World::new(Shape::default());
    let (queue, mut deadline) = (world.queue(), world.looks(1000));
    // Somebody has reserved behind, so that the first of two leaves it to them.
    let first = queue.reserve(2, &mut deadline).unwrap();
    let second = queue.reserve(1, &mut deadline).unwrap();
    assert_eq!((first.first, first.end, second.end), (0, 2, 3));
    let nop = |index| write_nop(&queue, index);
    (0..3).for_each(nop);
    queue.publish(first, &mut deadline).unwrap();
    world.nic.lock().unwrap().step();
    assert_eq!(world.nic.lock().unwrap().rings, 0, "the last one rings");
    queue.publish(second, &mut deadline).unwrap();
    world.nic.lock().unwrap().step();
    assert_eq!(world.nic.lock().unwrap().rings, 1);
    assert_eq!(world.opcodes().len(), 3);
    // Nobody rings for what is published here, but the one that waits.
    let fourth = queue.reserve(1, &mut deadline).unwrap();
    nop(3);
    let rest = word(world.state + offset_of!(QueuePairState, reserved) as u64);
    rest.fetch_add(16, SeqCst);
    queue.publish(fourth, &mut deadline).unwrap();
    assert_eq!(world.nic.lock().unwrap().rings, 1);
    rest.fetch_sub(16, SeqCst);
    queue.quiet(&mut deadline).unwrap();
    assert_eq!(world.opcodes().len(), 4);
}

/// Crossing a batch rings even if others will.
#[test]
fn a_batch_that_is_crossed_is_rung_for() {
    let world = World::new(Shape { log_batch: 1, ..Shape::default() });
    let (queue, mut deadline) = (world.queue(), world.looks(1000));
    let rest = word(world.state + offset_of!(QueuePairState, reserved) as u64);
    let mut rings = Vec::new();
    for index in 0..4 {
        let blocks = queue.reserve(1, &mut deadline).unwrap();
        assert_eq!(blocks.first, index);
        write_nop(&queue, index);
        rest.fetch_add(1, SeqCst);
        queue.publish(blocks, &mut deadline).unwrap();
        rest.fetch_sub(1, SeqCst);
        world.nic.lock().unwrap().step();
        rings.push(world.nic.lock().unwrap().rings);
    }
    assert_eq!(rings, [0, 1, 1, 2]);
}

#[test]
fn a_quiet_over_all_covers_each_threads_own() {
    let world = World::new(Shape::default());
    let map = memory(WORDS_AT + 8);
    run(&world, 5, |me, queue| {
        // SAFETY: a table of one queue pair, and a map with room for its bit.
        let dirty = unsafe { Dirty::new(Plain, world.abi, 1, map) };
        let own = world.remote(8 * me);
        for round in 1..300u64 {
            let deadline = &mut Seconds::ten();
            queue.p(own, Inline::of_u64(round), deadline).unwrap();
            dirty.mark(&queue);
            dirty.quiet(deadline).unwrap();
            assert_eq!(read(own.address, 8), round.to_le_bytes());
        }
    });
    // SAFETY: as above.
    let dirty = unsafe { Dirty::new(Plain, world.abi, 1, map) };
    dirty.quiet(&mut Seconds::ten()).unwrap();
    assert_eq!(word(map + WORDS_AT).load(SeqCst), 0, "nothing is under way, and nothing is marked");
}
