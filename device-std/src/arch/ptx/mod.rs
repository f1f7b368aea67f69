//! The instructions (PTX ISA 8.4 and later). One file per kind; each function has a twin of the same name
//! in `arch/host/`.
//!
//! Asm that orders memory carries neither `nomem` nor `readonly` nor `pure`: with them LLVM deletes or moves
//! the stores in front of a release. Collective instructions are LLVM intrinsics, which stay convergent.

pub(crate) mod atomic;
pub(crate) mod bulk;
pub(crate) mod fault;
pub(crate) mod float;
pub(crate) mod memory;
pub(crate) mod nic;
pub(crate) mod order;
pub(crate) mod shared;
pub(crate) mod thread;
pub(crate) mod warp;
