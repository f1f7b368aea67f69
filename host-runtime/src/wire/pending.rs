//! One connection whose other side has not proven itself yet, as a state that never blocks.

use super::channel::Channel;
use super::error::WireError;
use super::handshake::{ANSWER, Accepting, HELLO, Keys, PROOF};
use super::secret::Secret;
use super::stream::Stream;
use super::until::Until;
use rustix::event::PollFlags;
use std::io;
use std::time::Duration;

/// A connection that was accepted, and how far it is.
pub(super) struct Pending {
    pub(super) stream: Stream,
    /// When its time is over.
    pub(super) until: Until,
    accepting: Accepting,
    stage: Stage,
}

enum Stage {
    Greeting { hello: [u8; HELLO], sent: usize },
    Listening { answer: [u8; ANSWER], come: usize },
    Proving { proof: [u8; PROOF], sent: usize, keys: Box<Keys> },
}

/// What became of a connection.
pub(super) enum Step {
    /// It needs more from the other side.
    Waits(Pending),
    /// It is proven.
    Done(Channel),
    /// It is over.
    Refused(Stream, WireError),
}

impl Pending {
    /// Begins with a connection that has `limit` for its handshake.
    pub(super) fn new(stream: Stream, limit: Duration) -> io::Result<Self> {
        let (accepting, hello) = Accepting::start()?;
        Ok(Self { stream, until: Until::after(limit), accepting, stage: Stage::Greeting { hello, sent: 0 } })
    }

    /// What it waits for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.stage {
            Stage::Listening { .. } => PollFlags::IN,
            Stage::Greeting { .. } | Stage::Proving { .. } => PollFlags::OUT,
        }
    }

    /// Goes on as far as possible now.
    pub(super) fn advance(mut self, secret: &Secret) -> Step {
        match self.work(secret) {
            Ok(None) => Step::Waits(self),
            Ok(Some(keys)) => Step::Done(Channel::new(self.stream, keys)),
            Err(error) => Step::Refused(self.stream, error),
        }
    }

    /// The keys, once the handshake is over.
    fn work(&mut self, secret: &Secret) -> Result<Option<Keys>, WireError> {
        loop {
            match &mut self.stage {
                Stage::Greeting { sent: HELLO, .. } => {
                    self.stage = Stage::Listening { answer: [0; ANSWER], come: 0 };
                }
                Stage::Greeting { hello, sent } => match self.stream.write_some(&hello[*sent..])? {
                    Some(count) => *sent += count,
                    None => return Ok(None),
                },
                Stage::Listening { answer, come: ANSWER } => {
                    let (proof, keys) = self.accepting.judge(secret, answer)?;
                    self.stage = Stage::Proving { proof, sent: 0, keys: Box::new(keys) };
                }
                Stage::Listening { answer, come } => match self.stream.read_some(&mut answer[*come..])? {
                    Some(count) => *come += count,
                    None => return Ok(None),
                },
                Stage::Proving { sent: PROOF, keys, .. } => return Ok(Some(Keys::clone(keys))),
                Stage::Proving { proof, sent, .. } => match self.stream.write_some(&proof[*sent..])? {
                    Some(count) => *sent += count,
                    None => return Ok(None),
                },
            }
        }
    }
}
