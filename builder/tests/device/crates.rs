//! The small crates that the device tests build.

use std::fs;
use std::path::{Path, PathBuf};

/// One package: name, what follows its `[package]` table, `src/lib.rs`.
type Package = (&'static str, &'static str, &'static str);

const PACKAGES: &[Package] = &[
    ("base", "", BASE),
    ("plain", "[dependencies]\nbase = { path = \"../base\" }\n", PLAIN),
    ("converge", "[dependencies]\nbase = { path = \"../base\" }\n", CONVERGE),
    ("hopper", "[dependencies]\nbase = { path = \"../base\" }\n", HOPPER),
    ("optional", "[dependencies]\nbase = { path = \"../base\" }\n[features]\nextra = []\n", OPTIONAL),
    ("broken", "[dependencies]\nbase = { path = \"../base\" }\n", BROKEN),
    ("atomic", "[dependencies]\nbase = { path = \"../base\" }\n", ATOMIC),
    ("copying", "[dependencies]\nbase = { path = \"../base\" }\n", COPYING),
    ("careless", "[dependencies]\nbase = { path = \"../base\" }\n", CARELESS),
    ("allowed", "[dependencies]\nbase = { path = \"../base\" }\n", ALLOWED),
    (
        "hostonly",
        "",
        "pub fn threads() -> usize { std::thread::available_parallelism().map_or(1, |n| n.get()) }\n",
    ),
    (
        "misplaced",
        "[dependencies]\nbase = { path = \"../base\" }\nhostonly = { path = \"../hostonly\" }\n",
        "pub use base::thread;\n#[cfg(not(target_arch = \"nvptx64\"))]\npub use hostonly::threads;\n",
    ),
    (
        "single",
        "[dependencies]\nbase = { path = \"../base\" }\n[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\n\
         hostonly = { path = \"../hostonly\" }\n[build-dependencies]\noxshmem-builder = { path = \"@BUILDER@\" }\n",
        SINGLE,
    ),
    (
        "cuda",
        "[features]\nof-the-host = []\ndefault = [\"of-the-host\"]\n\
         [build-dependencies]\noxshmem-builder = { path = \"@BUILDER@\" }\n",
        "pub const PTX: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/plain.ptx\"));\n",
    ),
];

/// A stand-in for device-std: thread index, barriers, the panic handler, and a kernel of its own.
const BASE: &str = r#"
#[cfg(target_arch = "nvptx64")]
mod device {
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo) -> ! { unsafe { core::arch::asm!("trap;", options(noreturn)) } }

    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cta.sync.all"]
        pub fn barrier(id: i32);
        #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
        pub fn barrier_aligned(id: i32);
        #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
        pub fn tid() -> i32;
    }

    core::arch::global_asm!("// @oxshmem kernel=base__fill maxntid=128");
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn base__fill(p: *mut u32, n: u32) {
        let t = super::thread();
        if t < n { unsafe { *p.add(t as usize) = t } }
    }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn thread() -> u32 { unsafe { device::tid() as u32 } }
#[cfg(not(target_arch = "nvptx64"))]
pub fn thread() -> u32 { 0 }

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn barrier() { unsafe { device::barrier(0) } }

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn barrier_aligned() { unsafe { device::barrier_aligned(0) } }
"#;

const PLAIN: &str = r#"
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Context { pub words: [u64; 2], pub pe: u64, pub pes: u64, pub base: u64, pub size: u64, pub more: [u64; 4] }

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!("// @oxshmem kernel=plain__scale maxntid=256 minnctapersm=2 collective=1");

#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn plain__scale(c: Context, _unit: (), data: *mut f32, _other: (), n: u32) {
    let t = base::thread();
    if t < n { unsafe { *data.add(t as usize) *= (c.pe + c.pes * c.base + c.more[3]) as f32 } }
}
"#;

const CONVERGE: &str = r#"
#[cfg(target_arch = "nvptx64")]
mod device {
    use base::{barrier, barrier_aligned, thread};

    /// The condition before the barrier is that after it: jump threading would copy the barrier.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn around(p: *mut u32, q: *mut u32, n: u32) {
        let t = thread();
        let first = t < n;
        if first { unsafe { *p.add(t as usize) = t } }
        barrier();
        if first { unsafe { *q.add(t as usize) = *p.add((n - 1 - t) as usize) } }
    }

    /// A small block behind a branch: simplification would copy it into both arms.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn after(p: *mut u32, n: u32) {
        let t = thread();
        let v = match t % 3 { 0 => n, 1 => n * 7, _ => unsafe { *p } };
        barrier();
        unsafe { *p.add(t as usize) = v }
    }

    /// The same text in both arms.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn aligned(p: *mut u32, n: u32) {
        let t = thread();
        let flag = if t < n { unsafe { *p.add(t as usize) = 1 }; true } else { false };
        barrier_aligned();
        if flag { unsafe { *p.add(64) = 2 } } else { unsafe { *p.add(65) = 3 } }
    }
}
"#;

const HOPPER: &str = r#"
#[cfg(target_arch = "nvptx64")]
mod device {
    core::arch::global_asm!("// @oxshmem kernel=tensor arch=sm_90a cluster=2,1,1");
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn tensor(p: *mut u32) {
        unsafe { core::arch::asm!("wgmma.fence.sync.aligned;") };
        unsafe { *p = only_tensor(base::thread()) }
    }
    #[inline(never)]
    fn only_tensor(n: u32) -> u32 {
        unsafe { core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 64;") };
        n
    }
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn common(p: *mut u32) { unsafe { *p = base::thread() } }
}
"#;

const OPTIONAL: &str = r#"
#[cfg(all(target_arch = "nvptx64", feature = "extra"))]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn extra(p: *mut u32) { unsafe { *p = base::thread() } }
#[cfg(all(target_arch = "nvptx64", flavour))]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn flavoured(p: *mut u32) { unsafe { *p = base::thread() } }
#[cfg(all(target_arch = "nvptx64", oxshmem_trace))]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn traced(p: *mut u32) { unsafe { *p = base::thread() } }
"#;

const BROKEN: &str = r#"
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn broken(p: *mut u32) { unsafe { *p = "text" } }
"#;

const ATOMIC: &str = r#"
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn count(p: *mut u32) {
    use core::sync::atomic::{AtomicU32, Ordering};
    unsafe { AtomicU32::from_ptr(p).fetch_add(base::thread(), Ordering::AcqRel) };
}
"#;

const COPYING: &str = r#"
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn copy(to: *mut u32, from: *const u32, n: u32) {
    unsafe { core::ptr::copy_nonoverlapping(from, to, n as usize) }
}
"#;

const CARELESS: &str = r#"
#[cfg(target_arch = "nvptx64")]
mod device {
    unsafe extern "C" { fn nowhere(n: u32) -> u32; }

    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn stale(to: *mut u32, from: &u32) { unsafe { *to = *from } }

    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn local(to: *mut u32, n: u32) {
        let mut a = [n; 8];
        for i in 0..8 { a[((i * n) & 7) as usize] = i }
        unsafe { *to = a[(n & 7) as usize] }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn calls(to: *mut u32) { unsafe { *to = nowhere(base::thread()) } }
}
"#;

const ALLOWED: &str = r#"
#[cfg(target_arch = "nvptx64")]
mod device {
    core::arch::global_asm!("// @oxshmem kernel=local local=allow");
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn local(to: *mut u32, n: u32) {
        let mut a = [n; 8];
        for i in 0..8 { a[((i * n) & 7) as usize] = i }
        unsafe { *to = a[(n & 7) as usize] }
    }

    static TABLE: [u32; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn table(to: *mut u32, n: u32) { unsafe { *to = TABLE[(n & 15) as usize] } }
}
"#;

const SINGLE: &str = r#"
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn single(p: *mut u32) { unsafe { *p = base::thread() } }

#[cfg(not(target_arch = "nvptx64"))]
pub mod launch {
    pub struct Module {
        pub package: &'static str,
        pub images: &'static [Image],
        pub traced: &'static [Image],
        pub kernels: &'static [KernelInfo],
        pub on_demand: bool,
        pub missing: Option<&'static str>,
        pub toolchain: &'static str,
    }
    pub struct Image { pub arch: &'static str, pub ptx_version: (u32, u32), pub ptx: &'static [u8] }
    pub struct KernelInfo {
        pub symbol: &'static str,
        pub arch: &'static str,
        pub registers: Option<u32>,
        pub spill_bytes: Option<u32>,
        pub local_bytes: Option<u32>,
        pub shared_bytes: Option<u32>,
    }
    pub static MODULE: Module = {
        #[allow(unused_imports)]
        use self::{Image, KernelInfo, Module};
        include!(concat!(env!("OUT_DIR"), "/oxshmem_kernels.rs"))
    };
}
"#;

const SINGLE_MAIN: &str = r#"
fn main() {
    let m = &single::launch::MODULE;
    for image in m.images {
        let start = format!("oxshmem PTX {} ", image.arch);
        assert!(image.ptx.starts_with(start.as_bytes()), "{}", image.arch);
    }
    assert!(!m.on_demand);
    let single = m.kernels.iter().filter(|k| k.symbol == "single").count();
    println!("{}: {} images, {single} kernels, missing {:?}", m.package, m.images.len(), m.missing);
    println!("{} threads, {}", hostonly::threads(), m.toolchain);
}
"#;

const SINGLE_BUILD: &str =
    "fn main() { oxshmem_builder::Builder::new().build().unwrap_or_else(|e| e.exit()) }\n";

/// A host program whose build script builds another package's kernels, as rust-cuda's examples do.
const CUDA_BUILD: &str = r#"
use oxshmem_builder::{CudaBuilder, DebugInfo, NvvmArch};

fn main() {
    let copy = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap()).join("plain.ptx");
    let builder = CudaBuilder::new("../plain").arch(NvvmArch::Compute90).debug(DebugInfo::LineTables);
    let built = builder.copy_to(&copy).build().unwrap();
    match built {
        Some(path) => assert_eq!(path, copy),
        None => std::fs::write(&copy, "none").unwrap(),
    }
}
"#;

const CUDA_MAIN: &str = r#"
fn main() {
    let (sm_90, lines) = (cuda::PTX.contains(".target sm_90"), cuda::PTX.contains(".loc"));
    let entry = cuda::PTX.contains(".entry plain__scale(");
    println!("sm_90 {sm_90}, entry {entry}, lines {lines}");
}
"#;

const PACKAGED: &str = r#"
#[cfg(all(target_arch = "nvptx64", feature = "chosen"))]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn packaged(p: *mut u32) { unsafe { *p = base::thread() } }

#[cfg(not(target_arch = "nvptx64"))]
pub const EMBEDDED: &str = include_str!(concat!(env!("OUT_DIR"), "/oxshmem_kernels.rs"));
"#;

const USER_MAIN: &str = r#"
fn main() {
    let text = packaged::EMBEDDED;
    println!("{} images, packaged {}", text.matches("Image {").count(), text.contains("symbol: \"packaged\""));
}
"#;

/// Writes the workspace below `scratch` and returns its folder.
pub(crate) fn write_workspace(scratch: &str, builder: &str) -> PathBuf {
    let root = Path::new(scratch).join("device-tests");
    let members: Vec<String> = PACKAGES.iter().map(|(name, ..)| format!("{name:?}")).collect();
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n", members.join(", "));
    put(&root.join("Cargo.toml"), &manifest);
    for (name, tables, source) in PACKAGES {
        let folder = root.join(name);
        let tables = tables.replace("@BUILDER@", builder);
        let manifest =
            format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n{tables}");
        put(&folder.join("Cargo.toml"), &manifest);
        put(&folder.join("src/lib.rs"), source);
    }
    write_user(&root, builder);
    put(&root.join("single/src/main.rs"), SINGLE_MAIN);
    put(&root.join("single/build.rs"), SINGLE_BUILD);
    put(&root.join("cuda/src/main.rs"), CUDA_MAIN);
    put(&root.join("cuda/build.rs"), CUDA_BUILD);
    root
}

/// A package where cargo would unpack one of a registry, and a workspace of its own that uses it.
fn write_user(root: &Path, builder: &str) {
    let package = "[package]\nedition = \"2024\"\nversion = \"0.1.0\"\n";
    let packaged = root.join("outside/registry/src/index/packaged-0.1.0");
    let tables = format!(
        "name = \"packaged\"\n[features]\nchosen = []\n[dependencies]\nbase = {{ path = {:?} }}\n\
         [build-dependencies]\noxshmem-builder = {{ path = {builder:?} }}\n[workspace]\n",
        root.join("outside/base")
    );
    put(&packaged.join("Cargo.toml"), &format!("{package}{tables}"));
    put(&packaged.join("src/lib.rs"), PACKAGED);
    put(&packaged.join("build.rs"), SINGLE_BUILD);
    put(&root.join("outside/base/Cargo.toml"), &format!("{package}name = \"base\"\n[workspace]\n"));
    put(&root.join("outside/base/src/lib.rs"), BASE);
    let tables = "name = \"user\"\n[dependencies.packaged]\npath = \"../outside/registry/src/index/packaged-0.1.0\"\n\
                  features = [\"chosen\"]\n[workspace]\n";
    put(&root.join("user/Cargo.toml"), &format!("{package}{tables}"));
    put(&root.join("user/src/main.rs"), USER_MAIN);
}

/// Writes a file if it would change, so that cargo keeps what it has built.
fn put(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("the folder");
    fs::write(path, text).expect("the file");
}
