//! Cases, and the processes that run them.

use crate::record;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// Names the case in a child.
pub(crate) const CHILD: &str = "OXSHMEM_NIC_TEST";
/// No case takes longer, on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(240);

/// How a case ended.
pub(crate) enum Outcome {
    /// Well; what it says.
    Passed(String),
    /// Why not.
    Failed(String),
}

/// What a child does; what it says, or why it failed.
pub(crate) type Body = fn() -> Result<String, Box<dyn std::error::Error>>;

/// A case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) parent: fn(&Case) -> Outcome,
    pub(crate) body: Option<Body>,
}

impl Case {
    pub(crate) const fn new(name: &'static str, parent: fn(&Case) -> Outcome, body: Option<Body>) -> Self {
        Case { name, parent, body }
    }
}

/// The folder of a case, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nic-{name}-{}", std::process::id()));
    // Of an earlier run with this number.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// The preloaded library: it lies where Cargo puts what a test depends on.
fn library() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let name = "liboxshmem_nic_device.so";
    let mut places = me.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    places.find(|place| place.exists()).ok_or_else(|| format!("{name} is not beside {}", me.display()))
}

/// Lets a command see the emulated device.
pub(crate) fn with_device(command: &mut Command, folder: &Path) -> Result<(), String> {
    command.env("LD_PRELOAD", library()?);
    command.env("SYSFS_PATH", folder.join("sysfs"));
    Ok(())
}

/// This program as a child that runs a case.
pub(crate) fn this(case: &Case, folder: &Path) -> Result<Command, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.env(CHILD, case.name);
    with_device(&mut command, folder)?;
    Ok(command)
}

/// Waits for a command, and ends it if it takes too long.
pub(crate) fn finish(mut command: Command) -> Result<Output, String> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{:?} does not start: {error}", command.get_program()))?;
    let end = Instant::now() + LIMIT;
    // What a case says fits a pipe.
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() > end {
            child.kill().map_err(|error| error.to_string())?;
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

/// What a child that has ended says of a case.
pub(crate) fn judge(output: Result<Output, String>) -> Outcome {
    match output {
        Ok(output) if output.status.success() => {
            Outcome::Passed(String::from_utf8_lossy(&output.stdout).trim_end().to_string())
        }
        Ok(output) => Outcome::Failed(format!(
            "{}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(why) => Outcome::Failed(why),
    }
}

fn run_with(case: &Case, settings: &[(&str, &str)]) -> Outcome {
    let folder = folder(case.name);
    let outcome = judge(this(case, &folder).and_then(|mut command| {
        command.envs(settings.iter().copied());
        finish(command)
    }));
    // It holds nothing that a failure would be understood by.
    let _ = std::fs::remove_dir_all(folder);
    outcome
}

/// Runs a case in a child, whose NIC leaves what it has consumed as it is.
pub(crate) fn run(case: &Case) -> Outcome {
    run_with(case, &[("OXSHMEM_NIC_POISON", "off")])
}

/// Runs a case with an adversary that overwrites what the NIC has consumed.
pub(crate) fn run_against_adversary(case: &Case) -> Outcome {
    let mut said = Vec::new();
    for seed in 1..=4 {
        match run_with(case, &[("OXSHMEM_NIC_SEED", seed.to_string().as_str())]) {
            Outcome::Passed(text) => said.push(text),
            Outcome::Failed(why) => return Outcome::Failed(format!("seed {seed}: {why}")),
        }
    }
    Outcome::Passed(said.join("; "))
}

/// Runs a case in a child, whose NIC overwrites what it has consumed.
pub(crate) fn run_poisoned(case: &Case) -> Outcome {
    run_with(case, &[])
}

/// Runs a case whose device lacks something, once for each; the child finds in the environment what it is.
pub(crate) fn run_without(case: &Case) -> Outcome {
    let mut said = Vec::new();
    for what in ["devx", "atomics"] {
        match run_with(case, &[("OXSHMEM_NIC_WITHOUT", what)]) {
            Outcome::Passed(text) => said.push(text),
            Outcome::Failed(why) => return Outcome::Failed(format!("without {what}: {why}")),
        }
    }
    Outcome::Passed(said.join("; "))
}

/// Runs a case with two NICs.
pub(crate) fn run_with_two_devices(case: &Case) -> Outcome {
    run_with(case, &[("OXSHMEM_NIC_DEVICES", "2")])
}

/// Runs a case with four NICs.
pub(crate) fn run_with_four_devices(case: &Case) -> Outcome {
    run_with(case, &[("OXSHMEM_NIC_DEVICES", "4")])
}

/// Runs a case with two NICs on Ethernet.
pub(crate) fn run_on_ethernet(case: &Case) -> Outcome {
    run_with(case, &[("OXSHMEM_NIC_DEVICES", "2"), ("OXSHMEM_NIC_LINK", "ethernet")])
}

/// Runs the child's side of a case.
pub(crate) fn child(cases: &[Case], name: &str) -> ExitCode {
    let Some(body) = cases.iter().find(|case| case.name == name).and_then(|case| case.body) else {
        eprintln!("there is no case {name} for a child");
        return ExitCode::FAILURE;
    };
    match body() {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            eprintln!("the device's record:\n{}", record::text().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}
