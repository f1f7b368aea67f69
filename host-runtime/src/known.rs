//! What is fixed about a kernel, and what was looked up about it, so that a launch need not ask the driver again.

use crate::driver::Function;
use crate::error::{Error, Result};
use oxshmem_device::launch::Kernel;
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

/// What the launch path needs of a [`Kernel`], without its type.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    pub(crate) id: TypeId,
    pub(crate) symbol: &'static str,
    pub(crate) collective: bool,
    pub(crate) shared: u32,
    pub(crate) block: Option<u32>,
    pub(crate) max_block: Option<u32>,
    pub(crate) parameters: &'static [&'static str],
}

impl Described {
    pub(crate) fn of<K: Kernel>() -> Self {
        Self {
            id: TypeId::of::<K>(),
            symbol: K::SYMBOL,
            collective: K::COLLECTIVE,
            shared: K::SHARED_BYTES,
            block: K::BLOCK,
            max_block: K::MAX_BLOCK,
            parameters: K::PARAMETERS,
        }
    }

    /// The error of a launch that cannot run.
    pub(crate) fn refuse<T>(&self, what: String) -> Result<T> {
        Err(Error::LaunchShape { kernel: self.symbol, what })
    }
}
