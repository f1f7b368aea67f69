//! Read-modify-writes: relaxed if nothing else is asked for, of the whole system, and one instruction.

use super::super::expectation::Kernel;
use super::{FENCES_AND_BARRIERS, OF_ONE_THREAD};

const ONE: Kernel = Kernel { lacks: FENCES_AND_BARRIERS, registers: OF_ONE_THREAD, ..Kernel::NAMED };

pub(crate) const ROWS: &[Kernel] = &[
    Kernel { names: &["atomic_add__u32"], always: &["red.relaxed.sys.global.add.u32"], ..ONE },
    Kernel { names: &["atomic_add__u64"], always: &["red.relaxed.sys.global.add.u64"], ..ONE },
    Kernel { names: &["atomic_fetch_add__u32"], always: &["atom.relaxed.sys.global.add.u32"], ..ONE },
    Kernel { names: &["atomic_fetch_add__u64"], always: &["atom.relaxed.sys.global.add.u64"], ..ONE },
    Kernel { names: &["atomic_swap__u32"], always: &["atom.relaxed.sys.global.exch.b32"], ..ONE },
    Kernel { names: &["atomic_swap__u64"], always: &["atom.relaxed.sys.global.exch.b64"], ..ONE },
    Kernel { names: &["atomic_compare_swap__u32"], always: &["atom.relaxed.sys.global.cas.b32"], ..ONE },
    Kernel { names: &["atomic_compare_swap__u64"], always: &["atom.relaxed.sys.global.cas.b64"], ..ONE },
    Kernel { names: &["atomic_set__u32"], always: &["st.relaxed.sys.global.b32"], ..ONE },
    Kernel { names: &["atomic_set__u64"], always: &["st.relaxed.sys.global.b64"], ..ONE },
    Kernel { names: &["atomic_fetch__u32"], always: &["ld.relaxed.sys.global.b32"], ..ONE },
    Kernel { names: &["atomic_fetch__u64"], always: &["ld.relaxed.sys.global.b64"], ..ONE },
    Kernel { names: &["atomic_add__i64"], always: &["red.relaxed.sys.global.add.u64"], ..ONE },
    Kernel { names: &["atomic_fetch_add__i64"], always: &["atom.relaxed.sys.global.add.u64"], ..ONE },
    Kernel { names: &["atomic_add__f16"], always: &["red.relaxed.sys.global.add.noftz.f16"], ..ONE },
    Kernel { names: &["atomic_fetch_add__f16"], always: &["atom.relaxed.sys.global.add.noftz.f16"], ..ONE },
    Kernel { names: &["atomic_add__f32"], always: &["red.relaxed.sys.global.add.f32"], ..ONE },
    Kernel { names: &["atomic_fetch_add__f32"], always: &["atom.relaxed.sys.global.add.f32"], ..ONE },
    Kernel { names: &["atomic_add__f64"], always: &["red.relaxed.sys.global.add.f64"], ..ONE },
    Kernel { names: &["atomic_fetch_add__f64"], always: &["atom.relaxed.sys.global.add.f64"], ..ONE },
    Kernel { names: &["atomic_and__u32"], always: &["red.relaxed.sys.global.and.b32"], ..ONE },
    Kernel { names: &["atomic_fetch_and__u32"], always: &["atom.relaxed.sys.global.and.b32"], ..ONE },
    Kernel { names: &["atomic_and__u64"], always: &["red.relaxed.sys.global.and.b64"], ..ONE },
    Kernel { names: &["atomic_fetch_and__u64"], always: &["atom.relaxed.sys.global.and.b64"], ..ONE },
    Kernel { names: &["atomic_or__u32"], always: &["red.relaxed.sys.global.or.b32"], ..ONE },
    Kernel { names: &["atomic_fetch_or__u32"], always: &["atom.relaxed.sys.global.or.b32"], ..ONE },
    Kernel { names: &["atomic_or__u64"], always: &["red.relaxed.sys.global.or.b64"], ..ONE },
    Kernel { names: &["atomic_fetch_or__u64"], always: &["atom.relaxed.sys.global.or.b64"], ..ONE },
    Kernel { names: &["atomic_xor__u32"], always: &["red.relaxed.sys.global.xor.b32"], ..ONE },
    Kernel { names: &["atomic_fetch_xor__u32"], always: &["atom.relaxed.sys.global.xor.b32"], ..ONE },
    Kernel { names: &["atomic_xor__u64"], always: &["red.relaxed.sys.global.xor.b64"], ..ONE },
    Kernel { names: &["atomic_fetch_xor__u64"], always: &["atom.relaxed.sys.global.xor.b64"], ..ONE },
    Kernel { names: &["atomic_set_release"], always: &["st.release.sys.global.b64"], ..ONE },
    Kernel { names: &["atomic_add_release"], always: &["red.release.sys.global.add.u64"], ..ONE },
    Kernel { names: &["atomic_fetch_acquire"], always: &["ld.acquire.sys.global.b64"], ..ONE },
    Kernel { names: &["atomic_fetch_add_acq_rel"], always: &["atom.acq_rel.sys.global.add.u64"], ..ONE },
];
