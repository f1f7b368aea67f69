//! What a comparison tells: one JSON object per bar as it is measured, and a table at the end.

use crate::case::{Case, Unit};
use crate::rows::Bound;
use serde_json::json;

/// What came out of some cases of a system: the best one's.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) median: f64,
    /// The least and the greatest run.
    pub(crate) spread: (f64, f64),
    pub(crate) case: Case,
}

/// A measured bar, or a row without one.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) row: String,
    pub(crate) unit: Unit,
    pub(crate) ours: Option<Value>,
    pub(crate) raw: Option<Value>,
    /// Whom it is held against, and with which case; none of a row without a bar.
    pub(crate) against: Option<String>,
    pub(crate) peer: Option<Value>,
    pub(crate) peer_version: Option<String>,
    pub(crate) bound: Bound,
    /// A time that passes in any case.
    pub(crate) allowed: Option<f64>,
    /// GB/s of what is added when a transfer becomes twice as large.
    pub(crate) slope: Option<f64>,
}

/// What is the same in all records of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circumstances {
    pub(crate) suite: String,
    pub(crate) device: Option<String>,
    pub(crate) driver: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) date: String,
    pub(crate) command: String,
}

impl Record {
    /// Ours divided by the peer's.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let ratio = self.ours.as_ref()?.median / self.peer.as_ref()?.median;
        ratio.is_finite().then_some(ratio)
    }

    pub(crate) fn pass(&self) -> Option<bool> {
        let allowed = self.allowed.zip(self.ours.as_ref()).is_some_and(|(most, ours)| ours.median <= most);
        self.bound.holds(self.ratio()?).map(|holds| holds || allowed)
    }

    fn bar(&self) -> Option<f64> {
        match self.bound {
            Bound::AtLeast(bar) | Bound::AtMost(bar) => Some(bar),
            Bound::Any => None,
        }
    }

    /// Its JSON object.
    pub(crate) fn json(&self, of: &Circumstances) -> serde_json::Value {
        let median = |value: &Option<Value>| value.as_ref().map(|value| value.median);
        let spread = |value: &Option<Value>| value.as_ref().map(|value| [value.spread.0, value.spread.1]);
        let case = |value: &Option<Value>| value.as_ref().map(|value| value.case.to_string());
        json!({
            "suite": of.suite,
            "row": self.row,
            "ours": median(&self.ours),
            "raw": median(&self.raw),
            "peer": median(&self.peer),
            "peer_version": self.peer_version,
            "ratio": self.ratio(),
            "bar": self.bar(),
            "allowed": self.allowed,
            "pass": self.pass(),
            "device": of.device,
            "driver": of.driver,
            "date": of.date,
            "commit": of.commit,
            "command": of.command,
            "unit": self.unit.name(),
            "against": self.against,
            "spread": {"ours": spread(&self.ours), "raw": spread(&self.raw), "peer": spread(&self.peer)},
            "case": {"ours": case(&self.ours), "peer": case(&self.peer)},
            "slope": self.slope,
        })
    }

    /// Its line of the table.
    pub(crate) fn line(&self) -> String {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let median = |value: &Option<Value>| number(value.as_ref().map(|value| value.median));
        let spread = self
            .ours
            .as_ref()
            .map_or(String::new(), |value| format!(" ({:.3}..{:.3})", value.spread.0, value.spread.1));
        let bar = match self.bound {
            Bound::AtLeast(bar) => format!(">= {bar:.2}"),
            Bound::AtMost(bar) => format!("<= {bar:.2}"),
            Bound::Any => "-".into(),
        };
        let bar = self.allowed.map_or(bar.clone(), |most| format!("{bar} or {most:.2} us"));
        let verdict = match self.pass() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None if self.bound == Bound::Any => "",
            None => "not measured",
        };
        let ours = format!("{}{spread} {}", median(&self.ours), self.unit.name());
        let peer = self.against.as_ref().map_or(String::new(), |against| {
            format!("{against} {}, ratio {}", median(&self.peer), number(self.ratio()))
        });
        format!("{:<52}  {ours:<36}  {peer:<44}  {bar:<8}  {verdict}", self.row).trim_end().to_owned()
    }
}

/// The bars that were missed or not measured, and how many were met.
pub(crate) fn summary(records: &[Record]) -> String {
    let (mut met, mut missed, mut open) = (0, Vec::new(), Vec::new());
    for record in records.iter().filter(|record| record.bound != Bound::Any) {
        match record.pass() {
            Some(true) => met += 1,
            Some(false) => missed.push(record.line()),
            None => open.push(record.line()),
        }
    }
    let count = format!("{met} bars met, {} missed, {} not measured", missed.len(), open.len());
    [missed, open, vec![count]].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, Test};

    fn value(median: f64) -> Option<Value> {
        Some(Value { median, spread: (median - 1.0, median + 1.0), case: Case::new(Test::PutBw) })
    }

    fn record(peer: Option<Value>, bound: Bound) -> Record {
        Record {
            row: "block put, L".into(),
            unit: Unit::GigabytesPerSecond,
            ours: value(45.0),
            raw: value(50.0),
            against: Some("raw".into()),
            peer,
            peer_version: Some("13.0".into()),
            bound,
            allowed: None,
            slope: Some(46.0),
        }
    }

    #[test]
    fn a_record_has_every_column() {
        let of = Circumstances { suite: "p2p".into(), date: "2026-01-31".into(), ..Circumstances::default() };
        let object = record(value(50.0), Bound::AtLeast(0.95)).json(&of);
        let columns = [
            "suite",
            "row",
            "ours",
            "raw",
            "peer",
            "peer_version",
            "ratio",
            "bar",
            "pass",
            "device",
            "driver",
            "date",
            "commit",
            "command",
            "unit",
            "against",
            "spread",
            "slope",
        ];
        for column in columns {
            assert!(object.get(column).is_some(), "{column}");
        }
        assert_eq!((&object["ratio"], &object["pass"]), (&json!(0.9), &json!(false)));
        assert_eq!(object["spread"]["ours"], json!([44.0, 46.0]));
        let open = record(None, Bound::AtLeast(0.95)).json(&of);
        assert_eq!(
            (&open["peer"], &open["ratio"], &open["pass"]),
            (&json!(null), &json!(null), &json!(null))
        );
    }

    #[test]
    fn the_summary_counts_bars() {
        let records = [
            record(value(45.0), Bound::AtLeast(1.0)),
            record(value(50.0), Bound::AtLeast(1.0)),
            record(None, Bound::AtMost(1.0)),
            record(value(50.0), Bound::Any),
        ];
        let text = summary(&records);
        assert!(text.ends_with("1 bars met, 1 missed, 1 not measured"), "{text}");
        assert!(text.contains("45.000 (44.000..46.000) GB/s") && text.contains("MISSED"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
