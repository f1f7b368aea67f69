//! A connection whose two sides have proven themselves: messages both ways, from one thread or two.

use super::descriptor;
use super::error::WireError;
use super::frame::{HEADER, Opener, Sealer, after_header};
use super::handshake::{ANSWER, Connecting, HELLO, Keys, PROOF};
use super::secret::Secret;
use super::stream::Stream;
use super::until::Until;
use rustix::event::PollFlags;
use rustix::process::geteuid;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// How long one message may take from its first byte to its last, in either direction.
const FRAME_LIMIT: Duration = Duration::from_secs(10);
/// How much room a receiver makes at once for bytes that have not come yet.
pub(super) const STEP: usize = 16 << 10;

/// Both directions of a connection. It is closed when its last half is dropped.
pub(crate) struct Channel {
    sender: Sender,
    receiver: Receiver,
}

/// The direction to the other side.
pub(crate) struct Sender {
    link: Link,
    sealer: Sealer,
}

/// The direction from the other side.
pub(crate) struct Receiver {
    link: Link,
    opener: Opener,
}

/// Ends a connection from any thread.
#[derive(Clone)]
pub(crate) struct Closer(Arc<Stream>);

/// What both directions have. A direction that failed in the middle of something is over: what would follow has
/// no beginning.
struct Link {
    stream: Arc<Stream>,
    limit: Duration,
    over: bool,
}

impl Channel {
    /// Proves to the other side of `stream` that this one knows the secret, and has it prove the same, all
    /// within `limit`.
    ///
    /// # Errors
    /// [`WireError::Refused`] if the other side is not of this job or holds this one for a stranger;
    /// [`WireError::Closed`] if it left before it knew anything of this one, as a process does that has too
    /// many connections or ends.
    pub(crate) fn connect(stream: Stream, secret: &Secret, limit: Duration) -> Result<Self, WireError> {
        if stream.credentials().is_some_and(|(_, uid)| uid != geteuid().as_raw()) {
            return Err(OTHER_USER);
        }
        let until = Until::after(limit);
        let in_time = |done: bool| if done { Ok(()) } else { Err(WireError::Slow { limit }) };
        let mut hello = [0; HELLO];
        in_time(stream.read_exact(&mut hello, until)?)?;
        let (connecting, answer): (_, [u8; ANSWER]) = Connecting::start(secret, &hello)?;
        let mut proof = [0; PROOF];
        let proven = stream.write_all(&answer, until).and_then(|sent| {
            in_time(sent)?;
            stream.read_exact(&mut proof, until)
        });
        in_time(proven.map_err(unwelcome)?)?;
        let keys = connecting.judge(&proof)?;
        Ok(Self::new(stream, keys))
    }

    /// A connection whose handshake is done.
    pub(super) fn new(stream: Stream, keys: Keys) -> Self {
        let stream = Arc::new(stream);
        let link = || Link { stream: stream.clone(), limit: FRAME_LIMIT, over: false };
        Self {
            sender: Sender { link: link(), sealer: Sealer::new(keys.sending) },
            receiver: Receiver { link: link(), opener: Opener::new(keys.receiving) },
        }
    }

    /// The two directions, for two threads.
    pub(crate) fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    /// The other end, for a log.
    pub(crate) fn peer(&self) -> String {
        self.sender.link.stream.peer()
    }

    /// The other end's process and user: see [`Stream::credentials`].
    pub(crate) fn credentials(&self) -> Option<(i32, u32)> {
        self.sender.link.stream.credentials()
    }

    /// See [`Sender::send`].
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.sender.send(payload)
    }

    /// See [`Receiver::receive`].
    pub(crate) fn receive(&mut self, patience: Option<Duration>) -> Result<Vec<u8>, WireError> {
        self.receiver.receive(patience)
    }

    /// See [`Sender::send_descriptor`].
    pub(crate) fn send_descriptor(&mut self, descriptor: BorrowedFd<'_>) -> Result<(), WireError> {
        self.sender.send_descriptor(descriptor)
    }

    /// See [`Receiver::receive_descriptor`].
    pub(crate) fn receive_descriptor(&mut self, limit: Duration) -> Result<OwnedFd, WireError> {
        self.receiver.receive_descriptor(limit)
    }

    /// Something that ends the connection.
    #[cfg(test)]
    pub(crate) fn closer(&self) -> Closer {
        self.sender.closer()
    }

    #[cfg(test)]
    pub(super) fn with_frame_limit(mut self, limit: Duration) -> Self {
        self.sender.link.limit = limit;
        self.receiver.link.limit = limit;
        self
    }
}

impl Sender {
    /// Sends a message of at most [`MAX_FRAME`](super::MAX_FRAME) bytes. That it was sent does not mean that it
    /// was received.
    ///
    /// # Errors
    /// [`WireError::Slow`] if the other side does not read; [`WireError::TooLong`] leaves the connection as it
    /// was, every other error ends it.
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.link.check()?;
        let frame = self.sealer.seal(payload)?;
        self.link.attempt(|stream, limit| {
            let sent = stream.write_all(&frame, Until::after(limit))?;
            if sent { Ok(()) } else { Err(WireError::Slow { limit }) }
        })
    }

    /// Passes a descriptor, for which the other side calls [`Receiver::receive_descriptor`] at the same place
    /// between the messages.
    ///
    /// # Errors
    /// [`WireError::NotUnix`] leaves the connection as it was, every other error ends it.
    pub(crate) fn send_descriptor(&mut self, descriptor: BorrowedFd<'_>) -> Result<(), WireError> {
        self.link.check()?;
        self.link.check_unix()?;
        self.link.attempt(|stream, limit| descriptor::send(stream, descriptor, limit))
    }

    /// Something that ends the connection.
    pub(crate) fn closer(&self) -> Closer {
        Closer(self.link.stream.clone())
    }
}

impl Receiver {
    /// Waits for the next message: `patience` for it to begin, or for ever.
    ///
    /// # Errors
    /// [`WireError::Silent`] leaves the connection as it was, every other error ends it.
    pub(crate) fn receive(&mut self, patience: Option<Duration>) -> Result<Vec<u8>, WireError> {
        self.link.check()?;
        let opener = &mut self.opener;
        self.link.attempt(|stream, limit| {
            let mut frame = Vec::new();
            read_frame(stream, &mut frame, patience, limit)?;
            let payload = opener.open(&frame)?.len();
            frame.truncate(HEADER + payload);
            frame.drain(..HEADER);
            Ok(frame)
        })
    }

    /// Waits for a descriptor that the other side passes, at most `limit`.
    ///
    /// # Errors
    /// [`WireError::Silent`] and [`WireError::NotUnix`] leave the connection as it was, every other error ends
    /// it. What came besides is closed.
    pub(crate) fn receive_descriptor(&mut self, limit: Duration) -> Result<OwnedFd, WireError> {
        self.link.check()?;
        self.link.check_unix()?;
        self.link.attempt(|stream, _| descriptor::receive(stream, limit))
    }

    /// Something that ends the connection.
    pub(crate) fn closer(&self) -> Closer {
        Closer(self.link.stream.clone())
    }
}

impl Closer {
    /// Ends the connection: what waits for it in any thread, here or there, returns [`WireError::Closed`], after
    /// the messages that have come already.
    pub(crate) fn close(&self) {
        self.0.shutdown();
    }
}

impl Link {
    fn check(&self) -> Result<(), WireError> {
        if self.over { Err(WireError::Closed) } else { Ok(()) }
    }

    fn check_unix(&self) -> Result<(), WireError> {
        self.stream.credentials().map(|_| ()).ok_or(WireError::NotUnix)
    }

    /// Does something with the connection, and ends it for both sides if that fails.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&Stream, Duration) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let result = work(&self.stream, self.limit);
        if !matches!(result, Ok(_) | Err(WireError::Silent { .. })) {
            self.over = true;
            self.stream.shutdown();
        }
        result
    }
}

/// Reads a whole message as it comes into an empty `frame`. Room is made as bytes come, whatever length is
/// announced.
pub(super) fn read_frame(
    stream: &Stream,
    frame: &mut Vec<u8>,
    patience: Option<Duration>,
    limit: Duration,
) -> Result<(), WireError> {
    let mut header = [0; HEADER];
    let began = read_first(stream, &mut header, patience)?;
    let until = Until::after(limit);
    let in_time = |done: bool| if done { Ok(()) } else { Err(WireError::Slow { limit }) };
    in_time(stream.read_exact(&mut header[began..], until)?)?;
    let whole = HEADER + after_header(&header)?;
    frame.extend_from_slice(&header);
    while frame.len() < whole {
        let come = frame.len();
        frame.resize(whole.min(come + STEP), 0);
        in_time(stream.read_exact(&mut frame[come..], until)?)?;
    }
    Ok(())
}

/// Waits for the first bytes of a header, and says how many came.
fn read_first(
    stream: &Stream,
    header: &mut [u8; HEADER],
    patience: Option<Duration>,
) -> Result<usize, WireError> {
    let until = patience.map_or(Until::NEVER, Until::after);
    loop {
        if let Some(count) = stream.read_some(header)? {
            return Ok(count);
        }
        if !until.ready(stream, PollFlags::IN)? {
            return Err(WireError::Silent { waited: patience.unwrap_or_default() });
        }
    }
}

/// What it means that the other side left when it had seen this one's proof.
fn unwelcome(error: WireError) -> WireError {
    match error {
        WireError::Closed => WireError::Refused {
            why: "it refused this process: the secret is not the same, or it is overrun",
        },
        error => error,
    }
}

pub(super) const OTHER_USER: WireError = WireError::Refused { why: "it is a process of another user" };
