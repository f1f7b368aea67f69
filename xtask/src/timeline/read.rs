//! A timeline's file as rows with what happened in them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// One run of a timeline. Times are microseconds after its first event.
#[derive(Debug)]
pub(super) struct Timeline {
    /// By PE.
    pub(super) pes: Vec<Pe>,
    pub(super) end: f64,
}

/// A PE.
#[derive(Debug, Default)]
pub(super) struct Pe {
    pub(super) name: String,
    pub(super) device: String,
    /// In the order of their numbers: the host, kernels by stream, blocks.
    pub(super) rows: Vec<Row>,
}

/// What follows each other.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) events: Vec<Event>,
}

/// Something that lasted.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) category: String,
    pub(super) begin: f64,
    pub(super) end: f64,
    /// What else is known of it, for people.
    pub(super) more: String,
}

/// Reads the events of the `run`-th run, from 1.
pub(super) fn timeline(text: &str, run: u64) -> Result<Timeline> {
    let file: Value = serde_json::from_str(text).context("it is not JSON")?;
    let Some(events) = file["traceEvents"].as_array() else { bail!("it has no `traceEvents`") };
    let about = |what: &'static str| events.iter().filter(move |event| event["name"] == what);
    let runs = about("oxshmem_pe").filter_map(|event| Some((event["args"]["run"].as_u64()?, event)));
    let mut pes: BTreeMap<u64, (Pe, BTreeMap<u64, Row>)> = BTreeMap::new();
    for (_, event) in runs.filter(|(number, _)| number + 1 == run) {
        let device = event["args"]["device"].as_str().unwrap_or_default().to_owned();
        pes.entry(number(event, "pid")?).or_default().0.device = device;
    }
    ensure!(!pes.is_empty(), "it has no run {run} of oxshmem");
    for event in about("process_name") {
        if let Some((pe, _)) = pes.get_mut(&number(event, "pid")?) {
            pe.name = name(event);
        }
    }
    for event in about("thread_name") {
        if let Some((_, rows)) = pes.get_mut(&number(event, "pid")?) {
            rows.entry(number(event, "tid")?).or_default().name = name(event);
        }
    }
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let Some((_, rows)) = pes.get_mut(&number(event, "pid")?) else { continue };
        let (begin, lasted) = (event["ts"].as_f64(), event["dur"].as_f64());
        let (begin, lasted) = begin.zip(lasted).context("an event has no time")?;
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        rows.entry(number(event, "tid")?).or_default().events.push(Event {
            name: text("name"),
            category: text("cat"),
            begin,
            end: begin + lasted,
            more: more(&event["args"]),
        });
    }
    let all = |pes: &BTreeMap<u64, (Pe, BTreeMap<u64, Row>)>, of: fn(&Event) -> f64| -> Vec<f64> {
        pes.values().flat_map(|(_, rows)| rows.values()).flat_map(|row| row.events.iter().map(of)).collect()
    };
    let start = all(&pes, |event| event.begin).into_iter().fold(f64::INFINITY, f64::min);
    let end = all(&pes, |event| event.end).into_iter().fold(start, f64::max);
    ensure!(start.is_finite(), "nothing happened in run {run}");
    let pes = pes.into_values().map(|(pe, rows)| {
        let rows = rows.into_values().map(|mut row| {
            for event in &mut row.events {
                (event.begin, event.end) = (event.begin - start, event.end - start);
            }
            row.events.sort_by(|one, other| one.begin.total_cmp(&other.begin));
            row
        });
        Pe { rows: rows.collect(), ..pe }
    });
    Ok(Timeline { pes: pes.collect(), end: end - start })
}

fn number(event: &Value, key: &str) -> Result<u64> {
    event[key].as_u64().with_context(|| format!("an event has no `{key}`"))
}

fn name(event: &Value) -> String {
    event["args"]["name"].as_str().unwrap_or_default().to_owned()
}

fn more(args: &Value) -> String {
    let pairs = args.as_object().into_iter().flatten();
    pairs.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_their_order_with_times_from_the_first_event() {
        let text = r#"{"traceEvents":[
            {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"PE 1"}},
            {"ph":"M","name":"oxshmem_pe","pid":1,"tid":0,"args":{"run":0,"device":"H200"}},
            {"ph":"M","name":"oxshmem_pe","pid":10001,"tid":0,"args":{"run":1}},
            {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"block 0"}},
            {"ph":"X","name":"put","cat":"device","pid":1,"tid":2,"ts":100.5,"dur":2,"args":{"peer":0}},
            {"ph":"X","name":"launch k","cat":"host","pid":1,"tid":0,"ts":100,"dur":0.25,"args":{}},
            {"ph":"X","name":"put","cat":"device","pid":10001,"tid":2,"ts":1,"dur":2,"args":{}}
        ]}"#;
        let timeline = timeline(text, 1).unwrap();
        let [pe] = &timeline.pes[..] else { panic!("{timeline:?}") };
        assert_eq!((pe.name.as_str(), pe.device.as_str(), timeline.end), ("PE 1", "H200", 2.5));
        assert_eq!(pe.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["", "block 0"]);
        let put = &pe.rows[1].events[0];
        assert_eq!((put.begin, put.end, put.more.as_str()), (0.5, 2.5, "peer 0"));
        for (wrong, why) in [("{", "not JSON"), ("{}", "traceEvents"), (r#"{"traceEvents":[]}"#, "no run 1")]
        {
            assert!(format!("{:#}", super::timeline(wrong, 1).unwrap_err()).contains(why));
        }
    }
}
