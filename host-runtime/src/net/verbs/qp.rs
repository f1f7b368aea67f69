//! Reliable connected queue pairs in memory of ours.

use super::cq::{Cq, LOG_PAGE, RECORD};
use super::devx::{Object, encoded};
use super::error::Result;
use super::mailbox::{CreateQp, Init2Rtr, QueryQp, Route, Rst2Init, Rtr2Rts, Standing, ToError, ToReset};
use super::memory::{Pd, Place, bytes_of};
use super::uar::Uar;
use std::sync::Arc;

/// Bytes of a block of a send queue.
pub const BLOCK: u64 = 64;

/// Where a queue pair lies.
#[derive(Clone, Debug)]
pub struct QpPlan {
    /// The number of 64-byte blocks of the send queue, as a power of two up to 15.
    pub log_size: u32,
    /// The send queue.
    pub queue: Place,
    /// The doorbell record, zero: word 1 is the send queue's.
    pub record: Place,
    /// What its completions carry as user index; below 2^24.
    pub user_index: u32,
}

/// The other end, and the way to it.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its queue pair.
    pub qpn: u32,
    /// The first packet number that it sends; below 2^24.
    pub psn: u32,
    /// How packets reach it.
    pub route: Route,
}

/// What both ends agree on, and how long ours tries.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Our port, from 1.
    pub port: u8,
    /// The place of the partition key in our port's table.
    pub pkey_index: u16,
    /// The first packet number that we send; below 2^24.
    pub psn: u32,
    /// The path's MTU in the encoding of `ibv_mtu`: 1 is 256 bytes, 5 is 4096.
    pub mtu: u8,
    /// Reads and atomics in progress, in each direction, as a power of two.
    pub log_reads: u8,
    /// How long we wait for an acknowledgement: 4.096 µs times two to this power.
    pub ack_timeout: u8,
    /// How often we send again after that, up to 7.
    pub retries: u8,
    /// How often we try when the peer is not ready; 7 tries for ever.
    pub rnr_retries: u8,
}

impl Default for Settings {
    /// Port 1, MTU 4096, 16 reads, 4.3 s a try, the most tries.
    fn default() -> Self {
        Settings {
            port: 1,
            pkey_index: 0,
            psn: 0,
            mtu: 5,
            log_reads: 4,
            ack_timeout: 20,
            retries: 7,
            rnr_retries: 7,
        }
    }
}

/// A queue pair.
#[derive(Debug)]
pub struct Qp {
    // Destroyed before what it uses.
    pub(super) object: Object,
    number: u32,
    plan: QpPlan,
    cq: Arc<Cq>,
    uar: Arc<Uar>,
    _pd: Arc<Pd>,
}

impl Qp {
    /// Makes a queue pair, in state reset.
    ///
    /// # Errors
    /// [`Memory`](super::VerbsError::Memory), [`TooLarge`](super::VerbsError::TooLarge),
    /// [`Firmware`](super::VerbsError::Firmware).
    pub fn new(pd: &Arc<Pd>, cq: &Arc<Cq>, uar: &Arc<Uar>, plan: QpPlan) -> Result<Qp> {
        const COMMAND: &str = "CREATE_QP";
        let queue = plan.queue.holding("a send queue", bytes_of(BLOCK, plan.log_size))?;
        let record = plan.record.holding("a doorbell record", RECORD)?;
        let command = CreateQp {
            pd: pd.number(),
            log_sq_size: plan.log_size,
            uar_page: uar.number(),
            user_index: plan.user_index,
            send_cqn: cq.number(),
            receive_cqn: cq.number(),
            umem: queue.umem.number(),
            umem_offset: queue.offset,
            log_page_size: LOG_PAGE,
            record_umem: record.umem.number(),
            record_offset: record.offset,
        };
        let mut answer = [0; CreateQp::ANSWER];
        let object = Object::create(&pd.context, COMMAND, &encoded(COMMAND, command.encode())?, &mut answer)?;
        Ok(Qp {
            object,
            number: CreateQp::number(&answer),
            plan,
            cq: Arc::clone(cq),
            uar: Arc::clone(uar),
            _pd: Arc::clone(pd),
        })
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it lies.
    pub fn plan(&self) -> &QpPlan {
        &self.plan
    }

    /// Where its work completes.
    pub fn cq(&self) -> &Arc<Cq> {
        &self.cq
    }

    /// Where its doorbell is.
    pub fn uar(&self) -> &Arc<Uar> {
        &self.uar
    }

    /// Connects it, from reset to "ready to send". The peer's is to be "ready to receive" before work is posted.
    ///
    /// # Errors
    /// [`TooLarge`](super::VerbsError::TooLarge), [`Firmware`](super::VerbsError::Firmware).
    pub fn connect(&self, settings: &Settings, peer: &Peer) -> Result<()> {
        let port = u32::from(settings.port);
        let to_init = Rst2Init { qpn: self.number, port, pkey_index: u32::from(settings.pkey_index) };
        self.send("RST2INIT_QP", to_init.encode())?;
        let to_receive = Init2Rtr {
            qpn: self.number,
            mtu: u32::from(settings.mtu),
            remote_qpn: peer.qpn,
            receive_psn: peer.psn,
            log_reads: u32::from(settings.log_reads),
            port,
            route: peer.route,
        };
        self.send("INIT2RTR_QP", to_receive.encode())?;
        let to_send = Rtr2Rts {
            qpn: self.number,
            send_psn: settings.psn,
            log_reads: u32::from(settings.log_reads),
            ack_timeout: u32::from(settings.ack_timeout),
            retries: u32::from(settings.retries),
            rnr_retries: u32::from(settings.rnr_retries),
        };
        self.send("RTR2RTS_QP", to_send.encode())
    }

    /// Takes it to the error state: what is posted completes as flushed.
    ///
    /// # Errors
    /// [`Firmware`](super::VerbsError::Firmware).
    pub fn stop(&self) -> Result<()> {
        self.send("2ERR_QP", ToError { qpn: self.number }.encode())
    }

    /// Takes it to reset: it forgets what was posted, and may be connected anew.
    ///
    /// # Errors
    /// [`Firmware`](super::VerbsError::Firmware).
    pub fn reset(&self) -> Result<()> {
        self.send("2RST_QP", ToReset { qpn: self.number }.encode())
    }

    /// Where it stands.
    ///
    /// # Errors
    /// [`Firmware`](super::VerbsError::Firmware).
    pub fn standing(&self) -> Result<Standing> {
        const COMMAND: &str = "QUERY_QP";
        let mut answer = [0; QueryQp::ANSWER];
        let ask = encoded(COMMAND, QueryQp { qpn: self.number }.encode())?;
        self.object.query(COMMAND, &ask, &mut answer)?;
        Ok(QueryQp::read(&answer))
    }

    fn send<const N: usize>(
        &self,
        command: &'static str,
        bytes: std::result::Result<[u8; N], super::mailbox::TooLarge>,
    ) -> Result<()> {
        self.object.modify(command, &encoded(command, bytes)?)
    }
}
