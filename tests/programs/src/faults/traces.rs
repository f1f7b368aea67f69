//! What a row has left behind: processes, and sockets with names of the runtime's.

use rustix::process::{getpid, set_child_subreaper};
use std::collections::BTreeMap;
use std::io::Result;
use std::time::{Duration, Instant};

/// How long the system may take to remove what a process that has ended held.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Makes this process the parent of what its children leave behind.
pub(super) fn inherit_orphans() -> Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Names of sockets by inode.
pub(super) type Names = BTreeMap<String, String>;

/// The runtime's names in the abstract namespace.
pub(super) fn names() -> Result<Names> {
    // Others' names may be no text.
    Ok(names_in(&String::from_utf8_lossy(&std::fs::read("/proc/net/unix")?)))
}

/// Columns are: Num RefCount Protocol Flags Type St Inode Path (proc_net_unix in the kernel's documentation of /proc).
fn names_in(table: &str) -> Names {
    let names = table.lines().filter_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(6);
        let (inode, name) = (columns.next()?, columns.next()?);
        name.starts_with("@oxshmem-").then(|| (inode.to_owned(), name.to_owned()))
    });
    names.collect()
}

/// What is there that was not `before` and belongs to nobody else, once the system has had time to remove it.
pub(super) fn left(before: &Names) -> Result<Vec<String>> {
    let start = Instant::now();
    // What comes later is of another job of this machine.
    let mut names_left: Names = names()?;
    names_left.retain(|inode, _| !before.contains_key(inode));
    loop {
        let now = names()?;
        names_left.retain(|inode, _| now.contains_key(inode));
        let mut left = children()?;
        if left.is_empty() && names_left.is_empty() {
            return Ok(left);
        }
        if start.elapsed() > PATIENCE {
            // Such a job may have begun during the row, and go on.
            names_left.retain(|inode, _| !has_holder(inode));
            // Or have ended between the two looks, and its socket with it.
            let now = names()?;
            names_left.retain(|inode, _| now.contains_key(inode));
            left.extend(names_left.into_values());
            return Ok(left);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes whose parent this one is, zombies included.
fn children() -> Result<Vec<String>> {
    let own = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(entry?.path().join("stat")) else { continue };
        // Behind the name, which may hold anything: state and parent.
        let after = stat.rfind(')').map_or("", |at| &stat[at + 1..]);
        let mut fields = after.split_ascii_whitespace();
        let (state, parent) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        if parent == own {
            let pid = stat.split(' ').next().unwrap_or_default();
            children.push(format!("process {pid} (state {state})"));
        }
    }
    Ok(children)
}

/// Whether a living process holds the socket. One of the row does not: all of those have ended.
fn has_holder(inode: &str) -> bool {
    let socket = format!("socket:[{inode}]");
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    processes.flatten().filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok()).any(|files| {
        files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|to| *to.as_os_str() == *socket))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::process::Command;

    #[test]
    fn names_of_the_runtime_are_found_and_others_are_not() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345 @oxshmem-rendezvous-ab\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12346 /run/socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 12347\n";
        let expected = [("12345".to_owned(), "@oxshmem-rendezvous-ab".to_owned())];
        assert_eq!(names_in(table), Names::from(expected));
    }

    #[test]
    fn a_child_and_a_held_socket_are_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let is_child = |one: &String| one.starts_with(&format!("process {} ", child.id()));
        assert!(children().expect("/proc is there").iter().any(is_child));
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        let name = format!("oxshmem-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let listener = UnixListener::bind_addr(&address).expect("nobody has it");
        let listed = names().expect("/proc is there");
        let (inode, _) = listed.iter().find(|(_, of)| **of == format!("@{name}")).expect("it is listed");
        assert!(has_holder(inode));
        drop(listener);
        assert!(!has_holder(inode));
    }
}
