//! The driver's probe and the doctor, with made-up drivers in the place of libcuda.so.1: one with two GPUs, one without, one
//! that crashes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The calls of the driver API that the probe makes; `INIT` is what cuInit does.
const DRIVER: &str = r#"
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags) { INIT; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, device ? "Second" : "First", length); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)80 << 30; return 0; }
int cuDeviceCanAccessPeer(int *can, int from, int to) { *can = from < to; return 0; }
"#;

/// Compiles a driver and returns the folder to put on the library path.
fn driver(name: &str, init: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("driver.c");
    std::fs::write(&source, DRIVER.replace("INIT", init)).expect("the source is written");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(folder.join("libcuda.so.1")).arg(source);
    assert!(cc.status().expect("cc runs").success());
    folder
}

fn run(program: &str, argument: &str, driver: &Path) -> Output {
    let mut command = Command::new(program);
    command.arg(argument).env("LD_LIBRARY_PATH", driver).env_remove("OXSHMEM_DEVICE");
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn gpus_and_their_reach_are_read() {
    let output = run(env!("CARGO_BIN_EXE_run"), "probe-gpus", &driver("two-gpus", "return 0"));
    let bytes = 80u64 << 30;
    let expected = format!(
        "cuda\t12.8\ngpu\tFirst\t9\t0\t{bytes}\ngpu\tSecond\t9\t0\t{bytes}\npeers\t1\t1\npeers\t0\t1\n"
    );
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert!(output.status.success());
}

#[test]
fn the_doctor_shows_gpus_and_survives_a_broken_driver() {
    let cases = [
        ("two-gpus-doctor", "return 0", "Second, compute capability 9.0, 80 GiB"),
        ("no-gpu", "return 100", "the driver sees no GPU"),
        ("refuses", "return 999", "cuInit returns error 999"),
        ("crashes", "abort()", "ended by signal 6"),
    ];
    for (name, init, expected) in cases {
        let output = run(env!("CARGO_BIN_EXE_xtask"), "doctor", &driver(name, init));
        let said = text(&output.stdout);
        assert!(said.contains(expected), "{name}: {said}");
        assert!(output.status.success(), "{name}");
    }
}
