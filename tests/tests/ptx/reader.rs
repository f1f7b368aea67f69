//! Reads PTX text as far as the expectations need it: entries, their instructions, and where each one goes on.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// One kernel of an image.
#[derive(Clone)]
pub(crate) struct Entry<'t> {
    /// Its symbol.
    pub(crate) name: &'t str,
    /// In the order of the text.
    pub(crate) instructions: Vec<Instruction<'t>>,
    /// Directives of its body, as in `.local .align 16 .b8 __local_depot0[32]`.
    pub(crate) directives: Vec<&'t str>,
    /// For each instruction those that may follow it.
    next: Vec<Vec<usize>>,
    /// Basic blocks, in the order of the text.
    blocks: Vec<Range<usize>>,
}

/// One instruction.
#[derive(Clone)]
pub(crate) struct Instruction<'t> {
    /// Its line in the text, from 1.
    pub(crate) line: usize,
    /// Without predicate, comments and `;`.
    pub(crate) text: &'t str,
    /// Whether it stands behind a predicate.
    guarded: bool,
    /// What stands behind `//` on its line.
    pub(crate) comment: &'t str,
}

impl<'t> Instruction<'t> {
    /// As in `ld.global.v2.b64`.
    pub(crate) fn opcode(&self) -> &'t str {
        self.text.split_whitespace().next().unwrap_or_default()
    }

    /// Whether the opcode has `part` between its dots.
    pub(crate) fn has(&self, part: &str) -> bool {
        self.opcode().split('.').any(|own| own == part)
    }

    /// Whether it is what `pattern` says: the beginning of its text, up to the end of a word; behind a `*` a part of it;
    /// one of several, if a `|` stands between them.
    pub(crate) fn is(&self, pattern: &str) -> bool {
        pattern.split('|').any(|pattern| match pattern.strip_prefix('*') {
            Some(part) => self.text.contains(part),
            None => {
                let rest = self.text.strip_prefix(pattern);
                rest.is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_:".contains(c))
                })
            }
        })
    }

    /// The registers in its operands: those that it writes, if it writes any, and those that it reads.
    pub(crate) fn registers(&self) -> (Vec<&'t str>, Vec<&'t str>) {
        let operands = self.text.strip_prefix(self.opcode()).unwrap_or_default().trim_start();
        let writes_none = ["st.", "red.", "bra", "bar.", "cp.", "mbarrier.init", "@", "fence", "exit", "ret"];
        let split = if writes_none.iter().any(|none| self.opcode().starts_with(none)) {
            0
        } else if operands.starts_with('{') {
            operands.find('}').map_or(operands.len(), |end| end + 1)
        } else {
            operands.find(',').unwrap_or(operands.len())
        };
        let (written, read) = operands.split_at(split);
        (registers(written), registers(read))
    }

    fn ends(&self) -> bool {
        matches!(self.opcode(), "ret" | "exit" | "trap" | "ret.uni")
    }
}

fn registers(operands: &str) -> Vec<&str> {
    let words = operands.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '%' | '_' | '$' | '.')));
    words.filter(|word| word.starts_with('%')).collect()
}

/// The entries of an image.
///
/// # Panics
/// If the control flow is not what this reader knows.
pub(crate) fn entries(ptx: &str) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut lines = ptx.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some((_, after)) = line.split_once(".entry ") else { continue };
        let name = after.split('(').next().unwrap_or_default().trim();
        let mut body = Vec::new();
        let mut inside = false;
        for (number, line) in lines.by_ref() {
            match line.trim_end() {
                "{" => inside = true,
                "}" => break,
                line if inside => body.push((number + 1, line)),
                _ => {}
            }
        }
        found.push(entry(name, &body));
    }
    found
}

fn entry<'t>(name: &'t str, body: &[(usize, &'t str)]) -> Entry<'t> {
    let (mut instructions, mut directives, mut labels) = (Vec::new(), Vec::new(), HashMap::new());
    // Where a jump through a table may lead; the table whose lines are being read.
    let (mut tables, mut open_table) = (HashMap::<&str, Vec<&str>>::new(), None);
    for &(line, text) in body {
        let (code, comment) = text.split_once("//").unwrap_or((text, ""));
        if let Some((label, _)) = code.split_once(": .branchtargets") {
            open_table = Some(label.trim());
            continue;
        }
        if let Some(table) = open_table {
            tables.entry(table).or_default().push(code.trim().trim_end_matches([',', ';']));
            open_table = (!code.contains(';')).then_some(table);
            continue;
        }
        // An asm that hides a value is a comment; one with several instructions has them on one line, in braces.
        let code = code.split_once("*/").map_or(code, |(_, rest)| rest);
        for statement in code.split(';') {
            let statement = statement.trim().trim_start_matches(['{', ' ', '\t']);
            if let Some(label) = statement.strip_suffix(':') {
                labels.insert(label, instructions.len());
            } else if statement.starts_with('.') {
                directives.push(statement);
            } else if !statement.is_empty() && statement != "}" {
                let guarded = statement.starts_with('@');
                let unguarded = statement.split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
                let text = if guarded { unguarded.trim_start() } else { statement };
                instructions.push(Instruction { line, text, guarded, comment: comment.trim() });
            }
        }
    }
    let mut next = Vec::new();
    let mut starts: Vec<usize> = labels.values().copied().collect();
    for (at, instruction) in instructions.iter().enumerate() {
        let mut after = Vec::new();
        let opcode = instruction.opcode();
        let leaves = opcode.starts_with("bra") || opcode.starts_with("brx");
        if leaves {
            let target = instruction.text.split_whitespace().next_back().unwrap_or_default();
            let targets = tables.get(target).map_or(std::slice::from_ref(&target), Vec::as_slice);
            for target in targets {
                let label = labels.get(target);
                after.push(*label.unwrap_or_else(|| panic!("{name}: there is no label {target}")));
            }
        }
        if instruction.guarded || !(leaves || instruction.ends()) {
            after.push(at + 1);
        }
        if leaves || instruction.ends() {
            starts.push(at + 1);
        }
        after.retain(|&at| at < instructions.len());
        next.push(after);
    }
    starts.extend([0, instructions.len()]);
    starts.sort_unstable();
    starts.dedup();
    let blocks = starts.windows(2).map(|pair| pair[0]..pair[1].min(instructions.len())).collect();
    Entry { name, instructions, directives, next, blocks }
}

impl<'t> Entry<'t> {
    /// Whether one of its instructions is `pattern`.
    pub(crate) fn has(&self, pattern: &str) -> bool {
        self.instructions.iter().any(|instruction| instruction.is(pattern))
    }

    /// The same with nothing in the place of every instruction that is `pattern`.
    pub(crate) fn without(&self, pattern: &str) -> Self {
        let mut twin = self.clone();
        for instruction in twin.instructions.iter_mut().filter(|instruction| instruction.is(pattern)) {
            instruction.text = "nothing";
        }
        twin
    }

    /// The most of `load` that are on their way in one basic block before `user` takes the result of one: the first
    /// instruction that reads any of their registers must be `user` for them to count. Widening a register is no
    /// instruction of the machine, and is passed over.
    pub(crate) fn in_flight(&self, load: &str, user: &str) -> usize {
        let mut most = 0;
        for block in &self.blocks {
            let (mut loads, mut loaded) = (0, Vec::new());
            for instruction in &self.instructions[block.clone()] {
                let (written, read) = instruction.registers();
                if read.iter().any(|register| loaded.contains(register)) {
                    if instruction.is("cvt.u64.u32") {
                        loaded.extend(written);
                        continue;
                    }
                    if instruction.is(user) {
                        most = most.max(loads);
                    }
                    (loads, loaded) = (0, Vec::new());
                }
                if instruction.is(load) {
                    loads += 1;
                    loaded.extend(written);
                }
            }
        }
        most
    }

    /// The most of `load` that are on their way at once on some path from the entry, before a register of any of them is
    /// read. For kernels of a few loads, between which checks branch.
    pub(crate) fn in_flight_on_a_path(&self, load: &str) -> usize {
        let (mut most, mut open, mut seen) = (0, vec![(0, Vec::new())], HashSet::new());
        while let Some((at, mut loads)) = open.pop() {
            if !seen.insert((at, loads.clone())) {
                continue;
            }
            let (_, read) = self.instructions[at].registers();
            let written = |&load: &usize| self.instructions[load].registers().0;
            if loads.iter().flat_map(written).any(|register| read.contains(&register)) {
                loads.clear();
            }
            if self.instructions[at].is(load) && !loads.contains(&at) {
                loads.push(at);
            }
            most = most.max(loads.len());
            open.extend(self.next[at].iter().map(|&next| (next, loads.clone())));
        }
        most
    }

    /// An instruction that is one of `to` and that a path from `from` reaches without passing each of `through` in
    /// this order.
    pub(crate) fn path(&self, from: From<'_>, through: &[&str], to: &[&str]) -> Option<&Instruction<'t>> {
        let mut open: Vec<(usize, usize)> = match from {
            From::Entry => vec![(0, 0)],
            From::Each(pattern) => {
                let starts = (0..self.instructions.len()).filter(|&at| self.instructions[at].is(pattern));
                starts.flat_map(|at| self.next[at].iter().map(|&next| (next, 0))).collect()
            }
        };
        let mut seen = vec![false; self.instructions.len() * (through.len() + 1)];
        while let Some((at, passed)) = open.pop() {
            let instruction = &self.instructions[at];
            if passed == through.len()
                || std::mem::replace(&mut seen[at * (through.len() + 1) + passed], true)
            {
                continue;
            }
            if to.iter().any(|to| instruction.is(to)) {
                return Some(instruction);
            }
            let passed = passed + usize::from(instruction.is(through[passed]));
            open.extend(self.next[at].iter().map(|&next| (next, passed)));
        }
        None
    }
}

/// Where a path begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From<'p> {
    /// At the kernel's entry.
    Entry,
    /// After each instruction that is this.
    Each(&'p str),
}

#[test]
fn instructions_of_one_line_and_their_order_are_read() {
    let ptx = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 32\n{\n\t.reg .b32 \t%r<3>;\n\n\
        \tsetp.eq.b32 \t%p1, %r1, 0;\n\t@%p1 bra \t$L__BB0_2;\n\t// begin inline asm\n\
        \t{ .reg .pred p; mbarrier.try_wait.parity.b64 p, [%r1], %r2; selp.u32 %r3, 1, 0, p; }\n\
        \tld.global.v2.b64 {%rd1, %rd2}, [%rd9];\n\tld.global.v2.b64 {%rd3, %rd4}, [%rd9+16];\n\
        \tst.global.v2.b64 [%rd8], {%rd1, %rd2};\n\
        $L__BB0_2:\n\t/* %rd5 */\n\tst.release.sys.global.b64 [%rd5], %rd6; // @nc\n\tret;\n\n}\n";
    let entries = entries(ptx);
    let [entry] = entries.as_slice() else { panic!("one entry") };
    assert_eq!((entry.name, entry.instructions.len()), ("k", 9));
    assert_eq!(entry.directives, [".reg .b32 \t%r<3>", ".reg .pred p"]);
    assert!(entry.has("ld.global.v2") && !entry.has("ld.global.v") && !entry.has("ld.shared"));
    assert_eq!(entry.in_flight("ld.global.v2.b64", "st.global"), 2);
    assert_eq!(entry.in_flight("ld.global.v2.b64", "st.release"), 0);
    assert_eq!(entry.instructions[7].comment, "@nc");
    // The branch leads around the wait.
    let release = entry.path(From::Entry, &["mbarrier.try_wait"], &["st.release"]);
    assert_eq!(release.map(|i| i.line), Some(17));
    let from = From::Each("ld.global.v2.b64");
    assert!(entry.path(from, &["st.global"], &["st.release"]).is_none());
    assert!(entry.path(from, &["st.global", "ld.global"], &["st.release"]).is_some());
}
