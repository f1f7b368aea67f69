//! `oxshmem-run`: starts the PEs of a program as processes on this machine, or says what the machine offers.

use std::env;
use std::process::ExitCode;

use clap::Parser;
use oxshmem_doctor::gpu;
use oxshmem_run::options::{DOCTOR, Options};

fn main() -> ExitCode {
    // A job has its options first, so none begins with these words.
    match env::args_os().nth(1).as_deref().and_then(|word| word.to_str()) {
        Some(DOCTOR) => return doctor(),
        Some(gpu::PROBE) => return probe(),
        _ => {}
    }
    let options = Options::parse();
    match oxshmem_run::run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(refused) => {
            oxshmem_run::say(&refused.why);
            ExitCode::from(refused.status)
        }
    }
}

fn doctor() -> ExitCode {
    if let Some(more) = env::args_os().nth(2) {
        oxshmem_run::say(&format!("{DOCTOR} takes no argument, and {} is one", more.display()));
        return ExitCode::from(2);
    }
    match oxshmem_doctor::print(&oxshmem_doctor::machine()) {
        Ok(nothing_is_missing) => ExitCode::from(u8::from(!nothing_is_missing)),
        Err(error) => {
            oxshmem_run::say(&format!("the table cannot be written: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// What the doctor starts to look at the driver.
fn probe() -> ExitCode {
    match gpu::probe_here() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
