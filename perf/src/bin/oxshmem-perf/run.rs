//! Runs a case on oxshmem: makes its data, launches its kernel on the PEs that take part, and looks at the data.
//!
//! | step | who |
//! |---|---|
//! | allocate, fill the source, poison the target; all PEs meet | all |
//! | launch the kernel, wait for it | PE 0; PE 1 too where both send or wait |
//! | tell each other whether it could be launched; all PEs meet | all |
//! | compare the data where it has come | its PE |
//! | tell each other what was found | all |

use crate::case::{Case, Index, Key, Method, Op, Order, Path, Pattern, Scope, Test};
use crate::check::{Checker, Found, GUARD, times};
use crate::error::Trouble;
use crate::stats;
use oxshmem::{DeviceVec, Error, LaunchConfig, Reach, Shmem};
use oxshmem_perf::kernels::who::{OnBlock, OnGrid, OnThread, OnWarp};
use oxshmem_perf::kernels::{atomics, bandwidth, barrier, collective, element, latency, ping_pong, time};

/// Most iterations that are timed one by one.
const STAMPS: usize = 4096;

/// Elements of the chain that g-lat follows.
const CHAIN: u64 = 1024;

/// Words between two threads' in the spread pattern: 128 bytes.
const SPREAD: u32 = 16;

/// What came out of a case, whose data was right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Nanoseconds of all timed iterations.
    pub(crate) ns: f64,
    /// Of single iterations, in nanoseconds: the median and the 99th percentile.
    pub(crate) each: Option<(f64, f64)>,
}

/// Collective. Runs `case` with buffers of at most `memory` bytes and data that `seed` fixes. The outcome is the same on
/// all PEs, but for the times of single iterations, which PE 0 has.
pub(crate) fn run(shmem: &Shmem, case: &Case, memory: u64, seed: u32) -> Result<Outcome, Trouble> {
    case.check().map_err(Trouble::Refused)?;
    if !has(case) {
        return Err(Trouble::Unknown);
    }
    if case.test.is_between_two() && shmem.n_pes() != 2 {
        return Err(Trouble::Refused(format!("{} needs 2 PEs and there are {}", case.test, shmem.n_pes())));
    }
    let bytes = match case.test {
        Test::Fcollect | Test::Alltoall => case.bytes.checked_mul(shmem.n_pes().into()),
        _ => case.bytes.checked_add(case.offset),
    };
    let needed = bytes.and_then(|bytes| bytes.checked_add(8 * GUARD as u64));
    if case.test.has(Key::Bytes) && needed.is_none_or(|needed| needed > memory) {
        let (bytes, guard) = (case.bytes, 8 * GUARD);
        let what = format!(
            "{bytes} bytes, an offset of {} and {guard} bytes to check are more than a buffer's {memory}",
            case.offset
        );
        return Err(Trouble::Refused(what));
    }
    let stamps = if case.test.is_latency() { STAMPS.min(case.iters as usize) } else { 0 };
    let bench = Bench {
        shmem,
        case,
        seed,
        config: LaunchConfig::blocks(case.ctas).threads(case.threads),
        checker: Checker::new(shmem)?,
        times: times(shmem, stamps)?,
        me: shmem.my_pe(),
        peer: u32::from(shmem.my_pe() == 0),
    };
    match case.test {
        Test::PutBw | Test::PBw | Test::StBw | Test::PutLat | Test::PLat => bench.sent(),
        Test::PutSignalPingpong => bench.sent_to_and_fro(),
        Test::MailboxPingpong => bench.mailed(),
        Test::GetBw | Test::GetLat => bench.fetched(),
        Test::GBw | Test::GatherBw => bench.fetched_words(),
        Test::GLat => bench.followed(),
        Test::SignalPingpong => bench.signalled(),
        Test::AtomicBw | Test::AtomicLat => bench.counted(),
        Test::Barrier | Test::Sync => bench.met(),
        Test::Gups => bench.updated(),
        Test::Broadcast | Test::Fcollect | Test::Alltoall | Test::Reduce => bench.collected(),
        Test::CopyBw => Err(Trouble::Unknown),
    }
}

/// Whether oxshmem has the test in this form.
fn has(case: &Case) -> bool {
    // The copy engine is the driver's, and how many loads are in flight the library's business.
    case.test != Test::CopyBw && case.inflight.is_none()
}

struct Bench<'a> {
    shmem: &'a Shmem,
    case: &'a Case,
    seed: u32,
    config: LaunchConfig,
    checker: Checker<'a>,
    times: DeviceVec<u64>,
    me: u32,
    peer: u32,
}

/// Launches the instance of a kernel for a scope; `or grid`: of one that has grid scope too.
macro_rules! at_scope {
    ($scope:expr, $module:ident::$kernel:ident $arguments:tt or grid) => {
        match $scope {
            Scope::Grid => $module::$kernel::<OnGrid>::launch $arguments,
            within => at_scope!(within, $module::$kernel $arguments),
        }
    };
    ($scope:expr, $module:ident::$kernel:ident $arguments:tt) => {
        match $scope {
            Scope::Thread => $module::$kernel::<OnThread>::launch $arguments,
            Scope::Warp => $module::$kernel::<OnWarp>::launch $arguments,
            Scope::Block => $module::$kernel::<OnBlock>::launch $arguments,
            Scope::Grid => Err(Error::Config { what: "the kernel has no grid scope".into() }),
        }
    };
}

impl Bench<'_> {
    /// put-bw, p-bw, st-bw, put-lat, p-lat.
    fn sent(&self) -> Result<Outcome, Trouble> {
        let (s, c, times, peer) = (self.shmem, self.config, &self.times, self.peer);
        let Case { iters, warmup, offset, scope, .. } = *self.case;
        let elements = if self.case.test == Test::PLat { 1 } else { self.case.bytes as usize / 4 };
        let start = offset as usize / 4;
        let source = self.checker.source::<u32>(start + elements, self.data_of(self.me))?;
        let target = self.checker.target::<u32>(elements)?;
        let (to, from) = (target.slice(0, elements), source.slice(start, elements));
        let launch = || match (self.case.test, self.case.path) {
            (Test::PutBw, Path::Bulk) => {
                bandwidth::put_staged_bw::launch(s, c, to, from, times, iters, warmup, peer)
            }
            (Test::PutBw, Path::Copy) => {
                at_scope!(scope, bandwidth::put_bw (s, c, to, from, times, iters, warmup, peer) or grid)
            }
            (Test::PBw, _) => element::p_bw::launch(s, c, to, from, times, iters, warmup, peer),
            (Test::StBw, _) => element::st_bw::launch(s, c, to, from, times, iters, warmup, peer),
            (Test::PutLat, _) => match scope {
                Scope::Thread => {
                    latency::put_lat::<OnThread>::launch(s, c, to, from, times, iters, warmup, peer)
                }
                Scope::Warp => latency::put_lat::<OnWarp>::launch(s, c, to, from, times, iters, warmup, peer),
                _ => latency::put_lat_block::launch(s, c, to, from, times, iters, warmup, peer),
            },
            _ => latency::p_lat::launch(s, c, to, from, times, iters, warmup, peer),
        };
        let receives = self.me == 1 || self.case.bidir;
        let look = || match receives {
            true => self.checker.compare(&target, self.data_of(peer), start as u64),
            false => Ok(Found::default()),
        };
        self.measure(self.me == 0 || self.case.bidir, launch, look)
    }

    /// put-signal-pingpong.
    fn sent_to_and_fro(&self) -> Result<Outcome, Trouble> {
        let Case { iters, warmup, bytes, scope, .. } = *self.case;
        let elements = bytes as usize / 4;
        let source = self.checker.source::<u32>(elements, self.data_of(self.me))?;
        let target = self.checker.target::<u32>(elements)?;
        let signals = self.shmem.alloc_signals(1)?;
        let (to, from) = (target.slice(0, elements), source.handle());
        let launch = || {
            at_scope!(
                scope,
                ping_pong::put_signal_pingpong(
                    self.shmem,
                    self.config,
                    to,
                    from,
                    signals.at(0),
                    &self.times,
                    iters,
                    warmup,
                    self.peer
                )
            )
        };
        self.measure(true, launch, || self.checker.compare(&target, self.data_of(self.peer), 0))
    }

    /// mailbox-pingpong.
    fn mailed(&self) -> Result<Outcome, Trouble> {
        let (s, c, times, peer) = (self.shmem, self.config, &self.times, self.peer);
        let Case { iters, warmup, bytes, scope, .. } = *self.case;
        let elements = bytes as usize / 8;
        let source = self.checker.source::<u64>(elements, self.data_of(self.me))?;
        let target = self.checker.target::<u64>(elements)?;
        let packets = s.alloc_packets::<u64>(elements)?;
        let (to, from) = (target.slice(0, elements), source.handle());
        let launch = || {
            at_scope!(
                scope,
                ping_pong::mailbox_pingpong(s, c, to, from, &packets, times, iters, warmup, peer)
            )
        };
        self.measure(true, launch, || self.checker.compare(&target, self.data_of(self.peer), 0))
    }

    /// get-bw, get-lat.
    fn fetched(&self) -> Result<Outcome, Trouble> {
        let (s, c, times, peer) = (self.shmem, self.config, &self.times, self.peer);
        let Case { iters, warmup, offset, scope, .. } = *self.case;
        let (start, elements) = (offset as usize / 4, self.case.bytes as usize / 4);
        let source = self.checker.source::<u32>(start + elements, self.data_of(self.me))?;
        let target = self.checker.target::<u32>(elements)?;
        let (to, from) = (target.slice(0, elements), source.slice(start, elements));
        let ready = s.alloc_signals(1)?;
        let launch = || match (self.case.test, self.case.path) {
            (Test::GetBw, Path::Bulk) => {
                bandwidth::get_staged_bw::launch(s, c, to, from, times, iters, warmup, peer)
            }
            (Test::GetBw, Path::Copy) => {
                at_scope!(scope, bandwidth::get_bw (s, c, to, from, times, iters, warmup, peer) or grid)
            }
            _ => {
                let ready = ready.at(0);
                match scope {
                    Scope::Thread => latency::get_lat::<OnThread>::launch(
                        s, c, to, from, ready, times, iters, warmup, peer,
                    ),
                    Scope::Warp => {
                        latency::get_lat::<OnWarp>::launch(s, c, to, from, ready, times, iters, warmup, peer)
                    }
                    _ => latency::get_lat_block::launch(s, c, to, from, ready, times, iters, warmup, peer),
                }
            }
        };
        let fetches = self.me == 0 || self.case.bidir;
        let look = || match fetches {
            true => self.checker.compare(&target, self.data_of(peer), start as u64),
            false => Ok(Found::default()),
        };
        self.measure(fetches, launch, look)
    }

    /// g-bw, gather-bw.
    fn fetched_words(&self) -> Result<Outcome, Trouble> {
        let (s, c, times, peer) = (self.shmem, self.config, &self.times, self.peer);
        let Case { iters, warmup, .. } = *self.case;
        let elements = self.case.bytes as usize / 8;
        let source = self.checker.source::<u64>(elements, self.data_of(self.me))?;
        let target = self.checker.target::<u64>(elements)?;
        let numbers = self.checker.numbers(elements, self.seed, self.case.index == Index::Random)?;
        let to = target.slice(0, elements);
        let gathers = self.case.test == Test::GatherBw;
        let launch = || match gathers {
            true => element::gather_bw::launch(s, c, to, &source, &numbers, times, iters, warmup, peer),
            false => element::g_bw::launch(s, c, to, &source, times, iters, warmup, peer),
        };
        let look = || match (self.me, gathers) {
            (0, true) => self.checker.compare_gathered(&target, &numbers, self.data_of(peer)),
            (0, false) => self.checker.compare(&target, self.data_of(peer), 0),
            _ => Ok(Found::default()),
        };
        self.measure(self.me == 0, launch, look)
    }

    /// g-lat.
    fn followed(&self) -> Result<Outcome, Trouble> {
        let Case { iters, warmup, .. } = *self.case;
        let source = self.checker.chain(CHAIN as usize)?;
        let target = self.checker.target::<u64>(1)?;
        let launch = || {
            let to = target.slice(0, 1);
            latency::g_lat::launch(
                self.shmem,
                self.config,
                to,
                &source,
                &self.times,
                iters,
                warmup,
                self.peer,
            )
        };
        let look = || {
            let end = u64::from(iters + warmup) % CHAIN;
            let wrong = self.me == 0 && target.read()?[0] != end;
            Ok(Found { wrong: wrong.into(), at: 0 })
        };
        self.measure(self.me == 0, launch, look)
    }

    /// signal-pingpong.
    fn signalled(&self) -> Result<Outcome, Trouble> {
        let Case { iters, warmup, .. } = *self.case;
        let signals = self.shmem.alloc_signals(1)?;
        let weak = u32::from(self.case.order == Order::Weak);
        let launch = || {
            let signal = signals.at(0);
            let (shmem, times) = (self.shmem, &self.times);
            ping_pong::signal_pingpong::launch(
                shmem,
                self.config,
                signal,
                times,
                iters,
                warmup,
                weak,
                self.peer,
            )
        };
        let look = || {
            let wrong = signals.values()?[0] != u64::from(iters + warmup);
            Ok(Found { wrong: wrong.into(), at: 0 })
        };
        self.measure(true, launch, look)
    }

    /// atomic-bw, atomic-lat.
    fn counted(&self) -> Result<Outcome, Trouble> {
        let (s, c, times, peer) = (self.shmem, self.config, &self.times, self.peer);
        let Case { iters, warmup, op, .. } = *self.case;
        let rounds = u64::from(iters + warmup);
        let threads = u64::from(self.case.ctas) * u64::from(self.case.threads);
        let one = self.case.test == Test::AtomicLat || self.case.pattern == Pattern::One;
        let stride = match self.case.pattern {
            _ if one => 0,
            Pattern::Spread => SPREAD,
            _ => 1,
        };
        // At least the word that is behind the last one that is updated.
        let words = 1 + u64::from(stride.max(1)) * if one { 1 } else { threads };
        let words = self.shmem.alloc_atomics::<u64>(words as usize, Reach::World)?;
        let launch = || match (self.case.test, op) {
            (Test::AtomicLat, _) => atomics::atomic_lat::launch(
                s,
                c,
                &words,
                times,
                u32::from(op == Op::FetchAdd),
                iters,
                warmup,
                peer,
            ),
            (_, Op::Add) => atomics::atomic_add_bw::launch(s, c, &words, times, stride, iters, warmup, peer),
            (_, Op::FetchAdd) => {
                atomics::atomic_fetch_add_bw::launch(s, c, &words, times, stride, iters, warmup, peer)
            }
        };
        let each = if one && self.case.test == Test::AtomicBw { rounds * threads } else { rounds };
        let look = || match self.me {
            1 => self.checker.compare_words(&words, stride.into(), threads, each),
            _ => Ok(Found::default()),
        };
        self.measure(self.me == 0, launch, look)
    }

    /// barrier, sync.
    fn met(&self) -> Result<Outcome, Trouble> {
        let (s, c, times) = (self.shmem, self.config, &self.times);
        let Case { iters, warmup, scope, .. } = *self.case;
        let light = u32::from(self.case.test == Test::Sync);
        let met = self.shmem.alloc_zeroed::<u64>(2)?;
        let launch = || at_scope!(scope, barrier::barrier(s, c, &met, times, iters, warmup, light) or grid);
        self.measure(true, launch, || {
            let wrong = met.read()?[1] != barrier::ROUNDS;
            Ok(Found { wrong: wrong.into(), at: 0 })
        })
    }

    /// gups.
    fn updated(&self) -> Result<Outcome, Trouble> {
        let table = self.shmem.alloc_atomics::<u64>(self.case.bytes as usize / 8, Reach::World)?;
        let added = self.shmem.alloc_atomics::<u64>(1, Reach::World)?;
        let Case { iters, warmup, updates, .. } = *self.case;
        let seed = u64::from(self.seed) << 40;
        let (s, c, added_here, times) = (self.shmem, self.config, added.at(0), &self.times);
        let inbox = match self.case.method {
            Method::Atomic => None,
            Method::Aggregated if s.n_pes() as usize > atomics::PES => {
                let what = format!("this test has bins for {} PEs and there are {}", atomics::PES, s.n_pes());
                return Err(Trouble::Refused(what));
            }
            Method::Aggregated => Some(s.alloc_update_inbox::<u64>(self.case.ctas, atomics::BATCH as u32)?),
        };
        let launch = || match &inbox {
            None => {
                let (iters, warmup) = (iters * updates, warmup * updates);
                atomics::gups::launch(s, c, &table, added_here, times, seed, iters, warmup)
            }
            Some(inbox) => atomics::gups_aggregated::launch(
                s,
                c,
                &table,
                added_here,
                inbox,
                times,
                seed,
                iters * updates,
            ),
        };
        let look = || {
            let own = [self.checker.sum(&table)?, added.values()?[0]];
            let all = self.shmem.all_gather(&own)?;
            let sum = |which: usize| all.iter().fold(0u64, |sum, of| sum.wrapping_add(of[which]));
            Ok(Found { wrong: (sum(0) != sum(1)).into(), at: 0 })
        };
        self.measure(true, launch, look)
    }

    /// broadcast, fcollect, alltoall, reduce.
    fn collected(&self) -> Result<Outcome, Trouble> {
        let (s, c, times) = (self.shmem, self.config, &self.times);
        let Case { test, iters, warmup, scope, .. } = *self.case;
        let (count, n) = (self.case.bytes as usize / 4, s.n_pes() as usize);
        let (form, given, gotten) = match test {
            Test::Broadcast => (collective::form::BROADCAST, count, count),
            Test::Fcollect => (collective::form::FCOLLECT, count, n * count),
            Test::Alltoall => (collective::form::ALLTOALL, n * count, n * count),
            _ => (collective::form::REDUCE, count, count),
        };
        let source = self.checker.source::<u32>(given, self.data_of(self.me))?;
        let target = self.checker.target::<u32>(gotten)?;
        let (to, from) = (target.slice(0, gotten), source.handle());
        let launch = || match test {
            Test::Broadcast => {
                at_scope!(scope, collective::broadcast(s, c, to, from, times, iters, warmup) or grid)
            }
            Test::Fcollect => {
                at_scope!(scope, collective::fcollect(s, c, to, from, times, iters, warmup) or grid)
            }
            Test::Alltoall => {
                at_scope!(scope, collective::alltoall(s, c, to, from, times, iters, warmup) or grid)
            }
            _ => at_scope!(scope, collective::reduce(s, c, to, from, times, iters, warmup) or grid),
        };
        let look = || self.checker.compare_collected(&target, count as u64, form, self.data_of(0));
        self.measure(true, launch, look)
    }

    /// What seeds the source of `pe`.
    fn data_of(&self, pe: u32) -> u32 {
        self.seed.wrapping_mul(64).wrapping_add(pe)
    }

    /// Launches, waits, looks, and agrees with the other PEs.
    fn measure(
        &self,
        takes_part: bool,
        launch: impl FnOnce() -> oxshmem::Result<()>,
        look: impl FnOnce() -> oxshmem::Result<Found>,
    ) -> Result<Outcome, Trouble> {
        let shmem = self.shmem;
        shmem.barrier_all()?;
        let launched = if takes_part { launch() } else { Ok(()) };
        let refused = match launched {
            Ok(()) => None,
            // Nothing has run: the others are told, and the job goes on.
            Err(error @ (Error::LaunchShape { .. } | Error::NotCoResident { .. })) => Some(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        shmem.synchronize()?;
        let refusals = shmem.all_gather(&u32::from(refused.is_some()))?;
        if let Some(pe) = refusals.iter().position(|&refused| refused != 0) {
            return Err(Trouble::Refused(refused.unwrap_or_else(|| format!("PE {pe} could not launch it"))));
        }
        shmem.barrier_all()?;
        let found = look()?;
        let times = self.times.read()?;
        let all = shmem.all_gather(&[times[0], found.wrong, found.at])?;
        if let Some((pe, [_, wrong, at])) = all.iter().enumerate().find(|(_, [_, wrong, _])| *wrong > 0) {
            return Err(Trouble::WrongData(format!(
                "{wrong} elements on PE {pe}, element {at} is one of them"
            )));
        }
        // Where several take the time, the slowest counts.
        let ns = all.iter().map(|[ns, ..]| *ns).max().unwrap_or(0) as f64;
        Ok(Outcome { ns, each: each(&times, self.case.iters) })
    }
}

/// Median and 99th percentile of single iterations in nanoseconds: differences of the stamps, in cycles, scaled by what all
/// `iters` of them took, of which the first ones have stamps.
fn each(times: &[u64], iters: u32) -> Option<(f64, f64)> {
    let cycles = times.get(1..).filter(|cycles| cycles.len() >= time::HEAD)?;
    let whole = cycles.last()?.checked_sub(cycles[0]).filter(|&whole| whole > 0)? as f64;
    let turns: Vec<f64> = cycles.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    let scale = times[0] as f64 * turns.len() as f64 / f64::from(iters) / whole;
    Some((stats::median(&turns)? * scale, stats::percentile(&turns, 99)? * scale))
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn single_iterations_are_the_differences_of_stamps() {
        // 600 ns in 300 cycles: 2 ns each.
        assert_eq!(each(&[600, 1000, 1100, 1150, 1300], 3), Some((200.0, 300.0)));
        // Of six iterations half have stamps.
        assert_eq!(each(&[1200, 1000, 1100, 1150, 1300], 6), Some((200.0, 300.0)));
        assert_eq!(each(&[600, 0], 3), None);
        assert_eq!(each(&[0, 5, 5, 5], 2), None);
    }
}
