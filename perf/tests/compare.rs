//! `compare`, with peers that are scripts.

mod common;

use common::{Folder, run, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

/// Answers every test at once, but for some: one with `no`, one with an error, one by its end, one never.
const PEER: &str = "#!/bin/sh
echo ready name=${0##*/} version=7.5 pes=2 gpus=$2
while read test rest; do
  case $test in
    get-lat) echo no ;;
    p-bw) echo error wrong data 3 ;;
    barrier) exit 3 ;;
    sync) sleep 600 ;;
    *) echo ok ns=1000 checked=yes ;;
  esac
done
";

/// A folder of peers with these programs.
fn peers(name: &str, programs: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(name);
    for (program, script) in programs {
        let path = folder.path(program);
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    folder
}

struct Compared {
    output: Output,
    records: Vec<Value>,
}

fn compare(folder: &Folder, arguments: &[&str]) -> Compared {
    let (out, peers) = (folder.path("results.jsonl"), folder.path(""));
    let fixed = ["compare", "--peers", &peers, "--runs", "3", "--out", &out];
    let output = run(&[&fixed, arguments].concat(), &[]);
    let lines = fs::read_to_string(&out).unwrap_or_default();
    let records = lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    Compared { output, records }
}

impl Compared {
    fn told(&self) -> String {
        text(&self.output.stderr)
    }

    /// The record of a row against a peer.
    fn record(&self, row: &str, against: &str) -> &Value {
        let found = self.records.iter().find(|record| {
            record["row"].as_str().is_some_and(|name| name.contains(row)) && record["against"] == against
        });
        found.unwrap_or_else(|| panic!("no {row} against {against}: {:?}", self.records))
    }
}

#[test]
fn every_row_is_measured_in_turns_and_recorded() {
    let folder = peers("rows", &[("raw", PEER), ("nvshmem", PEER)]);
    let plots = folder.path("plots");
    let compared = compare(&folder, &["--row", "block", "--svg", &plots]);
    assert!(compared.output.status.success(), "{}", compared.told());
    let put = compared.record("block put", "raw");
    // 1 KiB in each of two iterations, which the peer says took a microsecond.
    assert_eq!((&put["peer"], &put["raw"], &put["unit"]), (&2.048.into(), &2.048.into(), &"GB/s".into()));
    let ratio = put["ours"].as_f64().expect("a value") / 2.048;
    assert!((put["ratio"].as_f64().expect("a ratio") - ratio).abs() < 1e-12);
    assert_eq!(
        (&put["peer_version"], &put["suite"], &put["pass"]),
        (&"7.5".into(), &"p2p".into(), &Value::Null)
    );
    assert_eq!(put["device"], "emulated GPU");
    let latency = compared.record("put-lat block 8 B", "nvshmem");
    assert_eq!((&latency["peer"], &latency["unit"]), (&0.5.into(), &"us".into()));
    assert_eq!(compared.record("best block get", "copy engine")["peer"], 8.192);
    assert_eq!(compared.record("misaligned", "oxshmem, aligned")["peer_version"], env!("CARGO_PKG_VERSION"));
    assert!(text(&compared.output.stdout).ends_with("0 bars met, 0 missed, 0 not measured\n"));
    for plot in ["put.svg", "get.svg"] {
        let drawn = fs::read_to_string(format!("{plots}/{plot}")).expect("a plot");
        assert!(drawn.contains("oxshmem") && drawn.contains("copy engine"), "{plot}");
    }
}

#[test]
fn a_peer_that_fails_leaves_its_columns_empty() {
    let folder = peers("fails", &[("raw", PEER)]);
    let compared = compare(&folder, &[]);
    assert!(compared.output.status.success(), "{}", compared.told());
    let told = compared.told();
    for line in ["nvshmem: there is no such program in", "raw: ended (exit status: 3) at barrier"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(compared.record("block put", "nvshmem")["peer"], Value::Null);
    // After its end.
    let after = compared.record("sync block", "raw");
    assert_eq!((&after["peer"], &after["raw"]), (&Value::Null, &Value::Null));
    assert!(after["ours"].is_number());
    assert!(compared.record("mailbox-pingpong 8 B", "nvshmem")["ours"].is_number());
}

#[test]
fn parts_and_a_budget_choose_rows() {
    let folder = peers("parts", &[("raw", PEER), ("nvshmem", PEER)]);
    let rows = |arguments: &[&str]| {
        let _ = fs::remove_file(folder.path("results.jsonl"));
        let compared = compare(&folder, &[arguments, &["--row", "atomic-bw"]].concat());
        let mut rows: Vec<String> = compared.records.iter().map(|record| record["row"].to_string()).collect();
        rows.dedup();
        (rows, compared.told())
    };
    let (all, _) = rows(&[]);
    assert_eq!(all.len(), 6);
    let (mut first, mut second) = (rows(&["--part", "1/2"]).0, rows(&["--part", "2/2"]).0);
    assert_eq!((first.len(), second.len()), (3, 3));
    first.append(&mut second);
    first.sort();
    let mut sorted = all;
    sorted.sort();
    assert_eq!(first, sorted);
    let (none, told) = rows(&["--budget", "0"]);
    assert!(none.is_empty() && told.contains("6 of 6 rows were not begun"), "{told}");
}

#[test]
fn wrong_arguments_are_told() {
    let folder = peers("wrong", &[]);
    let compared = compare(&folder, &["--row", "no such row"]);
    assert_eq!(compared.output.status.code(), Some(1));
    assert!(compared.told().contains("no row of the suite"), "{}", compared.told());
    for wrong in [&["--part", "3/2"][..], &["--runs", "0"], &["--suite", "net"], &["--gpus", "3"]] {
        assert_eq!(compare(&folder, wrong).output.status.code(), Some(2), "{wrong:?}");
    }
}
