//! Packets: one access of 128 bits each, and nothing that orders. Mailboxes: packets, or a put, a release and an acquire.

use super::super::expectation::{Between, Kernel};
use super::super::reader::From;
use super::{FENCES, FENCES_AND_BARRIERS, OF_ONE_THREAD, OF_SEVERAL_CHECKS};

const STORE: &str = "st.relaxed.sys.global.b128";
const LOAD: &str = "ld.relaxed.sys.global.b128";

/// Nothing of the kind that a message by put and signal pays.
const UNORDERED: &[&str] = &[
    "fence.sc",
    "fence.acq_rel.sys",
    "fence.acq_rel.gpu",
    "fence.acquire",
    "membar",
    "st.release.sys.global.b64",
    "ld.acquire.sys",
];

pub(crate) const ROWS: &[Kernel] = &[
    Kernel {
        names: &["p_packet__u32", "p_packet__u64"],
        always: &[STORE],
        lacks: FENCES_AND_BARRIERS,
        registers: OF_ONE_THREAD,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["wait_packet__u32", "wait_packet__u64"],
        always: &[LOAD],
        has: &["nanosleep", "*%globaltimer", "exit"],
        lacks: FENCES_AND_BARRIERS,
        registers: OF_SEVERAL_CHECKS,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["put_packets_warp"],
        always: &["bar.warp.sync", "bar.warp.sync"],
        has: &["ld.global.b64", STORE],
        lacks: UNORDERED,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["wait_packets_warp"],
        between: &[Between {
            only_on: None,
            from: From::Each(LOAD),
            through: &["vote.sync.any", "bar.warp.sync"],
            to: &["ret"],
        }],
        lacks: UNORDERED,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["wait_packets_block", "wait_small_mailbox"],
        between: &[Between {
            only_on: None,
            from: From::Each(LOAD),
            through: &["bar.red.or.pred"],
            to: &["ret"],
        }],
        lacks: UNORDERED,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["put_mailbox_block"],
        has: &[STORE],
        between: &[Between {
            only_on: None,
            from: From::Each("st.global.v2.b64"),
            through: &["bar.sync"],
            to: &["st.release.sys.global.b64"],
        }],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["wait_large_mailbox"],
        newer: &["fence.acquire.sys"],
        older: &["ld.acquire.sys.global.b64"],
        between: &[Between {
            only_on: None,
            from: From::Each("ld.relaxed.sys.global.b64"),
            through: &["fence.acquire.sys|ld.acquire.sys.global.b64", "bar.red.or.pred", "bar.sync"],
            to: &["ret"],
        }],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    // A peer's base is computed: nothing is read, and the loop is a check, a store and a step.
    Kernel {
        names: &["p_loop"],
        has: &["st.relaxed.sys.global.b32"],
        lacks: &[
            "fence.sc",
            "fence.acq_rel.sys",
            "fence.acq_rel.gpu",
            "membar",
            "bar",
            "barrier",
            "ld.global.nc",
        ],
        registers: OF_ONE_THREAD,
        ..Kernel::NAMED
    },
];
