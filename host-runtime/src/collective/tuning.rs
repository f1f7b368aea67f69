//! By what collective operations choose their protocol: a table of what was measured, by the number of PEs.

use crate::error::{Error, Result};
use crate::shmem::Shmem;
use oxshmem_device::abi::tuning::{self, Kind};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// By what collective operations choose between packets (data and flag in one access) and plain stores between two flags, and on
/// how many blocks they work: a line for each number of PEs that was measured. A job of another number takes the line of the
/// next smaller one, or the first.
///
/// `oxshmem-perf tune` measures a machine and writes its table; `OXSHMEM_COLLECTIVES` or
/// [`Config::collectives`](crate::Config::collectives) names it. As text:
///
/// ```
/// let table = "
///     ## A comment. Bytes that a PE sends all others together; a power of two, or 0 for never.
///     pes 2  broadcast 32768  exchange 8192  reduce 16384  scan 16384  packets-block 2048  stores-block 16384
///     pes 8  broadcast 65536  exchange 8192  reduce 16384  scan 16384  packets-block 2048  stores-block 16384
/// ";
/// let tuning: oxshmem::Tuning = table.parse()?;
/// assert_eq!(tuning.to_string().parse(), Ok(tuning));
/// # Ok::<(), String>(())
/// ```
///
/// | kind | operations |
/// |---|---|
/// | `broadcast` | `broadcast` |
/// | `exchange` | `fcollect`, `alltoall` |
/// | `reduce` | `reduce`, `reduce_scatter` |
/// | `scan` | `reduce_to`, `scan`, `exscan` |
///
/// `collect` and `alltoallv`, whose PEs do not know each other's lengths, tell each other those in packets and store the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// By rising numbers of PEs; never empty.
    lines: Vec<(u32, tuning::Tuning)>,
}

const KINDS: [(&str, Kind); 4] = [
    ("broadcast", Kind::Broadcast),
    ("exchange", Kind::Exchange),
    ("reduce", Kind::Reduce),
    ("scan", Kind::Scan),
];
const BLOCKS: [&str; 2] = ["packets-block", "stores-block"];
/// More bytes than these are no threshold.
const MOST: u64 = 1 << 40;

/// The built-in table.
const H200: &str = include_str!("h200.txt");

impl Default for Tuning {
    /// What was measured on an H200: where nothing better is known.
    fn default() -> Self {
        H200.parse().unwrap_or(Self { lines: vec![(1, tuning::H200)] })
    }
}

impl Tuning {
    /// Packets wherever they fit into the memory that is set aside for them.
    pub fn packets() -> Self {
        Self::always(MOST)
    }

    /// Plain stores for everything.
    pub fn stores() -> Self {
        Self::always(0)
    }

    fn always(bytes: u64) -> Self {
        let all = KINDS.iter().fold(tuning::H200, |all, (_, kind)| all.with(*kind, bytes));
        Self { lines: vec![(1, all)] }
    }

    /// The table in a file.
    ///
    /// # Errors
    /// [`Error::Config`] if it cannot be read or is none: the line and why.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().display();
        let bad =
            |why: String| Error::Config { what: format!("the table of collective operations {path}: {why}") };
        let text = std::fs::read_to_string(path.to_string()).map_err(|why| bad(why.to_string()))?;
        text.parse().map_err(bad)
    }

    /// With other thresholds for `pes` PEs: the most bytes that a PE sends all others together by packets, for broadcasts,
    /// exchanges, reductions and scans, rounded down to powers of two. The first call replaces what there was.
    pub fn measured(lines: impl IntoIterator<Item = (u32, [u64; 4])>) -> Option<Self> {
        let line = |(pes, bytes): (u32, [u64; 4])| {
            let all = KINDS.iter().zip(bytes);
            (pes, all.fold(tuning::H200, |all, ((_, kind), bytes)| all.with(*kind, bytes.min(MOST))))
        };
        let mut lines: Vec<_> = lines.into_iter().map(line).collect();
        lines.sort_by_key(|(pes, _)| *pes);
        lines.dedup_by_key(|(pes, _)| *pes);
        (!lines.is_empty()).then_some(Self { lines })
    }

    /// What a job of so many PEs takes.
    pub(crate) fn of(&self, pes: u32) -> tuning::Tuning {
        let below = self.lines.iter().take_while(|(of, _)| *of <= pes).last();
        below.or(self.lines.first()).map_or(tuning::H200, |(_, line)| *line)
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (pes, line) in &self.lines {
            write!(f, "pes {pes}")?;
            for (name, kind) in KINDS {
                write!(f, "  {name} {}", line.most_by_packets(kind))?;
            }
            let blocks = [line.block_by_packets(), line.block_by_stores()];
            for (name, bytes) in BLOCKS.iter().zip(blocks) {
                write!(f, "  {name} {bytes}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl FromStr for Tuning {
    type Err = String;

    /// From a table as text; an error says the line and why.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines: Vec<(u32, tuning::Tuning)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (pes, read) = read_line(line).map_err(|why| format!("line {number}: {why}"))?;
            if lines.last().is_some_and(|(before, _)| *before >= pes) {
                return Err(format!("line {number}: the lines stand by rising numbers of PEs, each once"));
            }
            lines.push((pes, read));
        }
        if lines.is_empty() {
            return Err("it has no line `pes N …`".into());
        }
        Ok(Self { lines })
    }
}

/// A line; what it does not name is as on an H200.
fn read_line(line: &str) -> Result<(u32, tuning::Tuning), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut pairs = words.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or_default()));
    let pes = match pairs.next() {
        Some(("pes", number)) => number.parse().ok().filter(|pes| *pes > 0),
        _ => None,
    };
    let pes = pes.ok_or("it begins with `pes` and a number of PEs")?;
    let (mut read, mut blocks) =
        (tuning::H200, [tuning::H200.block_by_packets(), tuning::H200.block_by_stores()]);
    for (name, value) in pairs {
        let bytes = value
            .parse()
            .ok()
            .filter(|bytes: &u64| *bytes <= MOST && (*bytes == 0 || bytes.is_power_of_two()));
        let bytes = bytes.ok_or_else(|| {
            format!("{name} is 0 or a power of two of bytes up to {MOST}, and {value:?} is none")
        })?;
        if let Some((_, kind)) = KINDS.iter().find(|(of, _)| *of == name) {
            read = read.with(*kind, bytes);
        } else if let Some(which) = BLOCKS.iter().position(|of| *of == name).filter(|_| bytes > 0) {
            blocks[which] = bytes;
        } else {
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).chain(BLOCKS).collect();
            return Err(format!(
                "{name} {value} means nothing: there are {}, the last two of 1 byte or more",
                names.join(", ")
            ));
        }
    }
    let kinds = KINDS.iter().map(|(_, kind)| (*kind, read.most_by_packets(*kind)));
    let with_blocks = tuning::Tuning::stores(blocks[0].ilog2(), blocks[1].ilog2());
    Ok((pes, kinds.fold(with_blocks, |all, (kind, bytes)| all.with(kind, bytes))))
}

impl Shmem {
    /// Collective. From here on collective operations choose by this table: those of kernels that are launched afterwards.
    ///
    /// # Errors
    /// [`Error::Config`] on all PEs if they do not name the same; those of [`all_gather`](Self::all_gather).
    #[track_caller]
    pub fn set_collectives(&self, tuning: &Tuning) -> Result<()> {
        let own = tuning.of(self.n_pes());
        let all = self.all_gather(&own.word)?;
        if let Some(other) = all.iter().position(|word| *word != all[0]) {
            let what = format!(
                "PE {other} and PE 0 choose by different tables of collective operations: give all the same"
            );
            return Err(Error::Config { what });
        }
        self.pe().job.choose_by(own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_read() {
        let tuning: Tuning = H200.parse().expect("it means something");
        assert_eq!(Tuning::default(), tuning);
        assert_eq!(tuning.lines.iter().map(|(pes, _)| *pes).collect::<Vec<_>>(), [2, 4, 8]);
    }

    #[test]
    fn a_table_is_the_text_that_says_it() {
        for tuning in [Tuning::default(), Tuning::packets(), Tuning::stores()] {
            assert_eq!(tuning.to_string().parse(), Ok(tuning));
        }
        let two = Tuning::measured([(8, [1, 2, 5, 0]), (2, [1 << 20, 8, 8, 8])]).expect("lines");
        assert_eq!(two.to_string().parse(), Ok(two.clone()));
        let reduce = |pes| two.of(pes).most_by_packets(Kind::Reduce);
        assert_eq!((reduce(1), reduce(2), reduce(7), reduce(8), reduce(900)), (8, 8, 8, 4, 4));
        assert_eq!(Tuning::measured([]), None);
    }

    #[test]
    fn what_is_not_said_is_as_on_an_h200() {
        let read: Tuning = "pes 4 reduce 64 stores-block 4096 # a remark".parse().expect("a table");
        let (line, h200) = (read.of(4), tuning::H200);
        assert_eq!((line.most_by_packets(Kind::Reduce), line.block_by_stores()), (64, 4096));
        assert_eq!(line.most_by_packets(Kind::Exchange), h200.most_by_packets(Kind::Exchange));
        assert_eq!(line.block_by_packets(), h200.block_by_packets());
    }

    #[test]
    fn a_line_that_means_nothing_is_told() {
        for (text, why) in [
            ("", "no line"),
            ("# nothing", "no line"),
            ("pes 0", "line 1: it begins with `pes`"),
            ("\nreduce 8", "line 2: it begins"),
            ("pes 2 reduce", "reduce is 0 or a power"),
            ("pes 2 reduce 3", "reduce is 0 or a power"),
            ("pes 2 reduce -8", "reduce is 0 or a power"),
            ("pes 2 reduce 18446744073709551616", "reduce is 0 or a power"),
            ("pes 2 stores-block 0", "stores-block 0 means nothing"),
            ("pes 2 gather 8", "gather 8 means nothing"),
            ("pes 4\npes 2", "line 2: the lines stand by rising"),
            ("pes 2\npes 2", "line 2: the lines stand by rising"),
        ] {
            let error = text.parse::<Tuning>().expect_err(text);
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
