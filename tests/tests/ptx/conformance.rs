//! Kernels of the conformance suite whose operations have no probe: warps, teams, types beyond those of the probes, and
//! what comes from rust-cuda.

use super::expectation::Kernel;

pub(crate) const ALL: &[Kernel] = &[
    Kernel {
        names: &["collectives"],
        has: &["shfl.sync.idx", "shfl.sync.down", "shfl.sync.up", "shfl.sync.bfly", "vote.sync"],
        ..Kernel::NAMED
    },
    // An entry of the table of teams is two loads, and a PE's number no barrier and no wait.
    Kernel {
        names: &["team_numbers"],
        has: &["ld.global.v2.b64", "mad.lo.s32"],
        lacks: &["fence.sc", "bar", "nanosleep"],
        ..Kernel::NAMED
    },
    // A ported kernel: its slices are global memory, read by plain loads; bounds checks that hold are gone.
    Kernel {
        names: &["saxpy"],
        has: &["ld.global.b32", "st.global.b32"],
        lacks: &["trap", "ld.b32", "st.b32"],
        ..Kernel::NAMED
    },
    Kernel { names: &["block_sum"], has: &["cvta.shared", "bar.sync"], ..Kernel::NAMED },
    Kernel { names: &["multiply"], has: &["fma.rn.f32", "cvta.shared"], ..Kernel::NAMED },
    Kernel {
        names: &["collect"],
        has: &[
            "shfl.sync.up",
            "shfl.sync.bfly",
            "match.any.sync.b64",
            "redux.sync.min.s32",
            "bar.red.popc.u32",
            "fence.sc.gpu",
        ],
        ..Kernel::NAMED
    },
    Kernel { names: &["round_all"], has: &["sqrt.rn.f64"], ..Kernel::NAMED },
    // A wait that expires leaves through one function, after the barrier that tells the others.
    Kernel {
        names: &["wait_for_ever"],
        has: &["bar.red.or.pred", "*%globaltimer", "nanosleep", "exit"],
        ..Kernel::NAMED
    },
    // Direct accesses: of 16 bytes the weak ones are a vector, the strong ones one access.
    Kernel {
        names: &["direct__u128"],
        has: &[
            "st.global.v2.b64",
            "ld.global.v2.b64",
            "st.relaxed.sys.global.b128",
            "ld.relaxed.sys.global.b128",
            "st.release.sys.global.b128",
            "ld.acquire.sys.global.b128",
            "st.volatile.global.b128",
            "ld.volatile.global.b128",
        ],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["direct__u8"],
        has: &["st.release.sys.global.b8", "ld.acquire.sys.global.b8", "ld.volatile.global.b8"],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["float_operations__f16"],
        has: &[
            "atom.relaxed.sys.global.add.noftz.f16",
            "atom.acq_rel.sys.global.add.noftz.f16",
            "atom.acq_rel.sys.global.cas.b16",
        ],
        lacks: &["*.gpu."],
        ..Kernel::NAMED
    },
    // Signed words compare signed.
    Kernel {
        names: &["compare__i32"],
        has: &["setp.gt.s32", "ld.relaxed.sys.global.b32"],
        newer: &["fence.acquire.sys"],
        older: &["ld.acquire.sys.global.b32"],
        lacks: &["fence.sc", "fence.acq_rel.sys"],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["compare__u64"],
        has: &["setp.gt.u64", "ld.relaxed.sys.global.b64"],
        newer: &["fence.acquire.sys"],
        older: &["ld.acquire.sys.global.b64"],
        lacks: &["fence.sc", "fence.acq_rel.sys"],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["fair"],
        has: &["ld.relaxed.sys.global.b64", "ld.acquire.sys.global.b64"],
        lacks: &["fence.sc", "fence.acq_rel.sys"],
        ..Kernel::NAMED
    },
    // After several words one fence that waits for nothing, where there is one.
    Kernel {
        names: &["block_waits"],
        has: &["ld.relaxed.sys.global.b64", "bar.red.or.pred"],
        newer: &["fence.acquire.sys"],
        older: &["ld.acquire.sys.global.b64"],
        lacks: &["fence.sc", "fence.acq_rel.sys"],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["several__i32"],
        has: &["ld.relaxed.sys.global.b32"],
        newer: &["fence.acquire.sys"],
        older: &["ld.acquire.sys.global.b32"],
        lacks: &["fence.sc", "fence.acq_rel.sys"],
        ..Kernel::NAMED
    },
];
