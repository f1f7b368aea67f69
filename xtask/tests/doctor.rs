//! `cargo xtask doctor` and the bundle's runner look at the driver as `oxshmem-run doctor` does, by processes of their own: here
//! with a made-up driver in the place of libcuda.so.1.

use std::path::Path;
use std::process::Command;

const CUDA: &str = include_str!("../../doctor/stub/cuda.c");

#[test]
fn both_programs_can_be_the_probe() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("driver.c");
    std::fs::write(&source, CUDA.replace("INIT", "return 0").replace("LINKED", "1")).expect("it is written");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(folder.join("libcuda.so.1")).arg(source);
    assert!(cc.status().expect("cc runs").success());
    for (program, argument, expected) in [
        (env!("CARGO_BIN_EXE_run"), "probe-gpus", "gpu\tSecond\t9\t0\t"),
        (env!("CARGO_BIN_EXE_xtask"), "doctor", "Second, compute capability 9.0, 80 GiB"),
    ] {
        let output = Command::new(program).arg(argument).env("LD_LIBRARY_PATH", &folder).output();
        let said = String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned();
        assert!(said.contains(expected), "{said}");
    }
}
