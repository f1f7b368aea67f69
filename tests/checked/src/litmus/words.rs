//! The memory of a shape, and how its actors use it.

use super::Kernel;
use core::ops::Deref;
use oxshmem_device::prelude::*;
use oxshmem_device::{Scoped, Thread};
use oxshmem_emulator::check::{Registers, World};

/// Words under the names that they have in a shape's text; on every PE.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// Data.
    pub(super) x: Sym<[u64]>,
    /// Data.
    pub(super) y: Sym<[u64]>,
    /// The own source or destination of an operation.
    pub(super) a: Sym<[u64]>,
    /// `x`, in shapes whose `x` is updated by atomics.
    pub(super) atomic_x: Sym<Atomic<u64>>,
    /// `y`, likewise: the word after `atomic_x`.
    pub(super) atomic_y: Sym<Atomic<u64>>,
    /// A signal.
    pub(super) s: Sym<Signal>,
    /// A second signal.
    pub(super) t: Sym<Signal>,
    /// A signal that gives credit.
    pub(super) c: Sym<Signal>,
    /// What the threads leave for the host.
    pub(super) r: Registers,
}

/// One thread's view of the words.
pub(super) struct Me<'a> {
    /// The context.
    pub(super) shmem: Collective,
    words: &'a Words,
}

/// What one thread does.
pub(super) type Actor = fn(&Me<'_>, Scoped<Thread, Collective>);

/// The actor that does nothing.
pub(super) const NOTHING: Actor = |_, _| {};

/// The actor that waits for `s` and reads `x`.
pub(super) const WAIT_AND_READ_X: Actor = |me, t| {
    t.wait_until(me.s, Cmp::Ge, 1);
    me.r.set(0, me.read(me.x));
};

/// The actor that waits for `s` and reads `y`.
pub(super) const WAIT_AND_READ_Y: Actor = |me, t| {
    t.wait_until(me.s, Cmp::Ge, 1);
    me.r.set(0, me.read(me.y));
};

/// The actor that comes to the barrier of all PEs and reads `x`.
pub(super) const BARRIER_AND_READ_X: Actor = |me, t| {
    t.barrier_all();
    me.r.set(0, me.read(me.x));
};

impl Words {
    /// All words, and so many registers.
    pub(super) fn new(world: &mut World, registers: usize) -> Self {
        let atomics = world.atomics("atomic", 2);
        Self {
            x: world.data("x", 1),
            y: world.data("y", 1),
            a: world.data("a", 1),
            atomic_x: atomics.at(0),
            atomic_y: atomics.at(1),
            s: world.signals("s", 1).at(0),
            t: world.signals("t", 1).at(0),
            c: world.signals("c", 1).at(0),
            r: world.registers(registers),
        }
    }

    /// The kernel in which PE `i` is the `i`-th actor.
    pub(super) fn pes<const PES: usize>(self, actors: [Actor; PES]) -> Kernel {
        self.threads(actors.map(|actor| [actor]))
    }

    /// The kernel in which thread `j` of PE `i`'s grid is the `j`-th actor of the `i`-th; threads without one do nothing.
    pub(super) fn threads<const PES: usize, const THREADS: usize>(
        self,
        actors: [[Actor; THREADS]; PES],
    ) -> Kernel {
        Box::new(move |shmem| {
            let of_pe = &actors[shmem.my_pe() as usize];
            if let Some(actor) = of_pe.get(thread::in_grid() as usize) {
                actor(&Me { shmem, words: &self }, shmem.thread());
            }
        })
    }
}

impl Deref for Me<'_> {
    type Target = Words;
    fn deref(&self) -> &Words {
        self.words
    }
}

impl Me<'_> {
    /// The first element of the own copy, by a plain read.
    #[track_caller]
    pub(super) fn read(&self, data: Sym<[u64]>) -> u64 {
        self.shmem.local(data).get(0)
    }

    /// Writes the first element of the own copy, plainly.
    #[track_caller]
    pub(super) fn write(&self, data: Sym<[u64]>, value: u64) {
        self.shmem.local(data).set(0, value);
    }

    /// Joins the block.
    pub(super) fn block_sync(&self) {
        self.shmem.block().sync();
    }
}

/// A signal as plain data: what the types of handles are there to prevent.
pub(super) fn signal_as_data(signal: Sym<Signal>) -> Sym<[u64]> {
    // SAFETY: a signal is 8 bytes, allocated on every PE and aligned to 8; any bits are a `u64`.
    unsafe { Sym::from_parts(signal.offset(), 1, Reach::World) }
}

/// An atomic word as plain data, likewise.
pub(super) fn atomic_as_data(word: Sym<Atomic<u64>>) -> Sym<[u64]> {
    // SAFETY: the word is 8 bytes, allocated on every PE and aligned to 8; any bits are a `u64`.
    unsafe { Sym::from_parts(word.offset(), 1, Reach::World) }
}

/// The lower half of an atomic word, likewise.
pub(super) fn lower_half(word: Sym<Atomic<u64>>) -> Sym<Atomic<u32>> {
    // SAFETY: the first 4 of 8 bytes that are allocated on every PE and aligned to 8; any bits are a `u32`.
    unsafe { Sym::from_parts(word.offset(), (), Reach::World) }
}

/// A packet as plain data of one access, likewise: its value in the lower half, its round in the upper one.
pub(super) fn packet_as_data(packet: Sym<Packet<u64>>) -> Sym<[u128]> {
    // SAFETY: a packet is 16 bytes, allocated on every PE and aligned to 16; any bits are a `u128`.
    unsafe { Sym::from_parts(packet.offset(), 1, Reach::World) }
}

/// A packet as two words of plain data, likewise: value and round.
pub(super) fn packet_as_words(packet: Sym<Packet<u64>>) -> Sym<[u64]> {
    // SAFETY: a packet is 16 bytes, allocated on every PE and aligned to 16; any bits are two `u64`.
    unsafe { Sym::from_parts(packet.offset(), 2, Reach::World) }
}
