//! The end of a whole job, asked for by a kernel.

use crate::abi::{Cause, Operation};
use crate::context::Context;
use crate::fault::{Fault, fail};
use crate::scope::{Scoped, Thread};
use crate::seam;
use crate::together::Together;

impl<C: Context> Scoped<Thread, C> {
    /// Ends the job with `status`, for which any one thread is enough. (OpenSHMEM 1.6, 9.1, `shmem_global_exit`.)
    ///
    /// The calling thread ends here. Kernels of all PEs end as after a failure: each thread that waits, or that waits
    /// later, gives up. Then every host call of every PE, and `run`, returns `Error::GlobalExit` with this PE and the
    /// status, and `recover()` does not help. The process ends when its program does: see `Error::exit_status`.
    /// If something has failed before, on any PE, that stays the cause.
    #[inline(always)]
    #[track_caller]
    pub fn global_exit(self, status: i32) -> ! {
        let shmem = self.shmem();
        seam::operation(Together::OneThread, Operation::GlobalExit, 0, 0, shmem.my_pe());
        let fault = Fault { peer: shmem.my_pe(), ..Fault::new(Cause::GlobalExit, Operation::GlobalExit) };
        fail(shmem, Fault { seen: u64::from(status.cast_unsigned()), ..fault })
    }
}
