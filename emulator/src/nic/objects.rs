//! Making and destroying what a NIC has: numbers, checks of what a driver asks for, who uses what.

use super::completion::{Cq, ENTRY};
use super::core::Core;
use super::description::{Access, CqDescription, Keys, Pd, Place, QpDescription, Uar, Umem};
use super::memory::Span;
use super::qp::Qp;
use super::refused::Refused;
use super::wqe::BLOCK;

/// Bytes of a doorbell page.
const PAGE: u64 = 4096;
/// Bytes of a doorbell record.
const RECORD: u64 = 8;
/// Most objects over a NIC's life: their numbers have 24 bits.
const MOST: u32 = 0xf0_0000;
/// The first number of a kind: numbers of different kinds differ, so that one in the other's place is seen.
const FIRST_PD: u32 = 0x10;
const FIRST_UMEM: u32 = 0x200;
const FIRST_UAR: u32 = 0x40;
const FIRST_CQ: u32 = 0x400;
const FIRST_QP: u32 = 0x1000;

impl Core {
    fn number(&mut self, first: u32) -> Result<u32, Refused> {
        if self.made >= MOST {
            let needed = "fewer over a NIC's life; make a new NIC";
            return Err(Refused::Value {
                what: "the number of objects",
                found: u64::from(self.made),
                needed,
            });
        }
        self.made += 1;
        Ok(first + self.made)
    }

    pub(super) fn alloc_pd(&mut self) -> Result<Pd, Refused> {
        let pd = self.number(FIRST_PD)?;
        self.pds.insert(pd);
        Ok(Pd(pd))
    }

    pub(super) fn dealloc_pd(&mut self, pd: Pd) -> Result<(), Refused> {
        self.check_pd(pd)?;
        let in_use = |user| Err(Refused::InUse { what: "protection domain", number: pd.0, user });
        if self.regions.uses(pd) {
            return in_use("a memory region");
        }
        if self.qps.values().any(|qp| qp.common.pd == pd) {
            return in_use("a queue pair");
        }
        self.pds.remove(&pd.0);
        Ok(())
    }

    fn check_pd(&self, pd: Pd) -> Result<(), Refused> {
        match self.pds.contains(&pd.0) {
            true => Ok(()),
            false => Err(Refused::NoSuch { what: "protection domain", number: pd.0 }),
        }
    }

    pub(super) fn register(
        &mut self,
        pd: Pd,
        iova: u64,
        memory: Span,
        access: Access,
    ) -> Result<Keys, Refused> {
        self.check_pd(pd)?;
        self.regions.register(pd, iova, memory, access)
    }

    pub(super) fn register_umem(&mut self, memory: Span) -> Result<Umem, Refused> {
        let umem = self.number(FIRST_UMEM)?;
        self.umems.insert(umem, memory);
        Ok(Umem(umem))
    }

    pub(super) fn deregister_umem(&mut self, umem: Umem) -> Result<(), Refused> {
        let in_use = |user| Err(Refused::InUse { what: "umem", number: umem.0, user });
        if self.qps.values().any(|qp| qp.common.umems.contains(&umem)) {
            return in_use("a queue pair");
        }
        if self.cqs.values().any(|cq| cq.umems.contains(&umem)) {
            return in_use("a completion queue");
        }
        let gone = self.umems.remove(&umem.0);
        gone.map(drop).ok_or(Refused::NoSuch { what: "umem", number: umem.0 })
    }

    pub(super) fn alloc_uar(&mut self, page: Span) -> Result<Uar, Refused> {
        if !page.is_aligned(PAGE as usize) {
            let needed = "an address aligned to 4096 bytes";
            return Err(Refused::Value { what: "the doorbell page", found: page.line_offset(0), needed });
        }
        let uar = self.number(FIRST_UAR)?;
        self.uars.insert(uar, page);
        Ok(Uar(uar))
    }

    pub(super) fn free_uar(&mut self, uar: Uar) -> Result<(), Refused> {
        let in_use = |user| Err(Refused::InUse { what: "doorbell page", number: uar.0, user });
        if self.qps.values().any(|qp| qp.common.uar == uar) {
            return in_use("a queue pair");
        }
        if self.cqs.values().any(|cq| cq.uar == uar) {
            return in_use("a completion queue");
        }
        let gone = self.uars.remove(&uar.0);
        gone.map(drop).ok_or(Refused::NoSuch { what: "doorbell page", number: uar.0 })
    }

    fn check_uar(&self, uar: Uar) -> Result<(), Refused> {
        match self.uars.contains_key(&uar.0) {
            true => Ok(()),
            false => Err(Refused::NoSuch { what: "doorbell page", number: uar.0 }),
        }
    }

    /// The memory of a queue or a record.
    fn part(&self, place: Place, bytes: u64, align: usize, what: &'static str) -> Result<Span, Refused> {
        let Place { umem, offset } = place;
        let span = self.umems.get(&umem.0).ok_or(Refused::NoSuch { what: "umem", number: umem.0 })?;
        let part = span.part(offset, bytes);
        let part = part.ok_or(Refused::Outside { what, offset, bytes, length: span.length() })?;
        if !part.is_aligned(align) {
            let needed = if align == 8 { "at an address aligned to 8 bytes" } else { "aligned to 64 bytes" };
            return Err(Refused::Value { what, found: part.line_offset(0), needed });
        }
        Ok(part)
    }

    pub(super) fn create_cq(&mut self, what: &CqDescription) -> Result<u32, Refused> {
        self.check_uar(what.uar)?;
        let found = u64::from(what.log_size);
        if what.log_size > self.config.log_max_completions {
            let needed = "at most the NIC's log_max_completions";
            return Err(Refused::Value { what: "log_cq_size", found, needed });
        }
        if what.collapsed && !what.ignore_overrun {
            let needed = "true for a collapsed queue, whose consumer gives nothing back";
            return Err(Refused::Value { what: "ignore_overrun", found: 0, needed });
        }
        if what.record.is_none() && !what.ignore_overrun {
            let needed = "true for a queue without a record";
            return Err(Refused::Value { what: "ignore_overrun", found: 0, needed });
        }
        let entries = self.part(what.buffer, ENTRY << what.log_size, 64, "a completion queue")?;
        let record = match what.record {
            Some(place) => Some(self.part(place, RECORD, 8, "a completion queue's record")?),
            None => None,
        };
        let cqn = self.number(FIRST_CQ)?;
        self.cqs.insert(cqn, Cq::new(cqn, what, entries, record));
        Ok(cqn)
    }

    pub(super) fn destroy_cq(&mut self, cqn: u32) -> Result<(), Refused> {
        let uses = |qp: &Qp| qp.common.send_cqn == cqn || qp.common.receive_cqn == Some(cqn);
        if self.qps.values().any(uses) {
            return Err(Refused::InUse { what: "completion queue", number: cqn, user: "a queue pair" });
        }
        let gone = self.cqs.remove(&cqn);
        gone.map(drop).ok_or(Refused::NoSuch { what: "completion queue", number: cqn })
    }

    pub(super) fn create_qp(&mut self, what: &QpDescription) -> Result<u32, Refused> {
        self.check_pd(what.pd)?;
        self.check_uar(what.uar)?;
        for cqn in [Some(what.send_cqn), what.receive.map(|receive| receive.cqn)].into_iter().flatten() {
            if !self.cqs.contains_key(&cqn) {
                return Err(Refused::NoSuch { what: "completion queue", number: cqn });
            }
        }
        if what.log_send > self.config.log_max_queue {
            let (found, needed) = (u64::from(what.log_send), "at most the NIC's log_max_queue");
            return Err(Refused::Value { what: "log_sq_size", found, needed });
        }
        if what.user_index > 0xff_ffff {
            let (found, needed) = (u64::from(what.user_index), "at most 24 bits");
            return Err(Refused::Value { what: "user_index", found, needed });
        }
        let send = self.part(what.send, (BLOCK as u64) << what.log_send, 64, "a send queue")?;
        let record = self.part(what.record, RECORD, 8, "a queue pair's record")?;
        let qpn = self.number(FIRST_QP)?;
        self.qps.insert(qpn, Qp::new(qpn, what, send, record));
        self.renew_turns();
        Ok(qpn)
    }

    pub(super) fn destroy_qp(&mut self, qpn: u32) -> Result<(), Refused> {
        self.qp(qpn)?;
        self.qps.remove(&qpn);
        self.renew_turns();
        Ok(())
    }
}
