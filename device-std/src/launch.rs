//! How a host starts a kernel: the traits that `#[nvshmem_kernel]` implements and that `oxshmem` implements
//! for its contexts, the launch configuration, and the embedded modules.
//!
//! device-std names no host type: a kernel's generated `launch` is generic over [`Launcher`].

use crate::abi::ContextAbi;

/// A value that can be a kernel parameter: a scalar or other plain data of at most 16 bytes' alignment, or a
/// handle ([`Sym`](crate::Sym), [`Global`](crate::Global), [`Team`](crate::Team)).
///
/// The entry takes it as at most two raw pieces, because a pointer inside a by-value struct would lose its
/// address space on the device.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel parameter: pass plain data (`T: bytemuck::Pod`), `Sym<…>` or `Global<[T]>`",
    label = "not a kernel parameter",
    note = "pass plain data (`T: bytemuck::Pod`; for a flag use `u32`), `Sym<…>` for symmetric memory or `Global<[T]>` for local device memory",
    note = "`Vec`, `String`, `bool` and references live in host memory or have no fixed device layout"
)]
///
/// # Safety
/// `from_raw` of what `into_raw` gave is the same value, and `names` gives all memory that the value reaches.
pub unsafe trait KernelParam: Copy + Send + 'static {
    /// First raw piece.
    type R0: Copy + Send + 'static;
    /// Second raw piece, `()` if there is none.
    type R1: Copy + Send + 'static;

    /// Splits the value.
    fn into_raw(self) -> (Self::R0, Self::R1);

    /// Puts the value together again.
    ///
    /// # Safety
    /// The pieces come from [`into_raw`](Self::into_raw).
    unsafe fn from_raw(first: Self::R0, second: Self::R1) -> Self;

    /// Tells the launcher what memory or team the parameter names, so that it can be checked before the launch.
    fn names(self) -> Named {
        Named::Nothing
    }
}

#[diagnostic::do_not_recommend]
// SAFETY: plain data is its own piece and names no memory.
unsafe impl<T: bytemuck::Pod + Send> KernelParam for T {
    type R0 = T;
    type R1 = ();
    #[inline(always)]
    fn into_raw(self) -> (T, ()) {
        (self, ())
    }
    #[inline(always)]
    unsafe fn from_raw(first: T, (): ()) -> T {
        const {
            assert!(align_of::<T>() <= 16, "a by-value kernel parameter may be aligned to 16 bytes at most");
        }
        first
    }
}

/// What a kernel parameter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// None.
    Nothing,
    /// A range of the symmetric heap.
    Symmetric {
        /// First byte, as an offset into the heap.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
        /// The tag of the allocation that the handle was made for.
        tag: u16,
    },
    /// A range of local device memory.
    Local {
        /// Device address of the first byte.
        address: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// A team.
    Team {
        /// Its handle.
        team: crate::Team,
    },
}

/// A host value that can be passed where a kernel takes a `P`: the value itself, or a host object that hands
/// out a handle (a symmetric vector for a `Sym<[T]>`).
#[diagnostic::on_unimplemented(
    message = "this kernel parameter is a `{P}`: pass one here, `{Self}` is not",
    label = "expected an argument for `{P}`",
    note = "arguments are passed in the order of the kernel's parameters, after the launch configuration"
)]
pub trait Arg<P: KernelParam> {
    /// The parameter's value.
    fn to_param(&self) -> P;
}

impl<P: KernelParam> Arg<P> for P {
    fn to_param(&self) -> P {
        *self
    }
}

/// Receives a kernel's parameters, piece by piece, in the order of the entry's parameter list.
pub trait ParamVisitor {
    /// One raw piece: the address of its bytes and how many there are (never 0).
    fn piece(&mut self, data: *const u8, bytes: usize);
    /// What a parameter names.
    fn names(&mut self, named: Named);
}

/// Hands one parameter to a visitor: its raw pieces, then what it names. `raw` must outlive the visit.
pub fn visit_param<P: KernelParam>(raw: &(P::R0, P::R1), visitor: &mut dyn ParamVisitor) {
    if size_of::<P::R0>() != 0 {
        visitor.piece((&raw const raw.0).cast(), size_of::<P::R0>());
    }
    if size_of::<P::R1>() != 0 {
        visitor.piece((&raw const raw.1).cast(), size_of::<P::R1>());
    }
    // SAFETY: a launch's raw pieces come from `into_raw`, and the value goes no further than its `names`.
    visitor.names(unsafe { P::from_raw(raw.0, raw.1) }.names());
}

/// A kernel as the host sees it. Implemented by `#[nvshmem_kernel]` only.
pub trait Kernel: 'static {
    /// The entry's symbol, `<crate>__<fn>` or `<crate>__<fn>__<instance>`.
    const SYMBOL: &'static str;
    /// Whether the kernel takes a `Collective` context, so that its launch checks co-residency.
    const COLLECTIVE: bool;
    /// Bytes of dynamic shared memory that its layout needs.
    const SHARED_BYTES: u32;
    /// The block size that the kernel was written for (`block = n`), if it names one.
    const BLOCK: Option<u32>;
    /// The most threads per block that it may be launched with (`max_block = n`), if it names that.
    const MAX_BLOCK: Option<u32> = None;
    /// Names of its parameters, the context not among them.
    const PARAMETERS: &'static [&'static str] = &[];
    /// Its raw parameters.
    type Raw: Copy + Send + Sync + 'static;
    /// Shows the parameters to a launcher.
    fn visit(raw: &Self::Raw, visitor: &mut dyn ParamVisitor);
    /// Runs one thread of the kernel on the host.
    ///
    /// # Safety
    /// `context` is a launch's context and its memory is mapped; `raw` was checked by the launcher.
    unsafe fn run_thread(context: ContextAbi, raw: Self::Raw);
}

/// Something that starts kernels: a PE's host context.
pub trait Launcher {
    /// What a failed launch returns.
    type Error;
    /// A queue on which launches run in order.
    type Stream: ?Sized;

    /// Starts `K` on `stream` (`None`: the default stream) and returns without waiting for it.
    ///
    /// # Errors
    /// What the launcher's documentation says; nothing has run if there is an error.
    fn launch_kernel<K: Kernel>(
        &self,
        stream: Option<&Self::Stream>,
        config: LaunchConfig,
        raw: K::Raw,
    ) -> Result<(), Self::Error>;
}

/// The shape of a launch. Starts as one block of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in the grid, x, y, z.
    pub grid: [u32; 3],
    /// Threads per block, x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory beyond the kernel's layout.
    pub extra_shared: u32,
}

impl LaunchConfig {
    /// `n` blocks in one dimension.
    pub const fn blocks(n: u32) -> Self {
        Self { grid: [n, 1, 1], block: [1, 1, 1], extra_shared: 0 }
    }

    /// A grid of `x` by `y` by `z` blocks.
    pub const fn grid(x: u32, y: u32, z: u32) -> Self {
        Self { grid: [x, y, z], ..Self::blocks(1) }
    }

    /// `n` threads per block, in one dimension.
    pub const fn threads(self, n: u32) -> Self {
        Self { block: [n, 1, 1], ..self }
    }

    /// Blocks of `x` by `y` by `z` threads.
    pub const fn block_dims(self, x: u32, y: u32, z: u32) -> Self {
        Self { block: [x, y, z], ..self }
    }

    /// Adds dynamic shared memory, in bytes, beyond the kernel's layout.
    pub const fn extra_shared(self, bytes: u32) -> Self {
        Self { extra_shared: bytes, ..self }
    }

    /// All blocks of the grid.
    pub const fn total_blocks(&self) -> u64 {
        self.grid[0] as u64 * self.grid[1] as u64 * self.grid[2] as u64
    }

    /// All threads of a block.
    pub const fn block_threads(&self) -> u64 {
        self.block[0] as u64 * self.block[1] as u64 * self.block[2] as u64
    }
}

/// A kernels crate's device code, embedded by `oxshmem-builder`.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The package that holds the kernels.
    pub package: &'static str,
    /// One PTX text per architecture; empty if there is none (see `missing`).
    pub images: &'static [Image],
    /// The same in the traced flavour, whose kernels record their operations; empty unless the build script asked for it.
    pub traced: &'static [Image],
    /// Every kernel of every image.
    pub kernels: &'static [KernelInfo],
    /// Whether a GPU gets the kernels when the first of them is launched, and not at the start.
    pub on_demand: bool,
    /// Why there is no image, and how to get one.
    pub missing: Option<&'static str>,
    /// The compiler that made the images.
    pub toolchain: &'static str,
}

/// The PTX of a module for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The target, for example `sm_90` or `sm_90a`.
    pub arch: &'static str,
    /// The PTX ISA version, major and minor.
    pub ptx_version: (u32, u32),
    /// The text, as the builder packs it: see [`text`](Self::text).
    pub ptx: &'static [u8],
}

#[cfg(not(target_arch = "nvptx64"))]
impl Image {
    /// The PTX text, unpacked; `None` if `ptx` is nothing that this version's builder has written.
    pub fn text(&self) -> Option<String> {
        let packed = self.ptx.strip_prefix(b"oxshmem PTX ")?;
        let (line, stream) = packed.split_at(packed.iter().position(|&byte| byte == b'\n')?);
        let length = str::from_utf8(line).ok()?.strip_prefix(self.arch)?.trim_start().parse().ok()?;
        let text = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&stream[1..], length).ok()?;
        String::from_utf8(text).ok().filter(|text| text.len() == length)
    }
}

/// What is known about a kernel in an image. The numbers are there where `ptxas` was when the image was built.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// The entry's symbol.
    pub symbol: &'static str,
    /// The image's target.
    pub arch: &'static str,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes spilled per thread.
    pub spill_bytes: Option<u32>,
    /// Bytes of local memory per thread.
    pub local_bytes: Option<u32>,
    /// Bytes of static shared memory per block.
    pub shared_bytes: Option<u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
mod registry {
    use super::Module;

    /// A module's place in the program's list of modules. Made by [`kernels!`](crate::kernels) only.
    #[derive(Debug)]
    #[repr(transparent)]
    pub struct Registered(pub Option<&'static Module>);

    // One entry is always there, so that the linker defines the section's bounds.
    #[used]
    #[unsafe(link_section = "oxshmem_modules_5")]
    static FIRST: Registered = Registered(None);

    unsafe extern "C" {
        #[link_name = "__start_oxshmem_modules_5"]
        static START: usize;
        #[link_name = "__stop_oxshmem_modules_5"]
        static STOP: usize;
    }

    /// Every module linked into this program.
    pub fn modules() -> impl Iterator<Item = &'static Module> {
        // SAFETY: the linker makes START and STOP the bounds of the section, which holds only `Registered`
        // values: nothing but this file and `kernels!` puts anything there.
        let entries = unsafe {
            let (start, stop) =
                ((&raw const START).cast::<Registered>(), (&raw const STOP).cast::<Registered>());
            core::slice::from_raw_parts(start, stop.offset_from_unsigned(start))
        };
        entries.iter().filter_map(|entry| entry.0)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::{Registered, modules};

/// Registers this crate's embedded device code. Say it once, at the root of a crate that holds kernels and
/// whose `build.rs` calls `oxshmem_builder::build()`.
///
/// A crate without it runs on the emulator; a launch on a GPU then returns `Error::NoPtx`.
#[macro_export]
macro_rules! kernels {
    () => {
        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            use $crate::launch::{Image, KernelInfo, Module, Registered};
            static MODULE: Module = include!(concat!(env!("OUT_DIR"), "/oxshmem_kernels.rs"));
            #[used]
            #[unsafe(link_section = "oxshmem_modules_5")]
            static REGISTERED: Registered = Registered(Some(&MODULE));
        };
    };
}

#[cfg(test)]
mod tests {
    use super::Image;

    #[test]
    fn an_image_is_unpacked_or_refused() {
        let stream = miniz_oxide::deflate::compress_to_vec_zlib(b"ret;", 6);
        let text = |line: &str, stream: &[u8]| {
            let ptx = [line.as_bytes(), stream].concat().leak();
            Image { arch: "sm_90", ptx_version: (8, 6), ptx }.text()
        };
        assert_eq!(text("oxshmem PTX sm_90 4\n", &stream).as_deref(), Some("ret;"));
        for line in [
            "",
            "oxshmem PTX sm_90 4",
            "oxshmem PTX sm_80 4\n",
            "oxshmem PTX sm_90 3\n",
            "oxshmem PTX sm_90 5\n",
        ] {
            assert_eq!(text(line, &stream), None, "{line}");
        }
        assert_eq!(text("oxshmem PTX sm_90 4\n", &stream[..5]), None);
    }
}
