//! Arrays of other libraries as memory of a PE: what they say of their memory, checked, and then registered.
//!
//! | file | what it holds |
//! |---|---|
//! | `element.rs` | the element types that such arrays have; whether an array is contiguous |
//! | `dlpack.rs` | DLPack's tensors: PyTorch, NumPy, JAX, CuPy |
//! | `cuda_array.rs` | `__cuda_array_interface__`: Numba, CuPy, PyTorch |

pub(crate) mod cuda_array;
pub mod dlpack;
pub(crate) mod element;
