//! The lines that a report must name: those with the comments `// <name>: one` and `// <name>: two`.

use oxshmem_checked::pairs::Pair;
use oxshmem_emulator::check::{Finding, Place};

/// The lines of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    file: &'static str,
    one: u32,
    two: Option<u32>,
}

impl Lines {
    /// Finds them in the pair's source.
    ///
    /// # Errors
    /// The first marker is missing, or one is there twice.
    pub(crate) fn of(pair: &Pair) -> Result<Self, String> {
        let (file, text) = pair.source;
        let one =
            line(text, pair.name, "one")?.ok_or_else(|| format!("{file} has no `// {}: one`", pair.name))?;
        Ok(Self { file, one, two: line(text, pair.name, "two")? })
    }

    /// Whether a finding names these lines: both of them as its two places; or the only one anywhere.
    pub(crate) fn named_by(self, finding: &Finding) -> bool {
        let here = |place: &Place| (place.location.file() == self.file).then(|| place.location.line());
        let places = [&finding.first, &finding.second].map(|place| place.as_ref().and_then(here));
        match self.two {
            Some(_) => {
                let (one, two) = (Some(self.one), self.two);
                places == [one, two] || places == [two, one]
            }
            None => {
                let waits = finding.waiters.iter().map(|waiter| here(&waiter.place));
                places.into_iter().chain(waits).any(|line| line == Some(self.one))
            }
        }
    }
}

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.one)?;
        self.two.map_or(Ok(()), |two| write!(f, " and :{two}"))
    }
}

/// The line of a marker.
fn line(text: &str, name: &str, which: &str) -> Result<Option<u32>, String> {
    let marker = format!("// {name}: {which}");
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| line.trim_end().ends_with(&marker));
    let first = lines.next().map(|(number, _)| number);
    match lines.next() {
        Some((again, _)) => Err(format!("`{marker}` is there twice, the second time on line {again}")),
        None => Ok(first),
    }
}
