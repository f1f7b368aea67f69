//! Starting the tools: a clean environment, and their whole output kept.
//!
//! A build script inherits dozens of variables that describe the *outer* build. None of them may reach the nested
//! one, or cargo would use the host's flags, wrapper and toolchain for the device.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::error::Error;

/// Variables that tell cargo where its registry is and how to reach it: they hold for the nested build too.
const KEPT: &[&str] =
    &["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];

/// Whether the nested build may see the variable.
fn inherited(name: &str) -> bool {
    let of_a_build = name.starts_with("CARGO") || name.starts_with("RUST") || name.starts_with("DEP_");
    !of_a_build
        || KEPT.iter().any(|kept| if kept.ends_with('_') { name.starts_with(kept) } else { name == *kept })
}

/// A command that inherits nothing of the outer build and may use unstable features.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| !inherited(name)) {
            command.env_remove(&name);
        }
    }
    command.env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null());
    command
}

/// Runs the command to its end and keeps what it printed.
///
/// # Errors
/// [`Error::Spawn`] if it cannot be started. A status other than success is left to the caller.
pub(crate) fn run(command: &mut Command) -> Result<Output, Error> {
    command.output().map_err(|source| Error::Spawn { program: PathBuf::from(command.get_program()), source })
}

/// The standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The standard error stream as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(test)]
mod tests {
    use super::inherited;

    #[test]
    fn the_nested_build_sees_registries_and_nothing_else_of_the_outer_one() {
        for kept in ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_REGISTRIES_X_INDEX", "PATH", "https_proxy"] {
            assert!(inherited(kept), "{kept}");
        }
        for dropped in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_ENCODED_RUSTFLAGS", "RUSTC", "RUSTUP_TOOLCHAIN"]
        {
            assert!(!inherited(dropped), "{dropped}");
        }
    }
}
