//! Follows a [`schedule`](super::schedule): a collective operation of many messages, each a put and a strong signal, by puts,
//! signals and waits alone. So it takes any path that they take, and what it orders is what they order. A signal that covers its
//! data alone would not do: a target may be written once its PE's part of a chunk has been read, which its writer knows from
//! others.
//!
//! | part of a step | by | edge |
//! |---|---|---|
//! | waits for the message | [`wait_reached`](Scoped::wait_reached) of the slot's word | acquires the chunk |
//! | waits for the slot | `wait_reached` of the credit word | acquires the receiver's reads of what stood there |
//! | makes the value, in its slot or in the target | weak vector loads and stores of the own memory, by all threads | the scope barrier that a put begins with |
//! | sends it | [`put`](Scoped::put) from where it stands, then a strong [`signal`](Scoped::signal) | releases the chunk, and what led to it |
//! | gives the credit | a strong signal | releases the reads of the slot |
//!
//! A partial result that is only passed on is made in the slot that it was received in, and sent from there: nothing else is
//! staged.

use super::bytes;
use super::element::Element;
use super::ops::Reduction;
use super::packets::Four;
use super::schedule::{Place, Receive, Schedule, Send, Shape, Step, Value, span};
use crate::abi::{Cause, Operation};
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::copy::{self, GlobalSpace, bits, value};
use crate::fault::{Fault, fail};
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::signal::{Signal, SignalOp};
use crate::sym::{Sym, Symmetric};
use crate::together::Together;

/// Symmetric memory by which a schedule is followed: zero at first, and then of one schedule, one number of lanes and one team
/// alone. What is under way in it when a wait fails is lost: after `recover` take new memory.
#[derive(Clone, Copy, Debug)]
pub struct Course<T: Element> {
    /// At least [`Shape::signals`](super::schedule::Shape::signals).
    pub signals: Sym<[Signal]>,
    /// At least [`Shape::buffers`](super::schedule::Shape::buffers) times the elements of the
    /// [`longest`](super::schedule::Shape::longest) chunk, rounded up to a multiple of 16 bytes.
    pub buffers: Sym<[T]>,
    /// One for each lane.
    pub counters: Sym<[u64]>,
}

impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// Does what `schedule` says, with all PEs of the team: `of(lane)` is that of this PE and a lane, in a grid each block,
    /// else the scope alone. `target` and `source` have the same length on all PEs, and may be the same memory; a
    /// reduce-scatter and an all-gather take them as a block for each PE, of which a PE has its own in `source`, or gets it in
    /// `target`. What else is in `target` may be overwritten by partial results, but for an all-gather and a broadcast.
    ///
    /// For one element and one operator all PEs get the same bits, in every run: the order is the schedule's. Partial results
    /// have the type of the elements. An all-gather and a broadcast do not use `op`.
    ///
    /// ```
    /// use oxshmem_device::collective::Course;
    /// use oxshmem_device::collective::schedule::{Grid, Pipeline, Ring};
    /// use oxshmem_device::prelude::*;
    ///
    /// /// An all-reduce by messages to the next PE alone.
    /// #[nvshmem_kernel]
    /// fn ring(
    ///     shmem: Collective,
    ///     target: Sym<[f32]>,
    ///     source: Sym<[f32]>,
    ///     signals: Sym<[Signal]>,
    ///     buffers: Sym<[f32]>,
    ///     counters: Sym<[u64]>,
    /// ) {
    ///     let pipeline = Pipeline { rounds: 4, depth: 2, lag: 0, slots: 4 };
    ///     let Some(pes) = Grid::new(1, shmem.n_pes()) else { return };
    ///     let of = |lane| Ring::all_reduce(pes, shmem.my_pe(), lane, pipeline);
    ///     shmem.grid().follow(of, Sum, target, source, Course { signals, buffers, counters });
    /// }
    /// ```
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths, blocks that are not of one length and a
    /// `course` that is too small end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn follow<P: Schedule, T: Element, O: Reduction<T>>(
        self,
        of: impl FnOnce(u32) -> P,
        op: O,
        target: Sym<[T]>,
        source: Sym<[T]>,
        course: Course<T>,
    ) {
        self.meet();
        let (lane, lanes) = self.scope.lane();
        let schedule = of(lane);
        let shape = schedule.shape();
        self.same_lengths(target, target.len(), source.len(), Operation::Follow);
        let worker = Scoped::new(self.context, self.scope.worker());
        let room = worker.has_room(shape, target, course, lanes);
        let counter = course.counters.at(lane.into());
        let base = worker.shmem().local(counter).get(0);
        let words = shape.signals(1);
        let follower = Follower {
            worker,
            op,
            target,
            source,
            buffers: course.buffers.slice(u64::from(lane) * shape.buffers(1) * room, shape.buffers(1) * room),
            room,
            signals: course.signals.slice(u64::from(lane) * words, words),
            shape,
            lanes: (lane, lanes),
            base,
        };
        if base > 0 {
            follower.settle(schedule);
        }
        let mut index = 0;
        while index < schedule.steps() {
            if let Some(step) = schedule.step(index) {
                follower.step(step);
            }
            index += 1;
        }
        worker.meet();
        if worker.is_leader() {
            worker.shmem().local(counter).set(0, base + u64::from(shape.numbers));
        }
        self.scope.close(self.shmem());
    }

    /// Elements of a buffer; ends the kernel if the course is too small, or the vector has no blocks of one length.
    #[inline(always)]
    fn has_room<T: Element>(self, shape: Shape, of: Sym<[T]>, course: Course<T>, lanes: u32) -> u64 {
        self.has_elements(course.signals, shape.signals(lanes));
        self.has_elements(course.counters, lanes.into());
        let blocks = u64::from(shape.blocks);
        self.has_elements(of, of.len().next_multiple_of(blocks));
        let (buffers, longest) = (shape.buffers(lanes), shape.longest(of.len(), lanes, unit::<T>()));
        if buffers == 0 {
            return 0;
        }
        self.has_elements(course.buffers, buffers * longest.next_multiple_of(unit::<T>()));
        course.buffers.len() / buffers / unit::<T>() * unit::<T>()
    }

    /// Ends the kernel if memory has fewer elements than `asked`.
    #[inline(always)]
    fn has_elements<T: Symmetric<Len = ()>>(self, of: Sym<[T]>, asked: u64) {
        if of.len() < asked {
            let fault =
                Fault { peer: self.shmem().my_pe(), ..Fault::new(Cause::TooShort, Operation::Follow) };
            fail(self.shmem(), Fault { offset: of.offset(), expected: asked, seen: of.len(), ..fault });
        }
    }
}

/// Elements of 16 bytes.
#[inline(always)]
const fn unit<T>() -> u64 {
    16 / size_of::<T>() as u64
}

/// One worker and its lane.
#[derive(Clone, Copy)]
struct Follower<W, C, T: Element, O> {
    worker: Scoped<W, C>,
    op: O,
    target: Sym<[T]>,
    source: Sym<[T]>,
    /// The lane's, `room` elements each.
    buffers: Sym<[T]>,
    room: u64,
    /// The lane's: of each inbox its slots' words, then the credit words.
    signals: Sym<[Signal]>,
    shape: Shape,
    lanes: (u32, u32),
    /// What all numbers of this execution are counted from.
    base: u64,
}

impl<W: Scope, C: MayWait, T: Element, O: Reduction<T>> Follower<W, C, T, O> {
    /// Waits until all that the last execution sent is read.
    #[inline(always)]
    #[track_caller]
    fn settle<P: Schedule>(self, schedule: P) {
        let last = self.base - u64::from(self.shape.numbers);
        let mut credit = 0;
        while credit < self.shape.credits {
            let sent = schedule.sent(credit);
            if sent > 0 {
                self.worker.wait_reached(self.credit(credit), last + u64::from(sent + self.shape.grants));
            }
            credit += 1;
        }
    }

    /// A step, as [`Step`] says.
    #[inline(always)]
    #[track_caller]
    fn step(self, step: Step) {
        let (start, count) = self.chunk(step.chunk);
        let (target, source) = (self.target.slice(start, count), self.source.slice(start, count));
        let mut slot = target;
        if let Some(receive) = step.receive {
            if receive.number > 0 {
                self.worker.wait_reached(
                    self.word(receive.inbox, receive.slot),
                    self.base + u64::from(receive.number),
                );
            }
            if matches!(receive.place, Place::Slot) {
                slot = self.buffer(receive.inbox, receive.slot, count);
            }
        }
        if let Some(Send { credit, needs, .. }) = step.send
            && needs > 0
        {
            self.worker.wait_reached(self.credit(credit), self.base + u64::from(needs));
        }
        let made = if step.keep { target } else { slot };
        let from = match step.value {
            Value::Source if step.keep => {
                self.copy(source, target);
                target
            }
            Value::Source => source,
            Value::ReceivedAndSource => {
                self.combine(slot, source, made);
                made
            }
            Value::ReceivedAndKept => {
                self.combine(slot, target, made);
                made
            }
            Value::Kept | Value::Final => target,
        };
        if let Some(send) = step.send {
            let to = match send.place {
                Place::Slot => self.buffer(send.inbox, send.slot, count),
                Place::Destination => target,
            };
            self.worker.put(to, from, send.to);
            let number = SignalOp::Set(self.base + u64::from(send.number));
            self.worker.signal(self.word(send.inbox, send.slot), number, send.to);
        }
        if let Some(Receive { from, credit, grants, .. }) = step.receive {
            self.worker.signal(self.credit(credit), SignalOp::Set(self.base + u64::from(grants)), from);
        }
    }

    /// First element and length of a chunk of this lane, in the whole vector.
    #[inline(always)]
    fn chunk(self, chunk: u32) -> (u64, u64) {
        let (lane, lanes) = self.lanes;
        let each = self.shape.chunks / self.shape.blocks;
        let block = self.target.len() / u64::from(self.shape.blocks);
        let (begin, length) = span(lane, lanes, block, unit::<T>());
        let (first, count) = span(chunk % each, each, length, unit::<T>());
        (block * u64::from(chunk / each) + begin + first, count)
    }

    #[inline(always)]
    fn word(self, inbox: u32, slot: u32) -> Sym<Signal> {
        self.signals.at((inbox * self.shape.slots + slot).into())
    }

    #[inline(always)]
    fn credit(self, credit: u32) -> Sym<Signal> {
        self.signals.at((self.shape.inboxes * self.shape.slots + credit).into())
    }

    #[inline(always)]
    fn buffer(self, inbox: u32, slot: u32, count: u64) -> Sym<[T]> {
        self.buffers.slice(u64::from(inbox * self.shape.slots + slot) * self.room, count)
    }

    /// Writes `op` of `left` and `right` to `to`, by all threads of the worker; each element is written by the thread that has
    /// read it.
    #[inline(always)]
    #[track_caller]
    fn combine(self, left: Sym<[T]>, right: Sym<[T]>, to: Sym<[T]>) {
        let op = self.op;
        let word = |left, right| T::word(op.next(T::first(left), right));
        let pass = Pass { left: self.address(left), right: self.address(right), to: self.address(to) };
        // SAFETY: the handles name such memory of this PE; nobody else accesses it meanwhile, as the schedule has it.
        unsafe { pass.over::<T, W, C>(self.worker, left.len(), word) };
    }

    /// Copies, unless it is the same memory.
    #[inline(always)]
    #[track_caller]
    fn copy(self, from: Sym<[T]>, to: Sym<[T]>) {
        let (from, at) = (self.address(from), self.address(to));
        if from != at {
            seam::access(Together::OneThread, Operation::Access);
            // SAFETY: as in `combine`.
            unsafe { self.worker.transfer::<GlobalSpace, GlobalSpace, T>(at, from, bytes::<T>(to.len())) };
        }
    }

    #[inline(always)]
    fn address(self, of: Sym<[T]>) -> u64 {
        self.worker.shmem().own_address(of.span(), Operation::Follow)
    }
}

/// Elements of which two are made one: addresses of the own memory.
#[derive(Clone, Copy)]
struct Pass {
    left: u64,
    right: u64,
    to: u64,
}

impl Pass {
    /// Writes what `word` makes of words of 8 bytes.
    ///
    /// # Safety
    /// `count` elements at each address are valid and aligned; nobody else accesses them meanwhile; they are the same memory or
    /// have none in common.
    #[inline(always)]
    #[track_caller]
    unsafe fn over<T: Element, W: Scope, C: MayWait>(
        self,
        worker: Scoped<W, C>,
        count: u64,
        word: impl Fn(u64, u64) -> u64,
    ) {
        let Self { left, right, to } = self;
        let (rank, step) = (worker.rank(), worker.size());
        let both = |V16(a, b): V16, V16(c, d): V16| V16(word(a, c), word(b, d));
        let words = if (left | right | to) & 15 == 0 { bytes::<T>(count) / 16 } else { 0 };
        // SAFETY: words and elements of the ranges.
        unsafe {
            let load = |of: u64, i: u64| V16::load_global(of + 16 * i);
            let store = |i: u64, made| V16::store_global(to + 16 * i, made);
            let mut i = rank;
            while i + 3 * step < words {
                seam::access(Together::OneThread, Operation::Access);
                let at = Four(i, i + step, i + 2 * step, i + 3 * step);
                let four = |of| Four(load(of, at.0), load(of, at.1), load(of, at.2), load(of, at.3));
                let (a, b) = (four(left), four(right));
                store(at.0, both(a.0, b.0));
                store(at.1, both(a.1, b.1));
                store(at.2, both(a.2, b.2));
                store(at.3, both(a.3, b.3));
                i += 4 * step;
            }
            while i < words {
                seam::access(Together::OneThread, Operation::Access);
                store(i, both(load(left, i), load(right, i)));
                i += step;
            }
            let mut i = words * unit::<T>() + rank;
            while i < count {
                seam::access(Together::OneThread, Operation::Access);
                let at = bytes::<T>(i);
                let load = |of: u64| bits(copy::load::<GlobalSpace, T>(of + at));
                copy::store::<GlobalSpace, T>(to + at, value(word(load(left), load(right))));
                i += step;
            }
        }
    }
}
