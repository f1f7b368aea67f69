//! Where PE 0 listens: at a Unix socket with a name that nobody can guess, or at one address of one network interface and a
//! port that the kernel chooses.

use super::not_joined;
use crate::config::{Config, Family, Rendezvous};
use crate::error::{Error, Result};
use crate::wire::{Address, Listener, Secret};
use if_addrs::{IfAddr, Interface, get_if_addrs};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// Listens over what the configuration asks for.
///
/// # Errors
/// [`Error::Interface`], [`Error::NotJoined`].
pub(super) fn listen(config: &Config) -> Result<Listener> {
    let refused = |error: std::io::Error| not_joined(0, "opening the rendezvous", error.to_string());
    let address = match (&config.interface, config.rendezvous) {
        (Some((name, family)), _) => {
            let there = get_if_addrs().map_err(refused)?;
            Address::Tcp(address_of(name, *family, &there)?)
        }
        (None, Rendezvous::Tcp(address)) => Address::Tcp(SocketAddr::new(address, 0)),
        (None, Rendezvous::Unix) => {
            let name = Secret::random().map_err(refused)?.to_hex();
            Address::Unix(format!("oxshmem-rendezvous-{name}"))
        }
    };
    Listener::bind(&address).map_err(refused)
}

/// The interface's first address of the family. Addresses that are of the link alone come last.
fn address_of(name: &str, family: Family, there: &[Interface]) -> Result<SocketAddr> {
    let mut own: Vec<&Interface> = there.iter().filter(|interface| interface.name == name).collect();
    own.retain(|interface| match family {
        Family::Any => true,
        Family::V4 => interface.ip().is_ipv4(),
        Family::V6 => interface.ip().is_ipv6(),
    });
    own.sort_by_key(|interface| (is_of_link(interface.ip()), interface.ip().is_ipv6()));
    let Some(found) = own.first() else {
        let asked = match family {
            Family::Any => "",
            Family::V4 => " of IPv4",
            Family::V6 => " of IPv6",
        };
        return Err(Error::Interface { name: name.to_owned(), asked, there: list(there) });
    };
    Ok(match &found.addr {
        IfAddr::V4(address) => SocketAddr::new(address.ip.into(), 0),
        IfAddr::V6(address) => {
            // Such an address means nothing without its interface.
            let scope = if is_of_link(address.ip.into()) { found.index.unwrap_or(0) } else { 0 };
            SocketAddrV6::new(address.ip, 0, 0, scope).into()
        }
    })
}

fn is_of_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// `lo: 127.0.0.1, ::1; eth0: 10.0.0.7`.
fn list(there: &[Interface]) -> String {
    let mut names: Vec<&str> = there.iter().map(|interface| interface.name.as_str()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let of = |name: &&str| {
        let own = there.iter().filter(|interface| interface.name == **name);
        let addresses: Vec<String> = own.map(|interface| interface.ip().to_string()).collect();
        format!("{name}: {}", addresses.join(", "))
    };
    names.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    fn port(listener: &Listener) -> SocketAddr {
        match listener.address() {
            Address::Tcp(address) => *address,
            Address::Unix(name) => panic!("{name}"),
        }
    }

    fn on(name: &str, family: Family) -> Result<Listener> {
        listen(&Config::default().interface(name, family))
    }

    /// The loopback interface has 2^24 addresses of IPv4, of which one is listened at.
    #[test]
    fn only_the_interfaces_own_address_is_bound() {
        let listener = on("lo", Family::Any).unwrap();
        let address = port(&listener);
        assert_eq!(address.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        TcpStream::connect(address).unwrap();
        for other in get_if_addrs().unwrap().iter().map(Interface::ip).chain(["127.0.0.2".parse().unwrap()]) {
            if other == address.ip() || is_of_link(other) {
                continue;
            }
            let error = TcpStream::connect(SocketAddr::new(other, address.port())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{other}");
        }
        // Another may have the same port of another address: nothing else was taken.
        TcpListener::bind(("127.0.0.2", address.port())).unwrap();
    }

    #[test]
    fn both_families_are_there_if_asked_for() {
        assert_eq!(port(&on("lo", Family::V4).unwrap()).ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        match on("lo", Family::V6) {
            Ok(listener) => assert_eq!(port(&listener).ip(), IpAddr::V6(Ipv6Addr::LOCALHOST)),
            // A system may have none.
            Err(error) => assert!(error.to_string().contains("has no address of IPv6"), "{error}"),
        }
    }

    #[test]
    fn what_is_not_there_is_named_beside_what_is() {
        let error = on("eth99", Family::Any).unwrap_err().to_string();
        assert!(error.contains("\"eth99\"") && error.contains("lo: 127.0.0.1"), "{error}");
    }

    fn of(name: &str, index: u32, address: &str) -> Interface {
        let ip: IpAddr = address.parse().unwrap();
        let mut one = get_if_addrs().unwrap().remove(0);
        one.name = name.into();
        one.index = Some(index);
        one.addr = match ip {
            IpAddr::V4(ip) => {
                IfAddr::V4(if_addrs::Ifv4Addr { ip, netmask: ip, prefixlen: 32, broadcast: None })
            }
            IpAddr::V6(ip) => {
                IfAddr::V6(if_addrs::Ifv6Addr { ip, netmask: ip, prefixlen: 128, broadcast: None })
            }
        };
        one
    }

    #[test]
    fn the_first_address_of_the_family_is_taken_and_one_of_the_link_last() {
        let there = [
            of("a", 3, "fe80::1"),
            of("a", 3, "fd00::7"),
            of("a", 3, "169.254.0.1"),
            of("a", 3, "10.0.0.7"),
            of("b", 4, "fe80::1"),
        ];
        let taken = |name, family| address_of(name, family, &there).unwrap().to_string();
        assert_eq!(taken("a", Family::Any), "10.0.0.7:0");
        assert_eq!(taken("a", Family::V6), "[fd00::7]:0");
        assert_eq!(taken("b", Family::Any), "[fe80::1%4]:0");
        let text = Address::Tcp(address_of("b", Family::V6, &there).unwrap()).to_string();
        assert_eq!(text.parse::<Address>().unwrap().to_string(), "tcp:[fe80::1%4]:0");
        let error = address_of("b", Family::V4, &there).unwrap_err().to_string();
        assert!(error.contains("no address of IPv4") && error.contains("b: fe80::1"), "{error}");
        assert!(error.contains("a: fe80::1, fd00::7, 169.254.0.1, 10.0.0.7"), "{error}");
    }
}
