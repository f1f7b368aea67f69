//! A PMIx server (Open MPI's mpirun, srun with PMIx) as a store, by the PMIx library, which is loaded when it is needed:
//! nothing is linked. The library's calls may take any time, so a thread makes them, and is left behind if they do.
//!
//! | file | what it holds |
//! |---|---|
//! | `sys.rs` | the library |

mod sys;

use super::cards::{self, Store, Told, left};
use super::{Asked, Bootstrap, not_joined};
use crate::error::{Error, Result};
use crate::launched::{Launched, Meeting, OTHERWISE, Pmix};
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;
use sys::{Client, NoClient};

const DOING: &str = "asking the launcher's PMIx server";
/// The library's name (its ABI's major version is 2 since PMIx 2), and where Debian keeps it besides.
const LIBRARIES: &[&str] = &["libpmix.so.2", "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so.2"];

impl Bootstrap for Pmix {
    fn size(&self) -> Option<u32> {
        self.said_size()
    }

    fn place(&self, until: Instant) -> Result<Launched> {
        static ASKED: Asked = Asked::new();
        ASKED.once(|| ask(self, until))
    }
}

/// Talks to the server, from the first word to the last.
fn ask(pmix: &Pmix, until: Instant) -> Result<Launched> {
    let failed = |why: String| not_joined(pmix.rank, DOING, format!("{why}; {OTHERWISE}"));
    let mut server = Server::start(pmix.library.clone()).map_err(|error| failed(error.to_string()))?;
    let facts = match server.call(Call::Start, until) {
        Ok(Answer::Facts(facts)) => facts,
        Ok(Answer::NoLibrary(why)) => {
            return Err(Error::NoBootstrap {
                by: format!("PMIX_NAMESPACE={}", pmix.namespace),
                why: format!("the PMIx library cannot be loaded ({why})"),
                remedy: "install it (Debian: libpmix2), or name it in OXSHMEM_PMIX; or start the processes by oxshmem-run, pass a unique id to all (oxshmem::UniqueId, or oxshmem-mpi for MPI programs), or set OXSHMEM_BOOTSTRAP=none if each is to be alone",
            });
        }
        Ok(_) => return Err(failed("it answered something else".into())),
        Err(why) => return Err(failed(why)),
    };
    if (&facts.namespace, facts.rank) != (&pmix.namespace, pmix.rank) {
        return Err(Error::Contradiction {
            one: format!("PMIX_NAMESPACE={} with PMIX_RANK={}", pmix.namespace, pmix.rank),
            other: format!("the PMIx server's {} with rank {}", facts.namespace, facts.rank),
            why: "variables and server are of different jobs: unset the variables of another mpirun",
        });
    }
    let unnamed =
        pmix.place(facts.size, facts.local_rank, facts.local_size, Meeting::Named(String::new()))?;
    let Told { name, refused } = cards::exchange(&mut server, (unnamed.rank, unnamed.size), DOING, until)?;
    if name.is_some() {
        server.done(Call::Finish, until).map_err(failed)?;
    }
    let job = format!("pmix:{}:{}", pmix.namespace, name.unwrap_or_default());
    Ok(Launched { meeting: Meeting::Named(job), refused, ..unnamed })
}

/// What the server says of this process and its job.
struct Facts {
    namespace: String,
    rank: u32,
    size: u32,
    local_rank: Option<u32>,
    local_size: Option<u32>,
}

enum Call {
    Start,
    Put { key: String, value: String },
    Fence,
    Get { of: u32, key: String },
    Finish,
}

enum Answer {
    Facts(Facts),
    NoLibrary(String),
    Done,
    /// Some will not come to the fence.
    NotAll,
    Text(String),
}

/// The thread that makes the calls.
struct Server {
    calls: Sender<Call>,
    answers: Receiver<Result<Answer, String>>,
}

impl Server {
    fn start(library: Option<OsString>) -> std::io::Result<Self> {
        let (calls, asked) = channel();
        let (answer, answers) = channel();
        let serve = move || {
            let mut client = None;
            for call in asked {
                let answered = make(call, &mut client, library.as_ref());
                if answer.send(answered).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("oxshmem pmix".into()).spawn(serve)?;
        Ok(Self { calls, answers })
    }

    /// Makes a call, which must be over by then.
    fn call(&mut self, call: Call, until: Instant) -> Result<Answer, String> {
        let gone = || "the PMIx library has ended the thread that called it".to_owned();
        self.calls.send(call).map_err(|_| gone())?;
        match self.answers.recv_timeout(left(until)) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(LATE.into()),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }

    fn done(&mut self, call: Call, until: Instant) -> Result<(), String> {
        self.call(call, until).map(drop)
    }
}

const LATE: &str = "it has not answered in time (OXSHMEM_JOIN_DEADLINE)";

fn make(call: Call, client: &mut Option<Client>, library: Option<&OsString>) -> Result<Answer, String> {
    if let Call::Start = call {
        let started = match connect(library) {
            Ok(started) => client.insert(started),
            Err(NoClient::Library(why)) => return Ok(Answer::NoLibrary(why)),
            Err(NoClient::Server(why)) => return Err(why),
        };
        let (namespace, rank) = started.own();
        return Ok(Answer::Facts(Facts {
            namespace,
            rank,
            size: started.number(sys::JOB, "pmix.job.size")?,
            // Not every server says these.
            local_rank: started.number(rank, "pmix.lrank").ok(),
            local_size: started.number(sys::JOB, "pmix.local.size").ok(),
        }));
    }
    let client = client.as_ref().ok_or("it was not started")?;
    match call {
        Call::Start | Call::Finish => client.finish().map(|()| Answer::Done),
        Call::Put { key, value } => client.put(&key, &value).map(|()| Answer::Done),
        Call::Fence => client.fence().map(|all| if all { Answer::Done } else { Answer::NotAll }),
        Call::Get { of, key } => client.text(of, &key).map(Answer::Text),
    }
}

fn connect(library: Option<&OsString>) -> Result<Client, NoClient> {
    if let Some(path) = library {
        return Client::start(path);
    }
    let mut first = None;
    for name in LIBRARIES {
        match Client::start(name.as_ref()) {
            Err(NoClient::Library(why)) => _ = first.get_or_insert(why),
            other => return other,
        }
    }
    Err(NoClient::Library(first.unwrap_or_default()))
}

impl Store for Server {
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), String> {
        self.done(Call::Put { key: key.into(), value: value.into() }, until)
    }

    fn fence(&mut self, until: Instant) -> Result<bool, String> {
        match self.call(Call::Fence, until) {
            Ok(Answer::Done) => Ok(true),
            Ok(_) => Ok(false),
            Err(why) if why == LATE => Ok(false),
            Err(why) => Err(why),
        }
    }

    fn get(&mut self, of: u32, key: &str, until: Instant) -> Result<String, String> {
        match self.call(Call::Get { of, key: key.into() }, until)? {
            Answer::Text(text) => Ok(text),
            _ => Err("it answered something else".into()),
        }
    }
}
