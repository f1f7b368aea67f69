//! A thread that runs NICs.

use super::adapter::Nic;
use crate::machine::Machine;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle, sleep, yield_now};
use std::time::Duration;

/// Steps without work before the thread sleeps between them.
const IDLE: u32 = 2000;
/// How long it sleeps: a doorbell waits so long at most.
const NAP: Duration = Duration::from_micros(50);

/// Runs NICs until it is dropped.
#[derive(Debug)]
pub struct NicThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NicThread {
    /// Starts a thread that runs all of these in turn.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn start(nics: Vec<Arc<Nic>>) -> io::Result<Self> {
        Self::spawn(move |stop| {
            let nics = Nics(nics);
            while !stop.load(Ordering::Relaxed) {
                nics.until_one_worked(stop);
            }
        })
    }

    /// Starts a thread that runs these NICs for the emulated devices of a machine: while one of them is at work no
    /// wait of a kernel expires by quiescence, and kernels look again at what they poll when one has done something. On a
    /// checked machine, whose clock the checker drives, it is as [`start`](Self::start).
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn start_for(machine: Arc<Machine>, nics: Vec<Arc<Nic>>) -> io::Result<Self> {
        if machine.checked().is_some() {
            return Self::start(nics);
        }
        let (known, is_known) = mpsc::channel();
        let started = Self::spawn(move |stop| {
            let nics = Nics(nics);
            // The PE's number counts on checked machines alone.
            let host = machine.host_thread(0);
            let _ = known.send(());
            while !stop.load(Ordering::Relaxed) {
                if nics.0.iter().any(|nic| nic.is_at_work()) {
                    nics.once();
                } else {
                    host.blocked(|| nics.until_one_worked(stop));
                }
                machine.memory_changed();
            }
        })?;
        // Else a kernel that is launched at once waits for what, as the machine sees it, nobody will do.
        let _ = is_known.recv();
        Ok(started)
    }

    fn spawn(run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("oxshmem-nic".to_owned()).spawn(move || run(&stopped))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

/// The NICs of one thread.
struct Nics(Vec<Arc<Nic>>);

impl Nics {
    /// A step of each, whether or not another has work; true if any has.
    fn once(&self) -> bool {
        let busy = self.0.iter().fold(false, |busy, nic| nic.step() | busy);
        if !busy {
            yield_now();
        }
        busy
    }

    /// Until one had work, or the thread is to stop.
    fn until_one_worked(&self, stop: &AtomicBool) {
        let mut idle = 0_u32;
        while !self.once() && !stop.load(Ordering::Relaxed) {
            idle = idle.saturating_add(1);
            if idle > IDLE {
                sleep(NAP);
            }
        }
    }
}

impl Drop for NicThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was already reported where it happened.
            let _ = thread.join();
        }
    }
}
