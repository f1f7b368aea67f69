//! Registered memory and its keys.

use super::description::{Access, Keys, Pd};
use super::memory::Span;
use super::refused::Refused;
use super::violation::Rule;

/// The first key's index: keys that look like no small number, so that a forgotten one is seen.
const FIRST: u32 = 0x1800;
/// Most regions at once.
const MOST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Region {
    key: u32,
    pd: Pd,
    iova: u64,
    memory: Span,
    pub(super) access: Access,
}

/// From which side a region is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Local,
    Remote,
}

/// What an access wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Read,
    Write,
    Atomic,
}

/// A rule that an access breaks, and how.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) rule: Rule,
    pub(super) sentence: String,
}

impl Broken {
    pub(super) fn new(rule: Rule, sentence: String) -> Self {
        Self { rule, sentence }
    }
}

/// Bytes of a region by its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) key: u32,
    pub(super) address: u64,
    pub(super) length: u64,
}

/// All regions of a NIC, by the index in their keys.
#[derive(Debug, Default)]
pub(super) struct Regions {
    all: Vec<Option<Region>>,
    /// How many were ever made: an index that is used again gets another variant.
    made: u32,
}

impl Regions {
    pub(super) fn register(
        &mut self,
        pd: Pd,
        iova: u64,
        memory: Span,
        access: Access,
    ) -> Result<Keys, Refused> {
        let length = memory.length();
        if iova.checked_add(length).is_none() {
            let needed = "such that the region's end is below 2^64";
            return Err(Refused::Value { what: "the region's address", found: iova, needed });
        }
        if (access.remote_write || access.remote_atomic) && !access.local_write {
            let needed = "true where others may write or do atomics";
            return Err(Refused::Value { what: "the region's right of local writes", found: 0, needed });
        }
        let free = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        if free >= MOST {
            let needed = "less than 2^20; deregister some";
            return Err(Refused::Value { what: "the number of regions", found: free as u64, needed });
        }
        self.made = self.made.wrapping_add(1);
        let variant = self.made.wrapping_mul(0x1d) % 0xff + 1;
        let key = (FIRST + free as u32) << 8 | variant;
        let region = Some(Region { key, pd, iova, memory, access });
        match self.all.get_mut(free) {
            Some(slot) => *slot = region,
            None => self.all.push(region),
        }
        Ok(Keys { lkey: key, rkey: key })
    }

    pub(super) fn deregister(&mut self, key: u32) -> Result<(), Refused> {
        let slot = self.slot(key).and_then(|slot| self.all.get_mut(slot));
        match slot {
            Some(region) if region.as_ref().is_some_and(|region| region.key == key) => {
                *region = None;
                Ok(())
            }
            _ => Err(Refused::NoSuch { what: "memory key", number: key }),
        }
    }

    pub(super) fn uses(&self, pd: Pd) -> bool {
        self.all.iter().flatten().any(|region| region.pd == pd)
    }

    fn slot(&self, key: u32) -> Option<usize> {
        (key >> 8).checked_sub(FIRST).map(|slot| slot as usize)
    }

    /// The region of a key, whoever asks.
    pub(super) fn of(&self, key: u32) -> Option<&Region> {
        let region = self.all.get(self.slot(key)?)?.as_ref()?;
        (region.key == key).then_some(region)
    }

    /// The memory behind a range, if domain, rights and bounds allow the access.
    pub(super) fn find(&self, pd: Pd, bytes: Bytes, side: Side, want: Want) -> Result<Span, Broken> {
        let Bytes { key, address, length } = bytes;
        let (name, key_rule, bounds_rule) = match side {
            Side::Local => ("lkey", Rule::LocalKey, Rule::LocalBounds),
            Side::Remote => ("rkey", Rule::RemoteKey, Rule::RemoteBounds),
        };
        let Some(region) = self.of(key) else {
            let sentence = match self.of(key.swap_bytes()) {
                Some(_) => format!("{name} {key:#x} is no region's; its bytes are in the wrong order"),
                None => format!("{name} {key:#x} is no region's (index in the upper 24 bits, variant below)"),
            };
            return Err(Broken::new(key_rule, sentence));
        };
        if region.pd != pd {
            let sentence = format!(
                "{name} {key:#x} is of protection domain {}, the queue pair of {}",
                region.pd.0, pd.0
            );
            return Err(Broken::new(key_rule, sentence));
        }
        let Access { local_write, remote_write, remote_read, remote_atomic, .. } = region.access;
        let (allowed, what) = match (side, want) {
            (Side::Local, Want::Read) => (true, ""),
            (Side::Local, _) => (local_write, "local writes"),
            (Side::Remote, Want::Read) => (remote_read, "remote reads"),
            (Side::Remote, Want::Write) => (remote_write, "remote writes"),
            (Side::Remote, Want::Atomic) => (remote_atomic, "remote atomics"),
        };
        if !allowed {
            return Err(Broken::new(key_rule, format!("{name} {key:#x} was registered without {what}")));
        }
        let part = address.checked_sub(region.iova).and_then(|offset| region.memory.part(offset, length));
        part.ok_or_else(|| {
            let (start, end) = (region.iova, region.iova + region.memory.length());
            let sentence = format!(
                "{length} bytes at {address:#x} do not lie in {name} {key:#x}, which is {start:#x} to {end:#x}"
            );
            Broken::new(bounds_rule, sentence)
        })
    }

    /// The memory behind bytes that `find` allowed earlier; `None` if the region is gone.
    pub(super) fn still(&self, bytes: Bytes) -> Option<Span> {
        let region = self.of(bytes.key)?;
        region.memory.part(bytes.address.checked_sub(region.iova)?, bytes.length)
    }
}
