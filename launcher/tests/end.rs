//! How a job ends, and that nothing of it stays.

mod common;

use common::{Folder, assert_gone, finish, launcher, run, runs, send, shell, start, state, wait_until};
use rustix::process::Signal;

/// A PE with a child in its group and one in a session of its own; writes its own number and theirs.
const FAMILY: &str =
    "sleep 600 & child=$!; setsid sleep 600 & echo $$ $child $! > $D/pids.$OXSHMEM_RANK; wait";

#[test]
fn the_first_failure_is_the_status_and_ends_the_others() {
    let folder = Folder::new("failure");
    let script = "echo $$ > $D/pids.$OXSHMEM_RANK; \
                  if [ $OXSHMEM_RANK = 2 ]; then while [ ! -s $D/pids.3 ]; do sleep 0.05; done; exit 3; fi; \
                  trap '' TERM; while :; do sleep 600; done";
    let ran = run(&folder, launcher(&folder, &["-n", "4", "--grace", "0.2", "sh", "-c", script]));
    assert_eq!(ran.status, Some(3), "{ran:?}");
    let pid = folder.pids("pids.2")[0];
    let first = format!("oxshmem-run: PE 2 (pid {pid}) exited with status 3");
    assert_eq!(ran.stderr.lines().next(), Some(first.as_str()));
    assert!(ran.stderr.contains("SIGTERM") && ran.stderr.contains("SIGKILL"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
    assert_gone(
        &[0, 1, 2, 3].map(|rank| folder.read(&format!("pids.{rank}")).trim().parse().unwrap_or(i32::MAX)),
    );
}

#[test]
fn the_others_may_end_by_themselves_first() {
    let folder = Folder::new("grace");
    let script = "[ $OXSHMEM_RANK = 0 ] && exit 4; sleep 0.5; echo done; exit 5";
    let ran = run(&folder, launcher(&folder, &["-n", "3", "--grace", "100", "sh", "-c", script]));
    assert_eq!((ran.status, ran.lines().len()), (Some(4), 2), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn death_by_a_signal_is_named() {
    let folder = Folder::new("signal");
    let ran = run(&folder, launcher(&folder, &["-n", "1", "sh", "-c", "kill -9 $$"]));
    assert_eq!(ran.status, Some(137));
    assert!(ran.stderr.ends_with(") was killed by signal 9 (SIGKILL)\n"), "{}", ran.stderr);
}

#[test]
fn a_job_that_succeeds_leaves_nothing() {
    let folder = Folder::new("success");
    let ran = run(&folder, launcher(&folder, &["-n", "2", "sh", "-c", &FAMILY.replace("; wait", "")]));
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    assert_gone(&[folder.pids("pids.0"), folder.pids("pids.1")].concat());
}

#[test]
fn an_interrupt_ends_pes_and_all_that_they_started() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)]
    {
        let folder = Folder::new(&format!("interrupt-{status}"));
        let child = start(&folder, launcher(&folder, &["-n", "2", "sh", "-c", FAMILY]));
        let pids = [folder.pids("pids.0"), folder.pids("pids.1")].concat();
        assert!(pids.len() == 6 && pids.iter().all(|pid| runs(*pid)));
        send(&child, signal);
        let ran = finish(&folder, child);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(status), ""));
        assert_gone(&pids);
    }
}

#[test]
fn an_interrupt_is_forwarded_once_and_pes_may_handle_it() {
    let folder = Folder::new("handled");
    let script = "trap 'echo INT >> $D/traps' INT; echo $$ > $D/pids; while [ ! -s $D/traps ]; do sleep 0.05; done; \
                  sleep 0.2; exit 0";
    let child = start(&folder, launcher(&folder, &["-n", "1", "sh", "-c", script]));
    folder.pids("pids");
    send(&child, Signal::INT);
    let ran = finish(&folder, child);
    assert_eq!((ran.status, folder.read("traps").as_str()), (Some(130), "INT\n"));
}

#[test]
fn pes_that_ignore_every_signal_are_killed() {
    let script = "trap '' INT TERM HUP; echo $$ > $D/pids; while :; do sleep 600; done";
    for again in [false, true] {
        let folder = Folder::new(&format!("stubborn-{again}"));
        let child = start(&folder, launcher(&folder, &["-n", "1", "sh", "-c", script]));
        let pids = folder.pids("pids");
        send(&child, Signal::INT);
        if again {
            send(&child, Signal::TERM);
        }
        assert_eq!(finish(&folder, child).status, Some(130));
        assert_gone(&pids);
    }
}

#[test]
fn the_kernel_ends_the_pes_of_a_killed_launcher() {
    let folder = Folder::new("killed");
    let script = "echo $$ > $D/pids.$OXSHMEM_RANK; trap '' HUP TERM INT; while :; do sleep 1; done";
    let child = start(&folder, launcher(&folder, &["-n", "3", "--prefix", "sh", "-c", script]));
    let pids = ["pids.0", "pids.1", "pids.2"].map(|name| folder.pids(name)[0]);
    send(&child, Signal::KILL);
    assert_eq!(finish(&folder, child).signal, Some(9));
    wait_until("the PEs end", || pids.iter().all(|pid| !runs(*pid)));
}

#[test]
fn orphans_that_end_during_the_job_do_not_pile_up() {
    let folder = Folder::new("zombies");
    let script =
        "for i in 1 2 3 4 5; do (sh -c 'echo $$ >> $D/orphans' &); done; echo $$ > $D/pids; exec sleep 600";
    let child = start(&folder, launcher(&folder, &["-n", "1", "sh", "-c", script]));
    folder.pids("pids");
    wait_until("five orphans ran", || folder.pids("orphans").len() == 5);
    let orphans = folder.pids("orphans");
    wait_until("no zombie is left", || orphans.iter().all(|pid| state(*pid).is_none()));
    send(&child, Signal::TERM);
    assert_eq!(finish(&folder, child).status, Some(143));
}

#[test]
fn ctrl_z_stops_the_pes_too() {
    let folder = Folder::new("stop");
    let script = "echo $$ > $D/pids; while [ ! -e $D/go ]; do sleep 0.05; done";
    let child = start(&folder, launcher(&folder, &["-n", "1", "sh", "-c", script]));
    let (pid, own) = (folder.pids("pids")[0], child.id().cast_signed());
    send(&child, Signal::TSTP);
    wait_until("both are stopped", || [pid, own].iter().all(|pid| state(*pid) == Some('T')));
    std::fs::write(folder.path("go"), "").expect("a file can be written");
    send(&child, Signal::CONT);
    assert_eq!(finish(&folder, child).status, Some(0));
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let folder = Folder::new("nohup");
    let script =
        "trap '' HUP; exec $RUN -n 1 sh -c 'echo $$ > $D/pids; while [ ! -e $D/go ]; do sleep 0.05; done'";
    let child = start(&folder, shell(&folder, script));
    folder.pids("pids");
    send(&child, Signal::HUP);
    std::fs::write(folder.path("go"), "").expect("a file can be written");
    assert_eq!(finish(&folder, child).status, Some(0));
}

#[test]
fn children_of_whoever_became_the_launcher_are_left_alone() {
    let folder = Folder::new("former");
    let ran = run(
        &folder,
        shell(&folder, "sleep 600 & echo $! > $D/pids; exec $RUN -n 1 sh -c 'setsid sleep 600 &'"),
    );
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let pid = folder.pids("pids")[0];
    assert!(runs(pid));
    let pid = rustix::process::Pid::from_raw(pid).expect("not 0");
    rustix::process::kill_process(pid, Signal::KILL).expect("it runs");
}
