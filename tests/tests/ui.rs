//! Misuse that the types forbid: each case in `ui/` fails to compile, with a message of ours whose first line names the
//! mistake and what to do; each in `ui/plain/` with the compiler's own words.
//!
//! Compilers word their messages differently, so they are compared exactly on the workspace's `rust-version`
//! only; elsewhere each case must still fail to compile.

use std::path::Path;
use std::process::Command;

#[test]
fn misuse_does_not_compile() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    let version = Command::new(option_env!("RUSTC").unwrap_or("rustc")).arg("--version").output();
    let version =
        version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let wanted = format!("rustc {}.", env!("CARGO_PKG_RUST_VERSION"));
    let compare = version.starts_with(&wanted) || std::env::var_os("TRYBUILD").is_some();
    if compare {
        let tests = trybuild::TestCases::new();
        tests.compile_fail(cases.join("*.rs"));
        tests.compile_fail(cases.join("plain/*.rs"));
        return;
    }
    println!("{} is not {wanted}x: messages are not compared", version.trim());
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    std::fs::create_dir_all(&copies).expect("the target folder can be written");
    for folder in [cases.clone(), cases.join("plain")] {
        for case in std::fs::read_dir(folder).expect("the cases are there").flatten() {
            if case.path().extension().is_some_and(|extension| extension == "rs") {
                std::fs::copy(case.path(), copies.join(case.file_name())).expect("a case can be copied");
            }
        }
    }
    // SAFETY: this is the only thread of the test program that touches the environment.
    unsafe { std::env::set_var("TRYBUILD", "overwrite") };
    trybuild::TestCases::new().compile_fail(copies.join("*.rs"));
}
