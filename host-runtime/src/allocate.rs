//! The collective part of an allocation: all PEs agree on it, take the same range, and put memory behind it.

use crate::alloc::Allocation;
use crate::driver::{self, Backing};
use crate::error::{Error, Result};
use crate::group::Call;
use crate::pe::Pe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Pe {
    /// Takes the range that `call` says, and grows the heap if it must: by this PE's `backing`. With an error in the place of
    /// that it comes to the others to say so.
    pub(crate) fn allocate(&self, call: Call, backing: Result<Backing>) -> Result<Arc<Allocation>> {
        let looked = match self.trouble() {
            Some(error) => Err(error),
            None => self.look_at_all().and_then(|()| self.collect()),
        };
        let (backing, refused) = match backing {
            Ok(backing) => (backing, None),
            Err(error) => (Backing::Device, Some(error)),
        };
        let Call::Alloc { holds, elements, element_bytes, .. } = call else {
            return Err(Error::other("an allocation that is none"));
        };
        let exchange = self.job.exchange.as_ref();
        let mut goal = None;
        let (address, trouble) = (address(backing), looked.err().or(refused));
        let agreed = self.meet_with(call, address, trouble, |heap, addresses| {
            let begun = heap.begin(holds, elements, element_bytes, backing)?;
            goal = begun.goal;
            // Processes grow together in a moment; here one thread does it for all.
            if let (None, Some(goal)) = (exchange, goal) {
                if let Err(error) = heap.grow_here(goal, |pe| of_pe(backing, pe, addresses)) {
                    let error = heap.for_user(&begun.allocation, None, error);
                    heap.cancel(&begun.allocation);
                    return Err(error);
                }
                self.job.mapped.store(heap.mapped(), Ordering::Release);
            }
            Ok(Some(begun.allocation))
        })?;
        let Some(allocation) = agreed.allocated else {
            return Err(Error::other("an allocation returned nothing"));
        };
        if let (Some(exchange), Some(goal)) = (exchange, goal) {
            let grown = self.grow(exchange, goal, Some((&allocation, backing)), || Ok(()));
            grown.inspect_err(|_| self.job.heap().cancel(&allocation))?;
        }
        if allocation.bytes > 0 {
            self.lock().symmetric.insert(allocation.offset, allocation.clone());
            self.device.checker().inspect(|checker| {
                let name = format!("({holds} of {})", driver::site());
                checker.allocated((allocation.offset, allocation.bytes, element_bytes), &name);
            });
        }
        Ok(allocation)
    }
}

/// What a PE tells the others of its memory: the address, if it is the program's.
fn address(backing: Backing) -> Vec<u8> {
    match backing {
        Backing::Existing { address, .. } => address.to_ne_bytes().to_vec(),
        Backing::Device | Backing::Host => Vec::new(),
    }
}

/// The memory of a PE of this process for an allocation for which all PEs have brought their [`address`]es. It is of the
/// same kind on all PEs.
fn of_pe(backing: Backing, pe: u32, addresses: &[Vec<u8>]) -> Backing {
    match (backing, addresses.get(pe as usize).and_then(|bytes| bytes.first_chunk())) {
        (Backing::Existing { .. }, Some(address)) => {
            Backing::Existing { pe, address: u64::from_ne_bytes(*address) }
        }
        (backing, _) => backing,
    }
}
