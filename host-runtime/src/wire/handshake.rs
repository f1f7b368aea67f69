//! How two processes prove to each other that they know the secret, as functions of bytes.
//!
//! | from | message |
//! |---|---|
//! | accepting side | name and version, 32 random bytes |
//! | connecting side | name and version, 32 random bytes of its own, its proof |
//! | accepting side | its proof |
//!
//! Every proof and key is HMAC-SHA256 under the secret over what it is for and both sides' random bytes. So each
//! belongs to one connection and one direction: nothing that was recorded fits elsewhere, and nothing fits back.
//! The messages have fixed sizes, and who connects proves first: a stranger gets 40 bytes and no proof.

use super::error::WireError;
use super::mac::{Key, TAG};
use super::secret::{Secret, random};
use std::io;

/// Name and version of the protocol.
const MAGIC: [u8; 8] = *b"oxshmem\x01";
const NONCE: usize = 32;

/// Bytes of the accepting side's first message.
pub(super) const HELLO: usize = MAGIC.len() + NONCE;
/// Bytes of the connecting side's message.
pub(super) const ANSWER: usize = HELLO + TAG;
/// Bytes of the accepting side's second message.
pub(super) const PROOF: usize = TAG;

type Nonce = [u8; NONCE];

/// The keys of one connection, as one side uses them.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) sending: Key,
    pub(super) receiving: Key,
}

/// The accepting side, which waits for the answer to its hello.
pub(super) struct Accepting {
    own: Nonce,
}

impl Accepting {
    /// Begins; the bytes are for the other side.
    pub(super) fn start() -> io::Result<(Self, [u8; HELLO])> {
        let own = random()?;
        Ok((Self { own }, hello(&own)))
    }

    /// Judges the answer; the bytes are for the other side.
    pub(super) fn judge(
        &self,
        secret: &Secret,
        answer: &[u8; ANSWER],
    ) -> Result<([u8; PROOF], Keys), WireError> {
        let (hello, proof) = answer.split_at(HELLO);
        let other = nonce(hello)?;
        let session = Session::new(secret, &self.own, &other);
        if !session.verifies(CONNECTING_PROOF, proof) {
            return Err(UNPROVEN);
        }
        let keys = Keys { sending: session.key(ACCEPTING_KEY), receiving: session.key(CONNECTING_KEY) };
        Ok((session.tag(ACCEPTING_PROOF), keys))
    }
}

/// The connecting side, which waits for the other's proof.
pub(super) struct Connecting {
    session: Session,
}

impl Connecting {
    /// Answers a hello; the bytes are for the other side.
    pub(super) fn start(secret: &Secret, hello_: &[u8; HELLO]) -> Result<(Self, [u8; ANSWER]), WireError> {
        let other = nonce(hello_)?;
        let own = random()?;
        let session = Session::new(secret, &other, &own);
        let mut answer = [0; ANSWER];
        answer[..HELLO].copy_from_slice(&hello(&own));
        answer[HELLO..].copy_from_slice(&session.tag(CONNECTING_PROOF));
        Ok((Self { session }, answer))
    }

    /// Judges the other side's proof.
    pub(super) fn judge(&self, proof: &[u8; PROOF]) -> Result<Keys, WireError> {
        if !self.session.verifies(ACCEPTING_PROOF, proof) {
            return Err(UNPROVEN);
        }
        let (sending, receiving) = (self.session.key(CONNECTING_KEY), self.session.key(ACCEPTING_KEY));
        Ok(Keys { sending, receiving })
    }
}

const UNPROVEN: WireError = WireError::Refused { why: "it does not know this job's secret" };

// What a tag is for. They are of different lengths or letters, and what follows them is of one length.
const ACCEPTING_PROOF: &[u8] = b"proof of the accepting side";
const CONNECTING_PROOF: &[u8] = b"proof of the connecting side";
const ACCEPTING_KEY: &[u8] = b"messages of the accepting side";
const CONNECTING_KEY: &[u8] = b"messages of the connecting side";

/// The secret, and what makes one connection different from every other.
struct Session {
    secret: Key,
    accepting: Nonce,
    connecting: Nonce,
}

impl Session {
    fn new(secret: &Secret, accepting: &Nonce, connecting: &Nonce) -> Self {
        Self { secret: Key::new(secret.bytes()), accepting: *accepting, connecting: *connecting }
    }

    fn tag(&self, purpose: &[u8]) -> [u8; TAG] {
        self.secret.tag(&[&MAGIC, purpose, &self.accepting, &self.connecting])
    }

    fn verifies(&self, purpose: &[u8], tag: &[u8]) -> bool {
        self.secret.verifies(&[&MAGIC, purpose, &self.accepting, &self.connecting], tag)
    }

    fn key(&self, purpose: &[u8]) -> Key {
        Key::new(&self.tag(purpose))
    }
}

fn hello(own: &Nonce) -> [u8; HELLO] {
    let mut message = [0; HELLO];
    message[..MAGIC.len()].copy_from_slice(&MAGIC);
    message[MAGIC.len()..].copy_from_slice(own);
    message
}

/// The random bytes of a hello, if it is one of this protocol and version.
fn nonce(hello: &[u8]) -> Result<Nonce, WireError> {
    let (name, version) = MAGIC.split_at(MAGIC.len() - 1);
    let (magic, nonce) = hello.split_at_checked(MAGIC.len()).ok_or(STRANGER)?;
    if !magic.starts_with(name) {
        return Err(STRANGER);
    }
    if !magic.ends_with(version) {
        return Err(WireError::Refused { why: "it speaks another version of oxshmem's protocol" });
    }
    nonce.try_into().map_err(|_| STRANGER)
}

const STRANGER: WireError = WireError::Refused { why: "it does not speak oxshmem's protocol" };
