//! Device code: for each kernel of each registered module the best image that the GPU and its driver can take.
//!
//! | module | when a GPU gets it |
//! |---|---|
//! | any | when the device is opened |
//! | `on_demand`, unless the run asks for all at the start | when the first of its kernels is looked up, by whichever PE |
//!
//! Whichever it is, all functions of a module are loaded at once. To load one may mean to wait until every kernel of the
//! context is over (CUDA Programming Guide, Lazy Loading, Potential Hazards), and kernels of one job wait for each other. So
//! the driver's own lazy loading is not left to strike at a launch; a program's kernels, and those small ones by which a host
//! or a stream signals to a kernel that runs, are there from the start; and kernels of one module that wait for each other
//! find each other loaded.

use super::check::{cu, name};
use super::context::Context;
use super::image::{Target, best, no_fitting};
use crate::config::Loading;
use crate::debug;
use crate::driver::Function;
use crate::error::{Error, Result};
use crate::say::say;
use cudarc::driver::sys::{self, CUjit_option, CUmodule, CUresult, CUstreamCaptureMode};
use oxshmem_device::launch::{Image, Module, modules};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// The packages of the kernels behind host operations, which do not record: the host does.
const RUNTIMES_OWN: [&str; 2] = ["oxshmem-stream-kernels", "oxshmem-stream-collectives"];

/// Room for what the driver's compiler prints.
const LOG_BYTES: usize = 16 * 1024;

/// What to do if a kernel is in no registered module.
const REGISTER: &str = "say `oxshmem_device::kernels!();` at the root of the crate that holds it, and call \
                        `oxshmem_builder::build()` in that crate's build.rs";

/// The kernels of a device.
#[derive(Debug)]
pub(super) struct Kernels {
    context: Arc<Context>,
    target: Target,
    traced: bool,
    places: Vec<Place>,
    /// Which module has a kernel: the first, if several have.
    found: HashMap<&'static str, usize>,
}

/// A module of the program, and what this device has of it.
#[derive(Debug)]
struct Place {
    module: &'static Module,
    loaded: OnceLock<Loaded>,
}

/// What loading a module brought. What failed is kept for the launch of that kernel.
#[derive(Debug)]
struct Loaded {
    functions: HashMap<&'static str, Result<Function>>,
    images: Vec<CUmodule>,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing in it changes once it is made.
unsafe impl Sync for Loaded {}

impl Kernels {
    /// The program's kernels, `traced` where they are there in that flavour; loads those that are to be there from the start.
    pub(super) fn open(context: Arc<Context>, target: Target, loading: Loading, traced: bool) -> Self {
        let places: Vec<Place> = modules().map(|module| Place { module, loaded: OnceLock::new() }).collect();
        let mut found = HashMap::new();
        for (at, place) in places.iter().enumerate() {
            for kernel in place.module.kernels {
                found.entry(kernel.symbol).or_insert(at);
            }
        }
        let kernels = Self { context, target, traced, places, found };
        for place in &kernels.places {
            if loading == Loading::AtStart || !place.module.on_demand {
                kernels.loaded(place);
            }
        }
        kernels
    }

    /// A kernel's function. Loads its module if nobody has; whoever comes meanwhile waits for that.
    pub(super) fn function(&self, symbol: &'static str) -> Result<Function> {
        let loaded = self.found.get(symbol).map(|&at| self.loaded(&self.places[at]));
        match loaded.and_then(|loaded| loaded.functions.get(symbol)) {
            Some(function) => function.clone(),
            None => Err(no_ptx(symbol)),
        }
    }

    fn loaded<'a>(&self, place: &'a Place) -> &'a Loaded {
        place.loaded.get_or_init(|| {
            let (start, package) = (Instant::now(), place.module.package);
            let loaded = self.load(place.module);
            let (functions, device) = (loaded.functions.len(), &self.target.name);
            tracing::debug!(target: debug::DEVICE, package, functions, device, took = ?start.elapsed(), "kernels are loaded");
            loaded
        })
    }

    /// Loads every function of a module.
    fn load(&self, module: &'static Module) -> Loaded {
        let mut loaded = Loaded { functions: HashMap::new(), images: Vec::new() };
        let relaxed = match self.context.enter().and_then(|()| Relaxed::new()) {
            Ok(relaxed) => relaxed,
            Err(error) => {
                let failed = module.kernels.iter().map(|info| (info.symbol, Err(error.clone())));
                loaded.functions.extend(failed);
                return loaded;
            }
        };
        let flavour = flavour(module, self.traced);
        let mut images: HashMap<&'static str, Result<CUmodule>> = HashMap::new();
        for info in module.kernels {
            if loaded.functions.contains_key(info.symbol) {
                continue;
            }
            let has = |image: &&Image| {
                module.kernels.iter().any(|k| k.symbol == info.symbol && k.arch == image.arch)
            };
            let function = match best(flavour.iter().filter(has), &self.target) {
                None => Err(no_fitting(module, &self.target)),
                Some(image) => images
                    .entry(image.arch)
                    .or_insert_with(|| load_image(module, image))
                    .clone()
                    .and_then(|loaded| function(module, loaded, info.symbol)),
            };
            loaded.functions.insert(info.symbol, function);
        }
        drop(relaxed);
        loaded.images.extend(images.into_values().flatten());
        loaded
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let _ = self.context.enter();
        let loaded = self.places.drain(..).filter_map(|place| place.loaded.into_inner());
        for module in loaded.flat_map(|loaded| loaded.images) {
            // SAFETY: loaded by `load`, unloaded once; the run is over, so no kernel of it runs.
            let _ = unsafe { sys::cuModuleUnload(module) };
        }
    }
}

/// As long as it lives, this thread may make calls of the driver that others' captures of streams forbid: those that may wait
/// for the device, as loading does. A kernel may be looked up for the first time while a stream records
/// (`cuThreadExchangeStreamCaptureMode`, CUDA Driver API, Stream Management).
struct Relaxed(CUstreamCaptureMode);

impl Relaxed {
    fn new() -> Result<Self> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: `mode` may be read and written.
        unsafe { cu!(cuThreadExchangeStreamCaptureMode(&mut mode), "loading kernels") }?;
        Ok(Self(mode))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: a mode that the driver gave, which may be written.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}

fn load_image(module: &Module, image: &Image) -> Result<CUmodule> {
    let rejected = |name: String, log: String| Error::PtxRejected {
        package: module.package,
        arch: image.arch,
        name,
        log,
    };
    let Some(ptx) = image.text() else {
        let log =
            "the embedded text cannot be unpacked: build again with the oxshmem-builder of this version";
        return Err(rejected("not PTX".into(), log.into()));
    };
    let Ok(ptx) = CString::new(ptx) else {
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
    let mut values = [info.as_mut_ptr().cast::<c_void>(), size, error.as_mut_ptr().cast::<c_void>(), size];
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
    Ok(loaded)
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
    let records = !module.kernels.is_empty() && !RUNTIMES_OWN.contains(&module.package);
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
        const PLAIN: &[Image] = &[Image { arch: "sm_90", ptx_version: (8, 6), ptx: b"" }];
        const TRACED: &[Image] = &[Image { arch: "sm_80", ptx_version: (8, 4), ptx: b"" }];
        let module = Module {
            package: "p",
            images: PLAIN,
            traced: TRACED,
            kernels: &[KERNEL],
            on_demand: false,
            missing: None,
            toolchain: "",
        };
        let arch = |module: &Module, traced| flavour(module, traced)[0].arch;
        assert_eq!((arch(&module, false), arch(&module, true)), ("sm_90", "sm_80"));
        assert_eq!(arch(&Module { traced: &[], ..module }, true), "sm_90");
    }
}
