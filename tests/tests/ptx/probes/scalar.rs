//! `p` and `g`: strong relaxed accesses of the element's width, one per element, and nothing that orders.

use super::super::expectation::{InFlight, Kernel};
use super::{FENCES_AND_BARRIERS, OF_ONE_THREAD, OF_SEVERAL_CHECKS};

const ONE: Kernel = Kernel { lacks: FENCES_AND_BARRIERS, registers: OF_ONE_THREAD, ..Kernel::NAMED };

pub(crate) const ROWS: &[Kernel] = &[
    Kernel { names: &["p__u8"], always: &["st.relaxed.sys.global.b8"], ..ONE },
    Kernel { names: &["p__u16"], always: &["st.relaxed.sys.global.b16"], ..ONE },
    Kernel { names: &["p__u32"], always: &["st.relaxed.sys.global.b32"], ..ONE },
    Kernel { names: &["p__u64"], always: &["st.relaxed.sys.global.b64"], ..ONE },
    // One scalar access: of a vector the halves may be seen apart.
    Kernel { names: &["p__u128"], always: &["st.relaxed.sys.global.b128"], ..ONE },
    Kernel { names: &["g__u8"], always: &["ld.relaxed.sys.global.b8", "st.global.b8"], ..ONE },
    Kernel { names: &["g__u16"], always: &["ld.relaxed.sys.global.b16", "st.global.b16"], ..ONE },
    Kernel { names: &["g__u32"], always: &["ld.relaxed.sys.global.b32", "st.global.b32"], ..ONE },
    Kernel { names: &["g__u64"], always: &["ld.relaxed.sys.global.b64", "st.global.b64"], ..ONE },
    Kernel { names: &["g__u128"], always: &["ld.relaxed.sys.global.b128", "st.global.v2.b64"], ..ONE },
    Kernel { names: &["p_to_all"], has: &["st.relaxed.sys.global.b32"], registers: OF_SEVERAL_CHECKS, ..ONE },
    // The table's entry is two loads, a PE's number one multiplication.
    Kernel {
        names: &["p_on_team"],
        always: &["ld.global.v2.b64", "ld.global.v2.b64", "st.relaxed.sys.global.b32"],
        has: &["mad.lo.s32"],
        ..ONE
    },
    // Each lane its own element, in the one load.
    Kernel {
        names: &["g_warp__u32"],
        always: &["ld.relaxed.sys.global.b32", "st.global.b32"],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["g_warp__u128"],
        always: &["ld.relaxed.sys.global.b128", "st.global.v2.b64"],
        lacks: FENCES_AND_BARRIERS,
        ..Kernel::NAMED
    },
    // The checks of four handles branch between the loads.
    Kernel {
        names: &["g_nbi_four"],
        in_flight: &[InFlight { load: "ld.relaxed.sys.global.b64", user: "", count: 4 }],
        ..ONE
    },
    Kernel {
        names: &["get_array_nbi"],
        in_flight: &[InFlight { load: "ld.global.b32", user: "", count: 4 }],
        registers: OF_SEVERAL_CHECKS,
        ..ONE
    },
];
