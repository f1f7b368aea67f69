//! Completion queues and queue pairs of verbs, whose memory libmlx5 allocates.

use super::layout::{Given, Reply};
use super::{UHW_IN, UHW_OUT, write};
use crate::attribute::{Answer, Call, Refusal};
use crate::event;
use crate::file::File;
use crate::object::Object;
use oxshmem_emulator::nic::command::Created;
use oxshmem_emulator::nic::{
    Access, Address, CqDescription, Pd, Place, QpDescription, Transition, Uar, Umem,
};
use std::sync::atomic::AtomicU32;

/// The driver's flag by which a queue names its doorbell page by number, in a completion queue and a queue pair.
const CQ_PAGE_NUMBER: u16 = 2;
const QP_PAGE_NUMBER: u32 = 1 << 10;
/// Small results may be put into the completion entry, if the device can; this one never does.
const QP_SCATTER_TO_CQE: u32 = 2;

/// Memory of a queue and of its record.
fn memory(file: &File, queue: u64, bytes: u64, record: u64) -> Result<[Umem; 2], Refusal> {
    let model = file.nic().model();
    // SAFETY: libmlx5 keeps the memory of a queue until the queue is destroyed.
    unsafe {
        let queue = model.register_umem(queue as *mut u8, bytes)?;
        match model.register_umem(record as *mut u8, 8) {
            Ok(record) => Ok([queue, record]),
            Err(refused) => {
                model.deregister_umem(queue)?;
                Err(refused.into())
            }
        }
    }
}

/// Keeps a queue that was made in `memory`, or gives that back.
fn kept(
    file: &File,
    made: Result<Created, Refusal>,
    memory: [Umem; 2],
    user: u64,
    needs: &[u32],
) -> Result<u32, Refusal> {
    match made {
        Ok(created) => {
            Ok(file.insert(Object::Queue { created, memory, user, reported: AtomicU32::new(0) }, needs))
        }
        Err(refusal) => {
            for umem in memory {
                file.nic().model().deregister_umem(umem)?;
            }
            Err(refusal)
        }
    }
}

fn log2(count: u32, what: &str) -> Result<u8, Refusal> {
    if count.is_power_of_two() {
        return Ok(count.trailing_zeros() as u8);
    }
    Err(Refusal::new(libc::EINVAL, format!("{what} is {count}, and must be a power of two")))
}

fn unsupported(what: String) -> Refusal {
    Refusal::new(libc::EOPNOTSUPP, what)
}

/// `struct mlx5_ib_create_cq`.
pub(super) fn create_cq(file: &File, call: &mut Call<'_>) -> Answer {
    const FLAGS: u16 = 5;
    call.only(&[0, 1, 2, 4, FLAGS, 6, 7, UHW_IN, UHW_OUT])?;
    if call.optional(FLAGS)?.unwrap_or(0) != 0 {
        return Err(unsupported("completion queues have no flags".into()));
    }
    let entries = u32::try_from(call.number(1)?)
        .ok()
        .and_then(|asked| (asked + 1).checked_next_power_of_two())
        .ok_or_else(|| Refusal::new(libc::EINVAL, "so many completions are not possible"))?;
    let given = Given(call.bytes(UHW_IN).unwrap_or_default());
    let (buffer, record) = (given.u64(0)?, given.u64(8)?);
    let (size, compressed, flags, page) = (given.u32(16)?, given.u8(20)?, given.u16(22)?, given.u16(24)?);
    if size != 64 || compressed != 0 || flags != CQ_PAGE_NUMBER {
        return Err(unsupported(format!(
            "a completion queue with entries of {size} bytes, compression {compressed}, flags {flags:#x}"
        )));
    }
    let user = call.number(2)?;
    let memory = memory(file, buffer, 64 * u64::from(entries), record)?;
    let description = CqDescription {
        buffer: Place { umem: memory[0], offset: 0 },
        log_size: log2(entries, "the number of completions")?,
        record: Some(Place { umem: memory[1], offset: 0 }),
        collapsed: false,
        ignore_overrun: false,
        uar: Uar(u32::from(page)),
    };
    let made = file.nic().model().create_cq(&description);
    let number = made.as_ref().map_or(0, |number| *number);
    let handle = kept(file, made.map(Created::Cq).map_err(Refusal::from), memory, user, &[])?;
    call.give(6, &(entries - 1).to_ne_bytes())?;
    call.give(UHW_OUT, &Reply::<8>::new().u32(0, number).0)?;
    call.give_handle(0, handle)
}

/// Destroys a completion queue; how many events of completions and of errors it had.
pub(super) fn destroy_cq(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1])?;
    let kind = |object: &Object| matches!(object, Object::Queue { created: Created::Cq(_), .. });
    let handle = call.handle(0)?;
    let events = event::read_of(file, handle);
    file.destroy(handle, kind)?;
    call.give(1, &Reply::<8>::new().u32(4, events).0)
}

fn domain(file: &File, handle: u32) -> Result<Pd, Refusal> {
    file.find(handle, |object| match object {
        Object::Pd(pd) => Some(*pd),
        _ => None,
    })
}

fn completion_queue(file: &File, handle: u32) -> Result<u32, Refusal> {
    file.find(handle, |object| match object {
        Object::Queue { created: Created::Cq(number), .. } => Some(*number),
        _ => None,
    })
}

/// `struct mlx5_ib_create_qp`: reliable connected, without receives.
pub(super) fn create_qp(file: &File, call: &mut Call<'_>) -> Answer {
    const CAPABILITIES: u16 = 8;
    const KIND: u16 = 9;
    const FLAGS: u16 = 10;
    call.only(&[0, 2, 4, 5, 7, CAPABILITIES, KIND, FLAGS, 12, 13, 14, UHW_IN, UHW_OUT])?;
    if call.number(KIND)? != 2 || call.optional(FLAGS)?.unwrap_or(0) & !2 != 0 {
        return Err(unsupported("queue pairs are reliable connected, without flags".into()));
    }
    let (holder, send, receive) = (call.handle(2)?, call.handle(4)?, call.handle(5)?);
    let (pd, send_cqn) = (domain(file, holder)?, completion_queue(file, send)?);
    completion_queue(file, receive)?;
    let asked: [u8; 20] = call
        .bytes(CAPABILITIES)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Refusal::new(libc::EINVAL, "the capabilities of a queue pair have 20 bytes"))?;
    let given = Given(call.bytes(UHW_IN).unwrap_or_default());
    let (buffer, record) = (given.u64(0)?, given.u64(8)?);
    let (blocks, receives, flags) = (given.u32(16)?, given.u32(20)?, given.u32(28)?);
    let (user_index, page) = (given.u32(32)?, given.u32(36)?);
    if receives != 0 {
        return Err(unsupported(format!(
            "{receives} receives: queue pairs send only; ask for max_recv_wr 0"
        )));
    }
    if flags & !QP_SCATTER_TO_CQE != QP_PAGE_NUMBER {
        return Err(unsupported(format!("a queue pair with the driver's flags {flags:#x}")));
    }
    let user = call.number(7)?;
    let log_send = log2(blocks, "the number of blocks of a send queue")?;
    let memory = memory(file, buffer, 64 * u64::from(blocks), record)?;
    let description = QpDescription {
        pd,
        send: Place { umem: memory[0], offset: 0 },
        log_send,
        record: Place { umem: memory[1], offset: 0 },
        send_cqn,
        receive: None,
        uar: Uar(page),
        user_index,
    };
    let made = file.nic().model().create_qp(&description);
    let number = made.as_ref().map_or(0, |number| *number);
    let made = made.map(Created::Qp).map_err(Refusal::from);
    let handle = kept(file, made, memory, user, &[holder, send, receive])?;
    call.give(13, &asked)?;
    call.give(14, &number.to_ne_bytes())?;
    call.give(UHW_OUT, &[])?;
    call.give_handle(0, handle)
}

/// Destroys a queue pair; how many events it had.
pub(super) fn destroy_qp(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1])?;
    let kind = |object: &Object| matches!(object, Object::Queue { created: Created::Qp(_), .. });
    let handle = call.handle(0)?;
    let events = event::read_of(file, handle);
    file.destroy(handle, kind)?;
    call.give(1, &events.to_ne_bytes())
}

/// `struct ib_uverbs_modify_qp`, of which each transition needs some fields (`enum ibv_qp_attr_mask`).
pub(super) fn modify_qp(file: &File, call: &mut Call<'_>) -> Answer {
    const STATE: u32 = 1;
    const TO_INIT: u32 = STATE | 1 << 3 | 1 << 4 | 1 << 5;
    const TO_RTR: u32 = STATE | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20;
    const TO_RTS: u32 = STATE | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16;
    let given = Given(call.bytes(write::IN).unwrap_or_default());
    let (handle, mask, state) = (given.u32(64)?, given.u32(68)?, given.u8(96)?);
    let qpn = file.find(handle, |object| match object {
        Object::Queue { created: Created::Qp(number), .. } => Some(*number),
        _ => None,
    })?;
    let log = |reads: u8| reads.max(1).next_power_of_two().trailing_zeros() as u8;
    let to = match (state, mask) {
        (0, STATE) => Transition::ToReset,
        (1, TO_INIT) => {
            let (flags, port) = (given.u32(88)?, given.u8(104)?);
            if port != 1 || given.u16(92)? != 0 {
                return Err(Refusal::new(
                    libc::EINVAL,
                    format!("port {port}, or a partition key that is not there"),
                ));
            }
            let access = Access {
                local_write: flags & 1 != 0,
                remote_write: flags & 2 != 0,
                remote_read: flags & 4 != 0,
                remote_atomic: flags & 8 != 0,
                relaxed_ordering: false,
            };
            Transition::ToInit { access }
        }
        (2, TO_RTR) => {
            let (lid, routed, mtu) = (given.u16(20)?, given.u8(30)?, given.u8(98)?);
            if !(1..=5).contains(&mtu) {
                return Err(Refusal::new(libc::EINVAL, format!("there is no MTU of number {mtu}")));
            }
            let ethernet = file.nic().identity().ethernet;
            if ethernet && routed == 0 {
                return Err(Refusal::new(libc::EINVAL, "a path of Ethernet has an address (is_global)"));
            }
            let address = if ethernet { Address::Gid(given.gid(0)?) } else { Address::Lid(lid) };
            Transition::ToRtr {
                remote_qpn: given.u32(84)?,
                receive_psn: given.u32(76)?,
                mtu: 128 << mtu,
                address,
                log_max_inbound_reads: log(given.u8(102)?),
                log_max_message: 30,
                min_rnr_timer: given.u8(103)?,
            }
        }
        (3, TO_RTS) => Transition::ToRts {
            send_psn: given.u32(80)?,
            log_max_outbound_reads: log(given.u8(101)?),
            ack_timeout: given.u8(105)?,
            retry_count: given.u8(106)?,
            rnr_retry: given.u8(107)?,
        },
        (6, STATE) => Transition::ToError,
        _ => {
            let why = format!("a change to state {state} with the attributes {mask:#x} is not known");
            return Err(Refusal::new(libc::EINVAL, why));
        }
    };
    Ok(file.nic().model().modify_qp(qpn, to)?)
}
