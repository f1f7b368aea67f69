//! A case: one test with everything that it is run with. The command line, the protocol and the rows of a comparison all
//! speak of cases; in the protocol a case is one line, `put-bw scope=block ctas=8 threads=1024 bytes=8388608 iters=20`.

use std::fmt;
use std::str::FromStr;

/// Makes enums whose values have names in the protocol.
macro_rules! named {
    ($($(#[$doc:meta])* $ty:ident: $what:literal { $($(#[$of:meta])* $variant:ident = $name:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) enum $ty {
                $($(#[$of])* $variant,)*
            }

            impl $ty {
                /// Every value.
                pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

                /// Its name.
                pub(crate) fn name(self) -> &'static str {
                    match self {
                        $(Self::$variant => $name,)*
                    }
                }
            }

            impl FromStr for $ty {
                type Err = String;
                fn from_str(text: &str) -> Result<Self, String> {
                    Self::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| {
                        let names: Vec<&str> = Self::ALL.iter().map(|value| value.name()).collect();
                        format!("{} is one of {}, not {text:?}", $what, names.join(", "))
                    })
                }
            }

            impl fmt::Display for $ty {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.name())
                }
            }
        )*
    };
}

named! {
    /// What is measured.
    Test: "a test" {
        PutBw = "put-bw",
        GetBw = "get-bw",
        PBw = "p-bw",
        StBw = "st-bw",
        GBw = "g-bw",
        GatherBw = "gather-bw",
        PutLat = "put-lat",
        GetLat = "get-lat",
        PLat = "p-lat",
        GLat = "g-lat",
        SignalPingpong = "signal-pingpong",
        PutSignalPingpong = "put-signal-pingpong",
        MailboxPingpong = "mailbox-pingpong",
        AtomicBw = "atomic-bw",
        AtomicLat = "atomic-lat",
        Barrier = "barrier",
        Sync = "sync",
        Gups = "gups",
        Broadcast = "broadcast",
        Fcollect = "fcollect",
        Alltoall = "alltoall",
        Reduce = "reduce",
        CopyBw = "copy-bw",
    }
    /// Who performs an operation together.
    Scope: "a scope" { Thread = "thread", Warp = "warp", Block = "block", Grid = "grid", }
    /// Which way data takes through a multiprocessor.
    Path: "a path" {
        /// Loads and stores.
        Copy = "copy",
        /// The bulk engine, through shared memory.
        Bulk = "bulk",
    }
    /// How a signal is ordered.
    Order: "an order" { Weak = "weak", Strong = "strong", }
    /// What a gather's numbers are.
    Index: "an index" { Contiguous = "contiguous", Random = "random", }
    /// An atomic operation.
    Op: "an op" { Add = "add", FetchAdd = "fetch-add", }
    /// Which words the threads update.
    Pattern: "a pattern" {
        /// Neighbours.
        Adjacent = "adjacent",
        /// All the same.
        One = "one",
        /// 128 bytes apart.
        Spread = "spread",
    }
    /// How random updates are sent.
    Method: "a method" { Atomic = "atomic", Aggregated = "aggregated", }
    /// What a case's lines and options set.
    Key: "a key" {
        Scope = "scope",
        Ctas = "ctas",
        Threads = "threads",
        Bytes = "bytes",
        Iters = "iters",
        Offset = "offset",
        Bidir = "bidir",
        Path = "path",
        Inflight = "inflight",
        Order = "order",
        Index = "index",
        Op = "op",
        Pattern = "pattern",
        Updates = "updates",
        Method = "method",
    }
}

/// What a case's time says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 1e9 bytes a second.
    GigabytesPerSecond,
    /// 1e6 operations a second.
    MegaPerSecond,
    /// Microseconds an iteration.
    Micros,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GigabytesPerSecond => "GB/s",
            Self::MegaPerSecond => "M/s",
            Self::Micros => "us",
        }
    }

    /// Whether more is better.
    pub(crate) fn grows(self) -> bool {
        self != Self::Micros
    }
}

/// Untimed iterations of a request of the protocol.
pub(crate) const WARMUP: u32 = 2;

/// A test with its parameters. Those that its test does not have keep their defaults and mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) test: Test,
    pub(crate) scope: Scope,
    pub(crate) ctas: u32,
    pub(crate) threads: u32,
    /// Of one iteration over all CTAs; gups: of a PE's table; collective operations: what the root sends, what each PE gives,
    /// what each PE sends each, what each PE gives.
    pub(crate) bytes: u64,
    pub(crate) iters: u32,
    /// Not a part of the protocol.
    pub(crate) warmup: u32,
    /// Bytes by which the source's start is moved.
    pub(crate) offset: u64,
    pub(crate) bidir: bool,
    pub(crate) path: Path,
    /// Loads in flight per thread; a key of raw.
    pub(crate) inflight: Option<u32>,
    pub(crate) order: Order,
    pub(crate) index: Index,
    pub(crate) op: Op,
    pub(crate) pattern: Pattern,
    /// Of each thread in one iteration.
    pub(crate) updates: u32,
    pub(crate) method: Method,
}

impl Test {
    /// The keys that it has.
    pub(crate) fn keys(self) -> &'static [Key] {
        use Key::{
            Bidir, Bytes, Ctas, Index, Inflight, Iters, Method, Offset, Op, Order, Path, Pattern, Scope,
            Threads, Updates,
        };
        match self {
            Self::PutBw | Self::GetBw => &[Scope, Ctas, Threads, Bytes, Iters, Offset, Bidir, Path, Inflight],
            Self::PBw | Self::StBw | Self::GBw => &[Ctas, Threads, Bytes, Iters],
            Self::GatherBw => &[Ctas, Threads, Bytes, Iters, Index],
            Self::PutLat | Self::GetLat | Self::PutSignalPingpong | Self::MailboxPingpong => {
                &[Scope, Ctas, Threads, Bytes, Iters]
            }
            Self::PLat | Self::GLat => &[Ctas, Threads, Iters],
            Self::SignalPingpong => &[Ctas, Threads, Iters, Order],
            Self::AtomicBw => &[Ctas, Threads, Iters, Op, Pattern],
            Self::AtomicLat => &[Ctas, Threads, Iters, Op],
            Self::Barrier | Self::Sync => &[Scope, Ctas, Threads, Iters],
            Self::Gups => &[Ctas, Threads, Bytes, Iters, Updates, Method],
            Self::Broadcast | Self::Fcollect | Self::Alltoall | Self::Reduce => {
                &[Scope, Ctas, Threads, Bytes, Iters]
            }
            Self::CopyBw => &[Bytes, Iters],
        }
    }

    pub(crate) fn has(self, key: Key) -> bool {
        self.keys().contains(&key)
    }

    /// Whether every iteration is timed by itself.
    pub(crate) fn is_latency(self) -> bool {
        self.unit() == Unit::Micros
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::PutBw
            | Self::GetBw
            | Self::PBw
            | Self::StBw
            | Self::GBw
            | Self::GatherBw
            | Self::CopyBw => Unit::GigabytesPerSecond,
            Self::AtomicBw | Self::Gups => Unit::MegaPerSecond,
            Self::PutLat | Self::GetLat | Self::PLat | Self::GLat | Self::AtomicLat => Unit::Micros,
            Self::SignalPingpong | Self::PutSignalPingpong | Self::MailboxPingpong => Unit::Micros,
            Self::Barrier | Self::Sync => Unit::Micros,
            Self::Broadcast | Self::Fcollect | Self::Alltoall | Self::Reduce => Unit::Micros,
        }
    }

    /// Bytes of one element.
    pub(crate) fn element(self) -> u64 {
        match self {
            Self::GBw | Self::GatherBw | Self::Gups | Self::MailboxPingpong => 8,
            _ => 4,
        }
    }

    /// Whether all PEs move data together.
    pub(crate) fn is_collective(self) -> bool {
        matches!(self, Self::Broadcast | Self::Fcollect | Self::Alltoall | Self::Reduce)
    }

    /// Whether it is between PE 0 and PE 1, and no others.
    pub(crate) fn is_between_two(self) -> bool {
        !(self.is_collective() || matches!(self, Self::Barrier | Self::Sync | Self::Gups))
    }
}

impl Case {
    /// A small case of `test`.
    pub(crate) const fn new(test: Test) -> Self {
        Self {
            test,
            scope: Scope::Block,
            ctas: 1,
            threads: 32,
            bytes: 1024,
            iters: 10,
            warmup: WARMUP,
            offset: 0,
            bidir: false,
            path: Path::Copy,
            inflight: None,
            order: Order::Strong,
            index: Index::Contiguous,
            op: Op::Add,
            pattern: Pattern::Adjacent,
            updates: 1,
            method: Method::Atomic,
        }
    }

    /// What is wrong with it, whatever it would run on.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { test, scope, ctas, threads, bytes, .. } = *self;
        let refuse = |what: String| Err(what);
        if ctas == 0 {
            return refuse("a launch has 1 CTA or more, not 0".into());
        }
        if threads == 0 || threads > 1024 {
            return refuse(format!("a CTA has 1 to 1024 threads, not {threads}"));
        }
        if self.iters == 0 {
            return refuse("there is 1 timed iteration or more, not 0".into());
        }
        if self.updates == 0 {
            return refuse("a thread makes 1 update or more, not 0".into());
        }
        let turns = self.iters.checked_add(self.warmup).and_then(|turns| turns.checked_mul(self.updates));
        if turns.is_none() {
            let (iters, warmup) = (self.iters, self.warmup);
            return refuse(format!("{iters} iterations and {warmup} before are too many"));
        }
        if test.has(Key::Bytes) && (bytes == 0 || !bytes.is_multiple_of(test.element())) {
            return refuse(format!(
                "{test} moves elements of {} bytes, and {bytes} bytes are no whole number of them",
                test.element()
            ));
        }
        if !self.offset.is_multiple_of(4) {
            return refuse(format!("an offset is a multiple of 4 bytes, and {} is not", self.offset));
        }
        if scope == Scope::Warp && test.has(Key::Scope) && !threads.is_multiple_of(32) {
            return refuse(format!("at warp scope a CTA has a multiple of 32 threads, not {threads}"));
        }
        let moves_alone = test.has(Key::Bytes) && test.is_latency() && !test.is_collective();
        if scope == Scope::Grid && test.has(Key::Scope) && moves_alone {
            return refuse(format!("{test} has the scopes thread, warp and block, not grid"));
        }
        if test.is_latency() && ctas != 1 && !(scope == Scope::Grid && test.has(Key::Scope)) {
            return refuse(format!("{test} is done by one CTA, not {ctas}"));
        }
        if self.path == Path::Bulk && scope != Scope::Block {
            return refuse(format!("the bulk path is taken at block scope, not at {scope} scope"));
        }
        Ok(())
    }

    /// How many operations an iteration has, over all threads of a PE that call one.
    pub(crate) fn operations(&self) -> u64 {
        let (ctas, threads) = (u64::from(self.ctas), u64::from(self.threads));
        match (self.test, self.scope) {
            (Test::PutBw | Test::GetBw, Scope::Thread) => ctas * threads,
            (Test::PutBw | Test::GetBw, Scope::Warp) => ctas * threads.div_ceil(32),
            (Test::PutBw | Test::GetBw, Scope::Block) => ctas,
            (Test::PBw | Test::StBw | Test::GBw | Test::GatherBw, _) => self.bytes / self.test.element(),
            (Test::AtomicBw, _) => ctas * threads,
            (Test::Gups, _) => ctas * threads * u64::from(self.updates),
            _ => 1,
        }
    }

    /// Its value, in its test's unit, if its iterations took `ns` together on `pes` PEs; `None` if no time passed.
    pub(crate) fn value(&self, ns: f64, pes: u32) -> Option<f64> {
        let iters = f64::from(self.iters);
        let value = match self.test.unit() {
            Unit::GigabytesPerSecond => self.bytes as f64 * iters * if self.bidir { 2.0 } else { 1.0 } / ns,
            Unit::MegaPerSecond => {
                let both = if self.test == Test::Gups { f64::from(pes) } else { 1.0 };
                self.operations() as f64 * both * iters * 1e3 / ns
            }
            Unit::Micros => ns / iters / 1e3,
        };
        (ns > 0.0 && value.is_finite()).then_some(value)
    }

    /// Sets what `key=value` says.
    fn set(&mut self, key: Key, value: &str) -> Result<(), String> {
        fn number<T: FromStr>(key: Key, value: &str) -> Result<T, String> {
            value.parse().map_err(|_| format!("{key} is a whole number in range, not {value:?}"))
        }
        match key {
            Key::Scope => self.scope = value.parse()?,
            Key::Ctas => self.ctas = number(key, value)?,
            Key::Threads => self.threads = number(key, value)?,
            Key::Bytes => self.bytes = number(key, value)?,
            Key::Iters => self.iters = number(key, value)?,
            Key::Offset => self.offset = number(key, value)?,
            Key::Bidir => {
                self.bidir = match value {
                    "0" => false,
                    "1" => true,
                    _ => return Err(format!("bidir is 0 or 1, not {value:?}")),
                }
            }
            Key::Path => self.path = value.parse()?,
            Key::Inflight => self.inflight = Some(number(key, value)?),
            Key::Order => self.order = value.parse()?,
            Key::Index => self.index = value.parse()?,
            Key::Op => self.op = value.parse()?,
            Key::Pattern => self.pattern = value.parse()?,
            Key::Updates => self.updates = number(key, value)?,
            Key::Method => self.method = value.parse()?,
        }
        Ok(())
    }

    /// What stands behind `key=`; `None` for what need not be said.
    fn shown(&self, key: Key) -> Option<String> {
        Some(match key {
            Key::Scope => self.scope.to_string(),
            Key::Ctas => self.ctas.to_string(),
            Key::Threads => self.threads.to_string(),
            Key::Bytes => self.bytes.to_string(),
            Key::Iters => self.iters.to_string(),
            Key::Offset => (self.offset != 0).then(|| self.offset.to_string())?,
            Key::Bidir => self.bidir.then(|| "1".to_owned())?,
            Key::Path => (self.path != Path::Copy).then(|| self.path.to_string())?,
            Key::Inflight => self.inflight?.to_string(),
            Key::Order => self.order.to_string(),
            Key::Index => self.index.to_string(),
            Key::Op => self.op.to_string(),
            Key::Pattern => self.pattern.to_string(),
            Key::Updates => self.updates.to_string(),
            Key::Method => self.method.to_string(),
        })
    }
}

impl fmt::Display for Case {
    /// The line of the protocol.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.test)?;
        for &key in self.test.keys() {
            if let Some(value) = self.shown(key) {
                write!(f, " {key}={value}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Case {
    type Err = String;
    /// From a line of the protocol. What it does not say is as in [`Case::new`].
    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let mut case = Self::new(words.next().unwrap_or_default().parse()?);
        for word in words {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| format!("a key is set by KEY=VALUE, and {word:?} is not"))?;
            let key: Key = key.parse()?;
            if !case.test.has(key) {
                return Err(format!("{} has no key {key}", case.test));
            }
            case.set(key, value)?;
        }
        case.check().map(|()| case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_line_that_says_it() {
        for &test in Test::ALL {
            let case = Case::new(test);
            assert_eq!(case.to_string().parse(), Ok(case), "{test}");
        }
        let line = "put-bw scope=warp ctas=8 threads=64 bytes=4096 iters=20 offset=4 bidir=1 inflight=8";
        assert_eq!(line.parse::<Case>().map(|case| case.to_string()), Ok(line.to_owned()));
        let line = "gups ctas=2 threads=64 bytes=4096 iters=3 updates=20 method=aggregated";
        assert_eq!(line.parse::<Case>().map(|case| case.to_string()), Ok(line.to_owned()));
    }

    #[test]
    fn what_no_test_can_be_asked_is_refused_in_a_sentence() {
        for (line, why) in [
            ("", "a test is one of"),
            ("swim-bw", "a test is one of"),
            ("put-bw scope=team", "a scope is one of"),
            ("put-bw op=add", "put-bw has no key op"),
            ("put-bw colour=red", "a key is one of"),
            ("put-bw ctas", "KEY=VALUE"),
            ("put-bw ctas=-1", "ctas is a whole number"),
            ("put-bw ctas=4294967296", "ctas is a whole number"),
            ("put-bw ctas=0", "1 CTA or more"),
            ("put-bw threads=0", "1 to 1024 threads"),
            ("put-bw threads=1025", "1 to 1024 threads"),
            ("put-bw iters=0", "1 timed iteration"),
            ("put-bw iters=4294967295", "too many"),
            ("put-bw bytes=0", "no whole number"),
            ("put-bw bytes=6", "no whole number"),
            ("g-bw bytes=4", "elements of 8 bytes"),
            ("put-bw offset=3", "multiple of 4"),
            ("put-bw bidir=2", "bidir is 0 or 1"),
            ("put-bw scope=warp threads=48", "multiple of 32"),
            ("put-bw scope=grid path=bulk", "at block scope"),
            ("put-lat scope=grid", "not grid"),
            ("put-lat ctas=2", "by one CTA"),
            ("gups updates=0", "1 update or more"),
        ] {
            let error = line.parse::<Case>().expect_err(line);
            assert!(error.contains(why), "{line}: {error}");
            assert!(!error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn a_value_is_in_the_tests_unit() {
        let case = Case { bytes: 1000, iters: 10, ..Case::new(Test::PutBw) };
        assert_eq!(case.value(100.0, 2), Some(100.0));
        assert_eq!(Case { bidir: true, ..case }.value(100.0, 2), Some(200.0));
        assert_eq!(case.value(0.0, 2), None);
        assert_eq!(Case { iters: 10, ..Case::new(Test::PutLat) }.value(20_000.0, 2), Some(2.0));
        let atomics = Case { ctas: 2, threads: 50, iters: 10, ..Case::new(Test::AtomicBw) };
        assert_eq!(atomics.value(1000.0, 2), Some(1000.0));
        let gups = Case { ctas: 2, threads: 50, updates: 5, iters: 2, ..Case::new(Test::Gups) };
        assert_eq!(gups.value(1000.0, 3), Some(3000.0));
    }
}
