//! Reads `nvdisasm -c`: the machine instructions of each kernel, and which of them only a failure reaches.
//!
//! | word | meaning |
//! |---|---|
//! | instruction | one of the kernel's, without the branch to itself and the `NOP`s that pad its end |
//! | record | `MEMBAR.ALL.CTA`: the library has this fence only where it writes the error record |
//! | claim | a compare-and-swap shortly before a conditional `EXIT`: the thread that does not get the record leaves there |
//! | end | an `EXIT` that is no claim's |
//! | cold | lies on no way from the entry to an end that passes no record |

use std::collections::HashMap;

use anyhow::{Result, ensure};

/// The instructions of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: usize,
    /// Those that only a thread that fails executes.
    pub cold: usize,
}

#[derive(Debug, Default)]
struct Kernel {
    code: Vec<Instruction>,
    labels: HashMap<String, usize>,
}

#[derive(Debug)]
struct Instruction {
    conditional: bool,
    opcode: String,
    operands: String,
}

/// The counts by kernel symbol.
///
/// # Errors
/// If a branch has no target in its kernel: the text is of a form that is not known here.
pub(super) fn count(disassembly: &str) -> Result<HashMap<String, Count>> {
    let mut kernels: Vec<(String, Kernel)> = Vec::new();
    for line in disassembly.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix(".section") {
            let name =
                section.trim_start().strip_prefix(".text.").and_then(|rest| rest.split([',', '"']).next());
            // The text of any other section is not looked at: its name is empty.
            kernels.push((name.unwrap_or("").trim().to_owned(), Kernel::default()));
        } else if let Some((_, kernel)) = kernels.last_mut().filter(|(name, _)| !name.is_empty()) {
            if let Some(instruction) = instruction(line) {
                kernel.code.push(instruction);
            } else if let Some(label) = line.strip_suffix(':') {
                kernel.labels.insert(label.to_owned(), kernel.code.len());
            }
        }
    }
    let named = kernels.into_iter().filter(|(name, _)| !name.is_empty());
    named.map(|(name, kernel)| Ok((name, kernel.count()?))).collect()
}

/// The instruction of a line such as `/*0070*/ @!P0 BRA `(.L_x_1) ;`.
fn instruction(line: &str) -> Option<Instruction> {
    let (_, text) = line.strip_prefix("/*")?.split_once("*/")?;
    let text = text.split(';').next()?.trim();
    let (guard, text) = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?,
        None => ("", text),
    };
    let (opcode, operands) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if opcode.is_empty() {
        return None;
    }
    Some(Instruction {
        conditional: !guard.is_empty(),
        opcode: opcode.to_owned(),
        operands: operands.trim().to_owned(),
    })
}

impl Instruction {
    fn is(&self, family: &str) -> bool {
        self.opcode.split('.').next() == Some(family)
    }

    /// The label that it names.
    fn target(&self) -> Option<&str> {
        self.operands.split_once("`(")?.1.split_once(')').map(|(label, _)| label)
    }

    /// Whether a thread never goes on with the next instruction.
    fn leaves(&self) -> bool {
        let plain_branch = self.opcode == "BRA" && self.operands.starts_with('`');
        !self.conditional && (plain_branch || self.is("EXIT") || self.is("RET"))
    }

    fn writes_record(&self) -> bool {
        self.opcode == "MEMBAR.ALL.CTA"
    }
}

impl Kernel {
    fn count(mut self) -> Result<Count> {
        let padding = |at: usize, each: &Instruction| {
            each.opcode == "NOP"
                || each.opcode == "BRA"
                    && each.target().is_some_and(|label| self.labels.get(label) == Some(&at))
        };
        let kept = self.code.iter().enumerate().rposition(|(at, each)| !padding(at, each));
        self.code.truncate(kept.map_or(0, |last| last + 1));
        let next = self.successors()?;
        let good = self.ends_well(&next);
        let mut hot = vec![false; self.code.len()];
        let mut open: Vec<usize> = (0..self.code.len().min(1)).collect();
        while let Some(at) = open.pop() {
            if good[at] && !hot[at] {
                hot[at] = true;
                open.extend(&next[at]);
            }
        }
        let all = self.code.len();
        Ok(Count { all, cold: all - hot.iter().filter(|hot| **hot).count() })
    }

    /// For each instruction, where a thread may go on.
    fn successors(&self) -> Result<Vec<Vec<usize>>> {
        // Where the threads that a BSSY gathers go on together, by its barrier register.
        let mut gathered: HashMap<&str, usize> = HashMap::new();
        let mut all = Vec::with_capacity(self.code.len());
        for (at, each) in self.code.iter().enumerate() {
            let mut next = Vec::new();
            if !each.leaves() && at + 1 < self.code.len() {
                next.push(at + 1);
            }
            if let Some(label) = each.target() {
                let place = self.labels.get(label).copied();
                ensure!(place.is_some(), "{} {} leads out of its kernel", each.opcode, each.operands);
                let place = place.unwrap_or_default();
                if each.is("BSSY") {
                    gathered.insert(each.operands.split(',').next().unwrap_or(""), place);
                } else if place < self.code.len() {
                    next.push(place);
                }
            } else if each.is("BSYNC") {
                next.extend(gathered.get(each.operands.as_str()).filter(|place| **place < self.code.len()));
            } else {
                let known = !["BRA", "BRX", "JMX", "CALL"].iter().any(|family| each.is(family));
                ensure!(known, "{} {} goes to a place that is not said", each.opcode, each.operands);
            }
            all.push(next);
        }
        Ok(all)
    }

    /// Whether the `EXIT` at `at` is that of a thread which failed, but not first.
    fn loses_claim(&self, at: usize) -> bool {
        // The assembler may put some instructions between the swap, the comparison and the exit.
        let before = &self.code[at.saturating_sub(8)..at];
        let straight = before.iter().rev().take_while(|each| each.target().is_none() && !each.leaves());
        self.code[at].conditional
            && straight.clone().any(|each| each.opcode.starts_with("ATOM") && each.opcode.contains(".CAS"))
    }

    /// From which instructions an end can be reached without a record.
    fn ends_well(&self, next: &[Vec<usize>]) -> Vec<bool> {
        let mut good = vec![false; self.code.len()];
        loop {
            let mut grew = false;
            for (at, each) in self.code.iter().enumerate().rev() {
                let end = (each.is("EXIT") || each.is("RET")) && !self.loses_claim(at);
                if !good[at] && !each.writes_record() && (end || next[at].iter().any(|at| good[*at])) {
                    good[at] = true;
                    grew = true;
                }
            }
            if !grew {
                return good;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKED: &str = r#"
	.section	.text.checked,"ax",@progbits
        .global         checked
checked:
.text.checked:
        /*0000*/                   LDC R1, c[0x0][0x28] ;        /* 0x00000a00ff017b82 */
                                                                 /* 0x000fe20000000800 */
        /*0010*/              @!P1 BRA P0, `(.L_x_2) ;           /* 0x00000a00ff017b82 */
        /*0020*/                   ATOMG.E.CAS.STRONG.SYS PT, R4, [R4], R6, R7 ;
        /*0030*/               @P0 EXIT ;
        /*0040*/                   STG.E.64 desc[UR6][R12.64+0x8], R4 ;
        /*0050*/                   MEMBAR.ALL.CTA ;
        /*0060*/                   NOP ;
        /*0070*/                   ERRBAR;
.L_x_1:
        /*0080*/                   EXIT ;
.L_x_2:
        /*0090*/               @P2 EXIT ;
        /*00a0*/                   STG.E.STRONG.SYS desc[UR6][R2.64], R7 ;
        /*00b0*/                   EXIT ;
.L_x_3:
        /*00c0*/                   BRA `(.L_x_3);
        /*00d0*/                   NOP;
        /*00e0*/                   NOP;
.L_x_4:
"#;

    #[test]
    fn padding_does_not_count_and_a_failure_is_cold() {
        // Cold: the claim, its loser's exit, the record up to its exit.
        assert_eq!(count(CHECKED).expect("readable")["checked"], Count { all: 12, cold: 7 });
    }

    #[test]
    fn an_early_exit_of_a_thread_without_work_is_no_failure() {
        let text =
            "\t.section\t.text.k,\"ax\",@progbits\n/*0000*/ @P0 EXIT ;\n/*0010*/ NOP ;\n/*0020*/ EXIT ;\n";
        assert_eq!(count(text).expect("readable")["k"], Count { all: 3, cold: 0 });
    }

    #[test]
    fn the_exit_of_a_wait_that_succeeded_is_an_end() {
        let text = "\t.section\t.text.k,\"ax\",@progbits\n\
            /*0000*/ @!P0 EXIT ;\n\
            /*0010*/ ATOMG.E.CAS.STRONG.SYS PT, R4, [R4], R6, R7 ;\n\
            /*0020*/ ISETP.NE.U32.AND P0, PT, R4, RZ, PT ;\n\
            .L_x_1:\n\
            /*0030*/ @P0 EXIT ;\n\
            /*0040*/ MEMBAR.ALL.CTA ;\n\
            /*0050*/ EXIT ;\n";
        assert_eq!(count(text).expect("readable")["k"], Count { all: 6, cold: 5 });
    }

    #[test]
    fn a_loop_and_gathered_threads_are_followed() {
        let text = "\t.section\t.text.k,\"ax\",@progbits\n\
            /*0000*/ BSSY B0, `(.L_x_2) ;\n\
            .L_x_1:\n\
            /*0010*/ @P0 BRA `(.L_x_1) ;\n\
            /*0020*/ BSYNC B0 ;\n\
            /*0030*/ MEMBAR.ALL.CTA ;\n\
            /*0040*/ EXIT ;\n\
            .L_x_2:\n\
            /*0050*/ EXIT ;\n\
            \t.section\t.nv.info,\"\"\n\
            /*0000*/ NOT CODE ;\n";
        let counts = count(text).expect("readable");
        assert_eq!(counts["k"], Count { all: 6, cold: 2 });
        assert_eq!(counts.len(), 1);
    }

    #[test]
    fn a_branch_to_nowhere_is_refused() {
        let text = "\t.section\t.text.k,\"ax\",@progbits\n/*0000*/ BRA `(.L_x_9) ;\n";
        assert!(count(text).expect_err("refused").to_string().contains(".L_x_9"));
        let text = "\t.section\t.text.k,\"ax\",@progbits\n/*0000*/ BRX R2 -0x40 ;\n";
        assert!(count(text).is_err());
    }
}
