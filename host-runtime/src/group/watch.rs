//! A thread that notices when other processes end, by their pidfds: also when a socket of theirs lives on in a child.
//! It also keeps time for who has no thread of its own for it.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::write;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

/// How often there is a tick.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How many ticks a process that has ended may be silent before that counts: what it sent last is read first.
const TICKS_TO_READ: u32 = 5;

/// Names a process, if it is one that this one can see.
pub(crate) fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Whether a process has ended.
pub(crate) fn has_ended(process: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// A watched process.
struct Watched {
    pe: u32,
    pid: u32,
    process: OwnedFd,
    /// Ticks since it was seen to have ended.
    ended: u32,
}

/// The thread. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Calls `tick` at once and ten times a second, and `ended` once for each of the `processes` (a PE and its pid) that
    /// has ended and whose connection should be empty by now.
    ///
    /// # Errors
    /// If the system gives no thread or descriptor.
    pub(super) fn new(
        processes: &[(u32, u32)],
        mut tick: impl FnMut() + Send + 'static,
        mut ended: impl FnMut(u32, u32) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let watched = processes
            .iter()
            .filter_map(|&(pe, pid)| Some(Watched { pe, pid, process: open(pid)?, ended: 0 }));
        let mut watched: Vec<Watched> = watched.collect();
        let stopped = stop.clone();
        tick();
        let run = move || {
            while !wait(&stopped, &watched) {
                tick();
                for one in &mut watched {
                    if one.ended > 0 || has_ended(&one.process) {
                        one.ended += 1;
                    }
                    if one.ended == TICKS_TO_READ {
                        ended(one.pe, one.pid);
                    }
                }
                watched.retain(|one| one.ended < TICKS_TO_READ);
            }
        };
        let thread = std::thread::Builder::new().name("oxshmem watch".into()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

/// Waits for a tick; whether the thread is to stop.
fn wait(stop: &OwnedFd, watched: &[Watched]) -> bool {
    let mut polled = vec![PollFd::new(stop, PollFlags::IN)];
    // Those that have ended would make every wait return at once.
    let living = watched.iter().filter(|one| one.ended == 0);
    polled.extend(living.map(|one| PollFd::new(&one.process, PollFlags::IN)));
    let _ = poll(&mut polled, Some(&TICK));
    polled[0].revents().contains(PollFlags::IN)
}

impl Drop for Watch {
    fn drop(&mut self) {
        // An eventfd takes a small number always.
        let _ = write(&*self.stop, &1u64.to_ne_bytes());
        // Whoever drops it may be the thread itself, at the end of a failure that it noticed.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
