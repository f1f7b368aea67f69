//! The processes of a row: started with a launcher's variables, listened to, looked at, and ended in the end.

use super::expected::Last;
use super::pe::{ID_FILE, RANK};
use super::pmi_server::PmiServer;
use super::said::Said;
use super::table::{By, Point, Row};
use super::{AS_PE, PES};
use rustix::io::fcntl_setfd;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// One process.
pub(super) struct Process {
    child: Child,
    pub(super) ended: Option<(ExitStatus, Instant)>,
    out: Listener,
    err: Listener,
}

/// What came through a pipe so far.
struct Listener {
    text: Arc<Mutex<String>>,
    thread: Option<JoinHandle<()>>,
}

/// What the processes of a row are told besides.
pub(super) struct Settings {
    pub(super) number: usize,
    pub(super) deadline: &'static str,
    pub(super) join_deadline: &'static str,
}

/// Variables of the runtime that processes of a row inherit.
const INHERITED: [&str; 4] =
    ["OXSHMEM_DEVICE", "OXSHMEM_EMULATED_MEMORY", "OXSHMEM_EMULATED_SEED", "OXSHMEM_PATH"];

/// The processes, and what their launcher would have for them.
pub(super) struct Started {
    pub(super) processes: Vec<Process>,
    _server: Option<PmiServer>,
    _file: Option<IdFile>,
}

/// Where PE 0 writes a unique id. Dropped, it is removed.
struct IdFile(PathBuf);

impl Drop for IdFile {
    fn drop(&mut self) {
        // PE 0 may not have come so far.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Starts one process of the row for each PE.
pub(super) fn start(row: &Row, settings: &Settings) -> Result<Started> {
    let program = std::env::current_exe()?;
    let number = settings.number.to_string();
    let job = format!("faults-{}-{number}", std::process::id());
    let malice = if let Point::Server(malice) = row.point { Some(malice) } else { None };
    let mut server = match row.by {
        By::Pmi1 | By::Pmi2 => Some(PmiServer::start(PES, malice)?),
        _ => None,
    };
    let file = (row.by == By::UniqueId).then(|| IdFile(std::env::temp_dir().join(&job)));
    let mut processes = Vec::new();
    for pe in 0..PES {
        let mut command = Command::new(&program);
        command.args([AS_PE, &number]).stdin(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            let is_others =
                name.to_str().is_some_and(|name| OTHERS.iter().any(|other| name.starts_with(other)));
            if is_others && !INHERITED.iter().any(|inherited| name == *inherited) {
                command.env_remove(name);
            }
        }
        // Given to the process, and closed here when that has it.
        let mut socket = None;
        match row.by {
            By::Torchrun | By::Tcp => torchrun(&mut command, pe, &job),
            By::Slurm => srun(&mut command, pe, &job),
            By::Pmi1 | By::Pmi2 => {
                socket = server.as_mut().and_then(|server| server.socket(pe));
                if let Some(socket) = &socket {
                    pmi(&mut command, pe, socket)?;
                }
                let protocol = if row.by == By::Pmi1 { "auto" } else { "pmi2" };
                command.env("OXSHMEM_BOOTSTRAP", protocol);
            }
            By::UniqueId => _ = command.env(ID_FILE, file.as_ref().map_or(Path::new(""), |file| &file.0)),
        }
        command.env(RANK, pe.to_string());
        command.env("OXSHMEM_HEAP", "256M").env("OXSHMEM_DEADLINE", settings.deadline);
        command.env("OXSHMEM_JOIN_DEADLINE", settings.join_deadline);
        if row.by == By::Tcp {
            command.env("OXSHMEM_RENDEZVOUS", "tcp");
        }
        if let Point::Starting(name) = row.point {
            command.env("OXSHMEM_FAULT", format!("{name}:{}", row.victim));
        }
        let started = Process::start(&mut command);
        drop(socket);
        match started {
            Ok(process) => processes.push(process),
            Err(error) => {
                processes.iter_mut().for_each(Process::end);
                return Err(error);
            }
        }
    }
    Ok(Started { processes, _server: server, _file: file })
}

/// The beginnings of variables of the runtime and of launchers.
const OTHERS: [&str; 5] = ["OXSHMEM_", "PMI_", "PMIX_", "OMPI_COMM_WORLD_", "SLURM_"];

fn torchrun(command: &mut Command, pe: u32, job: &str) {
    let (pe, size) = (pe.to_string(), PES.to_string());
    command.env("RANK", &pe).env("LOCAL_RANK", &pe).env("WORLD_SIZE", &size).env("LOCAL_WORLD_SIZE", &size);
    // No port is opened: these only name the job.
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", "20000").env("TORCHELASTIC_RUN_ID", job);
}

fn srun(command: &mut Command, pe: u32, job: &str) {
    let (pe, size) = (pe.to_string(), PES.to_string());
    command
        .env("SLURM_PROCID", &pe)
        .env("SLURM_LOCALID", &pe)
        .env("SLURM_JOB_ID", job)
        .env("SLURM_STEP_ID", "0");
    command.env("SLURM_STEP_NUM_TASKS", &size).env("SLURM_NTASKS", &size).env("SLURM_STEP_NUM_NODES", "1");
}

fn pmi(command: &mut Command, pe: u32, socket: &OwnedFd) -> Result<()> {
    // The process inherits it, and those that are started meanwhile as well, which do not know of it.
    fcntl_setfd(socket, rustix::io::FdFlags::empty())?;
    command.env("PMI_FD", socket.as_raw_fd().to_string());
    command.env("PMI_RANK", pe.to_string()).env("PMI_SIZE", PES.to_string());
    Ok(())
}

impl Process {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (out, err) = (Listener::new(child.stdout.take()), Listener::new(child.stderr.take()));
        Ok(Self { child, ended: None, out, err })
    }

    /// Looks whether it has ended.
    pub(super) fn look(&mut self) -> Result<bool> {
        if self.ended.is_none()
            && let Some(status) = self.child.try_wait()?
        {
            self.ended = Some((status, Instant::now()));
        }
        Ok(self.ended.is_some())
    }

    /// Sends it a signal, if it has not ended.
    pub(super) fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It has not been waited for, so the number is its own.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Gives it the word to go on.
    pub(super) fn go_on(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Ends it and waits for that.
    pub(super) fn end(&mut self) {
        self.signal(Signal::KILL);
        if self.ended.is_none()
            && let Ok(status) = self.child.wait()
        {
            self.ended = Some((status, Instant::now()));
        }
        // The pipes are closed now.
        self.out.finish();
        self.err.finish();
    }

    pub(super) fn is_ready(&self) -> bool {
        self.said().contains(&Said::Ready)
    }

    pub(super) fn said(&self) -> Vec<Said> {
        self.out.text().lines().filter_map(Said::read).collect()
    }

    /// What it said last.
    pub(super) fn last(&self) -> Last {
        let mut last = Last::default();
        for said in self.said() {
            match said {
                Said::Call(result) => last.call = Some(result),
                Said::Run(result) => last.run = Some(result),
                Said::Device(_) | Said::Ready => {}
            }
        }
        last
    }

    /// Its standard error stream.
    pub(super) fn complaints(&self) -> String {
        self.err.text()
    }
}

impl Listener {
    fn new(pipe: Option<impl Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let to = text.clone();
        let thread = pipe.map(|pipe| {
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let mut text = to.lock().unwrap_or_else(PoisonError::into_inner);
                    text.push_str(&line);
                    text.push('\n');
                }
            })
        });
        Self { text, thread }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
