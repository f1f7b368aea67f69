//! `oxshmem-run doctor` with made-up drivers in the place of libcuda.so.1: with two GPUs, without any, one that crashes; with
//! and without NVIDIA's management library beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const CUDA: &str = include_str!("../../doctor/stub/cuda.c");
const NVML: &str = include_str!("../../doctor/stub/nvml.c");

/// Compiles a library into a folder.
fn compile(folder: &Path, library: &str, source: &str) {
    let file = folder.join(library).with_extension("c");
    std::fs::write(&file, source).expect("the source is written");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(folder.join(library)).arg(file);
    assert!(cc.status().expect("cc runs").success());
}

/// Compiles a driver and returns the folder to put on the library path.
fn driver(name: &str, init: &str, linked: bool) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = CUDA.replace("INIT", init).replace("LINKED", if linked { "1" } else { "0" });
    compile(&folder, "libcuda.so.1", &source);
    folder
}

fn run(argument: &str, driver: &Path) -> (String, Output) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxshmem-run"));
    command.arg(argument).env("LD_LIBRARY_PATH", driver);
    let output = command.output().expect("the program runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output)
}

#[test]
fn gpus_and_their_links_are_read() {
    let bytes = 80u64 << 30;
    let gpus = format!("First\t9\t0\t{bytes}\t-\tdefault\t-\ngpu\tSecond\t9\t0\t{bytes}\t-\texclusive\t-");
    for (name, linked, peers) in [
        ("pcie", false, "peers\town\tPCIe\npeers\tnone\town"),
        ("nvlink", true, "peers\town\tNVLink\npeers\tNVLink\town"),
    ] {
        let (said, output) = run("probe-gpus", &driver(name, "return 0", linked));
        assert_eq!(said, format!("cuda\t12.8\ngpu\t{gpus}\n{peers}\n"));
        assert!(output.status.success());
    }
}

#[test]
fn the_management_library_knows_more() {
    let folder = driver("nvml", "return 0", false);
    compile(&folder, "libnvidia-ml.so.1", NVML);
    let (said, _) = run("doctor", &folder);
    for part in [
        "First, compute capability 9.0, 80 GiB, 70 GiB of them free, 4 NVLinks up",
        "compute mode exclusive: one process at a time",
        "own NVLink",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_driver_that_is_broken_is_survived_and_programs_run_emulated() {
    for (name, init, expected) in [
        ("no-gpu", "return 100", "the driver sees no GPU"),
        ("refuses", "return 999", "cuInit returns error 999"),
        ("crashes", "abort()", "ended by signal 6"),
    ] {
        let (said, output) = run("doctor", &driver(name, init, false));
        assert!(said.contains(expected) && said.contains("programs run emulated"), "{name}: {said}");
        // Without a GPU nothing is missing because of that.
        assert_eq!(output.status.success(), said.contains("nothing is missing"), "{name}: {said}");
    }
}

#[test]
fn everything_that_processes_need_has_its_line() {
    let (said, _) = run("doctor", &driver("lines", "return 100", false));
    for part in [
        "ulimit -n",
        "pidfd",
        "memfd",
        "abstract Unix sockets",
        "MPS",
        "torchrun",
        "srun",
        "OXSHMEM_INTERFACE=lo",
    ] {
        assert!(said.lines().any(|line| line.contains(part)), "{part} in {said}");
    }
}

#[test]
fn who_stops_reading_and_a_full_disk_are_no_panic() {
    let doctor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxshmem-run"));
        command.arg("doctor").stderr(Stdio::piped());
        command
    };
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = doctor().stdout(writer).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = doctor().stdout(full).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("oxshmem-run: the table cannot be written: "), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn more_arguments_are_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxshmem-run"));
    let output = command.args(["doctor", "--json"]).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "oxshmem-run: doctor takes no argument, and --json is one\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}
