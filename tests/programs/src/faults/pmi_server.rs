//! A PMI server for the processes of a row, as a launcher has one: it speaks PMI-1 and PMI-2, or misbehaves.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How a server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malice {
    /// It closes the connection instead of the first answer.
    Closes,
    /// It never answers.
    Silent,
    /// It answers with what is no answer.
    Babbles,
    /// It answers with bytes that never end a message.
    Floods,
    /// It closes the connection instead of letting go from the fence.
    Leaves,
    /// It never lets go from the fence.
    Holds,
    /// It gives the words of another process.
    Swaps,
    /// It gives words that nobody has put.
    Invents,
}

impl Malice {
    pub(super) const ALL: [Self; 8] = [
        Self::Closes,
        Self::Silent,
        Self::Babbles,
        Self::Floods,
        Self::Leaves,
        Self::Holds,
        Self::Swaps,
        Self::Invents,
    ];

    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closes => "hangs up at once",
            Self::Silent => "never answers",
            Self::Babbles => "answers what makes no sense",
            Self::Floods => "answers without an end",
            Self::Leaves => "hangs up in the fence",
            Self::Holds => "holds the fence for ever",
            Self::Swaps => "mixes up who has put what",
            Self::Invents => "gives what nobody has put",
        }
    }
}

/// What the processes share.
#[derive(Debug, Default)]
struct Shared {
    values: BTreeMap<String, String>,
    /// How many wait in the fence, and how many fences are over.
    waiting: u32,
    fences: u64,
    ended: bool,
}

type Both = (Mutex<Shared>, Condvar);

/// A running server. Dropped, it ends.
#[derive(Debug)]
pub(super) struct PmiServer {
    shared: Arc<Both>,
    /// The processes' ends of the connections, until they have inherited them.
    theirs: Vec<Option<OwnedFd>>,
    /// This side's, by which the threads are ended.
    ours: Vec<UnixStream>,
    threads: Vec<JoinHandle<()>>,
}

impl PmiServer {
    pub(super) fn start(pes: u32, malice: Option<Malice>) -> Result<Self> {
        let shared: Arc<Both> = Arc::default();
        let (mut theirs, mut ours, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..pes {
            let (own, other) = UnixStream::pair()?;
            theirs.push(Some(other.into()));
            ours.push(own.try_clone()?);
            let client = Client { shared: shared.clone(), pes, malice };
            threads.push(std::thread::spawn(move || {
                // A process that ends in the middle is what rows are about.
                let _ = client.serve(&own);
                let _ = own.shutdown(std::net::Shutdown::Both);
            }));
        }
        Ok(Self { shared, theirs, ours, threads })
    }

    /// The socket that a process is to inherit.
    pub(super) fn socket(&mut self, pe: u32) -> Option<OwnedFd> {
        self.theirs.get_mut(pe as usize)?.take()
    }
}

impl Drop for PmiServer {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.shared.1.notify_all();
        for stream in &self.ours {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// One process's side of the server.
struct Client {
    shared: Arc<Both>,
    pes: u32,
    malice: Option<Malice>,
}

impl Client {
    fn serve(&self, stream: &UnixStream) -> Result<()> {
        let (mut from, mut to) = (BufReader::new(stream), stream);
        let mut two = false;
        loop {
            let asked = if two { counted(&mut from)? } else { line(&mut from)? };
            match self.malice {
                Some(Malice::Closes) => return Ok(()),
                Some(Malice::Silent) => return from.read(&mut [0]).map(drop),
                Some(Malice::Babbles) => return to.write_all(b"  12cmd=what\n"),
                Some(Malice::Floods) => loop {
                    to.write_all(&[b'x'; 4096])?;
                },
                _ => {}
            }
            let words: BTreeMap<&str, &str> =
                asked.split(if two { ';' } else { ' ' }).filter_map(|word| word.split_once('=')).collect();
            let word = |name: &str| words.get(name).copied().unwrap_or_default();
            let command = word("cmd");
            let Some(said) = self.answer(command, &word) else { return Ok(()) };
            if two {
                let message = format!("cmd={command}-response;{}rc=0;", said.replace(' ', ";"));
                to.write_all(format!("{:>6}{message}", message.len()).as_bytes())?;
            } else {
                let name = match command {
                    "init" => "response_to_init",
                    "get_maxes" => "maxes",
                    "get_my_kvsname" => "my_kvsname",
                    "put" => "put_result",
                    "barrier_in" => "barrier_out",
                    "get" => "get_result",
                    _ => "finalize_ack",
                };
                to.write_all(format!("cmd={name} {said}rc=0\n").as_bytes())?;
            }
            two |= command == "init" && word("pmi_version") == "2";
            if command == "finalize" {
                return Ok(());
            }
        }
    }

    /// What follows the answer's name, with a space behind each word; nothing if the connection ends here.
    fn answer<'a>(&self, command: &str, word: &impl Fn(&str) -> &'a str) -> Option<String> {
        Some(match command {
            "init" => {
                format!("pmi_version={} pmi_subversion={} ", word("pmi_version"), word("pmi_subversion"))
            }
            "get_maxes" => "kvsname_max=256 keylen_max=64 vallen_max=1024 ".into(),
            "get_my_kvsname" => "kvsname=kvs_of_a_row ".into(),
            "fullinit" => format!("rank={} size={} ", word("pmirank"), self.pes),
            "job-getid" => "jobid=a_row ".into(),
            "put" | "kvs-put" => {
                let mut shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                shared.values.insert(word("key").into(), word("value").into());
                String::new()
            }
            "barrier_in" | "kvs-fence" => {
                self.fence()?;
                String::new()
            }
            "get" | "kvs-get" => {
                let key = match (self.malice, word("key")) {
                    (Some(Malice::Swaps), "oxshmem-0") => "oxshmem-1",
                    (Some(Malice::Swaps), _) => "oxshmem-0",
                    (_, key) => key,
                };
                let shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                let value = match self.malice {
                    Some(Malice::Invents) => "oxshmem-card1:one:of:many",
                    _ => shared.values.get(key)?,
                };
                format!("flag=TRUE value={value} ")
            }
            _ => String::new(),
        })
    }

    /// Waits for all; nothing if the connection ends here.
    fn fence(&self) -> Option<()> {
        if self.malice == Some(Malice::Leaves) {
            return None;
        }
        let (shared, change) = &*self.shared;
        let mut now = shared.lock().unwrap_or_else(PoisonError::into_inner);
        now.waiting += 1;
        if now.waiting == self.pes && self.malice != Some(Malice::Holds) {
            (now.waiting, now.fences) = (0, now.fences + 1);
            change.notify_all();
            return Some(());
        }
        let before = now.fences;
        while now.fences == before {
            if now.ended {
                return None;
            }
            now = change.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        Some(())
    }
}

fn ended() -> std::io::Error {
    std::io::ErrorKind::UnexpectedEof.into()
}

fn line(from: &mut impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    loop {
        if from.read(&mut byte)? == 0 {
            return Err(ended());
        }
        if byte == *b"\n" {
            return String::from_utf8(bytes).map_err(std::io::Error::other);
        }
        bytes.push(byte[0]);
    }
}

fn counted(from: &mut impl Read) -> Result<String> {
    let mut digits = [0; 6];
    from.read_exact(&mut digits)?;
    let length = std::str::from_utf8(&digits).ok().and_then(|digits| digits.trim().parse().ok());
    let mut bytes = vec![0; length.ok_or_else(ended)?];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(std::io::Error::other)
}
