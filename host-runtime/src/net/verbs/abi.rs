//! Structures of libibverbs, as `infiniband/verbs.h` lays them out. Those that the library allocates are cut off behind
//! the last field that is read here. The sizes and places are held by assertions, whose numbers a C compiler gave.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;

/// `struct ibv_device`.
#[repr(C)]
pub struct IbvDevice {
    _private: [u8; 0],
}

/// The start of `struct ibv_context`.
#[repr(C)]
pub struct IbvContext {
    pub device: *mut IbvDevice,
    /// `struct ibv_context_ops`: the provider's functions by their place.
    pub operations: [*const c_void; 32],
    pub cmd_fd: c_int,
    pub async_fd: c_int,
}

/// The place of `poll_cq` among the operations.
pub const POLL_CQ: usize = 11;
/// The place of `post_send`.
pub const POST_SEND: usize = 25;

/// `struct ibv_pd`.
#[repr(C)]
pub struct IbvPd {
    pub context: *mut IbvContext,
    pub handle: u32,
}

/// `struct ibv_mr`.
#[repr(C)]
pub struct IbvMr {
    pub context: *mut IbvContext,
    pub pd: *mut IbvPd,
    pub addr: *mut c_void,
    pub length: usize,
    pub handle: u32,
    pub lkey: u32,
    pub rkey: u32,
}

/// The start of `struct ibv_cq`.
#[repr(C)]
pub struct IbvCq {
    pub context: *mut IbvContext,
    pub channel: *mut c_void,
    pub cq_context: *mut c_void,
    pub handle: u32,
    pub cqe: c_int,
}

/// The start of `struct ibv_qp`.
#[repr(C)]
pub struct IbvQp {
    pub context: *mut IbvContext,
    pub qp_context: *mut c_void,
    pub pd: *mut IbvPd,
    pub send_cq: *mut IbvCq,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut c_void,
    pub handle: u32,
    pub qp_num: u32,
}

/// `struct ibv_device_attr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvDeviceAttr {
    pub fw_ver: [c_char; 64],
    pub node_guid: u64,
    pub sys_image_guid: u64,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub max_qp: c_int,
    pub max_qp_wr: c_int,
    pub device_cap_flags: c_uint,
    pub max_sge: c_int,
    pub max_sge_rd: c_int,
    pub max_cq: c_int,
    pub max_cqe: c_int,
    pub max_mr: c_int,
    pub max_pd: c_int,
    pub max_qp_rd_atom: c_int,
    pub more: [c_int; 4],
    pub atomic_cap: c_int,
    pub rest: [u8; 56],
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
    pub phys_port_cnt: u8,
}

/// `struct ibv_port_attr`, with room for what newer libraries write.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvPortAttr {
    pub state: c_int,
    pub max_mtu: c_int,
    pub active_mtu: c_int,
    pub gid_tbl_len: c_int,
    pub port_cap_flags: u32,
    pub max_msg_sz: u32,
    pub bad_pkey_cntr: u32,
    pub qkey_viol_cntr: u32,
    pub pkey_tbl_len: u16,
    pub lid: u16,
    pub sm_lid: u16,
    pub lmc: u8,
    pub max_vl_num: u8,
    pub sm_sl: u8,
    pub subnet_timeout: u8,
    pub init_type_reply: u8,
    pub active_width: u8,
    pub active_speed: u8,
    pub phys_state: u8,
    pub link_layer: u8,
    pub flags: u8,
    pub port_cap_flags2: u16,
    pub room: [u32; 4],
}

/// `struct ibv_gid_entry`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvGidEntry {
    pub gid: [u8; 16],
    pub gid_index: u32,
    pub port_num: u32,
    pub gid_type: u32,
    pub ndev_ifindex: u32,
}

/// `struct ibv_qp_cap`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvQpCap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
}

/// `struct ibv_qp_init_attr`.
#[repr(C)]
pub struct IbvQpInitAttr {
    pub qp_context: *mut c_void,
    pub send_cq: *mut IbvCq,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut c_void,
    pub cap: IbvQpCap,
    pub qp_type: c_int,
    pub sq_sig_all: c_int,
}

/// `struct ibv_ah_attr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvAhAttr {
    pub dgid: [u8; 16],
    pub flow_label: u32,
    pub sgid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    pub dlid: u16,
    pub sl: u8,
    pub src_path_bits: u8,
    pub static_rate: u8,
    pub is_global: u8,
    pub port_num: u8,
}

/// `struct ibv_qp_attr`, with room for what newer libraries have.
#[repr(C)]
pub struct IbvQpAttr {
    pub qp_state: c_int,
    pub cur_qp_state: c_int,
    pub path_mtu: c_int,
    pub path_mig_state: c_int,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: c_uint,
    pub cap: IbvQpCap,
    pub ah_attr: IbvAhAttr,
    pub alt_ah_attr: IbvAhAttr,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub rate_limit: u32,
    pub room: [u32; 4],
}

/// `struct ibv_sge`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IbvSge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// `struct ibv_send_wr`.
#[repr(C)]
pub struct IbvSendWr {
    pub wr_id: u64,
    pub next: *mut IbvSendWr,
    pub sg_list: *mut IbvSge,
    pub num_sge: c_int,
    pub opcode: c_int,
    pub send_flags: c_uint,
    pub imm_data: u32,
    /// A write's or read's remote address and key, or an atomic's remote address, operands and key.
    pub remote_addr: u64,
    pub key_or_compare_add: u64,
    pub swap: u64,
    pub atomic_rkey: u32,
    pub rest: [u64; 7],
}

/// `struct ibv_wc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IbvWc {
    pub wr_id: u64,
    pub status: c_int,
    pub opcode: c_int,
    pub vendor_err: u32,
    pub byte_len: u32,
    pub imm_data: u32,
    pub qp_num: u32,
    pub src_qp: u32,
    pub wc_flags: c_uint,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
}

/// `struct ibv_async_event`.
#[repr(C)]
pub struct IbvAsyncEvent {
    /// A pointer to the queue, or the number of the port.
    pub element: u64,
    pub event_type: c_int,
}

const _: () = {
    assert!(offset_of!(IbvContext, operations) == 8 && offset_of!(IbvContext, cmd_fd) == 264);
    assert!(offset_of!(IbvContext, async_fd) == 268);
    assert!(size_of::<IbvMr>() == 48 && offset_of!(IbvMr, rkey) == 40);
    assert!(offset_of!(IbvCq, cqe) == 28 && offset_of!(IbvQp, qp_num) == 52);
    assert!(size_of::<IbvDeviceAttr>() == 232 && offset_of!(IbvDeviceAttr, vendor_part_id) == 100);
    assert!(offset_of!(IbvDeviceAttr, max_qp_rd_atom) == 144 && offset_of!(IbvDeviceAttr, atomic_cap) == 164);
    assert!(offset_of!(IbvDeviceAttr, phys_port_cnt) == 227);
    assert!(offset_of!(IbvPortAttr, lid) == 34 && offset_of!(IbvPortAttr, link_layer) == 46);
    assert!(size_of::<IbvGidEntry>() == 32);
    assert!(size_of::<IbvQpInitAttr>() == 64 && offset_of!(IbvQpInitAttr, qp_type) == 52);
    assert!(size_of::<IbvAhAttr>() == 32 && offset_of!(IbvAhAttr, dlid) == 24);
    assert!(offset_of!(IbvQpAttr, ah_attr) == 56 && offset_of!(IbvQpAttr, pkey_index) == 120);
    assert!(offset_of!(IbvQpAttr, rnr_retry) == 132);
    assert!(size_of::<IbvSge>() == 16 && size_of::<IbvSendWr>() == 128);
    assert!(offset_of!(IbvSendWr, key_or_compare_add) == 48 && offset_of!(IbvSendWr, atomic_rkey) == 64);
    assert!(size_of::<IbvWc>() == 48 && offset_of!(IbvWc, qp_num) == 28);
    assert!(size_of::<IbvAsyncEvent>() == 16 && offset_of!(IbvAsyncEvent, event_type) == 8);
};
