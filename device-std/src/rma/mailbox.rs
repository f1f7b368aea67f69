//! Mailboxes: messages of a fixed length, sent with the flag that says so, by the cheaper of two ways.
//!
//! | length | memory | sent | received |
//! |---|---|---|---|
//! | up to [`IN_PACKETS`] elements of at most 8 bytes | a packet per element | as packets: no release, no fence | each thread takes its packets |
//! | more | 16 bytes for the round, then the data | put, scope barrier, `st.release.sys` of the round | poll, acquire, copy |
//!
//! The length stands in the type, so that both sides choose alike, at compile time.

use super::{Destination, Packet, Source, packet};
use crate::abi::{Cmp, Operation};
use crate::arch::Word;
use crate::context::{Context, MayWait};
use crate::copy::GlobalSpace;
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::signal::Signal;
use crate::sym::{self, Data, Sym, Symmetric};
use bytemuck::Pod;
use core::convert::Infallible;
use core::marker::PhantomData;

/// The longest message that goes as packets, in elements.
pub const IN_PACKETS: usize = 256;

/// Where the data lies in a mailbox without packets.
const DATA: u64 = 16;

/// A message of `N` elements of `T`, at least one, and the number of its round. Rounds begin at 1. A mailbox is filled again
/// only after its receiver has taken what is in it and has said so by a *strong* signal, which the sender has waited for: a
/// long message is read by plain loads, and a packet would not be ordered behind them.
#[derive(Debug)]
pub struct Mailbox<T: Pod, const N: usize>(Infallible, PhantomData<T>);

impl<T: Pod, const N: usize> Mailbox<T, N> {
    /// Whether its messages go as packets.
    const PACKETS: bool = size_of::<T>() <= 8 && N <= IN_PACKETS;
}

impl<T: Pod, const N: usize> sym::sealed::Sealed for Mailbox<T, N> {}
impl<T: Pod, const N: usize> Symmetric for Mailbox<T, N> {
    type Len = ();
    const ELEMENT_BYTES: u64 = if N == 0 {
        panic!("a mailbox holds messages of at least one element")
    } else if Self::PACKETS {
        N as u64 * packet::BYTES
    } else {
        DATA + (N as u64 * size_of::<T>() as u64).next_multiple_of(16)
    };
}

impl<T: Pod, const N: usize> Sym<Mailbox<T, N>> {
    /// Its packets.
    #[inline(always)]
    fn packets(self) -> Sym<[Packet<T>]> {
        self.retyped(N as u64)
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Sends `source`, of `N` elements, to `mailbox` on `pe`. All threads of the scope call it with the same arguments;
    /// each moves a part. When it returns, the source may be reused. It orders its own data only.
    #[inline(always)]
    #[track_caller]
    pub fn put_mailbox<T: Data, B: Source<T, S>, const N: usize>(
        self,
        mailbox: Sym<Mailbox<T, N>>,
        source: B,
        round: u64,
        pe: u32,
    ) {
        let _recorded =
            self.enter(Operation::PutPackets, mailbox.offset(), Mailbox::<T, N>::ELEMENT_BYTES, pe);
        seam::with(round);
        if Mailbox::<T, N>::PACKETS {
            self.send_packets(mailbox.packets(), &source, round, pe);
            return;
        }
        let to = self.remote(mailbox.span(), pe, Operation::PutPackets);
        let (from, len) = source.resolve(self.shmem(), Operation::PutPackets);
        self.same_length(N as u64, len, mailbox.offset(), pe, Operation::PutPackets);
        self.meet();
        // SAFETY: the mailbox's data, and a source of the same length, both aligned: a mailbox is, to 16.
        unsafe { self.transfer::<GlobalSpace, B::Space, T>(to + DATA, from, len * size_of::<T>() as u64) };
        self.meet();
        if self.is_leader() {
            // SAFETY: the mailbox's round, a mapped, aligned word that only atomic accesses reach.
            unsafe { u64::store_release(to, round) };
        }
    }

    /// Waits until this PE's own `mailbox` holds the message of `round`, and takes it into `target`, of `N` elements. All
    /// threads of the scope call it with the same arguments; when it returns, the data is there for the whole scope.
    ///
    /// Does not return if the deadline passes or a peer fails. The message of another round, a later one too, does not end
    /// the wait.
    #[inline(always)]
    #[track_caller]
    pub fn wait_mailbox<T: Data, B: Destination<T, S>, const N: usize>(
        self,
        target: B,
        mailbox: Sym<Mailbox<T, N>>,
        round: u64,
    ) where
        C: MayWait,
    {
        let shmem = self.shmem();
        let bytes = Mailbox::<T, N>::ELEMENT_BYTES;
        let _recorded = self.enter_here(Operation::WaitPackets, mailbox.offset(), bytes);
        seam::with(round);
        if Mailbox::<T, N>::PACKETS {
            self.take_packets(&target, mailbox.packets(), round);
            return;
        }
        let from = shmem.own_address(mailbox.span(), Operation::WaitPackets);
        let (to, len) = target.resolve(shmem, Operation::WaitPackets);
        packet::takes(shmem, len, N as u64, mailbox.offset());
        let arrived = mailbox.retyped::<Signal>(());
        self.wait(arrived, Operation::WaitPackets, Cmp::Eq, round, |seen| seen == round);
        // SAFETY: the mailbox's data, and a target of the same length.
        unsafe { self.transfer::<B::Space, GlobalSpace, T>(to, from + DATA, len * size_of::<T>() as u64) };
        self.meet();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_has_room_for_its_message() {
        assert_eq!(<Mailbox<u64, 1>>::ELEMENT_BYTES, 16);
        assert_eq!(<Mailbox<u8, IN_PACKETS>>::ELEMENT_BYTES, 16 * IN_PACKETS as u64);
        assert_eq!(<Mailbox<u8, { IN_PACKETS + 1 }>>::ELEMENT_BYTES, 16 + 272);
        assert_eq!(<Mailbox<u128, 3>>::ELEMENT_BYTES, 16 + 48);
        assert_eq!(<Mailbox<[u8; 9], 1>>::ELEMENT_BYTES, 16 + 16);
    }
}
