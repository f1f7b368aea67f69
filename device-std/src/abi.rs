//! The layouts that host and device share: the launch context, the control area at the start of every
//! symmetric heap segment, the table of teams, and the error record. Nothing here has behaviour.
//!
//! [`trace`] has those of traced kernels, [`collective`] what collective operations keep in the heaps, [`tuning`] by what they
//! choose.
//!
//! A change of a layout changes the number in the name of the section in which modules register (launch.rs), so
//! that a program never finds kernels that were built against another one.

pub mod collective;
pub mod trace;
pub mod tuning;

/// The launch context: the first parameter of every kernel, passed by value in the constant bank.
///
/// A block of integers read field by field; `device-std` never takes a reference to it, because that would
/// copy it into local memory in every thread. Addresses are device virtual addresses (host addresses when
/// emulated).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextAbi {
    /// This PE's number, `0 .. n_pes`.
    pub my_pe: u32,
    /// How many PEs the job has.
    pub n_pes: u32,
    /// Address of this PE's heap segment; the control area stands at its start.
    pub heap_base: u64,
    /// Bytes of the heap segment that are mapped, the control area included.
    pub heap_bytes: u64,
    /// From the address of one PE's segment here to that of the next, wrapping: they are evenly spaced, so that no operation
    /// reads a base from memory, which it would after each acquire.
    pub peer_stride: u64,
    /// Address of this PE's [`ErrorRecord`], in host memory that the device can write.
    pub error_record: u64,
    /// Address of the process's alarm word (`u32`, host memory): non-zero once any PE is poisoned.
    pub alarm: u64,
    /// How long one wait may take, in units of the device's clock (nanoseconds; emulated: steps).
    pub deadline: u64,
    /// Which of the [`control::GRID_SLOTS`] grid-barrier words this launch uses.
    pub grid_slot: u32,
    /// Number of this launch on this PE, for the error record.
    pub launch: u32,
    /// Address of `[TeamAbi; teams::SLOTS]` in this PE's device memory: the teams that it belongs to.
    pub teams: u64,
    /// Address of this PE's [`TraceLog`](trace::TraceLog) in its device memory, or 0. Read in traced kernels alone.
    pub trace: u64,
    /// By what collective operations choose: the same on all PEs.
    pub tuning: tuning::Tuning,
}

/// A team as one of its PEs sees it: an entry of the table at [`ContextAbi::teams`]. It stands so that it is read by
/// two 16-byte loads.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamAbi {
    /// This PE's number in the team, or [`NO_MEMBER`](teams::NO_MEMBER).
    pub my_pe: u32,
    /// How many PEs the team has.
    pub n_pes: u32,
    /// The job's number of the team's PE 0, if `list` is 0.
    pub start: u32,
    /// From the job's number of one PE of the team to that of the next, if `list` is 0. Never 0.
    pub stride: i32,
    /// Address of `[u32; n_pes]`, the job's numbers of the team's PEs, if they are not evenly spaced; else 0.
    pub list: u64,
    /// The handle of the team that has the slot, by which that of an earlier one is known.
    pub handle: u64,
}

/// The table of teams: [`SLOTS`](teams::SLOTS) entries of 32 bytes, 2 KiB on each PE, and behind them room for a list
/// of PEs for each slot, 4 bytes for each PE of the job, which teams use whose PEs are not evenly spaced. There is nothing else.
pub mod teams {
    use super::TeamAbi;

    /// Most teams of a PE at once, the predefined ones included.
    pub const SLOTS: u32 = 64;
    /// Slot of the team of all PEs.
    pub const WORLD: u32 = 0;
    /// Slot of the team of the PEs on this host.
    pub const NODE: u32 = 1;
    /// Slot of the team of the PEs on this GPU.
    pub const SAME_GPU: u32 = 2;
    /// Slot of the team that has no PE.
    pub const NONE: u32 = 3;
    /// First slot for teams that a program makes: 60 at once.
    pub const FIRST_FREE: u32 = 4;
    /// A PE's number in a team to which it does not belong.
    pub const NO_MEMBER: u32 = u32::MAX;
    /// Size of the table in bytes.
    pub const BYTES: u64 = SLOTS as u64 * size_of::<TeamAbi>() as u64;

    /// The slot of a team's handle, as a number.
    #[inline(always)]
    pub const fn slot(handle: u64) -> u64 {
        handle & (SLOTS as u64 - 1)
    }

    /// The entry of a slot that no team of this PE has.
    pub const EMPTY: TeamAbi =
        TeamAbi { my_pe: NO_MEMBER, n_pes: 0, start: 0, stride: 1, list: 0, handle: NONE as u64 };
}

/// The control area: the first [`BYTES`](control::BYTES) of every heap segment, before the area of [`collective`]. All of it is zero at start
/// and after `recover()`. Offsets are in bytes from the segment's start.
///
/// | offset | content |
/// |---|---|
/// | [`ABORT`](control::ABORT) | `u64`: non-zero tells this PE's waits to give up: the host writes 1 + the PE that was lost |
/// | [`CLAIM`](control::CLAIM) | `u32`: set by compare-and-swap by the thread that writes the error record |
/// | [`TICKET`](control::TICKET) | `u32`: on PE 0 only, counts failures in the order in which they were claimed |
/// | [`BARRIER`](control::BARRIER) | `u64` epoch, then `u64` flags: see `barrier.rs` |
/// | [`GRID`](control::GRID) | for each slot in its own 64 bytes: the `u32` grid-barrier word, at 8 the `u64` that its leader shares |
/// | [`TEAMS`](control::TEAMS) | for each slot of a team and each of its channels: `u64` epoch, then `u64` flags likewise. Zero when a team is made |
pub mod control {
    /// Size of the control area in bytes.
    pub const BYTES: u64 = 64 * 1024;
    /// Offset of the abort word.
    pub const ABORT: u64 = 0;
    /// Offset of the claim word.
    pub const CLAIM: u64 = 64;
    /// Offset of the ticket word.
    pub const TICKET: u64 = 128;
    /// Offset of `barrier_all`'s epoch; its flags start 64 bytes later.
    pub const BARRIER: u64 = 4096;
    /// Offset of `barrier_all`'s flags.
    pub const BARRIER_FLAGS: u64 = BARRIER + 64;
    /// Most flags that a barrier may need: of 64 PEs 14, of 1,024 and of 32,768 PEs 15.
    pub const BARRIER_FLAGS_MOST: u32 = 15;
    /// Offset of the first grid-barrier word.
    pub const GRID: u64 = 8192;
    /// From a grid-barrier word to the value that the grid's leader shares.
    pub const GRID_SHARED: u64 = 8;
    /// Bytes from one grid-barrier word to the next.
    pub const GRID_STRIDE: u64 = 64;
    /// How many grid-barrier words there are: that many streams of a PE may run collective kernels at once.
    pub const GRID_SLOTS: u32 = 256;
    /// Offset of the first team's words.
    pub const TEAMS: u64 = GRID + GRID_STRIDE * GRID_SLOTS as u64;
    /// Channels of a team: so many of its barriers may be under way at once.
    pub const TEAM_CHANNELS: u32 = 4;
    /// From a channel's epoch to its flags.
    pub const TEAM_FLAGS: u64 = 8;
    /// Bytes of a channel.
    pub const TEAM_CHANNEL: u64 = 128;
    /// Bytes from one team's words to the next one's.
    pub const TEAM_STRIDE: u64 = TEAM_CHANNEL * TEAM_CHANNELS as u64;

    /// Offset of the words of the team with this handle.
    #[inline(always)]
    pub const fn team_words(handle: u64) -> u64 {
        TEAMS + TEAM_STRIDE * super::teams::slot(handle)
    }
}

/// State of an [`ErrorRecord`]: nothing was written.
pub const RECORD_EMPTY: u32 = 0;
/// State of an [`ErrorRecord`]: every other field is valid.
pub const RECORD_COMPLETE: u32 = 2;

/// What the first failing thread of a PE leaves for the host. `state` is written last, with release. The fields
/// stand so that the others are written by 16-byte stores.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorRecord {
    /// [`RECORD_EMPTY`] or [`RECORD_COMPLETE`].
    pub state: u32,
    /// Order of this failure among all PEs, from 0; `u32::MAX` if PE 0 could not be asked.
    pub ticket: u32,
    /// A [`Cause`] as its number.
    pub cause: u32,
    /// An [`Operation`] as its number.
    pub operation: u32,
    /// A [`Cmp`] as its number, for waits.
    pub cmp: u32,
    /// The PE that the operation named.
    pub peer: u32,
    /// The PE whose thread failed.
    pub pe: u32,
    /// The launch that failed ([`ContextAbi::launch`]).
    pub launch: u32,
    /// Block index, x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block, x, y, z.
    pub thread: [u32; 3],
    /// Heap offset in bytes of the word or range that the operation named.
    pub offset: u64,
    /// The value waited for; for a length mismatch the destination's length; for an index the length.
    pub expected: u64,
    /// The value last seen; for a length mismatch the source's length; for an index the index.
    pub seen: u64,
}

macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $value:literal => $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vmeta])* $variant = $value,)* }

        impl $name {
            /// The variant of this number, if there is one.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }

            /// The name that reports print.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

numbered! {
    /// Why a kernel was stopped.
    Cause {
        /// A wait reached its deadline.
        Deadline = 1 => "deadline expired",
        /// An operation named a PE that does not exist.
        PeOutOfRange = 2 => "PE out of range",
        /// Source and destination of a copy have different lengths.
        LengthMismatch = 3 => "lengths differ",
        /// An index or range lies outside its slice.
        IndexOutOfRange = 4 => "index out of range",
        /// The kernel uses more shared memory than its launch declared.
        SharedMemory = 6 => "shared memory not declared",
        /// A kernel named a team to which its PE does not belong.
        NotInTeam = 7 => "not in the team",
        /// A kernel asked for the end of the job.
        GlobalExit = 8 => "global exit",
        /// The layout that a kernel uses has a tile or a stage, and the one that it names has none.
        TileNotNamed = 5 => "a tile that the kernel's layout does not have",
        /// A stride, or a number of warps, is 0.
        Zero = 9 => "zero where it cannot be",
        /// A launch has more blocks than the inbox of its updates was made for.
        InboxBlocks = 20 => "more blocks than the inbox has room for",
        /// The inbox of updates was made for batches of another size.
        InboxBatch = 21 => "the inbox has batches of another size",
        /// A buffer for updates has fewer bins than there are PEs.
        UpdateBins = 22 => "fewer bins than PEs",
        /// The inbox of updates is in use, or was left by a block that did not finish.
        InboxInUse = 23 => "the inbox is in use",
        /// Memory has fewer elements than an operation needs, or no whole number of blocks.
        TooShort = 24 => "memory is too short",
    }
}

numbered! {
    /// The operation that a thread was in, at the operation seam and in the error record.
    Operation {
        /// A kernel's own access to local memory.
        Access = 0 => "access",
        /// `put`.
        Put = 1 => "put",
        /// `get`.
        Get = 2 => "get",
        /// `p`.
        P = 3 => "p",
        /// `g`.
        G = 4 => "g",
        /// `put_signal`.
        PutSignal = 5 => "put_signal",
        /// `signal`, strong.
        Signal = 6 => "signal",
        /// `signal_weak`.
        SignalWeak = 7 => "signal_weak",
        /// `signal_fetch`.
        SignalFetch = 8 => "signal_fetch",
        /// `wait_until`.
        WaitUntil = 9 => "wait_until",
        /// `wait_reached`.
        WaitReached = 10 => "wait_reached",
        /// `test`, `test_reached`.
        Test = 11 => "test",
        /// `wait_until_all`, also with a value per word.
        WaitUntilAll = 20 => "wait_until_all",
        /// `wait_until_any`, also with a value per word.
        WaitUntilAny = 21 => "wait_until_any",
        /// `wait_until_some`, also with a value per word.
        WaitUntilSome = 22 => "wait_until_some",
        /// `test_all`, also with a value per word.
        TestAll = 23 => "test_all",
        /// `test_any`, also with a value per word.
        TestAny = 24 => "test_any",
        /// `test_some`, also with a value per word.
        TestSome = 25 => "test_some",
        /// `ptr`, and the accesses through what it returned.
        Ptr = 26 => "ptr",
        /// The bulk copy engine's load into shared memory.
        BulkLoad = 27 => "bulk copy into shared memory",
        /// `updates`, and the `add` and `finish` of what it gives.
        Updates = 28 => "update buffer",
        /// `put_packets`, `p_packet`, `put_mailbox`.
        PutPackets = 29 => "put_packets",
        /// `wait_packets`, `wait_packet`, `wait_mailbox`.
        WaitPackets = 30 => "wait_packets",
        /// `fence`.
        Fence = 12 => "fence",
        /// `quiet`.
        Quiet = 13 => "quiet",
        /// `barrier_all`.
        BarrierAll = 14 => "barrier_all",
        /// A grid-wide barrier.
        GridSync = 15 => "grid sync",
        /// An atomic that returns nothing.
        Atomic = 16 => "atomic",
        /// An atomic that returns the old value.
        AtomicFetch = 17 => "fetching atomic",
        /// A shared-memory layout.
        Shared = 18 => "shared memory",
        /// A barrier of some warps of a block.
        WarpsSync = 19 => "warps sync",
        /// `put_nbi`.
        PutNbi = 40 => "put_nbi",
        /// `get_nbi`, `get_array_nbi`.
        GetNbi = 41 => "get_nbi",
        /// `put_signal_nbi`.
        PutSignalNbi = 42 => "put_signal_nbi",
        /// `iput`.
        Iput = 43 => "iput",
        /// `iput_nbi`.
        IputNbi = 44 => "iput_nbi",
        /// `iget`.
        Iget = 45 => "iget",
        /// `iget_nbi`.
        IgetNbi = 46 => "iget_nbi",
        /// `g_nbi`.
        GNbi = 47 => "g_nbi",
        /// `gather`.
        Gather = 48 => "gather",
        /// `gather_nbi`.
        GatherNbi = 49 => "gather_nbi",
        /// `flush`.
        Flush = 50 => "flush",
        /// `pe_fence`.
        PeFence = 51 => "pe_fence",
        /// `pe_quiet`.
        PeQuiet = 52 => "pe_quiet",
        /// `sync_all`.
        SyncAll = 53 => "sync_all",
        /// `put_add`.
        PutAdd = 54 => "put_add",
        /// `put_add_nbi`.
        PutAddNbi = 55 => "put_add_nbi",
        /// `team_barrier`.
        TeamBarrier = 56 => "team_barrier",
        /// `team_sync`.
        TeamSync = 57 => "team_sync",
        /// `team`: a look at a team.
        Team = 60 => "team",
        /// `broadcast`.
        Broadcast = 70 => "broadcast",
        /// `fcollect`.
        Fcollect = 71 => "fcollect",
        /// `collect`.
        Collect = 72 => "collect",
        /// `alltoall`.
        Alltoall = 73 => "alltoall",
        /// `alltoallv`.
        Alltoallv = 74 => "alltoallv",
        /// `reduce`.
        Reduce = 75 => "reduce",
        /// `reduce_scatter`.
        ReduceScatter = 76 => "reduce_scatter",
        /// `reduce_to`.
        ReduceTo = 77 => "reduce_to",
        /// `scan`.
        Scan = 78 => "scan",
        /// `exscan`.
        Exscan = 79 => "exscan",
        /// `follow`.
        Follow = 80 => "follow",
        /// `global_exit`.
        GlobalExit = 61 => "global_exit",
        /// `sync` of a scope.
        Sync = 62 => "sync",
        /// A call of the host program.
        Host = 63 => "host call",
        /// The launch of a kernel whose thread has come to no operation yet.
        Launch = 64 => "launch",
    }
}

/// Comparison of a word with a value (OpenSHMEM 1.6, 9.11): unsigned for signals and unsigned types, signed for signed
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Cmp {
    /// Equal.
    Eq = 0,
    /// Not equal.
    Ne = 1,
    /// Greater than.
    Gt = 2,
    /// Greater than or equal.
    Ge = 3,
    /// Less than.
    Lt = 4,
    /// Less than or equal.
    Le = 5,
}

impl Cmp {
    /// Whether `seen` compares so with `value`.
    #[inline(always)]
    pub fn holds<T: PartialOrd>(self, seen: T, value: T) -> bool {
        match self {
            Self::Eq => seen == value,
            Self::Ne => seen != value,
            Self::Gt => seen > value,
            Self::Ge => seen >= value,
            Self::Lt => seen < value,
            Self::Le => seen <= value,
        }
    }

    /// The comparison of this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Eq,
            1 => Self::Ne,
            2 => Self::Gt,
            3 => Self::Ge,
            4 => Self::Lt,
            5 => Self::Le,
            _ => return None,
        })
    }

    /// As a report prints it.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Lt => "<",
            Self::Le => "<=",
        }
    }
}

const _: () = {
    assert!(size_of::<ContextAbi>() == 88);
    assert!(align_of::<ContextAbi>() == 8);
    assert!(size_of::<TeamAbi>() == 32 && teams::BYTES == 2048);
    assert!(size_of::<ErrorRecord>() == 128);
    assert!(
        control::TEAMS + control::TEAM_STRIDE * teams::SLOTS as u64 <= control::BYTES
            && control::BARRIER_FLAGS + 8 * control::BARRIER_FLAGS_MOST as u64 <= control::GRID
            && control::TEAM_FLAGS + 8 * control::BARRIER_FLAGS_MOST as u64 <= control::TEAM_CHANNEL
    );
};
