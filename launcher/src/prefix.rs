//! `--prefix`: puts the rank before each line that a PE prints.
//!
//! One thread reads all pipes and writes whole lines, so lines never mix. It takes bytes as they are, valid text or not.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use crate::pes::Streams;

/// A line longer than this is broken, so that a PE which never ends a line does not fill the memory.
const LONGEST: usize = 1 << 20;

/// Bytes taken from a pipe at once.
const PIECE: usize = 64 << 10;

/// Pieces taken from a pipe after the job's end: more than the largest pipe holds. Only a process that is not the job's
/// could still fill it.
const LAST_PIECES: usize = 32;

/// How often a reader that does not read is asked about.
const GIVE_UP_TICK: Duration = Duration::from_millis(100);

/// The key of the pipe whose end says that the job is over.
const STOP: u64 = u64::MAX;

/// Bytes cut into lines.
#[derive(Debug)]
struct Lines {
    prefix: Vec<u8>,
    begun: Vec<u8>,
}

impl Lines {
    fn new(rank: u32, width: usize) -> Self {
        Self { prefix: format!("[{rank:>width$}] ").into_bytes(), begun: Vec::new() }
    }

    /// Takes bytes and appends the lines that they complete to `text`.
    fn feed(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() >= LONGEST {
                self.end(text);
            }
        }
    }

    /// Appends what there is of a line.
    fn end(&mut self, text: &mut Vec<u8>) {
        if self.begun.is_empty() {
            return;
        }
        text.extend_from_slice(&self.prefix);
        text.append(&mut self.begun);
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Out,
    Err,
}

impl Target {
    /// Writes all of it. Whoever else has the same open file may have made it non-blocking: then it is waited for.
    fn write(self, mut text: &[u8]) -> io::Result<()> {
        let (out, error) = (io::stdout(), io::stderr());
        let file = match self {
            Self::Out => out.as_fd(),
            Self::Err => error.as_fd(),
        };
        while !text.is_empty() {
            match rustix::io::write(file, text) {
                Ok(count) => text = &text[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Whatever ends the wait, the next attempt tells more.
                    let _ = poll(&mut [PollFd::new(&file, PollFlags::OUT)], None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

struct Stream {
    pipe: OwnedFd,
    lines: Lines,
    target: Target,
}

impl Stream {
    /// Takes one piece and passes on the lines that it completes. Returns whether more can come.
    fn pass_on(&mut self, piece: &mut [u8], text: &mut Vec<u8>, lost: &mut Option<io::Error>) -> Taken {
        text.clear();
        let taken = match rustix::io::read(&self.pipe, &mut *piece) {
            Ok(0) => Taken::End,
            Ok(count) => {
                self.lines.feed(&piece[..count], text);
                Taken::Some
            }
            Err(Errno::INTR) => Taken::Some,
            Err(Errno::AGAIN) => return Taken::Nothing,
            Err(_) => Taken::End,
        };
        if taken == Taken::End {
            self.lines.end(text);
        }
        // If nobody reads the launcher's output any more, the PE learns of it as it would without the launcher: the pipe
        // is closed.
        match self.target.write(text) {
            Ok(()) => taken,
            Err(error) => {
                note(lost, error);
                Taken::End
            }
        }
    }
}

/// Keeps the first failure, if it is one: whoever stops reading has had enough.
fn note(lost: &mut Option<io::Error>, error: io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        lost.get_or_insert(error);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Some,
    Nothing,
    End,
}

/// The thread that prefixes lines.
#[derive(Debug)]
pub struct Prefixer {
    stop: OwnedFd,
    /// Tells at the end of the thread why something could not be written, if so; closed then.
    done: Receiver<Option<io::Error>>,
}

impl Prefixer {
    /// Starts to pass on what the PEs print.
    ///
    /// # Errors
    /// If the kernel gives no thread or descriptor.
    pub fn start(streams: Vec<Streams>) -> Result<Self> {
        let width = streams.len().saturating_sub(1).to_string().len();
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &stopped, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        let mut open = Vec::new();
        for Streams { rank, out, err } in streams {
            for (pipe, target) in [(out, Target::Out), (err, Target::Err)] {
                fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
                let key = epoll::EventData::new_u64(open.len() as u64);
                epoll::add(&epoll, &pipe, key, epoll::EventFlags::IN)?;
                open.push(Some(Stream { pipe, lines: Lines::new(rank, width), target }));
            }
        }
        let (ends, done) = channel();
        let pass_on = move || {
            // Nobody may be waiting for it any more.
            let _ = ends.send(pass_on(&epoll, open));
            drop(stopped);
        };
        let thread = thread::Builder::new().name("prefix".into()).spawn(pass_on);
        thread.context("there is no thread for --prefix")?;
        Ok(Self { stop, done })
    }

    /// Passes on what is still in the pipes. To be called when the PEs are gone; it does not wait for others that hold
    /// their pipes. Whoever reads the launcher's output may take their time, until `give_up` says otherwise.
    /// Returns why something could not be written, if so.
    pub fn finish(self, give_up: impl Fn() -> bool) -> Option<io::Error> {
        drop(self.stop);
        loop {
            match self.done.recv_timeout(GIVE_UP_TICK) {
                Ok(lost) => return lost,
                Err(RecvTimeoutError::Timeout) if !give_up() => {}
                Err(_) => return None,
            }
        }
    }
}

/// Until the job is over; why something could not be written, if so.
fn pass_on(epoll: &OwnedFd, mut streams: Vec<Option<Stream>>) -> Option<io::Error> {
    let (mut piece, mut text) = (vec![0; PIECE], Vec::new());
    let mut events = Vec::with_capacity(64);
    let (mut stopped, mut lost) = (false, None);
    while !stopped {
        events.clear();
        match epoll::wait(epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Some(error.into()),
        }
        for event in &events {
            let key = event.data.u64();
            stopped |= key == STOP;
            // A key that is no index is STOP.
            let Some(slot) = usize::try_from(key).ok().and_then(|key| streams.get_mut(key)) else { continue };
            if slot
                .as_mut()
                .is_some_and(|stream| stream.pass_on(&mut piece, &mut text, &mut lost) == Taken::End)
            {
                *slot = None;
            }
        }
    }
    for stream in streams.iter_mut().flatten() {
        let mut pieces = 0..LAST_PIECES;
        while pieces.next().is_some() && stream.pass_on(&mut piece, &mut text, &mut lost) == Taken::Some {}
        text.clear();
        stream.lines.end(&mut text);
        if let Err(error) = stream.target.write(&text) {
            note(&mut lost, error);
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut lines, mut text) = (Lines::new(3, 2), Vec::new());
        for piece in pieces {
            lines.feed(piece, &mut text);
        }
        lines.end(&mut text);
        text
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(lines(&[b"a\nb", b"", b"c\n\n"]), b"[ 3] a\n[ 3] bc\n[ 3] \n");
        assert_eq!(lines(&[b"no end"]), b"[ 3] no end\n");
        assert_eq!(lines(&[]), b"");
        assert_eq!(lines(&[b"\xff\xfe\n"]), b"[ 3] \xff\xfe\n");
    }

    #[test]
    fn a_line_without_end_is_broken_and_nothing_is_lost() {
        let piece = vec![b'x'; PIECE];
        let pieces = vec![piece.as_slice(); 3 * LONGEST / PIECE];
        let text = lines(&pieces);
        assert_eq!(text.iter().filter(|byte| **byte == b'x').count(), 3 * LONGEST);
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 3);
    }
}
