//! Tests of the layer as a whole, over real sockets of both families. A limit that a test waits for is short; one
//! that must not pass is long.

mod descriptors;
mod floods;
mod forgeries;
mod handshakes;
mod limits;
mod messages;
mod texts;

use super::handshake::{Accepting, Connecting, Keys};
use super::{Acceptor, Address, Channel, Listener, Secret, Stop, Stream, connect};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// For what must happen.
const LONG: Duration = Duration::from_secs(60);
/// For what must be given up.
const SHORT: Duration = Duration::from_millis(50);

/// A name that nobody listens at.
pub(super) fn unused_name() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Address::Unix(format!("oxshmem-test-{}-{number}", std::process::id()))
}

/// A free address of each kind.
fn both() -> [Address; 2] {
    ["tcp:127.0.0.1:0".parse().unwrap(), unused_name()]
}

fn secret() -> Secret {
    Secret::random().unwrap()
}

fn dial(address: &Address) -> Stream {
    connect(address, Instant::now() + LONG).unwrap()
}

/// A proven connection: the connecting end and the accepting end.
fn proven(address: &Address) -> (Channel, Channel) {
    let service = Service::start(address, |_| {});
    let ours = service.join().unwrap();
    (ours, service.channels.recv_timeout(LONG).unwrap())
}

/// A proven connecting end, and at its other end a bare socket with the keys to it.
fn half_proven() -> (Channel, Stream, Keys) {
    let secret = secret();
    let (ours, theirs) = sockets();
    let (accepting, hello) = Accepting::start().unwrap();
    let (connecting, answer) = Connecting::start(&secret, &hello).unwrap();
    let (proof, their_keys) = accepting.judge(&secret, &answer).unwrap();
    (Channel::new(ours, connecting.judge(&proof).unwrap()), theirs, their_keys)
}

/// Two connected sockets.
fn sockets() -> (Stream, Stream) {
    let (one, other) = UnixStream::pair().unwrap();
    (Stream::unix(one).unwrap(), Stream::unix(other).unwrap())
}

/// Sends all of it at once.
fn push(stream: &Stream, bytes: &[u8]) {
    assert!(stream.write_all(bytes, super::until::Until::after(LONG)).unwrap());
}

/// Receives as much as there is room for.
fn pull<const N: usize>(stream: &Stream) -> Result<[u8; N], super::WireError> {
    let mut bytes = [0; N];
    assert!(stream.read_exact(&mut bytes, super::until::Until::after(LONG))?);
    Ok(bytes)
}

/// An acceptor in its thread.
struct Service {
    address: Address,
    secret: Secret,
    channels: Receiver<Channel>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    fn start(address: &Address, prepare: impl FnOnce(&mut Acceptor)) -> Self {
        let secret = secret();
        let listener = Listener::bind(address).unwrap();
        let mut acceptor = Acceptor::new(listener, secret.clone(), "test").unwrap();
        prepare(&mut acceptor);
        let (address, stop) = (acceptor.address().clone(), acceptor.stop());
        let (sender, channels) = mpsc::channel();
        let thread = thread::spawn(move || {
            while let Some(channel) = acceptor.next(Duration::MAX).unwrap() {
                // A test that has seen enough does not listen any more.
                let _ = sender.send(channel);
            }
        });
        Self { address, secret, channels, stop, thread: Some(thread) }
    }

    fn join(&self) -> Result<Channel, super::WireError> {
        Channel::connect(dial(&self.address), &self.secret, LONG)
    }

    /// Asserts that an honest process still gets in, and that nobody else did.
    fn assert_serves(&self) {
        let mut ours = self.join().unwrap();
        ours.send(b"honest").unwrap();
        let mut theirs = self.channels.recv_timeout(LONG).unwrap();
        assert_eq!(theirs.receive(Some(LONG)).unwrap(), b"honest");
        assert!(self.channels.try_recv().is_err());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "the service failed");
    }
}

/// Random numbers by seed (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit.max(1)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
