//! The protocol, asked: a program that is started once, keeps its memory and answers requests, one line each. One that is
//! silent for too long, or dies, is ended and asked no more.

use crate::case::{Case, Test};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take to end by itself when nothing more is asked.
const END: Duration = Duration::from_secs(10);

/// What compares systems calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    Ours,
    Raw,
    Nvshmem,
    Nccl,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "oxshmem",
            Self::Raw => "raw",
            Self::Nvshmem => "nvshmem",
            Self::Nccl => "nccl",
        })
    }
}

/// What a system answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Nanoseconds of all iterations.
    Time(f64),
    /// It has no such test or case.
    No,
    /// It failed at this case, and lives.
    Error(String),
    /// It does not live any more.
    Gone,
}

/// What a system says when it is ready.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ready {
    pub(crate) name: String,
    pub(crate) version: String,
    /// On how many GPUs its PEs lie.
    pub(crate) gpus: u32,
    /// Multiprocessors of one; oxshmem says it.
    pub(crate) sms: Option<u32>,
    pub(crate) emulated: bool,
    pub(crate) device: Option<String>,
}

/// A system that was started.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) name: Name,
    pub(crate) ready: Ready,
    child: Child,
    /// `None` once it is gone.
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    patience: Duration,
}

impl System {
    /// Starts a program and waits until it is ready. That, and an answer, may take `patience`.
    pub(crate) fn start(name: Name, mut command: Command, patience: Duration) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        // A group of its own: a system may be several processes, and all of them end with it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child =
            command.spawn().map_err(|error| format!("{name}: cannot start {program}: {error}"))?;
        let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name}: {program} has no pipes"));
        };
        let answers = read(stdout);
        let (ready, requests) = (Ready::default(), Some(requests));
        let mut system = Self { name, ready, child, requests, answers, patience };
        let line =
            system.line(patience).map_err(|why| format!("{name}: {program} {why} before it was ready"))?;
        match parse_ready(&line) {
            Some(ready) if name != Name::Ours && ready.name != name.to_string() => {
                return Err(system.end(&format!("{program} says that it is {:?}", ready.name)));
            }
            Some(ready) => system.ready = ready,
            None => return Err(system.end(&format!("said {line:?} where it should say that it is ready"))),
        }
        Ok(system)
    }

    /// Asks for a case.
    pub(crate) fn ask(&mut self, case: &Case) -> Answer {
        // What it says without being asked would be taken for the next answer.
        let unasked = self.answers.try_recv().ok();
        let Some(requests) = &mut self.requests else { return Answer::Gone };
        if let Some(line) = unasked {
            return self.gone(&format!("said {line:?} without being asked"));
        }
        // What cannot be written is told by the answer that does not come.
        let _ = writeln!(requests, "{case}").and_then(|()| requests.flush());
        let line = match self.line(self.patience) {
            Ok(line) => line,
            Err(why) => return self.gone(&format!("{why} at {case}")),
        };
        parse_answer(&line, case.test).unwrap_or_else(|| self.gone(&format!("answered {line:?} to {case}")))
    }

    /// Whether it was ended, or ended by itself.
    pub(crate) fn is_gone(&self) -> bool {
        self.requests.is_none()
    }

    /// Its next line. If there is none in time, it is ended.
    fn line(&mut self, patience: Duration) -> Result<String, String> {
        match self.answers.recv_timeout(patience) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                self.end("");
                Err(format!("was silent for {} s and was ended", patience.as_secs_f64()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.end("");
                let status =
                    self.child.wait().map_or("without a status".to_owned(), |status| status.to_string());
                Err(format!("ended ({status})"))
            }
        }
    }

    /// Ends it, and says why.
    fn gone(&mut self, why: &str) -> Answer {
        eprintln!("oxshmem-perf: {}; its further columns stay empty", self.end(why));
        Answer::Gone
    }

    /// Ends it, with all its processes; `why` in a sentence with its name.
    fn end(&mut self, why: &str) -> String {
        self.requests = None;
        self.kill();
        format!("{}: {why}", self.name)
    }

    fn kill(&mut self) {
        // Its group is there as long as it was not waited for.
        if let (Ok(None), Some(group)) = (self.child.try_wait(), Pid::from_raw(self.child.id().cast_signed()))
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for System {
    /// Ends its input, and gives it a while to end by itself.
    fn drop(&mut self) {
        self.requests = None;
        let until = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        let _ = self.child.wait();
    }
}

/// The longest line of the protocol.
const LONGEST: u64 = 4096;

/// Its lines, read by a thread that ends with them, and with one that is too long.
fn read(stdout: ChildStdout) -> Receiver<String> {
    let (sender, answers) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let whole =
                (&mut stdout).take(LONGEST).read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n");
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if !whole || sender.send(text).is_err() {
                return;
            }
        }
    });
    answers
}

/// `ready name=raw version=13.0 pes=2 gpus=2`; other keys are left alone.
fn parse_ready(line: &str) -> Option<Ready> {
    let pairs = line.strip_prefix("ready")?.split_whitespace().filter_map(|word| word.split_once('='));
    let mut ready = Ready::default();
    for (key, value) in pairs {
        match key {
            "name" => ready.name = value.to_owned(),
            "version" => ready.version = value.to_owned(),
            "gpus" => ready.gpus = value.parse().ok()?,
            "sms" => ready.sms = Some(value.parse().ok()?),
            "emulated" => ready.emulated = value == "1",
            "device" => ready.device = Some(value.replace('_', " ")),
            _ => {}
        }
    }
    (!ready.name.is_empty() && ready.gpus > 0).then_some(ready)
}

/// `ok ns=… checked=yes`, `no` or `error …`. Of a test that moves data an answer that is not checked is an error.
fn parse_answer(line: &str, test: Test) -> Option<Answer> {
    if line == "no" {
        return Some(Answer::No);
    }
    if let Some(why) = line.strip_prefix("error") {
        return Some(Answer::Error(why.trim().to_owned()));
    }
    let words = line.strip_prefix("ok ")?.split_whitespace();
    let value = |key: &str| words.clone().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let ns = value("ns")?.parse().ok().filter(|ns| (0.0..1e15).contains(ns))?;
    match value("checked")? {
        "yes" => Some(Answer::Time(ns)),
        "no" if matches!(test, Test::CopyBw | Test::Barrier | Test::Sync) => Some(Answer::Time(ns)),
        "no" => Some(Answer::Error("it did not check its data".into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<System, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        System::start(Name::Raw, command, patience)
    }

    fn ask(script: &str, patience: Duration) -> Vec<Answer> {
        let script = format!("echo ready name=raw version=1 pes=2 gpus=1; {script}");
        let mut system = shell(&script, patience).expect("it is ready");
        (0..2).map(|_| system.ask(&Case::new(Test::Barrier))).collect()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn answers_come_one_by_one() {
        let answers = ask("read a; echo ok ns=12.5 checked=yes p50=1; read a; echo no; read a", LONG);
        assert_eq!(answers, [Answer::Time(12.5), Answer::No]);
        let answers = ask("read a; echo error wrong data 7; read a; echo ok ns=0 checked=no; read a", LONG);
        assert_eq!(answers, [Answer::Error("wrong data 7".into()), Answer::Time(0.0)]);
    }

    #[test]
    fn one_that_ends_or_is_silent_or_babbles_is_asked_no_more() {
        let gone = [Answer::Gone, Answer::Gone];
        assert_eq!(ask("exit 3", LONG), gone);
        assert_eq!(ask("read a; echo hello; read a; echo no", LONG), gone);
        assert_eq!(ask("read a; echo ok ns=nan checked=yes; read a", LONG), gone);
        assert_eq!(ask("sleep 600 & read a; wait", Duration::from_millis(50)), gone);
    }

    #[test]
    fn one_that_is_not_ready_is_no_system() {
        for (script, why) in
            [("exit 1", "before it was ready"), ("echo hello; read a", "should say that it is ready")]
        {
            let error = shell(script, LONG).expect_err(script);
            assert!(error.contains(why) && error.starts_with("raw: "), "{error}");
        }
        let missing = System::start(Name::Nvshmem, Command::new("/nonexistent/nvshmem"), LONG);
        assert!(missing.err().is_some_and(|error| error.starts_with("nvshmem: cannot start")));
    }

    #[test]
    fn it_says_who_it_is() {
        let ready = parse_ready(
            "ready name=oxshmem version=0.1.0 pes=2 gpus=1 sms=132 emulated=0 device=H200_NVL more=1",
        );
        let ready = ready.expect("it is ready");
        assert_eq!((ready.name.as_str(), ready.gpus, ready.sms), ("oxshmem", 1, Some(132)));
        assert_eq!((ready.device.as_deref(), ready.emulated), (Some("H200 NVL"), false));
        for wrong in ["", "ready", "ready name=raw", "ready name=raw gpus=x", "already name=raw gpus=1"] {
            assert_eq!(parse_ready(wrong), None, "{wrong}");
        }
    }
}
