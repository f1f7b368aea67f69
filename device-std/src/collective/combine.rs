//! Reductions by packets: each PE sends its elements to those that need them, and each of those combines all.

use super::element::Element;
use super::lane::Lane;
use super::ops::Reduction;
use super::packets::{Ended, Four, Packets};
use super::words;
use crate::context::MayWait;
use crate::poll::Until;
use crate::scope::Scope;

/// What this PE sends and what it makes.
#[derive(Clone, Copy)]
pub(super) struct Combining {
    /// Address of what is sent to PE 0, and from there to what is sent to the next.
    pub(super) source: u64,
    pub(super) source_step: u64,
    /// Address of the result.
    pub(super) target: u64,
    pub(super) bytes: u64,
    /// The PEs to which this one sends.
    pub(super) to: (u32, u32),
    /// The PEs from 0 on whose elements it combines; its own may be one of them.
    pub(super) of: u32,
    /// Whether there is a result.
    pub(super) makes: bool,
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Sends, combines and joins the worker.
    ///
    /// # Safety
    /// The addresses are those of aligned device memory of so many bytes; each word of the result is written after the same
    /// word of what is sent was read, by the same thread.
    #[inline(always)]
    pub(super) unsafe fn combine<T: Element, O: Reduction<T>>(self, op: O, what: Combining) {
        let packets = self.packets(0);
        self.settle();
        let (begin, count) = self.words(what.bytes);
        let (rank, step) = (self.worker.rank(), self.worker.size());
        let source = |pe: u32| what.source + what.source_step * u64::from(pe);
        let mut i = rank;
        while i < count {
            let mut pe = what.to.0;
            // SAFETY: a word of what is sent.
            let mut word = unsafe { words::load::<T>(source(pe), begin + i, what.bytes) };
            while pe < what.to.1 {
                if pe != self.me {
                    if what.source_step != 0 {
                        // SAFETY: as above.
                        word = unsafe { words::load::<T>(source(pe), begin + i, what.bytes) };
                    }
                    packets.send(pe, i, word);
                }
                pe += 1;
            }
            i += step;
        }
        let mut ended = Ended::well(self.me);
        if what.makes {
            let mut until = Until::within(self.shmem().abi.deadline);
            let mut i = rank;
            while i < count {
                // SAFETY: a word of what this PE itself gives.
                let own = unsafe { words::load::<T>(source(self.me), begin + i, what.bytes) };
                let Some(word) =
                    combined::<T, O, W, C>(op, packets, (&mut until, &mut ended), (i, own), what.of)
                else {
                    break;
                };
                // SAFETY: the same word of the result.
                unsafe { words::store::<T>(what.target, begin + i, what.bytes, word) };
                i += step;
            }
        }
        packets.join(ended);
    }
}

/// Combines packets `index` of PEs 0 to `of`; `None` if one does not come.
#[inline(always)]
fn combined<T: Element, O: Reduction<T>, W: Scope, C: MayWait>(
    op: O,
    packets: Packets<W, C>,
    (until, ended): (&mut Until, &mut Ended),
    (index, own): (u64, u64),
    of: u32,
) -> Option<u64> {
    if of == 0 {
        return Some(op.identity());
    }
    let last = of - 1;
    let mut pe = 0;
    let mut sum = T::first(0);
    while pe < of {
        let at = |k: u32| ((pe + k).min(last), index);
        let got = packets.four(until, Four(at(0), at(1), at(2), at(3)), own);
        if !ended.note(&got) {
            return None;
        }
        let Four(a, b, c, d) = got.words;
        sum = if pe == 0 { T::first(a) } else { op.next(sum, a) };
        if pe + 1 < of {
            sum = op.next(sum, b);
        }
        if pe + 2 < of {
            sum = op.next(sum, c);
        }
        if pe + 3 < of {
            sum = op.next(sum, d);
        }
        pe += 4;
    }
    Some(T::word(sum))
}
