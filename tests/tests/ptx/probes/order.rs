//! Fences, completion, and barriers of every scope.

use super::super::expectation::{Between, Kernel};
use super::super::reader::From;
use super::{ENGINE, FENCES};

const FENCE: &str = "fence.sc.sys";
/// A fence by an acquire and a release lets a later get pass an earlier put; and there is no engine to wait for.
const WEAKER: &[&str] = &["fence.acq_rel.sys", "membar", ENGINE];
const ACQUIRE: &str = "fence.acquire.sys|ld.acquire.sys.global.b64";
/// Joins the scope and tells whether a thread has given up.
const JOIN: &str = "bar.red.or.pred";
/// How a PE is told in each round, but in the first one of a barrier that completes, where a fence stands before.
const RELEASED: &str = "st.release.sys.global.b64";
const TOLD: &str = "st.relaxed.sys.global.b64";

/// The scope has joined its leader, and only then that one fences.
const JOINED: Between = Between { only_on: None, from: From::Entry, through: &["bar.sync"], to: &[FENCE] };
/// Nobody goes on before the leader has fenced.
const HELD: Between =
    Between { only_on: None, from: From::Each(FENCE), through: &["bar.sync"], to: &["ret"] };
/// Of the barrier over all PEs: what a round has brought is acquired by all before it is passed on, and before anybody goes on.
const ACQUIRED: Between =
    Between { only_on: None, from: From::Each(ACQUIRE), through: &[JOIN], to: &[RELEASED, "ret"] };
/// Who tells others hears of others before the next round, or the end.
const HEARD: Between = Between {
    only_on: None,
    from: From::Each(RELEASED),
    through: &["ld.relaxed.sys.global.b64", ACQUIRE, JOIN],
    to: &["ret"],
};

pub(crate) const ROWS: &[Kernel] = &[
    Kernel {
        names: &["fence_thread", "quiet_thread"],
        always: &[FENCE],
        lacks: &["fence.acq_rel.sys", "membar", "bar", ENGINE],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["fence_block", "pe_fence"],
        always: &["bar.sync"],
        between: &[JOINED],
        lacks: WEAKER,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["quiet_block", "pe_quiet"],
        always: &["bar.sync", "bar.sync"],
        between: &[JOINED, HELD],
        lacks: WEAKER,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["flush"],
        always: &["bar.sync"],
        lacks: &["fence.sc", "fence.acq_rel.sys", "fence.acq_rel.gpu", "membar", ENGINE],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["barrier_all"],
        between: &[
            JOINED,
            // Before the first round ends nobody is told without the fence; the epoch is kept after the last one.
            Between {
                only_on: None,
                from: From::Entry,
                through: &["bar.sync", "fence.sc.sys|bar.red.or.pred"],
                to: &[TOLD],
            },
            Between { only_on: None, from: From::Entry, through: &["bar.sync", JOIN], to: &[RELEASED] },
            Between { only_on: None, from: From::Each(FENCE), through: &[JOIN], to: &[RELEASED, "ret"] },
            HEARD,
            ACQUIRED,
        ],
        lacks: WEAKER,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["sync_all"],
        between: &[
            Between { only_on: None, from: From::Entry, through: &["bar.sync"], to: &[RELEASED] },
            HEARD,
            ACQUIRED,
        ],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    Kernel { names: &["sync_warp"], always: &["bar.warp.sync"], lacks: FENCES, ..Kernel::NAMED },
    Kernel { names: &["sync_block"], always: &["bar.sync"], lacks: FENCES, ..Kernel::NAMED },
    Kernel {
        names: &["sync_warps"],
        between: &[
            // The groups' words are there before anybody arrives.
            Between {
                only_on: None,
                from: From::Each("st.shared.b32"),
                through: &["bar.sync"],
                to: &["atom.acq_rel.cta.shared.add.u32"],
            },
            Between {
                only_on: None,
                from: From::Entry,
                through: &["bar.sync", "bar.sync", "bar.warp.sync"],
                to: &["atom.acq_rel.cta.shared.add.u32"],
            },
            Between {
                only_on: None,
                from: From::Each("atom.acq_rel.cta.shared.add.u32"),
                through: &["ld.acquire.cta.shared.b32", "bar.warp.sync"],
                to: &["ret"],
            },
        ],
        lacks: FENCES,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["sync_grid"],
        between: &[
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
        ],
        lacks: FENCES,
        ..Kernel::NAMED
    },
];
