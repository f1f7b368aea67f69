//! A PE's table of teams, in device memory, and the entries that it writes there.

use crate::debug;
use crate::error::Result;
use crate::formed::{Formed, list_offset};
use crate::pe::Pe;
use oxshmem_device::Team as Handle;
use oxshmem_device::abi::{TeamAbi, collective, control, teams};
use std::sync::Arc;
use tracing::debug;

impl Pe {
    /// Writes the table of teams, with those that are always there.
    pub(crate) fn first_teams(&self) -> Result<()> {
        self.lock().teams.slots.resize_with(teams::SLOTS as usize, || None);
        let empty = entry_bytes(teams::EMPTY).repeat(teams::SLOTS as usize);
        // SAFETY: the table, which nothing knows yet.
        unsafe { self.copies.write(self.tables, &empty)? };
        let job = &self.job;
        let gpu = job.gpu_of_pe[self.me as usize];
        let same_gpu = (0..job.n_pes).filter(|pe| job.gpu_of_pe[*pe as usize] == gpu);
        // All processes of a job are on one host.
        let node = (0..job.n_pes).collect();
        for (handle, pes) in [
            (Handle::WORLD, (0..job.n_pes).collect()),
            (Handle::NODE, node),
            (Handle::SAME_GPU, same_gpu.collect()),
        ] {
            self.form(handle, pes)?;
        }
        Ok(())
    }

    fn write_entry(&self, slot: u32, entry: TeamAbi) -> Result<()> {
        let at = self.tables + u64::from(slot) * size_of::<TeamAbi>() as u64;
        // SAFETY: an entry of the table, which no kernel that runs may name.
        unsafe { self.copies.write(at, &entry_bytes(entry)) }
    }

    /// Makes a team, if this PE is one of `pes`, in the slot that its handle names.
    pub(super) fn form(&self, handle: Handle, pes: Vec<u32>) -> Result<Option<Arc<Formed>>> {
        let Some(my_pe) = (0..).zip(&pes).find(|(_, pe)| **pe == self.me).map(|(my_pe, _)| my_pe) else {
            return Ok(None);
        };
        let (start, stride, list) = match spacing(&pes) {
            Some(stride) => (pes[0], stride, 0),
            None => (0, 1, self.write_list(handle, &pes)?),
        };
        let n_pes = pes.len() as u32;
        let entry = TeamAbi { my_pe, n_pes, start, stride, list, handle: handle.to_bits() };
        let formed = Arc::new(Formed { handle, pes, my_pe });
        self.lock().teams.slots[handle.slot() as usize] = Some(formed.clone());
        let written = self.clear_words(handle).and_then(|()| self.write_entry(handle.slot() as u32, entry));
        written.inspect_err(|_| self.forget(&formed))?;
        debug!(target: debug::TEAM, pe = self.me, slot = handle.slot(), n_pes, my_pe, "a team is made");
        Ok(Some(formed))
    }

    /// Makes the words zero by which the team's kernels meet: an earlier team of the slot may have used them. Those of the
    /// predefined teams are so from the start.
    fn clear_words(&self, handle: Handle) -> Result<()> {
        if handle.slot() < u64::from(teams::FIRST_FREE) {
            return Ok(());
        }
        let at = self.base() + control::team_words(handle.to_bits());
        // SAFETY: in the own control area, which is mapped; no kernel of any PE uses a slot that no team has.
        unsafe { self.copies.write(at, &[0; control::TEAM_STRIDE as usize])? };
        for channel in 0..control::TEAM_CHANNELS {
            let at = self.base() + collective::channel(handle.slot(), channel, self.job.n_pes);
            // SAFETY: as above. Flags and packets of the earlier team stay: its rounds are less than this one's.
            unsafe { self.copies.write(at, &[0; collective::FLAGS as usize])? };
        }
        Ok(())
    }

    fn write_list(&self, handle: Handle, pes: &[u32]) -> Result<u64> {
        let list = self.tables + list_offset(handle.slot(), self.job.n_pes);
        // SAFETY: the slot's own room, for as many PEs as the job has. Kernels of an earlier team of the slot are over: its end
        // waits for them.
        unsafe { self.copies.write(list, bytemuck::cast_slice(pes))? };
        Ok(list)
    }

    /// Takes a team away, which no kernel uses any more.
    pub(super) fn dissolve(&self, formed: &Formed) -> Result<()> {
        debug!(target: debug::TEAM, pe = self.me, slot = formed.handle.slot(), "a team is dissolved");
        self.forget(formed);
        self.write_entry(formed.handle.slot() as u32, teams::EMPTY)
    }

    fn forget(&self, formed: &Formed) {
        let mut state = self.lock();
        state.drops += 1;
        state.teams.slots[formed.handle.slot() as usize] = None;
    }
}

fn entry_bytes(entry: TeamAbi) -> [u8; size_of::<TeamAbi>()] {
    // SAFETY: integers without padding.
    unsafe { std::mem::transmute(entry) }
}

/// From one PE to the next, if that is always the same; not 0.
pub(super) fn spacing(pes: &[u32]) -> Option<i32> {
    let [first, second, ..] = pes else { return Some(1) };
    let stride = second.cast_signed() - first.cast_signed();
    pes.windows(2).all(|pair| pair[1].cast_signed() - pair[0].cast_signed() == stride).then_some(stride)
}
