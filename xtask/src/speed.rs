//! `cargo xtask bench --emulator`: how fast kernels run on the emulator, with the checker and without it, on one core.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bench;
use crate::checkout::Checkout;
use crate::process;

/// The package of the program, and the program.
const PACKAGE: &str = "oxshmem-checked";
const PROGRAM: &str = "emulator-speed";
/// As one types it.
const COMMAND: &str = "cargo xtask bench --emulator";

/// Builds the program and runs it. It prints a line for each way to run the kernel; with `out`, each is added there as a
/// JSON object instead.
///
/// # Errors
/// If it does not build, the checker finds something in the kernel, or `out` cannot be written. Not if it is slow.
pub fn emulator(checkout: &Checkout, out: Option<&Path>) -> Result<()> {
    checkout.build_release("building the emulator's benchmark", &[PACKAGE])?;
    let machine = processor();
    println!("running on: one core of {machine}");
    let mut command = Command::new(checkout.programs().join(PROGRAM));
    let Some(out) = out else { return process::pass_through(&mut command) };
    let rows = process::output(command.arg("--json"))?;
    let opened = OpenOptions::new().create(true).append(true).open(out);
    let mut file = opened.with_context(|| format!("cannot write {}", out.display()))?;
    for line in rows.lines() {
        let row = record(line, &machine, &checkout.commit())?;
        writeln!(file, "{row}").context("cannot write the record")?;
    }
    Ok(())
}

/// What the program printed of one run, with where it was measured.
fn record(line: &str, machine: &str, commit: &str) -> Result<Value> {
    let mut row: Value = serde_json::from_str(line).with_context(|| format!("{PROGRAM} printed {line:?}"))?;
    let date = bench::date();
    let place = [("device", machine), ("date", &date), ("commit", commit), ("command", COMMAND)];
    let object = row.as_object_mut().with_context(|| format!("{PROGRAM} printed {line:?}"))?;
    object.extend(place.map(|(key, value)| (key.to_owned(), value.into())));
    Ok(row)
}

/// The processor's name.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("an unknown processor", |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_where_it_was_measured() {
        let row = record(r#"{"case":"unchecked","value":5}"#, "a processor", "abc").expect("a row");
        assert_eq!((&row["case"], &row["value"]), (&"unchecked".into(), &5.into()));
        assert_eq!((&row["device"], &row["commit"]), (&"a processor".into(), &"abc".into()));
        for wrong in ["", "nothing", "[1]"] {
            assert!(record(wrong, "a processor", "abc").is_err(), "{wrong:?}");
        }
    }
}
