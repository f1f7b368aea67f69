//! What holds for every kernel of every package, whatever it does.

use super::reader::{Entry, From, Instruction};
use std::collections::HashSet;

const BULK_STORE: [&str; 2] = ["cp.async.bulk.global.shared::cta", "cp.reduce.async.bulk.global.shared::cta"];
const BULK_LOAD: &str = "cp.async.bulk.shared::cluster.global";
const COMPLETE: &str = "cp.async.bulk.wait_group 0";
/// What hands a thread's past over to another PE.
const RELEASES: [&str; 3] = ["st.release.sys.global.b64", "red.release.sys", "fence.sc.sys"];

/// Everything wrong with `entry`. `local`: its marker allows it local memory.
pub(crate) fn check(entry: &Entry<'_>, local: bool, wrong: &mut Vec<String>) {
    let mut say = |what: String| wrong.push(format!("{}: {what}", entry.name));
    for instruction in &entry.instructions {
        if let Some(why) = forbidden(instruction) {
            say(format!("{why}: `{}`, line {}", instruction.text, instruction.line));
        }
    }
    let depot = entry.directives.iter().find(|directive| directive.starts_with(".local"));
    if let (Some(depot), false) = (depot, local) {
        say(format!("local memory: `{depot}`"));
    }
    if let Some(store) = stored_context(entry) {
        say(format!("the context goes to local memory: `{}`, line {}", store.text, store.line));
    }
    engine(entry, &mut say);
}

/// Why no kernel may have this instruction.
fn forbidden(instruction: &Instruction<'_>) -> Option<&'static str> {
    let opcode = instruction.opcode();
    let one_of = |parts: &[&str]| parts.iter().any(|part| instruction.has(part));
    if opcode == "call" || opcode.starts_with("call.") {
        return Some("a call: every kernel that has it takes the registers that the callee may take");
    }
    if instruction.has("nc") && instruction.comment != "@nc" {
        return Some("a non-coherent load: stale, even after an acquire, for what a peer writes");
    }
    if opcode.starts_with("atom.") || opcode.starts_with("red.") {
        if !one_of(&["relaxed", "acquire", "release", "acq_rel"]) {
            return Some("a read-modify-write without a semantic");
        }
        if !one_of(&["cta", "cluster", "gpu", "sys"]) {
            return Some("a read-modify-write without a scope");
        }
    }
    if opcode == "fence.proxy.async" {
        return Some("a proxy fence of every space: a thousand cycles, of one space two");
    }
    if opcode.starts_with("membar") {
        return Some("a fence that says neither semantic nor scope");
    }
    None
}

/// A store to local memory of something that was loaded from the context, the first parameter.
fn stored_context<'e, 't>(entry: &'e Entry<'t>) -> Option<&'e Instruction<'t>> {
    let parameter = format!("[{}_param_0", entry.name);
    let mut of_context = HashSet::new();
    for instruction in &entry.instructions {
        let (written, read) = instruction.registers();
        let opcode = instruction.opcode();
        let loads = opcode.starts_with("ld.param") && instruction.text.contains(&parameter);
        let copies = opcode.starts_with("mov.") && read.iter().any(|register| of_context.contains(register));
        if loads || copies {
            of_context.extend(written);
        } else if opcode.starts_with("st.local") && read.iter().any(|register| of_context.contains(register))
        {
            return Some(instruction);
        }
    }
    None
}

/// The order of the bulk copy engine's accesses, which is no program order.
fn engine(entry: &Entry<'_>, say: &mut impl FnMut(String)) {
    let mut unless = |from: &str, through: &[&str], to: &[&str]| {
        if let Some(reached) = entry.path(From::Each(from), through, to) {
            let (through, line) = (through.join(", then "), reached.line);
            say(format!(
                "from `{from}` a path leads to `{}`, line {line}, without `{through}`",
                reached.text
            ));
        }
    };
    for store in BULK_STORE {
        // A group that is not closed is waited for by nobody.
        unless(store, &["cp.async.bulk.commit_group"], &["ret", "cp.async.bulk.wait_group"]);
        // Only completion is ordered before what this thread releases (PTX ISA 9.7.9.25).
        unless(store, &[COMPLETE], &RELEASES);
        // The kernel's end gives the source, in shared memory, away.
        unless(store, &["cp.async.bulk.wait_group"], &["ret"]);
    }
    // Whether a load is in flight may be a value on which the wait depends, so that a path leads past it.
    if entry.has(BULK_LOAD) && !entry.has("mbarrier.try_wait") {
        say("nothing waits for the engine's loads".to_owned());
    }
    // What a store reads was fenced, or is what the engine itself has brought.
    for (copy, fence) in [
        (BULK_STORE[0], "fence.proxy.async.shared::cta|mbarrier.try_wait"),
        (BULK_STORE[1], "fence.proxy.async.shared::cta|mbarrier.try_wait"),
        (BULK_LOAD, "fence.proxy.async.global"),
    ] {
        if let Some(copy) = entry.path(From::Entry, &[fence], &[copy]) {
            say(format!("a path leads to `{}`, line {}, without `{fence}`", copy.text, copy.line));
        }
    }
}

#[test]
fn each_breach_is_told_and_nothing_else() {
    const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;";
    const LOAD: &str =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];";
    const SENT: &str = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    const FENCED: &str = "fence.proxy.async.shared::cta;";
    let fenced_if = |copy: &str| format!("@%p1 bra $L2;\n{FENCED}\n$L2:\n{copy}\n{SENT}");
    let cases: &[(&str, &str)] = &[
        (".local .align 8 .b8 __local_depot0[72];", "local memory"),
        ("call.uni fail, (param0);", "a call"),
        ("ld.global.nc.b32 %r1, [%rd1];", "non-coherent"),
        ("atom.global.add.u32 %r1, [%rd1], %r2;", "without a semantic"),
        ("red.relaxed.global.add.u32 [%rd1], %r2;", "without a scope"),
        ("fence.proxy.async;", "of every space"),
        ("membar.sys;", "neither semantic nor scope"),
        (&format!("{STORE}\n{SENT}"), "without `fence.proxy.async.shared::cta|"),
        (&fenced_if(STORE), "without `fence.proxy.async.shared::cta|"),
        (&format!("{FENCED}\n{STORE}\ncp.async.bulk.wait_group 0;"), "commit_group"),
        (&format!("{FENCED}\n{STORE}\ncp.async.bulk.commit_group;"), "without `cp.async.bulk.wait_group`"),
        (
            &format!(
                "{FENCED}\n{STORE}\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n\
                 st.release.sys.global.b64 [%rd1], %rd2;"
            ),
            "without `cp.async.bulk.wait_group 0`",
        ),
        (&format!("fence.proxy.async.global;\n{LOAD}"), "nothing waits"),
        (
            &format!("{FENCED}\n{LOAD}\nmbarrier.try_wait.parity.b64 %p1, [%r3], %r4;"),
            "without `fence.proxy.async.global`",
        ),
    ];
    let told = |body: &str, local: bool| {
        let ptx = format!(".visible .entry k(\n)\n{{\n{body}\nret;\n}}\n");
        let mut wrong = Vec::new();
        check(&super::reader::entries(&ptx)[0], local, &mut wrong);
        wrong
    };
    for (body, expected) in cases {
        let wrong = told(body, false);
        assert!(matches!(wrong.as_slice(), [one] if one.contains(expected)), "{body}\n{wrong:?}");
    }
    for right in [
        "ld.global.nc.b32 %r1, [%rd1]; // @nc",
        "atom.relaxed.sys.global.add.u32 %r1, [%rd1], %r2;",
        &format!("{FENCED}\n{STORE}\n{SENT}\nst.release.sys.global.b64 [%rd1], %rd2;"),
    ] {
        assert_eq!(told(right, false), [""; 0], "{right}");
    }
    let copied = "ld.param.b64 %rd1, [k_param_0+8];\nmov.b64 %rd2, %rd1;\nst.local.b64 [%rd3], %rd2;";
    assert!(matches!(told(copied, true).as_slice(), [one] if one.contains("the context")));
    assert_eq!(told(&copied.replace("param_0", "param_1"), true), [""; 0]);
}
