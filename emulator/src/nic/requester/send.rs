//! Work requests as packets.

use super::queue::{Pending, Requester, Stage};
use crate::nic::fabric::Sent;
use crate::nic::packet::{FIRST, Header, IMMEDIATE, Kind, LAST};
use crate::nic::qp::Common;
use crate::nic::regions::{Broken, Bytes, Regions, Side, Want};
use crate::nic::room::Room;
use crate::nic::wqe::{Data, Operation, Source};
use std::sync::atomic::{Ordering, fence};

/// Packets of writes that may be under way.
const PACKETS: u64 = 64;
/// Packet numbers that may be under way: 24 bits of them travel.
const NUMBERS: u64 = 1 << 23;

impl Requester {
    /// Sends what may be sent, in order.
    pub(super) fn transmit(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        if self.rnr_until.is_some_and(|until| room.now < until) {
            return false;
        }
        self.rnr_until = None;
        let mut busy = false;
        for next in 0..self.pending.len() {
            match self.pending[next].stage {
                Stage::Queued if self.may_start(next) => {}
                Stage::Queued | Stage::Failed { .. } => break,
                Stage::Sent | Stage::Done => continue,
            }
            match self.send_one(next, common, room) {
                Ok(true) => busy = true,
                Ok(false) => break,
                Err(broken) => {
                    let pending = &mut self.pending[next];
                    pending.stage = Stage::Failed { syndrome: broken.rule.syndrome(), vendor: 0 };
                    let (start, end) = (pending.start, pending.end);
                    let bytes = self.blocks(start, end - start);
                    room.log.broken(common.qpn, Some(start as u16), &bytes, broken);
                    self.stopped = true;
                    return true;
                }
            }
        }
        busy
    }

    /// Fences, and the number of reads and atomics under way.
    fn may_start(&self, next: usize) -> bool {
        let pending = &self.pending[next];
        if !pending.fenced && !pending.operation.fetches() {
            return true;
        }
        let awaited = self.pending.iter().take(next).filter(|earlier| earlier.awaits_result()).count();
        if pending.fenced { awaited == 0 } else { awaited < self.limits.reads }
    }

    /// Sends a request, or the rest of it; false if not all could be sent now.
    fn send_one(&mut self, at: usize, common: &mut Common, room: &mut Room<'_>) -> Result<bool, Broken> {
        let acked = self.acked;
        let pending = &mut self.pending[at];
        if pending.sent == 0 {
            check_local(&pending.operation, common, room.regions)?;
        }
        let (remote, packets) = match &pending.operation {
            Operation::Nop | Operation::Dump(_) => {
                pending.stage = Stage::Done;
                return Ok(true);
            }
            Operation::Write { to, .. } => (*to, pending.psns),
            Operation::Read { from, .. } => (*from, 1),
            Operation::Atomic { at, .. } => (*at, 1),
        };
        pending.tried = true;
        let Some(mut peer) = common.peer else { return Ok(false) };
        while pending.sent < packets {
            let psn = pending.first_psn + pending.sent;
            let is_write = matches!(pending.operation, Operation::Write { .. });
            if pending.last_psn().saturating_sub(acked) >= NUMBERS
                || is_write && psn.saturating_sub(acked) >= PACKETS
                || !room.link
            {
                break;
            }
            let (mut header, payload) = packet(pending, common, room.regions)?;
            header.source_qpn = common.qpn;
            header.target_qpn = common.remote_qpn;
            header.psn = psn as u32 & 0xff_ffff;
            header.key = remote.key;
            header.address = remote.address.wrapping_add(pending.sent * common.mtu);
            match room.port.send(&mut peer, header, &payload) {
                // What the wire loses is never answered.
                Sent::Yes | Sent::Gone => pending.sent += 1,
                Sent::Later => break,
            }
            room.log.statistics.sent += 1;
        }
        common.peer = Some(peer);
        if pending.sent == packets {
            pending.stage = Stage::Sent;
        }
        Ok(pending.sent == packets)
    }
}

/// Whether local keys allow all that the operation does.
fn check_local(operation: &Operation, common: &Common, regions: &Regions) -> Result<(), Broken> {
    let (data, want) = match operation {
        Operation::Write { source: Source::Pointers(data), .. } | Operation::Dump(data) => (data, Want::Read),
        Operation::Read { landing, .. } => (landing, Want::Write),
        Operation::Atomic { landing, .. } => (landing, Want::Atomic),
        Operation::Nop | Operation::Write { .. } => return Ok(()),
    };
    data.iter().try_for_each(|&bytes| regions.find(common.pd, bytes, Side::Local, want).map(drop))
}

/// The next packet of a request.
fn packet(pending: &Pending, common: &Common, regions: &Regions) -> Result<(Header, Vec<u8>), Broken> {
    let length = pending.operation.length();
    match &pending.operation {
        Operation::Write { source, immediate, .. } => {
            let from = pending.sent * common.mtu;
            let bytes = (length - from).min(common.mtu);
            let payload = match source {
                Source::Inline(inline) => inline[from as usize..(from + bytes) as usize].to_vec(),
                Source::Pointers(data) => gather(data, from, bytes, common, regions)?,
            };
            let mut flags = if pending.sent == 0 { FIRST } else { 0 };
            if pending.sent + 1 == pending.psns {
                flags |= LAST;
                flags |= if immediate.is_some() { IMMEDIATE } else { 0 };
            }
            let header = Header {
                flags,
                length: length as u32,
                immediate: immediate.unwrap_or(0),
                ..Header::new(Kind::Write)
            };
            Ok((header, payload))
        }
        Operation::Atomic { atomic, .. } => {
            let (extra, operands) = atomic.pack();
            Ok((Header { extra, operands, length: atomic.size, ..Header::new(Kind::Atomic) }, Vec::new()))
        }
        _ => Ok((Header { length: length as u32, ..Header::new(Kind::Read) }, Vec::new())),
    }
}

/// The parts of a list that `bytes` bytes from `from` on lie in.
pub(super) fn parts(data: &Data, from: u64, bytes: u64) -> impl Iterator<Item = Bytes> + '_ {
    let mut at = 0;
    data.iter().filter_map(move |part| {
        let (start, end) = (at, at + part.length);
        at = end;
        let (first, last) = (start.max(from), end.min(from + bytes));
        (first < last).then(|| Bytes {
            address: part.address.wrapping_add(first - start),
            length: last - first,
            ..*part
        })
    })
}

/// Bytes of local memory as they are now.
fn gather(data: &Data, from: u64, bytes: u64, common: &Common, regions: &Regions) -> Result<Vec<u8>, Broken> {
    let mut payload = vec![0; bytes as usize];
    let mut at = 0;
    fence(Ordering::Acquire);
    for part in parts(data, from, bytes) {
        let span = regions.find(common.pd, part, Side::Local, Want::Read)?;
        let end = at + part.length as usize;
        span.read(0, &mut payload[at..end]);
        at = end;
    }
    Ok(payload)
}
