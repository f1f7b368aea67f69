//! Which addresses somebody of this network namespace listens at.

use std::io::Result;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// State LISTEN, as the tables have it (proc_net_tcp in the kernel's documentation).
const LISTEN: &str = "0A";

/// All of them, of both families.
pub(super) fn listening() -> Result<Vec<SocketAddr>> {
    let mut all = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A kernel may be without IPv6.
        let text = std::fs::read_to_string(table).unwrap_or_default();
        all.extend(text.lines().skip(1).filter_map(listener));
    }
    Ok(all)
}

/// The address of a line, if somebody listens there.
fn listener(line: &str) -> Option<SocketAddr> {
    let mut columns = line.split_ascii_whitespace().skip(1);
    let (local, _, state) = (columns.next()?, columns.next()?, columns.next()?);
    let (address, port) = local.split_once(':')?;
    // Words of 4 bytes, each as this machine reads it.
    let words =
        (0..address.len()).step_by(8).map(|at| u32::from_str_radix(address.get(at..at + 8)?, 16).ok());
    let bytes: Vec<u8> =
        words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let address: IpAddr = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(v4) => Ipv4Addr::from(v4).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?).into(),
    };
    (state == LISTEN).then_some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_seen_and_who_does_not_is_not() {
        let v4 = TcpListener::bind("127.0.0.1:0").expect("the loopback is there");
        let own = v4.local_addr().expect("it is bound");
        assert!(listening().expect("it can be read").contains(&own));
        drop(v4);
        assert!(!listening().expect("it can be read").contains(&own));
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000";
        assert_eq!(listener(line), Some("127.0.0.1:8080".parse().expect("an address")));
        let line = "   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0";
        assert_eq!(listener(line), Some("[::1]:8080".parse().expect("an address")));
        assert_eq!(listener(&line.replace(" 0A ", " 01 ")), None);
    }
}
