//! What a test's rows look like: a table for people, one JSON object a line for programs.

use crate::case::{Case, Key, Unit};
use crate::error::Failure;
use crate::run::Outcome;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use time::OffsetDateTime;

/// A measured case.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) outcome: Outcome,
    pub(crate) pes: u32,
    /// Operations per second where bytes would be told.
    pub(crate) message_rate: bool,
}

/// The columns of the table.
pub(crate) const HEADER: &str =
    "      bytes  ctas  threads  scope    time [us]   p50 [us]   p99 [us]           value";

impl Row {
    /// Value and unit; no value if no time passed.
    pub(crate) fn value(&self) -> (Option<f64>, &'static str) {
        let Outcome { ns, .. } = self.outcome;
        if self.message_rate && self.case.test.unit() == Unit::GigabytesPerSecond {
            let operations = self.case.operations() as f64 * f64::from(self.case.iters);
            let rate = operations * 1e3 / ns;
            return (rate.is_finite().then_some(rate), Unit::MegaPerSecond.name());
        }
        (self.case.value(ns, self.pes), self.case.test.unit().name())
    }

    /// Its line of the table.
    pub(crate) fn line(&self) -> String {
        let Case { test, ctas, threads, bytes, iters, scope, .. } = self.case;
        let (value, unit) = self.value();
        let micros = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.3}", ns / 1e3));
        let has = |key, text: String| if test.has(key) { text } else { "-".to_owned() };
        format!(
            "{:>11}  {ctas:>4}  {threads:>7}  {:<6}  {:>10}  {:>9}  {:>9}  {:>14}",
            has(Key::Bytes, bytes.to_string()),
            has(Key::Scope, scope.to_string()),
            micros(Some(self.outcome.ns / f64::from(iters))),
            micros(self.outcome.each.map(|(p50, _)| p50)),
            micros(self.outcome.each.map(|(_, p99)| p99)),
            value.map_or("-".to_owned(), |value| format!("{value:.3} {unit}")),
        )
    }

    /// Its JSON object.
    pub(crate) fn json(&self, device: &str) -> Value {
        let Case { test, scope, ctas, threads, bytes, iters, warmup, .. } = self.case;
        let (value, unit) = self.value();
        json!({
            "test": test.name(),
            "case": self.case.to_string(),
            "scope": test.has(Key::Scope).then(|| scope.name()),
            "ctas": ctas,
            "threads": threads,
            "bytes": test.has(Key::Bytes).then_some(bytes),
            "iters": iters,
            "warmup": warmup,
            "ns": self.outcome.ns,
            "p50_ns": self.outcome.each.map(|(p50, _)| p50),
            "p99_ns": self.outcome.each.map(|(_, p99)| p99),
            "value": value,
            "unit": unit,
            "pes": self.pes,
            "device": device,
            "date": date(),
        })
    }
}

/// Opens a file to which lines are added.
pub(crate) fn lines(path: &Path) -> Result<File, Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(Failure::io(format!("cannot write {}", path.display())))
}

/// Adds a line.
pub(crate) fn add(file: &mut File, line: &Value) -> Result<(), Failure> {
    writeln!(file, "{line}").map_err(Failure::io("cannot write the record"))
}

/// Today in UTC, as in `2026-01-31`.
pub(crate) fn date() -> String {
    shown(OffsetDateTime::now_utc())
}

fn shown(moment: OffsetDateTime) -> String {
    moment.date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Test;

    fn row(test: Test, each: Option<(f64, f64)>) -> Row {
        let case = Case { bytes: 4096, iters: 10, ..Case::new(test) };
        Row { case, outcome: Outcome { ns: 20_480.0, each }, pes: 2, message_rate: false }
    }

    #[test]
    fn a_row_fits_under_the_header() {
        let line = row(Test::PutBw, None).line();
        assert_eq!(
            line,
            "       4096     1       32  block        2.048          -          -      2.000 GB/s"
        );
        let line = row(Test::PLat, Some((2000.0, 2500.0))).line();
        assert_eq!(
            line,
            "          -     1       32  -            2.048      2.000      2.500        2.048 us"
        );
        assert_eq!(HEADER.len(), line.len());
    }

    #[test]
    fn rates_count_operations() {
        let row = Row { message_rate: true, ..row(Test::PutBw, None) };
        let (value, unit) = row.value();
        assert!(value.is_some_and(|value| (value - 10.0 * 1e3 / 20_480.0).abs() < 1e-9), "{value:?}");
        assert_eq!(unit, "M/s");
    }

    #[test]
    fn an_object_says_what_ran_and_nothing_that_does_not_apply() {
        let object = row(Test::PLat, Some((2000.0, 2500.0))).json("G");
        assert_eq!(object["case"], "p-lat ctas=1 threads=32 iters=10");
        assert_eq!((&object["bytes"], &object["scope"]), (&Value::Null, &Value::Null));
        assert_eq!(object["p99_ns"], 2500.0);
        let stopped = Row { outcome: Outcome { ns: 0.0, each: None }, ..row(Test::PutBw, None) };
        assert_eq!(stopped.json("G")["value"], Value::Null);
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
