//! Runs a row: starts its processes, lets it happen, waits for the others, and judges what they say, how they end and
//! what is left.

use super::expected::{Expected, Last, victim_differs};
use super::pmi_server::Malice;
use super::processes::{self, Process, Settings};
use super::said::Said;
use super::table::{Point, Row, Trigger, What};
use super::traces;
use rustix::process::Signal;
use std::io::Result;
use std::time::{Duration, Instant};

/// How soon the others must have ended.
const SOON: Duration = Duration::from_secs(5);
/// When a row is given up: then something hangs.
const HANGS: Duration = Duration::from_secs(20);
/// How long it may take until it happens. Opening a GPU for the first time may take a while.
const COMES: Duration = Duration::from_secs(120);
/// From the moment at which all say that they are about to wait.
const THEY_WAIT: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(2);

/// The deadline where it must pass, in seconds, as text and as a duration.
const PASSING: (&str, Duration) = ("2s", Duration::from_secs(2));

/// What the rows run on.
pub(super) struct Bench {
    /// As the first row said.
    device: String,
}

/// A row that ran.
pub(super) struct Judged {
    pub(super) line: String,
    /// What is wrong, with all that the processes said.
    pub(super) wrong: Option<String>,
}

impl Bench {
    pub(super) fn new() -> Result<Self> {
        traces::inherit_orphans()?;
        Ok(Self { device: "(unknown)".to_owned() })
    }

    /// On the emulator no wait could end in time by its deadline. Processes that share a GPU take turns on it, and a
    /// kernel that waits there should not be kept for long if something goes wrong.
    fn settings(&self, number: usize, row: &Row) -> Settings {
        let deadline = match (row.what, self.device.contains("emulated")) {
            (What::Stopped | What::Expires, _) => PASSING.0,
            (_, true) => "60s",
            (_, false) => "20s",
        };
        // Where one is missing, the others wait for it until then.
        let waits = matches!(
            row.point,
            Point::Starting("told" | "fenced" | "start" | "connected") | Point::Server(_)
        );
        Settings { number, deadline, join_deadline: if waits { "2s" } else { "120s" } }
    }

    pub(super) fn run(&mut self, number: usize, row: Row) -> Result<Judged> {
        let before = traces::names()?;
        let settings = self.settings(number, &row);
        let mut started = processes::start(&row, &settings)?;
        let mut processes = std::mem::take(&mut started.processes);
        let happened = happen(&row, &mut processes);
        let (mut wrong, mut ended) = (Vec::new(), None);
        match happened {
            Ok(Some(at)) => ended = wait_for_others(&row, &mut processes, at, &mut wrong)?,
            Ok(None) => wrong.push("it did not happen".to_owned()),
            Err(error) => wrong.push(format!("a process cannot be looked at: {error}")),
        }
        processes.iter_mut().for_each(Process::end);
        // With the launcher's server, and the file of a unique id.
        drop(started);
        if row.point == Point::Nowhere {
            let said = processes.first().map(Process::said).unwrap_or_default();
            let device = said.into_iter().find_map(|said| match said {
                Said::Device(name) => Some(name),
                _ => None,
            });
            self.device = device.unwrap_or_else(|| std::mem::take(&mut self.device));
        }
        wrong.extend(judge(&row, &processes));
        wrong.extend(traces::left(&before)?.into_iter().map(|left| format!("left behind: {left}")));
        Ok(self.judged(&row, &processes, ended, wrong))
    }

    fn judged(
        &self,
        row: &Row,
        processes: &[Process],
        ended: Option<Duration>,
        wrong: Vec<String>,
    ) -> Judged {
        let seconds = ended.map_or("never".to_owned(), |time| format!("{:.3} s", time.as_secs_f64()));
        let verdict = match wrong.first() {
            None => "verified yes".to_owned(),
            Some(first) => format!("verified no: {first}"),
        };
        let said = survivors(row, processes);
        let line = format!("faults  {}  {}  {said}  {seconds}  {verdict}", self.device, row.name());
        let wrong = (!wrong.is_empty()).then(|| {
            let mut text: String = wrong.iter().map(|why| format!("  {why}\n")).collect();
            for (pe, process) in processes.iter().enumerate() {
                text += &format!(
                    "  PE {pe}: {:?}, {:?}\n",
                    process.ended.map(|(status, _)| status),
                    process.said()
                );
                text.extend(process.complaints().lines().map(|line| format!("    {line}\n")));
            }
            text
        });
        Judged { line, wrong }
    }
}

/// Lets it happen; when that was, if it was.
fn happen(row: &Row, processes: &mut [Process]) -> Result<Option<Instant>> {
    let (start, victim) = (Instant::now(), row.victim as usize);
    let mut all_wait: Option<Instant> = None;
    while start.elapsed() < COMES {
        for process in processes.iter_mut() {
            process.look()?;
        }
        if row.trigger() == Trigger::Itself {
            match processes[victim].ended {
                _ if row.spares_all() => return Ok(Some(start)),
                Some((_, at)) => return Ok(Some(at)),
                None => {}
            }
        } else if all_wait.is_none() && processes.iter().all(Process::is_ready) {
            all_wait = Some(Instant::now());
        } else if all_wait.is_some_and(|since| since.elapsed() >= THEY_WAIT) {
            match row.trigger() {
                Trigger::Signal(signal) => processes[victim].signal(signal),
                Trigger::Word | Trigger::Itself => processes[victim].go_on(),
            }
            return Ok(Some(Instant::now()));
        } else if processes.iter().any(|process| process.ended.is_some()) {
            // One that has ended too early says no more.
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Waits until the others have ended; how long after it happened, if they have.
fn wait_for_others(
    row: &Row,
    processes: &mut [Process],
    happened: Instant,
    wrong: &mut Vec<String>,
) -> Result<Option<Duration>> {
    let (mut allowed, mut hangs) = (SOON, HANGS);
    if row.what == What::Stopped {
        allowed += PASSING.1;
    }
    match row.point {
        Point::Nowhere => (allowed, hangs) = (COMES, COMES),
        // With the start of the processes, and nobody's end to count from.
        _ if row.what == What::Expires => (allowed, hangs) = (COMES, COMES),
        // From the start of the processes on.
        Point::Server(Malice::Holds | Malice::Silent) => allowed += 2 * PASSING.1,
        Point::Server(_) => allowed += PASSING.1,
        _ => {}
    }
    loop {
        let mut living = Vec::new();
        for (pe, process) in (0..).zip(processes.iter_mut()) {
            // One that is stopped does not end by itself.
            let stands_still = row.is_victim(pe) && row.what == What::Stopped;
            if !process.look()? && !stands_still {
                living.push(pe);
            }
        }
        // The others may hold back until it has happened.
        if row.what == What::Stopped || row.spares_all() || processes[row.victim as usize].ended.is_some() {
            processes.iter_mut().for_each(Process::go_on);
        }
        if living.is_empty() {
            break;
        }
        if happened.elapsed() > hangs {
            wrong
                .push(format!("PEs {living:?} still ran {:.1} s after it", happened.elapsed().as_secs_f64()));
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
    if row.what == What::Stopped {
        processes[row.victim as usize].signal(Signal::KILL);
    }
    let others = (0..).zip(&*processes).filter(|(pe, _)| !row.is_victim(*pe));
    let ends = others.filter_map(|(_, process)| process.ended).map(|(_, at)| at);
    let last = ends.map(|at| at.saturating_duration_since(happened)).max();
    if let Some(took) = last.filter(|took| *took > allowed) {
        wrong.push(format!("it took {:.3} s, allowed are {} s", took.as_secs_f64(), allowed.as_secs()));
    }
    Ok(last)
}

/// What is wrong with what the processes, which have all ended, have said.
fn judge(row: &Row, processes: &[Process]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (pe, process) in (0..).zip(processes) {
        let Some((status, _)) = process.ended else { continue };
        let last = process.last();
        let differs = match row.is_victim(pe) {
            true => victim_differs(row, &last, status),
            false => Expected::of(row, pe).differs(&last, status),
        };
        wrong.extend(differs.map(|how| format!("PE {pe} {how}")));
        if process.complaints().contains("panicked at") && !(row.is_victim(pe) && row.what == What::Panics) {
            wrong.push(format!("PE {pe} panicked"));
        }
    }
    wrong
}

/// What the others said of their runs; once if they said the same.
fn survivors(row: &Row, processes: &[Process]) -> String {
    let others = (0..).zip(processes).filter(|(pe, _)| !row.is_victim(*pe));
    let said = others.map(|(pe, process)| {
        let Last { run, .. } = process.last();
        (pe, run.unwrap_or_else(|| "nothing".to_owned()))
    });
    let said: Vec<(u32, String)> = said.collect();
    let first = said.first().map_or("nothing", |(_, said)| said);
    if said.iter().all(|(_, said)| said == first) {
        return format!("survivors: {first}");
    }
    let by_pe: Vec<String> = said.iter().map(|(pe, said)| format!("PE {pe} {said}")).collect();
    format!("survivors: {}", by_pe.join(", "))
}
