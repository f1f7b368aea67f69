//! Atomics on streams.

use crate::atomic::{Update, launch};
use crate::calls::Calls;
use crate::driver;
use crate::error::{Error, Result};
use crate::shmem::Shmem;
use crate::stream::Stream;
use bytemuck::Pod;
use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::launch::Arg;
use oxshmem_device::{Atomic, Global, Sym};
use oxshmem_stream_kernels::atomic::op;

macro_rules! updates {
    ($($(#[$meta:meta])* $name:ident: $bound:ident, $what:ident;)*) => {
        /// # Atomics on a stream
        impl Shmem {
            $(
                $(#[$meta])*
                ///
                /// # Errors
                /// Those of [`put_on`](Self::put_on).
                #[track_caller]
                pub fn $name<T: $bound>(
                    &self,
                    stream: &Stream,
                    word: Sym<Atomic<T>>,
                    value: T,
                    pe: u32,
                ) -> Result<()> {
                    driver::here();
                    let calls = Calls::on(self.pe(), stream)?;
                    launch(&calls, stringify!($name), word, Update::new(op::$what, value), no_memory(), pe)
                }
            )*
        }
    };
}
macro_rules! fetches {
    ($($(#[$meta:meta])* $name:ident: $bound:ident, $what:ident;)*) => {
        impl Shmem {
            $(
                $(#[$meta])*
                /// The value before goes to the first element of `before`, for what the stream does next.
                ///
                /// # Errors
                /// Those of [`put_on`](Self::put_on).
                #[track_caller]
                pub fn $name<T: $bound>(
                    &self,
                    stream: &Stream,
                    before: impl Arg<Global<[T]>>,
                    word: Sym<Atomic<T>>,
                    value: T,
                    pe: u32,
                ) -> Result<()> {
                    driver::here();
                    let calls = Calls::on(self.pe(), stream)?;
                    let before = room_for_one(stringify!($name), before)?;
                    launch(&calls, stringify!($name), word, Update::new(op::$what, value), before, pe)
                }
            )*
        }
    };
}

updates! {
    /// Stores `value` into `word` on `pe`, on `stream`.
    atomic_set_on: AtomicWord, SET;
    /// Adds `value` to `word` on `pe`, on `stream`. Integers wrap.
    atomic_add_on: AtomicWord, ADD;
    /// Makes `word` on `pe` its bitwise and with `value`, on `stream`.
    atomic_and_on: AtomicInteger, AND;
    /// Makes `word` on `pe` its bitwise or with `value`, on `stream`.
    atomic_or_on: AtomicInteger, OR;
    /// Makes `word` on `pe` its bitwise exclusive or with `value`, on `stream`.
    atomic_xor_on: AtomicInteger, XOR;
}
fetches! {
    /// Stores `value` into `word` on `pe`, on `stream`.
    atomic_swap_on: AtomicWord, SWAP;
    /// Adds `value` to `word` on `pe`, on `stream`. Integers wrap.
    atomic_fetch_add_on: AtomicWord, FETCH_ADD;
    /// Makes `word` on `pe` its bitwise and with `value`, on `stream`.
    atomic_fetch_and_on: AtomicInteger, FETCH_AND;
    /// Makes `word` on `pe` its bitwise or with `value`, on `stream`.
    atomic_fetch_or_on: AtomicInteger, FETCH_OR;
    /// Makes `word` on `pe` its bitwise exclusive or with `value`, on `stream`.
    atomic_fetch_xor_on: AtomicInteger, FETCH_XOR;
}

impl Shmem {
    /// Adds 1 to `word` on `pe`, on `stream`.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn atomic_inc_on<T: AtomicInteger>(
        &self,
        stream: &Stream,
        word: Sym<Atomic<T>>,
        pe: u32,
    ) -> Result<()> {
        self.atomic_add_on(stream, word, T::ONE, pe)
    }

    /// Reads `word` on `pe` into the first element of `into`, on `stream`.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn atomic_fetch_on<T: AtomicWord>(
        &self,
        stream: &Stream,
        into: impl Arg<Global<[T]>>,
        word: Sym<Atomic<T>>,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        const BY: &str = "atomic_fetch_on";
        let calls = Calls::on(self.pe(), stream)?;
        let into = room_for_one(BY, into)?;
        launch(&calls, BY, word, Update::new(op::FETCH, T::zeroed()), into, pe)
    }

    /// Stores `new` into `word` on `pe` if it equals `expected`, on `stream`. The value before goes to the first element of
    /// `before`, for what the stream does next.
    ///
    /// # Errors
    /// Those of [`put_on`](Self::put_on).
    #[track_caller]
    pub fn atomic_compare_swap_on<T: AtomicInteger>(
        &self,
        stream: &Stream,
        before: impl Arg<Global<[T]>>,
        word: Sym<Atomic<T>>,
        expected: T,
        new: T,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        const BY: &str = "atomic_compare_swap_on";
        let calls = Calls::on(self.pe(), stream)?;
        let before = room_for_one(BY, before)?;
        launch(&calls, BY, word, Update { what: op::COMPARE_SWAP, value: new, expected }, before, pe)
    }
}

/// Local memory of no element.
fn no_memory<T: Pod>() -> Global<[T]> {
    // SAFETY: no memory.
    unsafe { Global::from_parts(0, 0) }
}

/// Local memory that has room for what a fetch brings back.
fn room_for_one<T: Pod>(by: &'static str, memory: impl Arg<Global<[T]>>) -> Result<Global<[T]>> {
    let memory = memory.to_param();
    if memory.is_empty() { Err(Error::LengthsDiffer { by, target: 0, source_len: 1 }) } else { Ok(memory) }
}
