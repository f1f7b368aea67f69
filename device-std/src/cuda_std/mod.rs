//! rust-cuda's `cuda_std` by the same names: a kernel written for it builds and runs here when its `use` line names this
//! module instead.
//!
//! ```
//! use oxshmem_device::cuda_std::prelude::*; // was: use cuda_std::prelude::*;
//!
//! /// y = a x + y.
//! #[kernel]
//! pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < x.len() {
//!         *y.add(i) += a * x[i];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Names and signatures are those of `cuda_std`; the code is oxshmem's own, over the same instructions and emulator as
//! the rest of this crate. The functions may also be called in an `#[nvshmem_kernel]`. The guide's page on rust-cuda
//! lists what is here and what is not.
//!
//! | module | what it holds |
//! |---|---|
//! | [`prelude`] | what a rust-cuda kernel imports |
//! | [`macro@kernel`] | the attribute; its host side launches like any other kernel |
//! | [`thread`] | indices, block barriers, fences, `nanosleep` |
//! | [`warp`] | shuffles, votes, matches, reductions over a mask of lanes |
//! | [`mod@shared`] | dynamic shared memory; [`shared_array!`] is the static one |
//! | [`GpuFloat`] | floating-point operations that are one instruction or a few |

mod float;
pub(crate) mod param;
pub mod shared;
pub mod thread;
pub mod warp;

pub use crate::{bf16, f16};
pub use float::GpuFloat;
pub use half;
pub use oxshmem_macros::{kernel, shared_array};

/// What a rust-cuda kernel imports.
///
/// `cuda_std`'s prelude also has `print!`, `println!`, `Box`, `Vec`, `String` and others that format or allocate: there
/// is no allocator here, so on the device they are not found.
pub mod prelude {
    pub use super::{f16, kernel, thread};
}
