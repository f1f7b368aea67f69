//! Protection domains, memory regions, and memory for queues.

use super::layout::{Given, Reply};
use super::{UHW_OUT, write};
use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;
use crate::object::{Mapping, Object};
use oxshmem_emulator::nic::{Access, Pd};

/// What memory may be used for, after `enum ibv_access_flags`. Windows, zero-based addresses and paging on demand are
/// not supported.
fn access(flags: u64) -> Result<Access, Refusal> {
    const KNOWN: u64 = 0xf | 1 << 20;
    if flags & !KNOWN != 0 {
        return Err(Refusal::new(
            libc::EOPNOTSUPP,
            format!("access flags {:#x} are not supported", flags & !KNOWN),
        ));
    }
    let access = Access {
        local_write: flags & 1 != 0,
        remote_write: flags & 2 != 0,
        remote_read: flags & 4 != 0,
        remote_atomic: flags & 8 != 0,
        relaxed_ordering: flags & 1 << 20 != 0,
    };
    if (access.remote_write || access.remote_atomic) && !access.local_write {
        return Err(Refusal::new(libc::EINVAL, "memory that others may write must be writable here"));
    }
    Ok(access)
}

fn domain(file: &File, handle: u32) -> Result<Pd, Refusal> {
    file.find(handle, |object| match object {
        Object::Pd(pd) => Some(*pd),
        _ => None,
    })
}

/// `struct ib_uverbs_alloc_pd_resp`, and the driver's: the number.
pub(super) fn allocate_pd(file: &File, call: &mut Call<'_>) -> Answer {
    let pd = file.nic().model().alloc_pd()?;
    let handle = file.insert(Object::Pd(pd), &[]);
    call.give(write::OUT, &handle.to_ne_bytes())?;
    call.give(UHW_OUT, &pd.0.to_ne_bytes())
}

/// Frees a domain.
pub(super) fn deallocate_pd(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0])?;
    file.destroy(call.handle(0)?, |object| matches!(object, Object::Pd(_)))
}

/// `struct ib_uverbs_reg_mr`: memory of this process.
pub(super) fn register(file: &File, call: &mut Call<'_>) -> Answer {
    let given = Given(call.bytes(write::IN).unwrap_or_default());
    let (start, length, address) = (given.u64(8)?, given.u64(16)?, given.u64(24)?);
    let (holder, flags) = (given.u32(32)?, given.u32(36)?);
    let pd = domain(file, holder)?;
    // SAFETY: the program's promise to `ibv_reg_mr`: the memory is there until the region is gone.
    let keys = unsafe {
        file.nic().model().register(pd, address, start as *mut u8, length, access(u64::from(flags))?)?
    };
    let handle = file.insert(Object::Region { lkey: keys.lkey, _mapping: None }, &[holder]);
    let reply = Reply::<12>::new().u32(0, handle).u32(4, keys.lkey).u32(8, keys.rkey);
    call.give(write::OUT, &reply.0)
}

/// Memory of a dma-buf.
pub(super) fn register_dmabuf(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0, 1, 2, 3, 4, 5, 6, 7, 8])?;
    let holder = call.handle(1)?;
    let pd = domain(file, holder)?;
    let (offset, length, address) = (call.number(2)?, call.number(3)?, call.number(4)?);
    let rights = access(call.number(6)?)?;
    let mapping = map(call.handle(5)?, offset, length)?;
    // SAFETY: the memory is mapped for as long as the region is there.
    let keys = unsafe { file.nic().model().register(pd, address, mapping.start(), length, rights)? };
    let object = Object::Region { lkey: keys.lkey, _mapping: Some(mapping) };
    let handle = file.insert(object, &[holder]);
    call.give(7, &keys.lkey.to_ne_bytes())?;
    call.give(8, &keys.rkey.to_ne_bytes())?;
    call.give_handle(0, handle)
}

/// Ends a region.
pub(super) fn deregister(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0])?;
    file.destroy(call.handle(0)?, |object| matches!(object, Object::Region { .. }))
}

/// Memory for queues, of this process or of a dma-buf.
pub(super) fn register_umem(file: &File, call: &mut Call<'_>) -> Answer {
    const DMABUF: u16 = 0x1006;
    call.only(&[0x1000, 0x1001, 0x1002, 0x1003, 0x1004, 0x1005, DMABUF])?;
    let (start, length) = (call.number(0x1001)?, call.number(0x1002)?);
    access(call.number(0x1003)?)?;
    if call.optional(0x1005)?.is_some_and(|sizes| sizes >> 12 == 0) {
        return Err(Refusal::new(libc::EINVAL, "the page sizes for memory of queues lack all from 4 KiB on"));
    }
    let mapping = match call.has(DMABUF) {
        true => Some(map(call.handle(DMABUF)?, start, length)?),
        false => None,
    };
    let memory = mapping.as_ref().map_or(start as *mut u8, Mapping::start);
    // SAFETY: the program's promise to `mlx5dv_devx_umem_reg`, or the mapping that is kept.
    let umem = unsafe { file.nic().model().register_umem(memory, length)? };
    let handle = file.insert(Object::Umem { umem, _mapping: mapping }, &[]);
    call.give(0x1004, &umem.0.to_ne_bytes())?;
    call.give_handle(0x1000, handle)
}

/// Ends memory for queues.
pub(super) fn deregister_umem(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0x1000])?;
    file.destroy(call.handle(0x1000)?, |object| matches!(object, Object::Umem { .. }))
}

fn map(fd: u32, offset: u64, length: u64) -> Result<Mapping, Refusal> {
    let too_long = || Refusal::new(libc::EINVAL, format!("{length} bytes cannot be mapped"));
    let length = usize::try_from(length).map_err(|_| too_long())?;
    Mapping::new(fd as i32, offset, length)
}
