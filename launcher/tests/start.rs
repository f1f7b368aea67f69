//! What a PE is told, and what cannot be started.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{Folder, assert_gone, launcher, run, shell};

#[test]
fn each_pe_is_told_its_rank_and_all_the_same_job() {
    let folder = Folder::new("environment");
    let script = "echo $OXSHMEM_RANK $OXSHMEM_WORLD_SIZE $OXSHMEM_LOCAL_RANK $OXSHMEM_LOCAL_WORLD_SIZE \
                  ${OXSHMEM_RENDEZVOUS-unset} $OXSHMEM_JOB";
    let mut jobs = BTreeSet::new();
    for (way, shown) in [(&[][..], "unset"), (&["--rendezvous", "tcp:127.0.0.1"][..], "tcp:127.0.0.1")] {
        let ran = run(&folder, launcher(&folder, &[&["-n", "3"], way, &["sh", "-c", script]].concat()));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let lines = ran.lines();
        let (first, job) = lines[0].rsplit_once(' ').expect("six words");
        assert_eq!(first, format!("0 3 0 3 {shown}"));
        assert!(job.len() == 32 && job.chars().all(|digit| digit.is_ascii_hexdigit()), "{job}");
        let expected = [0, 1, 2].map(|rank| format!("{rank} 3 {rank} 3 {shown} {job}"));
        assert_eq!(lines, expected);
        jobs.insert(job.to_owned());
    }
    assert_eq!(jobs.len(), 2, "two jobs have one name");
}

#[test]
fn other_launchers_variables_do_not_reach_the_pes() {
    let folder = Folder::new("torchrun");
    let mut command = launcher(&folder, &["-n", "2", "env"]);
    let removed =
        ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR"];
    let removed = [
        &removed[..],
        &["MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_X", "OXSHMEM_PES", "OXSHMEM_BOOTSTRAP"],
        &["PMI_FD", "PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID"],
    ]
    .concat();
    for name in &removed {
        command.env(name, "7");
    }
    command.env("RANKS", "kept");
    let ran = run(&folder, command);
    let names: Vec<_> =
        ran.lines().iter().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    assert!(names.iter().any(|name| name == "RANKS"), "{ran:?}");
    let left: Vec<_> = removed.iter().filter(|removed| names.iter().any(|name| name == *removed)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(ran.stderr.matches("OXSHMEM_PES").count(), 1, "{}", ran.stderr);
    let ran = run(&folder, launcher(&folder, &["-n", "1", "true"]));
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_program_gets_its_arguments_its_name_and_no_input() {
    let folder = Folder::new("arguments");
    let script = "echo \"args $@\"; cat; tr '\\0' ' ' < /proc/$$/cmdline";
    let ran = run(&folder, launcher(&folder, &["-n", "1", "sh", "-c", script, "x", "-n", "2", "--", "a b"]));
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.starts_with("args -n 2 -- a b\nsh -c "), "{text}");
}

#[test]
fn sixty_four_pes_run_at_once() {
    let folder = Folder::new("many");
    // Each waits until all have begun.
    let script =
        "mkdir $D/pe.$OXSHMEM_RANK; while [ $(ls $D | grep -c '^pe') -lt 64 ]; do sleep 0.05; done; echo ok";
    let ran = run(&folder, launcher(&folder, &["-n", "64", "--prefix", "sh", "-c", script]));
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(ran.lines(), (0..64).map(|rank| format!("[{rank:>2}] ok")).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_executed_has_a_shells_status() {
    let folder = Folder::new("refused");
    fs::write(folder.path("data"), "no program").expect("a file can be written");
    fs::write(folder.path("lost"), "#!/nonexistent/interpreter\n").expect("a file can be written");
    fs::write(folder.path("here"), "#!/bin/sh\n").expect("a file can be written");
    for name in ["lost", "here"] {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
    for (program, status, said) in [
        ("no-such-program", 127, "no-such-program"),
        ("./no-such-program", 127, "./no-such-program"),
        ("here", 127, "./here"),
        ("./data", 126, "chmod +x"),
        ("/etc", 126, "folder"),
        ("./lost", 126, "interpreter"),
    ] {
        let ran = run(&folder, launcher(&folder, &["-n", "2", program]));
        assert_eq!((ran.status, ran.stderr.lines().count()), (Some(status), 1), "{program}: {ran:?}");
        assert!(ran.stderr.contains(said), "{program}: {}", ran.stderr);
    }
    assert_eq!(run(&folder, launcher(&folder, &["-n", "2", "./here"])).status, Some(0));
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = Folder::new("usage");
    let wrong: [&[&str]; 7] = [
        &["-n", "0", "true"],
        &["-n", "2000", "true"],
        &["-n", "x", "true"],
        &["-n", "2"],
        &["true"],
        &["-n", "2", "--rendezvous", "udp", "true"],
        &["-n", "2", "--no-such-option", "true"],
    ];
    for arguments in wrong {
        let ran = run(&folder, launcher(&folder, arguments));
        assert_eq!(ran.status, Some(2), "{arguments:?}");
        assert!(!ran.stderr.is_empty(), "{arguments:?}");
    }
    for (option, said) in
        [("--help", "Example:"), ("-h", "oxshmem-run -n 4"), ("--version", "oxshmem-run 0.")]
    {
        let ran = run(&folder, launcher(&folder, &[option]));
        assert_eq!(ran.status, Some(0));
        assert!(String::from_utf8_lossy(&ran.stdout).contains(said), "{option}");
    }
}

#[test]
fn if_one_cannot_be_started_none_stays() {
    let folder = Folder::new("halfway");
    // A pipe for each PE's output is more than the limit of open files allows.
    let script = "ulimit -n 40; exec $RUN --prefix -n 64 sh -c 'echo $$ >> $D/pids; exec sleep 600'";
    let ran = run(&folder, shell(&folder, script));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("of 64 cannot be started") && ran.stderr.contains("ulimit -n"),
        "{}",
        ran.stderr
    );
    // Some may have been ended before they wrote.
    let pids: Vec<i32> = folder.read("pids").split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    if !pids.is_empty() {
        assert_gone(&pids);
    }
}

#[test]
fn a_raised_limit_of_open_files_is_the_launchers_own() {
    let folder = Folder::new("limit");
    let script = "ulimit -Sn 64; exec $RUN --prefix -n 100 sh -c 'ulimit -Sn'";
    let ran = run(&folder, shell(&folder, script));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(ran.lines(), (0..100).map(|rank| format!("[{rank:>2}] 64")).collect::<Vec<_>>());
}
