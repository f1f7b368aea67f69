//! The kernel's context: who this PE is and how it reaches the others. The first parameter of every kernel,
//! a `Copy` value passed by value everywhere.

use crate::abi::{ContextAbi, teams};
use crate::arch::{Word, atomic};
use crate::meeting::Meeting;

/// The context of a kernel that only initiates: put, get, atomic, signal, fence, quiet.
///
/// A kernel that waits, or that uses grid scope, takes [`Collective`] instead.
#[derive(Clone, Copy, Debug)]
pub struct Shmem {
    pub(crate) abi: ContextAbi,
    /// 1 if the kernel's shared memory has room for the bulk copy engine, else 0. A constant in every kernel: one whose layout
    /// has no tile waits for no engine. As wide as the other fields: bytes of padding would go to local memory.
    engine: u64,
}

/// The context of a kernel that may wait for other PEs or for its own grid. Launching such a kernel is the
/// collective launch: the host checks that all its blocks, and those of the other PEs on the same GPU, can be
/// resident together, so that no block waits for one that never starts.
///
/// It dereferences to [`Shmem`].
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    shmem: Shmem,
}

/// What operations are performed on: [`Shmem`] or [`Collective`], where PE numbers are the job's, or one of these
/// seen through a team, where they are the team's.
pub trait Context: Copy + sealed::Sealed {
    /// The initiating half.
    #[doc(hidden)]
    fn shmem(self) -> Shmem;
    /// How many PEs an operation may name.
    #[doc(hidden)]
    fn pes(self) -> u32;
    /// The job's number of PE `pe`, which is less than [`pes`](Self::pes).
    #[doc(hidden)]
    fn world_pe(self, pe: u32) -> u32;
    /// Where these PEs meet.
    #[doc(hidden)]
    fn meeting(self) -> Meeting;
    /// The job's number of PE `pe`; one that does not exist as it is.
    #[doc(hidden)]
    #[inline(always)]
    fn named(self, pe: u32) -> u32 {
        if pe < self.pes() { self.world_pe(pe) } else { pe }
    }
}

/// The context that a kernel takes as its first parameter: [`Shmem`] or [`Collective`].
#[diagnostic::on_unimplemented(
    message = "the first parameter of an `#[nvshmem_kernel]` is its context: `Shmem` or `Collective`, not `{Self}`",
    label = "not a context",
    note = "take `Shmem` if the kernel only initiates, `Collective` if it waits or uses grid scope"
)]
pub trait KernelContext: Context {
    /// Whether a launch must check co-residency.
    const COLLECTIVE: bool;
    /// Wraps the launch parameter; `engine` if the kernel's layout has room for the bulk copy engine. Generated entries
    /// call this.
    ///
    /// # Safety
    /// `abi` is a launch's context, whose memory is mapped while the kernel runs.
    #[doc(hidden)]
    unsafe fn from_abi(abi: ContextAbi, engine: bool) -> Self;
}

/// A context that may wait: [`Collective`], also seen through a team.
#[diagnostic::on_unimplemented(
    message = "a kernel that waits must take `Collective`: `{Self}` can only initiate",
    label = "this operation waits",
    note = "change the kernel's first parameter to `Collective`; its launch then checks that all blocks can be resident together"
)]
pub trait MayWait: Context {}
impl MayWait for Collective {}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shmem {}
    impl Sealed for super::Collective {}
}

impl Context for Shmem {
    #[inline(always)]
    fn shmem(self) -> Shmem {
        self
    }
    #[inline(always)]
    fn pes(self) -> u32 {
        self.abi.n_pes
    }
    #[inline(always)]
    fn world_pe(self, pe: u32) -> u32 {
        pe
    }
    #[inline(always)]
    fn meeting(self) -> Meeting {
        Meeting { me: self.abi.my_pe, team: teams::WORLD.into(), channel: 0 }
    }
}

impl KernelContext for Shmem {
    const COLLECTIVE: bool = false;
    #[inline(always)]
    unsafe fn from_abi(abi: ContextAbi, engine: bool) -> Self {
        Self { abi, engine: engine as u64 }
    }
}

impl Context for Collective {
    #[inline(always)]
    fn shmem(self) -> Shmem {
        self.shmem
    }
    #[inline(always)]
    fn pes(self) -> u32 {
        self.shmem.pes()
    }
    #[inline(always)]
    fn world_pe(self, pe: u32) -> u32 {
        pe
    }
    #[inline(always)]
    fn meeting(self) -> Meeting {
        self.shmem.meeting()
    }
}

impl KernelContext for Collective {
    const COLLECTIVE: bool = true;
    #[inline(always)]
    unsafe fn from_abi(abi: ContextAbi, engine: bool) -> Self {
        // SAFETY: passed on.
        Self { shmem: unsafe { Shmem::from_abi(abi, engine) } }
    }
}

impl core::ops::Deref for Collective {
    type Target = Shmem;
    #[inline(always)]
    fn deref(&self) -> &Shmem {
        &self.shmem
    }
}

impl Shmem {
    /// Stores a word that other PEs wait for, and releases what this thread has seen: to this GPU where all PEs are on it, else
    /// to the whole system.
    ///
    /// # Safety
    /// `address` is that of an aligned word in a mapped heap, which only such accesses reach.
    #[inline(always)]
    pub(crate) unsafe fn tell(self, address: u64, value: u64) {
        // SAFETY: passed on. Who waits for the word is a thread of some PE's, and acquires in the scope of the system.
        unsafe {
            if self.abi.tuning.is_on_one_gpu() {
                atomic::store_release_gpu_u64(address, value);
            } else {
                u64::store_release(address, value);
            }
        }
    }

    /// Whether the kernel may have used the bulk copy engine.
    #[inline(always)]
    pub(crate) fn has_engine(self) -> bool {
        self.engine != 0
    }

    /// This PE's number, `0 .. n_pes()`.
    #[inline(always)]
    pub fn my_pe(self) -> u32 {
        self.abi.my_pe
    }

    /// How many PEs the job has.
    #[inline(always)]
    pub fn n_pes(self) -> u32 {
        self.abi.n_pes
    }

    /// The PE after this one; the last one's is PE 0.
    #[inline(always)]
    pub fn next_pe(self) -> u32 {
        let next = self.abi.my_pe + 1;
        if next == self.abi.n_pes { 0 } else { next }
    }

    /// The PE before this one; PE 0's is the last one.
    #[inline(always)]
    pub fn prev_pe(self) -> u32 {
        (if self.abi.my_pe == 0 { self.abi.n_pes } else { self.abi.my_pe }) - 1
    }
}
