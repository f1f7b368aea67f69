//! Ending orphans, in a process of its own: it ends every child that it was not told to leave alone.

use std::process::{Child, Command};

use oxshmem_run::orphans::Orphans;
use rustix::process::Pid;

fn sleeper() -> Child {
    Command::new("sleep").arg("600").spawn().expect("sleep starts")
}

fn runs(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|status| status.is_none())
}

#[test]
fn children_that_were_there_and_those_that_serve_are_left_alone() {
    let mut before = sleeper();
    let mut orphans = Orphans::none_before_now();
    let without_service = orphans.clone();
    let mut service = sleeper();
    assert_eq!(orphans.keep_new(), [Pid::from_child(&service)]);

    let mut orphan = sleeper();
    orphans.end();
    assert!(!runs(&mut orphan) && runs(&mut service) && runs(&mut before));

    without_service.end();
    assert!(!runs(&mut service) && runs(&mut before));
    before.kill().and_then(|()| before.wait()).expect("it is ours");
}
