//! What a benchmark records: one JSON object per row, with the machine, the date, the commit and the command.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::machine::Machine;
use crate::process::{self, Finished};
use crate::runner::{self, Part, Summary};
use crate::start;
use crate::steps::{self, Reads, Step};

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: String,
}

/// Runs the benchmarks and writes their rows to `out`, or prints them.
///
/// # Errors
/// If `out` cannot be written. A step that fails is in the summary.
pub fn bench(
    programs: &Path,
    machine: &Machine,
    commit: &str,
    part: Part,
    out: Option<&Path>,
) -> Result<Summary> {
    let mut file = match out {
        Some(path) => {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            Some(opened.with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => None,
    };
    println!("running on: {}", machine.shown());
    let steps = steps::bench(machine.device);
    runner::run(&steps, programs, machine, part, &mut |step, finished| {
        for row in rows(step, finished)? {
            let line = record(step, &row, machine, commit);
            match &mut file {
                Some(file) => writeln!(file, "{line}").context("cannot write the record")?,
                None => println!("{line}"),
            }
        }
        Ok(())
    })
}

/// The rows in what a step printed.
fn rows(step: &Step, finished: &Finished) -> Result<Vec<Row>> {
    if step.reads == Reads::Objects {
        return objects(step, &finished.stdout);
    }
    let lines = finished.stdout.lines().map(columns);
    let seconds = |columns: &[&str]| quantity(columns.last().copied().unwrap_or_default());
    let mut rows = Vec::new();
    for line in lines {
        let row = match step.reads {
            Reads::Nothing | Reads::Verified | Reads::Objects => continue,
            Reads::Sent { bytes } => {
                let Some((time, _)) = seconds(&line) else { continue };
                let value = bytes as f64 / time / 1e9;
                Row { name: format!("ring-shift {} PEs", step.pes), value, unit: "GB/s sent per PE".into() }
            }
            Reads::Iterations(iterations) => {
                let Some((time, _)) = seconds(&line) else { continue };
                let value = time * 1e6 / f64::from(iterations);
                let grid = step.arguments.first().cloned().unwrap_or_default();
                Row {
                    name: format!("jacobi {grid} {} PEs", step.pes),
                    value,
                    unit: "us per iteration".into(),
                }
            }
            Reads::Rows | Reads::Startup => {
                let [_, _, name, value] = line[..] else { continue };
                let Some((value, unit)) = quantity(value) else { continue };
                Row { name: name.to_owned(), value, unit }
            }
        };
        rows.push(row);
    }
    if let (Reads::Startup, Some(init)) = (step.reads, rows.first()) {
        let name = init.name.replace("init", "start to end");
        rows.push(Row { name, value: finished.time.as_secs_f64(), unit: "s".into() });
    }
    if rows.is_empty() && !matches!(step.reads, Reads::Nothing | Reads::Verified) {
        bail!("`{}` printed no row:\n{}", step.shown(), finished.stdout);
    }
    Ok(rows)
}

/// The rows of the benchmark suite. Where no time passed, as on the emulator, there is no value, and no row.
fn objects(step: &Step, stdout: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in stdout.lines() {
        let object: Value =
            serde_json::from_str(line).with_context(|| format!("`{}` printed {line:?}", step.shown()))?;
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        if let Some(value) = object["value"].as_f64() {
            rows.push(Row { name: text("case"), value, unit: text("unit") });
        }
    }
    if stdout.trim().is_empty() {
        bail!("`{}` printed no row", step.shown());
    }
    Ok(rows)
}

/// Runs a comparison of the benchmark suite against the programs in `peers`, with the programs in `programs`. It prints
/// its rows, and adds them to `out`, with the commit that it finds in the bundle's MANIFEST.
///
/// # Errors
/// If there are no peers, or it fails.
pub fn compare(
    programs: &Path,
    machine: &Machine,
    part: Part,
    out: Option<&Path>,
    (suite, peers): (&str, &Path),
) -> Result<()> {
    if !peers.join("raw").is_file() {
        bail!(
            "there are no peers in {}: on a machine with nvcc, `sh perf/peers/build.sh FOLDER` makes them; then name the folder \
             with --peers, or put it there",
            peers.display()
        );
    }
    let mut command = start::command(&programs.join(steps::PERF));
    command.arg("compare").args(["--suite", suite]).arg("--peers").arg(peers);
    command.args(["--part", &format!("{}/{}", part.index, part.of)]);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    process::pass_through(command.env("OXSHMEM_DEVICE", machine.device.variable()))
}

/// The columns of a line: at least two spaces between them.
fn columns(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect()
}

/// `1.25 us` as a number and a unit.
fn quantity(text: &str) -> Option<(f64, String)> {
    let (number, unit) = text.split_once(' ')?;
    Some((number.parse().ok().filter(|value: &f64| value.is_finite())?, unit.to_owned()))
}

fn record(step: &Step, row: &Row, machine: &Machine, commit: &str) -> Value {
    json!({
        "suite": step.program,
        "row": row.name,
        "value": row.value,
        "unit": row.unit,
        "pes": step.pes,
        "device": machine.shown(),
        "driver": machine.gpus.driver,
        "cuda": machine.gpus.cuda,
        "date": date(),
        "commit": commit,
        "command": step.shown(),
    })
}

/// Today in UTC, as in `2026-01-31`.
pub fn date() -> String {
    shown(OffsetDateTime::now_utc())
}

fn shown(moment: OffsetDateTime) -> String {
    moment.date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;
    use std::time::Duration;

    fn finished(stdout: &str) -> Finished {
        Finished {
            status: ExitStatus::default(),
            stdout: stdout.to_owned(),
            stderr: String::new(),
            time: Duration::ZERO,
            timed_out: false,
        }
    }

    fn step(reads: Reads) -> Step {
        Step { reads, ..steps::demo(&Machine::emulated())[1].clone() }
    }

    #[test]
    fn values_are_read_off_the_programs_lines() {
        let ring = "01-ring-shift  emulated  2 PEs  1000 f32 per PE  verified yes  0.000002 s\n";
        let sent = rows(&step(Reads::Sent { bytes: 4000 }), &finished(ring)).expect("a row");
        assert!((sent[0].value - 2.0).abs() < 1e-9, "{sent:?}");
        let jacobi = rows(&step(Reads::Iterations(10)), &finished(ring)).expect("a row");
        assert!((jacobi[0].value - 0.2).abs() < 1e-9, "{jacobi:?}");
        let launch = "launch-overhead  H200  plain, typed, median  1.25 us\n";
        let row = Row { name: "plain, typed, median".into(), value: 1.25, unit: "us".into() };
        assert_eq!(rows(&step(Reads::Rows), &finished(launch)).expect("a row"), [row]);
        assert!(rows(&step(Reads::Rows), &finished("nothing")).is_err());
        let startup = "startup  emulated GPU  8 processes, init  0.030000 s\n";
        let startup = Finished { time: Duration::from_millis(50), ..finished(startup) };
        let row = |name: &str, value| Row { name: format!("8 processes, {name}"), value, unit: "s".into() };
        let expected = [row("init", 0.03), row("start to end", 0.05)];
        assert_eq!(rows(&step(Reads::Startup), &startup).expect("rows"), expected);
        assert!(rows(&step(Reads::Startup), &finished("")).is_err());
        let objects = "{\"case\":\"put-bw ctas=1\",\"value\":2.5,\"unit\":\"GB/s\"}\n{\"case\":\"p-lat\",\"value\":null}\n";
        let row = Row { name: "put-bw ctas=1".into(), value: 2.5, unit: "GB/s".into() };
        assert_eq!(rows(&step(Reads::Objects), &finished(objects)).expect("a row"), [row]);
        for wrong in ["nothing", ""] {
            assert!(rows(&step(Reads::Objects), &finished(wrong)).is_err());
        }
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_454, "2026-01-01")]
        {
            assert_eq!(shown(OffsetDateTime::UNIX_EPOCH + time::Duration::days(days)), date);
        }
    }
}
