//! `--mps` with a control program that only pretends.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Folder, Ran, assert_gone, finish, launcher, run, runs, send, start};
use rustix::process::Signal;

/// Keeps its daemon's number in the pipe directory; writes how it was called, and what it was told.
const FAKE: &str = r#"#!/bin/sh
if [ "$1" = -d ]; then
    echo start >> "$D/calls"
    [ -n "$BROKEN" ] && { echo "the fake is out of order" >&2; exit 1; }
    setsid sh -c 'trap "" TERM; [ -z "$DEAF" ] && trap "exit 0" TERM
        sleep 600 & echo $$ $! > "$D/daemon"; echo $$ > "$D/pid"; mv "$D/pid" "$CUDA_MPS_PIPE_DIRECTORY"; wait; wait' &
    exit 0
fi
read words
if ! pid=$(cat "$CUDA_MPS_PIPE_DIRECTORY/pid" 2>/dev/null); then
    echo "Cannot find MPS control daemon process"
    exit 0
fi
echo "$words" >> "$D/calls"
# An orphan that ends meanwhile: its signal must not disturb the wait for the answer.
(sleep 0.1 &)
sleep 0.2
[ "$words" = quit ] && kill "$pid"
exit 0
"#;

/// A folder with the fake on its PATH.
fn with_fake(test: &str) -> Folder {
    let folder = Folder::new(test);
    let file = folder.path("nvidia-cuda-mps-control");
    fs::write(&file, FAKE).expect("a file can be written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    fs::create_dir(folder.path("temp")).expect("a folder can be made");
    folder
}

fn job(folder: &Folder, script: &str) -> Command {
    let mut command = launcher(folder, &["--mps", "-n", "2", "--grace", "0", "sh", "-c", script]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.0.display()));
    command.env("CUDA_MPS_PIPE_DIRECTORY", folder.path("none")).env("TMPDIR", folder.path("temp"));
    command
}

/// The job's own daemon was started once, told to quit last, and left nothing.
fn assert_own_daemon_came_and_went(folder: &Folder, ran: &Ran) {
    let calls = folder.read("calls");
    let calls: Vec<_> = calls.lines().collect();
    assert_eq!((calls[0], calls.last()), ("start", Some(&"quit")), "{ran:?}");
    assert_eq!(calls.iter().filter(|call| **call == "start").count(), 1);
    assert_gone(&folder.pids("daemon"));
    assert_eq!(fs::read_dir(folder.path("temp")).expect("it is ours").count(), 0, "a folder is left");
}

#[test]
fn a_daemon_of_its_own_serves_the_job_and_ends_with_it() {
    let folder = with_fake("own");
    let script = "kill -0 $(cat $CUDA_MPS_PIPE_DIRECTORY/pid) && echo up; \
                  stat -c %a $(dirname $CUDA_MPS_PIPE_DIRECTORY) $CUDA_MPS_LOG_DIRECTORY";
    let ran = run(&folder, job(&folder, script));
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.lines(), ["700", "700", "700", "700", "up", "up"]);
    assert_own_daemon_came_and_went(&folder, &ran);
}

#[test]
fn it_ends_after_a_failure_too() {
    let folder = with_fake("failed");
    let ran = run(&folder, job(&folder, "[ $OXSHMEM_RANK = 1 ] && exit 9; sleep 600"));
    assert_eq!(ran.status, Some(9), "{ran:?}");
    assert_own_daemon_came_and_went(&folder, &ran);
}

#[test]
fn it_ends_after_an_interrupt_too() {
    let folder = with_fake("interrupted");
    let child = start(&folder, job(&folder, "echo $$ > $D/pids.$OXSHMEM_RANK; exec sleep 600"));
    let pids = [folder.pids("pids.0"), folder.pids("pids.1")].concat();
    send(&child, Signal::INT);
    let ran = finish(&folder, child);
    assert_eq!(ran.status, Some(130), "{ran:?}");
    assert_gone(&pids);
    assert_own_daemon_came_and_went(&folder, &ran);
}

#[test]
fn one_that_does_not_quit_is_killed() {
    let folder = with_fake("deaf");
    let mut command = job(&folder, "true");
    command.env("DEAF", "1");
    let ran = run(&folder, command);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_own_daemon_came_and_went(&folder, &ran);
}

#[test]
fn a_daemon_that_runs_is_used_and_left() {
    let folder = with_fake("found");
    let pipes = folder.path("pipes");
    fs::create_dir(&pipes).expect("a folder can be made");
    let mut daemon = Command::new("sleep").arg("600").spawn().expect("sleep starts");
    fs::write(pipes.join("pid"), daemon.id().to_string()).expect("a file can be written");
    let mut command = job(&folder, "echo $CUDA_MPS_PIPE_DIRECTORY");
    command.env("CUDA_MPS_PIPE_DIRECTORY", &pipes);
    let ran = run(&folder, command);
    let expected = pipes.display().to_string();
    assert_eq!((ran.status, ran.lines()), (Some(0), vec![expected.clone(), expected]), "{}", ran.stderr);
    assert_eq!(folder.read("calls"), "get_server_list\n");
    assert!(runs(daemon.id().cast_signed()));
    daemon.kill().and_then(|()| daemon.wait()).expect("it is ours");
}

#[test]
fn without_mps_no_pe_starts() {
    let folder = with_fake("broken");
    let mut command = job(&folder, "echo ran");
    command.env("BROKEN", "1");
    let ran = run(&folder, command);
    assert_eq!((ran.status, ran.stdout.as_slice()), (Some(1), &b""[..]), "{ran:?}");
    assert!(
        ran.stderr.contains("the fake is out of order") && ran.stderr.contains("without --mps"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(folder.path("temp")).expect("it is ours").count(), 0, "a folder is left");

    fs::remove_file(folder.path("nvidia-cuda-mps-control")).expect("it is ours");
    let mut command = job(&folder, "echo ran");
    command.env("PATH", "/usr/bin:/bin");
    let ran = run(&folder, command);
    assert_eq!((ran.status, ran.stdout.as_slice()), (Some(1), &b""[..]), "{ran:?}");
    assert!(ran.stderr.contains("nvidia-cuda-mps-control, which is not on the PATH"), "{}", ran.stderr);
}
