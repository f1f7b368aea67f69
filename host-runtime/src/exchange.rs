//! Where a process hands its memory to the other processes of the job: they come and fetch a handle, over a Unix socket
//! that passes descriptors, and prove the job's secret first.

use crate::driver::Shareable;
use crate::error::{Error, Result};
use crate::fault;
use crate::say::say;
use crate::wire::{
    self, Acceptor, Address, Channel, Listener, Malformed, Reader, Secret, Stop, WireError, Writer,
};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one process waits for the other's next word here.
const WORD: Duration = Duration::from_secs(2);
/// Pause between two attempts to fetch something.
const PAUSE: Duration = Duration::from_millis(2);
/// How often the thread that hands out looks whether there is anything to do, though nothing tells it.
const LOOK: Duration = Duration::from_secs(60);

/// What can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The words that all PEs share; PE 0 has them.
    Board,
    /// The heap memory by which a PE's segment grows up to this many bytes.
    Heap(u64),
}

/// One process's part of it.
#[derive(Debug)]
pub(crate) struct Exchange {
    me: u32,
    secret: Secret,
    address: Address,
    peers: OnceLock<Vec<Address>>,
    offers: Arc<Mutex<Vec<(Piece, Shareable)>>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Exchange {
    /// Opens for who knows the secret.
    ///
    /// # Errors
    /// [`Error::NotJoined`], [`Error::NoThread`].
    pub(crate) fn new(me: u32, secret: &Secret) -> Result<Self> {
        let refused = |error: std::io::Error| Error::NotJoined {
            pe: me,
            doing: "opening the socket by which it shares memory",
            why: error.to_string(),
        };
        // A name that nobody can guess, and so occupy.
        let name = Secret::random().map_err(refused)?.to_hex();
        let listener = Listener::bind(&Address::Unix(format!("oxshmem-memory-{name}"))).map_err(refused)?;
        let address = listener.address().clone();
        let mut acceptor =
            Acceptor::new(listener, secret.clone(), format!("PE {me}, heap memory")).map_err(refused)?;
        let (stop, offers) = (acceptor.stop(), Arc::new(Mutex::new(Vec::new())));
        let hand_out = {
            let (offers, stop) = (offers.clone(), stop.clone());
            move || {
                while !stop.stopped() {
                    match acceptor.next(LOOK) {
                        // Who does not get what it came for comes again, and says why in the end.
                        Ok(Some(channel)) => _ = serve(channel, &offers),
                        Ok(None) => {}
                        Err(error) => {
                            say(format_args!("PE {me} can share no more memory: {error}"));
                            return;
                        }
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("oxshmem memory".into()).spawn(hand_out);
        let no_thread = |error: std::io::Error| Error::NoThread {
            what: "sharing memory".into(),
            reason: error.to_string(),
        };
        let thread = Some(thread.map_err(no_thread)?);
        Ok(Self { me, secret: secret.clone(), address, peers: OnceLock::new(), offers, stop, thread })
    }

    /// Where others fetch.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Names the others, by PE. Once.
    pub(crate) fn set_peers(&self, peers: Vec<Address>) {
        let _ = self.peers.set(peers);
    }

    fn offers(&self) -> MutexGuard<'_, Vec<(Piece, Shareable)>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others fetch this.
    pub(crate) fn offer(&self, piece: Piece, shareable: Shareable) {
        self.offers().push((piece, shareable));
    }

    /// Offers no heap memory any more. What was fetched stays.
    pub(crate) fn withdraw(&self) {
        self.offers().retain(|(piece, _)| *piece == Piece::Board);
    }

    /// Fetches what PE `from` offers, for at most `limit`; ends early with what `lost` returns.
    ///
    /// # Errors
    /// [`Error::NoHandle`], and what `lost` says.
    pub(crate) fn fetch(
        &self,
        from: u32,
        piece: Piece,
        limit: Duration,
        lost: &dyn Fn() -> Option<Error>,
    ) -> Result<Shareable> {
        let until = Instant::now() + limit;
        let failed = |why: String| Error::NoHandle { pe: self.me, from, why };
        let peers = self.peers.get().map_or(&[][..], Vec::as_slice);
        let address = peers.get(from as usize).ok_or_else(|| failed("its socket is not known".into()))?;
        loop {
            fault::point(piece.name(), self.me);
            let why = match self.attempt(address, piece) {
                Ok(shareable) => return Ok(shareable),
                Err(why) => why,
            };
            if let Some(error) = lost() {
                return Err(error);
            }
            if Instant::now() >= until {
                return Err(failed(format!("not within {:.1} s: {why}", limit.as_secs_f64())));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn attempt(&self, address: &Address, piece: Piece) -> Result<Shareable, Trouble> {
        let stream = wire::connect(address, Instant::now()).map_err(WireError::from)?;
        let mut channel = Channel::connect(stream, &self.secret, WORD)?;
        channel.send(&piece.write())?;
        let answer = channel.receive(Some(WORD))?;
        match Answer::read(&answer)? {
            Answer::Nothing => Err(Trouble::NotOffered),
            Answer::Descriptor => Ok(Shareable::Descriptor(channel.receive_descriptor(WORD)?)),
            Answer::Fabric(handle) => Ok(Shareable::Fabric(handle)),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why an attempt was in vain.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("it does not offer this")]
    NotOffered,
}

/// Answers one process that has proven the secret.
fn serve(mut channel: Channel, offers: &Mutex<Vec<(Piece, Shareable)>>) -> Result<(), Trouble> {
    let wanted = Piece::read(&channel.receive(Some(WORD))?)?;
    let (answer, descriptor) = find(wanted, &offers.lock().unwrap_or_else(PoisonError::into_inner));
    channel.send(&answer.write())?;
    if let Some(descriptor) = descriptor {
        channel.send_descriptor(descriptor.as_fd())?;
    }
    Ok(())
}

fn find(wanted: Piece, offers: &[(Piece, Shareable)]) -> (Answer, Option<OwnedFd>) {
    match offers.iter().find(|(piece, _)| *piece == wanted) {
        // A copy, so that no offer is held up while it travels.
        Some((_, Shareable::Descriptor(descriptor))) => match descriptor.try_clone() {
            Ok(descriptor) => (Answer::Descriptor, Some(descriptor)),
            Err(_) => (Answer::Nothing, None),
        },
        Some((_, Shareable::Fabric(handle))) => (Answer::Fabric(*handle), None),
        None => (Answer::Nothing, None),
    }
}

impl Piece {
    /// Its fault point.
    fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Heap(_) => "exchange",
        }
    }

    fn write(self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Board => _ = to.u8(0),
            Self::Heap(goal) => _ = to.u8(1).u64(goal),
        }
        to.finish()
    }

    fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(message);
        let piece = match from.u8()? {
            0 => Self::Board,
            1 => Self::Heap(from.u64()?),
            other => return Err(Malformed::Unknown(other.into())),
        };
        from.finish()?;
        Ok(piece)
    }
}

/// What comes back.
enum Answer {
    Nothing,
    /// A descriptor follows.
    Descriptor,
    Fabric([u8; 64]),
}

impl Answer {
    fn write(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Nothing => _ = to.u8(0),
            Self::Descriptor => _ = to.u8(1),
            Self::Fabric(handle) => _ = to.u8(2).bytes(handle),
        }
        to.finish()
    }

    fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(message);
        let answer = match from.u8()? {
            0 => Self::Nothing,
            1 => Self::Descriptor,
            2 => {
                let handle = from.bytes(64)?;
                Self::Fabric(handle.try_into().map_err(|_| Malformed::Unknown(2))?)
            }
            other => return Err(Malformed::Unknown(other.into())),
        };
        from.finish()?;
        Ok(answer)
    }
}

/// Reads a message of either kind, whatever it is.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_anything(bytes: &[u8]) {
    if let Ok(piece) = Piece::read(bytes) {
        assert_eq!(Piece::read(&piece.write()), Ok(piece));
    }
    if let Ok(answer) = Answer::read(bytes) {
        assert!(Answer::read(&answer.write()).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};

    fn pair() -> (Exchange, Exchange) {
        let secret = Secret::random().unwrap();
        let (a, b) = (Exchange::new(0, &secret).unwrap(), Exchange::new(1, &secret).unwrap());
        let addresses = vec![a.address().clone(), b.address().clone()];
        a.set_peers(addresses.clone());
        b.set_peers(addresses);
        (a, b)
    }

    #[test]
    fn what_is_offered_is_fetched_until_it_is_withdrawn() {
        let (a, b) = pair();
        let file = memfd_create("offered", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 12345).unwrap();
        a.offer(Piece::Heap(7), Shareable::Descriptor(file));
        a.offer(Piece::Heap(8), Shareable::Fabric([9; 64]));
        let (limit, lost) = (Duration::from_secs(30), || None);
        let Shareable::Descriptor(file) = b.fetch(0, Piece::Heap(7), limit, &lost).unwrap() else {
            panic!("a descriptor was offered")
        };
        assert_eq!(fstat(file).unwrap().st_size, 12345);
        let handle = b.fetch(0, Piece::Heap(8), limit, &lost).unwrap();
        assert!(matches!(handle, Shareable::Fabric([9, ..])));
        a.withdraw();
        let error = b.fetch(0, Piece::Heap(7), Duration::ZERO, &lost).unwrap_err();
        assert!(matches!(&error, Error::NoHandle { pe: 1, from: 0, .. }), "{error}");
        assert!(error.to_string().contains("does not offer this"), "{error}");
    }

    #[test]
    fn a_lost_peer_ends_the_attempts() {
        let (a, b) = pair();
        drop(a);
        let lost = || Some(Error::other("gone"));
        let error = b.fetch(0, Piece::Board, Duration::from_secs(3600), &lost).unwrap_err();
        assert_eq!(error.to_string(), "gone");
        assert!(
            b.fetch(5, Piece::Board, Duration::ZERO, &lost).unwrap_err().to_string().contains("not known")
        );
    }

    #[test]
    fn who_does_not_know_the_secret_gets_nothing() {
        let (a, _b) = pair();
        a.offer(Piece::Heap(7), Shareable::Fabric([9; 64]));
        let stranger = Exchange::new(1, &Secret::random().unwrap()).unwrap();
        stranger.set_peers(vec![a.address().clone()]);
        let error = stranger.fetch(0, Piece::Heap(7), Duration::ZERO, &|| None).unwrap_err();
        assert!(matches!(error, Error::NoHandle { .. }), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bytes in [&[][..], &[9], &[1, 0], &[0, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(Piece::read(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(Piece::read(&Piece::Heap(1 << 40).write()), Ok(Piece::Heap(1 << 40)));
        assert!(Answer::read(&[2, 1, 0, 0, 0, 5]).is_err());
    }
}
