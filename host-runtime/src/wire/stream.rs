//! A connected socket of either family, before anybody has proven anything. No call of it blocks but those that
//! take a moment to end at, whatever the socket's mode.

use super::error::WireError;
use super::until::Until;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: OwnedFd,
    peer: Peer,
}

/// Who is at the other end, as the system says.
#[derive(Clone, Copy, Debug)]
enum Peer {
    Tcp(SocketAddr),
    /// The process is 0 where this one cannot see it.
    Unix {
        pid: i32,
        uid: u32,
    },
}

impl Stream {
    pub(super) fn tcp(socket: TcpStream, peer: SocketAddr) -> Self {
        // Small messages go out at once; where that cannot be had they are late, and no worse.
        let _ = socket.set_nodelay(true);
        Self { socket: socket.into(), peer: Peer::Tcp(peer) }
    }

    pub(super) fn unix(socket: UnixStream) -> io::Result<Self> {
        let (pid, uid) = credentials(socket.as_fd())?;
        Ok(Self { socket: socket.into(), peer: Peer::Unix { pid, uid } })
    }

    /// The other end, for a log.
    pub(crate) fn peer(&self) -> String {
        self.peer.to_string()
    }

    /// The other end's process and user, over a Unix socket. The process is 0 if it is in a namespace that this
    /// one cannot see. For a connection that this side made they are those of the process that listened.
    pub(crate) fn credentials(&self) -> Option<(i32, u32)> {
        match self.peer {
            Peer::Tcp(_) => None,
            Peer::Unix { pid, uid } => Some((pid, uid)),
        }
    }

    /// Ends the connection in both directions, and with it every wait of any thread for it.
    pub(super) fn shutdown(&self) {
        // It fails only if there is no connection any more.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Takes what has come, at least one byte; `None` if nothing has.
    pub(super) fn read_some(&self, into: &mut [u8]) -> Result<Option<usize>, WireError> {
        match recv(&self.socket, into, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(WireError::Closed),
            Ok((count, _)) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what there is room for; `None` if there is none.
    pub(super) fn write_some(&self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        match send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Fills `into`; `false` if the moment came first.
    pub(super) fn read_exact(&self, into: &mut [u8], until: Until) -> Result<bool, WireError> {
        let mut filled = 0;
        while filled < into.len() {
            match self.read_some(&mut into[filled..])? {
                Some(count) => filled += count,
                None if !until.ready(self, PollFlags::IN)? => return Ok(false),
                None => {}
            }
            // However the bytes trickle in, the moment holds.
            if filled < into.len() && until.passed() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends all of `bytes`; `false` if the moment came first.
    pub(super) fn write_all(&self, mut bytes: &[u8], until: Until) -> Result<bool, WireError> {
        while !bytes.is_empty() {
            match self.write_some(bytes)? {
                Some(count) => bytes = &bytes[count..],
                None if !until.ready(self, PollFlags::OUT)? => return Ok(false),
                None => {}
            }
            if !bytes.is_empty() && until.passed() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => Display::fmt(address, f),
            Self::Unix { pid, uid } => write!(f, "unix, pid {pid}, uid {uid}"),
        }
    }
}

/// The process and user at the other end of a Unix socket.
///
/// rustix has this call too, with a type of process numbers that cannot be 0; the kernel says 0 of a process in
/// another namespace.
pub(crate) fn credentials(socket: BorrowedFd<'_>) -> io::Result<(i32, u32)> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open while it is borrowed, and the kernel writes at most `length` bytes to
    // `found`, which has that many and takes any bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok((found.pid, found.uid)) } else { Err(io::Error::last_os_error()) }
}
