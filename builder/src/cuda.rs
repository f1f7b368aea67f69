//! rust-cuda's `cuda_builder` by the same names, for build scripts that come from there.

use std::path::{Path, PathBuf};

use crate::builder::{Builder, Built, copied};
use crate::error::Error;

/// [`Builder`] in the shape of rust-cuda's `cuda_builder::CudaBuilder`.
///
/// ```no_run
/// // build.rs of the host program
/// use oxshmem_builder::CudaBuilder; // was: use cuda_builder::CudaBuilder;
///
/// CudaBuilder::new("kernels").copy_to("kernels.ptx").build().unwrap();
/// ```
///
/// The host program says `oxshmem_device::kernels!();` instead of including the PTX; the file is for other readers.
/// Without [`arch`](Self::arch) the PTX is for `sm_80`, which newer GPUs run too.
///
/// Not here, because nothing stands behind them: `release` (device code is always optimised), `nvvm_opts`, `ftz`,
/// `fast_sqrt`, `fast_div`, `emit_llvm_ir`, `optix`, `override_libm`, `use_constant_memory_space`, `build_args`.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    builder: Builder,
    arch: String,
}

/// A GPU architecture by rust-cuda's names, from `sm_80` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum NvvmArch {
    #[default]
    Compute80,
    Compute86,
    Compute87,
    Compute89,
    Compute90,
    Compute90a,
    Compute100,
    Compute100a,
    Compute120,
    Compute120a,
}

/// What of the source the PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// Nothing.
    None,
    /// Lines, for profilers.
    LineTables,
}

impl From<NvvmArch> for String {
    fn from(arch: NvvmArch) -> Self {
        format!("{arch:?}").replace("Compute", "sm_")
    }
}

impl CudaBuilder {
    /// For the kernels crate whose folder or Cargo.toml is `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { builder: Builder::for_package(path.as_ref()), arch: NvvmArch::default().into() }
    }

    /// The architecture, as [`NvvmArch`] or by name as in `sm_90`.
    pub fn arch(self, arch: impl Into<String>) -> Self {
        Self { arch: arch.into(), ..self }
    }

    /// Whether the PTX names source lines. Code stays the same.
    pub fn debug(self, info: DebugInfo) -> Self {
        Self { builder: self.builder.debug(info == DebugInfo::LineTables), ..self }
    }

    /// Whether a product and a sum may become one instruction that rounds once. `false` by default, unlike in
    /// rust-cuda; [`GpuFloat::mul_add`](https://docs.rs/oxshmem-device) asks for a single one.
    pub fn fma_contraction(self, fuse: bool) -> Self {
        let builder =
            if fuse { self.builder.rustc_flag("-Cllvm-args=-fp-contract=fast") } else { self.builder };
        Self { builder, ..self }
    }

    /// Also writes the PTX to `path`.
    pub fn copy_to(self, path: impl AsRef<Path>) -> Self {
        Self { builder: self.builder.copy_to(path.as_ref()), ..self }
    }

    /// In a build script: as [`Builder::build`]. The path of the PTX: of the copy, if one was asked for; `None` if none
    /// was built, because there is no device toolchain, or `OXSHMEM_PTX=off`, or this is the device build.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn build(self) -> Result<Option<PathBuf>, Error> {
        let builder = self.builder.arch(self.arch);
        Ok(builder.build_script()?.as_ref().and_then(|built| path(&builder, built)))
    }

    /// For a tool: as [`Builder::compile`].
    ///
    /// # Errors
    /// As [`Builder::compile`].
    pub fn compile(self) -> Result<Built, Error> {
        self.builder.arch(self.arch).compile()
    }
}

/// Where the PTX for the architecture that was asked for lies.
fn path(builder: &Builder, built: &Built) -> Option<PathBuf> {
    let image = built.images.first()?;
    Some(builder.copy_goes_to().map_or(image.path.clone(), |to| copied(to, image, built.images.len())))
}

#[cfg(test)]
mod tests {
    use super::NvvmArch;
    use crate::Arch;

    #[test]
    fn every_arch_has_a_name_that_the_builder_knows() {
        for (arch, name) in [
            (NvvmArch::default(), "sm_80"),
            (NvvmArch::Compute89, "sm_89"),
            (NvvmArch::Compute90a, "sm_90a"),
            (NvvmArch::Compute120, "sm_120"),
        ] {
            assert_eq!(Arch::parse(&String::from(arch)).expect(name).name(), name);
        }
    }
}
