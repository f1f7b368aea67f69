//! The protocol, answered: PEs as threads of this process. PE 0 reads requests, the others are told each case by channels:
//! between requests they wait in no collective call, so that they may be as far apart as they like.

use crate::case::{Case, Test};
use crate::cli::Serve;
use crate::error::{Failure, Trouble};
use crate::run::{Outcome, run};
use oxshmem::{Config, Error, Shmem};
use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Where the seeds of the data begin; each request has its own.
const SEED: u32 = 1;

/// Answers until the standard input ends.
pub(crate) fn serve(options: &Serve) -> Result<(), Failure> {
    if let Some(gpus) = options.gpus {
        show_gpus(gpus);
    }
    let pes = options.pes;
    let mut config = Config::from_env()?.pes(pes);
    if let Some(gpus) = options.gpus {
        config = config.emulated_devices(gpus);
    }
    let (senders, receivers): (Vec<_>, Vec<_>) = (1..pes).map(|_| channel()).unzip();
    let senders = Mutex::new(Some(senders));
    let receivers = Mutex::new(receivers.into_iter().map(Some).collect::<Vec<_>>());
    let ends = config.run(|shmem| {
        let pe = Server { shmem: &shmem, memory: options.memory };
        let gpus = pe.prepare()?;
        if let Some(asked) = options.gpus.filter(|&asked| asked != gpus) {
            return Ok(Err(Failure::Asked(format!("the {pes} PEs are on {gpus} GPUs here, not on {asked}"))));
        }
        // Each end is dropped when its PE returns, by which the other one learns of it.
        match shmem.my_pe() {
            0 => {
                let senders = senders.lock().ok().and_then(|mut senders| senders.take());
                senders.map_or(Ok(Ok(())), |cases| pe.read_and_answer(gpus, &cases))
            }
            me => {
                let receiver = receivers.lock().ok().and_then(|mut all| all.get_mut(me as usize - 1)?.take());
                receiver.map_or(Ok(()), |cases| pe.follow(&cases)).map(Ok)
            }
        }
    })?;
    ends.into_iter().collect()
}

/// Leaves the first `gpus` of the GPUs that this process would see.
fn show_gpus(gpus: u32) {
    const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
    let visible = env::var(VISIBLE).unwrap_or_default();
    let all = if visible.trim().is_empty() { "0,1" } else { &visible };
    let first: Vec<&str> = all.split(',').take(gpus as usize).collect();
    // SAFETY: `main` calls this before there is a second thread.
    unsafe { env::set_var(VISIBLE, first.join(",")) };
}

struct Server<'a> {
    shmem: &'a Shmem,
    memory: u64,
}

impl Server<'_> {
    /// Lets the heap grow to what requests may need, so that none of them pays for it. Returns how many GPUs there are.
    fn prepare(&self) -> Result<u32, Error> {
        let bytes = usize::try_from(self.memory).unwrap_or(usize::MAX);
        let both = [self.shmem.alloc_uninit::<u8>(bytes)?, self.shmem.alloc_uninit::<u8>(bytes)?];
        drop(both);
        let devices: BTreeSet<u32> =
            self.shmem.all_gather(&self.shmem.device_number())?.into_iter().collect();
        Ok(devices.len() as u32)
    }

    /// PE 0.
    fn read_and_answer(
        &self,
        gpus: u32,
        cases: &[Sender<(Case, u32)>],
    ) -> Result<Result<(), Failure>, Error> {
        let ready = format!(
            "ready name=oxshmem version={} pes={} gpus={gpus} sms={} emulated={} device={}",
            env!("CARGO_PKG_VERSION"),
            self.shmem.n_pes(),
            self.shmem.multiprocessors(),
            u32::from(self.shmem.is_emulated()),
            self.shmem.device_name().replace(char::is_whitespace, "_"),
        );
        if let Err(failure) = say(&ready) {
            return Ok(Err(failure));
        }
        for (line, seed) in stdin().lock().split(b'\n').zip(SEED..) {
            let line = match line {
                Ok(line) => String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned(),
                Err(why) => return Ok(Err(Failure::Io { what: "cannot read a request".into(), why })),
            };
            let outcome = match parse(&line) {
                Ok(case) => {
                    // It can only fail if a PE has returned, of which the case itself then tells.
                    for each in cases {
                        let _ = each.send((case, seed));
                    }
                    run(self.shmem, &case, self.memory, seed)
                }
                Err(trouble) => Err(trouble),
            };
            let said = say(&answer(&outcome));
            if let Err(Trouble::Failed(error)) = outcome {
                return Err(error);
            }
            if let Err(failure) = said {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(()))
    }

    /// Another PE.
    fn follow(&self, cases: &Receiver<(Case, u32)>) -> Result<(), Error> {
        for (case, seed) in cases {
            if let Err(Trouble::Failed(error)) = run(self.shmem, &case, self.memory, seed) {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A request. A test that nobody has heard of is one that oxshmem has not.
fn parse(line: &str) -> Result<Case, Trouble> {
    let test = line.split_whitespace().next().unwrap_or_default();
    if !test.is_empty() && test.parse::<Test>().is_err() {
        return Err(Trouble::Unknown);
    }
    line.parse().map_err(Trouble::Refused)
}

fn answer(outcome: &Result<Outcome, Trouble>) -> String {
    match outcome {
        Ok(Outcome { ns, each }) => {
            let each = each.map_or(String::new(), |(p50, p99)| format!(" p50={p50:.1} p99={p99:.1}"));
            format!("ok ns={ns:.0} checked=yes{each}")
        }
        Err(Trouble::Unknown) => "no".into(),
        Err(trouble) => format!("error {}", trouble.to_string().replace('\n', " ")),
    }
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::io("cannot answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_line() {
        let outcome = Outcome { ns: 1234.0, each: None };
        assert_eq!(answer(&Ok(outcome)), "ok ns=1234 checked=yes");
        let timed = Outcome { each: Some((10.04, 20.0)), ..outcome };
        assert_eq!(answer(&Ok(timed)), "ok ns=1234 checked=yes p50=10.0 p99=20.0");
        assert_eq!(answer(&Err(Trouble::Unknown)), "no");
        assert_eq!(answer(&Err(Trouble::Refused("a\nb".into()))), "error a b");
        assert_eq!(answer(&Err(Trouble::WrongData("2".into()))), "error wrong data 2");
    }

    #[test]
    fn an_unknown_test_is_one_that_is_not_there_and_an_unknown_key_is_an_error() {
        assert!(matches!(parse("swim-bw bytes=4"), Err(Trouble::Unknown)));
        assert!(matches!(parse("put-bw colour=red"), Err(Trouble::Refused(_))));
        assert!(matches!(parse(""), Err(Trouble::Refused(_))));
        assert!(parse("barrier scope=block").is_ok());
    }
}
