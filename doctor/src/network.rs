//! What this machine's network offers to PEs that meet over TCP.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::ptr;

use crate::{Row, State};

/// One row for each.
pub(crate) fn rows() -> Vec<Row> {
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Interface {
    up: bool,
    /// In the order in which the kernel lists them.
    addresses: Vec<IpAddr>,
}

impl Interface {
    fn row(&self, name: &str) -> Row {
        let addresses: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        let (state, word) = if self.up { (State::Found, "up") } else { (State::Absent, "down") };
        let detail = match addresses.is_empty() {
            true => format!("{word}, without an address"),
            false => format!("{word}, {}: OXSHMEM_INTERFACE={name}", addresses.join(", ")),
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
        // SAFETY: an address is null or one of the list's, of the size that its family has.
        interface.addresses.extend(unsafe { address(entry.ifa_addr) });
    }
    // SAFETY: the list came from getifaddrs, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// An address of IPv4 or IPv6.
///
/// # Safety
/// It is null or points to an address, of the size that its family has.
unsafe fn address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's.
    let family = i32::from(unsafe { address.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: the family says that it is one.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is one.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
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
    fn the_loopback_has_its_address() {
        let found = interfaces().expect("they can be listed");
        assert!(found["lo"].addresses.contains(&Ipv4Addr::LOCALHOST.into()), "{found:?}");
    }

    #[test]
    fn an_interface_says_its_state_and_addresses() {
        let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let row = Interface { up: true, addresses }.row("eth0");
        assert_eq!(
            (row.state, row.detail.as_str()),
            (State::Found, "up, 127.0.0.1, ::1: OXSHMEM_INTERFACE=eth0")
        );
        let row = Interface::default().row("eth1");
        assert_eq!((row.state, row.detail.as_str()), (State::Absent, "down, without an address"));
    }
}
