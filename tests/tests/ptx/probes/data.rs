//! `put` and `get` of ranges, by loads and stores; the own memory; elements that do not stand side by side.

use super::super::expectation::{Between, InFlight, Kernel};
use super::super::reader::From;
use super::{FENCES, FENCES_AND_BARRIERS, OF_SEVERAL_CHECKS};

/// 16 bytes at a time, four in flight: where both sides lie alike to the 16-byte grid they go as they came, elsewhere two
/// loads are shifted into one store.
const VECTORS: &[InFlight] = &[
    InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 4 },
    InFlight { load: "ld.global.v2.b64", user: "selp.b64", count: 8 },
];
/// One thread alone has sixteen in flight, a warp twelve.
const OF_THREAD: &[InFlight] =
    &[InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 16 }, VECTORS[1]];
const OF_WARP: &[InFlight] =
    &[InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 12 }, VECTORS[1]];
/// Elements of 16 bytes are always on the grid.
const ALIGNED: &[InFlight] = &[VECTORS[0]];

/// A range's body is neither strong, nor ordered, nor narrower than 16 bytes.
const BULK: Kernel = Kernel {
    lacks: &[
        "fence.sc",
        "fence.acq_rel.sys",
        "fence.acq_rel.gpu",
        "membar",
        "*.relaxed.sys.global.b8",
        "ld.relaxed",
    ],
    in_flight: VECTORS,
    ..Kernel::NAMED
};
const OF_16: &[&str] = &[
    "fence.sc",
    "fence.acq_rel.sys",
    "membar",
    "ld.global.b8",
    "ld.global.b16",
    "ld.global.b32",
    "ld.relaxed",
];
const ONE_BARRIER: &[&str] = &["bar.sync"];
/// Before, so that what any thread wrote is what is sent; behind, so that the source may be reused.
const TWO_BARRIERS: &[&str] = &["bar.sync", "bar.sync"];

/// Every thread arrives at the scope's barrier, and nobody goes on before the last one has.
const OF_WARPS: &[Between] = &[Between {
    only_on: None,
    from: From::Each("atom.acq_rel.cta.shared.add.u32"),
    through: &["ld.acquire.cta.shared.b32", "bar.warp.sync"],
    to: &["ret"],
}];
const OF_GRID: &[Between] = &[
    Between {
        only_on: None,
        from: From::Entry,
        through: &["bar.sync"],
        to: &["atom.acq_rel.gpu.global.add.u32"],
    },
    Between {
        only_on: None,
        from: From::Each("atom.acq_rel.gpu.global.add.u32"),
        through: &["fence.acquire.sys|ld.acquire.gpu.global.b32", "bar.red.or.pred"],
        to: &["ret"],
    },
];

const DIRECT: Kernel = Kernel {
    lacks: &["fence.sc", "fence.acq_rel", "membar", "bar", "atom", "exit"],
    registers: Some(16),
    ..Kernel::NAMED
};

pub(crate) const ROWS: &[Kernel] = &[
    Kernel {
        names: &["put_thread__u8", "get_thread__u8"],
        has: &["ld.global.b8"],
        lacks: FENCES_AND_BARRIERS,
        in_flight: OF_THREAD,
        ..BULK
    },
    Kernel {
        names: &["put_thread__u32", "get_thread__u32"],
        lacks: FENCES_AND_BARRIERS,
        in_flight: OF_THREAD,
        ..BULK
    },
    Kernel {
        names: &["put_thread__u128", "get_thread__u128"],
        lacks: FENCES_AND_BARRIERS,
        in_flight: &[OF_THREAD[0]],
        ..BULK
    },
    Kernel {
        names: &["put_warp__u8", "put_warp__u32", "get_warp__u8", "get_warp__u32"],
        always: &["bar.warp.sync", "bar.warp.sync"],
        in_flight: OF_WARP,
        ..BULK
    },
    Kernel {
        names: &["put_warp__u128", "get_warp__u128"],
        always: &["bar.warp.sync", "bar.warp.sync"],
        lacks: OF_16,
        in_flight: &[OF_WARP[0]],
        ..BULK
    },
    Kernel { names: &["put_warps", "get_warps"], lacks: FENCES, between: OF_WARPS, ..BULK },
    Kernel {
        names: &["put_block__u8", "put_block__u32", "get_block__u8", "get_block__u32", "put_on_team"],
        always: TWO_BARRIERS,
        ..BULK
    },
    Kernel {
        names: &["put_block__u128", "get_block__u128"],
        always: TWO_BARRIERS,
        lacks: OF_16,
        in_flight: ALIGNED,
        ..BULK
    },
    Kernel { names: &["put_grid", "get_grid"], lacks: FENCES, between: OF_GRID, ..BULK },
    Kernel { names: &["put_nbi_block", "get_nbi_block"], always: ONE_BARRIER, ..BULK },
    Kernel {
        names: &["put_nbi_quiet_block"],
        has: &["fence.sc.sys"],
        lacks: &["fence.acq_rel.sys", "fence.acq_rel.gpu", "membar"],
        always: TWO_BARRIERS,
        ..BULK
    },
    // A thread's own array is read where it lies.
    Kernel { names: &[super::OWN_ARRAY], has: &["st.local"], lacks: FENCES_AND_BARRIERS, ..Kernel::NAMED },
    Kernel {
        names: &["put_from_shared"],
        always: TWO_BARRIERS,
        in_flight: &[InFlight { load: "ld.shared.v2.b64", user: "st.global.v2.b64", count: 4 }],
        lacks: OF_16,
        ..BULK
    },
    Kernel {
        names: &["get_into_shared"],
        always: TWO_BARRIERS,
        in_flight: &[InFlight { load: "ld.global.v2.b64", user: "st.shared.v2.b64", count: 4 }],
        lacks: OF_16,
        ..BULK
    },
    Kernel {
        names: &["local_get_set__u8"],
        always: &["ld.global.b8", "st.global.b8"],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["local_get_set__u32"],
        always: &["ld.global.b32", "st.global.b32"],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["local_get_set__u128"],
        always: &["ld.global.v2.b64", "st.global.v2.b64"],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    // Its words are on their way together.
    Kernel {
        names: &["local_get_set___u32__3_"],
        in_flight: &[InFlight { load: "ld.global.b32", user: "", count: 3 }],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["shared_get_set"],
        always: &["ld.global.v2.b64", "st.shared.v2.b64", "bar.sync", "ld.shared.v2.b64", "st.global.v2.b64"],
        lacks: &["cvta.shared", "ld.v2.b64", "st.v2.b64"],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["iput__u32", "iget__u32"],
        always: TWO_BARRIERS,
        in_flight: &[InFlight { load: "ld.global.b32", user: "st.global.b32", count: 8 }],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    Kernel { names: &["iput__u128", "iget__u128"], always: TWO_BARRIERS, in_flight: ALIGNED, ..BULK },
    Kernel {
        names: &["gather__u32"],
        always: TWO_BARRIERS,
        in_flight: &[
            // The numbers, then the elements.
            InFlight { load: "ld.global.b32", user: "max.u64", count: 8 },
            InFlight { load: "ld.global.b32", user: "st.global.b32", count: 8 },
        ],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["gather__u128"],
        always: TWO_BARRIERS,
        in_flight: &[
            InFlight { load: "ld.global.b32", user: "max.u64", count: 4 },
            InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 4 },
        ],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    // Nothing is reported of a PE that cannot be reached: the caller asks.
    Kernel { names: &["ptr_store__u8"], has: &["st.global.b8"], ..DIRECT },
    Kernel { names: &["ptr_store__u32"], has: &["st.global.b32"], ..DIRECT },
    Kernel { names: &["ptr_store__u128"], has: &["st.global.v2.b64"], ..DIRECT },
    Kernel {
        names: &["signal_fetch"],
        always: &["ld.relaxed.sys.global.b64", "st.global.b64"],
        lacks: FENCES_AND_BARRIERS,
        registers: OF_SEVERAL_CHECKS,
        ..Kernel::NAMED
    },
];
