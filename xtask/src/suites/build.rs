//! The suites that are cargo commands.
//!
//! Unit tests run in the dev profile, with its overflow checks; programs in the release profile, which the demo and the
//! bundle use too.

use std::process::Command;

use anyhow::{Context, Result};

use super::{Bench, Outcome};
use crate::checkout;
use crate::doctor::RUST_VERSION;
use crate::licences;
use crate::process::{self, pass_through};

pub(super) fn format(bench: &Bench) -> Result<Outcome> {
    pass_through(bench.cargo().args(["fmt", "--all", "--check"]))?;
    let apart = bench.checkout.root.join("bootstrap-mpi");
    pass_through(checkout::cargo_in(&apart).args(["fmt", "--check"]))?;
    Ok(Outcome::Passed(String::new()))
}

pub(super) fn lint(bench: &Bench) -> Result<Outcome> {
    let mut clippy = bench.cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"]);
    let mut doc = bench.cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--keep-going"]).env("RUSTDOCFLAGS", "-D warnings");
    let (code, text) = (pass_through(&mut clippy), pass_through(&mut doc));
    code.and(text)?;
    Ok(Outcome::Passed("clippy and rustdoc".to_owned()))
}

pub(super) fn licences(bench: &Bench) -> Result<Outcome> {
    let count = licences::check(&bench.checkout)?;
    Ok(Outcome::Passed(format!("{count} packages")))
}

/// The oldest Rust that the workspace says it builds with.
pub(super) fn msrv(bench: &Bench) -> Result<Outcome> {
    let version = process::output(bench.checkout.cargo().arg("--version"))?;
    let version = version.split_whitespace().nth(1).context("`cargo --version` names no version")?;
    if version.starts_with(&format!("{RUST_VERSION}.")) {
        return Ok(Outcome::Passed(format!(
            "rust-version is {RUST_VERSION}, and {version} runs these suites"
        )));
    }
    let installed = process::output(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    let Some(line) = installed.lines().find(|line| line.starts_with(RUST_VERSION)) else {
        return Ok(Outcome::Skipped(format!(
            "rust-version is {RUST_VERSION}, {version} runs these suites, and rustup has no {RUST_VERSION}"
        )));
    };
    let toolchain = line.split_whitespace().next().unwrap_or(line);
    let mut check = Command::new("rustup");
    check.args(["run", toolchain, "cargo", "check", "--workspace", "--all-targets"]);
    check.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(&bench.checkout.root);
    pass_through(check.env("CARGO_TARGET_DIR", bench.checkout.target.join("msrv")))?;
    Ok(Outcome::Passed(format!("`cargo check` with {toolchain}")))
}

/// Everything but the whole-system tests, which have suites of their own.
pub(super) fn unit(bench: &Bench) -> Result<Outcome> {
    pass_through(bench.cargo().args([
        "test",
        "--workspace",
        "--exclude",
        "oxshmem-tests",
        // Large, and of no use unoptimised.
        "--exclude",
        "oxshmem-collective-tests",
        // It needs libraries of the system's, and has a suite of its own.
        "--exclude",
        "oxshmem-nic-device",
        "--no-fail-fast",
    ]))?;
    pass_through(bench.whole_system_tests().args(["--lib", "--bins", "--test", "environment"]))?;
    pass_through(bench.whole_system_tests().arg("--doc"))?;
    Ok(Outcome::Passed(String::new()))
}

pub(super) fn ui(bench: &Bench) -> Result<Outcome> {
    pass_through(bench.whole_system_tests().args(["--test", "ui"]))?;
    Ok(Outcome::Passed(String::new()))
}
