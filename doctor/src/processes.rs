//! What PEs as processes need of this machine: limits, pidfds, memfds, sockets to meet at, MPS.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use crate::{Row, State, process};

/// The largest job of processes on one machine.
const MOST_PES: u64 = 1024;

/// Open files of a process for each other process of its job: its socket and its memory.
const FILES_PER_PEER: u64 = 3;

/// Open files of a process for itself, the driver's among them.
const FILES_OF_ITS_OWN: u64 = 64;

/// A job with fewer processes than this is no job.
const FEWEST_PES: u64 = 2;

/// The variable that names the folder of an MPS daemon's pipes, and where they are without it.
const PIPES: &str = "CUDA_MPS_PIPE_DIRECTORY";
const DEFAULT_PIPES: &str = "/tmp/nvidia-mps";

/// One row for each, those of the network apart.
pub(crate) fn rows() -> Vec<Row> {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let mut rows: Vec<Row> = limit(&limits, "Max open files").map(open_files).into_iter().collect();
    rows.extend(limit(&limits, "Max processes").map(processes));
    rows.extend(limit(&limits, "Max locked memory").map(locked_memory));
    rows.extend([pidfd(), memfd(), abstract_sockets(), mps()]);
    rows
}

/// A soft and a hard limit; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    soft: Option<u64>,
    hard: Option<u64>,
}

/// The limit of this name in the text of `/proc/self/limits`; `None` if it is not there.
fn limit(text: &str, name: &str) -> Option<Limit> {
    let value = |word: &str| if word == "unlimited" { Some(None) } else { word.parse().ok().map(Some) };
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_whitespace();
    Some(Limit { soft: value(words.next()?)?, hard: value(words.next()?)? })
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

/// How many processes may form a job if each may have this many files open.
fn served(files: Option<u64>) -> u64 {
    let peers = files.map_or(MOST_PES, |files| files.saturating_sub(FILES_OF_ITS_OWN) / FILES_PER_PEER);
    (peers + 1).min(MOST_PES)
}

fn open_files(limit: Limit) -> Row {
    let (now, most) = (served(limit.soft), served(limit.hard));
    let mut detail = format!("{} (hard {}): jobs of {now} processes", shown(limit.soft), shown(limit.hard));
    if most > now {
        let needed = FILES_OF_ITS_OWN + (most - 1) * FILES_PER_PEER;
        detail += &format!("; `ulimit -n {needed}` makes it {most}");
    }
    let state = if now >= FEWEST_PES { State::Found } else { State::Missing };
    Row::new(state, "ulimit -n", detail)
}

fn processes(limit: Limit) -> Row {
    let detail = format!("{} processes and threads of this user", shown(limit.soft));
    let state =
        if limit.soft.is_none_or(|limit| limit >= FEWEST_PES) { State::Found } else { State::Missing };
    Row::new(state, "ulimit -u", detail)
}

fn locked_memory(limit: Limit) -> Row {
    let size = limit.soft.map_or_else(|| "unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
    Row::new(State::Found, "ulimit -l", format!("{size}; nothing on one machine locks memory by this limit"))
}

fn pidfd() -> Row {
    match open_pidfd() {
        Ok(_) => Row::new(State::Found, "pidfd", "a process learns at once that another ended"),
        Err(error) => {
            let detail =
                format!("pidfd_open fails ({error}): Linux 5.3 is needed, and a sandbox that allows it");
            Row::new(State::Missing, "pidfd", detail)
        }
    }
}

/// A descriptor of this process.
fn open_pidfd() -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    match RawFd::try_from(fd) {
        // SAFETY: the kernel just gave this descriptor to us alone.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn memfd() -> Row {
    // SAFETY: the name is a string that ends in a 0; the call returns a descriptor or -1.
    let fd = unsafe { libc::memfd_create(c"oxshmem-doctor".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        let error = io::Error::last_os_error();
        let detail =
            format!("memfd_create fails ({error}): Linux 3.17 is needed, and a sandbox that allows it");
        return Row::new(State::Missing, "memfd", detail);
    }
    // SAFETY: the kernel just gave this descriptor to us alone.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    let detail = "memory is shared by descriptors: /dev/shm, ptrace and changes of seccomp are not needed";
    Row::new(State::Found, "memfd", detail)
}

fn abstract_sockets() -> Row {
    let name = format!("oxshmem-doctor-{}", std::process::id());
    let bound = SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
    match bound {
        Ok(_) => Row::new(State::Found, "abstract Unix sockets", "processes meet there"),
        Err(error) => Row::new(State::Missing, "abstract Unix sockets", format!("cannot bind one: {error}")),
    }
}

fn mps() -> Row {
    let here = env::var_os(PIPES).filter(|value| !value.is_empty());
    let here = here.map_or_else(|| DEFAULT_PIPES.into(), PathBuf::from);
    let daemons = daemons();
    let (state, detail) = if daemons.contains(&Some(here.clone())) {
        let detail = format!("runs in {}: several processes may use one GPU at once", here.display());
        (State::Found, detail)
    } else if let Some(Some(elsewhere)) = daemons.iter().find(|pipes| pipes.is_some()) {
        let (elsewhere, here) = (elsewhere.display(), here.display());
        let detail =
            format!("runs in {elsewhere}, and programs look in {here}: `export {PIPES}={elsewhere}`");
        (State::Absent, detail)
    } else if !daemons.is_empty() {
        (State::Found, "runs as another user, in a folder that is not known".to_owned())
    } else if process::on_path("nvidia-cuda-mps-control").is_some() {
        let detail = "not running: PEs that share a GPU take turns; `oxshmem-run --mps` starts it for a job";
        (State::Absent, detail.to_owned())
    } else {
        let detail = "no nvidia-cuda-mps-control on the PATH; only processes that share a GPU want it";
        (State::Absent, detail.to_owned())
    };
    Row::new(state, "MPS", detail)
}

/// Where the pipes of each MPS daemon of this machine are; `None` for one whose environment may not be read.
fn daemons() -> Vec<Option<PathBuf>> {
    let is_daemon = |process: &PathBuf| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).next().is_some_and(|name| name.ends_with(b"nvidia-cuda-mps-control"))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let pipes = |process: PathBuf| fs::read(process.join("environ")).ok().map(|text| pipes_in(&text));
    processes.filter(is_daemon).map(pipes).collect()
}

/// The pipes' folder in a text of `/proc/PID/environ`.
fn pipes_in(environment: &[u8]) -> PathBuf {
    let value = |variable: &[u8]| Some(variable.strip_prefix(PIPES.as_bytes())?.strip_prefix(b"=")?.to_vec());
    let folder = environment.split(|byte| *byte == 0).find_map(value).filter(|folder| !folder.is_empty());
    folder.map_or_else(|| DEFAULT_PIPES.into(), |folder| OsString::from_vec(folder).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96551                unlimited            processes
Max open files            1024                 524288               files
Max locked memory         unlimited            unlimited            bytes
";

    #[test]
    fn limits_are_read_from_the_kernels_table() {
        let of = |name| limit(LIMITS, name);
        assert_eq!(of("Max open files"), Some(Limit { soft: Some(1024), hard: Some(524_288) }));
        assert_eq!(of("Max processes"), Some(Limit { soft: Some(96551), hard: None }));
        assert_eq!(of("Max locked memory"), Some(Limit { soft: None, hard: None }));
        assert_eq!(of("Max file size"), None);
        let own = fs::read_to_string("/proc/self/limits").expect("Linux has it");
        for name in ["Max open files", "Max processes", "Max locked memory"] {
            assert!(limit(&own, name).is_some(), "{name}");
        }
    }

    #[test]
    fn open_files_bound_the_size_of_a_job() {
        assert_eq!((served(None), served(Some(1 << 20)), served(Some(10))), (MOST_PES, MOST_PES, 1));
        let row = open_files(Limit { soft: Some(1024), hard: None });
        assert_eq!(row.state, State::Found);
        assert_eq!(
            row.detail,
            "1024 (hard unlimited): jobs of 321 processes; `ulimit -n 3133` makes it 1024"
        );
        assert_eq!(served(Some(3133)), MOST_PES, "the remedy is enough");
        assert!(served(Some(3132)) < MOST_PES, "and not more than that");
        assert_eq!(open_files(Limit { soft: Some(66), hard: Some(66) }).state, State::Missing);
    }

    #[test]
    fn a_daemons_folder_is_found_in_its_environment() {
        assert_eq!(pipes_in(b"A=1\0CUDA_MPS_PIPE_DIRECTORY=/run/mps\0B=2\0"), Path::new("/run/mps"));
        assert_eq!(pipes_in(b"XCUDA_MPS_PIPE_DIRECTORY=/run/mps\0"), Path::new(DEFAULT_PIPES));
        assert_eq!(pipes_in(b""), Path::new(DEFAULT_PIPES));
    }

    #[test]
    fn this_kernel_has_what_processes_need() {
        assert_eq!(pidfd().state, State::Found);
        assert_eq!(memfd().state, State::Found);
        assert_eq!(abstract_sockets().state, State::Found);
    }
}
