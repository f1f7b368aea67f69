//! This test program again, as child processes that each run one of its ignored tests.

use oxshmem::UniqueId;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The ignored test of this name as a process, with none of oxshmem's variables.
pub fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    for variable in oxshmem::env::VARIABLES {
        command.env_remove(variable.name);
    }
    command
}

/// Runs the children of all these orders at once, each of which has its order in `variable`; whether each has ended well.
pub fn all(variable: &str, orders: impl IntoIterator<Item = String>) -> Vec<bool> {
    let start = |order| again("child").env(variable, order).spawn().unwrap();
    let children: Vec<_> = orders.into_iter().map(start).collect();
    children.into_iter().map(|mut child| child.wait().unwrap().success()).collect()
}

/// The unique id of a job, which its PE 0 writes to a file.
pub fn meet(file: &Path, rank: u32) -> UniqueId {
    if rank == 0 {
        let (id, part) = (UniqueId::new().unwrap(), file.with_extension("part"));
        std::fs::write(&part, id.to_string()).unwrap();
        std::fs::rename(&part, file).unwrap();
        return id;
    }
    for _ in 0..6000 {
        if let Ok(text) = std::fs::read_to_string(file) {
            return text.parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("PE 0 has made no id in {}", file.display());
}
