//! What is said of connections that were refused: enough to find a fault, too little to fill a disk.

use std::fmt::Display;
use std::io::{Write, stderr};

/// How many are told one by one.
const ALL: u64 = 8;

/// Counts refusals, and tells of the first ones and then of each that doubles the count.
pub(crate) struct Refusals {
    who: String,
    count: u64,
}

impl Refusals {
    pub(crate) fn new(who: impl Into<String>) -> Self {
        Self { who: who.into(), count: 0 }
    }

    /// Notes one, on stderr if it is one to tell of.
    pub(crate) fn note(&mut self, peer: &str, why: &dyn Display) {
        if let Some(line) = self.line(peer, why) {
            // Where nobody can read it, nobody is told.
            let _ = writeln!(stderr(), "{line}");
        }
    }

    fn line(&mut self, peer: &str, why: &dyn Display) -> Option<String> {
        self.count += 1;
        let line = format!("oxshmem: {}: refused a connection from {peer}: {why}", self.who);
        match self.count {
            ..=ALL => Some(line),
            count if count.is_power_of_two() => Some(format!("{line} ({count} refused so far)")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_refusals_are_few_lines() {
        let mut refusals = Refusals::new("test");
        let lines: Vec<String> = (0..1 << 20).filter_map(|_| refusals.line("x", &"y")).collect();
        // 1 to 8, then 16 and every double of it to 2^20.
        assert_eq!(lines.len(), 8 + 17);
        assert!(lines[..8].iter().all(|line| line == "oxshmem: test: refused a connection from x: y"));
        assert_eq!(lines[8], "oxshmem: test: refused a connection from x: y (16 refused so far)");
        assert!(lines[24].ends_with("(1048576 refused so far)"));
    }
}
