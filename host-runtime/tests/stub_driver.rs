//! The CUDA driver's misfortunes, without a GPU: a stub libcuda (`stub-libcuda/stub.c`) is put in the way of a
//! child process, which is this test program again. Each case must end in the error that names cause and next
//! step, within seconds.
#![cfg(feature = "cuda")]

mod common;

use common::stub::{ends_with, folder, processes, run_child};
use common::*;
use oxshmem::{Config, DeviceChoice, Handles, LaunchConfig, Loading};
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::launch::{
    Image, Kernel, KernelInfo, Launcher, Module, ParamVisitor, Registered, modules,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const fn info(symbol: &'static str, arch: &'static str) -> KernelInfo {
    KernelInfo { symbol, arch, registers: None, spill_bytes: None, local_bytes: None, shared_bytes: None }
}

/// Three kernels that the stub can load: it looks for their names in the text.
static LOADABLE: Module = Module {
    package: "stub-driver",
    images: &[
        image!("sm_80", (8, 4), "stub_driver__touch stub_driver__wait_for"),
        image!("sm_90", (8, 6), "stub_driver__touch stub_driver__wait_for sm_90"),
    ],
    traced: &[],
    kernels: &[
        info(<touch as Kernel>::SYMBOL, "sm_80"),
        info(<touch as Kernel>::SYMBOL, "sm_90"),
        info(<wait_for as Kernel>::SYMBOL, "sm_80"),
        info(<wait_for as Kernel>::SYMBOL, "sm_90"),
        info(<panics as Kernel>::SYMBOL, "sm_90"),
    ],
    on_demand: false,
    missing: None,
    toolchain: "",
};
static NOT_BUILT: Module = Module {
    package: "not-built",
    images: &[],
    traced: &[],
    kernels: &[],
    on_demand: false,
    missing: Some("no device toolchain was found: run `rustup component add rust-src`"),
    toolchain: "",
};
static TOO_NEW: Module = Module {
    package: "too-new",
    images: &[image!("sm_120", (8, 7), "too_new__kernel")],
    traced: &[],
    kernels: &[info("too_new__kernel", "sm_120")],
    on_demand: false,
    missing: None,
    toolchain: "",
};
/// Loaded when one of its two kernels is launched.
static RARE: Module = Module {
    package: "rare",
    images: &[image!("sm_90", (8, 6), "rare__one rare__two")],
    traced: &[],
    kernels: &[info("rare__one", "sm_90"), info("rare__two", "sm_90")],
    on_demand: true,
    missing: None,
    toolchain: "",
};
/// What no builder of this version has written.
static DAMAGED: Module = Module {
    package: "damaged",
    images: &[Image { arch: "sm_90", ptx_version: (8, 6), ptx: b"damaged__kernel" }],
    traced: &[],
    kernels: &[info("damaged__kernel", "sm_90")],
    on_demand: true,
    missing: None,
    toolchain: "",
};
#[used]
#[unsafe(link_section = "oxshmem_modules_5")]
static REGISTERED: [Registered; 5] = [
    Registered(Some(&LOADABLE)),
    Registered(Some(&NOT_BUILT)),
    Registered(Some(&TOO_NEW)),
    Registered(Some(&RARE)),
    Registered(Some(&DAMAGED)),
];

macro_rules! bare_kernel {
    ($name:ident $symbol:literal) => {
        struct $name;
        impl Kernel for $name {
            const SYMBOL: &'static str = $symbol;
            const COLLECTIVE: bool = false;
            const SHARED_BYTES: u32 = 0;
            const BLOCK: Option<u32> = None;
            type Raw = ();
            fn visit(_: &(), _: &mut dyn ParamVisitor) {}
            unsafe fn run_thread(_: ContextAbi, _: ()) {}
        }
    };
}
bare_kernel!(NotBuilt "not_built__kernel");
bare_kernel!(TooNew "too_new__kernel");
bare_kernel!(RareOne "rare__one");
bare_kernel!(RareTwo "rare__two");
bare_kernel!(Damaged "damaged__kernel");

/// What the child does. Prints the device, or the error.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let pes = std::env::var("CHILD_PES").map_or(1, |pes| pes.parse().unwrap());
    let device =
        if std::env::var_os("CHILD_AUTO").is_some() { DeviceChoice::Auto } else { DeviceChoice::Cuda };
    let mut config = Config::default().pes(pes).device(device).deadline(Duration::from_secs(3));
    if std::env::var_os("CHILD_AT_START").is_some() {
        config = config.loading(Loading::AtStart);
    }
    if std::env::var_os("RANK").is_some() {
        config = Config::from_env().unwrap().device(device);
    }
    if std::env::var_os("CHILD_FABRIC").is_some() {
        config = config.handles(Handles::Fabric);
    }
    if let Ok(heap) = std::env::var("CHILD_HEAP") {
        config = config.heap_limit(heap.parse().unwrap());
    }
    let case = std::env::var("CHILD_CASE").unwrap_or_default();
    let result = config.run(|shmem| {
        let v = shmem.alloc_from_fn(700_000, |i| i as u32)?;
        assert!(v.read()?.iter().enumerate().all(|(i, &x)| x == i as u32));
        let go = shmem.alloc_signals(1)?;
        match &*case {
            "touch" => touch::launch(&shmem, LaunchConfig::blocks(1).threads(32), &v)?,
            "wait" => wait_for::launch(&shmem, LaunchConfig::blocks(2).threads(1024), go.at(0), 1)?,
            "too many blocks" => {
                wait_for::launch(&shmem, LaunchConfig::blocks(9).threads(1024), go.at(0), 1)?
            }
            "not registered" => set_signal::launch(&shmem, ONE, go.at(0), 1, 0)?,
            "not in the image" => panics::launch(&shmem, ONE, 0)?,
            "not built" => shmem.launch_kernel::<NotBuilt>(None, ONE, ())?,
            "too new" => shmem.launch_kernel::<TooNew>(None, ONE, ())?,
            "damaged" => shmem.launch_kernel::<Damaged>(None, ONE, ())?,
            "on demand" => {
                touch::launch(&shmem, ONE, &v)?;
                shmem.launch_kernel::<RareOne>(None, ONE, ())?;
                shmem.launch_kernel::<RareTwo>(None, ONE, ())?;
            }
            "on demand, recorded" => {
                let stream = shmem.stream()?;
                stream.capture(|| shmem.launch_kernel::<RareTwo>(Some(&stream), ONE, ()))?;
            }
            "grows" => {
                // The heap grows twice, and the memory of the first part stays what it was.
                let large = shmem.alloc_from_fn(3 << 20, |i| i as u32 ^ shmem.my_pe())?;
                assert_eq!(large.read()?[9999], 9999 ^ shmem.my_pe());
                assert_eq!(shmem.all_gather(&u64::from(shmem.my_pe()))?, [0, 1]);
            }
            "context" => {
                // The program's own calls of the driver mean the PE's GPU, whichever PE leads a growth or a shrinking.
                for _ in 0..20 {
                    shmem.free(shmem.alloc_uninit::<u32>(3 << 20)?)?;
                    let mut gpu = -1;
                    // SAFETY: the stub writes one number.
                    let _ = unsafe { cudarc::driver::sys::cuCtxGetDevice(&mut gpu) };
                    assert_eq!(gpu, shmem.my_pe() as i32);
                }
            }
            "out of memory" => drop(shmem.alloc_zeroed::<u8>(1 << 30)?),
            "local out of memory" => drop(shmem.device_zeroed::<u8>(1 << 31)?),
            "stuck" if shmem.my_pe() == 1 => return Err(oxshmem::Error::other("PE 1 gives up")),
            "stuck" => wait_for::launch(&shmem, ONE, go.at(0), 1)?,
            "events" => {
                let (stream, start) = (shmem.stream()?, shmem.record()?);
                touch::launch_on(&shmem, &stream, ONE, &v)?;
                let end = stream.record()?;
                end.synchronize()?;
                assert_eq!(end.elapsed_since(&start)?, Duration::from_micros(1500));
            }
            "copies" => {
                // A host operation and a large one on a stream: both by the copy engine, to the other PE.
                let (stream, other) = (shmem.stream()?, 1 - shmem.my_pe());
                let w = shmem.alloc_zeroed::<u32>(700_000)?;
                shmem.put(w.slice(5, 100), v.slice(7, 100), other)?;
                shmem.put_on(&stream, w.slice(200, 100_000), v.slice(0, 100_000), other)?;
                stream.wait_event(&stream.record()?)?;
                shmem.barrier_all()?;
                let w = w.read()?;
                assert_eq!((w[4], w[5], w[104], w[105]), (0, 7, 106, 0));
                assert_eq!((w[199], w[200], w[100_199], w[100_200]), (0, 0, 99_999, 0));
            }
            "gives back" => {
                // The driver refuses to unmap what is no whole mapping, and keeps count.
                for len in [20 << 20, 30 << 20, 10 << 20] {
                    let large = shmem.alloc_from_fn(len, |i| i as u8)?;
                    assert_eq!(large.read()?[9999], 9999u32 as u8);
                    shmem.barrier_all()?;
                    shmem.free(large)?;
                }
            }
            "registers" => {
                let mut data = vec![5u32; 100_000];
                // SAFETY: the vector outlives the registration.
                let own = unsafe { shmem.buffer_register(data.as_mut_ptr(), data.len())? };
                let (w, stream) = (shmem.alloc_zeroed::<u32>(100_000)?, shmem.stream()?);
                shmem.put(&w, &own, 0)?;
                let (from, to) = (shmem.host_from_slice(&[6; 100_000])?, shmem.host_zeroed(100_000)?);
                w.read_on(&stream, &to)?;
                w.write_on(&stream, &from)?;
                shmem.get_on(&stream, &own, &w, 0)?;
                assert_eq!((to.read()?, own.read()?), (vec![5; 100_000], vec![6; 100_000]));
                shmem.buffer_unregister(own)?;
                assert_eq!(data, [6; 100_000]);
            }
            "graph" => {
                let (stream, w) = (shmem.stream()?, shmem.alloc_zeroed::<u32>(50_000)?);
                let src = shmem.device_zeroed::<u32>(50_000)?;
                let graph = stream.capture(|| {
                    touch::launch_on(&shmem, &stream, ONE, &v)?;
                    wait_for::launch_on(&shmem, &stream, ONE.threads(1024), go.at(0), 1)?;
                    // What asks about streams asks nothing of the one that records.
                    wait_for::launch(&shmem, ONE.threads(1024), go.at(0), 1)?;
                    assert_eq!(shmem.resident_blocks::<wait_for>(1024)?, 8);
                    assert!(matches!(stream.synchronize(), Err(oxshmem::Error::Capturing { .. })));
                    drop(shmem.stream()?);
                    shmem.put_on(&stream, &w, &src, 0)
                })?;
                assert_eq!((graph.len(), w.read()?), (3, vec![0; 50_000]));
                for round in 1..4 {
                    src.write(&[round; 50_000])?;
                    graph.launch(&stream)?;
                    assert_eq!(w.read()?, [round; 50_000]);
                }
                let failed = stream.capture(|| Err(oxshmem::Error::other("no")));
                assert!(failed.is_err());
                touch::launch_on(&shmem, &stream, ONE, &v)?;
            }
            "raw" => {
                let prepare = oxshmem::cuda::Prepare::new(&shmem);
                wait_for::launch(&prepare, ONE, go.at(0), 1)?;
                let raw = prepare.finish()?;
                for _ in 0..3 {
                    // SAFETY: the stub runs nothing.
                    unsafe { raw.launch() }?;
                }
                raw.synchronize()?;
            }
            _ => {}
        }
        let local = shmem.device_from_slice(&[1u64, 2, 3])?;
        assert_eq!(local.read()?, [1, 2, 3]);
        shmem.barrier_all()?;
        Ok(shmem.device_name().to_string())
    });
    match result {
        Ok(devices) => println!("RESULT ok {devices:?}"),
        Err(error) => println!("RESULT {error}"),
    }
}

#[test]
fn with_a_driver_everything_but_kernels_works() {
    ends_with(&[], &["ok [\"Stub GPU\"]"]);
    ends_with(&[("CHILD_AUTO", "1")], &["ok [\"Stub GPU\"]"]);
    ends_with(&[("CHILD_PES", "3"), ("STUB_DEVICES", "2"), ("CHILD_CASE", "wait")], &["ok", "Stub GPU"]);
    ends_with(&[("CHILD_CASE", "raw")], &["ok"]);
    ends_with(&[("CHILD_CASE", "events")], &["ok"]);
    ends_with(&[("CHILD_CASE", "copies"), ("CHILD_PES", "2"), ("STUB_DEVICES", "2")], &["ok"]);
}

#[test]
fn a_graph_is_recorded_on_a_stream_that_nobody_asks_and_every_one_is_destroyed() {
    let trace = folder("graph-trace").join("trace");
    ends_with(&[("CHILD_CASE", "graph"), ("STUB_TRACE", trace.to_str().unwrap())], &["ok"]);
    let text = std::fs::read_to_string(&trace).unwrap();
    let lines = |what: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix(what)?.strip_prefix(' ')).collect()
    };
    let (begun, launched) = (lines("begin"), lines("graph launched"));
    assert_eq!((begun.len(), lines("end").len(), launched.len()), (2, 2, 3), "{text}");
    assert!(launched.iter().all(|stream| !begun.contains(stream)), "{text}");
    // Made ready before it is launched, on the stream that recorded it.
    assert_eq!((lines("upload")[0], lines("upload").len()), (begun[0], 2), "{text}");
    assert_eq!((lines("graph destroyed").len(), lines("exec destroyed").len()), (2, 2), "{text}");
}

#[test]
fn processes_share_heaps_by_the_drivers_descriptors() {
    for (case, devices, says) in [
        ("grows", "1", "ok [\"Stub GPU\"]"),
        ("grows", "2", "ok [\"Stub GPU\"]"),
        ("out of memory", "1", "out of memory"),
    ] {
        for said in processes(case, devices) {
            assert!(said.contains(says), "{case}: {said}");
        }
    }
}

#[test]
fn fabric_handles_that_are_not_to_be_had() {
    for environment in [&[("CHILD_FABRIC", "1")][..], &[("CHILD_FABRIC", "1"), ("STUB_FABRIC", "1")]] {
        ends_with(
            environment,
            &["Stub GPU (GPU 0) cannot be used", "no fabric handles here", "OXSHMEM_HANDLES"],
        );
    }
}

#[test]
fn no_driver() {
    // A file that is no library stands in the way of a real one too.
    let folder = folder("no-driver");
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::fs::write(folder.join(name), "no library").unwrap();
    }
    says(run_child(&folder, &[]), &["no CUDA driver was found", "install", "OXSHMEM_DEVICE=emulated"]);
    says(run_child(&folder, &[("CHILD_AUTO", "1")]), &["ok [\"emulated GPU\"]"]);
}

#[test]
fn a_driver_that_is_too_old() {
    for auto in [&[][..], &[("CHILD_AUTO", "1")]] {
        let environment = [&[("STUB_DRIVER_VERSION", "11080")], auto].concat();
        ends_with(&environment, &["too old", "CUDA 11.8", "needs 12.4", "update it"]);
    }
}

#[test]
fn a_driver_without_a_gpu() {
    ends_with(&[("STUB_DEVICES", "0")], &["finds no GPU", "nvidia-smi", "OXSHMEM_DEVICE=emulated"]);
    ends_with(&[("STUB_INIT_ERROR", "100")], &["finds no GPU", "CUDA_ERROR_NO_DEVICE"]);
    ends_with(&[("STUB_DEVICES", "0"), ("CHILD_AUTO", "1")], &["ok [\"emulated GPU\"]"]);
}

#[test]
fn a_driver_that_does_not_start() {
    let parts =
        &["cuInit failed while starting CUDA", "CUDA_ERROR_SYSTEM_NOT_READY (802)", "the stub says so"];
    ends_with(&[("STUB_INIT_ERROR", "802")], parts);
}

#[test]
fn a_gpu_that_is_too_old() {
    ends_with(&[("STUB_CAPABILITY", "75")], &["Stub GPU (GPU 0) cannot be used", "compute capability 8.0"]);
}

#[test]
fn gpus_that_cannot_reach_each_other() {
    let two = [("STUB_DEVICES", "2"), ("CHILD_PES", "2")];
    let with = |name| [&two[..], &[(name, "1")]].concat();
    let parts = ["Stub GPU (GPU 0) cannot access the memory of Stub GPU (GPU 1)", "CUDA_VISIBLE_DEVICES"];
    ends_with(&with("STUB_NO_PEER"), &parts);
    ends_with(&with("STUB_NO_ATOMICS"), &["cannot do atomics on the memory of Stub GPU (GPU 1)"]);
    // One PE uses one GPU, whatever there is.
    ends_with(&[("STUB_DEVICES", "2"), ("STUB_NO_PEER", "1")], &["ok"]);
}

#[test]
fn a_pes_thread_is_in_its_gpus_context_after_collective_calls() {
    ends_with(&[("STUB_DEVICES", "2"), ("CHILD_PES", "2"), ("CHILD_CASE", "context")], &["ok"]);
}

#[test]
fn a_heap_that_is_larger_than_the_gpu() {
    let parts =
        ["a heap of 2147483648 bytes per PE does not fit", "Stub GPU (GPU 0) has 1073741824", "OXSHMEM_HEAP"];
    ends_with(&[("CHILD_HEAP", "2147483648")], &parts);
    ends_with(&[("CHILD_HEAP", "600000000"), ("CHILD_PES", "2")], &["does not fit", "2 PE(s)"]);
}

#[test]
fn memory_that_runs_out() {
    ends_with(
        &[("CHILD_CASE", "out of memory")],
        &["out of memory: asked for 1073741824", "heap", "free something"],
    );
    ends_with(
        &[("CHILD_CASE", "local out of memory")],
        &["out of memory: asked for 2147483648", "local device memory"],
    );
}

#[test]
fn memory_that_is_freed_is_unmapped_as_it_was_mapped() {
    let trace = folder("unmap-trace").join("trace");
    // Of each PE what the frees gave back, and at the end the rest: the heap's start, and the first vector.
    for (pes, unmapped) in [("1", 5), ("2", 10)] {
        let _ = std::fs::remove_file(&trace);
        let path = trace.to_str().unwrap();
        ends_with(&[("CHILD_CASE", "gives back"), ("CHILD_PES", pes), ("STUB_TRACE", path)], &["ok"]);
        let text = std::fs::read_to_string(&trace).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("unmap ")).count(), unmapped, "{text}");
    }
}

#[test]
fn memory_of_the_programs_is_used_where_kernels_reach_it() {
    let registers = ("CHILD_CASE", "registers");
    // Of this GPU: its context's, a pool's, in several allocations side by side; or managed.
    for pointer in ["2 0 1000 0", "2 0 0 0", "1 3 0 1"] {
        ends_with(&[registers, ("STUB_POINTER", pointer)], &["ok"]);
        ends_with(&[registers, ("STUB_POINTER", pointer), ("STUB_POINTER_BYTES", "4096")], &["ok"]);
    }
    let refused = "PE 0 cannot register bytes 0x";
    for (pointer, part) in [
        ("2 1 1001 0", "it is on GPU 1, and this PE uses Stub GPU (GPU 0)"),
        ("2 0 2222 0", "another context of Stub GPU (GPU 0)"),
        ("1 0 1000 0", "is pinned host memory"),
        ("0 0 0 0", "nothing that the CUDA driver has allocated"),
    ] {
        ends_with(&[registers, ("STUB_POINTER", pointer)], &[refused, part]);
    }
    ends_with(&[registers, ("STUB_POINTER_BYTES", "0")], &[refused, "no whole allocation"]);
}

#[test]
fn device_code_that_is_missing_or_does_not_fit() {
    ends_with(
        &[("CHILD_CASE", "not registered")],
        &["no device code for stub_driver__set_signal", "built without it"],
    );
    let parts = ["no device code for not_built__kernel", "rustup component add rust-src", "build again"];
    ends_with(&[("CHILD_CASE", "not built")], &parts);
    let parts = ["no device code of too-new fits Stub GPU", "compute capability 9.0", "sm_120 with PTX 8.7"];
    ends_with(&[("CHILD_CASE", "too new")], &parts);
    let parts = ["the device code of stub-driver has no kernel stub_driver__panics", "oxshmem-builder"];
    ends_with(&[("CHILD_CASE", "not in the image")], &parts);
}

#[test]
fn ptx_that_the_driver_rejects() {
    let parts = [
        "rejected the PTX of stub-driver for sm_90",
        "CUDA_ERROR_INVALID_PTX",
        "line 7; error : this is no PTX",
    ];
    ends_with(&[("CHILD_CASE", "touch"), ("STUB_JIT_ERROR", "1")], &parts);
    // A driver of CUDA 12.4 takes the older image.
    let older = [("CHILD_CASE", "touch"), ("STUB_JIT_ERROR", "1"), ("STUB_DRIVER_VERSION", "12040")];
    ends_with(&older, &["stub-driver for sm_80"]);
    // Who launches none of its kernels is not concerned.
    ends_with(&[("STUB_JIT_ERROR", "1")], &["ok"]);
}

#[test]
fn a_launch_that_the_device_does_not_survive() {
    let parts = [
        "a kernel crashed (CUDA_ERROR_LAUNCH_FAILED (719)",
        "waiting for a kernel",
        "OXSHMEM_DEVICE=emulated",
    ];
    ends_with(&[("CHILD_CASE", "touch"), ("STUB_LAUNCH_ERROR", "719")], &parts);
}

#[test]
fn a_collective_launch_that_does_not_fit() {
    let parts = ["needs 9 resident blocks, 8 are available on Stub GPU (GPU 0)", "2 per multiprocessor x 4"];
    ends_with(&[("CHILD_CASE", "too many blocks")], &parts);
}

#[test]
fn a_kernel_that_never_ends_does_not_hang_the_run() {
    // The other PE has failed; that is the run's error.
    ends_with(&[("CHILD_CASE", "stuck"), ("CHILD_PES", "2"), ("STUB_STUCK", "1")], &["PE 1 gives up"]);
}

/// What the stub has written of a child with this environment: the first word of each line.
fn traced(environment: &[(&str, &str)]) -> Vec<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let trace = folder("trace").join(format!("{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let environment = [environment, &[("STUB_TRACE", trace.to_str().unwrap())]].concat();
    ends_with(&environment, &["ok"]);
    let text = std::fs::read_to_string(&trace).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn count(events: &[String], event: &str) -> usize {
    events.iter().filter(|&other| other == event).count()
}

/// The images of the program that the stub's GPU takes, and of how many of their kernels it finds the names in the text.
fn images_and_kernels(loaded: impl Fn(&Module) -> bool) -> (usize, usize) {
    let of = |module: &Module| {
        let texts = module.images.iter().filter(|image| image.arch == "sm_90").filter_map(Image::text);
        let texts: Vec<String> = texts.collect();
        let named = |kernel: &&KernelInfo| {
            kernel.arch == "sm_90" && texts.iter().any(|text| text.contains(kernel.symbol))
        };
        (texts.len(), module.kernels.iter().filter(named).count())
    };
    modules().filter(|module| loaded(module)).map(of).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

#[test]
fn every_function_is_loaded_before_the_first_launch_and_nothing_uses_the_default_stream() {
    let events = traced(&[("CHILD_CASE", "wait")]);
    let first_copy = events.iter().position(|event| event == "copy").unwrap();
    let (images, kernels) = images_and_kernels(|module| !module.on_demand);
    assert_eq!(count(&events[..first_copy], "load"), kernels, "{events:?}");
    assert_eq!(count(&events, "module"), images, "{events:?}");
    assert_eq!(count(&events, "cooperative"), 1, "{events:?}");
}

#[test]
fn a_module_on_demand_is_loaded_once_by_the_first_launch_of_any_of_its_kernels() {
    let (images, kernels) = images_and_kernels(|module| !module.on_demand);
    for pes in ["1", "3"] {
        let events = traced(&[("CHILD_CASE", "on demand"), ("CHILD_PES", pes)]);
        assert_eq!(
            (count(&events, "module"), count(&events, "load")),
            (images + 1, kernels + 2),
            "{events:?}"
        );
        let last_load = events.iter().rposition(|event| event == "load").unwrap();
        // Not before a kernel of those that are there from the start.
        assert!(events[..last_load].iter().any(|event| event == "launch"), "{events:?}");
    }
    // Each GPU has it once.
    let events = traced(&[("CHILD_CASE", "on demand"), ("CHILD_PES", "4"), ("STUB_DEVICES", "2")]);
    assert_eq!(count(&events, "module"), 2 * (images + 1), "{events:?}");
}

#[test]
fn a_module_on_demand_is_loaded_at_the_start_for_who_wants_that() {
    let (_, kernels) = images_and_kernels(|_| true);
    let events = traced(&[("CHILD_CASE", "on demand"), ("CHILD_AT_START", "1")]);
    let first_copy = events.iter().position(|event| event == "copy").unwrap();
    assert_eq!(
        (count(&events[..first_copy], "load"), count(&events, "load")),
        (kernels, kernels),
        "{events:?}"
    );
}

#[test]
fn a_module_on_demand_is_loaded_while_a_stream_records() {
    let events = traced(&[("CHILD_CASE", "on demand, recorded")]);
    let at = |event: &str| events.iter().rposition(|other| other == event).unwrap();
    assert!(at("begin") < at("module") && at("module") < at("end"), "{events:?}");
}

#[test]
fn an_image_that_cannot_be_unpacked() {
    let parts = ["rejected the PTX of damaged for sm_90 (not PTX)", "build again"];
    ends_with(&[("CHILD_CASE", "damaged")], &parts);
    // It is an error of that kernel alone.
    ends_with(&[("CHILD_CASE", "touch"), ("CHILD_AT_START", "1")], &["ok"]);
}
