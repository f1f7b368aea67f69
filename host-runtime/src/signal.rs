//! Signals that the host sends, blocking or on a stream: the host half of `oxshmem_device::signal`.

use crate::calls::{Calls, ONE_THREAD};
use crate::driver;
use crate::error::Result;
use crate::memory::Range;
use crate::shmem::Shmem;
use oxshmem_device::launch::KernelParam;
use oxshmem_device::{Signal, SignalOp, Sym};
use oxshmem_stream_kernels::rma::update;
use oxshmem_stream_kernels::signal;

/// How a kernel is told of an update: which, and by what.
pub(crate) fn numbers(op: SignalOp) -> (u32, u64) {
    match op {
        SignalOp::Set(value) => (update::SET, value),
        SignalOp::Add(value) => (update::ADD, value),
    }
}

/// # Signals
///
/// The blocking forms wait for nothing that this PE has launched, so that the host may talk to kernels that run: on this PE
/// and on others. They need room for one thread on the device; a kernel that fills it keeps them waiting until it ends.
impl Shmem {
    /// Updates `signal` on `pe`, and returns when that is done. Whoever sees the new value sees what host operations of this
    /// PE did before, and what its launches did that were waited for; not what launches do that still run.
    /// (OpenSHMEM 1.6, 9.8.)
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and of a launch.
    #[track_caller]
    pub fn signal(&self, signal: Sym<Signal>, op: SignalOp, pe: u32) -> Result<()> {
        driver::here();
        let calls = Calls::blocking(self.pe())?;
        send(&calls, "signal", signal, op, pe)?;
        calls.wait()
    }

    /// The value of this PE's own `signal` now. Orders nothing.
    ///
    /// # Errors
    /// Those of [`signal`](Self::signal).
    #[track_caller]
    pub fn signal_fetch(&self, signal: Sym<Signal>) -> Result<u64> {
        driver::here();
        let me = self.pe();
        me.address("signal_fetch", 0, &Range::word(signal.names()), me.me)?;
        let calls = Calls::blocking(me)?;
        signal::signal_fetch::launch(&calls, ONE_THREAD, signal, calls.result::<u64>())?;
        calls.value()
    }
}

/// Launches an update.
pub(crate) fn send(
    calls: &Calls<'_>,
    by: &'static str,
    signal: Sym<Signal>,
    op: SignalOp,
    pe: u32,
) -> Result<()> {
    calls.pe.check_peer(by, pe)?;
    calls.pe.address(by, 0, &Range::word(signal.names()), pe)?;
    let (update, value) = numbers(op);
    signal::signal::launch(calls, ONE_THREAD, signal, update, value, pe)
}
