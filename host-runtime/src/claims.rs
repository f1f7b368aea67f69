//! Which ranges of the program's memory are registered in this process, and by which PE: no byte twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ranges by their first address: the one after the last, and the PE.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<BTreeMap<u64, (u64, u32)>>);

/// A range that is registered, until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    of: Arc<Claims>,
    start: u64,
}

impl Claims {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (u64, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the addresses from `start` to `end` for a PE.
    ///
    /// # Errors
    /// A range that they overlap: its first address, the one after its last, and its PE.
    pub(crate) fn claim(self: &Arc<Self>, start: u64, end: u64, pe: u32) -> Result<Claim, (u64, u64, u32)> {
        let mut all = self.lock();
        match all.range(..end).next_back() {
            Some((&first, &(last, owner))) if last > start => Err((first, last, owner)),
            _ => {
                all.insert(start, (end, pe));
                Ok(Claim { of: self.clone(), start })
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.of.lock().remove(&self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_claimed_twice() {
        let claims = Arc::<Claims>::default();
        let first = claims.claim(100, 200, 0).unwrap();
        let neighbours = [claims.claim(50, 100, 1).unwrap(), claims.claim(200, 201, 1).unwrap()];
        for (start, end, found) in
            [(100, 200, 100), (199, 300, 200), (0, 51, 50), (120, 130, 100), (0, 1000, 200), (99, 101, 100)]
        {
            let (at, _, _) = claims.claim(start, end, 2).unwrap_err();
            assert_eq!(at, found, "{start}..{end}");
        }
        drop(first);
        assert!(claims.claim(100, 200, 2).is_ok());
        drop(neighbours);
    }
}
