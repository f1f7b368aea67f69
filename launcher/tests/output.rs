//! `--prefix`, and what PEs print without it.

mod common;

use std::process::Stdio;

use common::{Folder, launcher, run, runs, send, shell, state, wait_until};
use rustix::process::Signal;

fn printed(test: &str, pes: &str, script: &str) -> common::Ran {
    let folder = Folder::new(test);
    let ran = run(&folder, launcher(&folder, &["--prefix", "-n", pes, "sh", "-c", script]));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    ran
}

#[test]
fn lines_have_their_rank_in_a_column() {
    let ran = printed("column", "11", "echo out $OXSHMEM_RANK; echo err $OXSHMEM_RANK >&2");
    let mut expected: Vec<_> = (0..11).map(|rank| format!("[{rank:>2}] out {rank}")).collect();
    expected.sort();
    assert_eq!(ran.lines(), expected);
    let mut err: Vec<_> = ran.stderr.lines().collect();
    err.sort_unstable();
    assert_eq!(err, expected.iter().map(|line| line.replace("out", "err")).collect::<Vec<_>>());
}

#[test]
fn bytes_pass_and_a_last_line_needs_no_end() {
    let ran = printed("bytes", "1", "printf '\\377\\376\\n\\nlast'");
    assert_eq!(ran.stdout, b"[0] \xff\xfe\n[0] \n[0] last\n");
}

#[test]
fn lines_never_mix_and_none_is_lost() {
    let script = "yes abcdefghijklmnopqrstuvwxyz | head -n 50000";
    let ran = printed("flood", "4", script);
    let lines = ran.lines();
    for rank in 0..4 {
        let line = format!("[{rank}] abcdefghijklmnopqrstuvwxyz");
        assert_eq!(lines.iter().filter(|found| **found == line).count(), 50_000, "rank {rank}");
    }
    assert_eq!(lines.len(), 200_000);
}

#[test]
fn a_reader_that_comes_late_to_a_pipe_that_does_not_block_gets_all() {
    let folder = Folder::new("nonblocking");
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writer, true).expect("its mode");
    let mut command = launcher(&folder, &["--prefix", "-n", "1", "sh", "-c", "seq 1 100000"]);
    let mut child = command.stdout(Stdio::from(writer)).spawn().expect("the launcher starts");
    // The launcher alone has the other end now.
    drop(command);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::fs::File::from(reader), &mut text).expect("it can be read");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text.lines().count(), 100_000);
    assert_eq!(text.lines().next_back(), Some("[0] 100000"));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new("full");
    let full = std::fs::File::create("/dev/full").expect("it is there");
    let mut command = launcher(&folder, &["--prefix", "-n", "2", "echo", "hello"]);
    let ran = command.stdout(full).stderr(Stdio::piped()).output().expect("the launcher runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("could not be written: No space left"), "{said}");
}

#[test]
fn closed_streams_are_no_fault() {
    let ran = printed("closed", "3", "echo first; exec >&- 2>&-; sleep 0.2");
    assert_eq!(ran.lines(), ["[0] first", "[1] first", "[2] first"]);
}

#[test]
fn a_grandchild_that_keeps_the_pipe_does_not_keep_the_launcher() {
    let ran = printed("kept", "2", "sleep 600 & setsid sleep 600 & echo end");
    assert_eq!(ran.lines(), ["[0] end", "[1] end"]);
}

#[test]
fn pes_learn_that_nobody_reads() {
    let folder = Folder::new("unread");
    // SIGPIPE is 13.
    let ran = run(&folder, shell(&folder, "{ $RUN --prefix -n 2 yes; echo $? >&2; } | head -n 1"));
    assert!(ran.stderr.ends_with("\n141\n"), "{}", ran.stderr);
    assert_eq!(ran.lines().len(), 1);
}

#[test]
fn a_reader_that_does_not_read_cannot_keep_the_launcher_for_good() {
    let folder = Folder::new("stalled");
    let mut command = launcher(&folder, &["--prefix", "-n", "1", "sh", "-c", "echo $$ > $D/pids; exec yes"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let pid = folder.pids("pids")[0];
    send(&child, Signal::INT);
    wait_until("the PE ends", || !runs(pid));
    let again = || {
        // A signal that comes before the wait for the reader is the second one of the job.
        send(&child, Signal::INT);
        state(child.id().cast_signed()) == Some('Z')
    };
    wait_until("the launcher ends", again);
    assert_eq!(child.wait().expect("it is our child").code(), Some(130));
}

#[test]
fn without_the_option_output_is_as_it_is() {
    let folder = Folder::new("plain");
    let ran = run(&folder, launcher(&folder, &["-n", "2", "printf", "x"]));
    assert_eq!(ran.stdout, b"xx");
}
