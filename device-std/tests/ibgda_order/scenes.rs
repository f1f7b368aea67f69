//! What the thread that posts does. Its ring of two blocks wraps.

use crate::memory::{Forever, Loom, Mutant, TABLE};
use crate::nic::{self, Wakes};
use loom::thread;
use oxshmem_device::net::ibgda::{Place, QueuePair};
use oxshmem_device::net::mlx5::{Inline, Key};

pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Option<Mutant>),
}

pub(crate) const SCENES: &[Scene] = &[
    Scene { name: "puts, doorbell", run: |mutant| run(mutant, Wakes::Doorbell, 3, puts) },
    Scene { name: "puts, record read early", run: |mutant| run(mutant, Wakes::Record, 3, puts) },
    Scene { name: "gets", run: |mutant| run(mutant, Wakes::Doorbell, 3, gets) },
];

const THERE: Place = Place { address: 0, key: Key::new(1) };

/// Runs `post` while the NIC carries out `count` requests.
fn run(mutant: Option<Mutant>, wakes: Wakes, count: u64, post: fn(&QueuePair<Loom>, u64)) {
    let memory = Loom::new(mutant);
    let nic = thread::spawn({
        let memory = memory.clone();
        move || nic::run(&memory, wakes, count)
    });
    // SAFETY: loom's memory has all that the description names.
    post(&unsafe { QueuePair::new(memory.clone(), TABLE) }, count);
    nic.join().unwrap();
    let rung = memory.0.doorbell.load(loom::sync::atomic::Ordering::Acquire) >> 8;
    assert_eq!(rung, count, "a doorbell is lost");
}

fn puts(queue: &QueuePair<Loom>, count: u64) {
    (0..count).for_each(|_| queue.p(THERE, Inline::of_u64(1), &mut Forever).unwrap());
    queue.quiet(&mut Forever).unwrap();
}

fn gets(queue: &QueuePair<Loom>, count: u64) {
    (0..count).for_each(|at| assert_eq!(queue.g(THERE, 8, &mut Forever), Ok(100 + at)));
}
