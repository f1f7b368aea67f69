//! One NIC at work: doorbells, packets, queue pairs, a step at a time.

use super::chance::{Chance, Late};
use super::completion::Cq;
use super::config::{NicConfig, Time};
use super::description::{State, Uar};
use super::event::Event;
use super::fabric::{Fabric, Port};
use super::fault::Fault;
use super::log::Log;
use super::memory::Span;
use super::qp::Qp;
use super::refused::Refused;
use super::regions::Regions;
use super::room::Room;
use super::violation::Rule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Packets that are taken in one step.
const PACKETS: usize = 64;
/// The doorbell registers of a page: four pairs of halves of 256 bytes each.
const REGISTERS: [u32; 8] = [0x800, 0x900, 0xa00, 0xb00, 0xc00, 0xd00, 0xe00, 0xf00];
/// Where completion queues are armed.
const ARM: u32 = 0x20;

#[derive(Debug)]
pub(super) struct Core {
    pub(super) config: NicConfig,
    pub(super) port: Port,
    chance: Chance,
    pub(super) pds: BTreeSet<u32>,
    pub(super) regions: Regions,
    pub(super) umems: BTreeMap<u32, Span>,
    pub(super) uars: BTreeMap<u32, Span>,
    pub(super) cqs: BTreeMap<u32, Cq>,
    pub(super) qps: BTreeMap<u32, Qp>,
    /// Objects made so far: numbers are not used again.
    pub(super) made: u32,
    pub(super) log: Log,
    frozen: bool,
    link: bool,
    started: Instant,
    steps: u64,
    /// In which order queue pairs have their turn.
    turns: Vec<u32>,
    payload: Vec<u8>,
}

impl Core {
    pub(super) fn new(config: NicConfig, fabric: &Arc<Fabric>) -> Result<Self, Refused> {
        for (what, found, most, needed) in [
            ("log_max_queue", config.log_max_queue, 15, "at most 15"),
            ("log_max_completions", config.log_max_completions, 22, "at most 22"),
        ] {
            if found > most {
                return Err(Refused::Value { what, found: u64::from(found), needed });
            }
        }
        let port = Port::claim(fabric, config.lid, config.gid)?;
        let chance = Chance::new(config.adversary, port.lid());
        Ok(Self {
            config,
            port,
            chance,
            pds: BTreeSet::new(),
            regions: Regions::default(),
            umems: BTreeMap::new(),
            uars: BTreeMap::new(),
            cqs: BTreeMap::new(),
            qps: BTreeMap::new(),
            made: 0,
            log: Log::default(),
            frozen: false,
            link: true,
            started: Instant::now(),
            steps: 0,
            turns: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// All parts but the queue pairs, and these.
    fn split(&mut self) -> (Room<'_>, &mut BTreeMap<u32, Qp>) {
        let now = match self.config.time {
            Time::Machine => self.started.elapsed().as_nanos() as u64,
            Time::Steps => self.steps * 1000,
        };
        let room = Room {
            config: &self.config,
            port: &mut self.port,
            chance: &mut self.chance,
            regions: &self.regions,
            cqs: &mut self.cqs,
            log: &mut self.log,
            now,
            link: self.link,
        };
        (room, &mut self.qps)
    }

    /// Does some work; false if there is nothing to do until somebody else acts or time passes.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.frozen {
            return false;
        }
        let mut busy = self.look_at_pages();
        busy |= self.receive();
        let mut turns = std::mem::take(&mut self.turns);
        self.chance.shuffle(&mut turns);
        let (mut room, qps) = self.split();
        for qpn in &turns {
            if let Some(qp) = qps.get_mut(qpn) {
                // Answers first: requests must not take all the room on the wire.
                busy |= qp.responder.advance(&mut qp.common, &mut room);
                busy |= qp.requester.advance(&mut qp.common, &mut room);
            }
        }
        self.turns = turns;
        busy
    }

    /// A queue pair was made or destroyed.
    pub(super) fn renew_turns(&mut self) {
        self.turns = self.qps.keys().copied().collect();
    }

    /// Takes what drivers have stored to doorbell pages.
    fn look_at_pages(&mut self) -> bool {
        let mut rung = Vec::new();
        let mut late = false;
        for (&uar, page) in &self.uars {
            for offset in REGISTERS.into_iter().chain([ARM]) {
                let Some(word) = page.word64(u64::from(offset)) else { continue };
                // Loading is cheap; nobody rings with 0, since no queue pair has this number.
                if word.load(Ordering::Relaxed) == 0 {
                    continue;
                }
                if self.chance.late(Late::Doorbell) {
                    late = true;
                    continue;
                }
                rung.push((Uar(uar), offset, word.swap(0, Ordering::Acquire)));
            }
        }
        let busy = late || !rung.is_empty();
        for (uar, offset, value) in rung {
            self.doorbell(uar, offset, value);
            // Where several queue pairs share a page, one may have stored over another's doorbell.
            if offset != ARM {
                self.ring_beside(uar, value);
            }
        }
        busy
    }

    fn ring_beside(&mut self, uar: Uar, value: u64) {
        let rung = (u32::from_be((value >> 32) as u32)) >> 8;
        let (mut room, qps) = self.split();
        for qp in qps.values_mut().filter(|qp| qp.common.uar == uar && qp.common.qpn != rung) {
            qp.requester.doorbell_beside(&mut qp.common, &mut room);
        }
    }

    /// A store of 8 bytes to a doorbell page, as a load of the page reads it.
    pub(super) fn doorbell(&mut self, uar: Uar, offset: u32, value: u64) {
        let bytes = value.to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = bytes;
        let (first, second) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        self.log.statistics.doorbells += 1;
        let (mut room, qps) = self.split();
        if offset == ARM {
            match room.cqs.get_mut(&(second & 0xff_ffff)) {
                Some(cq) if cq.uar == uar => cq.arm(first & 0xff_ffff, room.log),
                _ => {
                    let sentence = format!(
                        "completion queue {second:#x} was armed on page {}, and is none of it",
                        uar.0
                    );
                    room.log.violation(0, Rule::DoorbellPlace, &bytes, sentence);
                }
            }
            return;
        }
        let qpn = second >> 8;
        let found = qps.get_mut(&qpn);
        let wrong = if !REGISTERS.contains(&offset) {
            Some(format!(
                "offset {offset:#x} of a doorbell page is no register: they are at 0x800 and every 0x100 behind"
            ))
        } else {
            match &found {
                None => Some(format!("a doorbell for queue pair {qpn:#x}, which there is not")),
                Some(qp) if qp.common.uar != uar => Some(format!(
                    "a doorbell on page {} for queue pair {qpn:#x}, whose page is {}",
                    uar.0, qp.common.uar.0
                )),
                Some(_) => None,
            }
        };
        match (wrong, found) {
            (Some(sentence), _) => room.log.violation(qpn, Rule::DoorbellPlace, &bytes, sentence),
            (None, Some(qp)) => qp.requester.doorbell(offset, bytes, &mut qp.common, &mut room),
            (None, None) => {}
        }
    }

    fn receive(&mut self) -> bool {
        if !self.link {
            return false;
        }
        let mut busy = false;
        self.port.next_turn();
        let mut payload = std::mem::take(&mut self.payload);
        let (mut room, qps) = self.split();
        for _ in 0..PACKETS {
            let Some(header) = room.port.receive(&mut payload) else { break };
            busy = true;
            room.log.statistics.received += 1;
            let taken = qps.get_mut(&header.target_qpn).is_some_and(|qp| {
                let Qp { common, requester, responder } = qp;
                let is_peer = header.source_qpn == common.remote_qpn
                    && common.peer.as_mut().is_some_and(|peer| peer.sent(room.port, &header));
                match header.kind() {
                    Some(kind) if is_peer && kind.is_request() => {
                        responder.take(&header, &payload, common, &mut room)
                    }
                    Some(_) if is_peer && common.state == State::Rts => {
                        requester.answered(&header, &payload, common, &mut room)
                    }
                    _ => false,
                }
            });
            room.log.statistics.dropped += u64::from(!taken);
        }
        self.payload = payload;
        busy
    }

    pub(super) fn inject(&mut self, fault: Fault) -> Result<(), Refused> {
        match fault {
            Fault::Completion { qpn, skip, syndrome, vendor } => {
                self.qp(qpn)?.requester.plan(skip, syndrome, vendor);
            }
            Fault::NotReady { qpn, times } => self.qp(qpn)?.responder.be_not_ready(times),
            Fault::Silent { qpn } => self.qp(qpn)?.responder.be_silent(),
            Fault::LostDoorbell { qpn, times } => self.qp(qpn)?.requester.lose_doorbells(times),
            Fault::QueuePair { qpn } => {
                self.qp(qpn)?;
                let (room, qps) = self.split();
                if let Some(qp) = qps.get_mut(&qpn) {
                    qp.common.fail(Event::QueuePairFatal { qpn }, room.log);
                }
            }
            Fault::Port { up } => {
                if std::mem::replace(&mut self.link, up) != up {
                    self.log.event(if up { Event::PortUp } else { Event::PortDown });
                }
            }
            Fault::Frozen(frozen) => self.frozen = frozen,
        }
        Ok(())
    }

    /// Whether something that was rung for, or that a peer asked for, is not finished.
    pub(super) fn is_at_work(&self) -> bool {
        self.qps.values().any(|qp| match qp.common.state {
            State::Rts | State::Error => qp.requester.is_at_work() || qp.responder.is_at_work(),
            State::Rtr => qp.responder.is_at_work(),
            State::Reset | State::Init => false,
        })
    }

    pub(super) fn link(&self) -> bool {
        self.link
    }

    pub(super) fn qp(&mut self, qpn: u32) -> Result<&mut Qp, Refused> {
        self.qps.get_mut(&qpn).ok_or(Refused::NoSuch { what: "queue pair", number: qpn })
    }
}
