//! `serve`: requests and answers, one line each.

mod common;

use common::{program, text};
use std::io::Write;
use std::process::{Output, Stdio};

fn serve(arguments: &[&str], requests: &str) -> Output {
    let mut command = program();
    command.arg("serve").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may have ended already, which its output then tells.
    let _ = stdin.write_all(requests.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("its output")
}

#[test]
fn requests_are_answered_one_by_one() {
    let requests = [
        ("put-bw scope=block ctas=2 threads=32 bytes=4096 iters=2", "ok ns="),
        ("put-bw scope=grid ctas=2 threads=32 bytes=4096 iters=2 offset=4 bidir=1", "ok ns="),
        ("get-bw scope=block path=bulk ctas=1 threads=32 bytes=65552 iters=1", "ok ns="),
        ("put-bw scope=block ctas=2 threads=32 bytes=4096 iters=2 inflight=4", "no"),
        ("mailbox-pingpong scope=warp ctas=1 threads=32 bytes=8 iters=2", "ok ns="),
        ("mailbox-pingpong scope=warp ctas=1 threads=32 bytes=12 iters=2", "error "),
        ("gups ctas=1 threads=32 bytes=1024 updates=3 method=aggregated", "ok ns="),
        ("copy-bw bytes=4096 iters=2", "no"),
        ("swim-bw bytes=4096", "no"),
        ("", "error a test is one of"),
        ("put-bw scope=team", "error a scope is one of"),
        ("put-bw ctas=0", "error a launch has 1 CTA or more"),
        ("put-bw bytes=1048576", "error 1048576 bytes"),
        ("put-bw ctas=100 threads=1024 bytes=4096", "error "),
        ("put-bw bytes", "error a key is set by KEY=VALUE"),
        ("put-lat scope=warp ctas=1 threads=32 bytes=64 iters=2", "ok ns="),
        ("gups ctas=1 threads=32 bytes=1024 updates=3 method=atomic", "ok ns="),
        ("barrier scope=block ctas=1 threads=32 iters=2", "ok ns="),
    ];
    let lines: String = requests.iter().map(|(request, _)| format!("{request}\n")).collect();
    let output = serve(&["--memory", "1M"], &lines);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let mut said = said.lines();
    let ready = said.next().expect("it is ready");
    assert!(ready.starts_with("ready name=oxshmem version=") && ready.contains(" pes=2 gpus=2"), "{ready}");
    let answers: Vec<&str> = said.collect();
    assert_eq!(answers.len(), requests.len(), "{answers:?}");
    for ((request, expected), answer) in requests.iter().zip(answers) {
        assert!(answer.starts_with(expected), "{request}: {answer}");
        assert!(!answer.starts_with("ok") || answer.contains("checked=yes"), "{request}: {answer}");
    }
}

#[test]
fn the_pes_lie_on_as_many_gpus_as_asked() {
    for gpus in ["1", "2"] {
        let output = serve(&["--gpus", gpus, "--memory", "1M"], "put-bw bytes=1024 bidir=1 iters=2\n");
        let said = text(&output.stdout);
        assert!(said.contains(&format!(" gpus={gpus} ")) && said.contains("\nok ns="), "{said}");
    }
    let output = serve(&["--gpus", "3"], "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn memory_that_there_is_not_is_an_error_at_the_start() {
    let output = serve(&["--memory", "99999999999"], "barrier\n");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("out of memory") && text(&output.stdout).is_empty(), "{told}");
}
