//! Structures of libmlx5, as `infiniband/mlx5dv.h` lays them out.

use super::abi::{IbvCq, IbvPd, IbvQp};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// `struct mlx5dv_context_attr`.
#[repr(C)]
pub struct ContextAttr {
    pub flags: u32,
    pub comp_mask: u64,
}

/// `MLX5DV_CONTEXT_FLAGS_DEVX`: commands to the firmware are wanted.
pub const WITH_DEVX: u32 = 1;

/// `struct mlx5dv_devx_obj`.
#[repr(C)]
pub struct DevxObj {
    _private: [u8; 0],
}

/// `struct mlx5dv_devx_event_channel`.
#[repr(C)]
pub struct DevxEventChannel {
    pub fd: c_int,
}

/// `struct mlx5dv_devx_umem`.
#[repr(C)]
pub struct DevxUmem {
    pub umem_id: u32,
}

/// `struct mlx5dv_devx_umem_in`.
#[repr(C)]
pub struct DevxUmemIn {
    pub addr: *mut c_void,
    pub size: usize,
    pub access: u32,
    pub pgsz_bitmap: u64,
    pub comp_mask: u64,
    pub dmabuf_fd: i32,
}

/// `MLX5DV_UMEM_MASK_DMABUF`: `dmabuf_fd` counts.
pub const UMEM_DMABUF: u64 = 1;

/// `struct mlx5dv_devx_uar`.
#[repr(C)]
pub struct DevxUar {
    pub reg_addr: *mut c_void,
    pub base_addr: *mut c_void,
    pub page_id: u32,
    pub mmap_off: i64,
    pub comp_mask: u64,
}

/// `struct mlx5dv_obj`: what is asked for, and where the answer goes.
#[repr(C)]
pub struct Obj {
    pub qp_in: *mut IbvQp,
    pub qp_out: *mut DvQp,
    pub cq_in: *mut IbvCq,
    pub cq_out: *mut DvCq,
    pub rest: [*mut c_void; 8],
    pub pd_in: *mut IbvPd,
    pub pd_out: *mut DvPd,
}

/// `MLX5DV_OBJ_QP`.
pub const OBJ_QP: u64 = 1;
/// `MLX5DV_OBJ_CQ`.
pub const OBJ_CQ: u64 = 2;
/// `MLX5DV_OBJ_PD`.
pub const OBJ_PD: u64 = 64;

/// `struct mlx5dv_pd`, with room for what newer libraries write.
#[repr(C)]
pub struct DvPd {
    pub pdn: u32,
    pub comp_mask: u64,
    pub room: [u64; 2],
}

/// `struct mlx5dv_qp`, with room for what newer libraries write.
#[repr(C)]
pub struct DvQp {
    pub dbrec: *mut u32,
    pub sq_buf: *mut u8,
    pub sq_wqe_cnt: u32,
    pub sq_stride: u32,
    pub rq: [u64; 2],
    pub bf_reg: *mut u8,
    pub bf_size: u32,
    pub comp_mask: u64,
    pub room: [u64; 8],
}

/// `struct mlx5dv_cq`, with room for what newer libraries write.
#[repr(C)]
pub struct DvCq {
    pub buf: *mut u8,
    pub dbrec: *mut u32,
    pub cqe_cnt: u32,
    pub cqe_size: u32,
    pub cq_uar: *mut c_void,
    pub cqn: u32,
    pub comp_mask: u64,
    pub room: [u64; 4],
}

const _: () = {
    assert!(size_of::<ContextAttr>() == 16);
    assert!(size_of::<DevxUmemIn>() == 48 && offset_of!(DevxUmemIn, dmabuf_fd) == 40);
    assert!(size_of::<DevxUar>() == 40 && offset_of!(DevxUar, page_id) == 16);
    assert!(size_of::<Obj>() == 112 && offset_of!(Obj, cq_in) == 16 && offset_of!(Obj, pd_in) == 96);
    assert!(offset_of!(DvQp, sq_buf) == 8 && offset_of!(DvQp, bf_reg) == 40);
    assert!(offset_of!(DvQp, comp_mask) == 56);
    assert!(offset_of!(DvCq, cqn) == 32 && offset_of!(DvCq, comp_mask) == 40);
};

impl Obj {
    /// Asks for nothing.
    pub const fn empty() -> Self {
        use std::ptr::null_mut;
        Obj {
            qp_in: null_mut(),
            qp_out: null_mut(),
            cq_in: null_mut(),
            cq_out: null_mut(),
            rest: [null_mut(); 8],
            pd_in: null_mut(),
            pd_out: null_mut(),
        }
    }
}
