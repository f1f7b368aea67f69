//! Packets: data and flag in the same 16 bytes, written and read by one access each, so that no order between them is
//! needed. What they carry costs twice its bytes and no release: a round trip of a few bytes takes half the time of one by
//! [`put_signal`](crate::Scoped::put_signal). (Known as the LL protocol.)
//!
//! | step | thread | edge |
//! |---|---|---|
//! | scope barrier | all | what any thread wrote to the source is what is sent |
//! | `st.relaxed.sys.b128` of 8 bytes of data and the round | all | one access: both halves are seen together (PTX ISA 8.2.4) |
//! | `ld.relaxed.sys.b128` until the round is there | waiter, all | the data is what came in the same access |
//! | scope barrier | waiter's scope | joins the threads |
//!
//! A packet orders nothing but its own data, on either side.

use super::buffer::sealed::Buffer;
use super::{Destination, Source};
use crate::abi::{Cause, Cmp, Operation};
use crate::arch::{V16, Word};
use crate::context::{Context, MayWait, Shmem};
use crate::copy::{self, Space, bits, value};
use crate::fault::{Fault, fail};
use crate::poll::{Polled, Until, poll, poll_until};
use crate::scope::{Scope, Scoped, Thread};
use crate::seam;
use crate::share::Share;
use crate::sym::{self, Data, Sym, Symmetric};
use bytemuck::Pod;
use core::convert::Infallible;
use core::marker::PhantomData;

/// Bytes of a packet.
pub(super) const BYTES: u64 = 16;

/// A `T` of at most 8 bytes, and the number of the round that it belongs to. A packet is sent again in a later round only
/// after its receiver has taken it, of which the receiver tells the sender, for example by a packet of its own: what was
/// taken came in one access, and nothing later can change it. Rounds begin at 1: memory that nobody has written holds
/// round 0.
///
/// Elements of less than 8 bytes waste room: send two `f32` as one `[f32; 2]`.
#[derive(Debug)]
pub struct Packet<T: Pod>(Infallible, PhantomData<T>);

impl<T: Pod> sym::sealed::Sealed for Packet<T> {}
impl<T: Pod> Symmetric for Packet<T> {
    type Len = ();
    const ELEMENT_BYTES: u64 = {
        assert!(size_of::<T>() <= 8, "a packet carries at most 8 bytes: send larger data by `put_signal`");
        BYTES
    };
}

impl<C: Context> Scoped<Thread, C> {
    /// Writes `value` and `round` into `target` on `pe`, in one access.
    #[inline(always)]
    #[track_caller]
    pub fn p_packet<T: Data>(self, target: Sym<Packet<T>>, value: T, round: u64, pe: u32) {
        const {
            assert!(size_of::<T>() <= 8, "a packet carries at most 8 bytes: send larger data by `put_signal`")
        };
        let _recorded = self.enter(Operation::PutPackets, target.offset(), BYTES, pe);
        let to = self.remote(target.span(), pe, Operation::PutPackets);
        // SAFETY: a mapped, aligned packet, which only such accesses reach.
        unsafe { V16::store_relaxed(to, V16(bits(value), round)) };
    }

    /// Waits until this PE's own `packet` is of `round`; returns its value. Of the sender's other actions it says nothing.
    ///
    /// Does not return if the deadline passes or a peer fails. The packet of another round, a later one too, does not end
    /// the wait.
    #[inline(always)]
    #[track_caller]
    pub fn wait_packet<T: Data>(self, packet: Sym<Packet<T>>, round: u64) -> T
    where
        C: MayWait,
    {
        let shmem = self.shmem();
        let _recorded = self.enter_here(Operation::WaitPackets, packet.offset(), BYTES);
        let from = shmem.own_address(packet.span(), Operation::WaitPackets);
        let mut data = 0;
        let polled = poll(shmem, shmem.abi.deadline, || {
            // SAFETY: a mapped, aligned packet, which only such accesses reach.
            let V16(bits, seen) = unsafe { V16::load_relaxed(from) };
            data = bits;
            (seen == round, seen)
        });
        self.scope.join(shmem, polled, missing(shmem, packet.offset(), round));
        value(data)
    }

    /// The value of this PE's own `packet` if it is of `round` now.
    #[inline(always)]
    #[track_caller]
    pub fn test_packet<T: Data>(self, packet: Sym<Packet<T>>, round: u64) -> Option<T> {
        let shmem = self.shmem();
        let _recorded = self.enter_here(Operation::Test, packet.offset(), BYTES);
        let from = shmem.own_address(packet.span(), Operation::Test);
        // SAFETY: a mapped, aligned packet, which only such accesses reach.
        let V16(bits, seen) = unsafe { V16::load_relaxed(from) };
        if seen == round { Some(value(bits)) } else { None }
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Sends `source`, one element per packet, to the packets `target` on `pe`. All threads of the scope call it with the
    /// same arguments; each sends a part. When it returns, the source may be reused. Lengths are in elements and must be
    /// equal; zero is allowed.
    #[inline(always)]
    #[track_caller]
    pub fn put_packets<T: Data>(
        self,
        target: Sym<[Packet<T>]>,
        source: impl Source<T, S>,
        round: u64,
        pe: u32,
    ) {
        let _recorded = self.enter(Operation::PutPackets, target.offset(), target.len() * BYTES, pe);
        seam::with(round);
        self.send_packets(target, &source, round, pe);
    }

    /// Waits until every packet of this PE's own `packets` is of `round`, and takes their values into `target`. All
    /// threads of the scope call it with the same arguments; when it returns, the data is there for the whole scope. Of
    /// the sender's other actions it says nothing.
    ///
    /// Does not return if the deadline passes or a peer fails. A packet of another round, a later one too, does not end the
    /// wait.
    #[inline(always)]
    #[track_caller]
    pub fn wait_packets<T: Data>(self, target: impl Destination<T, S>, packets: Sym<[Packet<T>]>, round: u64)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::WaitPackets, packets.offset(), packets.len() * BYTES);
        seam::with(round);
        self.take_packets(&target, packets, round);
    }

    #[inline(always)]
    pub(super) fn send_packets<T: Pod, B: Buffer<T>>(
        self,
        target: Sym<[Packet<T>]>,
        source: &B,
        round: u64,
        pe: u32,
    ) {
        let to = self.remote(target.span(), pe, Operation::PutPackets);
        let (from, len) = source.resolve(self.shmem(), Operation::PutPackets);
        self.same_length(target.len(), len, target.offset(), pe, Operation::PutPackets);
        self.meet();
        let mut share = Share::new(self.scope, len);
        if share.is_one_each() {
            if share.has_some() {
                // SAFETY: the numbers of a share are less than `len`, which both sides have.
                unsafe {
                    let a = load::<B::Space, T>(from, share.at(0));
                    share.own(0, |i| V16::store_relaxed(to + i * BYTES, V16(a, round)));
                }
            }
            self.meet();
            return;
        }
        while share.has_some() {
            // SAFETY: as above.
            unsafe {
                let [a, b, c, d] = share.four().map(|i| load::<B::Space, T>(from, i));
                share.own(0, |i| V16::store_relaxed(to + i * BYTES, V16(a, round)));
                share.own(1, |i| V16::store_relaxed(to + i * BYTES, V16(b, round)));
                share.own(2, |i| V16::store_relaxed(to + i * BYTES, V16(c, round)));
                share.own(3, |i| V16::store_relaxed(to + i * BYTES, V16(d, round)));
            }
            share.advance();
        }
        self.meet();
    }

    #[inline(always)]
    pub(super) fn take_packets<T: Pod, B: Buffer<T>>(
        self,
        target: &B,
        packets: Sym<[Packet<T>]>,
        round: u64,
    ) {
        let shmem = self.shmem();
        let from = shmem.own_address(packets.span(), Operation::WaitPackets);
        let (to, len) = target.resolve(shmem, Operation::WaitPackets);
        takes(shmem, len, packets.len(), packets.offset());
        self.meet();
        let mut share = Share::new(self.scope, len);
        let mut until = Until::within(shmem.abi.deadline);
        let mut polled = Polled::Held;
        if share.is_one_each() {
            if share.has_some() {
                // SAFETY: the numbers of a share are less than `len`, which both sides have.
                polled = poll_until(shmem, &mut until, || unsafe {
                    let V16(data, seen) = packet(from, share.at(0));
                    if seen == round {
                        share.own(0, |i| store::<B::Space, T>(to, i, data));
                    }
                    (seen == round, seen)
                });
            }
            let at = packets.offset() + share.at(0) * BYTES;
            self.scope.join(shmem, polled, missing(shmem, at, round));
            return;
        }
        while share.has_some() {
            // SAFETY: as above.
            polled = poll_until(shmem, &mut until, || unsafe {
                let [a, b, c, d] = share.four().map(|i| packet(from, i));
                let here = (a.1 == round) & (b.1 == round) & (c.1 == round) & (d.1 == round);
                if here {
                    share.own(0, |i| store::<B::Space, T>(to, i, a.0));
                    share.own(1, |i| store::<B::Space, T>(to, i, b.0));
                    share.own(2, |i| store::<B::Space, T>(to, i, c.0));
                    share.own(3, |i| store::<B::Space, T>(to, i, d.0));
                }
                (here, 0)
            });
            if !matches!(polled, Polled::Held) {
                break;
            }
            share.advance();
        }
        let mut absent = share.at(0);
        if matches!(polled, Polled::Expired(_)) {
            // Of four, the first that is missing.
            for k in (0..4).rev() {
                // SAFETY: as above.
                let V16(_, seen) = unsafe { packet(from, share.at(k)) };
                if seen != round {
                    (absent, polled) = (share.at(k), Polled::Expired(seen));
                }
            }
        }
        self.scope.join(shmem, polled, missing(shmem, packets.offset() + absent * BYTES, round));
    }
}

/// Ends the calling thread unless a target of `target` elements takes what is awaited at `offset`, of `awaited` elements.
#[inline(always)]
pub(super) fn takes(shmem: Shmem, target: u64, awaited: u64, offset: u64) {
    if target != awaited {
        let fault = Fault::new(Cause::LengthMismatch, Operation::WaitPackets);
        fail(shmem, Fault { peer: shmem.my_pe(), offset, expected: target, seen: awaited, ..fault });
    }
}

/// What is reported of a packet that did not come.
#[inline(always)]
fn missing(shmem: Shmem, offset: u64, round: u64) -> Fault {
    let fault = Fault::new(Cause::Deadline, Operation::WaitPackets);
    Fault { cmp: Cmp::Eq as u32, peer: shmem.my_pe(), offset, expected: round, ..fault }
}

/// # Safety
/// There is an element `i`.
#[inline(always)]
unsafe fn load<F: Space, T: Pod>(from: u64, i: u64) -> u64 {
    // SAFETY: passed on.
    bits(unsafe { copy::load::<F, T>(from + i * size_of::<T>() as u64) })
}

/// # Safety
/// There is an element `i`.
#[inline(always)]
unsafe fn store<D: Space, T: Pod>(to: u64, i: u64, data: u64) {
    // SAFETY: passed on.
    unsafe { copy::store::<D, T>(to + i * size_of::<T>() as u64, value(data)) };
}

/// # Safety
/// There is a packet `i`.
#[inline(always)]
unsafe fn packet(from: u64, i: u64) -> V16 {
    // SAFETY: a mapped, aligned packet, which only such accesses reach.
    unsafe { V16::load_relaxed(from + i * BYTES) }
}
