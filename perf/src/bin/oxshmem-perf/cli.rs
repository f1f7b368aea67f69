//! The command line: one subcommand per test, `serve`, `compare`, `tune` and `simulate`; and the cases that a test's options ask for.

use crate::case::{Case, Index, Key, Method, Op, Order, Path, Pattern, Scope, Test};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Measures what kernels send each other. OXSHMEM_PES=2 makes the two PEs of a test as threads, `oxshmem-run -n 2` as
/// processes.
#[derive(Debug, Parser)]
#[command(name = "oxshmem-perf", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Test(TestCommand),
    /// Answers requests on its standard input, one case a line, with PEs as threads.
    Serve(Serve),
    /// Measures oxshmem and its peers in turns, and holds them against each other.
    Compare(Compare),
    /// Measures by which protocol collective operations are faster here, and writes the table that OXSHMEM_COLLECTIVES names.
    Tune(Tune),
    /// Predicts all-reduce on machines that are not there, by replaying its schedules on a model of their links.
    Simulate(Simulate),
}

macro_rules! tests {
    ($($(#[$doc:meta])* $test:ident,)*) => {
        /// The tests that oxshmem has.
        #[derive(Debug, Subcommand)]
        pub(crate) enum TestCommand {
            $($(#[$doc])* $test(Sweep),)*
        }

        impl TestCommand {
            /// Which test, and its options.
            pub(crate) fn parts(&self) -> (Test, &Sweep) {
                match self {
                    $(Self::$test(sweep) => (Test::$test, sweep),)*
                }
            }
        }
    };
}
tests! {
    /// Bandwidth of non-blocking puts.
    PutBw,
    /// Bandwidth of non-blocking gets.
    GetBw,
    /// Bandwidth of `p`, 4 bytes each.
    PBw,
    /// Bandwidth of plain stores of 4 bytes through a peer's address.
    StBw,
    /// Bandwidth of `g`, 8 bytes each.
    GBw,
    /// Bandwidth of gathers of elements of 8 bytes.
    GatherBw,
    /// A put and its quiet.
    PutLat,
    /// A get and its quiet.
    GetLat,
    /// A `p` of 4 bytes and its quiet.
    PLat,
    /// A `g` of 8 bytes.
    GLat,
    /// A signal to and fro.
    SignalPingpong,
    /// Data with its signal to and fro.
    PutSignalPingpong,
    /// Data and its flag in the same words, to and fro.
    MailboxPingpong,
    /// Rate of atomics on 64-bit words.
    AtomicBw,
    /// One atomic after another.
    AtomicLat,
    /// barrier_all.
    Barrier,
    /// sync_all.
    Sync,
    /// Random updates of all PEs' tables.
    Gups,
    /// One PE's data to all.
    Broadcast,
    /// Every PE's data to all.
    Fcollect,
    /// From every PE to every PE its own part.
    Alltoall,
    /// The sum of all PEs' data, to all.
    Reduce,
}

/// The sizes to run a test with, and how. Sizes take the suffixes K, M and G.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Sweep {
    /// The least size in bytes.
    #[arg(short = 'b', long, value_parser = bytes)]
    pub(crate) min_bytes: Option<u64>,
    /// The greatest size in bytes.
    #[arg(short = 'e', long, value_parser = bytes)]
    pub(crate) max_bytes: Option<u64>,
    /// By what a size is greater than the one before.
    #[arg(short, long)]
    pub(crate) factor: Option<u64>,
    /// Timed iterations.
    #[arg(short = 'n', long)]
    pub(crate) iters: Option<u32>,
    /// Untimed iterations before them.
    #[arg(short, long)]
    pub(crate) warmup: Option<u32>,
    /// CTAs.
    #[arg(short, long)]
    pub(crate) ctas: Option<u32>,
    /// Threads of a CTA.
    #[arg(short, long)]
    pub(crate) threads: Option<u32>,
    /// thread, warp, block or grid.
    #[arg(short, long)]
    pub(crate) scope: Option<Scope>,
    /// Both PEs send at once.
    #[arg(long)]
    pub(crate) bidir: bool,
    /// Tell operations per second, not bytes.
    #[arg(long)]
    pub(crate) message_rate: bool,
    /// Bytes by which the source's start is moved.
    #[arg(long, value_parser = bytes)]
    pub(crate) offset: Option<u64>,
    /// copy, or bulk: through shared memory.
    #[arg(long)]
    pub(crate) path: Option<Path>,
    /// contiguous or random.
    #[arg(long)]
    pub(crate) index: Option<Index>,
    /// add or fetch-add.
    #[arg(long)]
    pub(crate) op: Option<Op>,
    /// adjacent, one or spread.
    #[arg(long)]
    pub(crate) pattern: Option<Pattern>,
    /// weak or strong.
    #[arg(long)]
    pub(crate) order: Option<Order>,
    /// Updates of each thread in an iteration.
    #[arg(long)]
    pub(crate) updates: Option<u32>,
    /// How updates are sent: atomic.
    #[arg(long)]
    pub(crate) method: Option<Method>,
    /// Adds one JSON object per row to this file; `-` prints them in place of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draws the rows into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Options of `serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    /// How many PEs there are.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) pes: u32,
    /// On how many GPUs the PEs lie, 1 or 2. Default: two if there are two.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub(crate) gpus: Option<u32>,
    /// Bytes of each PE's source and of its target.
    #[arg(long, value_parser = bytes, default_value = "1G")]
    pub(crate) memory: u64,
}

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// The table of rows: between two PEs, or of collective operations of several.
    #[arg(long, value_parser = ["p2p", "collectives"], default_value = "p2p")]
    pub(crate) suite: String,
    /// How many PEs the collective operations have.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) pes: u32,
    /// The folder with the peers' programs: raw, nvshmem.
    #[arg(long, value_name = "DIR")]
    pub(crate) peers: PathBuf,
    /// How often each case runs.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Adds one JSON object per bar to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Draws the plots into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Only every n-th row, from the k-th on.
    #[arg(long, value_name = "K/N", value_parser = part, default_value = "1/1")]
    pub(crate) part: (usize, usize),
    /// Only rows with this in their names.
    #[arg(long, value_name = "SUBSTRING")]
    pub(crate) row: Option<String>,
    /// Begin no row after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) budget: Option<u64>,
    /// How long an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) patience: u64,
    /// On how many GPUs the PEs lie, 1 or 2. Default: two if there are two.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub(crate) gpus: Option<u32>,
    /// What the records say of the code. Default: the bundle's commit.
    #[arg(long)]
    pub(crate) commit: Option<String>,
}

/// Options of `tune`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Tune {
    /// Numbers of PEs, as threads.
    #[arg(long, value_delimiter = ',', default_value = "2,4,8")]
    pub(crate) pes: Vec<u32>,
    /// How often each size is measured by each protocol.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Writes the table to this file, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Options of `simulate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Simulate {
    /// Numbers of PEs: up to a node's GPUs, or whole nodes.
    #[arg(long, value_delimiter = ',', default_value = "16,128,1024,4096")]
    pub(crate) pes: Vec<u32>,
    /// Latencies of rails in microseconds.
    #[arg(long, value_delimiter = ',', value_name = "US", default_value = "3,5,10", value_parser = micros)]
    pub(crate) alpha: Vec<f64>,
    /// The least size in bytes.
    #[arg(short = 'b', long, value_parser = bytes, default_value = "1K")]
    pub(crate) min_bytes: u64,
    /// The greatest size in bytes.
    #[arg(short = 'e', long, value_parser = bytes, default_value = "1G")]
    pub(crate) max_bytes: u64,
    /// By what a size is greater than the one before.
    #[arg(short, long, default_value_t = 8)]
    pub(crate) factor: u64,
    /// Parameters of the machine in place of eight H200 per node, as in nvlink-alpha=2.1,nvlink=360.
    #[arg(long, value_delimiter = ',', value_name = "NAME=NUMBER")]
    pub(crate) machine: Vec<String>,
    /// Tries more plans, also those whose replay takes long.
    #[arg(long)]
    pub(crate) full: bool,
    /// Adds one JSON object per row to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the table to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Draws plots into this folder, one per number of PEs.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
}

/// Microseconds from 0 to a second, 0 excluded.
fn micros(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= 1e6);
    number.ok_or_else(|| format!("a latency is a number of microseconds above 0, and {text:?} is none"))
}

/// `64K`, `1M`, `2G` or a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| {
        format!("a size is a whole number, with K, M or G behind it or not, and {text:?} is none")
    })
}

/// `2/3`: the second of three parts.
fn part(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers
        .filter(|&(k, n)| 1 <= k && k <= n)
        .ok_or_else(|| format!("a part looks like 1/3, from 1 on, and {text:?} does not"))
}

/// What holds where no option says anything.
struct Defaults {
    sizes: (u64, u64),
    iters: u32,
    warmup: u32,
    ctas: u32,
    threads: u32,
    updates: u32,
}

impl Defaults {
    /// As NVSHMEM's perftest on a GPU; small on the emulator.
    fn of(test: Test, emulated: bool) -> Self {
        let latency = test.is_latency();
        if emulated {
            let sizes = if test == Test::Gups { (1024, 1024) } else { (256, 1024) };
            let ctas = if latency { 1 } else { 2 };
            return Self { sizes, iters: 3, warmup: 1, ctas, threads: 32, updates: 5 };
        }
        let (sizes, ctas, threads) = match test {
            Test::PutBw | Test::GetBw => ((1 << 10, 32 << 20), 4, 1024),
            Test::PBw | Test::StBw => ((1 << 10, 4 << 20), 32, 1024),
            Test::GBw | Test::GatherBw => ((1 << 10, 8 << 20), 8, 1024),
            Test::Gups => ((64 << 20, 64 << 20), 32, 1024),
            Test::AtomicBw => ((0, 0), 32, 1024),
            _ => ((8, 64 << 10), 1, if test.has(Key::Scope) { 1024 } else { 1 }),
        };
        let (iters, warmup) = match test {
            Test::Gups => (10, 2),
            _ if latency => (500, 50),
            _ => (200, 20),
        };
        Self { sizes, iters, warmup, ctas, threads, updates: 100 }
    }
}

impl Sweep {
    /// The cases, from the smallest on.
    pub(crate) fn cases(&self, test: Test, emulated: bool) -> Result<Vec<Case>, String> {
        let given = [
            (Key::Bytes, "--min-bytes", self.min_bytes.is_some()),
            (Key::Bytes, "--max-bytes", self.max_bytes.is_some()),
            (Key::Bytes, "--factor", self.factor.is_some()),
            (Key::Iters, "--iters", self.iters.is_some()),
            (Key::Iters, "--warmup", self.warmup.is_some()),
            (Key::Scope, "--scope", self.scope.is_some()),
            (Key::Bidir, "--bidir", self.bidir),
            (Key::Offset, "--offset", self.offset.is_some()),
            (Key::Path, "--path", self.path.is_some()),
            (Key::Index, "--index", self.index.is_some()),
            (Key::Op, "--op", self.op.is_some()),
            (Key::Pattern, "--pattern", self.pattern.is_some()),
            (Key::Order, "--order", self.order.is_some()),
            (Key::Updates, "--updates", self.updates.is_some()),
            (Key::Method, "--method", self.method.is_some()),
        ];
        if let Some((_, option, _)) = given.iter().find(|(key, _, given)| *given && !test.has(*key)) {
            return Err(format!("{test} has no option {option}"));
        }
        if self.message_rate && test.is_latency() {
            return Err(format!("{test} tells times, not rates: leave out --message-rate"));
        }
        let defaults = Defaults::of(test, emulated);
        let scope = self.scope.unwrap_or(Scope::Block);
        let mut case = Case::new(test);
        case.scope = scope;
        case.ctas = self.ctas.unwrap_or(defaults.ctas);
        case.threads = self.threads.unwrap_or(defaults.threads);
        case.iters = self.iters.unwrap_or(defaults.iters);
        case.warmup = self.warmup.unwrap_or(defaults.warmup);
        case.offset = self.offset.unwrap_or(0);
        case.bidir = self.bidir;
        case.path = self.path.unwrap_or(case.path);
        case.index = self.index.unwrap_or(case.index);
        case.op = self.op.unwrap_or(case.op);
        case.pattern = self.pattern.unwrap_or(case.pattern);
        case.order = self.order.unwrap_or(case.order);
        if test.has(Key::Updates) {
            case.updates = self.updates.unwrap_or(defaults.updates);
        }
        case.method = self.method.unwrap_or(case.method);
        if !test.has(Key::Bytes) {
            return case.check().map(|()| vec![case]);
        }
        let factor = self.factor.unwrap_or(2);
        if factor < 2 {
            return Err(format!("a size is at least twice the one before: --factor {factor} is less than 2"));
        }
        let (least, greatest) = match (self.min_bytes, self.max_bytes) {
            (None, None) => defaults.sizes,
            (Some(least), None) => (least, defaults.sizes.1.max(least)),
            (None, Some(greatest)) => (defaults.sizes.0.min(greatest), greatest),
            (Some(least), Some(greatest)) => (least, greatest),
        };
        if least > greatest {
            return Err(format!("the least size, {least} bytes, is more than the greatest, {greatest}"));
        }
        let sizes = std::iter::successors(Some(least), |size| size.checked_mul(factor).filter(|_| *size > 0));
        let cases: Vec<Case> =
            sizes.take_while(|size| *size <= greatest).map(|bytes| Case { bytes, ..case }).collect();
        cases.iter().try_for_each(Case::check).map(|()| cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sweep: &Sweep) -> Result<Vec<u64>, String> {
        Ok(sweep.cases(Test::PutBw, true)?.iter().map(|case| case.bytes).collect())
    }

    #[test]
    fn sizes_grow_by_the_factor() {
        let sweep = Sweep { min_bytes: Some(4), max_bytes: Some(300), factor: Some(4), ..Sweep::default() };
        assert_eq!(sizes(&sweep), Ok(vec![4, 16, 64, 256]));
        assert_eq!(sizes(&Sweep { min_bytes: Some(8192), ..Sweep::default() }), Ok(vec![8192]));
        let most = Sweep { min_bytes: Some(1 << 63), max_bytes: Some(u64::MAX), ..Sweep::default() };
        assert_eq!(sizes(&most), Ok(vec![1 << 63]));
    }

    #[test]
    fn every_test_has_cases_without_options() {
        for &test in Test::ALL {
            for emulated in [true, false] {
                let cases = Sweep::default().cases(test, emulated);
                assert!(cases.is_ok_and(|cases| !cases.is_empty()), "{test}");
            }
        }
    }

    #[test]
    fn wrong_options_are_one_sentence() {
        let with = |set: fn(&mut Sweep)| {
            let mut sweep = Sweep::default();
            set(&mut sweep);
            sweep
        };
        for (test, sweep, why) in [
            (Test::PutBw, with(|s| s.factor = Some(1)), "less than 2"),
            (
                Test::PutBw,
                with(|s| (s.min_bytes, s.max_bytes) = (Some(8), Some(4))),
                "is more than the greatest",
            ),
            (Test::PutBw, with(|s| s.min_bytes = Some(6)), "no whole number of them"),
            (Test::PutBw, with(|s| s.ctas = Some(0)), "1 CTA or more"),
            (Test::PutBw, with(|s| s.threads = Some(1025)), "1 to 1024"),
            (Test::PutBw, with(|s| s.op = Some(Op::Add)), "put-bw has no option --op"),
            (Test::PLat, with(|s| s.min_bytes = Some(8)), "p-lat has no option --min-bytes"),
            (Test::PutLat, with(|s| s.message_rate = true), "tells times"),
        ] {
            let error = sweep.cases(test, true).expect_err(why);
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn sizes_and_parts_are_read() {
        assert_eq!(bytes("12"), Ok(12));
        assert_eq!((bytes("4K"), bytes("3m"), bytes("1G")), (Ok(4096), Ok(3 << 20), Ok(1 << 30)));
        for wrong in ["", "K", "-1", "1.5M", "99999999999G", "é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(part("2/3"), Ok((2, 3)));
        for wrong in ["0/3", "4/3", "3", "a/b"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
