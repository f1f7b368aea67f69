//! Where PE 0's process publishes the job's unique id, and the others find it: a Unix socket in the abstract namespace
//! whose name follows from the job's. Both sides look at the other's user by the kernel's word, so nobody else's process
//! is given the secret or can give a false one; and nothing is left behind when the process ends.

use super::not_joined;
use crate::error::Result;
use crate::wire::{UniqueId, attempt_unix, credentials};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A unique id is no longer than this.
const LONGEST: u64 = 512;
/// How long a reader waits for the id once it is connected.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pauses between two looks: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// The address of a job of this user.
fn address(job: &str) -> std::io::Result<SocketAddr> {
    // As long as a name may be whatever the job is called, and another for each user; in digits, as it stands in lists of
    // sockets.
    let digest = Sha256::new().chain_update(geteuid().as_raw().to_le_bytes()).chain_update(job).finalize();
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    SocketAddr::from_abstract_name(format!("oxshmem-job-{digits}"))
}

/// A published id. Dropped, it is withdrawn.
#[derive(Debug)]
pub(super) struct Publication {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Publication {
    /// Publishes the id of a job.
    ///
    /// # Errors
    /// [`Error::NotJoined`](crate::Error::NotJoined), also if another job of this name is just starting.
    pub(super) fn new(job: &str, id: &UniqueId) -> Result<Self> {
        let doing = "publishing where the job meets";
        let refused = |error: std::io::Error| {
            let why = match error.kind() {
                ErrorKind::AddrInUse => {
                    "another process with the same rank 0 of the same job is starting: give each job its own name (torchrun: its own MASTER_PORT or rendezvous id)".into()
                }
                _ => error.to_string(),
            };
            not_joined(0, doing, why)
        };
        let address = address(job).map_err(refused)?;
        let listener = UnixListener::bind_addr(&address).map_err(refused)?;
        let (ended, text) = (Arc::new(AtomicBool::new(false)), id.to_text());
        let stop = ended.clone();
        let tell = move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                match stream {
                    // It fits into the socket's buffer, so nobody holds this up; who hangs up gets nothing.
                    Ok(mut stream) if is_own(&stream) => _ = stream.write_all(text.as_bytes()),
                    Ok(_) => {}
                    // Too many descriptors: others give theirs back.
                    Err(_) => std::thread::sleep(PAUSES.1),
                }
            }
        };
        let thread = std::thread::Builder::new().name("oxshmem job".into()).spawn(tell).map_err(refused)?;
        Ok(Self { address, ended, thread: Some(thread) })
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Ends its wait. Where there is no room, others do.
        let woken = connect(&self.address).is_ok();
        if let Some(thread) = self.thread.take()
            && woken
        {
            let _ = thread.join();
        }
    }
}

/// Finds the id of a job, until that moment.
///
/// # Errors
/// [`Error::NotJoined`](crate::Error::NotJoined).
pub(super) fn find(me: u32, job: &str, until: Instant) -> Result<UniqueId> {
    let doing = "looking for PE 0";
    let address = address(job).map_err(|error| not_joined(me, doing, error.to_string()))?;
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        let why = match look(&address) {
            Ok(id) => return Ok(id),
            Err(why) => why,
        };
        if Instant::now() >= until {
            let waited = start.elapsed().as_secs_f64();
            return Err(not_joined(
                me,
                doing,
                format!(
                    "{why} for {waited:.1} s (OXSHMEM_JOIN_DEADLINE); was PE 0 started, by this user, in the same network namespace, with the same variables, and has not every PE of its job already come?"
                ),
            ));
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(PAUSES.1);
    }
}

fn look(address: &SocketAddr) -> Result<UniqueId, String> {
    let stream = connect(address).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => "it was not there".to_owned(),
        _ => format!("it could not be reached ({error})"),
    })?;
    if !is_own(&stream) {
        return Err("another user's process stood in its place".into());
    }
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock => "its process is there and says nothing, as one that was stopped".to_owned(),
        _ => format!("it said nothing ({error})"),
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(unreadable)?;
    let mut text = String::new();
    stream.take(LONGEST).read_to_string(&mut text).map_err(unreadable)?;
    text.parse().map_err(|error| format!("it said what makes no sense ({error})"))
}

/// Connects, or does not, and waits for no room. What is read of it is waited for.
fn connect(address: &SocketAddr) -> std::io::Result<UnixStream> {
    let stream = attempt_unix(address.as_abstract_name().unwrap_or_default())?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn is_own(stream: &UnixStream) -> bool {
    credentials(stream.as_fd()).is_ok_and(|(_, uid)| uid == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Address, Secret};

    fn id() -> UniqueId {
        UniqueId { address: Address::Unix("nowhere".into()), secret: Secret::random().unwrap() }
    }

    fn job() -> String {
        format!("test {}", Secret::random().unwrap().to_hex())
    }

    #[test]
    fn what_is_published_is_found_by_the_jobs_name_alone() {
        let (job, id) = (job(), id());
        let publication = Publication::new(&job, &id).unwrap();
        let soon = || Instant::now() + Duration::from_secs(30);
        for _ in 0..10 {
            assert_eq!(find(1, &job, soon()).unwrap().to_text(), id.to_text());
        }
        let error = find(3, "another", Instant::now()).unwrap_err().to_string();
        assert!(error.contains("PE 3 could not join") && error.contains("it was not there"), "{error}");
        let error = Publication::new(&job, &id).unwrap_err().to_string();
        assert!(error.contains("give each job its own name"), "{error}");
        drop(publication);
        assert!(find(1, &job, Instant::now()).is_err());
        Publication::new(&job, &id).unwrap();
    }

    #[test]
    fn a_place_that_is_occupied_and_full_is_not_waited_for_for_ever() {
        let job = job();
        let listener = UnixListener::bind_addr(&address(&job).unwrap()).unwrap();
        // More than its queue holds.
        let mut queue = Vec::new();
        while let Ok(stream) = connect(&address(&job).unwrap()) {
            queue.push(stream);
        }
        let error = find(1, &job, Instant::now()).unwrap_err().to_string();
        assert!(error.contains("it could not be reached"), "{error}");
        drop(listener);
    }

    #[test]
    fn a_late_publication_is_waited_for() {
        let (job, id) = (job(), id());
        let finding = {
            let job = job.clone();
            std::thread::spawn(move || find(1, &job, Instant::now() + Duration::from_secs(60)))
        };
        std::thread::sleep(Duration::from_millis(30));
        let _publication = Publication::new(&job, &id).unwrap();
        assert_eq!(finding.join().unwrap().unwrap().to_text(), id.to_text());
    }
}
