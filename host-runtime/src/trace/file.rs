//! The file of a job. It is whole at every moment but while somebody adds to it:
//!
//! | step | who | then the file has |
//! |---|---|---|
//! | begin | PE 0's process, before the job is together | a head, and the tail that closes it |
//! | add | each process at its end, under the file's lock: its part in place of the tail, and the tail | the parts of those that have ended |
//! | mend | who finds no tail: somebody died while adding | what he had written, up to his last whole line |
//!
//! The lock goes with whoever holds it.

use super::Asked;
use crate::error::{Error, Result, TraceError};
use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first line, which has one event.
const HEAD: &str = concat!(
    "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"made by\":\"oxshmem ",
    env!("CARGO_PKG_VERSION"),
    "\",\"time\":\"microseconds of the host's CLOCK_MONOTONIC\"},\"traceEvents\":[\n",
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"PE 0\"}}"
);
const TAIL: &str = "\n]}\n";
/// What stands between two events.
const BETWEEN: &str = ",\n";
/// A line is shorter: the longest texts are those of errors.
const LONGEST_LINE: u64 = 1 << 16;
/// Somebody who adds his part takes moments, whatever the deadline is. So long a lock is waited for at least.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a lock that another one has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The file, once it is known that it can be written.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    /// For how many operations of each PE there is room.
    pub(crate) events: u32,
    /// Who writes it, for errors.
    pe: u32,
    /// How long its lock is waited for.
    patience: Duration,
}

impl TraceFile {
    /// Makes sure that PE `pe`, or this process whose first PE it is, can write the file. PE 0 begins it anew, but a process
    /// that has done so before goes on with it: its runs follow one another in the file.
    ///
    /// # Errors
    /// [`TraceError::File`].
    pub(crate) fn open(asked: &Asked, pe: u32, deadline: Duration) -> Result<Self> {
        static BEGUN: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
        // The program may go to another folder before its run ends.
        let path = std::path::absolute(&asked.path).unwrap_or_else(|_| asked.path.clone());
        let patience = deadline.max(LEAST_PATIENCE);
        let trace = Self { path, events: asked.events, pe, patience };
        let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        let again = begun.get_or_insert_default().contains(&trace.path);
        let opened =
            if pe == 0 && !again { begin(&trace.path, patience) } else { edit(&trace.path).map(drop) };
        opened.map_err(|error| trace.failed(&error))?;
        begun.get_or_insert_default().insert(trace.path.clone());
        Ok(trace)
    }

    /// Adds events, one a line.
    ///
    /// # Errors
    /// [`TraceError::File`].
    pub(crate) fn add(&self, events: &[String]) -> Result<()> {
        add(&self.path, events, self.patience).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        let path = self.path.display().to_string();
        TraceError::File { pe: self.pe, path, reason: error.to_string() }.into()
    }
}

fn edit(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Takes the lock, which another one may have that was stopped, or that is no program of ours.
fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if since.elapsed() < patience => std::thread::sleep(LOOK_AGAIN),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another process has had it locked for {} s", patience.as_secs_f64());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

fn begin(path: &Path, patience: Duration) -> io::Result<()> {
    let mut file = edit(path)?;
    lock(&file, patience)?;
    file.set_len(0)?;
    file.write_all(format!("{HEAD}{TAIL}").as_bytes())
}

fn add(path: &Path, events: &[String], patience: Duration) -> io::Result<()> {
    let mut file = edit(path)?;
    lock(&file, patience)?;
    let end = end_of_events(&mut file)?;
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    let mut to = io::BufWriter::new(&mut file);
    if end == 0 {
        to.write_all(HEAD.as_bytes())?;
    }
    for event in events {
        to.write_all(BETWEEN.as_bytes())?;
        to.write_all(event.as_bytes())?;
    }
    to.write_all(TAIL.as_bytes())?;
    to.flush()
}

/// Where the last whole event ends; 0 if there is none.
fn end_of_events(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(from))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    let (tail, between) = (TAIL.as_bytes(), BETWEEN.as_bytes());
    let whole = if last.ends_with(tail) {
        Some(last.len() - tail.len())
    } else {
        last.windows(between.len()).rposition(|bytes| bytes == between)
    };
    Ok(whole.map_or(0, |at| from + at as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(30);

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("oxshmem-trace-{}-{name}.json", std::process::id()))
    }

    fn asked(path: &Path) -> Asked {
        Asked { path: path.to_owned(), events: 1 }
    }

    #[test]
    fn parts_follow_each_other_and_the_file_is_closed_after_each() {
        let path = scratch("parts");
        std::fs::write(&path, "of an earlier job").unwrap();
        let first = TraceFile::open(&asked(&path), 0, DEADLINE).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEAD}{TAIL}"));
        let other = TraceFile::open(&asked(&path), 3, DEADLINE).unwrap();
        first.add(&["{\"a\":1}".into(), "{\"b\":2}".into()]).unwrap();
        other.add(&["{\"c\":3}".into()]).unwrap();
        // A later run of PE 0's process.
        TraceFile::open(&asked(&path), 0, DEADLINE).unwrap().add(&[]).unwrap();
        let all = format!("{HEAD},\n{{\"a\":1}},\n{{\"b\":2}},\n{{\"c\":3}}{TAIL}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), all);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn who_died_while_adding_leaves_whole_lines() {
        let path = scratch("mended");
        let whole = format!("{HEAD},\n{{\"a\":1}}");
        // Within a line, between two, within the tail, and with the tail not begun.
        for left in
            [format!("{whole},\n{{\"b\":"), format!("{whole},\n"), format!("{whole},\n{{\"b\":2}}\n]")]
        {
            std::fs::write(&path, left).unwrap();
            add(&path, &["{\"c\":3}".into()], DEADLINE).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{whole},\n{{\"c\":3}}{TAIL}"));
        }
        // Within the head: it is written again.
        std::fs::write(&path, &HEAD[..20]).unwrap();
        add(&path, &["{\"c\":3}".into()], DEADLINE).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEAD},\n{{\"c\":3}}{TAIL}"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_with_the_reason() {
        let error = TraceFile::open(&asked(Path::new("/nowhere/at/all.json")), 2, DEADLINE).unwrap_err();
        let said = error.to_string();
        for part in ["PE 2", "/nowhere/at/all.json", "OXSHMEM_TRACE", "No such file"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(matches!(error, Error::Trace(TraceError::File { pe: 2, .. })));
    }

    #[test]
    fn a_lock_that_somebody_keeps_is_not_waited_for_for_ever() {
        let path = scratch("locked");
        let trace = TraceFile::open(&asked(&path), 0, DEADLINE).unwrap();
        let other = edit(&path).unwrap();
        other.lock().unwrap();
        let refused = |result: io::Result<()>| result.unwrap_err().to_string();
        for said in
            [refused(begin(&path, Duration::from_millis(20))), refused(add(&path, &[], Duration::ZERO))]
        {
            assert!(said.contains("another process has had it locked"), "{said}");
        }
        drop(other);
        trace.add(&["{\"a\":1}".into()]).unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
