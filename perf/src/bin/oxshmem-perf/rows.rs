//! The table of the comparison: what oxshmem is measured at, and against which bars.
//!
//! A side with several cases counts by the best of them. `L` in a row's name means that the two PEs are on two GPUs, `G`
//! that they share one. On the emulator every row is there in small, without bars: steps are no speed.

use crate::case::{Case, Index, Method, Op, Order, Path, Pattern, Scope, Test};
use crate::system::{Name, Ready};

/// A value of some systems' cases that oxshmem is held against.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Whose.
    pub(crate) system: Name,
    /// The best of these.
    pub(crate) cases: Vec<Case>,
    pub(crate) bound: Bound,
    /// The other value is the time that so many bytes take at the rate of the cases.
    pub(crate) moved: Option<u64>,
    /// Holds whatever the bound says, if oxshmem's time is no more than this.
    pub(crate) allowed: Option<Allowed>,
}

/// A time that an operation may take in any case: [`SLACK`](Self::SLACK) times what raw takes for the bytes that one CTA must
/// write, and two round trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub(crate) bytes: u64,
    /// By which the bytes are moved.
    pub(crate) copy: Case,
    pub(crate) round_trip: Case,
}

impl Allowed {
    const SLACK: f64 = 1.2;

    /// In microseconds, if raw's `copy` has a rate of so many GB/s and its round trip takes so many microseconds.
    pub(crate) fn micros(&self, rate: f64, round_trip: f64) -> f64 {
        Self::SLACK * (self.bytes as f64 / rate / 1e3 + 2.0 * round_trip)
    }
}

/// What oxshmem's value, divided by the other, must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// It is told, and may be anything.
    Any,
}

impl Bound {
    pub(crate) fn holds(self, ratio: f64) -> Option<bool> {
        match self {
            Self::AtLeast(bar) => Some(ratio >= bar),
            Self::AtMost(bar) => Some(ratio <= bar),
            Self::Any => None,
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The best of these.
    pub(crate) ours: Vec<Case>,
    /// What raw programs reach at the same; may be empty.
    pub(crate) raw: Vec<Case>,
    pub(crate) bars: Vec<Bar>,
}

impl Row {
    /// A row that raw does too.
    pub(crate) fn new(name: String, ours: Vec<Case>) -> Self {
        Self { name, raw: ours.clone(), ours, bars: Vec::new() }
    }

    pub(crate) fn of(name: String, case: Case) -> Self {
        Self::new(name, vec![case])
    }

    /// Raw does `case` for it.
    fn raw(self, case: Case) -> Self {
        Self { raw: vec![case], ..self }
    }

    pub(crate) fn against_raw(self, bound: Bound) -> Self {
        let cases = self.raw.clone();
        self.against(Name::Raw, cases, bound)
    }

    /// Against NVSHMEM at the same.
    pub(crate) fn against_nvshmem(self, bound: Bound) -> Self {
        let cases = self.ours.clone();
        self.against(Name::Nvshmem, cases, bound)
    }

    pub(crate) fn against(mut self, system: Name, cases: Vec<Case>, bound: Bound) -> Self {
        self.bars.push(Bar { system, cases, bound, moved: None, allowed: None });
        self
    }

    /// Raw's time for `bytes` at the rate of `case`.
    pub(crate) fn against_moved(mut self, bytes: u64, case: Case, bound: Bound) -> Self {
        let moved = Some(bytes);
        self.bars.push(Bar { system: Name::Raw, cases: vec![case], bound, moved, allowed: None });
        self
    }

    /// The last bar holds if the time is no more than `allowed`, too.
    pub(crate) fn or(mut self, allowed: Allowed) -> Self {
        if let Some(bar) = self.bars.last_mut() {
            bar.allowed = Some(allowed);
        }
        self
    }
}

/// Where it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Two GPUs.
    pub(crate) link: bool,
    /// Multiprocessors that a PE has to itself.
    pub(crate) sms: u32,
    pub(crate) emulated: bool,
}

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

impl Place {
    /// Where oxshmem says that it is.
    pub(crate) fn of(ready: &Ready, pes: u32) -> Self {
        let (sms, gpus) = (ready.sms.unwrap_or(1), ready.gpus);
        Self { link: gpus > 1, sms: (sms * gpus / pes).clamp(1, sms), emulated: ready.emulated }
    }

    pub(crate) fn letter(&self) -> &'static str {
        if self.link { "L" } else { "G" }
    }

    /// A size, or what stands for it on the emulator.
    pub(crate) fn bytes(&self, bytes: u64) -> u64 {
        match bytes {
            _ if !self.emulated => bytes,
            large if large > 256 * MIB => 4 * KIB,
            medium if medium > MIB => KIB,
            small => small.min(512),
        }
    }

    pub(crate) fn ctas(&self, ctas: u32) -> u32 {
        if self.emulated { ctas.min(1) } else { ctas }
    }

    /// The most threads of a CTA.
    pub(crate) fn threads(&self) -> u32 {
        if self.emulated { 32 } else { 1024 }
    }

    pub(crate) fn iters(&self, iters: u32) -> u32 {
        if self.emulated { 2 } else { iters }
    }

    /// A case that moves `bytes` by `ctas` full CTAs.
    pub(crate) fn moved(&self, test: Test, scope: Scope, ctas: u32, bytes: u64) -> Case {
        let bytes = self.bytes(bytes);
        let iters = self.iters((2048 * MIB / bytes).clamp(4, 50) as u32);
        let (ctas, threads) = (self.ctas(ctas), self.threads());
        Case { scope, ctas, threads, bytes, iters, ..Case::new(test) }
    }

    /// A case of one CTA at `scope`.
    pub(crate) fn alone(&self, test: Test, scope: Scope, bytes: u64) -> Case {
        let threads = match scope {
            Scope::Thread | Scope::Warp => 32,
            Scope::Block | Scope::Grid => self.threads(),
        };
        let (bytes, iters) = (self.bytes(bytes), self.iters(200));
        Case { scope, ctas: 1, threads, bytes, iters, ..Case::new(test) }
    }

    /// A case of one thread.
    pub(crate) fn single(&self, test: Test) -> Case {
        Case { threads: 1, iters: self.iters(500), ..Case::new(test) }
    }
}

/// A size in words.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= MIB => format!("{} MiB", bytes / MIB),
        bytes if bytes >= KIB => format!("{} KiB", bytes / KIB),
        bytes => format!("{bytes} B"),
    }
}

/// CTAs of the block rows.
pub(crate) const CTAS: [u32; 6] = [1, 4, 8, 16, 32, 64];

/// The cases of a plot: put or get at block scope, by `ctas` CTAs.
pub(crate) fn plotted(place: &Place, test: Test, ctas: u32) -> Case {
    place.moved(test, Scope::Block, ctas, 512 * MIB)
}

/// The levels of a plot: what the copy engine moves, and what raw moves with all multiprocessors.
pub(crate) fn ceilings(place: &Place, test: Test) -> [(&'static str, Case); 2] {
    let copy = place.moved(Test::CopyBw, Scope::Grid, 1, 512 * MIB);
    [
        ("copy engine", copy),
        ("raw, all multiprocessors", place.moved(test, Scope::Grid, place.sms, 512 * MIB)),
    ]
}

/// The rows of the suite `p2p`.
pub(crate) fn p2p(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(blocks(place));
    rows.extend(wholes(place));
    rows.extend(small(place));
    rows.extend(elements(place));
    rows.extend(ping_pongs(place));
    rows.extend(atomics(place));
    rows.extend(told(place));
    for row in &mut rows {
        row.name = format!("{}, {}", row.name, place.letter());
        if place.emulated {
            row.bars.iter_mut().for_each(|bar| bar.bound = Bound::Any);
        }
    }
    // Small sizes fall together on the emulator.
    let mut names = std::collections::BTreeSet::new();
    rows.retain(|row| names.insert(row.name.clone()));
    rows
}

/// Puts and gets at block scope.
fn blocks(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    for (test, word) in [(Test::PutBw, "put"), (Test::GetBw, "get")] {
        for bytes in [8 * MIB, 512 * MIB] {
            for ctas in CTAS {
                let case = place.moved(test, Scope::Block, ctas, bytes);
                let raw = Bound::AtLeast(if test == Test::PutBw && ctas == 1 { 0.97 } else { 0.95 });
                let nvshmem = match (test, ctas) {
                    (Test::PutBw, 1..=8) if bytes > 8 * MIB => Bound::AtLeast(1.15),
                    (Test::PutBw, _) => Bound::AtLeast(1.0),
                    (_, 1..=8) => Bound::AtLeast(2.2),
                    (_, 16) => Bound::AtLeast(1.3),
                    _ => Bound::Any,
                };
                // What a get gains by more loads in flight shows over a link.
                let (raw, nvshmem) = if test == Test::GetBw && !place.link {
                    (Bound::Any, Bound::Any)
                } else {
                    (raw, nvshmem)
                };
                let name =
                    format!("block {word} {} CTAs x {}, {}", case.ctas, case.threads, size(case.bytes));
                rows.push(Row::of(name, case).against_raw(raw).against_nvshmem(nvshmem));
            }
        }
    }
    rows
}

/// The most that puts and gets reach: with few CTAs over a link, with all multiprocessors, and misaligned.
fn wholes(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    if place.link {
        let copy = place.moved(Test::CopyBw, Scope::Block, 1, 512 * MIB);
        for (test, word, ctas, bar) in [
            (Test::PutBw, "put", &[8, 16, 32, 64][..], 0.93),
            (Test::GetBw, "get", &[4, 8, 12, 16][..], 0.95),
        ] {
            let most = ctas.iter().max().copied().unwrap_or(1);
            let cases: Vec<Case> = ctas
                .iter()
                .flat_map(|&ctas| {
                    let case = place.moved(test, Scope::Block, ctas, 512 * MIB);
                    [case, Case { path: Path::Bulk, ..case }]
                })
                .collect();
            let name = format!("best block {word} with at most {most} CTAs, {}", size(cases[0].bytes));
            let mut row = Row::new(name, cases).against(Name::Raw, vec![copy], Bound::AtLeast(bar));
            if test == Test::PutBw {
                // Its send and receive, with as many CTAs as it takes.
                row =
                    row.against(Name::Nccl, vec![place.moved(test, Scope::Block, 1, 512 * MIB)], Bound::Any);
            }
            rows.push(row);
        }
    }
    for (test, word) in [(Test::PutBw, "put"), (Test::GetBw, "get")] {
        let case = place.moved(test, Scope::Grid, place.sms, 512 * MIB);
        let name = format!("grid {word} {} CTAs x {}, {}", case.ctas, case.threads, size(case.bytes));
        rows.push(Row::of(name, case).against_raw(Bound::AtLeast(0.97)));
    }
    let aligned = place.moved(Test::PutBw, Scope::Block, 8, 8 * MIB);
    let case = Case { offset: 4, ..aligned };
    let name = format!("misaligned block put {} CTAs x {}, {}", case.ctas, case.threads, size(case.bytes));
    let row = Row::of(name, case).against(Name::Ours, vec![aligned], Bound::AtLeast(0.8));
    rows.push(row.against_nvshmem(Bound::AtLeast(3.0)));
    rows
}

/// Puts with their quiet.
fn small(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |scope: Scope, bytes, raw, nvshmem| {
        let case = place.alone(Test::PutLat, scope, bytes);
        let row = Row::of(format!("put-lat {scope} {}", size(case.bytes)), case);
        rows.push(row.against_raw(raw).against_nvshmem(nvshmem));
    };
    add(Scope::Thread, 64 * KIB, Bound::Any, Bound::AtMost(0.2));
    add(Scope::Thread, KIB, Bound::Any, Bound::AtMost(1.0 / 3.0));
    add(Scope::Warp, 64 * KIB, Bound::Any, Bound::AtMost(0.2));
    for bytes in (3..=10).map(|power| 1 << power) {
        add(Scope::Block, bytes, Bound::AtMost(1.10), Bound::AtMost(0.97));
    }
    rows
}

/// p and gather.
fn elements(place: &Place) -> Vec<Row> {
    let p = place.moved(Test::PBw, Scope::Block, 32, 4 * MIB);
    let p_name = format!("p-bw {} CTAs x {}, {}", p.ctas, p.threads, size(p.bytes));
    let p = Row::of(p_name, p).raw(Case { test: Test::StBw, ..p }).against_raw(Bound::AtLeast(0.95));
    let mut rows = vec![p.against_nvshmem(Bound::AtLeast(0.97))];
    let g = place.moved(Test::GBw, Scope::Block, 8, 8 * MIB);
    for (index, bound) in [(Index::Contiguous, Bound::AtLeast(2.5)), (Index::Random, Bound::Any)] {
        let case = Case { test: Test::GatherBw, index, ..g };
        let name = format!("gather-bw {index} {} CTAs x {}, {}", case.ctas, case.threads, size(case.bytes));
        rows.push(Row::of(name, case).against(Name::Nvshmem, vec![g], bound).against_raw(Bound::Any));
    }
    rows
}

/// Round trips.
fn ping_pongs(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    let signal = |order| Case { order, ..place.single(Test::SignalPingpong) };
    // NVSHMEM's signal alone is weak; with its fence before it, strong.
    let (weak, strong) = (signal(Order::Weak), signal(Order::Strong));
    let row = Row::of("signal-pingpong weak".into(), weak).against_raw(Bound::AtMost(1.10));
    rows.push(row.against_nvshmem(Bound::Any));
    let row = Row::of("signal-pingpong weak, against fence and signal".into(), weak);
    rows.push(row.against(Name::Nvshmem, vec![strong], Bound::AtMost(0.6)));
    let row = Row::of("signal-pingpong strong".into(), strong).against_raw(Bound::AtMost(1.08));
    rows.push(row.against_nvshmem(Bound::Any));
    for bytes in [8, 16, 32, 64, 128, 256] {
        let scopes =
            |test| [Scope::Thread, Scope::Warp, Scope::Block].map(|scope| place.alone(test, scope, bytes));
        let row =
            Row::new(format!("mailbox-pingpong {}", size(bytes)), scopes(Test::MailboxPingpong).to_vec());
        let theirs = scopes(Test::PutSignalPingpong).to_vec();
        rows.push(row.against_raw(Bound::Any).against(Name::Nvshmem, theirs, Bound::AtMost(0.45)));
    }
    for bytes in [KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB] {
        let case = place.alone(Test::PutSignalPingpong, Scope::Block, bytes);
        let row = Row::of(format!("put-signal-pingpong block {}", size(case.bytes)), case);
        rows.push(row.against_raw(Bound::AtMost(1.1)).against_nvshmem(Bound::Any));
    }
    rows
}

/// Atomics and random updates.
fn atomics(place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    let (ctas, threads, iters) = (place.ctas(32), place.threads(), place.iters(50));
    for &pattern in Pattern::ALL {
        for &op in Op::ALL {
            let case = Case { ctas, threads, iters, op, pattern, ..Case::new(Test::AtomicBw) };
            let row = Row::of(format!("atomic-bw {pattern} {op} {ctas} CTAs x {threads}"), case);
            rows.push(row.against_raw(Bound::AtLeast(0.95)).against_nvshmem(Bound::AtLeast(0.97)));
        }
    }
    for &method in Method::ALL {
        let (bytes, iters, updates) = (place.bytes(64 * MIB), place.iters(10), place.iters(100));
        let case = Case { ctas, threads, bytes, iters, updates, method, ..Case::new(Test::Gups) };
        // Nobody else collects updates: both ways are held against single atomics.
        let single = Case { method: Method::Atomic, ..case };
        let row =
            Row::of(format!("gups {method} {ctas} CTAs x {threads}, {}", size(bytes)), case).raw(single);
        rows.push(row.against_raw(Bound::Any).against(Name::Nvshmem, vec![single], Bound::Any));
    }
    rows
}

/// What is told without a bar.
fn told(place: &Place) -> Vec<Row> {
    let mut cases = Vec::new();
    for test in [Test::Barrier, Test::Sync] {
        for scope in [Scope::Thread, Scope::Warp, Scope::Block] {
            cases.push((format!("{test} {scope}"), Case { threads: 32, ..place.alone(test, scope, 0) }));
        }
    }
    for scope in [Scope::Thread, Scope::Warp, Scope::Block] {
        for bytes in [8, KIB, 64 * KIB] {
            let case = place.alone(Test::GetLat, scope, bytes);
            cases.push((format!("get-lat {scope} {}", size(case.bytes)), case));
        }
    }
    let g = place.moved(Test::GBw, Scope::Block, 32, 4 * MIB);
    cases.push((format!("g-bw {} CTAs x {}, {}", g.ctas, g.threads, size(g.bytes)), g));
    cases.extend([Test::GLat, Test::PLat].map(|test| (test.to_string(), place.single(test))));
    for &op in Op::ALL {
        cases.push((format!("atomic-lat {op}"), Case { op, ..place.single(Test::AtomicLat) }));
    }
    let row = |(name, case): (String, Case)| {
        let row = Row::of(name, case).against_raw(Bound::Any).against_nvshmem(Bound::Any);
        // What it has instead is an all-reduce of one word.
        let by_nccl = place.link && case.test == Test::Barrier && case.scope == Scope::Block;
        if by_nccl { row.against(Name::Nccl, vec![case], Bound::Any) } else { row }
    };
    cases.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> [Place; 3] {
        [(2, false), (1, false), (2, true)].map(|(gpus, emulated)| {
            Place::of(
                &Ready { gpus, emulated, sms: Some(if emulated { 2 } else { 132 }), ..Ready::default() },
                2,
            )
        })
    }

    #[test]
    fn every_case_of_every_row_can_be_asked_for() {
        for place in places() {
            for row in p2p(&place) {
                let cases = [&row.ours[..], &row.raw[..]].concat();
                for case in cases.iter().chain(row.bars.iter().flat_map(|bar| &bar.cases)) {
                    let asked = case.to_string();
                    assert_eq!(asked.parse::<Case>().map(|case| case.to_string()), Ok(asked), "{}", row.name);
                    assert!(!place.emulated || case.bytes <= 4 * KIB && case.threads <= 32, "{case}");
                }
                // Times are held against times, rates against rates.
                let unit = row.ours[0].test.unit();
                for bar in &row.bars {
                    assert!(bar.cases.iter().all(|case| case.test.unit() == unit), "{}", row.name);
                    assert!(!bar.cases.is_empty());
                    let right = match bar.bound {
                        Bound::AtLeast(_) => unit.grows(),
                        Bound::AtMost(_) => !unit.grows(),
                        Bound::Any => true,
                    };
                    assert!(right, "{}", row.name);
                }
            }
        }
    }

    #[test]
    fn rows_say_where_they_are_measured() {
        let [link, shared, _] = places().map(|place| p2p(&place));
        let find = |rows: &[Row], name: &str| rows.iter().find(|row| row.name == name).cloned();
        let block = find(&link, "block get 8 CTAs x 1024, 8 MiB, L").expect("a row");
        assert_eq!(block.bars[1].bound, Bound::AtLeast(2.2));
        let block = find(&shared, "block get 8 CTAs x 1024, 8 MiB, G").expect("a row");
        assert_eq!(block.bars[1].bound, Bound::Any);
        assert!(find(&link, "grid put 132 CTAs x 1024, 512 MiB, L").is_some());
        assert!(find(&shared, "grid put 66 CTAs x 1024, 512 MiB, G").is_some());
        assert!(find(&link, "best block put with at most 64 CTAs, 512 MiB, L").is_some());
        assert!(!shared.iter().any(|row| row.name.starts_with("best")));
    }

    #[test]
    fn a_bar_holds_on_its_side() {
        assert_eq!(
            (Bound::AtLeast(1.0).holds(1.0), Bound::AtLeast(1.0).holds(0.99)),
            (Some(true), Some(false))
        );
        assert_eq!(
            (Bound::AtMost(0.5).holds(0.5), Bound::AtMost(0.5).holds(0.51)),
            (Some(true), Some(false))
        );
        assert_eq!(Bound::Any.holds(1.0), None);
    }
}
