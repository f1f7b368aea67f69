//! `#[nvshmem_kernel]`, `shared!` and `#[check_test]`, and rust-cuda's `#[kernel]` and `shared_array!`: thin entries; one folder or file
//! per macro.
//!
//! Errors are accumulated and emitted together with the item, so that editors keep working on code that is
//! half typed.

mod check;
mod cuda;
mod kernel;
mod shared;

use proc_macro::TokenStream;

/// Makes a function a kernel that can be launched from the host and compiled to PTX.
///
/// The first parameter is the context: `Shmem` for a kernel that only initiates, `Collective` for one that
/// waits or uses grid scope. The others are plain data (`T: Pod`) or handles (`Sym`, `Global`). It returns
/// nothing.
///
/// On the host a struct of the function's name appears beside it, with
/// `launch(on, config, args…)` and `launch_on(on, stream, config, args…)`, whose arguments are anything that
/// hands out the parameter: `impl Arg<P>`. On the device an entry `<crate>__<fn>` appears.
///
/// | argument | meaning |
/// |---|---|
/// | `instances(f32, u64)` | one entry per type of a generic kernel; with several parameters `instances((f32, u32), …)`; launched as `name::<f32>::launch` |
/// | `shared = Layout` | the kernel's shared-memory layout, declared by `shared!` |
/// | `block = 256` | threads per block: the launch must use it, and the compiler may count on it |
/// | `max_block = 1024` | the most threads per block that a launch may use: the compiler keeps to as few registers as that needs |
/// | `min_blocks = 2` | at least so many blocks per multiprocessor: bounds the registers |
/// | `cluster = (2, 1, 1)` | blocks per cluster (sm_90) |
/// | `arch = "sm_90a"` | also compile for this target |
/// | `local` | the kernel may use local memory |
#[proc_macro_attribute]
pub fn nvshmem_kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into()).into()
}

/// Declares the layout of a kernel's shared memory: a struct whose fields are plain scalars or arrays.
///
/// `Layout::of(shmem)` gives handles to the fields, `Layout::BYTES` its size. See `oxshmem_device::shared`.
#[proc_macro]
pub fn shared(input: TokenStream) -> TokenStream {
    shared::expand(input.into()).into()
}

/// Makes a rust-cuda kernel one that can be launched from the host and compiled to PTX. See `oxshmem_device::cuda_std`.
///
/// It is an `unsafe fn` that returns nothing. Parameters are `&[T]`, `*const T` and `*mut T`, where `T: Pod`, and plain
/// data by value.
///
/// On the host a struct of the function's name appears beside it, with the `unsafe` functions
/// `launch(on, config, args…)` and `launch_on(on, stream, config, args…)`. A slice or pointer is given as a
/// `Global<[T]>` or what hands one out (`DeviceVec`), a value as itself. On the device an entry `<crate>__<fn>` appears,
/// which may use local memory.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    cuda::kernel(arguments.into(), item.into()).into()
}

/// Static shared memory of the block, as rust-cuda's macro: `shared_array![f32; 256]` is a `*mut f32` to 256 elements that
/// are not initialised.
///
/// Each place in the program has an array of its own, and every call there, by whichever thread of the block, returns
/// the same one. A block has at most 48 KiB of them. Accesses are ordered by `sync_threads` only.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    cuda::shared_array(input.into()).into()
}

/// Makes a function a test that runs under the checker: on `pes` PEs, under `seeds` schedules. It fails with the report if
/// anything is found.
///
/// The function takes an `oxshmem::Shmem` and returns an `oxshmem::Result<()>`; it is called on every PE.
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `pes = 3` | how many PEs | 2 |
/// | `seeds = 500` | how many schedules | 200 |
/// | `profile = "strict"` | by whose rules | `"oxshmem"` |
#[proc_macro_attribute]
pub fn check_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    check::expand(arguments.into(), item.into()).into()
}
