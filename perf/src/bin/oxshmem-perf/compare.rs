//! A comparison: starts oxshmem and its peers, goes through the rows, and asks all systems in turns, so that a slow moment
//! of the machine hits all of them. A system that is missing or fails leaves its columns empty.

use crate::case::{Case, Key, Test, Unit};
use crate::cli::Compare;
use crate::collective_rows;
use crate::error::Failure;
use crate::plot::{Plot, Series};
use crate::record::{Circumstances, Record, Value, summary};
use crate::report;
use crate::rows::{self, Bound, Place, Row};
use crate::stats;
use crate::system::{Answer, Name, System};
use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs of the two sizes that a slope is taken from.
const SLOPE_RUNS: u32 = 3;

/// Compares as `options` ask.
pub(crate) fn compare(options: &Compare) -> Result<(), Failure> {
    let start = Instant::now();
    let mut file = options.out.as_deref().map(report::lines).transpose()?;
    let ours = ours(options).map_err(Failure::Asked)?;
    let place = Place::of(&ours.ready, pes(options));
    let of = circumstances(options, &ours);
    let rows = if is_collective(options) {
        collective_rows::collectives(&place, options.pes)
    } else {
        rows::p2p(&place)
    };
    let rows = chosen(rows, options);
    if rows.is_empty() {
        return Err(Failure::Asked("no row of the suite has what --row and --part ask for".into()));
    }
    let mut bench =
        Bench { systems: vec![ours], runs: options.runs, pes: pes(options), values: HashMap::new() };
    for name in [Name::Raw, Name::Nvshmem, Name::Nccl] {
        let asked = rows.iter().any(|row| queries(row).iter().any(|(of, _)| *of == name));
        match asked.then(|| bench.peer(name, options)) {
            Some(Ok(system)) => bench.systems.push(system),
            Some(Err(why)) => eprintln!("oxshmem-perf: {why}; its columns stay empty"),
            None => {}
        }
    }
    let (mut records, mut left) = (Vec::new(), 0);
    for row in &rows {
        let budget = options.budget.map(Duration::from_secs);
        if bench.is_over() || budget.is_some_and(|budget| start.elapsed() >= budget) {
            left += 1;
            continue;
        }
        for record in bench.measure(row) {
            println!("{}", record.line());
            if let Some(file) = &mut file {
                report::add(file, &record.json(&of))?;
            }
            records.push(record);
        }
    }
    if left > 0 {
        eprintln!("oxshmem-perf: {left} of {} rows were not begun", rows.len());
    }
    println!("\n{}", summary(&records));
    if let Some(folder) = &options.svg {
        let device = of.device.as_deref().unwrap_or_default();
        if is_collective(options) {
            bench.plot_collectives(&place, folder, device)?;
        } else {
            bench.plots(&place, folder, device)?;
        }
    }
    if bench.is_over() {
        return Err(Failure::Asked(
            "oxshmem ended before the rows did: the line above says at which case".into(),
        ));
    }
    Ok(())
}

fn is_collective(options: &Compare) -> bool {
    options.suite == "collectives"
}

/// How many PEs oxshmem and NVSHMEM have.
fn pes(options: &Compare) -> u32 {
    if is_collective(options) { options.pes } else { 2 }
}

/// The rows of the part that have the substring in their names.
fn chosen(rows: Vec<Row>, options: &Compare) -> Vec<Row> {
    let (index, of) = options.part;
    let wanted =
        rows.into_iter().filter(|row| options.row.as_ref().is_none_or(|text| row.name.contains(text)));
    wanted.enumerate().filter(|(position, _)| position % of == index - 1).map(|(_, row)| row).collect()
}

/// This program, as a system.
fn ours(options: &Compare) -> Result<System, String> {
    let own = env::current_exe().map_err(|error| format!("this program's own file is not known: {error}"))?;
    let mut command = Command::new(own);
    command.args(["serve", "--pes", &pes(options).to_string()]);
    if is_collective(options) {
        // Every PE gives every PE up to 16 MiB.
        command.args(["--memory", &format!("{}M", 16 * options.pes + 256)]);
    }
    if let Some(gpus) = options.gpus {
        command.args(["--gpus", &gpus.to_string()]);
    }
    System::start(Name::Ours, command, Duration::from_secs(options.patience))
}

/// Everything that a row asks, each once.
fn queries(row: &Row) -> Vec<(Name, Case)> {
    let ours = row.ours.iter().map(|case| (Name::Ours, *case));
    let raw = row.raw.iter().map(|case| (Name::Raw, *case));
    let bars = row.bars.iter().flat_map(|bar| bar.cases.iter().map(|case| (bar.system, *case)));
    let allowed = row.bars.iter().filter_map(|bar| bar.allowed);
    let allowed = allowed.flat_map(|of| [(Name::Raw, of.copy), (Name::Raw, of.round_trip)]);
    let mut queries: Vec<(Name, Case)> = Vec::new();
    for query in ours.chain(raw).chain(bars).chain(allowed) {
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    queries
}

struct Bench {
    systems: Vec<System>,
    runs: u32,
    pes: u32,
    /// Medians of all that was measured so far, by system and request.
    values: HashMap<(Name, String), f64>,
}

/// What a system said to a case, run by run.
#[derive(Clone, Debug)]
struct Sample {
    name: Name,
    case: Case,
    /// One per run; none if it failed.
    values: Vec<f64>,
    /// Whether the system has no such case.
    no: bool,
}

impl Bench {
    fn system(&mut self, name: Name) -> Option<&mut System> {
        self.systems.iter_mut().find(|system| system.name == name)
    }

    /// Whether oxshmem itself is gone.
    fn is_over(&self) -> bool {
        self.systems.iter().any(|system| system.name == Name::Ours && system.is_gone())
    }

    /// Starts a peer.
    fn peer(&self, name: Name, options: &Compare) -> Result<System, String> {
        let gpus = self.systems[0].ready.gpus;
        let program = options.peers.join(name.to_string());
        if !program.is_file() {
            let folder = options.peers.display();
            return Err(format!(
                "{name}: there is no such program in {folder}: `sh perf/peers/build.sh {folder}` makes it where there is nvcc"
            ));
        }
        let mut command = Command::new(program);
        command.args(["--gpus", &gpus.to_string()]);
        if name == Name::Nvshmem {
            let pes = pes(options);
            command.args(["--pes", &pes.to_string()]);
            command.envs([
                ("NVSHMEM_REMOTE_TRANSPORT", "none"),
                ("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"),
                ("NVSHMEM_DISABLE_NCCL", "1"),
                ("NVSHMEM_DISABLE_NVLS", "1"),
            ]);
            if gpus < pes && !self.systems[0].ready.emulated {
                if !mps_runs() {
                    return Err(format!(
                        "{name}: two PEs of it share a GPU by MPS only, whose daemon does not run: `nvidia-cuda-mps-control -d`"
                    ));
                }
                command.env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", (100 * gpus / pes).to_string());
            }
        }
        let system = System::start(name, command, Duration::from_secs(options.patience))?;
        match system.ready.gpus == gpus {
            true => Ok(system),
            false => Err(format!("{name}: its PEs are on {} GPUs, oxshmem's on {gpus}", system.ready.gpus)),
        }
    }

    /// Measures a row: a record per bar, or one if there is none. Nothing if oxshmem has no such test.
    fn measure(&mut self, row: &Row) -> Vec<Record> {
        let queries: Vec<_> =
            queries(row).into_iter().filter(|query| !self.is_yardstick(row, query)).collect();
        let samples = self.samples(&queries, self.runs);
        let unit = row.ours[0].test.unit();
        let ours = best(&samples, Name::Ours, &row.ours, unit);
        if samples.iter().filter(|sample| sample.name == Name::Ours).all(|sample| sample.no) {
            eprintln!("oxshmem-perf: {}: oxshmem has no such test, so the row is left out", row.name);
            return Vec::new();
        }
        let slope = ours.as_ref().and_then(|ours| self.slope(&ours.case));
        let record = Record {
            row: row.name.clone(),
            unit,
            raw: best(&samples, Name::Raw, &row.raw, unit),
            against: None,
            peer: None,
            peer_version: None,
            bound: Bound::Any,
            allowed: None,
            slope,
            ours,
        };
        if row.bars.is_empty() {
            return vec![record];
        }
        let known = |case: &Case| self.values.get(&(Name::Raw, case.to_string())).copied();
        let bars = row.bars.iter().map(|bar| {
            let peer = match bar.moved {
                None => best(&samples, bar.system, &bar.cases, unit),
                Some(bytes) => known(&bar.cases[0]).map(|rate| {
                    let median = bytes as f64 / rate / 1e3;
                    Value { median, spread: (median, median), case: bar.cases[0] }
                }),
            };
            let allowed =
                bar.allowed.and_then(|of| Some(of.micros(known(&of.copy)?, known(&of.round_trip)?)));
            Record {
                against: Some(match bar.cases[0].test {
                    Test::CopyBw => "copy engine".to_owned(),
                    _ if bar.moved.is_some() => "raw, the bytes".to_owned(),
                    _ if bar.system == Name::Ours => "oxshmem, aligned".to_owned(),
                    _ => bar.system.to_string(),
                }),
                peer,
                peer_version: self
                    .systems
                    .iter()
                    .find(|system| system.name == bar.system)
                    .map(|system| system.ready.version.clone()),
                bound: bar.bound,
                allowed,
                ..record.clone()
            }
        });
        bars.collect()
    }

    /// Whether a query is one by which other rows were measured, too, and is known.
    fn is_yardstick(&self, row: &Row, query: &(Name, Case)) -> bool {
        let case = &query.1;
        let is = |bar: &rows::Bar| {
            let of = bar.allowed.is_some_and(|of| [of.copy, of.round_trip].contains(case));
            of || bar.moved.is_some() && bar.cases.contains(case)
        };
        query.0 == Name::Raw
            && row.bars.iter().any(is)
            && self.values.contains_key(&(Name::Raw, case.to_string()))
    }

    /// Asks for each query once a run, and keeps the medians.
    fn samples(&mut self, queries: &[(Name, Case)], runs: u32) -> Vec<Sample> {
        let sample = |&(name, case): &(Name, Case)| Sample { name, case, values: Vec::new(), no: false };
        let mut samples: Vec<Sample> = queries.iter().map(sample).collect();
        // Those of which nothing more can come.
        let mut closed = HashSet::new();
        for _ in 0..runs {
            for (at, Sample { name, case, values, no }) in samples.iter_mut().enumerate() {
                if closed.contains(&at) {
                    continue;
                }
                match self.system(*name).map_or(Answer::Gone, |system| system.ask(case)) {
                    // On the emulator a case may take no time at all.
                    Answer::Time(ns) => values.extend(case.value(ns, self.pes)),
                    Answer::No => {
                        *no = true;
                        closed.insert(at);
                    }
                    Answer::Gone => drop(closed.insert(at)),
                    Answer::Error(why) => {
                        eprintln!("oxshmem-perf: {name}: {case}: {why}");
                        values.clear();
                        closed.insert(at);
                    }
                }
            }
        }
        for Sample { name, case, values, .. } in &samples {
            if let Some(median) = stats::median(values) {
                self.values.insert((*name, case.to_string()), median);
            }
        }
        samples
    }

    /// Bytes that are added when half of a transfer becomes the whole, over the time that is added: free of what every
    /// transfer costs, whatever its size.
    fn slope(&mut self, whole: &Case) -> Option<f64> {
        if whole.test.unit() != Unit::GigabytesPerSecond || !whole.test.has(Key::Bytes) {
            return None;
        }
        let half = Case { bytes: whole.bytes / 2, ..*whole };
        half.check().ok()?;
        let samples = self.samples(&[(Name::Ours, *whole), (Name::Ours, half)], SLOPE_RUNS);
        let time = |at: usize| {
            let Sample { case, values, .. } = samples.get(at)?;
            Some(case.bytes as f64 / stats::median(values)?)
        };
        let added = time(0)? - time(1)?;
        (added > 0.0).then(|| (whole.bytes - half.bytes) as f64 / added)
    }

    /// By how much oxshmem's collective operations are faster than NVSHMEM's, over bytes.
    fn plot_collectives(&self, place: &Place, folder: &Path, device: &str) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(Failure::io(format!("cannot make {}", folder.display())))?;
        let mut series = Vec::new();
        for test in collective_rows::TESTS {
            let point = |bytes| {
                let cases = collective_rows::block_cases(place, test, bytes);
                let least = |name| {
                    let values =
                        cases.iter().filter_map(|case| self.values.get(&(name, case.to_string())).copied());
                    values.min_by(f64::total_cmp)
                };
                Some((cases[0].bytes as f64, least(Name::Nvshmem)? / least(Name::Ours)?))
            };
            let points: Vec<(f64, f64)> = collective_rows::SIZES.into_iter().filter_map(point).collect();
            series.push(Series { name: test.to_string(), points, ceiling: false });
        }
        let title = format!("NVSHMEM's time by oxshmem's, block scope, {} PEs, {device}", self.pes);
        let plot = Plot { title, x: "bytes".into(), y: "times".into(), series };
        plot.draw(&folder.join(format!("collectives-{}.svg", self.pes))).map_err(Failure::Asked)
    }

    /// Puts and gets over CTAs, with what bounds them.
    fn plots(&mut self, place: &Place, folder: &Path, device: &str) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(Failure::io(format!("cannot make {}", folder.display())))?;
        for (test, word) in [(Test::PutBw, "put"), (Test::GetBw, "get")] {
            let mut series = Vec::new();
            for name in [Name::Ours, Name::Raw, Name::Nvshmem] {
                let point = |ctas| {
                    let case = rows::plotted(place, test, ctas);
                    Some((f64::from(case.ctas), *self.values.get(&(name, case.to_string()))?))
                };
                let points: Vec<(f64, f64)> = rows::CTAS.into_iter().filter_map(point).collect();
                if !points.is_empty() {
                    series.push(Series { name: name.to_string(), points, ceiling: false });
                }
            }
            if series.is_empty() {
                continue;
            }
            for (name, case) in rows::ceilings(place, test) {
                let query = (Name::Raw, case);
                let known = self.values.get(&(Name::Raw, case.to_string())).copied();
                let level = known.or_else(|| stats::median(&self.samples(&[query], SLOPE_RUNS)[0].values));
                let points = level.map(|level| (1.0, level)).into_iter().collect::<Vec<_>>();
                if !points.is_empty() {
                    series.push(Series { name: name.to_owned(), points, ceiling: true });
                }
            }
            let title = format!("{word} at block scope, {device}");
            let plot = Plot { title, x: "CTAs".into(), y: "GB/s".into(), series };
            plot.draw(&folder.join(format!("{word}.svg"))).map_err(Failure::Asked)?;
        }
        Ok(())
    }
}

/// The best median of a side.
fn best(samples: &[Sample], name: Name, cases: &[Case], unit: Unit) -> Option<Value> {
    let side = samples.iter().filter(|sample| sample.name == name && cases.contains(&sample.case));
    let values = side.filter_map(|Sample { case, values, .. }| {
        Some(Value { median: stats::median(values)?, spread: stats::spread(values)?, case: *case })
    });
    let order = |a: &Value, b: &Value| {
        let order = a.median.total_cmp(&b.median);
        if unit.grows() { order } else { order.reverse() }
    };
    values.max_by(order)
}

fn circumstances(options: &Compare, ours: &System) -> Circumstances {
    Circumstances {
        suite: options.suite.clone(),
        device: ours.ready.device.clone(),
        driver: if ours.ready.emulated { None } else { driver() },
        commit: options.commit.clone().or_else(bundled_commit),
        date: report::date(),
        command: env::args().collect::<Vec<_>>().join(" "),
    }
}

/// The NVIDIA driver's version, as its kernel module says it.
fn driver() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// The commit in the MANIFEST of the bundle that this program lies in.
fn bundled_commit() -> Option<String> {
    let own = env::current_exe().ok()?;
    let text = fs::read_to_string(own.parent()?.parent()?.join("MANIFEST")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("commit: ")).map(str::to_owned)
}

/// Whether the MPS daemon takes commands (CUDA MPS, CUDA_MPS_PIPE_DIRECTORY).
fn mps_runs() -> bool {
    let folder = env::var_os("CUDA_MPS_PIPE_DIRECTORY").map_or("/tmp/nvidia-mps".into(), PathBuf::from);
    folder.join("control").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_the_most_of_rates_and_the_least_of_times() {
        let case = |bytes| Case { bytes, ..Case::new(Test::PutBw) };
        let sample = |name, bytes, values: &[f64]| Sample {
            name,
            case: case(bytes),
            values: values.to_vec(),
            no: false,
        };
        let samples = [
            sample(Name::Ours, 4, &[1.0, 2.0, 9.0]),
            sample(Name::Ours, 8, &[3.0, 3.0, 3.0]),
            sample(Name::Ours, 16, &[]),
            sample(Name::Raw, 4, &[99.0]),
        ];
        let cases = [case(4), case(8), case(16)];
        let most = best(&samples, Name::Ours, &cases, Unit::GigabytesPerSecond).expect("a value");
        assert_eq!((most.median, most.case), (3.0, case(8)));
        let least = best(&samples, Name::Ours, &cases, Unit::Micros).expect("a value");
        assert_eq!((least.median, least.spread), (2.0, (1.0, 9.0)));
        assert!(best(&samples, Name::Ours, &cases[2..], Unit::Micros).is_none());
    }

    #[test]
    fn a_query_is_asked_once() {
        let case = Case::new(Test::PutBw);
        let bar =
            |system| rows::Bar { system, cases: vec![case], bound: Bound::Any, moved: None, allowed: None };
        let bars = vec![bar(Name::Raw), bar(Name::Nvshmem), bar(Name::Ours)];
        let row = Row { name: "row".into(), ours: vec![case], raw: vec![case], bars };
        assert_eq!(queries(&row), [(Name::Ours, case), (Name::Raw, case), (Name::Nvshmem, case)]);
    }
}
