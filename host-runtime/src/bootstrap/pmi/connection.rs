//! The socket to a PMI server. It may be anybody's at the other end: what comes is bounded in length and in time.

use super::super::cards::left;
use crate::wire::Until;
use rustix::event::PollFlags;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Bytes of the longest message.
const LONGEST: usize = 1 << 16;
/// Digits that say how long a PMI-2 message is.
const DIGITS: usize = 6;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    /// What came and was not asked for yet.
    come: Vec<u8>,
}

impl Connection {
    /// The socket that this process has inherited under a number.
    pub(super) fn inherited(fd: i32) -> Result<Self, String> {
        let bad = |why: &dyn ToString| {
            format!("PMI_FD={fd} is not its socket ({}): was it closed?", why.to_string())
        };
        // SAFETY: the descriptor is borrowed for one call, which copies it if it is open, and else fails.
        let socket =
            fcntl_dupfd_cloexec(unsafe { BorrowedFd::borrow_raw(fd) }, 3).map_err(|error| bad(&error))?;
        sockopt::socket_type(&socket).map_err(|error| bad(&error))?;
        Ok(Self::new(socket))
    }

    /// One to an address with a port.
    pub(super) fn to(address: &str, until: Instant) -> Result<Self, String> {
        let bad = |why: &dyn ToString| format!("PMI_PORT={address} cannot be reached ({})", why.to_string());
        let mut why = bad(&"it names no address");
        for address in address.to_socket_addrs().map_err(|error| bad(&error))? {
            match TcpStream::connect_timeout(&address, left(until).max(Duration::from_millis(1))) {
                Ok(socket) => return Ok(Self::new(socket.into())),
                Err(error) => why = bad(&error),
            }
        }
        Err(why)
    }

    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, come: Vec::new() }
    }

    /// Sends a line.
    pub(super) fn send_line(&mut self, line: &str, until: Instant) -> Result<(), String> {
        self.send(format!("{line}\n").as_bytes(), until)
    }

    /// Sends a message with its length.
    pub(super) fn send_counted(&mut self, message: &str, until: Instant) -> Result<(), String> {
        self.send(format!("{:>DIGITS$}{message}", message.len()).as_bytes(), until)
    }

    fn send(&mut self, mut bytes: &[u8], until: Instant) -> Result<(), String> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, until)?,
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(CLOSED.into()),
                Err(error) => return Err(format!("the connection to it failed ({error})")),
            }
        }
        Ok(())
    }

    /// The next line, without its end; `None` if it was not complete by then.
    pub(super) fn line(&mut self, until: Instant) -> Result<Option<String>, String> {
        let length = loop {
            if let Some(at) = self.come.iter().position(|&byte| byte == b'\n') {
                break at;
            }
            if !self.more(until)? {
                return Ok(None);
            }
        };
        let line = self.take(length)?;
        self.come.remove(0);
        Ok(Some(line))
    }

    /// The next counted message; `None` if it was not complete by then.
    pub(super) fn counted(&mut self, until: Instant) -> Result<Option<String>, String> {
        let nonsense = |length: &[u8]| {
            format!("it sent what makes no sense: {:?} for a length", String::from_utf8_lossy(length))
        };
        loop {
            if let Some(digits) = self.come.get(..DIGITS) {
                let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.trim().parse().ok());
                let length: usize = length.ok_or_else(|| nonsense(digits))?;
                if length > LONGEST {
                    return Err(nonsense(digits));
                }
                if self.come.len() >= DIGITS + length {
                    self.come.drain(..DIGITS);
                    return self.take(length).map(Some);
                }
            }
            if !self.more(until)? {
                return Ok(None);
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<String, String> {
        let text: Vec<u8> = self.come.drain(..length).collect();
        String::from_utf8(text).map_err(|_| "it sent what is no text".into())
    }

    /// Waits for more bytes; whether some came.
    fn more(&mut self, until: Instant) -> Result<bool, String> {
        if self.come.len() > LONGEST {
            return Err(format!("it sent more than {LONGEST} bytes and no end of a message"));
        }
        let mut bytes = [0; 4096];
        loop {
            match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(CLOSED.into()),
                Ok((count, _)) => {
                    self.come.extend_from_slice(&bytes[..count.min(bytes.len())]);
                    return Ok(true);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !self.ready(PollFlags::IN, until)? {
                        return Ok(false);
                    }
                }
                Err(Errno::CONNRESET) => return Err(CLOSED.into()),
                Err(error) => return Err(format!("the connection to it failed ({error})")),
            }
        }
    }

    fn wait(&self, what: PollFlags, until: Instant) -> Result<(), String> {
        if self.ready(what, until)? { Ok(()) } else { Err(SILENT.into()) }
    }

    fn ready(&self, what: PollFlags, until: Instant) -> Result<bool, String> {
        let ready = Until::after(left(until)).ready(&self.socket, what);
        ready.map_err(|error| format!("the connection to it failed ({error})"))
    }
}

const CLOSED: &str = "it has closed the connection: it may have ended the job";
/// What one says who has waited for an answer.
pub(super) const SILENT: &str = "it has not answered in time (OXSHMEM_JOIN_DEADLINE)";
