//! A prepared launch that calls the driver and nothing else, to measure what oxshmem's launch adds to it.

use super::check::check;
use super::queue::{Bare, Stream};
use crate::driver::{Launch, Queue};
use crate::error::{Error, Result};
use crate::known::Described;
use crate::launch::{Onto, prepare};
use crate::shmem::Shmem;
use cudarc::driver::sys::CUfunction;
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::launch::{Kernel, LaunchConfig, Launcher, Named, ParamVisitor};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

/// Takes the place of the [`Shmem`] in a kernel's `launch`: checks the launch as usual, but prepares it instead
/// of starting it.
///
/// ```no_run
/// # use oxshmem_device::prelude::*;
/// # #[nvshmem_kernel]
/// # fn nothing(_shmem: Shmem, round: u64) { let _ = round; }
/// oxshmem::run(|shmem| {
///     let bare = oxshmem::cuda::Prepare::new(&shmem);
///     nothing::launch(&bare, LaunchConfig::blocks(1).threads(32), 1)?;
///     let bare = bare.finish()?;
///     // SAFETY: the kernel touches no memory.
///     unsafe { bare.launch() }?;
///     bare.synchronize()
/// })
/// # .unwrap();
/// ```
#[derive(Debug)]
pub struct Prepare<'a> {
    shmem: &'a Shmem,
    prepared: RefCell<Option<RawLaunch>>,
}

/// A launch of one kernel with fixed parameters. Only `launch` and `synchronize`; the streams' own
/// synchronisation knows nothing of what it starts.
#[derive(Debug)]
pub struct RawLaunch {
    bare: Bare,
    /// The parameters' addresses, which point into `_context` and `_pieces`.
    params: Vec<*mut c_void>,
    _context: Box<ContextAbi>,
    /// Sixteen-byte words, for alignment.
    _pieces: Vec<Box<[u128]>>,
    stream: Arc<dyn Queue>,
}

impl<'a> Prepare<'a> {
    /// For launches of this PE.
    pub fn new(shmem: &'a Shmem) -> Self {
        Self { shmem, prepared: RefCell::new(None) }
    }

    /// The launch that was prepared last.
    ///
    /// # Errors
    /// [`Error::Config`] if there was none, or the PE's device is no CUDA device.
    pub fn finish(self) -> Result<RawLaunch> {
        self.prepared.into_inner().ok_or_else(|| Error::Config { what: "no launch was prepared".into() })
    }
}

impl Launcher for Prepare<'_> {
    type Error = Error;
    type Stream = crate::Stream;

    fn launch_kernel<K: Kernel>(
        &self,
        stream: Option<&crate::Stream>,
        config: LaunchConfig,
        raw: K::Raw,
    ) -> Result<()> {
        let visit = &mut |visitor: &mut dyn ParamVisitor| K::visit(&raw, visitor);
        let body: &dyn Fn() -> crate::driver::Body = &move || {
            Box::new(move |context| {
                // SAFETY: as for a launch.
                unsafe { K::run_thread(context, raw) }
            })
        };
        let onto = Onto::stream(self.shmem.pe(), stream)?;
        prepare(self.shmem.pe(), onto, Described::of::<K>(), config, visit, body, |slots, slot, launch| {
            let mut pieces = Pieces(Vec::new());
            K::visit(&raw, &mut pieces);
            let queue = slots.queue(slot)?;
            *self.prepared.borrow_mut() = Some(RawLaunch::new(queue, launch, pieces.0)?);
            Ok(())
        })
    }
}

/// Copies of the parameters' pieces.
struct Pieces(Vec<Box<[u128]>>);

impl ParamVisitor for Pieces {
    fn piece(&mut self, data: *const u8, bytes: usize) {
        let mut copy = vec![0u128; bytes.div_ceil(16)].into_boxed_slice();
        // SAFETY: `data` names `bytes` bytes (ParamVisitor), and the copy has at least as many.
        unsafe { std::ptr::copy_nonoverlapping(data, copy.as_mut_ptr().cast::<u8>(), bytes) };
        self.0.push(copy);
    }

    fn names(&mut self, _: Named) {}
}

impl RawLaunch {
    fn new(queue: &Arc<dyn Queue>, launch: &Launch<'_>, mut pieces: Vec<Box<[u128]>>) -> Result<Self> {
        let Some(stream) = queue.as_any().downcast_ref::<Stream>() else {
            return Err(Error::Config { what: "a raw launch needs a CUDA device".into() });
        };
        let mut context = Box::new(launch.context);
        let first = (&raw mut *context).cast::<c_void>();
        let rest = pieces.iter_mut().map(|piece| piece.as_mut_ptr().cast::<c_void>());
        Ok(Self {
            bare: Bare {
                function: launch.function.0 as CUfunction,
                grid: launch.grid,
                block: launch.block,
                shared: launch.shared,
                stream: stream.stream,
                collective: launch.collective,
            },
            params: std::iter::once(first).chain(rest).collect(),
            _context: context,
            _pieces: pieces,
            stream: queue.clone(),
        })
    }

    /// Calls `cuLaunchKernel` or `cuLaunchCooperativeKernel`.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    ///
    /// # Safety
    /// What the parameters name is still allocated, and stays so until [`synchronize`](Self::synchronize).
    #[inline]
    pub unsafe fn launch(&self) -> Result<()> {
        // SAFETY: the caller's promise; the driver copies the parameters and writes none.
        let result = unsafe { self.bare.start(self.params.as_ptr().cast_mut()) };
        check(result, "cuLaunchKernel", "launching a kernel")
    }

    /// Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn synchronize(&self) -> Result<()> {
        let mut attempt = 0;
        while !self.stream.is_idle()? {
            self.stream.pause(attempt, std::time::Duration::MAX);
            attempt = attempt.saturating_add(1);
        }
        Ok(())
    }
}
