//! Running the launcher and looking what became of processes. Limits are generous: they only keep a test from hanging.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(10);

/// A folder of one test's own.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a file is there with a whole line, and returns the numbers in it.
    pub(crate) fn pids(&self, name: &str) -> Vec<i32> {
        wait_until(&format!("{name} is written"), || self.read(name).ends_with('\n'));
        self.read(name).split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = String::from_utf8_lossy(&self.stdout).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// The launcher with arguments, in the folder, which its PEs know as `$D`.
pub(crate) fn launcher(folder: &Folder, arguments: &[&str]) -> Command {
    on(folder, env!("CARGO_BIN_EXE_oxshmem-run"), arguments)
}

/// Another program, which finds the launcher as `$RUN`.
pub(crate) fn shell(folder: &Folder, script: &str) -> Command {
    on(folder, "/bin/sh", &["-c", script])
}

fn on(folder: &Folder, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&folder.0).env("D", &folder.0);
    command.env("RUN", env!("CARGO_BIN_EXE_oxshmem-run")).env("OXSHMEM_DEVICE", "emulated");
    command.env_remove("OXSHMEM_PES");
    command
}

/// Starts it with its output in files.
pub(crate) fn start(folder: &Folder, mut command: Command) -> Child {
    let file = |name| File::create(folder.path(name)).expect("a file can be made");
    command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
    command.spawn().expect("it starts")
}

/// Waits for it.
pub(crate) fn finish(folder: &Folder, mut child: Child) -> Ran {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("it does not end; it said {:?}", folder.read("stderr"));
        }
        thread::sleep(TICK);
    };
    let stdout = fs::read(folder.path("stdout")).expect("it was made");
    Ran { status: status.code(), signal: status.signal(), stdout, stderr: folder.read("stderr") }
}

pub(crate) fn run(folder: &Folder, command: Command) -> Ran {
    let child = start(folder, command);
    finish(folder, child)
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

pub(crate) fn wait_until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        thread::sleep(TICK);
    }
}

/// The process's state, as a letter; `None` if there is none.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub(crate) fn runs(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

pub(crate) fn assert_gone(pids: &[i32]) {
    assert!(!pids.is_empty());
    let left: Vec<_> = pids.iter().filter(|pid| runs(**pid)).collect();
    assert!(left.is_empty(), "still run: {left:?}");
}
