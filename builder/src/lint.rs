//! The lint: rules for device code that the compiler lets pass and that are wrong, or ruinously slow, on a GPU.
//!
//! Each was found by trying (LLVM 22): read-modify-writes lose their order and scope, a run-time `memcpy` becomes a loop
//! over bytes, `&T` parameters become loads that may be stale. The arch layer's own exceptions carry a comment on the
//! line: `// @nc` for a non-coherent load, `// @byte` for a byte of a copy's tail.

use std::collections::{BTreeSet, HashSet};

use crate::finding::readable;
pub use crate::finding::{Finding, Rule};
use crate::marker::Marker;
use crate::ptx::{Function, Module, Statement, names};

/// External functions that the driver provides, so that a module may leave them undefined.
const PROVIDED: &[&str] = &["vprintf"];

/// Instructions in the largest loop that still counts as a bare fill: address, store, step, test, two branches, one spare.
const LARGEST_FILL_LOOP: usize = 7;

/// Checks a module after the pass. `markers` says what its kernels may do.
pub fn check(ptx: &str, markers: &[Marker]) -> Vec<Finding> {
    let module = Module::parse(ptx);
    let mut findings = Vec::new();
    for function in &module.functions {
        bare_atomics(function, &mut findings);
        byte_loops(function, &mut findings);
        non_coherent_loads(&module, function, &mut findings);
        indirect_calls(function, &mut findings);
    }
    local_memory(&module, markers, &mut findings);
    undefined(&module, &mut findings);
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn finding(rule: Rule, function: &Function, statement: &Statement) -> Finding {
    let text = statement.text.split_whitespace().collect::<Vec<_>>().join(" ");
    Finding { rule, function: function.name.clone(), line: statement.line + 1, text, note: String::new() }
}

fn bare_atomics(function: &Function, findings: &mut Vec<Finding>) {
    for s in function.instructions() {
        let opcode = s.opcode();
        if !["atom.", "red.", "multimem.red."].iter().any(|prefix| opcode.starts_with(prefix)) {
            continue;
        }
        let ordered = ["relaxed", "acquire", "release", "acq_rel"].iter().any(|order| s.has(order));
        let scoped = ["cta", "cluster", "gpu", "sys"].iter().any(|scope| s.has(scope));
        if !ordered || !scoped {
            findings.push(finding(Rule::BareAtomic, function, s));
        }
    }
}

fn is_byte_wide(s: &Statement) -> bool {
    ["b8", "u8", "s8"].iter().any(|width| s.has(width)) && !s.has("v2") && !s.has("v4")
}

/// A copy stores in a loop the very byte that it loaded there; a fill is a tiny loop that steps by one byte. One finding
/// per loop. What stays within local memory is the local rule's business.
fn byte_loops(function: &Function, findings: &mut Vec<Finding>) {
    let mut lines = BTreeSet::new();
    for range in function.loops() {
        let body = &function.statements[range];
        let mut bytes: HashSet<&str> = HashSet::new();
        let mut stores = Vec::new();
        for s in body.iter().filter(|s| s.is_instruction() && !s.marked("@byte")) {
            let opcode = s.opcode();
            let mut operands = names(s.operands());
            if opcode.starts_with("ld.") && is_byte_wide(s) && !s.has("local") {
                bytes.extend(operands.next());
            } else if (opcode.starts_with("cvt.") || opcode.starts_with("mov."))
                && let (Some(to), Some(from)) = (operands.next(), operands.next())
                && bytes.contains(from)
            {
                bytes.insert(to);
            } else if opcode.starts_with("st.") && is_byte_wide(s) {
                stores.push(s);
            }
        }
        let is_copy = |s: &&&Statement| names(s.operands()).last().is_some_and(|value| bytes.contains(value));
        let steps_by_one = body.iter().any(|s| {
            (s.opcode() == "add.s64" || s.opcode() == "add.s32")
                && s.operands().split(',').next_back().is_some_and(|step| matches!(step.trim(), "1" | "-1"))
        });
        let size = body.iter().filter(|s| s.is_instruction()).count();
        let is_filling = bytes.is_empty() && steps_by_one && size <= LARGEST_FILL_LOOP;
        let copied = stores.iter().find(is_copy);
        let filled = stores.iter().find(|s| is_filling && !s.has("local"));
        if let Some(s) = copied.or(filled)
            && lines.insert(s.line)
        {
            findings.push(finding(Rule::ByteLoop, function, s));
        }
    }
}

/// A load from a constant table of the module itself cannot be stale and is allowed.
fn non_coherent_loads(module: &Module, function: &Function, findings: &mut Vec<Finding>) {
    let loads: Vec<&Statement> = function
        .instructions()
        .filter(|s| s.opcode().starts_with("ld.") && s.has("nc") && !s.marked("@nc"))
        .collect();
    if loads.is_empty() {
        return;
    }
    let is_table =
        |name: &str| module.variables.get(name).is_some_and(|v| v.space != ".shared" && !v.external);
    let mut tables: HashSet<&str> = HashSet::new();
    loop {
        let before = tables.len();
        for s in function.instructions() {
            let opcode = s.opcode();
            if ["mov.", "add.", "cvta.", "mad.", "or."].iter().any(|prefix| opcode.starts_with(prefix)) {
                let mut operands = names(s.operands());
                if let Some(to) = operands.next()
                    && operands.any(|from| is_table(from) || tables.contains(from))
                {
                    tables.insert(to);
                }
            }
        }
        if tables.len() == before {
            break;
        }
    }
    for s in loads {
        let address = s.operands().split('[').nth(1).unwrap_or("");
        if !names(address).any(|name| is_table(name) || tables.contains(name)) {
            findings.push(finding(Rule::NonCoherentLoad, function, s));
        }
    }
}

fn uses_local(function: &Function) -> Option<&Statement> {
    function.statements.iter().find(|s| {
        s.opcode() == ".local"
            || (s.is_instruction()
                && s.has("local")
                && (s.opcode().starts_with("ld.") || s.opcode().starts_with("st.")))
    })
}

fn local_memory(module: &Module, markers: &[Marker], findings: &mut Vec<Finding>) {
    for entry in module.entries() {
        if markers.iter().any(|m| m.kernel == entry.name && m.local) {
            continue;
        }
        for function in reached(module, entry) {
            let Some(statement) = uses_local(function) else { continue };
            let mut found = finding(Rule::LocalMemory, entry, statement);
            if function.name != entry.name {
                found.note = format!(" in `{}`, which it calls", readable(&function.name));
            }
            findings.push(found);
        }
    }
}

/// The function and all that it reaches by direct calls.
fn reached<'m>(module: &'m Module, from: &'m Function) -> Vec<&'m Function> {
    let mut found = vec![from];
    let mut at = 0;
    while let Some(function) = found.get(at).copied() {
        for (_, target) in function.calls() {
            if let Some(callee) = target.and_then(|name| module.function(name))
                && !found.iter().any(|f| f.name == callee.name)
            {
                found.push(callee);
            }
        }
        at += 1;
    }
    found
}

fn indirect_calls(function: &Function, findings: &mut Vec<Finding>) {
    for (statement, target) in function.calls() {
        if target.is_none() {
            findings.push(finding(Rule::IndirectCall, function, statement));
        }
    }
}

fn undefined(module: &Module, findings: &mut Vec<Finding>) {
    let defined = |name: &str| module.function(name).is_some_and(|f| f.body.is_some());
    for declared in module.functions.iter().filter(|f| f.body.is_none()) {
        if defined(&declared.name) || PROVIDED.contains(&declared.name.as_str()) {
            continue;
        }
        let callers: Vec<String> = module
            .functions
            .iter()
            .filter(|f| f.calls().any(|(_, target)| target == Some(declared.name.as_str())))
            .map(|f| format!("`{}`", readable(&f.name)))
            .collect();
        let note =
            if callers.is_empty() { String::new() } else { format!(", called by {}", callers.join(", ")) };
        findings.push(Finding {
            rule: Rule::Undefined,
            function: declared.name.clone(),
            line: declared.header.start + 1,
            text: format!(".extern .func {}", declared.name),
            note,
        });
    }
    for function in &module.functions {
        for (statement, target) in function.calls() {
            if let Some(target) = target
                && module.function(target).is_none()
            {
                findings.push(finding(Rule::Undefined, function, statement));
            }
        }
    }
    for (name, variable) in &module.variables {
        if variable.external && variable.space != ".shared" {
            findings.push(Finding {
                rule: Rule::Undefined,
                function: name.clone(),
                line: variable.line + 1,
                text: format!(".extern {} {name}", variable.space),
                note: String::new(),
            });
        }
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
