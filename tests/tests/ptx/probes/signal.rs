//! Signals: a release by one thread after the scope has joined it, alone. Waits: relaxed polls, one acquire, then the scope.

use super::super::expectation::{Between, InFlight, Kernel};
use super::super::reader::From;
use super::{ENGINE, FENCES, FENCES_AND_BARRIERS, OF_ONE_THREAD, OF_SEVERAL_CHECKS};

const SET: &str = "st.release.sys.global.b64";
const ADD: &str = "red.release.sys.global.add.u64";

/// A fence in front of a release costs as much again and adds nothing; and there is no engine to wait for.
const STRONG: Kernel = Kernel {
    lacks: &["fence.sc", "fence.acq_rel.sys", "fence.acq_rel.gpu", "membar", ENGINE],
    ..Kernel::NAMED
};
const JOINED: &[Between] =
    &[Between { only_on: None, from: From::Entry, through: &["bar.sync"], to: &[SET] }];
const JOINED_ADD: &[Between] =
    &[Between { only_on: None, from: From::Entry, through: &["bar.sync"], to: &[ADD] }];
/// The data, too, is there before the scope is joined.
const BEHIND_DATA: &[Between] = &[
    Between { only_on: None, from: From::Entry, through: &["bar.sync", "bar.sync"], to: &[SET] },
    Between { only_on: None, from: From::Each("st.global.v2.b64"), through: &["bar.sync"], to: &[SET] },
    Between { only_on: None, from: From::Each("st.global.b32"), through: &["bar.sync"], to: &[SET] },
];
const BEHIND_DATA_ADD: &[Between] = &[
    Between { only_on: None, from: From::Entry, through: &["bar.sync", "bar.sync"], to: &[ADD] },
    Between { only_on: None, from: From::Each("st.global.v2.b64"), through: &["bar.sync"], to: &[ADD] },
    Between { only_on: None, from: From::Each("st.global.b32"), through: &["bar.sync"], to: &[ADD] },
];
const VECTORS: &[InFlight] = &[
    InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 4 },
    InFlight { load: "ld.global.v2.b64", user: "selp.b64", count: 8 },
];

const POLL: &str = "ld.relaxed.sys.global.b64";
/// What makes relaxed polls acquire: a fence that waits for nothing, where there is one, or another load.
const FENCE: &str = "fence.acquire.sys";
const LOAD: &str = "ld.acquire.sys.global.b64";
const ACQUIRE: &str = "fence.acquire.sys|ld.acquire.sys.global.b64";
const WAIT: Kernel = Kernel {
    has: &[POLL, "nanosleep", "*%globaltimer", "exit"],
    newer: &[FENCE],
    older: &[LOAD],
    lacks: FENCES,
    ..Kernel::NAMED
};

pub(crate) const ROWS: &[Kernel] = &[
    Kernel { names: &["signal_set"], between: JOINED, registers: OF_ONE_THREAD, ..STRONG },
    Kernel { names: &["signal_add"], between: JOINED_ADD, registers: OF_ONE_THREAD, ..STRONG },
    Kernel {
        names: &["put_signal_set", "put_signal_nbi"],
        between: BEHIND_DATA,
        in_flight: VECTORS,
        ..STRONG
    },
    Kernel { names: &["put_signal_add"], between: BEHIND_DATA_ADD, in_flight: VECTORS, ..STRONG },
    Kernel {
        names: &["signal_weak_set"],
        always: &["st.relaxed.sys.global.b64"],
        lacks: FENCES_AND_BARRIERS,
        registers: OF_ONE_THREAD,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["signal_weak_add"],
        always: &["red.relaxed.sys.global.add.u64"],
        lacks: FENCES_AND_BARRIERS,
        registers: OF_ONE_THREAD,
        ..Kernel::NAMED
    },
    Kernel { names: &["wait_until_thread"], always: &[POLL, ACQUIRE], registers: OF_SEVERAL_CHECKS, ..WAIT },
    Kernel {
        names: &["wait_until_warp"],
        always: &["bar.warp.sync"],
        between: &[Between {
            only_on: None,
            from: From::Each(POLL),
            through: &[ACQUIRE, "vote.sync.any", "bar.warp.sync"],
            to: &["ret"],
        }],
        ..WAIT
    },
    Kernel {
        names: &["wait_until_warps"],
        between: &[
            Between {
                only_on: None,
                from: From::Each(ACQUIRE),
                through: &["vote.sync.any", "bar.warp.sync", "bar.warp.sync"],
                to: &["ret"],
            },
            Between {
                only_on: None,
                from: From::Each("atom.acq_rel.cta.shared.add.u32"),
                through: &["ld.acquire.cta.shared.b32", "bar.warp.sync"],
                to: &["ret"],
            },
        ],
        ..WAIT
    },
    Kernel {
        names: &["wait_until_block", "wait_reached_block"],
        always: &["bar.red.or.pred"],
        between: &[Between {
            only_on: None,
            from: From::Each(POLL),
            through: &[ACQUIRE, "bar.red.or.pred"],
            to: &["ret"],
        }],
        ..WAIT
    },
    // After several words one for all.
    Kernel {
        names: &["wait_until_all_thread"],
        between: &[Between {
            only_on: Some("sm_90"),
            from: From::Each(POLL),
            through: &["fence.acquire.sys"],
            to: &["ret"],
        }],
        ..WAIT
    },
    Kernel { names: &["wait_until_all_block"], always: &["bar.red.or.pred"], ..WAIT },
    Kernel {
        names: &["test_block"],
        always: &["bar.red.or.pred"],
        between: &[Between {
            only_on: None,
            from: From::Each(LOAD),
            through: &["bar.red.or.pred"],
            to: &["ret"],
        }],
        lacks: &["fence.sc", "fence.acq_rel.sys", "membar", "nanosleep"],
        ..Kernel::NAMED
    },
];
