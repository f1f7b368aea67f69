//! Running programs: output kept and shown line by line, a time limit that ends the whole process group.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(50);

/// How long output may still arrive after the program ended, from a grandchild that kept the pipe.
const LINGER: Duration = Duration::from_secs(2);

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// The standard error stream.
    Err,
}

/// A program that ran.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error stream.
    pub stderr: String,
    /// How long it took.
    pub time: Duration,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
}

impl Finished {
    /// Whether it ended by itself and with success.
    pub fn ok(&self) -> bool {
        self.status.success() && !self.timed_out
    }

    /// How it ended, in words.
    pub fn verdict(&self) -> String {
        match (self.timed_out, self.status.code(), self.status.signal()) {
            (true, ..) => format!("was ended after {}, its time limit", crate::text::seconds(self.time)),
            (false, Some(0), _) => "succeeded".to_owned(),
            (false, Some(code), _) => format!("ended with exit code {code}"),
            (false, None, Some(signal)) => format!("was ended by signal {signal}"),
            (false, None, None) => "ended in an unknown way".to_owned(),
        }
    }
}

/// The command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // Cargo names itself by its full path to the programs that it runs.
    let program = if program.ends_with("cargo") { Path::new("cargo") } else { program };
    let words = std::iter::once(program.as_os_str()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs the command, keeps its output and hands each line to `line`. With a limit it runs in a process group of its own,
/// which ends when the limit is exceeded or this program dies.
///
/// # Errors
/// If it cannot be started. A status other than success is left to the caller.
pub fn run(
    command: &mut Command,
    limit: Option<Duration>,
    line: &mut dyn FnMut(Stream, &str),
) -> Result<Finished> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if limit.is_some() {
        command.process_group(0);
        // SAFETY: between fork and exec only one system call is made, which allocates nothing and takes no lock.
        unsafe { command.pre_exec(die_with_parent) };
    }
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    let (lines, received) = channel();
    read_lines(child.stdout.take(), Stream::Out, lines.clone());
    read_lines(child.stderr.take(), Stream::Err, lines);

    let (mut stdout, mut stderr) = (String::new(), String::new());
    let mut timed_out = false;
    let mut ended: Option<Instant> = None;
    loop {
        match received.recv_timeout(TICK) {
            Ok((stream, text)) => {
                line(stream, &text);
                let kept = if stream == Stream::Out { &mut stdout } else { &mut stderr };
                kept.push_str(&text);
                kept.push('\n');
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !timed_out && limit.is_some_and(|limit| start.elapsed() > limit) {
            timed_out = true;
            end_group(&mut child);
        }
        if ended.is_none() && child.try_wait()?.is_some() {
            ended = Some(Instant::now());
        }
        if ended.is_some_and(|at| at.elapsed() > LINGER) {
            break;
        }
    }
    let status = wait(&mut child, start, limit, &mut timed_out)?;
    Ok(Finished { status, stdout, stderr, time: start.elapsed(), timed_out })
}

/// Waits for a program that has closed its output, which may yet live on.
fn wait(
    child: &mut Child,
    start: Instant,
    limit: Option<Duration>,
    timed_out: &mut bool,
) -> Result<ExitStatus> {
    // Most end at once, and how long they took may be what is measured.
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !*timed_out && limit.is_some_and(|limit| start.elapsed() > limit) {
            *timed_out = true;
            end_group(child);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(TICK);
    }
}

/// Runs the command with this program's own output streams.
///
/// # Errors
/// If it cannot be started or fails.
pub fn pass_through(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs the command and returns its standard output.
///
/// # Errors
/// If it cannot be started or fails; the error holds what it said.
pub fn output(command: &mut Command) -> Result<String> {
    let finished = run(command, None, &mut |_, _| {})?;
    if !finished.ok() {
        bail!("`{}` {}:\n{}{}", shown(command), finished.verdict(), finished.stdout, finished.stderr);
    }
    Ok(finished.stdout)
}

/// Asks the kernel to end this process when its parent dies.
fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: this option takes a signal's number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn end_group(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the child leads a process group of this number and has not been waited for, so the number is still its
        // own. The group may have ended by itself meanwhile, which is what is wanted.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

fn read_lines(pipe: Option<impl Read + Send + 'static>, stream: Stream, lines: Sender<(Stream, String)>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            bytes.clear();
            if lines.send((stream, text)).is_err() {
                return;
            }
        }
    });
}

/// The program of that name on the PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn shell(script: &str, limit: Option<Duration>) -> Finished {
        run(Command::new("sh").args(["-c", script]), limit, &mut |_, _| {}).expect("sh starts")
    }

    #[test]
    fn both_streams_are_kept_apart() {
        let finished = shell("echo out; echo err >&2; exit 3", None);
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.verdict(), "ended with exit code 3");
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let finished = shell("sleep 60 & echo $!; sleep 60", Some(Duration::from_millis(300)));
        assert!(finished.timed_out && !finished.ok());
        assert!(finished.time < Duration::from_secs(20));
        let child = finished.stdout.trim();
        let alive =
            || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        // A signal is sent at once, but a busy machine may take a while to end the process.
        let sent = Instant::now();
        while alive() && sent.elapsed() < Duration::from_secs(20) {
            thread::sleep(TICK);
        }
        assert!(!alive(), "the grandchild {child} lives");
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let error = output(&mut Command::new("/nonexistent/program")).expect_err("no such file");
        assert!(error.to_string().contains("/nonexistent/program"));
    }
}
