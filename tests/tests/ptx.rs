//! What each operation becomes, on the PTX of the test kernels for every architecture: the instruction that the
//! memory model needs, and none that it forbids.

use oxshmem_device::launch::modules;
// Links the crate, and with it its device code.
use oxshmem_tests as _;

/// A kernel, what its PTX must have, and what it must not.
const RULES: &[(&str, &[&str], &[&str])] = &[
    // Bulk copies: 16 bytes at a time, weak, never through the non-coherent path or byte by byte.
    ("put__u32", &["ld.global.v2.b64", "st.global.v2.b64", "bar.sync"], &["fence", "ld.global.b8", "membar"]),
    ("put__u128", &["ld.global.v2.b64", "st.global.v2.b64"], &["ld.global.b8", "fence"]),
    ("get__u64", &["ld.global.v2.b64", "st.global.v2.b64"], &["ld.global.b8", "fence"]),
    ("through_shared", &["ld.shared.v2.b64", "st.shared.v2.b64", "ld.shared.b32"], &["cvta.shared"]),
    // Scalars are strong and relaxed.
    ("p__u8", &["st.relaxed.sys.global.b8"], &["fence"]),
    ("p__u16", &["st.relaxed.sys.global.b16"], &["fence"]),
    ("p__u32", &["st.relaxed.sys.global.b32"], &["fence"]),
    ("p__u64", &["st.relaxed.sys.global.b64"], &["fence"]),
    ("p__u128", &["st.relaxed.sys.global.b128"], &["fence"]),
    ("g__u64", &["ld.relaxed.sys.global.b64"], &["fence"]),
    ("g__u128", &["ld.relaxed.sys.global.b128"], &["fence"]),
    // A release alone, with no fence in front of it; a relaxed poll with one acquire after it.
    (
        "put_signal",
        &[
            "st.release.sys.global.b64",
            "red.release.sys.global.add.u64",
            "ld.relaxed.sys.global.b64",
            "ld.acquire.sys.global.b64",
        ],
        &["fence", "membar"],
    ),
    ("ping_pong", &["st.release.sys.global.b64", "ld.acquire.sys.global.b64"], &["fence"]),
    (
        "message",
        &["fence.sc.sys", "st.relaxed.sys.global.b64", "st.release.sys.global.b64"],
        &["fence.acq_rel"],
    ),
    (
        "barrier_rounds",
        &["fence.sc.sys", "st.release.sys.global.b64", "ld.acquire.sys.global.b64"],
        &["fence.acq_rel"],
    ),
    ("grid_rounds", &["atom.acq_rel.gpu.global.add.u32", "ld.acquire.gpu.global.b32"], &["fence"]),
    // Read-modify-writes state order and scope.
    ("add__u32", &["red.relaxed.sys.global.add.u32"], &["atom.global", "red.global"]),
    ("add__u64", &["red.relaxed.sys.global.add.u64"], &["atom.global", "red.global"]),
    ("add__usize", &["red.relaxed.sys.global.add.u64"], &["red.relaxed.sys.global.add.u32"]),
    ("add__i64", &["red.relaxed.sys.global.add.u64"], &["red.relaxed.sys.global.add.u32"]),
    ("add__f16", &["red.relaxed.sys.global.add.noftz.f16"], &[".gpu.", "cas.b16"]),
    ("add__f32", &["red.relaxed.sys.global.add.f32"], &[".gpu."]),
    ("add__f64", &["red.relaxed.sys.global.add.f64"], &[".gpu."]),
    (
        "integer_operations__u64",
        &[
            "red.relaxed.sys.global.add.u64",
            "atom.relaxed.sys.global.add.u64",
            "red.relaxed.sys.global.and.b64",
            "atom.relaxed.sys.global.and.b64",
            "red.relaxed.sys.global.or.b64",
            "atom.relaxed.sys.global.or.b64",
            "red.relaxed.sys.global.xor.b64",
            "atom.relaxed.sys.global.xor.b64",
            "atom.relaxed.sys.global.exch.b64",
            "atom.relaxed.sys.global.cas.b64",
            "st.relaxed.sys.global.b64",
            "ld.relaxed.sys.global.b64",
        ],
        &["fence", "red.relaxed.sys.global.add.u32"],
    ),
    (
        "ordered",
        &[
            "st.release.sys.global.b64",
            "red.release.sys.global.add.u64",
            "atom.acq_rel.sys.global.add.u64",
            "atom.release.sys.global.cas.b64",
            "ld.acquire.sys.global.b64",
        ],
        &["fence"],
    ),
    (
        "float_operations__f16",
        &[
            "atom.relaxed.sys.global.add.noftz.f16",
            "atom.acq_rel.sys.global.add.noftz.f16",
            "atom.acq_rel.sys.global.cas.b16",
        ],
        &[".gpu."],
    ),
    ("tickets", &["atom.relaxed.sys.global.add.u32"], &["atom.global"]),
    ("compare_swap_add__u64", &["atom.relaxed.sys.global.cas.b64"], &["atom.global"]),
    // An entry of the table of teams is two loads, and a PE's number no barrier and no wait.
    ("team_numbers", &["ld.global.v2.b64", "mad.lo.s32"], &["fence", "bar.sync", "nanosleep"]),
    ("collectives", &["shfl.sync.idx", "shfl.sync.down", "shfl.sync.up", "shfl.sync.bfly", "vote.sync"], &[]),
    // A ported kernel: its slices are global memory, read by plain loads; bounds checks that hold are gone.
    ("saxpy", &["ld.global.b32", "st.global.b32"], &["ld.global.nc", ".local", "trap", "call"]),
    ("block_sum", &["cvta.shared", "bar", ".sync"], &[".local", "ld.global.nc"]),
    ("multiply", &["fma.rn.f32", "cvta.shared"], &[".local", "ld.global.nc"]),
    (
        "collect",
        &[
            "shfl.sync.up",
            "shfl.sync.bfly",
            "match.any.sync.b64",
            "redux.sync.min.s32",
            "popc",
            "fence.sc.gpu",
        ],
        &[".local"],
    ),
    ("round_all", &["sqrt.rn.f64"], &[".local"]),
    // Direct accesses: of 16 bytes the weak ones are a vector, the strong ones one access.
    (
        "direct__u128",
        &[
            "st.global.v2.b64",
            "ld.global.v2.b64",
            "st.relaxed.sys.global.b128",
            "ld.relaxed.sys.global.b128",
            "st.release.sys.global.b128",
            "ld.acquire.sys.global.b128",
            "st.volatile.global.b128",
            "ld.volatile.global.b128",
        ],
        &[],
    ),
    ("direct__u8", &["st.release.sys.global.b8", "ld.acquire.sys.global.b8", "ld.volatile.global.b8"], &[]),
    // Signed words compare signed.
    ("compare__i32", &["setp.gt.s32", "ld.relaxed.sys.global.b32", "ld.acquire.sys.global.b32"], &["fence"]),
    ("compare__u64", &["setp.gt.u64", "ld.relaxed.sys.global.b64", "ld.acquire.sys.global.b64"], &["fence"]),
    ("fair", &["ld.relaxed.sys.global.b64", "ld.acquire.sys.global.b64"], &["fence"]),
    // A wait that expires leaves through one function, after the barrier that tells the others.
    ("wait_for_ever", &["bar.red.or.pred", "globaltimer", "nanosleep"], &[]),
];

/// As [`RULES`], for one architecture.
const RULES_OF: &[(&str, &str, &[&str], &[&str])] = &[
    // After several words one fence that waits for nothing, where there is one.
    (
        "sm_90",
        "block_waits",
        &["ld.relaxed.sys.global.b64", "fence.acquire.sys", "bar.red.or.pred"],
        &["ld.acquire", "fence.sc", "fence.acq_rel"],
    ),
    (
        "sm_80",
        "block_waits",
        &["ld.relaxed.sys.global.b64", "ld.acquire.sys.global.b64", "bar.red.or.pred"],
        &["fence"],
    ),
    (
        "sm_90",
        "several__i32",
        &["ld.relaxed.sys.global.b32", "fence.acquire.sys"],
        &["fence.sc", "fence.acq_rel"],
    ),
    ("sm_80", "several__i32", &["ld.relaxed.sys.global.b32", "ld.acquire.sys.global.b32"], &["fence"]),
];

/// The text of one entry, without comments.
fn entry(ptx: &str, symbol: &str) -> Option<String> {
    let start = ptx.find(&format!(".entry {symbol}("))?;
    let rest = &ptx[start..];
    let end = rest[1..].find(".entry ").map_or(rest.len(), |at| at + 1);
    let lines = rest[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_operation_becomes_the_instructions_that_it_needs() {
    let module =
        modules().find(|module| module.package == "oxshmem-tests").expect("this package has kernels");
    if let Some(why) = module.missing {
        println!("skipped: {why}");
        return;
    }
    assert!(module.images.len() >= 2, "one image for sm_80 and one for sm_90");
    let mut wrong = Vec::new();
    for image in module.images {
        let of_arch = RULES_OF.iter().filter(|(arch, ..)| *arch == image.arch);
        let of_arch = of_arch.map(|(_, kernel, needed, forbidden)| (kernel, needed, forbidden));
        let rules = RULES.iter().map(|(kernel, needed, forbidden)| (kernel, needed, forbidden));
        for (kernel, needed, forbidden) in rules.chain(of_arch) {
            let Some(text) = entry(image.ptx, &format!("oxshmem_tests__{kernel}")) else {
                wrong.push(format!("{}: there is no kernel {kernel}", image.arch));
                continue;
            };
            let missing = needed.iter().filter(|instruction| !text.contains(**instruction));
            wrong.extend(missing.map(|i| format!("{}: {kernel} has no {i}", image.arch)));
            let present = forbidden.iter().filter(|instruction| text.contains(**instruction));
            wrong.extend(present.map(|i| format!("{}: {kernel} has {i}", image.arch)));
        }
        // Parameters are read where they lie; nothing is stale by design; no atomic lacks its order.
        for (number, line) in image.ptx.lines().enumerate() {
            let bad = [".local", "ld.global.nc", "atom.add", "atom.global", "red.global", "membar"];
            let allowed = line.contains("@nc") || line.trim_start().starts_with("//");
            if let Some(bad) = bad.iter().find(|bad| line.contains(**bad) && !allowed)
                && !(*bad == ".local" && private(image.ptx, number))
            {
                wrong.push(format!("{}, line {}: {bad} in {}", image.arch, number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether line `number` belongs to a kernel that is allowed local memory: those with a thread's own array.
fn private(ptx: &str, number: usize) -> bool {
    let before = ptx.lines().take(number + 1).filter(|line| line.contains(".entry ")).last();
    before.is_some_and(|line| line.contains("put_private") || line.contains("lists_of_a_thread"))
}
