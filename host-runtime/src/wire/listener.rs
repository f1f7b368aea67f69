//! A socket that listens, of either family.

use super::address::Address;
use super::stream::Stream;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Where connections come in. It accepts without blocking.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens at `address`, or for port 0 at one that the system chooses.
    pub(crate) fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let socket = TcpListener::bind(address)?;
                socket.set_nonblocking(true)?;
                let address = Address::Tcp(socket.local_addr()?);
                Ok(Self { socket: Socket::Tcp(socket), address })
            }
            Address::Unix(name) => {
                let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
                socket.set_nonblocking(true)?;
                Ok(Self { socket: Socket::Unix(socket), address: address.clone() })
            }
        }
    }

    /// Where it listens, with the port that the system chose.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Takes the next connection that waits; `WouldBlock` if none does.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        match &self.socket {
            Socket::Tcp(listener) => listener.accept().map(|(socket, peer)| Stream::tcp(socket, peer)),
            Socket::Unix(listener) => Stream::unix(listener.accept()?.0),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(listener) => listener.as_fd(),
            Socket::Unix(listener) => listener.as_fd(),
        }
    }
}
