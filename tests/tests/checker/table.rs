//! What was expected against what was reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The row of correct kernels.
pub(crate) const CORRECT: &str = "(correct)";
/// The column of kernels of which nothing was reported.
pub(crate) const NOTHING: &str = "nothing";
/// The column of kernels of which it is not known what would have been reported.
pub(crate) const NOT_RUN: &str = "not run";

/// How often which kind was reported where which was expected.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(&'static str, &'static str), u32>);

impl Table {
    /// Counts a kernel.
    pub(crate) fn add(&mut self, expected: &'static str, reported: &'static str) {
        *self.0.entry((expected, reported)).or_default() += 1;
    }
}

impl fmt::Display for Table {
    /// Rows by the expected kind, columns by the reported one, under the number that stands before the kind's row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.keys().flat_map(|&(expected, reported)| [expected, reported]);
        let kinds: BTreeSet<_> = names.filter(|name| ![CORRECT, NOTHING, NOT_RUN].contains(name)).collect();
        let numbered: Vec<_> = (1..).map(|n: u32| n.to_string()).zip(kinds).collect();
        let others = [(NOTHING.to_owned(), NOTHING), (NOT_RUN.to_owned(), NOT_RUN)];

        write!(f, "{:<32}", "expected, by what was reported")?;
        numbered.iter().try_for_each(|(number, _)| write!(f, "{number:>4}"))?;
        others.iter().try_for_each(|(name, _)| write!(f, "{name:>9}"))?;
        for (number, row) in numbered.iter().chain([&(String::new(), CORRECT)]) {
            write!(f, "\n{number:>3} {row:<28}")?;
            for (name, column) in numbered.iter().chain(&others) {
                let count = self.0.get(&(row, column)).map_or("-".to_owned(), u32::to_string);
                let width = if name == column { 9 } else { 4 };
                write!(f, "{count:>width$}")?;
            }
        }
        writeln!(f)
    }
}
