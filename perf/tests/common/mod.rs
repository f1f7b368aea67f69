//! Running the program, on the emulator. Each test uses some of it.

#![allow(dead_code, unreachable_pub)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// The program, with nothing of the environment that says how many PEs there are.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxshmem-perf"));
    for name in ["OXSHMEM_PES", "OXSHMEM_RANK", "OXSHMEM_WORLD_SIZE", "OXSHMEM_JOB", "RANK", "WORLD_SIZE"] {
        command.env_remove(name);
    }
    command.env("OXSHMEM_DEVICE", "emulated");
    command
}

/// Runs it with these arguments and variables.
pub fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    program().args(arguments).envs(variables.iter().copied()).output().expect("the program starts")
}

/// What it printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder that is removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty one.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oxshmem-perf-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
