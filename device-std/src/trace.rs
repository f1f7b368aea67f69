//! The record of an operation in a traced kernel: made when it is entered, finished when the guard is dropped, by the leader
//! of its scope alone; of what waits at grid scope by the leader of each block.
//!
//! On a device it is there only in the *traced flavour* of a module (`--cfg oxshmem_trace`, which a build script asks for by
//! `oxshmem_builder::Builder::trace`). In any other the guard is a type without size and without a `Drop`, and nothing is
//! computed for it. The emulator has one build, which looks whether the launch has a log.

#[cfg(any(not(target_arch = "nvptx64"), oxshmem_trace))]
mod flavour {
    use crate::abi::trace::{CHOICE, TraceLog, TraceRecord};
    use crate::abi::{ContextAbi, Operation};
    use crate::arch::{Add, Semantic, V16, Word, order};
    use crate::context::Context;
    use crate::scope::{Scope, Scoped};
    use crate::thread;
    use crate::together::Together;

    /// An operation from its begin to its end.
    pub(crate) struct Recorded {
        /// Address of its record; 0 if it has none.
        record: u64,
    }

    impl Recorded {
        /// Of an operation of one thread, on PE `pe` of the context.
        #[inline(always)]
        pub(crate) fn alone<S, C: Context>(
            of: Scoped<S, C>,
            operation: Operation,
            range: (u64, u64),
            pe: u32,
        ) -> Self {
            let abi = of.context.shmem().abi;
            match abi.trace {
                0 => Self { record: 0 },
                _ => Self::begin(abi, (Together::OneThread, operation), range, of.context.named(pe)),
            }
        }

        /// Of an operation of a scope, on PE `pe` of the context.
        #[inline(always)]
        pub(crate) fn together<S: Scope, C: Context>(
            of: Scoped<S, C>,
            operation: Operation,
            range: (u64, u64),
            pe: u32,
        ) -> Self {
            let abi = of.context.shmem().abi;
            if abi.trace == 0 || !of.is_leader() {
                return Self { record: 0 };
            }
            Self::begin(abi, (S::TOGETHER, operation), range, of.context.named(pe))
        }

        /// Of an operation of a scope that names no other PE: it may wait, so that at grid scope each block has one.
        #[inline(always)]
        pub(crate) fn here<S: Scope, C: Context>(
            of: Scoped<S, C>,
            operation: Operation,
            range: (u64, u64),
        ) -> Self {
            let abi = of.context.shmem().abi;
            if abi.trace == 0 || !of.scope.polls() {
                return Self { record: 0 };
            }
            Self::begin(abi, (S::TOGETHER, operation), range, abi.my_pe)
        }

        /// Of an operation on `bytes` bytes at `offset` of the heap of PE `peer` of the job.
        #[inline(always)]
        fn begin(
            abi: ContextAbi,
            (together, operation): (Together, Operation),
            (offset, bytes): (u64, u64),
            peer: u32,
        ) -> Self {
            let begin = order::trace_time();
            // SAFETY: the host made a log there, whose first word only such additions change while kernels run.
            let number = unsafe { u64::fetch_add(Semantic::Relaxed, abi.trace, 1) };
            // SAFETY: the log's second word, which nobody writes while kernels run.
            if number >= unsafe { u64::load_global(abi.trace + 8) } {
                return Self { record: 0 };
            }
            let start = abi.trace + size_of::<TraceLog>() as u64;
            let record = start + number * size_of::<TraceRecord>() as u64;
            let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            let what = pair(TraceRecord::what(operation, together, thread::in_block()), peer);
            let place = pair(thread::block(), abi.launch);
            // SAFETY: this thread's own record, for which there is room.
            unsafe {
                u64::store_global(record, begin);
                V16::store_global(record + 16, V16(bytes, offset));
                V16::store_global(record + 32, V16(what, place));
            }
            Self { record }
        }

        /// Notes what a collective operation has chosen.
        #[inline(always)]
        pub(crate) fn chose(&self, packets: bool, lanes: u32) {
            if self.record != 0 {
                // SAFETY: this thread's own record.
                unsafe { u16::store_global(self.record + CHOICE, TraceRecord::choice(packets, lanes)) };
            }
        }
    }

    impl Drop for Recorded {
        #[inline(always)]
        fn drop(&mut self) {
            if self.record != 0 && order::returns() {
                // SAFETY: this thread's own record.
                unsafe { u64::store_global(self.record + 8, order::trace_time()) };
            }
        }
    }
}

#[cfg(all(target_arch = "nvptx64", not(oxshmem_trace)))]
mod flavour {
    use crate::abi::Operation;
    use crate::scope::Scoped;

    /// Nothing.
    pub(crate) struct Recorded;

    impl Recorded {
        #[inline(always)]
        pub(crate) fn alone<S, C>(_: Scoped<S, C>, _: Operation, _: (u64, u64), _: u32) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn together<S, C>(_: Scoped<S, C>, _: Operation, _: (u64, u64), _: u32) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn here<S, C>(_: Scoped<S, C>, _: Operation, _: (u64, u64)) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn chose(&self, _: bool, _: u32) {}
    }
}

pub(crate) use flavour::Recorded;
