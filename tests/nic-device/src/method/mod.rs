//! What each uverbs call does: one file per family, numbers after the kernel's `rdma/ib_user_ioctl_cmds.h` and
//! `rdma/mlx5_user_ioctl_cmds.h`. The driver's own numbers start at 0x1000.

mod device;
mod devx;
mod event;
mod layout;
mod memory;
mod queue;
mod uar;
mod write;

use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;

/// Driver data that goes with a call, in and out.
const UHW_IN: u16 = 0x1000;
const UHW_OUT: u16 = 0x1001;

/// Answers a call.
///
/// # Errors
/// `EPROTONOSUPPORT` for a method or mandatory attribute that is not known, else what the method refuses.
pub(crate) fn answer(file: &File, call: &mut Call<'_>) -> Answer {
    match (call.object, call.method) {
        (0, 0) => write::invoke(file, call),
        (0, 2) => device::query_port(file, call),
        (0, 3) => device::get_context(file, call),
        (0, 5) => device::query_gid_table(file, call),
        (0, 6) => device::query_gid_entry(file, call),
        (1, 0) => memory::deallocate_pd(file, call),
        (3, 0) => queue::create_cq(file, call),
        (3, 1) => queue::destroy_cq(file, call),
        (4, 0) => queue::create_qp(file, call),
        (4, 1) => queue::destroy_qp(file, call),
        (7, 1) => memory::deregister(file, call),
        (7, 4) => memory::register_dmabuf(file, call),
        (16, 0) => event::allocate(file, call),
        (0x1000, 0x1000) => devx::general(file, call),
        (0x1000, 0x1002) => devx::query_eqn(file, call),
        (0x1000, 0x1003) => event::subscribe(file, call),
        (0x1001, 0x1000) => devx::create(file, call),
        (0x1001, 0x1001) => devx::destroy(file, call),
        (0x1001, 0x1002) => devx::modify(file, call),
        (0x1001, 0x1003) => devx::query(file, call),
        (0x1002, 0x1000) => memory::register_umem(file, call),
        (0x1002, 0x1001) => memory::deregister_umem(file, call),
        (0x1005, 0x1000) => event::allocate_channel(file, call),
        (0x1008, 0x1000) => uar::allocate(file, call),
        (0x1008, 0x1001) => uar::free(file, call),
        _ => Err(Refusal::new(libc::EPROTONOSUPPORT, format!("no such method ({call})"))),
    }
}
