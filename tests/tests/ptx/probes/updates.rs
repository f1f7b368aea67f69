//! Updates that are sent in batches: what joins the block to the threads that release and acquire for it.

use super::super::expectation::{Between, Kernel};
use super::super::reader::From;
use super::FENCES;

const PLACE: &str = "atom.relaxed.cta.shared.add.u32";
const RELEASE: &str = "st.release.sys.global.b64";
const ACQUIRE: &str = "ld.acquire.sys.global.b64";

const fn between(
    from: &'static str,
    through: &'static [&'static str],
    to: &'static [&'static str],
) -> Between {
    Between { only_on: None, from: From::Each(from), through, to }
}

/// So that 20 warps of a multiprocessor can have them.
const MOST: Option<u32> = Some(96);

pub(crate) const ROWS: &[Kernel] = &[
    Kernel {
        names: &["updates_u64"],
        has: &[PLACE, RELEASE, ACQUIRE, "red.relaxed.sys.global.add.u64"],
        lacks: FENCES,
        between: &[
            // What any thread put into a bin, before another one sends it.
            between("st.shared.v2.b64", &["bar.red.or.pred"], &["ld.shared.v2.b64"]),
            // What is sent, before its signal; what was read, before the sender may write over it.
            between("st.global.v2.b64", &["bar.sync"], &[RELEASE]),
            between("ld.global.v2.b64", &["bar.sync"], &[RELEASE]),
            // That it has arrived, or that there is room, before it is read or written by any thread.
            between(ACQUIRE, &["bar.red.or.pred"], &["ld.global.v2.b64", "st.global.v2.b64"]),
        ],
        registers: MOST,
        ..Kernel::NAMED
    },
    Kernel {
        names: &["updates_u32"],
        // An update takes 8 bytes.
        has: &[PLACE, RELEASE, ACQUIRE, "red.relaxed.sys.global.xor.b32", "st.shared.b64", "ld.shared.b64"],
        lacks: &["fence.sc", "fence.acq_rel.sys", "fence.acq_rel.gpu", "membar", "st.shared.v2.b64"],
        between: &[between("st.shared.b64", &["bar.red.or.pred"], &["ld.shared.b64"])],
        registers: MOST,
        ..Kernel::NAMED
    },
];
