//! PMI-1: each command and each answer is a line of words `name=value`; the first is `cmd`.

use super::super::cards::Store;
use super::connection::{Connection, SILENT};
use std::time::Instant;

/// The words of an answer.
#[derive(Debug)]
pub(super) struct Words(Vec<(String, String)>);

impl Words {
    fn read(line: &str) -> Self {
        let pairs = line.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    /// Whether the server has done it. Not every answer says so.
    fn check(&self, asked: &str) -> Result<(), String> {
        match self.get("rc") {
            None | Some("0") => Ok(()),
            Some(code) => {
                let message = self.get("msg").unwrap_or("no reason");
                Err(format!("it refused {asked:?}: code {code}, {message}"))
            }
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }
}

/// Asks, and waits for the answer that belongs to it.
pub(super) fn call(
    connection: &mut Connection,
    asked: &str,
    answer: &str,
    until: Instant,
) -> Result<Words, String> {
    connection.send_line(asked, until)?;
    let line = connection.line(until)?.ok_or(SILENT)?;
    expect(&line, asked, answer)
}

fn expect(line: &str, asked: &str, answer: &str) -> Result<Words, String> {
    let words = Words::read(line);
    if words.get("cmd") != Some(answer) {
        return Err(format!("it answered {line:?} to {asked:?}, where cmd={answer} was expected"));
    }
    Ok(words)
}

/// Says at a port who this is; rank and size, which the server tells there.
pub(super) fn introduce(
    connection: &mut Connection,
    id: &str,
    until: Instant,
) -> Result<(Option<u32>, Option<u32>), String> {
    let asked = format!("cmd=initack pmiid={id}");
    call(connection, &asked, "initack", until)?.check(&asked)?;
    let (mut rank, mut size) = (None, None);
    // It sets three values, in lines of their own.
    for _ in 0..3 {
        let words = expect(&connection.line(until)?.ok_or(SILENT)?, &asked, "set")?;
        rank = rank.or(words.number("rank"));
        size = size.or(words.number("size"));
    }
    Ok((rank, size))
}

/// A server that speaks PMI-1.
pub(super) struct One<'a> {
    connection: &'a mut Connection,
    /// The name of its store, which no other job's has.
    pub(super) space: String,
    /// How long a value may be.
    longest: usize,
}

impl<'a> One<'a> {
    pub(super) fn start(connection: &'a mut Connection, until: Instant) -> Result<Self, String> {
        let asked = "cmd=get_maxes";
        let maxes = call(connection, asked, "maxes", until)?;
        maxes.check(asked)?;
        let longest = maxes.number("vallen_max").unwrap_or(0) as usize;
        let asked = "cmd=get_my_kvsname";
        let named = call(connection, asked, "my_kvsname", until)?;
        named.check(asked)?;
        let space = named.get("kvsname").unwrap_or_default().to_owned();
        if space.is_empty() {
            return Err("its store has no name".into());
        }
        Ok(Self { connection, space, longest })
    }

    /// Says that this is all, if not another answer is yet to come.
    pub(super) fn finish(&mut self, fenced: bool, until: Instant) -> Result<(), String> {
        if fenced {
            call(self.connection, "cmd=finalize", "finalize_ack", until)?;
        }
        Ok(())
    }
}

impl Store for One<'_> {
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), String> {
        if value.len() >= self.longest {
            return Err(format!("it takes values of {} bytes, and {} are needed", self.longest, value.len()));
        }
        let asked = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        call(self.connection, &asked, "put_result", until)?.check(&asked)
    }

    fn fence(&mut self, until: Instant) -> Result<bool, String> {
        let asked = "cmd=barrier_in";
        self.connection.send_line(asked, until)?;
        let Some(line) = self.connection.line(until)? else { return Ok(false) };
        expect(&line, asked, "barrier_out")?.check(asked)?;
        Ok(true)
    }

    fn get(&mut self, _: u32, key: &str, until: Instant) -> Result<String, String> {
        let asked = format!("cmd=get kvsname={} key={key}", self.space);
        let answer = call(self.connection, &asked, "get_result", until)?;
        answer.check(&asked)?;
        answer.get("value").map(str::to_owned).ok_or_else(|| format!("it answered {asked:?} without a value"))
    }
}
