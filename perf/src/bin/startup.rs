//! How long a job takes to start: until PE 0 may go on, and until it has left the first barrier of all PEs.
//!
//! `OXSHMEM_PES=8 startup` measures threads, `oxshmem-run -n 8 startup` processes; a row each: program, device, row, value. Counted
//! from the program's first line; and where `STARTUP_BEGUN` says when whoever started the job did so, in nanoseconds since 1970
//! (`date +%s%N`), from there, which is what `peers/startup.sh` compares.

use oxshmem::{Error, Result, Shmem};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// When the job was started, if somebody says so.
const BEGUN: &str = "STARTUP_BEGUN";

fn begun() -> Result<Option<Duration>> {
    let Some(text) = std::env::var_os(BEGUN) else { return Ok(None) };
    let nanoseconds = text.to_str().and_then(|text| text.parse().ok());
    let wrong = || Error::other(format!("{BEGUN} is {text:?}, and should be nanoseconds since 1970"));
    Ok(Some(Duration::from_nanos(nanoseconds.ok_or_else(wrong)?)))
}

fn measure(shmem: &Shmem, kind: &str, start: Instant, begun: Option<Duration>) -> Result<()> {
    let init = start.elapsed();
    shmem.barrier_all()?;
    let barrier = start.elapsed();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::other("it is before 1970"))?;
    if shmem.my_pe() == 0 {
        let row = |name: &str, time: Duration| {
            let (device, n, seconds) = (shmem.device_name(), shmem.n_pes(), time.as_secs_f64());
            println!("startup  {device}  {n} {kind}, {name}  {seconds:.6} s");
        };
        row("init", init);
        row("init and a barrier", barrier);
        begun.iter().for_each(|begun| row("start to barrier", now.saturating_sub(*begun)));
    }
    Ok(())
}

fn startup() -> Result<()> {
    let start = Instant::now();
    let begun = begun()?;
    if std::env::var_os("OXSHMEM_PES").is_some() {
        return oxshmem::run(|shmem| measure(&shmem, "threads", start, begun));
    }
    let session = oxshmem::init()?;
    measure(&session, "processes", start, begun)?;
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
