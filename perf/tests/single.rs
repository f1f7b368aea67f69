//! Every test end to end, over small sizes; and what is told to those who ask for what cannot be.

mod common;

use common::{Folder, program, run, text};
use serde_json::Value;
use std::process::Stdio;

type Variables = &'static [(&'static str, &'static str)];

const TWO: Variables = &[("OXSHMEM_PES", "2")];

/// The rows that a test prints: those that begin with a number or a dash.
fn rows(arguments: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let output = run(arguments, variables);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn every_test_moves_right_data() {
    let small = ["-b", "36", "-e", "576", "-f", "4"];
    let words = ["-b", "40", "-e", "640", "-f", "4"];
    for test in ["put-bw", "get-bw", "p-bw", "st-bw", "put-lat", "get-lat", "put-signal-pingpong"] {
        let rows = rows(&[&[test], &small[..]].concat(), TWO);
        assert_eq!(rows.len(), 3, "{test}: {rows:?}");
    }
    for test in ["g-bw", "gather-bw"] {
        let rows = rows(&[&[test], &words[..]].concat(), TWO);
        assert!(rows.len() == 3, "{test}: {rows:?}");
    }
    for test in ["p-lat", "g-lat", "signal-pingpong", "atomic-bw", "atomic-lat", "gups"] {
        let rows = rows(&[test], TWO);
        assert!(rows.len() == 1, "{test}: {rows:?}");
    }
    for test in ["barrier", "sync"] {
        assert_eq!(rows(&[test], TWO).len(), 1, "{test}");
    }
}

#[test]
fn every_form_of_a_test_moves_right_data() {
    let forms: &[&[&str]] = &[
        &["put-bw", "--scope", "thread", "--bidir"],
        &["put-bw", "--scope", "warp", "-t", "64", "--offset", "4"],
        &["put-bw", "--scope", "grid", "--bidir"],
        &["put-bw", "--path", "bulk", "--offset", "8"],
        &["put-bw", "--message-rate"],
        &["get-bw", "--scope", "thread"],
        &["get-bw", "--scope", "warp", "-t", "64", "--bidir", "--offset", "12"],
        &["get-bw", "--scope", "grid"],
        &["get-bw", "--path", "bulk", "--bidir"],
        &["gather-bw", "--index", "random"],
        &["put-lat", "--scope", "thread"],
        &["put-lat", "--scope", "warp"],
        &["get-lat", "--scope", "thread"],
        &["get-lat", "--scope", "warp"],
        &["signal-pingpong", "--order", "weak"],
        &["put-signal-pingpong", "--scope", "thread"],
        &["put-signal-pingpong", "--scope", "warp", "-t", "64"],
        &["atomic-bw", "--op", "fetch-add", "--pattern", "one"],
        &["atomic-bw", "--op", "add", "--pattern", "one"],
        &["atomic-bw", "--op", "fetch-add", "--pattern", "spread"],
        &["atomic-bw", "--op", "add", "--pattern", "spread"],
        &["atomic-lat", "--op", "fetch-add"],
        &["gups", "--updates", "7", "-b", "8", "-e", "8"],
        &["gups", "--updates", "7", "--method", "aggregated", "-b", "64", "-e", "64"],
        &["mailbox-pingpong", "-s", "warp", "-b", "512", "-e", "512"],
    ];
    for form in forms {
        let sizes: &[&str] = match form[0] {
            "put-bw" | "get-bw" | "gather-bw" => &["-b", "1000", "-e", "1000"],
            "put-lat" | "get-lat" | "put-signal-pingpong" => &["-b", "36", "-e", "36"],
            _ => &[],
        };
        let rows = rows(&[form, sizes].concat(), TWO);
        assert!(rows.len() == 1, "{form:?}: {rows:?}");
    }
    for scope in ["thread", "warp", "block", "grid"] {
        for test in ["barrier", "sync"] {
            assert_eq!(rows(&[test, "--scope", scope], TWO).len(), 1, "{test} {scope}");
        }
    }
}

#[test]
fn barriers_and_updates_are_of_any_number_of_pes() {
    for (test, pes) in [("barrier", "3"), ("sync", "1"), ("gups", "3")] {
        assert_eq!(rows(&[test], &[("OXSHMEM_PES", pes)]).len(), 1, "{test}");
    }
}

#[test]
fn rows_are_written_as_lines_and_drawn() {
    let folder = Folder::new("files");
    let (json, svg) = (folder.path("rows.jsonl"), folder.path("rows.svg"));
    let arguments = ["put-bw", "-b", "256", "-e", "1K", "--json", &json, "--svg", &svg];
    assert_eq!(rows(&arguments, TWO).len(), 3);
    let lines = std::fs::read_to_string(&json).expect("the rows");
    let objects: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(objects.iter().map(|row| row["bytes"].clone()).collect::<Vec<_>>(), [256, 512, 1024]);
    for row in &objects {
        assert_eq!((&row["test"], &row["unit"]), (&"put-bw".into(), &"GB/s".into()));
        assert_eq!((&row["pes"], &row["device"]), (&2.into(), &"emulated GPU".into()));
    }
    assert!(std::fs::read_to_string(&svg).expect("the plot").contains("</svg>"));
    let printed = run(&["put-bw", "-b", "256", "-e", "512", "--json", "-"], TWO);
    let objects = text(&printed.stdout);
    assert!(objects.lines().count() == 2 && objects.lines().all(|line| line.starts_with('{')), "{objects}");
}

#[test]
fn processes_do_the_same() {
    let job = format!("oxshmem-perf-test-{}", std::process::id());
    let started = ["0", "1"].map(|rank| {
        let mut command = program();
        command.args(["put-bw", "-b", "256", "-e", "256", "--bidir"]).env("OXSHMEM_JOB", &job);
        command.env("OXSHMEM_RANK", rank).env("OXSHMEM_WORLD_SIZE", "2");
        command.env("OXSHMEM_LOCAL_RANK", rank).env("OXSHMEM_LOCAL_WORLD_SIZE", "2");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    });
    let [first, second] = started.map(|child| child.wait_with_output().expect("its output"));
    for output in [&first, &second] {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(text(&first.stdout).lines().count() == 3, "{}", text(&first.stdout));
    assert_eq!(text(&second.stdout), "");
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let cases: &[(&[&str], Variables, &str)] = &[
        (&["put-bw"], &[], "put-bw is between 2 PEs, and there is 1"),
        (&["get-lat"], &[("OXSHMEM_PES", "3")], "get-lat is between 2 PEs, and there are 3"),
        (&["put-bw", "-c", "0"], TWO, "1 CTA or more"),
        (&["put-bw", "-t", "1025"], TWO, "1 to 1024 threads"),
        (&["put-bw", "-b", "64", "-e", "32"], TWO, "is more than the greatest"),
        (&["put-bw", "-f", "1"], TWO, "less than 2"),
        (&["put-bw", "-b", "6", "-e", "6"], TWO, "no whole number"),
        (&["put-bw", "-n", "0"], TWO, "1 timed iteration"),
        (&["put-bw", "--offset", "2"], TWO, "multiple of 4"),
        (&["put-bw", "--path", "bulk", "-s", "warp"], TWO, "at block scope"),
        (&["barrier", "-b", "8"], TWO, "barrier has no option --min-bytes"),
        (&["put-bw", "-c", "500"], TWO, "resident blocks"),
        (
            &["put-bw", "-b", "1G", "-e", "1G"],
            &[("OXSHMEM_PES", "2"), ("OXSHMEM_HEAP", "1M")],
            "out of memory",
        ),
        (&["mailbox-pingpong", "-b", "12", "-e", "12"], TWO, "8"),
        (
            &["put-bw", "--json", "/nonexistent/rows", "-b", "256", "-e", "256"],
            TWO,
            "cannot write /nonexistent/rows",
        ),
    ];
    for (arguments, variables, why) in cases {
        let output = run(arguments, variables);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains(why) && told.trim_end().lines().count() == 1, "{arguments:?}: {told}");
        assert!(told.starts_with("oxshmem-perf: ") && !told.contains("panicked"), "{arguments:?}: {told}");
    }
    for wrong in [&["swim-bw"][..], &["put-bw", "-s", "team"], &["put-bw", "-b", "x"], &[]] {
        let output = run(wrong, TWO);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
    }
}
