//! Completion queues in memory of ours.

use super::context::Context;
use super::devx::{Object, encoded};
use super::error::Result;
use super::mailbox::CreateCq;
use super::memory::{Place, bytes_of};
use super::uar::Uar;
use std::sync::Arc;

/// Bytes of a completion entry.
pub const ENTRY: u64 = 64;
/// Bytes of a doorbell record.
pub const RECORD: u64 = 8;
/// Queues lie in pages of 4 KiB, the smallest: larger ones of the memory are fit too.
pub(super) const LOG_PAGE: u32 = 12;

/// Where a completion queue lies, and how it works.
#[derive(Clone, Debug)]
pub struct CqPlan {
    /// The number of entries, as a power of two.
    pub log_size: u32,
    /// The entries, filled with 0xff.
    pub entries: Place,
    /// The doorbell record, zero.
    pub record: Place,
    /// Only entry 0 is written, and the newest completion wins.
    pub collapsed: bool,
}

/// A completion queue.
#[derive(Debug)]
pub struct Cq {
    // Destroyed before what it lies in.
    _object: Object,
    number: u32,
    plan: CqPlan,
    _uar: Arc<Uar>,
}

impl Cq {
    /// Makes a completion queue. It is never armed; the page is what the firmware wants to know.
    ///
    /// # Errors
    /// [`Memory`](super::VerbsError::Memory), [`TooLarge`](super::VerbsError::TooLarge),
    /// [`Firmware`](super::VerbsError::Firmware).
    pub fn new(context: &Arc<Context>, uar: &Arc<Uar>, plan: CqPlan) -> Result<Arc<Cq>> {
        const COMMAND: &str = "CREATE_CQ";
        let entries = plan.entries.holding("a completion queue", bytes_of(ENTRY, plan.log_size))?;
        let record = plan.record.holding("a doorbell record", RECORD)?;
        let command = CreateCq {
            eqn: context.event_queue()?,
            uar_page: uar.number(),
            log_size: plan.log_size,
            umem: entries.umem.number(),
            umem_offset: entries.offset,
            log_page_size: LOG_PAGE,
            record_umem: record.umem.number(),
            record_offset: record.offset,
            collapsed: plan.collapsed,
        };
        let mut answer = [0; CreateCq::ANSWER];
        let object = Object::create(context, COMMAND, &encoded(COMMAND, command.encode())?, &mut answer)?;
        let number = CreateCq::number(&answer);
        Ok(Arc::new(Cq { _object: object, number, plan, _uar: Arc::clone(uar) }))
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it lies.
    pub fn plan(&self) -> &CqPlan {
        &self.plan
    }
}
