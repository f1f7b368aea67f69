//! Connecting to a process that may not listen yet.

use super::address::Address;
use super::stream::Stream;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, socket_with,
};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Pauses between attempts: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(50));

/// Connects to who listens at `address`, and tries again until then where nobody does or has room.
///
/// # Errors
/// The last attempt's, with the address. One attempt is made even if the moment has passed.
pub(crate) fn connect(address: &Address, until: Instant) -> io::Result<Stream> {
    let mut pause = PAUSES.0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let error = match attempt(address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        if !may_pass(&error) || left.is_zero() {
            return Err(io::Error::new(error.kind(), format!("{address}: {error}")));
        }
        sleep(pause.min(left));
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// Whether an error is one of a process that does not listen yet or is busy.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AddrNotAvailable
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
            | ErrorKind::NotFound
            | ErrorKind::WouldBlock
    )
}

/// Tries once, for so long.
pub(crate) fn attempt(address: &Address, left: Duration) -> io::Result<Stream> {
    match address {
        Address::Tcp(address) => {
            // Zero is not a limit that the call takes.
            let socket = TcpStream::connect_timeout(address, left.max(Duration::from_millis(1)))?;
            refuse_itself(&socket, address)?;
            Ok(Stream::tcp(socket, *address))
        }
        Address::Unix(name) => Stream::unix(attempt_unix(name.as_bytes())?),
    }
}

/// Connects to who listens at a name in the abstract namespace, or does not: a blocking attempt would wait for room at the
/// listener for ever. The socket does not block.
pub(crate) fn attempt_unix(name: &[u8]) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect_to(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    Ok(UnixStream::from(socket))
}

/// Where nobody listens on a port of those that the kernel gives out, it may give an attempt the very port that
/// it tries to reach, and the socket then is connected to itself.
fn refuse_itself(socket: &TcpStream, address: &SocketAddr) -> io::Result<()> {
    match socket.local_addr()? {
        own if own == *address => Err(ErrorKind::ConnectionRefused.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Listener;
    use crate::wire::tests::unused_name;
    use rustix::net::{SocketAddrAny, bind, getsockname};
    use std::thread;

    #[test]
    fn nobody_is_waited_for_until_the_moment() {
        for address in [unused_name(), "tcp:127.0.0.1:1".parse().unwrap()] {
            let error = connect(&address, Instant::now() + Duration::from_millis(20)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert!(error.to_string().starts_with(&address.to_string()), "{error}");
        }
    }

    #[test]
    fn a_late_listener_is_found() {
        let address = unused_name();
        let connecting = {
            let address = address.clone();
            thread::spawn(move || connect(&address, Instant::now() + Duration::from_secs(60)))
        };
        sleep(Duration::from_millis(20));
        let listener = Listener::bind(&address).unwrap();
        assert_eq!(listener.address(), &address);
        let stream = connecting.join().unwrap().unwrap();
        let (pid, uid) = stream.credentials().unwrap();
        assert_eq!((pid as u32, uid), (std::process::id(), rustix::process::getuid().as_raw()));
        assert_eq!(stream.peer(), format!("unix, pid {pid}, uid {uid}"));
    }

    #[test]
    fn a_full_listener_is_waited_for_and_not_for_ever() {
        let address = unused_name();
        let _listener = Listener::bind(&address).unwrap();
        let mut connected = Vec::new();
        let error = loop {
            match connect(&address, Instant::now()) {
                Ok(stream) => connected.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_socket_connected_to_itself_is_nobody() {
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let own: SocketAddrAny = getsockname(&socket).unwrap();
        connect_to(&socket, &own).unwrap();
        let socket = TcpStream::from(socket);
        let own = SocketAddr::try_from(own).unwrap();
        assert_eq!(refuse_itself(&socket, &own).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
