//! `oxshmem-run`: starts the PEs of a program as processes on this machine.

use std::process::ExitCode;

use clap::Parser;
use oxshmem_run::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    match oxshmem_run::run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(refused) => {
            oxshmem_run::say(&refused.why);
            ExitCode::from(refused.status)
        }
    }
}
