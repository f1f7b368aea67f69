//! The address space of a process: one reserved segment of addresses per PE of the job, with physical memory behind its
//! first part: taken here for the PEs of this process, imported for those of others. Segments are evenly spaced, so that
//! kernels compute their addresses. Every segment has exactly one address in the process, so no two PEs see two addresses for
//! one page; only memory of the program's has a second, which is the program's. Segments grow together and never move, so
//! growth needs no kernel to stop. They shrink together, by what they grew by last, when no kernel of any PE runs.

use crate::driver::{Backing, Device, Reservation, Shareable};
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// The segments of all PEs of the job, as this process sees them.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    segments: Vec<Segment>,
    granule: u64,
    /// Bytes that are mapped at the start of each segment.
    mapped: u64,
    /// Where each growth began, the first at 0.
    growths: Vec<u64>,
}

/// How often segments are reserved anew because they did not come evenly spaced.
const ATTEMPTS: u32 = 16;

#[derive(Debug)]
struct Segment {
    /// The device whose memory it is, if its PE belongs to this process.
    device: Option<Arc<dyn Device>>,
    reservation: Box<dyn Reservation>,
}

impl AddressSpace {
    /// Reserves a segment of at least `bytes` for each PE, in multiples of `granule`, evenly
    /// spaced: on the PE's device if that is given, else by the first that is.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no device, or if others in this process took addresses in between again and again;
    /// what the device says if there are not as many addresses.
    pub(crate) fn new(device_of_pe: &[Option<Arc<dyn Device>>], bytes: u64, granule: u64) -> Result<Self> {
        let nobody = || Error::Config { what: "no PE of the job belongs to this process".into() };
        let any = device_of_pe.iter().flatten().next().ok_or_else(nobody)?;
        let bytes = bytes.next_multiple_of(granule);
        let whole = bytes.saturating_mul(device_of_pe.len() as u64);
        // Jobs of one process that start together would take each other's gap.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ATTEMPTS {
            // A gap that is large enough for all: found by reserving it, and given back at once. A driver need not heed the
            // wish, and mostly spaces them evenly even so.
            let gap = any.reserve(whole, 0)?.base();
            let segments: Vec<Segment> = device_of_pe
                .iter()
                .enumerate()
                .map(|(pe, device)| {
                    let reserver = device.as_ref().unwrap_or(any);
                    let reservation = reserver.reserve(bytes, gap + pe as u64 * bytes)?;
                    Ok(Segment { device: device.clone(), reservation })
                })
                .collect::<Result<_>>()?;
            let space = Self { segments, granule, mapped: 0, growths: Vec::new() };
            if space.distance().is_some() {
                return Ok(space);
            }
        }
        let what = format!(
            "{ATTEMPTS} times {} segments of {bytes} bytes were not evenly spaced, as kernels need them: set OXSHMEM_HEAP lower",
            device_of_pe.len()
        );
        Err(Error::Config { what })
    }

    /// From each PE's segment to the next one's, wrapping, if that is the same for all. Of a single one any is right.
    fn distance(&self) -> Option<u64> {
        let base = |segment: &Segment| segment.reservation.base();
        let mut distances = self.segments.windows(2).map(|pair| base(&pair[1]).wrapping_sub(base(&pair[0])));
        let first = distances.next().unwrap_or(self.reserved());
        distances.all(|distance| distance == first).then_some(first)
    }

    /// From each PE's segment to the next one's, wrapping.
    pub(crate) fn stride(&self) -> u64 {
        self.distance().unwrap_or_default()
    }

    /// Address of each PE's segment.
    pub(crate) fn bases(&self) -> Vec<u64> {
        self.segments.iter().map(|segment| segment.reservation.base()).collect()
    }

    /// Bytes that are mapped at the start of each segment.
    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Growths are multiples of this many bytes.
    pub(crate) fn granule(&self) -> u64 {
        self.granule
    }

    /// Bytes reserved for each segment.
    pub(crate) fn reserved(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.reservation.bytes())
    }

    /// Where segments end that have memory behind at least their first `bytes`, if they have not got it yet.
    pub(crate) fn growth_to(&self, bytes: u64) -> Option<u64> {
        let goal = bytes.next_multiple_of(self.granule);
        (goal > self.mapped).then_some(goal)
    }

    /// Takes physical memory up to `goal` for the PEs of this process, or changes nothing. `of_pe` says what memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has not got it; those of [`Reservation::create`].
    pub(crate) fn take(&mut self, goal: u64, of_pe: impl Fn(u32) -> Backing) -> Result<()> {
        let more = goal - self.mapped;
        let mut own = (0..).zip(&mut self.segments).filter(|(_, segment)| segment.device.is_some());
        // Physical memory for all first: only this runs out, and it can be given back without unmapping.
        let taken = own.try_for_each(|(pe, segment)| segment.reservation.create(more, of_pe(pe)));
        taken.inspect_err(|_| self.give_back())
    }

    /// What [`take`](Self::take) took for a PE of this process, for the others.
    pub(crate) fn export(&self, pe: u32) -> Result<Shareable> {
        self.segments[pe as usize].reservation.export()
    }

    /// Takes what another process took for its PE, up to `goal`.
    pub(crate) fn import(&mut self, pe: u32, shareable: Shareable, goal: u64) -> Result<()> {
        let more = goal - self.mapped;
        self.segments[pe as usize].reservation.import(shareable, more)
    }

    /// Maps what was taken. If that fails, [`give_back`](Self::give_back) is next.
    pub(crate) fn map(&mut self) -> Result<()> {
        let at = self.mapped;
        self.segments.iter_mut().try_for_each(|segment| segment.reservation.map_created(at))
    }

    /// Takes back what was done since [`take`](Self::take).
    pub(crate) fn give_back(&mut self) {
        let at = self.mapped;
        for segment in &mut self.segments {
            segment.reservation.drop_created();
            segment.reservation.unmap(at);
        }
    }

    /// Notes that all segments are mapped up to `goal`.
    pub(crate) fn grown(&mut self, goal: u64) {
        self.growths.push(self.mapped);
        self.mapped = goal;
    }

    /// Takes back the growths that lie wholly behind the first `used` bytes of each segment, but not the first. No kernel of
    /// any PE of the job runs.
    pub(crate) fn shrink_to(&mut self, used: u64) {
        while let [_, .., last] = self.growths[..]
            && last >= used
        {
            self.growths.pop();
            self.segments.iter_mut().for_each(|segment| segment.reservation.unmap(last));
            self.mapped = last;
        }
    }

    /// Bytes by which every segment of this process can still grow, as far as the devices say.
    pub(crate) fn free_per_pe(&self) -> u64 {
        let own = || self.segments.iter().filter_map(|segment| segment.device.as_ref());
        let share = |device: &Arc<dyn Device>| {
            let ordinal = device.info().ordinal;
            let pes = own().filter(|other| other.info().ordinal == ordinal).count();
            device.free_memory().unwrap_or(0) / pes as u64 / self.granule * self.granule
        };
        own().map(share).min().unwrap_or(0)
    }
}
