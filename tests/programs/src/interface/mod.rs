//! `OXSHMEM_INTERFACE` over a pair of virtual interfaces, in network namespaces of their own: jobs of three processes meet at one
//! interface's address, by IPv4 and by IPv6, and while they come somebody listens there and nowhere else.
//!
//! | file | what it holds |
//! |---|---|
//! | `netlink.rs` | making the interfaces |
//! | `listening.rs` | who listens where |

mod listening;
mod netlink;

use listening::listening;
use netlink::Netlink;
use oxshmem::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const PES: u32 = 3;
/// The interface that is named, and its other end.
const NAMED: &str = "oxshmem0";
const OTHER: &str = "oxshmem1";
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 78, 0, 1)];
const V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1)];
/// What this program is told, in its namespace, and as a PE.
const INSIDE: &str = "--inside";
const AS_PE: &str = "--pe";
/// How long it may take until PE 0 listens, and until a job ends.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);
/// How long an address that nobody listens at may take to say so.
const REFUSES: Duration = Duration::from_secs(2);

/// The program. Where namespaces or interfaces cannot be had it says so, and succeeds.
pub fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        None => outside(),
        Some(INSIDE) => inside(),
        Some(AS_PE) => oxshmem::run(|shmem| {
            let all = shmem.all_gather(&shmem.my_pe())?;
            if all == [0, 1, 2] { Ok(()) } else { Err(Error::other(format!("gathered {all:?}"))) }
        })
        .map_err(Into::into),
        Some(_) => Err("it takes no arguments".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interface: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this program again in namespaces of its own, as a user who may make interfaces there.
fn outside() -> Result<()> {
    let mine = |program: &std::path::Path, argument: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--"]).arg(program).arg(argument);
        command
    };
    let why = match mine("true".as_ref(), "").output() {
        Ok(tried) if tried.status.success() => {
            let status = mine(&std::env::current_exe()?, INSIDE).status()?;
            return if status.success() { Ok(()) } else { Err(format!("in its namespace: {status}").into()) };
        }
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    println!("interface  skipped: this machine gives no network namespace ({why})");
    Ok(())
}

fn inside() -> Result<()> {
    if let Err(error) = make_interfaces() {
        println!("interface  skipped: no pair of virtual interfaces can be made ({error})");
        return Ok(());
    }
    for (family, own) in [("tcp4", IpAddr::from(V4[0])), ("tcp6", V6[0].into()), ("tcp", V4[0].into())] {
        job(family, own).map_err(|error| format!("{family}: {error}"))?;
        println!("interface  {NAMED} by {family}, {own} and nothing else  {PES} PEs  verified yes");
    }
    Ok(())
}

fn make_interfaces() -> Result<()> {
    let netlink = Netlink::open()?;
    netlink.make_pair(NAMED, OTHER)?;
    // An address of the own host is reached over it, whatever interface has the address.
    netlink.up(netlink.index("lo")?)?;
    for (at, name) in [NAMED, OTHER].into_iter().enumerate() {
        let index = netlink.index(name)?;
        netlink.add_address(index, V4[at].into(), 24)?;
        netlink.add_address(index, V6[at].into(), 64)?;
        netlink.up(index)?;
    }
    Ok(())
}

/// A job whose PE 0 comes first and is looked at, and then the others.
fn job(family: &str, own: IpAddr) -> Result<()> {
    let mut pes = Pes(vec![start(family, 0)?]);
    let begun = Instant::now();
    let found = loop {
        let found = listening()?;
        if !found.is_empty() {
            break found;
        }
        if let Some(status) = pes.0[0].try_wait()? {
            return Err(format!("PE 0 ended before it listened: {status}").into());
        }
        if begun.elapsed() > PATIENCE {
            return Err("PE 0 does not listen".into());
        }
        std::thread::sleep(PAUSE);
    };
    let [one] = found[..] else { return Err(format!("somebody listens at each of {found:?}").into()) };
    if one.ip() != own {
        return Err(format!("PE 0 listens at {one}").into());
    }
    let others: [IpAddr; 4] =
        [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), V4[1].into(), V6[1].into()];
    for other in others.into_iter().chain([V4[0].into(), V6[0].into()]).filter(|other| *other != own) {
        let address = SocketAddr::new(other, one.port());
        if TcpStream::connect_timeout(&address, REFUSES).is_ok() {
            return Err(format!("somebody lets in at {address}").into());
        }
    }
    TcpStream::connect_timeout(&one, REFUSES).map_err(|error| format!("nobody lets in at {one}: {error}"))?;
    for pe in 1..PES {
        pes.0.push(start(family, pe)?);
    }
    for (pe, child) in pes.0.iter_mut().enumerate() {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("PE {pe}: {status}").into());
        }
    }
    let left = listening()?;
    if left.is_empty() { Ok(()) } else { Err(format!("somebody still listens at {left:?}").into()) }
}

/// Processes that are ended if anything goes wrong.
struct Pes(Vec<Child>);

impl Drop for Pes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended was waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(family: &str, pe: u32) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(AS_PE).env("OXSHMEM_DEVICE", "emulated").env("OXSHMEM_EMULATED_MEMORY", "64M");
    command.env("OXSHMEM_INTERFACE", NAMED).env("OXSHMEM_RENDEZVOUS", family).env_remove("OXSHMEM_PES");
    command.env("OXSHMEM_RANK", pe.to_string()).env("OXSHMEM_LOCAL_RANK", pe.to_string());
    command.env("OXSHMEM_WORLD_SIZE", PES.to_string()).env("OXSHMEM_BOOTSTRAP", "own");
    command.env("OXSHMEM_JOB", format!("interface-{}", std::process::id()));
    Ok(command.spawn()?)
}
