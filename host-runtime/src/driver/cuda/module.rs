//! Device code: for each kernel of each registered module the best image that the GPU and its driver can take,
//! loaded when the device is opened. Every function is loaded then and there: the driver's lazy loading would
//! make the first launch of a kernel wait for a kernel that waits for it.

use super::check::{cu, name};
use super::context::Context;
use crate::driver::Function;
use crate::error::{Error, Result};
use crate::say::say;
use cudarc::driver::sys::{self, CUjit_option, CUmodule, CUresult};
use oxshmem_device::launch::{Image, Module, modules};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// The package of the kernels behind host operations, which do not record: the host does.
const RUNTIMES_OWN: &str = "oxshmem-stream-kernels";

/// Room for what the driver's compiler prints.
const LOG_BYTES: usize = 16 * 1024;

/// What to do if a kernel is in no registered module.
const REGISTER: &str = "say `oxshmem_device::kernels!();` at the root of the crate that holds it, and call \
                        `oxshmem_builder::build()` in that crate's build.rs";

/// The kernels of a device.
#[derive(Debug)]
pub(super) struct Kernels {
    context: Arc<Context>,
    functions: HashMap<&'static str, Result<Function>>,
    loaded: Vec<CUmodule>,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Kernels {}
// SAFETY: as above; nothing here changes after `load`.
unsafe impl Sync for Kernels {}

/// What an image must fit.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Compute capability.
    pub(super) capability: (i32, i32),
    /// CUDA version of the driver, as 1000 * major + 10 * minor.
    pub(super) driver: i32,
    /// The device, for messages.
    pub(super) name: String,
}

impl Kernels {
    /// Loads every kernel of the program, `traced` where it is there in that flavour. What fails is kept for the launch of that
    /// kernel.
    pub(super) fn load(context: Arc<Context>, target: &Target, traced: bool) -> Result<Self> {
        context.enter()?;
        let mut kernels = Self { context, functions: HashMap::new(), loaded: Vec::new() };
        for module in modules() {
            let flavour = flavour(module, traced);
            let mut images: HashMap<&'static str, Result<CUmodule>> = HashMap::new();
            for info in module.kernels {
                if kernels.functions.contains_key(info.symbol) {
                    continue;
                }
                let has = |image: &&Image| {
                    module.kernels.iter().any(|k| k.symbol == info.symbol && k.arch == image.arch)
                };
                let function = match best(flavour.iter().filter(has), target) {
                    None => Err(no_fitting(module, target)),
                    Some(image) => images
                        .entry(image.arch)
                        .or_insert_with(|| kernels.load_image(module, image))
                        .clone()
                        .and_then(|loaded| function(module, loaded, info.symbol)),
                };
                kernels.functions.insert(info.symbol, function);
            }
        }
        Ok(kernels)
    }

    /// A kernel's function.
    pub(super) fn function(&self, symbol: &'static str) -> Result<Function> {
        match self.functions.get(symbol) {
            Some(function) => function.clone(),
            None => Err(no_ptx(symbol)),
        }
    }

    fn load_image(&mut self, module: &Module, image: &Image) -> Result<CUmodule> {
        let rejected = |name: String, log: String| Error::PtxRejected {
            package: module.package,
            arch: image.arch,
            name,
            log,
        };
        let Ok(ptx) = CString::new(image.ptx) else {
            return Err(rejected("not PTX".into(), "the text holds a NUL byte".into()));
        };
        let (mut info, mut error) = (vec![0u8; LOG_BYTES], vec![0u8; LOG_BYTES]);
        let mut options = [
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let size = std::ptr::without_provenance_mut::<c_void>(LOG_BYTES);
        let mut values =
            [info.as_mut_ptr().cast::<c_void>(), size, error.as_mut_ptr().cast::<c_void>(), size];
        let mut loaded = std::ptr::null_mut();
        let count = options.len() as u32;
        // SAFETY: the text ends in NUL; options and values are as many as are passed, and the buffers have the
        // sizes that they say (driver API reference, CUjit_option: sizes are passed as the values themselves).
        let result = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            sys::cuModuleLoadDataEx(&mut loaded, ptx.as_ptr().cast(), count, options, values)
        };
        if result != CUresult::CUDA_SUCCESS {
            let log = match (text(&error), text(&info)) {
                (error, _) if !error.is_empty() => error,
                (_, info) if !info.is_empty() => info,
                _ => "the driver's compiler printed nothing".into(),
            };
            return Err(rejected(name(result), log));
        }
        self.loaded.push(loaded);
        Ok(loaded)
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let _ = self.context.enter();
        for module in self.loaded.drain(..) {
            // SAFETY: loaded by `load`, unloaded once; the run is over, so no kernel of it runs.
            let _ = unsafe { sys::cuModuleUnload(module) };
        }
    }
}

/// Looks a function up and loads it.
fn function(module: &Module, loaded: CUmodule, symbol: &'static str) -> Result<Function> {
    let missing = || Error::NoFunction { package: module.package, kernel: symbol.to_owned() };
    let name = CString::new(symbol).map_err(|_| missing())?;
    let mut function = std::ptr::null_mut();
    // SAFETY: `function` may be written; the module is loaded and the name ends in NUL.
    let result = unsafe { sys::cuModuleGetFunction(&mut function, loaded, name.as_ptr()) };
    match result {
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_NOT_FOUND => return Err(missing()),
        _ => super::check::check(result, "cuModuleGetFunction", "loading a kernel")?,
    }
    // SAFETY: a live function. The call is as old as the oldest driver that is accepted (CUDA 12.4).
    unsafe { cu!(cuFuncLoad(function), "loading a kernel") }?;
    Ok(Function(function as usize))
}

/// The images of a module that a run loads. A traced one says which modules cannot record.
fn flavour(module: &Module, traced: bool) -> &'static [Image] {
    static SAID: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if !traced || !module.traced.is_empty() {
        return if traced { module.traced } else { module.images };
    }
    let records = !module.kernels.is_empty() && module.package != RUNTIMES_OWN;
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if records && !said.contains(&module.package) {
        said.push(module.package);
        say(format_args!(
            "the timeline will lack what kernels of {} do: its build.rs asks for no traced flavour (oxshmem_builder::Builder::trace)",
            module.package
        ));
    }
    module.images
}

/// The best of some images: the newest architecture that the device has, specific before general.
fn best<'a>(images: impl Iterator<Item = &'a Image>, target: &Target) -> Option<&'a Image> {
    images.filter(|image| fits(image, target)).max_by_key(|image| {
        let (major, minor, kind) = parse(image.arch).unwrap_or((0, 0, Kind::Any));
        (major, minor, kind != Kind::Any, image.ptx_version)
    })
}

/// On which devices an image runs (PTX ISA 11.1.2, `.target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `sm_90`: its own and newer ones.
    Any,
    /// `sm_100f`: the same family.
    Family,
    /// `sm_90a`: exactly this one.
    Exact,
}

/// `sm_90a` as 9, 0, exact.
fn parse(arch: &str) -> Option<(i32, i32, Kind)> {
    let text = arch.strip_prefix("sm_")?;
    let (number, kind) = match text.as_bytes().last()? {
        b'a' => (&text[..text.len() - 1], Kind::Exact),
        b'f' => (&text[..text.len() - 1], Kind::Family),
        _ => (text, Kind::Any),
    };
    let number: i32 = number.parse().ok()?;
    Some((number / 10, number % 10, kind))
}

fn fits(image: &Image, target: &Target) -> bool {
    let Some((major, minor, kind)) = parse(image.arch) else { return false };
    let runs = match kind {
        Kind::Any => target.capability >= (major, minor),
        Kind::Family => target.capability.0 == major && target.capability.1 >= minor,
        Kind::Exact => target.capability == (major, minor),
    };
    runs && image.ptx_version <= newest_ptx(target.driver)
}

/// The newest PTX version that a driver compiles (PTX ISA, release notes), by its CUDA version.
fn newest_ptx(driver: i32) -> (u32, u32) {
    match (driver / 1000, driver % 1000 / 10) {
        (12, minor @ 0..=5) => (8, minor as u32),
        (12, 6) => (8, 5),
        (12, minor) => (8, minor.max(7) as u32 - 1),
        (major, minor) => (u32::try_from(major - 4).unwrap_or(0), u32::try_from(minor).unwrap_or(0)),
    }
}

fn no_fitting(module: &Module, target: &Target) -> Error {
    let have: Vec<String> = module
        .images
        .iter()
        .map(|image| format!("{} with PTX {}.{}", image.arch, image.ptx_version.0, image.ptx_version.1))
        .collect();
    let (major, minor) = target.capability;
    Error::NoFittingImage {
        package: module.package,
        have: have.join(", "),
        device: format!("{} (compute capability {major}.{minor})", target.name),
        driver: target.driver,
    }
}

/// The error for a kernel that no image has: why, as far as the registered modules tell.
fn no_ptx(symbol: &'static str) -> Error {
    let of = |module: &&Module| {
        let crate_name = module.package.replace('-', "_");
        symbol.strip_prefix(&crate_name).is_some_and(|rest| rest.starts_with("__"))
    };
    match modules().find(of) {
        Some(Module { missing: Some(why), .. }) => {
            Error::NoPtx { kernel: symbol, why: (*why).to_owned(), remedy: "then build again" }
        }
        Some(module) => Error::NoPtx {
            kernel: symbol,
            why: format!("the device code of {} was built without it", module.package),
            remedy: "build again with `cargo clean` before it",
        },
        None => Error::NoPtx {
            kernel: symbol,
            why: "no crate of this program has registered device code that holds it".into(),
            remedy: REGISTER,
        },
    }
}

/// What the driver wrote into a log buffer.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_device::launch::KernelInfo;

    const fn image(arch: &'static str, ptx_version: (u32, u32)) -> Image {
        Image { arch, ptx_version, ptx: "" }
    }

    #[test]
    fn the_newest_image_that_fits_is_taken() {
        let images = [
            image("sm_80", (8, 4)),
            image("sm_90", (8, 6)),
            image("sm_90a", (8, 6)),
            image("sm_100f", (8, 8)),
        ];
        for (capability, driver, expected) in [
            ((8, 0), 12040, Some("sm_80")),
            ((8, 9), 13000, Some("sm_80")),
            ((9, 0), 12040, Some("sm_80")),
            ((9, 0), 12080, Some("sm_90a")),
            ((10, 0), 12080, Some("sm_90")),
            ((10, 0), 12090, Some("sm_100f")),
            ((10, 3), 13000, Some("sm_100f")),
            ((12, 0), 13000, Some("sm_90")),
            ((7, 5), 13000, None),
            ((9, 0), 12030, None),
        ] {
            let target = Target { capability, driver, name: String::new() };
            assert_eq!(best(images.iter(), &target).map(|i| i.arch), expected, "{capability:?} {driver}");
        }
    }

    #[test]
    fn a_traced_run_takes_the_traced_images_where_there_are_some() {
        const KERNEL: KernelInfo = KernelInfo {
            symbol: "k",
            arch: "sm_90",
            registers: None,
            spill_bytes: None,
            local_bytes: None,
            shared_bytes: None,
        };
        const PLAIN: &[Image] = &[image("sm_90", (8, 6))];
        const TRACED: &[Image] = &[image("sm_80", (8, 4))];
        let module = Module {
            package: "p",
            images: PLAIN,
            traced: TRACED,
            kernels: &[KERNEL],
            missing: None,
            toolchain: "",
        };
        let arch = |module: &Module, traced| flavour(module, traced)[0].arch;
        assert_eq!((arch(&module, false), arch(&module, true)), ("sm_90", "sm_80"));
        assert_eq!(arch(&Module { traced: &[], ..module }, true), "sm_90");
    }

    #[test]
    fn ptx_versions_follow_the_drivers() {
        for (driver, ptx) in
            [(12040, (8, 4)), (12060, (8, 5)), (12080, (8, 7)), (12090, (8, 8)), (13010, (9, 1))]
        {
            assert_eq!(newest_ptx(driver), ptx, "{driver}");
        }
    }
}
