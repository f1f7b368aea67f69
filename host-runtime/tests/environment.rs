//! `oxshmem::run` does what the environment says. Each case is a child process: this test program again.

mod common;

use common::again::again;
use common::says;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

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

/// A kernel that never ends, nor comes to any operation.
#[test]
#[ignore = "the child process of the other tests"]
fn stuck_child() {
    let result = oxshmem::run(|shmem| {
        let signal = shmem.alloc_signals(1)?;
        common::spins::launch(&shmem, common::ONE, signal.at(0))?;
        shmem.barrier_all()
    });
    println!("RESULT {}", result.unwrap_err());
}

/// A program with a subscriber of its own, which takes everything to stdout.
#[test]
#[ignore = "the child process of the other tests"]
fn subscribed_child() {
    let own = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(std::io::stdout)
        .with_ansi(false);
    own.try_init().unwrap();
    child();
}

fn run_child(environment: &[(&str, &str)]) -> (String, String) {
    run("child", environment)
}

fn run(child: &str, environment: &[(&str, &str)]) -> (String, String) {
    let mut command = again(child);
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
        (
            &[emulated, ("OXSHMEM_EMULATED_MEMORY", "900T")],
            &["1 heap(s) of 989560464998400 bytes", "OXSHMEM_EMULATED_MEMORY sets", "lower OXSHMEM_HEAP"],
        ),
        (
            &[emulated, ("OXSHMEM_EMULATED_MEMORY", "900T"), ("OXSHMEM_HEAP", "4M")],
            &["RESULT 1 PEs on emulated GPU"],
        ),
        (
            &[emulated, ("OXSHMEM_HEAP", "1")],
            &["OXSHMEM_HEAP", "a heap have 1 bytes", "256 bytes are the least"],
        ),
        (
            &[
                emulated,
                ("OXSHMEM_PES", "4"),
                ("OXSHMEM_EMULATED_DEVICES", "1"),
                ("OXSHMEM_EMULATED_MEMORY", "15M"),
            ],
            &["emulated GPU 0 has 15728640 bytes", "its 4 PE(s) need at least 41943040"],
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
fn too_little_memory_is_an_error_that_says_how_much_works() {
    let run = |memory| {
        let memory = ("OXSHMEM_EMULATED_MEMORY", memory);
        run_child(&[("OXSHMEM_DEVICE", "emulated"), memory]).0
    };
    for (memory, given) in [("1", "has 1 bytes"), ("1M", "1048576"), ("2M", "2097152"), ("3M", "3145728")] {
        says(
            run(memory),
            &[
                given,
                "its 1 PE(s) need at least 4194304",
                "raise OXSHMEM_EMULATED_MEMORY (Config::emulated_memory)",
            ],
        );
    }
    says(run("4M"), &["RESULT 1 PEs on emulated GPU"]);
}

#[test]
fn more_pes_than_a_process_runs_are_an_error() {
    says(run_child(&[("OXSHMEM_PES", "65536")]).0, &["OXSHMEM_PES=\"65536\"", "a number from 1 to 1024"]);
    let error = common::error(common::emulated(1025).run(|_| Ok(())));
    assert!(matches!(error, oxshmem::Error::TooManyPes { asked: 1025, limit: 1024 }), "{error}");
    says(error, &["1025 PEs were asked for", "1024 at most", "lower OXSHMEM_PES (Config::pes)"]);
    let most = common::emulated(1024).emulated_devices(16).emulated_memory(2 << 30);
    assert_eq!(most.run(|shmem| shmem.barrier_all()).unwrap().len(), 1024);
}

#[test]
fn a_thread_that_the_system_does_not_give_is_an_error() {
    // No stack is that large. The test itself runs on the main thread.
    let stack = ("RUST_MIN_STACK", "200000000000000");
    let (output, _) = run("child", &[("OXSHMEM_DEVICE", "emulated"), stack]);
    says(
        output,
        &["RESULT the system gave no thread for emulated GPU 0 of 1", "run fewer PEs (OXSHMEM_PES)"],
    );
}

#[test]
fn a_kernel_that_never_ends_is_an_error_after_the_limit() {
    let emulated = ("OXSHMEM_DEVICE", "emulated");
    let (output, _) = run("stuck_child", &[emulated, ("OXSHMEM_KERNEL_LIMIT", "500ms")]);
    says(output, &["RESULT PE 0: kernel ", "spins (launch 1)", "still runs 5", "OXSHMEM_KERNEL_LIMIT"]);
}

#[test]
fn a_long_wait_without_a_limit_says_so() {
    if std::env::var_os("OXSHMEM_TEST_FULL").is_none() {
        println!("skipped: it takes 31 s; OXSHMEM_TEST_FULL=1 runs it");
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "stuck_child", "--ignored", "--nocapture"]).stderr(Stdio::piped());
    let mut child =
        command.env("OXSHMEM_DEVICE", "emulated").env_remove("OXSHMEM_KERNEL_LIMIT").spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let notice = lines.find(|line| line.starts_with("oxshmem:"));
    child.kill().unwrap();
    child.wait().unwrap();
    says(notice.unwrap(), &["PE 0 still waits for kernel ", "spins (launch 1)", "OXSHMEM_KERNEL_LIMIT"]);
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

#[test]
fn what_happens_is_printed_as_asked() {
    let emulated = [("OXSHMEM_DEVICE", "emulated"), ("OXSHMEM_PES", "2")];
    let printed = |debug: &'static str| {
        let (output, printed) = run_child(&[&emulated[..], &[("OXSHMEM_DEBUG", debug)]].concat());
        says(output, &["RESULT 2 PEs"]);
        printed
    };
    assert_eq!(run_child(&emulated).1.matches("oxshmem::").count(), 0, "nothing was asked for");
    let trace = printed("trace");
    for part in [
        " INFO init: oxshmem::init: ready pe=1 n_pes=2",
        "DEBUG init: oxshmem::team: ",
        "TRACE oxshmem::group: ",
    ] {
        assert!(trace.contains(part), "{part} in {trace}");
    }
    let one = printed("off,oxshmem::heap=debug");
    let lines: Vec<&str> = one.lines().filter(|line| line.contains("oxshmem::")).collect();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.contains("oxshmem::heap: ")), "{one}");
    says(
        run_child(&[("OXSHMEM_DEBUG", "loud")]).0,
        &["RESULT OXSHMEM_DEBUG=\"loud\" is not valid", "trace", "oxshmem::bootstrap=debug"],
    );
}

#[test]
fn a_subscriber_of_the_program_goes_first() {
    let environment = [("OXSHMEM_DEVICE", "emulated"), ("OXSHMEM_DEBUG", "trace")];
    let (output, printed) = run("subscribed_child", &environment);
    says(output, &["oxshmem::init: ready pe=0", "RESULT 1 PEs"]);
    assert_eq!(printed.matches("oxshmem::").count(), 0, "{printed}");
}
