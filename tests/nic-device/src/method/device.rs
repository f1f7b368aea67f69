//! Queries of the device: context, port, addresses.

use super::layout::{Given, Reply};
use super::{UHW_IN, UHW_OUT};
use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;
use crate::nics;

/// Queue pairs that a context can have; libmlx5 sizes its tables by it.
const QUEUE_PAIRS: u32 = 1 << 18;
/// The longest work request: 1024 bytes.
const LONGEST_WORK_REQUEST: u16 = 1024;
/// The deepest send queue, in blocks of 64 bytes.
pub(super) const DEEPEST_QUEUE: u32 = 1 << 15;
/// Entries of the table of addresses.
const ADDRESSES: u32 = 8;

/// `struct mlx5_ib_alloc_ucontext_resp`: no doorbell registers are given with the context (`tot_bfregs` is 0), so
/// libmlx5 allocates doorbell pages one by one.
pub(super) fn get_context(_: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1, UHW_IN, UHW_OUT])?;
    // `struct mlx5_ib_alloc_ucontext_req_v2`, whose flag asks for commands to the firmware.
    let flags = Given(call.bytes(UHW_IN).unwrap_or_default()).u32(8)?;
    if flags & 1 != 0 && nics::lacks("devx") {
        return Err(Refusal::new(libc::EPERM, "a context with commands to the firmware needs a privilege"));
    }
    let reply = Reply::<72>::new()
        .u32(0, QUEUE_PAIRS)
        .u32(4, 512) // a BlueFlame register
        .u32(12, 64) // a cache line
        .u16(16, LONGEST_WORK_REQUEST)
        .u16(18, 512) // the longest receive request
        .u32(20, DEEPEST_QUEUE)
        .u32(24, DEEPEST_QUEUE)
        .u32(28, DEEPEST_QUEUE)
        .u16(32, 1) // ports
        .u32(40, 72)
        .u8(44, 1) // completion entries of version 1, which carry the user index
        .u32(56, 12) // doorbell pages of 4 KiB
        .u32(60, 1);
    call.give(UHW_OUT, &reply.0)?;
    call.give(0, &1_u32.to_ne_bytes())?;
    call.give(1, &0_u64.to_ne_bytes())
}

/// `struct ib_uverbs_query_port_resp_ex` of the one port.
pub(super) fn query_port(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1])?;
    port(call.number(0)?)?;
    let identity = file.nic().identity();
    let reply = Reply::<48>::new()
        .u32(4, 1 << 30) // the longest message
        .u32(16, ADDRESSES)
        .u16(20, 1) // partition keys
        .u16(22, identity.lid)
        .u16(24, 1) // the subnet manager's address
        .u8(26, if identity.up { 4 } else { 1 }) // active or down
        .u8(27, 5) // MTU 4096
        .u8(28, 5)
        .u8(30, 4) // virtual lanes
        .u8(34, 2) // four lanes
        .u8(35, 0x80) // of 100 Gbit/s
        .u8(36, if identity.up { 5 } else { 2 }) // link up or polling
        .u8(37, if identity.ethernet { 2 } else { 1 });
    call.give(1, &reply.0)
}

/// `struct ib_uverbs_gid_entry` of one place in the table. An empty place is `ENODATA`.
pub(super) fn query_gid_entry(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1, 2, 3])?;
    port(call.number(0)?)?;
    let index = call.number(1)?;
    match index {
        0 => {
            let entry = gid_entry(file).0;
            call.give(3, &entry)
        }
        1..8 => Err(Refusal::quiet(libc::ENODATA)),
        _ => Err(Refusal::new(libc::EINVAL, format!("the address table has no place {index}"))),
    }
}

/// All addresses: the one that there is.
pub(super) fn query_gid_table(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1, 2, 3])?;
    if call.number(0)? < 32 || call.room(2) < 32 {
        return Err(Refusal::new(libc::EINVAL, "an address entry has 32 bytes"));
    }
    let entry = gid_entry(file).0;
    call.give(2, &entry)?;
    call.give(3, &1_u64.to_ne_bytes())
}

fn gid_entry(file: &File) -> Reply<32> {
    let identity = file.nic().identity();
    let kind = if identity.ethernet { 2 } else { 0 };
    Reply::new().put(0, &identity.gid).u32(20, 1).u32(24, kind)
}

fn port(number: u64) -> Answer {
    match number {
        1 => Ok(()),
        _ => Err(Refusal::new(libc::EINVAL, format!("there is no port {number}"))),
    }
}
