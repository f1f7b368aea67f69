//! A light reading of PTX text: functions, statements, comments, labels.
//!
//! It reads what LLVM's NVPTX back end prints and what stands inside inline assembly (where several statements may share a
//! line); it is no validator. The pass and the lint are written on it.

use std::collections::HashMap;
use std::ops::Range;

/// One function of a module: an entry (a kernel) or a `.func`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: String,
    /// Whether it is an `.entry`.
    pub entry: bool,
    /// Lines from the first of its header to the one before its body (or to its `;`), counted from 0.
    pub header: Range<usize>,
    /// Lines between `{` and `}`; `None` for a declaration.
    pub body: Option<Range<usize>>,
    /// The body's statements in order.
    pub statements: Vec<Statement>,
}

/// One statement, or a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Line, counted from 0.
    pub line: usize,
    /// Text without label, comment, `;` and scope braces.
    pub text: String,
    /// The comment of its line.
    pub comment: String,
    /// The label that this statement is, if it is one.
    pub label: Option<String>,
}

impl Statement {
    /// The instruction's name without its predicate, as in `ld.global.b32`; a directive begins with `.`.
    pub(crate) fn opcode(&self) -> &str {
        self.unpredicated().split_whitespace().next().unwrap_or("")
    }

    /// The text after the opcode.
    pub(crate) fn operands(&self) -> &str {
        let text = self.unpredicated();
        text.strip_prefix(self.opcode()).unwrap_or("").trim()
    }

    /// Whether it is executed at all: not a label, not a directive.
    pub(crate) fn is_instruction(&self) -> bool {
        self.label.is_none() && self.opcode().starts_with(|c: char| c.is_ascii_lowercase())
    }

    /// Whether the opcode has `part` between dots, as `nc` in `ld.global.nc.b32`.
    pub(crate) fn has(&self, part: &str) -> bool {
        self.opcode().split('.').skip(1).any(|p| p.split("::").next() == Some(part))
    }

    /// Whether its line carries the comment marker, as in `// @nc`.
    pub(crate) fn marked(&self, marker: &str) -> bool {
        self.comment.split_whitespace().any(|word| word == marker)
    }

    fn unpredicated(&self) -> &str {
        match self.text.strip_prefix('@') {
            Some(rest) => rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start()),
            None => &self.text,
        }
    }
}

/// The words that may be registers or symbols in a piece of text.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%')))
}

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub functions: Vec<Function>,
    /// Module-level variables with their space (`.global`, `.shared`, `.const`), and whether they are `.extern`.
    pub variables: HashMap<String, Variable>,
}

/// A module-level variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub space: String,
    pub external: bool,
    pub line: usize,
}

impl Module {
    /// Reads a module. Text that it cannot make sense of is passed over.
    pub(crate) fn parse(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut module = Self { functions: Vec::new(), variables: HashMap::new() };
        let mut at = 0;
        while at < lines.len() {
            let code = code_of(lines[at]).trim();
            let words: Vec<&str> = code.split_whitespace().collect();
            if words.iter().any(|w| matches!(*w, ".entry" | ".func")) {
                let function = read_function(&lines, at);
                at = function.body.as_ref().map_or(function.header.end, |body| body.end + 1);
                module.functions.push(function);
            } else {
                if let Some(space) = words.iter().find(|w| matches!(**w, ".global" | ".shared" | ".const"))
                    && let Some(name) = variable_name(code)
                {
                    let variable = Variable {
                        space: (*space).to_owned(),
                        external: words.contains(&".extern"),
                        line: at,
                    };
                    module.variables.insert(name, variable);
                }
                at += 1;
            }
        }
        module
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        // A definition may follow its own forward declaration.
        let mut named = self.functions.iter().filter(|f| f.name == name);
        let first = named.next();
        match first {
            Some(f) if f.body.is_none() => named.find(|f| f.body.is_some()).or(first),
            _ => first,
        }
    }

    /// The entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| f.entry)
    }
}

impl Function {
    /// The statements that are executed.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(|s| s.is_instruction())
    }

    /// Ranges of statements that may run again: from a label to a later branch back to it.
    pub(crate) fn loops(&self) -> Vec<Range<usize>> {
        let mut labels = HashMap::new();
        let mut loops = Vec::new();
        for (i, statement) in self.statements.iter().enumerate() {
            if let Some(label) = &statement.label {
                labels.insert(label.as_str(), i);
            } else if (statement.opcode() == "bra" || statement.opcode().starts_with("bra."))
                && let Some(start) = names(statement.operands()).find_map(|name| labels.get(name))
            {
                loops.push(*start..i + 1);
            }
        }
        loops
    }

    /// Names of the functions called directly, with the statement; `None` for a call through a register.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&Statement, Option<&str>)> {
        self.statements.iter().filter(|s| s.opcode() == "call" || s.opcode().starts_with("call.")).map(|s| {
            // `call (results), target, (arguments), prototype` with the first and the last two optional.
            let operands = s.operands();
            let rest = match operands.strip_prefix('(') {
                Some(rest) => {
                    rest.split_once(')').map_or("", |(_, rest)| rest).trim_start_matches([',', ' ', '\t'])
                }
                None => operands,
            };
            let target = rest.split([',', ' ', '(', '\t']).next().unwrap_or("");
            (s, Some(target).filter(|t| !t.is_empty() && !t.starts_with('%')))
        })
    }
}

/// A line without its comment.
pub(crate) fn code_of(line: &str) -> &str {
    split_comment(line).0
}

fn split_comment(line: &str) -> (&str, &str) {
    match line.find("//") {
        // A `//` in a string (a file name in `.file`) is no comment.
        Some(at) if line[..at].matches('"').count().is_multiple_of(2) => (&line[..at], &line[at + 2..]),
        _ => (line, ""),
    }
}

fn variable_name(code: &str) -> Option<String> {
    let declared = code.split(['=', ';']).next()?;
    let declared = declared.split('[').next()?;
    let name = declared.split_whitespace().last()?;
    (!name.starts_with('.')).then(|| name.to_owned())
}

fn read_function(lines: &[&str], start: usize) -> Function {
    let mut header = String::new();
    let mut at = start;
    let mut declaration = true;
    while at < lines.len() {
        let code = code_of(lines[at]);
        if code.contains('{') {
            declaration = false;
            header.push_str(code.split('{').next().unwrap_or(""));
            break;
        }
        header.push_str(code);
        header.push(' ');
        if code.contains(';') {
            break;
        }
        at += 1;
    }
    let entry = header.split_whitespace().any(|w| w == ".entry");
    let name = function_name(&header);
    if declaration {
        let header = start..(at + 1).min(lines.len());
        return Function { name, entry, header, body: None, statements: Vec::new() };
    }
    let open = at;
    let mut depth = 0i32;
    while at < lines.len() {
        let code = code_of(lines[at]);
        depth += code.matches('{').count() as i32 - code.matches('}').count() as i32;
        if depth <= 0 {
            break;
        }
        at += 1;
    }
    let body = open + 1..at.min(lines.len());
    let statements = statements(lines, body.clone());
    Function { name, entry, header: start..open, body: Some(body), statements }
}

/// `.visible .entry NAME(` or `.func (.param .b32 r) NAME(` (the latter perhaps without parameters).
fn function_name(header: &str) -> String {
    let Some(at) = header.find(".entry").map(|at| at + 6).or_else(|| header.find(".func").map(|at| at + 5))
    else {
        return String::new();
    };
    let mut rest = header[at..].trim_start();
    if let Some(results) = rest.strip_prefix('(') {
        rest = results.split_once(')').map_or("", |(_, rest)| rest).trim_start();
    }
    rest.split(|c: char| c.is_whitespace() || matches!(c, '(' | ';')).next().unwrap_or("").to_owned()
}

fn statements(lines: &[&str], body: Range<usize>) -> Vec<Statement> {
    let mut found = Vec::new();
    // A statement may span lines (a call's argument list); it belongs to the line on which it starts.
    let mut pending = String::new();
    let mut pending_line = body.start;
    for line in body {
        let (code, comment) = split_comment(lines[line]);
        let comment = comment.trim();
        let mut rest = code.trim();
        loop {
            let (piece, ended) = match rest.find(';') {
                Some(at) => (&rest[..at], true),
                None => (rest, false),
            };
            rest = if ended { &rest[piece.len() + 1..] } else { "" };
            let mut piece = piece.trim();
            if pending.is_empty() {
                pending_line = line;
                // Scope braces and labels stand only before a statement.
                loop {
                    piece = piece.trim_start_matches(['{', '}', ' ', '\t']);
                    let Some(label) = label_of(piece) else { break };
                    let statement = Statement {
                        line,
                        text: String::new(),
                        comment: comment.to_owned(),
                        label: Some(label.to_owned()),
                    };
                    found.push(statement);
                    piece = &piece[label.len()..];
                    piece = piece.trim_start().trim_start_matches(':');
                }
            }
            if !piece.is_empty() {
                if !pending.is_empty() {
                    pending.push(' ');
                }
                pending.push_str(piece);
            }
            if ended && !pending.is_empty() {
                found.push(Statement {
                    line: pending_line,
                    text: std::mem::take(&mut pending),
                    comment: comment.to_owned(),
                    label: None,
                });
            }
            if !ended {
                // `.loc` and `.section` lines end with the line.
                if pending.starts_with(".loc") || pending.starts_with(".pragma") || pending == "}" {
                    pending.clear();
                }
                break;
            }
        }
    }
    found
}

fn label_of(piece: &str) -> Option<&str> {
    let end = piece.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')))?;
    let after = piece[end..].trim_start();
    (end > 0 && after.starts_with(':') && !after.starts_with("::")).then(|| &piece[..end])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SAMPLE: &str = r#"//
.version 8.4
.target sm_80
.address_size 64

// @oxshmem kernel=k maxntid=256
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.global .align 4 .b8 TABLE[16] = {1, 2};
.extern .shared .align 128 .b8 dyn[];

.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	ret;
}
	// .globl	k
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0
)
{
	.reg .b32 	%r<3>;

	.loc	1 2 3
	@!%p1 bra 	$L__BB0_2;
$L__BB0_1:
	// begin inline asm
	{ .reg .b128 t; ld.relaxed.sys.global.b128 t, [%rd1]; mov.b128 {%rd3, %rd4}, t; } // @nc
	// end inline asm
	{ // callseq 0, 0
	call.uni (retval0), 
	helper, 
	(
	param0
	);
	prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
	call (retval0), %rd8, (param0), prototype_0;
	} // callseq 0
	@%p1 bra 	$L__BB0_1;
$L__BB0_2:
	ret;

}
"#;

    #[test]
    fn functions_declarations_and_variables_are_found() {
        let module = Module::parse(SAMPLE);
        let names: Vec<_> =
            module.functions.iter().map(|f| (f.name.as_str(), f.entry, f.body.is_some())).collect();
        assert_eq!(names, [("vprintf", false, false), ("helper", false, true), ("k", true, true)]);
        assert_eq!(module.variables["TABLE"].space, ".global");
        assert!(module.variables["dyn"].external);
    }

    #[test]
    fn statements_of_one_asm_line_are_told_apart_and_keep_its_comment() {
        let module = Module::parse(SAMPLE);
        let k = module.function("k").expect("k");
        let opcodes: Vec<_> = k.instructions().map(|s| s.opcode().to_owned()).collect();
        assert_eq!(
            opcodes,
            ["bra", "ld.relaxed.sys.global.b128", "mov.b128", "call.uni", "call", "bra", "ret"]
        );
        let load = k.instructions().find(|s| s.has("b128")).expect("the load");
        assert!(load.marked("@nc") && load.has("relaxed") && !load.has("nc"));
        assert_eq!(load.operands(), "t, [%rd1]");
    }

    #[test]
    fn loops_and_calls_are_found() {
        let module = Module::parse(SAMPLE);
        let k = module.function("k").expect("k");
        assert_eq!(k.loops().len(), 1);
        let calls: Vec<_> = k.calls().map(|(_, target)| target).collect();
        assert_eq!(calls, [Some("helper"), None]);
    }
}
