//! A job without a launcher: PE 0 writes a unique id to a file, which the others read.
//!
//! `unique-id RANK PES FILE`; the file must not be there before, and PE 0 removes it.

use oxshmem::{Error, Result, UniqueId};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the others wait for the file.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

/// Writes an id, whole at once: under another name first.
fn write(id: &UniqueId, file: &Path) -> Result<()> {
    let unfinished = file.with_extension("part");
    fs::write(&unfinished, format!("{id}\n"))?;
    Ok(fs::rename(&unfinished, file)?)
}

fn read(file: &Path) -> Result<UniqueId> {
    let start = Instant::now();
    loop {
        match fs::read_to_string(file) {
            Ok(text) => return text.parse().map_err(Error::other),
            Err(error) if start.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Whether every PE knows of every other.
fn job(rank: u32, pes: u32, file: &Path) -> Result<bool> {
    let id = if rank == 0 {
        let id = UniqueId::new()?;
        write(&id, file)?;
        id
    } else {
        read(file)?
    };
    let session = oxshmem::init_with_unique_id(rank, pes, &id)?;
    let (squares, ranks) = (session.alloc_from_fn(10, |i| i as u32 * rank)?, session.all_gather(&rank)?);
    session.barrier_all()?;
    let right = ranks.into_iter().eq(0..pes) && squares.read()?.iter().copied().eq((0..10).map(|i| i * rank));
    let right = session.all_gather(&u8::from(right))?.iter().all(|&right| right == 1);
    if rank == 0 {
        fs::remove_file(file)?;
        let verdict = if right { "yes" } else { "no" };
        println!("unique-id  {}  {pes} PEs  verified {verdict}", session.device_name());
    }
    session.end()?;
    Ok(right)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    let (Some(rank), Some(pes), Some(file)) = (number(0), number(1), arguments.get(2)) else {
        eprintln!("unique-id RANK PES FILE: two numbers and a path");
        return ExitCode::from(2);
    };
    match job(rank, pes, &PathBuf::from(file)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("unique-id: {error}");
            ExitCode::FAILURE
        }
    }
}
