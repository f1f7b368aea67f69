//! A NIC as its front ends see it.

use super::config::NicConfig;
use super::core::Core;
use super::description::{Access, CqDescription, Keys, Pd, QpDescription, QpState, Transition, Uar, Umem};
use super::event::Event;
use super::fabric::Fabric;
use super::fault::Fault;
use super::log::Statistics;
use super::memory::Span;
use super::refused::Refused;
use super::violation::Violation;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An emulated NIC with one port.
///
/// Commands take effect before they return. Nothing else happens but in [`step`](Self::step), which a
/// [`NicThread`](super::NicThread) or the test itself calls. Dropping it is the death of the NIC: its peers get
/// no answers.
#[derive(Debug)]
pub struct Nic {
    core: Mutex<Core>,
    lid: u16,
    gid: [u8; 16],
}

impl Nic {
    /// A NIC on a fabric.
    ///
    /// # Errors
    /// [`Refused::Value`] for a limit beyond what the hardware's formats allow, [`Refused::Fabric`] if there is no
    /// place left or the LID is taken.
    pub fn new(config: NicConfig, fabric: &Arc<Fabric>) -> Result<Arc<Self>, Refused> {
        let core = Core::new(config, fabric)?;
        let (lid, gid) = (core.port.lid(), core.port.gid());
        Ok(Arc::new(Self { core: Mutex::new(core), lid, gid }))
    }

    /// The port's local identifier.
    pub fn lid(&self) -> u16 {
        self.lid
    }

    /// The port's global identifier.
    pub fn gid(&self) -> [u8; 16] {
        self.gid
    }

    /// Whether the port has a link.
    pub fn link(&self) -> bool {
        self.core().link()
    }

    /// Makes a protection domain.
    ///
    /// # Errors
    /// [`Refused::Value`] after some 15 million objects.
    pub fn alloc_pd(&self) -> Result<Pd, Refused> {
        self.core().alloc_pd()
    }

    /// Ends a protection domain.
    ///
    /// # Errors
    /// [`Refused::NoSuch`]; [`Refused::InUse`] while it has regions or queue pairs.
    pub fn dealloc_pd(&self, pd: Pd) -> Result<(), Refused> {
        self.core().dealloc_pd(pd)
    }

    /// Registers `length` bytes at `memory`; work requests name its bytes from `iova` on.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] for the domain, [`Refused::Value`] for an address beyond 2^64, remote rights without
    /// that of local writes, or too many regions.
    ///
    /// # Safety
    /// Until it is deregistered, or the NIC dropped, the memory stays valid for reads and writes by any thread;
    /// meanwhile no reference into it exists, and other accesses that may race are atomic or volatile.
    pub unsafe fn register(
        &self,
        pd: Pd,
        iova: u64,
        memory: *mut u8,
        length: u64,
        access: Access,
    ) -> Result<Keys, Refused> {
        // SAFETY: the caller's promise; a region that was deregistered is found no more.
        let span = unsafe { Span::new(memory, length) };
        self.core().register(pd, iova, span, access)
    }

    /// Ends a registration: when this returns, the NIC does not touch the memory any more.
    ///
    /// # Errors
    /// [`Refused::NoSuch`].
    pub fn deregister(&self, lkey: u32) -> Result<(), Refused> {
        self.core().regions.deregister(lkey)
    }

    /// Registers memory for queues and doorbell records.
    ///
    /// # Errors
    /// [`Refused::Value`] after some 15 million objects.
    ///
    /// # Safety
    /// As [`register`](Self::register), until [`deregister_umem`](Self::deregister_umem).
    pub unsafe fn register_umem(&self, memory: *mut u8, length: u64) -> Result<Umem, Refused> {
        // SAFETY: the caller's promise; a umem in use is not deregistered.
        let span = unsafe { Span::new(memory, length) };
        self.core().register_umem(span)
    }

    /// Ends a registration of memory for queues.
    ///
    /// # Errors
    /// [`Refused::NoSuch`]; [`Refused::InUse`] while a queue lies in it.
    pub fn deregister_umem(&self, umem: Umem) -> Result<(), Refused> {
        self.core().deregister_umem(umem)
    }

    /// Makes a doorbell page of 4096 bytes of zeros at `page`, aligned to 4096. In each step the NIC takes the
    /// doorbells that were stored there and leaves zeros. Of two that are stored to one register in between it sees the
    /// second alone; so where several queue pairs share a page, each doorbell rings for all that moved their
    /// record.
    ///
    /// # Errors
    /// [`Refused::Value`] if it is not aligned.
    ///
    /// # Safety
    /// As [`register`](Self::register), until [`free_uar`](Self::free_uar).
    pub unsafe fn alloc_uar(&self, page: *mut u8) -> Result<Uar, Refused> {
        // SAFETY: the caller's promise.
        let span = unsafe { Span::new(page, 4096) };
        self.core().alloc_uar(span)
    }

    /// Ends a doorbell page.
    ///
    /// # Errors
    /// [`Refused::NoSuch`]; [`Refused::InUse`] while a queue uses it.
    pub fn free_uar(&self, uar: Uar) -> Result<(), Refused> {
        self.core().free_uar(uar)
    }

    /// Makes a completion queue and returns its number.
    ///
    /// # Errors
    /// [`Refused::NoSuch`], [`Refused::Outside`], [`Refused::Value`] for what the description names.
    pub fn create_cq(&self, cq: &CqDescription) -> Result<u32, Refused> {
        self.core().create_cq(cq)
    }

    /// Ends a completion queue.
    ///
    /// # Errors
    /// [`Refused::NoSuch`]; [`Refused::InUse`] while a queue pair completes to it.
    pub fn destroy_cq(&self, cqn: u32) -> Result<(), Refused> {
        self.core().destroy_cq(cqn)
    }

    /// Makes an RC queue pair, in the state reset, and returns its number.
    ///
    /// # Errors
    /// [`Refused::NoSuch`], [`Refused::Outside`], [`Refused::Value`] for what the description names.
    pub fn create_qp(&self, qp: &QpDescription) -> Result<u32, Refused> {
        self.core().create_qp(qp)
    }

    /// Brings a queue pair to another state.
    ///
    /// # Errors
    /// [`Refused::NoSuch`]; [`Refused::Transition`] if its state does not lead there; [`Refused::Value`] for a
    /// parameter out of range.
    pub fn modify_qp(&self, qpn: u32, to: Transition) -> Result<(), Refused> {
        self.core().qp(qpn)?.change(to)
    }

    /// Where a queue pair stands.
    ///
    /// # Errors
    /// [`Refused::NoSuch`].
    pub fn query_qp(&self, qpn: u32) -> Result<QpState, Refused> {
        Ok(self.core().qp(qpn)?.query())
    }

    /// Ends a queue pair; what is posted is forgotten.
    ///
    /// # Errors
    /// [`Refused::NoSuch`].
    pub fn destroy_qp(&self, qpn: u32) -> Result<(), Refused> {
        self.core().destroy_qp(qpn)
    }

    /// A doorbell that a front end saw as a store of 8 bytes at `offset` of a page: `value` as a load of the page
    /// would read it.
    pub fn doorbell(&self, uar: Uar, offset: u32, value: u64) {
        self.core().doorbell(uar, offset, value);
    }

    /// Does some work: looks at doorbell pages, reads, executes, delivers, completes. False when nothing can happen
    /// until somebody else acts, or time passes.
    pub fn step(&self) -> bool {
        self.core().step()
    }

    /// Whether something that was rung for, or that a peer asked for, is not finished: then more will happen, if only
    /// that patience with a silent peer ends.
    pub fn is_at_work(&self) -> bool {
        self.core().is_at_work()
    }

    /// What the driver did wrong, oldest first; at most the first 1024.
    pub fn violations(&self) -> Vec<Violation> {
        self.core().log.violations.clone()
    }

    /// Takes the events that came since the last call, oldest first; at most 1024 wait.
    pub fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.core().log.events)
    }

    /// What it has done so far.
    pub fn statistics(&self) -> Statistics {
        self.core().log.statistics
    }

    /// Makes a fault happen.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] if it is for a queue pair that there is not.
    pub fn inject(&self, fault: Fault) -> Result<(), Refused> {
        self.core().inject(fault)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // Nothing panics with half a step done that would matter: every step looks at its state afresh.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
