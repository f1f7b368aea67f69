//! `oxshmem::run` does what the environment says. Each case is a child process: this test program again.

mod common;

use common::says;
use std::process::{Command, Output};

/// What the child does. Prints what it got, or the error.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let result = oxshmem::run(|shmem| {
        if shmem.my_pe() == 0 {
            println!("RESULT {} PEs on {}", shmem.n_pes(), shmem.device_name());
        }
        shmem.alloc_zeroed::<u8>(1 << 20).map(drop)
    });
    if let Err(error) = result {
        println!("RESULT {error}");
    }
}

fn run_child(environment: &[(&str, &str)]) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    for variable in oxshmem::env::VARIABLES {
        command.env_remove(variable.name);
    }
    let Output { stdout, stderr, .. } = command.envs(environment.iter().copied()).output().unwrap();
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn variables_choose_the_run() {
    let emulated = ("OXSHMEM_DEVICE", "emulated");
    for (variables, parts) in [
        (&[emulated][..], &["RESULT 1 PEs on emulated GPU"][..]),
        (&[emulated, ("OXSHMEM_PES", "3"), ("OXSHMEM_PATH", "p2p")], &["RESULT 3 PEs on emulated GPU"]),
        (&[emulated, ("OXSHMEM_HEAP", "512K")], &["out of memory: asked for 1048576"]),
        (&[emulated, ("OXSHMEM_EMULATED_MEMORY", "2M")], &["out of memory"]),
        (
            &[
                emulated,
                ("OXSHMEM_PES", "4"),
                ("OXSHMEM_EMULATED_DEVICES", "1"),
                ("OXSHMEM_EMULATED_MEMORY", "10M"),
            ],
            &["out of memory"],
        ),
        (&[("OXSHMEM_PATH", "ibgda")], &["the path \"ibgda\" is not built yet", "OXSHMEM_PATH=p2p"]),
        (&[("OXSHMEM_PATH", "proxy")], &["the path \"proxy\" is not built yet"]),
        (&[("OXSHMEM_PATH", "tcp")], &["OXSHMEM_PATH=\"tcp\" is not valid: expected p2p, ibgda or proxy"]),
        (&[("OXSHMEM_PES", "none")], &["OXSHMEM_PES=\"none\" is not valid: expected a number"]),
        (&[("OXSHMEM_DEADLINE", "soon")], &["OXSHMEM_DEADLINE=\"soon\" is not valid", "30s, 500ms"]),
    ] {
        says(run_child(variables).0, parts);
    }
}

#[test]
fn an_unknown_variable_is_a_warning_once() {
    let environment = [("OXSHMEM_DEVICE", "emulated"), ("OXSHMEM_PSE", "2"), ("OXSHMEM_PES", "2")];
    let (output, warnings) = run_child(&environment);
    says(output, &["RESULT 2 PEs"]);
    assert_eq!(
        warnings.matches("the environment variable OXSHMEM_PSE is not known").count(),
        1,
        "{warnings}"
    );
}
