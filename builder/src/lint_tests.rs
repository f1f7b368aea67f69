//! Each rule of the lint on small PTX texts: what it must find and what it must let pass.

use super::*;

fn kernel(body: &str) -> String {
    format!(".version 8.4\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{{\n{body}\n\tret;\n}}\n")
}

fn rules(ptx: &str) -> Vec<Rule> {
    check(ptx, &[]).into_iter().map(|finding| finding.rule).collect()
}

fn rules_of(body: &str) -> Vec<Rule> {
    rules(&kernel(body))
}

#[test]
fn an_atomic_needs_order_and_scope() {
    for bare in [
        "atom.global.add.u32 %r2, [%rd2], %r1;",
        "@%p1 red.global.add.u32 [%rd2], %r1;",
        "atom.relaxed.global.add.u32 %r2, [%rd2], %r1;",
        "atom.sys.global.add.u32 %r2, [%rd2], %r1;",
        "{ .reg .b32 t; red.shared.or.b32 [%r1], t; }",
        "multimem.red.add.f32 [%rd1], %f1;",
    ] {
        assert_eq!(rules_of(bare), [Rule::BareAtomic], "{bare}");
    }
    for good in [
        "atom.acq_rel.sys.global.add.u32 %r2, [%rd2], %r1;",
        "red.release.gpu.global.add.u32 [%rd2], %r1;",
        "atom.relaxed.cta.shared::cta.exch.b32 %r2, [%r1], 1;",
        "redux.sync.add.s32 %r19, %r1, %r18;",
        "barrier.red.or.pred %p2, 0, %p1;",
        "multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;",
    ] {
        assert_eq!(rules_of(good), [], "{good}");
    }
}

const COPY: &str = "$L__BB4_2:\n\tadd.s64 %rd6, %rd1, %rd8;\n\tld.global.b8 %rs1, [%rd6];\n\tst.global.b8 [%rd7], %rs1;\n\
    \tadd.s64 %rd8, %rd8, 1;\n\tsetp.lt.u64 %p2, %rd8, %rd3;\n\t@%p2 bra $L__BB4_2;";

#[test]
fn a_loop_that_copies_bytes_is_found() {
    assert_eq!(rules_of(COPY), [Rule::ByteLoop]);
    let widened = COPY.replace("\tst.", "\tcvt.u32.u16 %r9, %rs1;\n\tst.").replace("], %rs1", "], %r9");
    assert_eq!(rules_of(&widened), [Rule::ByteLoop]);
    let unconditional = COPY.replace("@%p2 bra ", "@%p2 bra $OUT;\n\tbra.uni ") + "\n$OUT:";
    assert_eq!(rules_of(&unconditional), [Rule::ByteLoop]);
}

#[test]
fn byte_accesses_that_are_no_copy_loop_pass() {
    let straight = COPY.replace("\t@%p2 bra $L__BB4_2;", "");
    assert_eq!(rules_of(&straight), []);
    let marked = COPY.replace("%rs1;", "%rs1; // @byte").replace("[%rd6];", "[%rd6]; // @byte");
    assert_eq!(rules_of(&marked), []);
    let computed = COPY.replace("\tst.", "\tadd.s16 %rs3, %rs1, 1;\n\tst.").replace("], %rs1", "], %rs3");
    assert_eq!(rules_of(&computed), []);
    let words = COPY.replace(".b8", ".b32");
    assert_eq!(rules_of(&words), []);
}

#[test]
fn a_loop_that_fills_bytes_is_found_and_a_strided_one_passes() {
    let fill = "$L:\n\tadd.s64 %rd4, %rd1, %rd5;\n\tst.global.b8 [%rd4], 0;\n\tadd.s64 %rd5, %rd5, 1;\n\
        \tsetp.lt.u64 %p2, %rd5, %rd2;\n\t@%p2 bra $L;";
    assert_eq!(rules_of(fill), [Rule::ByteLoop]);
    assert_eq!(rules_of(&fill.replace("%rd5, 1;", "%rd5, %rd9;")), []);
    assert_eq!(rules_of(&fill.replace("st.global", "st.local")), [Rule::LocalMemory]);
}

#[test]
fn a_non_coherent_load_needs_its_mark() {
    assert_eq!(rules_of("ld.global.nc.b32 %r1, [%rd3];"), [Rule::NonCoherentLoad]);
    assert_eq!(rules_of("ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd3+16];"), [Rule::NonCoherentLoad]);
    assert_eq!(rules_of("ld.global.nc.L1::no_allocate.b32 %r1, [%rd3];"), [Rule::NonCoherentLoad]);
    assert_eq!(rules_of("ld.global.nc.b32 %r1, [%rd3]; // @nc"), []);
    assert_eq!(rules_of("ld.global.b32 %r1, [%rd3];"), []);
}

#[test]
fn a_constant_table_may_be_read_non_coherently() {
    let ptx = |body: &str| format!(".global .align 4 .b8 TABLE[16] = {{1}};\n{}", kernel(body));
    assert_eq!(rules(&ptx("ld.global.nc.b32 %r1, [TABLE+4];")), []);
    let moved = "mov.b64 %rd1, TABLE;\n\tadd.s64 %rd2, %rd1, %rd9;\n\tld.global.nc.b32 %r1, [%rd2+4];";
    assert_eq!(rules(&ptx(moved)), []);
    assert_eq!(rules(&ptx("ld.global.nc.b32 %r1, [%rd2];")), [Rule::NonCoherentLoad]);
}

const HELPER: &str = ".func helper(\n\t.param .b32 helper_param_0\n)\n{\n\t.local .align 4 .b8 __local_depot2[128];\n\tret;\n}\n";

#[test]
fn local_memory_is_found_in_the_kernel_and_in_what_it_calls() {
    assert_eq!(rules_of("\t.local .align 4 .b8 __local_depot8[256];"), [Rule::LocalMemory]);
    assert_eq!(rules_of("st.local.b32 [%rd12], %r2;"), [Rule::LocalMemory]);
    let through = format!("{HELPER}{}", kernel("\tcall.uni helper, (param0);"));
    let findings = check(&through, &[]);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].rule, findings[0].function.as_str()), (Rule::LocalMemory, "k"));
    assert!(findings[0].note.contains("`helper`"), "{}", findings[0]);
}

#[test]
fn local_memory_passes_where_allowed_or_not_reached() {
    let mut marker = Marker::new("k");
    marker.local = true;
    assert_eq!(check(&kernel("st.local.b32 [%rd12], %r2;"), &[marker]), []);
    assert_eq!(rules(&format!("{HELPER}{}", kernel(""))), []);
}

#[test]
fn undefined_functions_and_variables_are_found() {
    let declared = |name: &str| format!(".extern .func  (.param .b32 r) {name}\n(\n\t.param .b32 p\n)\n;\n");
    let calling = |name: &str| kernel(&format!("\tcall.uni (retval0), {name}, (param0);"));
    assert_eq!(rules(&(declared("missing") + &calling("missing"))), [Rule::Undefined]);
    assert_eq!(rules(&(declared("malloc") + &calling("malloc"))), [Rule::Undefined]);
    assert_eq!(rules(&(declared("vprintf") + &calling("vprintf"))), []);
    assert_eq!(rules(&calling("nowhere")), [Rule::Undefined]);
    assert_eq!(rules(".extern .global .align 4 .b8 gone[4];\n"), [Rule::Undefined]);
    assert_eq!(rules(".extern .shared .align 128 .b8 dyn[];\n"), []);
    let forward = declared("helper").replace(".extern ", "") + HELPER + &calling("helper");
    assert_eq!(rules(&forward), [Rule::LocalMemory]);
}

#[test]
fn a_call_through_a_register_is_found() {
    assert_eq!(rules_of("call (retval0), %rd8, (param0), prototype_0;"), [Rule::IndirectCall]);
}

#[test]
fn messages_name_function_line_and_remedy() {
    let findings = check(&kernel("\tatom.global.add.u32 %r2, [%rd2], %r1;"), &[]);
    let text = findings[0].to_string();
    for part in ["`k`", "line 6", "atom.global.add.u32 %r2, [%rd2], %r1", "use the atomics"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn mangled_names_are_made_readable() {
    assert_eq!(readable("_RNvNtCs3Zvt8szwUJW_3bad1d4deep"), "bad::d::deep");
    assert_eq!(readable("ring_shift__ring_shift"), "ring_shift__ring_shift");
}
