//! Ordering and completion by the host, blocking. On a stream: `on_stream.rs`.

use crate::driver;
use crate::error::Result;
use crate::shmem::Shmem;

/// # Ordering
impl Shmem {
    /// Waits until everything that this PE launched is over and what it did has arrived: puts, signals and atomics, on every
    /// PE. Host operations have arrived when they return. (OpenSHMEM 1.6, 9.12.2.)
    ///
    /// # Errors
    /// As [`Stream::synchronize`](crate::Stream::synchronize).
    #[track_caller]
    pub fn quiet(&self) -> Result<()> {
        driver::here();
        self.pe().settle()?;
        driver::completes();
        Ok(())
    }

    /// Has what this PE launched before, and its host operations, arrive before what comes after. As host operations have
    /// arrived when they return, it is the same as [`quiet`](Self::quiet). (OpenSHMEM 1.6, 9.12.1.)
    ///
    /// # Errors
    /// As [`quiet`](Self::quiet).
    #[track_caller]
    pub fn fence(&self) -> Result<()> {
        self.quiet()
    }
}
