//! How long a job takes to start: from the call that joins it until PE 0 may go on.
//!
//! `OXSHMEM_PES=8 startup` measures threads, `oxshmem-run -n 8 startup` processes; one row: program, device, row, value.

use oxshmem::{Result, Shmem};
use std::process::ExitCode;
use std::time::Instant;

fn print(shmem: &Shmem, kind: &str, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    if shmem.my_pe() == 0 {
        println!("startup  {}  {} {kind}, init  {seconds:.6} s", shmem.device_name(), shmem.n_pes());
    }
}

fn startup() -> Result<()> {
    let start = Instant::now();
    if std::env::var_os("OXSHMEM_PES").is_some() {
        return oxshmem::run(|shmem| {
            print(&shmem, "threads", start);
            Ok(())
        });
    }
    let session = oxshmem::init()?;
    print(&session, "processes", start);
    session.end()
}

fn main() -> ExitCode {
    match startup() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("startup: {error}");
            ExitCode::FAILURE
        }
    }
}
