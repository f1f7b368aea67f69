//! Queues that libmlx5 makes and posts to itself: what our own encoders are compared with.

use super::abi::{
    IbvAhAttr, IbvCq, IbvQp, IbvQpAttr, IbvQpCap, IbvQpInitAttr, IbvSendWr, IbvSge, IbvWc, POLL_CQ, POST_SEND,
};
use super::context::Context;
use super::dv::{DvCq, DvQp, OBJ_CQ, OBJ_QP, Obj};
use super::error::Result;
use super::memory::Pd;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// A completion queue of libmlx5's.
#[derive(Debug)]
pub struct ClassicCq {
    context: Arc<Context>,
    pointer: NonNull<IbvCq>,
}

/// A queue pair of libmlx5's.
#[derive(Debug)]
pub struct ClassicQp {
    pd: Arc<Pd>,
    cq: Arc<ClassicCq>,
    pointer: NonNull<IbvQp>,
}

// SAFETY: libmlx5 locks its queues.
unsafe impl Send for ClassicCq {}
// SAFETY: as above.
unsafe impl Sync for ClassicCq {}
// SAFETY: as above.
unsafe impl Send for ClassicQp {}
// SAFETY: as above.
unsafe impl Sync for ClassicQp {}

/// One work request.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// What its completion carries.
    pub id: u64,
    /// What it does.
    pub operation: Operation,
    /// It waits for earlier reads and atomics.
    pub fenced: bool,
    /// It gives a completion.
    pub signalled: bool,
    /// Local address, length in bytes, key.
    pub local: (u64, u32, u32),
    /// Remote address and key.
    pub remote: (u64, u32),
}

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes local memory to remote.
    Write,
    /// Writes bytes that go with the work request.
    InlineWrite,
    /// Reads remote memory to local.
    Read,
    /// Adds to 8 remote bytes; what was there goes to local memory.
    FetchAdd(u64),
    /// Compares 8 remote bytes with the first, and if they are equal puts the second; what was there goes to local
    /// memory.
    CompareSwap(u64, u64),
}

// `enum ibv_wr_opcode` and `enum ibv_send_flags`.
const WRITE: c_int = 0;
const READ: c_int = 4;
const COMPARE_SWAP: c_int = 5;
const FETCH_ADD: c_int = 6;
const FENCE: u32 = 1;
const SIGNALLED: u32 = 2;
const INLINE: u32 = 8;

/// Where libmlx5's send queue lies.
#[derive(Clone, Copy, Debug)]
pub struct SendQueue {
    /// Its first byte.
    pub start: *const u8,
    /// Its blocks.
    pub blocks: u32,
    /// Bytes of a block.
    pub stride: u32,
    /// Its doorbell record; word 1 is the send queue's.
    pub record: *const u32,
}

impl ClassicCq {
    /// Makes a completion queue of at least that many entries.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn new(context: &Arc<Context>, entries: i32) -> Result<Arc<Self>> {
        // SAFETY: an open context, no channel.
        let made = unsafe {
            (context.library.verbs.ibv_create_cq)(
                context.pointer.as_ptr(),
                entries,
                null_mut(),
                null_mut(),
                0,
            )
        };
        match NonNull::new(made) {
            Some(pointer) => Ok(Arc::new(ClassicCq { context: Arc::clone(context), pointer })),
            None => Err(context.failed("ibv_create_cq", "")),
        }
    }

    /// Takes completions, as many as there are and `out` has room for; how many.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn poll(&self, out: &mut [IbvWc]) -> Result<usize> {
        type Poll = unsafe extern "C" fn(*mut IbvCq, c_int, *mut IbvWc) -> c_int;
        // SAFETY: the provider's function of that place has this type.
        let poll: Poll = unsafe { std::mem::transmute(self.context.operation(POLL_CQ)) };
        let room = c_int::try_from(out.len()).unwrap_or(c_int::MAX);
        // SAFETY: a queue that lives, and room for that many entries.
        let found = unsafe { poll(self.pointer.as_ptr(), room, out.as_mut_ptr()) };
        usize::try_from(found).map_err(|_| self.context.failed("ibv_poll_cq", ""))
    }

    /// Its number.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn number(&self) -> Result<u32> {
        // SAFETY: pointers and integers, for which zero is a value.
        let mut found: DvCq = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut ask = Obj { cq_in: self.pointer.as_ptr(), cq_out: &raw mut found, ..Obj::empty() };
        // SAFETY: a queue that lives, and structures with more room than the library writes.
        let code = unsafe { (self.context.library.mlx5.mlx5dv_init_obj)(&raw mut ask, OBJ_CQ) };
        self.context.check("mlx5dv_init_obj of a completion queue", code)?;
        Ok(found.cqn)
    }
}

impl Drop for ClassicCq {
    fn drop(&mut self) {
        // SAFETY: the queue is this one's own, and queue pairs keep it.
        unsafe { (self.context.library.verbs.ibv_destroy_cq)(self.pointer.as_ptr()) };
    }
}

impl Context {
    fn operation(&self, place: usize) -> *const c_void {
        // SAFETY: an open context, whose table the library does not change any more.
        unsafe { (*self.pointer.as_ptr()).operations[place] }
    }
}

impl ClassicQp {
    /// Makes a reliable connected queue pair without receives, for `depth` work requests with up to `inlined` bytes.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn new(pd: &Arc<Pd>, cq: &Arc<ClassicCq>, depth: u32, inlined: u32) -> Result<Self> {
        let mut attributes = IbvQpInitAttr {
            qp_context: null_mut(),
            send_cq: cq.pointer.as_ptr(),
            recv_cq: cq.pointer.as_ptr(),
            srq: null_mut(),
            cap: IbvQpCap {
                max_send_wr: depth,
                max_recv_wr: 0,
                max_send_sge: 1,
                max_recv_sge: 0,
                max_inline_data: inlined,
            },
            qp_type: 2, // IBV_QPT_RC
            sq_sig_all: 0,
        };
        // SAFETY: a domain and a queue that live.
        let made =
            unsafe { (pd.context.library.verbs.ibv_create_qp)(pd.pointer.as_ptr(), &raw mut attributes) };
        match NonNull::new(made) {
            Some(pointer) => Ok(ClassicQp { pd: Arc::clone(pd), cq: Arc::clone(cq), pointer }),
            None => Err(pd.context.failed("ibv_create_qp", "")),
        }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        // SAFETY: a queue pair that lives.
        unsafe { (*self.pointer.as_ptr()).qp_num }
    }

    /// Where its work completes.
    pub fn cq(&self) -> &Arc<ClassicCq> {
        &self.cq
    }

    /// Where its send queue lies.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn send_queue(&self) -> Result<SendQueue> {
        // SAFETY: pointers and integers, for which zero is a value.
        let mut found: DvQp = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut ask = Obj { qp_in: self.pointer.as_ptr(), qp_out: &raw mut found, ..Obj::empty() };
        // SAFETY: a queue pair that lives, and structures with more room than the library writes.
        let code = unsafe { (self.pd.context.library.mlx5.mlx5dv_init_obj)(&raw mut ask, OBJ_QP) };
        self.pd.context.check("mlx5dv_init_obj of a queue pair", code)?;
        Ok(SendQueue {
            start: found.sq_buf,
            blocks: found.sq_wqe_cnt,
            stride: found.sq_stride,
            record: found.dbrec,
        })
    }

    /// Connects it to a queue pair of the port with that local identifier.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call).
    pub fn connect(&self, qpn: u32, lid: u16) -> Result<()> {
        // SAFETY: integers, for which zero is a value.
        let zero: IbvQpAttr = unsafe { MaybeUninit::zeroed().assume_init() };
        // Which fields count: `enum ibv_qp_attr_mask`.
        let state = 1;
        let to_init = IbvQpAttr { qp_state: 1, qp_access_flags: 1 | 2 | 4 | 8, port_num: 1, ..zero };
        self.modify(to_init, state | 1 << 3 | 1 << 4 | 1 << 5)?;
        // SAFETY: as above.
        let zero: IbvQpAttr = unsafe { MaybeUninit::zeroed().assume_init() };
        let to_receive = IbvQpAttr {
            qp_state: 2,
            path_mtu: 5,
            dest_qp_num: qpn,
            ah_attr: IbvAhAttr { dlid: lid, port_num: 1, ..zero.ah_attr },
            max_dest_rd_atomic: 16,
            min_rnr_timer: 12,
            ..zero
        };
        self.modify(to_receive, state | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20)?;
        // SAFETY: as above.
        let zero: IbvQpAttr = unsafe { MaybeUninit::zeroed().assume_init() };
        let to_send =
            IbvQpAttr { qp_state: 3, timeout: 20, retry_cnt: 7, rnr_retry: 7, max_rd_atomic: 16, ..zero };
        self.modify(to_send, state | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16)
    }

    fn modify(&self, mut attributes: IbvQpAttr, which: c_int) -> Result<()> {
        // SAFETY: a queue pair that lives, and attributes with more room than the library reads.
        let code = unsafe {
            (self.pd.context.library.verbs.ibv_modify_qp)(self.pointer.as_ptr(), &raw mut attributes, which)
        };
        self.pd.context.check("ibv_modify_qp", code)
    }

    /// Posts one work request and rings the doorbell.
    ///
    /// # Errors
    /// [`Call`](super::VerbsError::Call), also when the queue is full.
    ///
    /// # Safety
    /// For an inline write the local address is that of memory that may be read. For the others the NIC checks.
    pub unsafe fn post(&self, post: &Post) -> Result<()> {
        type PostSend = unsafe extern "C" fn(*mut IbvQp, *mut IbvSendWr, *mut *mut IbvSendWr) -> c_int;
        let (addr, length, lkey) = post.local;
        let mut segment = IbvSge { addr, length, lkey };
        let (remote_addr, rkey) = post.remote;
        let (opcode, key_or_compare_add, swap, atomic_rkey) = match post.operation {
            Operation::Write | Operation::InlineWrite => (WRITE, u64::from(rkey), 0, 0),
            Operation::Read => (READ, u64::from(rkey), 0, 0),
            Operation::FetchAdd(value) => (FETCH_ADD, value, 0, rkey),
            Operation::CompareSwap(compare, swap) => (COMPARE_SWAP, compare, swap, rkey),
        };
        let flag = |on, bit| if on { bit } else { 0 };
        let mut request = IbvSendWr {
            wr_id: post.id,
            next: null_mut(),
            sg_list: &raw mut segment,
            num_sge: 1,
            opcode,
            send_flags: flag(post.fenced, FENCE)
                | flag(post.signalled, SIGNALLED)
                | flag(post.operation == Operation::InlineWrite, INLINE),
            imm_data: 0,
            remote_addr,
            key_or_compare_add,
            swap,
            atomic_rkey,
            rest: [0; 7],
        };
        let mut bad = null_mut();
        // SAFETY: the provider's function of that place has this type; the queue pair lives, the request until the call
        // has returned, and what an inline write reads is the caller's promise.
        let code = unsafe {
            let send: PostSend = std::mem::transmute(self.pd.context.operation(POST_SEND));
            send(self.pointer.as_ptr(), &raw mut request, &raw mut bad)
        };
        self.pd.context.check("ibv_post_send", code)
    }
}

impl Drop for ClassicQp {
    fn drop(&mut self) {
        // SAFETY: the queue pair is this one's own.
        unsafe { (self.pd.context.library.verbs.ibv_destroy_qp)(self.pointer.as_ptr()) };
    }
}
