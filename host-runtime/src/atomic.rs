//! Atomics by the host, blocking: the host half of `oxshmem_device::atomic`. On a stream: `on_stream.rs`.

use crate::calls::{Calls, ONE_THREAD};
use crate::driver;
use crate::error::Result;
use crate::memory::Range;
use crate::shmem::Shmem;
use bytemuck::Pod;
use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::launch::{KernelParam, Named};
use oxshmem_device::{Atomic, Global, Reach, Sym, bf16, f16};
use oxshmem_stream_kernels::atomic::{float, integer, op};
use std::any::TypeId;

/// One update of a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<T> {
    /// What is done: a number of `oxshmem_stream_kernels::atomic::op`.
    pub(crate) what: u32,
    pub(crate) value: T,
    /// For a compare-and-swap.
    pub(crate) expected: T,
}

impl<T: AtomicWord> Update<T> {
    pub(crate) fn new(what: u32, value: T) -> Self {
        Self { what, value, expected: T::zeroed() }
    }
}

/// Launches an update; the value before goes to `before`, if it is fetched.
pub(crate) fn launch<T: AtomicWord>(
    calls: &Calls<'_>,
    by: &'static str,
    word: Sym<Atomic<T>>,
    update: Update<T>,
    before: Global<[T]>,
    pe: u32,
) -> Result<()> {
    calls.pe.check_peer(by, pe)?;
    calls.pe.address(by, 0, &Range::word(word.names()), pe)?;
    let id = TypeId::of::<T>();
    macro_rules! floats {
        ($($ty:ty),*) => {
            $(
                if id == TypeId::of::<$ty>() {
                    let (value, complete) = (bytemuck::cast::<T, $ty>(update.value), calls.completes());
                    let (word, before) = (retyped(word), retyped_local(before));
                    return float::<$ty>::launch(calls, ONE_THREAD, word, update.what, value, before, complete, pe);
                }
            )*
        };
    }
    floats!(f32, f64, f16, bf16);
    match size_of::<T>() {
        4 => integers::<T, u32>(calls, word, update, before, pe),
        _ => integers::<T, u64>(calls, word, update, before, pe),
    }
}

/// An update of an integer, as one of `B`, which has as many bytes.
fn integers<T: AtomicWord, B: AtomicInteger + Send>(
    calls: &Calls<'_>,
    word: Sym<Atomic<T>>,
    Update { what, value, expected }: Update<T>,
    before: Global<[T]>,
    pe: u32,
) -> Result<()>
where
    integer<B>: LaunchInteger<B>,
{
    let (value, expected) = (bytemuck::cast(value), bytemuck::cast(expected));
    let (word, before, complete) = (retyped(word), retyped_local(before), calls.completes());
    <integer<B> as LaunchInteger<B>>::go(calls, word, (what, value, expected), before, complete, pe)
}

/// The instances of the kernel.
trait LaunchInteger<B: AtomicInteger> {
    fn go(
        calls: &Calls<'_>,
        word: Sym<Atomic<B>>,
        update: (u32, B, B),
        before: Global<[B]>,
        complete: u32,
        pe: u32,
    ) -> Result<()>;
}
macro_rules! instances {
    ($($ty:ty),*) => {
        $(
            impl LaunchInteger<$ty> for integer<$ty> {
                fn go(
                    calls: &Calls<'_>,
                    word: Sym<Atomic<$ty>>,
                    (what, value, expected): (u32, $ty, $ty),
                    before: Global<[$ty]>,
                    complete: u32,
                    pe: u32,
                ) -> Result<()> {
                    Self::launch(calls, ONE_THREAD, word, what, value, expected, before, complete, pe)
                }
            }
        )*
    };
}
instances!(u32, u64);

/// A word that was checked, as one of another type of its width.
pub(crate) fn retyped<T: AtomicWord, B: AtomicWord>(word: Sym<Atomic<T>>) -> Sym<Atomic<B>> {
    let (offset, tag) = match word.names() {
        Named::Symmetric { offset, tag, .. } => (offset, tag),
        _ => (0, 0),
    };
    let reach: Reach = word.reach();
    // SAFETY: the word is allocated, and has the width and alignment of a `B`.
    unsafe { Sym::from_parts(offset, (), reach) }.tagged(tag)
}

/// Local memory for values of a type, for those of another one of its width.
fn retyped_local<T: Pod, B: Pod>(memory: Global<[T]>) -> Global<[B]> {
    match memory.names() {
        // SAFETY: as many bytes; the kernel writes the first element only, of the same width and alignment.
        Named::Local { address, .. } => unsafe { Global::from_parts(address, memory.len()) },
        // SAFETY: no memory.
        _ => unsafe { Global::from_parts(0, 0) },
    }
}

macro_rules! updates {
    ($($(#[$meta:meta])* $name:ident: $bound:ident, $what:ident;)*) => {
        impl Shmem {
            $(
                $(#[$meta])*
                ///
                /// # Errors
                /// Those of [`put`](Self::put), and of a launch.
                #[track_caller]
                pub fn $name<T: $bound>(&self, word: Sym<Atomic<T>>, value: T, pe: u32) -> Result<()> {
                    driver::here();
                    let calls = Calls::blocking(self.pe())?;
                    launch(&calls, stringify!($name), word, Update::new(op::$what, value), calls.result(), pe)?;
                    calls.wait()
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
                ///
                /// # Errors
                /// Those of [`put`](Self::put), and of a launch.
                #[track_caller]
                pub fn $name<T: $bound>(&self, word: Sym<Atomic<T>>, value: T, pe: u32) -> Result<T> {
                    driver::here();
                    let calls = Calls::blocking(self.pe())?;
                    launch(&calls, stringify!($name), word, Update::new(op::$what, value), calls.result(), pe)?;
                    calls.value()
                }
            )*
        }
    };
}

updates! {
    /// Stores `value` into `word` on `pe`, and returns when that is done.
    atomic_set: AtomicWord, SET;
    /// Adds `value` to `word` on `pe`, and returns when that is done. Integers wrap.
    atomic_add: AtomicWord, ADD;
    /// Makes `word` on `pe` its bitwise and with `value`, and returns when that is done.
    atomic_and: AtomicInteger, AND;
    /// Makes `word` on `pe` its bitwise or with `value`, and returns when that is done.
    atomic_or: AtomicInteger, OR;
    /// Makes `word` on `pe` its bitwise exclusive or with `value`, and returns when that is done.
    atomic_xor: AtomicInteger, XOR;
}
fetches! {
    /// Stores `value` into `word` on `pe`; the value before.
    atomic_swap: AtomicWord, SWAP;
    /// Adds `value` to `word` on `pe`; the value before. Integers wrap.
    atomic_fetch_add: AtomicWord, FETCH_ADD;
    /// Makes `word` on `pe` its bitwise and with `value`; the value before.
    atomic_fetch_and: AtomicInteger, FETCH_AND;
    /// Makes `word` on `pe` its bitwise or with `value`; the value before.
    atomic_fetch_or: AtomicInteger, FETCH_OR;
    /// Makes `word` on `pe` its bitwise exclusive or with `value`; the value before.
    atomic_fetch_xor: AtomicInteger, FETCH_XOR;
}

/// # Atomics
///
/// Exclusive among all atomics of the word, of the host and of kernels, and relaxed: they order nothing else. The blocking
/// forms wait for nothing that this PE has launched, as signals do. (OpenSHMEM 1.6, 9.7.)
impl Shmem {
    /// The value of `word` on `pe`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and of a launch.
    #[track_caller]
    pub fn atomic_fetch<T: AtomicWord>(&self, word: Sym<Atomic<T>>, pe: u32) -> Result<T> {
        driver::here();
        let calls = Calls::blocking(self.pe())?;
        launch(&calls, "atomic_fetch", word, Update::new(op::FETCH, T::zeroed()), calls.result(), pe)?;
        calls.value()
    }

    /// Stores `new` into `word` on `pe` if it equals `expected`; the value before.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and of a launch.
    #[track_caller]
    pub fn atomic_compare_swap<T: AtomicInteger>(
        &self,
        word: Sym<Atomic<T>>,
        expected: T,
        new: T,
        pe: u32,
    ) -> Result<T> {
        driver::here();
        let calls = Calls::blocking(self.pe())?;
        let update = Update { what: op::COMPARE_SWAP, value: new, expected };
        launch(&calls, "atomic_compare_swap", word, update, calls.result(), pe)?;
        calls.value()
    }

    /// Adds 1 to `word` on `pe`, and returns when that is done.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and of a launch.
    #[track_caller]
    pub fn atomic_inc<T: AtomicInteger>(&self, word: Sym<Atomic<T>>, pe: u32) -> Result<()> {
        self.atomic_add(word, T::ONE, pe)
    }

    /// Adds 1 to `word` on `pe`; the value before.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and of a launch.
    #[track_caller]
    pub fn atomic_fetch_inc<T: AtomicInteger>(&self, word: Sym<Atomic<T>>, pe: u32) -> Result<T> {
        self.atomic_fetch_add(word, T::ONE, pe)
    }
}
