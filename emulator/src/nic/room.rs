//! What the parts of a NIC need of each other while one queue pair is worked on.

use super::chance::Chance;
use super::completion::{Completion, Cq};
use super::config::NicConfig;
use super::event::Event;
use super::fabric::Port;
use super::log::Log;
use super::qp::Common;
use super::regions::Regions;
use std::collections::BTreeMap;

/// Everything but the queue pair itself.
#[derive(Debug)]
pub(super) struct Room<'a> {
    pub(super) config: &'a NicConfig,
    pub(super) port: &'a mut Port,
    pub(super) chance: &'a mut Chance,
    pub(super) regions: &'a Regions,
    pub(super) cqs: &'a mut BTreeMap<u32, Cq>,
    pub(super) log: &'a mut Log,
    /// Nanoseconds by the NIC's clock.
    pub(super) now: u64,
    /// Whether the port has a link.
    pub(super) link: bool,
}

impl Room<'_> {
    /// Writes a completion; a queue that overruns takes its queue pair along.
    pub(super) fn complete(&mut self, cqn: u32, completion: &Completion, common: &mut Common) {
        let Some(cq) = self.cqs.get_mut(&cqn) else { return };
        cq.write(completion, self.now, self.log);
        if cq.broken {
            common.fail(Event::QueuePairFatal { qpn: common.qpn }, self.log);
        }
    }
}
