//! A thread that runs NICs.

use super::adapter::Nic;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("oxshmem-nic".to_owned()).spawn(move || {
            let mut idle = 0;
            while !stopped.load(Ordering::Relaxed) {
                // Every NIC has its turn, whether or not another has work.
                let busy = nics.iter().fold(false, |busy, nic| nic.step() | busy);
                idle = if busy { 0 } else { idle + 1 };
                match idle {
                    0 => {}
                    1..IDLE => yield_now(),
                    _ => sleep(NAP),
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
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
