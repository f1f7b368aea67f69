//! What this machine's network offers to PEs that meet over TCP.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::ptr;

use super::{Row, State};

/// One row for each.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![loopback()];
    rows.extend(fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok().map(|text| ports(&text)));
    match interfaces() {
        Ok(interfaces) => rows.extend(interfaces.iter().map(|(name, interface)| interface.row(name))),
        Err(error) => {
            rows.push(Row::new(State::Absent, "network interfaces", format!("cannot be listed: {error}")));
        }
    }
    rows
}

fn loopback() -> Row {
    let connect = || -> io::Result<u16> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let _connected = TcpStream::connect(address)?;
        listener.accept()?;
        Ok(address.port())
    };
    match connect() {
        Ok(port) => Row::new(State::Found, "TCP on the loopback", format!("the kernel gave port {port}")),
        // Processes of one machine meet at a Unix socket unless asked otherwise.
        Err(error) => Row::new(State::Absent, "TCP on the loopback", format!("cannot connect: {error}")),
    }
}

fn ports(text: &str) -> Row {
    match port_range(text) {
        Some((first, last)) => {
            let count = u32::from(last) - u32::from(first) + 1;
            Row::new(State::Found, "  ports that it gives", format!("{first} to {last}, {count} of them"))
        }
        None => Row::new(State::Absent, "  ports that it gives", format!("not known: {:?}", text.trim())),
    }
}

/// First and last port of the kernel's own choice.
fn port_range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.trim().split_once(|c: char| c.is_whitespace())?;
    let range = (first.parse().ok()?, last.trim().parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interface {
    up: bool,
    v4: bool,
    v6: bool,
}

impl Interface {
    fn row(&self, name: &str) -> Row {
        let families: Vec<&str> = [(self.v4, "IPv4"), (self.v6, "IPv6")]
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, name)| *name)
            .collect();
        let (state, word) = if self.up { (State::Found, "up") } else { (State::Absent, "down") };
        let detail = match families.is_empty() {
            true => format!("{word}, without an address"),
            false => format!("{word}, {}", families.join(" and ")),
        };
        Row::new(state, format!("  interface {name}"), detail)
    }
}

/// The interfaces by name.
fn interfaces() -> io::Result<BTreeMap<String, Interface>> {
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    let mut list = ptr::null_mut();
    // SAFETY: the call writes one pointer, to a list that is freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut next = list;
    // SAFETY: each entry but the last names the next; all live until the list is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: the name is a string of the list's.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let interface = found.entry(name).or_default();
        interface.up |= entry.ifa_flags & libc::IFF_UP.cast_unsigned() != 0;
        // SAFETY: an address is null or one of the list's.
        let family = unsafe { entry.ifa_addr.as_ref() }.map(|address| i32::from(address.sa_family));
        interface.v4 |= family == Some(libc::AF_INET);
        interface.v6 |= family == Some(libc::AF_INET6);
    }
    // SAFETY: the list came from getifaddrs, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_range_is_read_as_the_kernel_writes_it() {
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
        assert_eq!(port_range("60999 32768"), None);
        assert_eq!(port_range("32768"), None);
        assert_eq!(ports("1\t3\n").detail, "1 to 3, 3 of them");
    }

    #[test]
    fn interfaces_are_those_of_the_kernel() {
        let found = interfaces().expect("they can be listed");
        let listed = fs::read_dir("/sys/class/net").expect("Linux has it").flatten();
        // Bonding puts a file there which is no interface.
        let listed: Vec<_> =
            listed.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).collect();
        for name in &listed {
            assert!(found.contains_key(&*name.to_string_lossy()), "{name:?} is not in {found:?}");
        }
    }

    #[test]
    fn an_interface_says_its_state_and_families() {
        let row = Interface { up: true, v4: true, v6: true }.row("eth0");
        assert_eq!((row.state, row.detail.as_str()), (State::Found, "up, IPv4 and IPv6"));
        let row = Interface::default().row("eth1");
        assert_eq!((row.state, row.detail.as_str()), (State::Absent, "down, without an address"));
    }
}
