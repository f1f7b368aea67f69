//! What was looked up about a kernel, so that a launch need not ask the driver again.

use crate::driver::Function;
use std::any::TypeId;
use std::collections::HashMap;

/// What was looked up about kernels, by the kernel's type.
pub(crate) type Kernels = HashMap<TypeId, Known>;

/// A kernel that was looked up.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) function: Function,
    /// Blocks per multiprocessor, by threads and bytes of dynamic shared memory.
    pub(crate) shapes: Vec<((u32, u32), u32)>,
    /// Most dynamic shared memory that was allowed so far.
    pub(crate) shared: u32,
}
