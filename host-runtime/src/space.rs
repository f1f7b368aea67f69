//! The address space of a process: one reserved segment of addresses per PE, with physical memory behind its
//! first part. Every segment has exactly one address in the process, so no two PEs see two addresses for one
//! page. Segments grow together and never move or shrink, so growth needs no kernel to stop.

use crate::driver::{Device, Reservation};
use crate::error::Result;
use std::sync::Arc;

/// The segments of all PEs of this process.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    segments: Vec<Segment>,
    granule: u64,
    /// Bytes that are mapped at the start of each segment.
    mapped: u64,
}

#[derive(Debug)]
struct Segment {
    device: Arc<dyn Device>,
    reservation: Box<dyn Reservation>,
}

impl AddressSpace {
    /// Reserves a segment of at least `bytes` for each PE, on the PE's device.
    pub(crate) fn new(device_of_pe: &[Arc<dyn Device>], bytes: u64) -> Result<Self> {
        let granule = device_of_pe.iter().map(|device| device.info().granule).max().unwrap_or(1);
        let bytes = bytes.next_multiple_of(granule);
        let segments = device_of_pe
            .iter()
            .map(|device| Ok(Segment { device: device.clone(), reservation: device.reserve(bytes)? }))
            .collect::<Result<_>>()?;
        Ok(Self { segments, granule, mapped: 0 })
    }

    /// Address of each PE's segment.
    pub(crate) fn bases(&self) -> Vec<u64> {
        self.segments.iter().map(|segment| segment.reservation.base()).collect()
    }

    /// Bytes that are mapped at the start of each segment.
    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Bytes reserved for each segment.
    pub(crate) fn reserved(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.reservation.bytes())
    }

    /// Puts memory behind the first `bytes` of every segment, or changes nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has not got it.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<()> {
        let goal = bytes.next_multiple_of(self.granule);
        if goal <= self.mapped {
            return Ok(());
        }
        let more = goal - self.mapped;
        // Physical memory for all first: only this runs out, and it can be given back without unmapping.
        let created = self.segments.iter_mut().try_for_each(|segment| segment.reservation.create(more));
        if let Err(error) = created {
            for segment in &mut self.segments {
                segment.reservation.drop_created();
            }
            return Err(error);
        }
        for segment in &mut self.segments {
            segment.reservation.map_created(self.mapped)?;
        }
        self.mapped = goal;
        Ok(())
    }

    /// Bytes by which every segment can still grow, as far as the devices say.
    pub(crate) fn free_per_pe(&self) -> u64 {
        let share = |segment: &Segment| {
            let ordinal = segment.device.info().ordinal;
            let pes = self.segments.iter().filter(|other| other.device.info().ordinal == ordinal).count();
            segment.device.free_memory().unwrap_or(0) / pes as u64 / self.granule * self.granule
        };
        self.segments.iter().map(share).min().unwrap_or(0)
    }
}
