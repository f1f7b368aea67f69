//! Words that a stream can wait for.

use crate::atomic::retyped;
use crate::calls::{Calls, ONE_THREAD};
use crate::error::Result;
use oxshmem_device::wait::WaitWord;
use oxshmem_device::{Atomic, Cmp, Signal, Sym};
use oxshmem_stream_kernels::signal;

/// A word that a stream can wait for: [`Signal`], as a `u64`, or [`Atomic<T>`](Atomic) of an integer, as a `T`.
#[diagnostic::on_unimplemented(
    message = "a stream cannot wait for `{Self}`: it waits for a `Signal`, or an `Atomic` integer",
    label = "cannot be waited for"
)]
pub trait WaitsOnStream: WaitWord + sealed::Waits + 'static {}

mod sealed {
    use super::{Calls, Cmp, Result, Sym, WaitWord};

    pub trait Waits: WaitWord + Sized {
        fn launch(calls: &Calls<'_>, word: Sym<Self>, cmp: Cmp, value: Self::Value) -> Result<()>;
    }
}

impl sealed::Waits for Signal {
    fn launch(calls: &Calls<'_>, word: Sym<Self>, cmp: Cmp, value: u64) -> Result<()> {
        signal::wait_signal::launch(calls, ONE_THREAD, word, cmp as u32, value)
    }
}
impl WaitsOnStream for Signal {}

macro_rules! waits {
    ($($ty:ty as $bits:ty;)*) => {
        $(
            impl sealed::Waits for Atomic<$ty> {
                fn launch(calls: &Calls<'_>, word: Sym<Self>, cmp: Cmp, value: $ty) -> Result<()> {
                    let word = retyped::<$ty, $bits>(word);
                    signal::wait_word::<$bits>::launch(calls, ONE_THREAD, word, cmp as u32, value as $bits)
                }
            }
            impl WaitsOnStream for Atomic<$ty> {}
        )*
    };
}
waits! {
    i32 as i32;
    u32 as u32;
    i64 as i64;
    u64 as u64;
    isize as i64;
    usize as u64;
}
