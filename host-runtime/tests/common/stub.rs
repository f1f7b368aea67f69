//! A stub libcuda in the way of a child process, which is the test program again with its ignored test `child`.

use super::says;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A folder of this test run.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A folder with the stub as libcuda; made once.
pub fn stub() -> &'static Path {
    static STUB: OnceLock<PathBuf> = OnceLock::new();
    STUB.get_or_init(|| {
        let folder = folder("stub-libcuda");
        let library = folder.join("libcuda.so.1");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub-libcuda/stub.c");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-Wall", "-o"]).arg(&library).arg(source).output();
        let built = built.expect("cc is there wherever Rust links programs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        std::os::unix::fs::symlink(&library, folder.join("libcuda.so")).unwrap();
        folder
    })
}

/// Runs the child with libraries from `folder` and this environment; its result.
pub fn run_child(folder: &Path, environment: &[(&str, &str)]) -> String {
    let start = Instant::now();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{environment:?} took {:?}", start.elapsed());
    let text = String::from_utf8_lossy(&output.stdout);
    match text.split_once("RESULT ") {
        Some((_, result)) => result.lines().next().unwrap_or_default().to_owned(),
        None => panic!("{environment:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[track_caller]
pub fn ends_with(environment: &[(&str, &str)], parts: &[&str]) {
    says(run_child(stub(), environment), parts);
}

/// Two PEs as processes: what each says.
pub fn processes(case: &'static str, devices: &'static str) -> [String; 2] {
    let job = format!("{} {case} {devices}", std::process::id());
    let child = |rank: &'static str| {
        let job = job.clone();
        std::thread::spawn(move || {
            let environment = [
                ("RANK", rank),
                ("WORLD_SIZE", "2"),
                ("LOCAL_RANK", rank),
                ("MASTER_ADDR", "127.0.0.1"),
                ("MASTER_PORT", "1"),
                ("TORCHELASTIC_RUN_ID", &job),
                ("STUB_DEVICES", devices),
                ("CHILD_CASE", case),
            ];
            run_child(stub(), &environment)
        })
    };
    ["0", "1"].map(child).map(|child| child.join().unwrap())
}
