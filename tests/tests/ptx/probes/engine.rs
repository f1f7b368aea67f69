//! The bulk copy engine (sm_90): what fences its reads and its loads, and what its stores are waited for by. That stores are
//! complete before a release, and that nothing is in flight at the kernel's end, `everywhere` says.

use super::super::expectation::{Between, InFlight, Kernel};
use super::super::reader::From;
use super::{FENCES, STORED};

const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group";
const ADD: &str = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
const LOAD: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
const FENCE_SHARED: &str = "fence.proxy.async.shared::cta";
const FENCE_GLOBAL: &str = "fence.proxy.async.global";
const SIGNAL: &str = "st.release.sys.global.b64";

const fn engine(
    from: From<'static>,
    through: &'static [&'static str],
    to: &'static [&'static str],
) -> Between {
    Between { only_on: Some("sm_90"), from, through, to }
}

/// What any thread wrote to the tile is fenced there, then by the leader after the barrier.
const SOURCE: &[Between] = &[
    engine(From::Each("st.shared.b32"), &[FENCE_SHARED, "bar.sync", FENCE_SHARED], &[STORE]),
    engine(From::Each("mbarrier.init"), &[FENCE_SHARED, "bar.sync", FENCE_SHARED], &[STORE]),
    engine(From::Each(STORE), &["cp.async.bulk.commit_group", "cp.async.bulk.wait_group"], &["ret"]),
];
const PUT: Kernel = Kernel {
    newer: &[STORE, FENCE_SHARED, "mbarrier.init"],
    has: &["ld.shared.v2.b64"],
    lacks: &["fence.proxy.alias", "fence.acq_rel.sys", "membar"],
    between: SOURCE,
    // Where there is no engine, and where the tile lies differently to the 16-byte grid than the target.
    in_flight: &[InFlight { load: "ld.shared.v2.b64", user: "st.global.v2.b64", count: 4 }],
    ..Kernel::NAMED
};
const GET: Kernel = Kernel {
    newer: &[LOAD, FENCE_SHARED, FENCE_GLOBAL, "mbarrier.arrive.expect_tx"],
    lacks: FENCES,
    in_flight: &[InFlight { load: "ld.global.v2.b64", user: "st.shared.v2.b64", count: 4 }],
    between: &[
        engine(From::Entry, &[FENCE_SHARED, "bar.sync", FENCE_GLOBAL, "mbarrier.arrive.expect_tx"], &[LOAD]),
        engine(From::Each(LOAD), &["mbarrier.try_wait", "bar.red.or.pred"], &["ld.shared.b32", "ret"]),
    ],
    ..Kernel::NAMED
};
const STAGED: Kernel = Kernel {
    newer: &[LOAD, STORE, FENCE_GLOBAL],
    lacks: FENCES,
    in_flight: &[InFlight { load: "ld.global.v2.b64", user: "st.global.v2.b64", count: 4 }],
    between: &[
        // What any thread wrote to the source.
        engine(From::Entry, &[FENCE_GLOBAL, "bar.sync", FENCE_GLOBAL, "mbarrier.arrive.expect_tx"], &[LOAD]),
        // A chunk has arrived before it is sent on, and has been read before its buffer is filled again.
        engine(From::Each(LOAD), &["mbarrier.try_wait"], &[STORE]),
        engine(
            From::Each(STORE),
            &["cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read 1"],
            &[LOAD],
        ),
        engine(From::Each(STORE), &["cp.async.bulk.commit_group", STORED, "bar.red.or.pred"], &["ret"]),
    ],
    ..Kernel::NAMED
};

pub(crate) const ROWS: &[Kernel] = &[
    Kernel { names: &["put_tile"], ..PUT },
    Kernel { names: &["put_nbi_tile"], ..PUT },
    // By `red` where the engine cannot.
    Kernel {
        names: &["put_add_tile"],
        newer: &[ADD, FENCE_SHARED],
        has: &["red.relaxed.sys.global.add.u32"],
        lacks: PUT.lacks,
        between: &[
            engine(From::Each("st.shared.b32"), &[FENCE_SHARED, "bar.sync", FENCE_SHARED], &[ADD]),
            engine(From::Each(ADD), &["cp.async.bulk.commit_group", STORED], &["ret"]),
        ],
        ..Kernel::NAMED
    },
    Kernel {
        names: &["put_signal_tile", "put_nbi_tile_then_signal"],
        between: &[
            SOURCE[0],
            engine(From::Entry, &[STORED, "bar.sync"], &[SIGNAL]),
            engine(From::Each(STORE), &[STORED, "bar.sync"], &[SIGNAL]),
        ],
        ..PUT
    },
    Kernel { names: &["get_tile"], ..GET },
    // Whether a load is in flight is a value here, on which the wait depends: a path leads past it.
    Kernel {
        names: &["get_nbi_tile"],
        has: &["ld.shared.b32"],
        between: &[GET.between[0], engine(From::Each(LOAD), &["bar"], &["ld.shared.b32", "ret"])],
        ..GET
    },
    Kernel { names: &["put_staged", "get_staged"], ..STAGED },
];
