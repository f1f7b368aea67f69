//! PMI-2: each command and each answer is a message `name=value;…` behind its length in six digits; the first field is
//! `cmd`, and a semicolon in a value is doubled.

use super::super::cards::Store;
use super::connection::{Connection, SILENT};
use std::time::Instant;

/// The fields of an answer.
#[derive(Debug)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn read(message: &str) -> Self {
        let mut fields = vec![String::new()];
        let mut characters = message.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                ';' if characters.next_if_eq(&';').is_none() => fields.push(String::new()),
                other => fields.last_mut().into_iter().for_each(|field| field.push(other)),
            }
        }
        let pairs = fields.iter().filter_map(|field| field.split_once('='));
        Self(pairs.map(|(name, value)| (name.trim().to_owned(), value.to_owned())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }
}

/// Asks, and waits for the answer that belongs to it; `None` if it did not come by then.
fn call(connection: &mut Connection, asked: &str, until: Instant) -> Result<Option<Fields>, String> {
    connection.send_counted(asked, until)?;
    let Some(message) = connection.counted(until)? else { return Ok(None) };
    let command = Fields::read(asked).get("cmd").unwrap_or_default().to_owned();
    let fields = Fields::read(&message);
    if fields.get("cmd") != Some(&format!("{command}-response")) {
        return Err(format!(
            "it answered {message:?} to {asked:?}, where cmd={command}-response was expected"
        ));
    }
    match fields.get("rc") {
        Some("0") => Ok(Some(fields)),
        code => {
            let (code, why) = (code.unwrap_or("missing"), fields.get("errmsg").unwrap_or("no reason"));
            Err(format!("it refused {asked:?}: code {code}, {why}"))
        }
    }
}

/// A server that speaks PMI-2.
pub(super) struct Two<'a> {
    connection: &'a mut Connection,
    /// The job's name.
    pub(super) space: String,
}

impl<'a> Two<'a> {
    /// Says who this is; and rank and size as the server knows them.
    pub(super) fn start(
        connection: &'a mut Connection,
        rank: Option<u32>,
        until: Instant,
    ) -> Result<(Self, u32, Option<u32>), String> {
        let who = rank.map_or(String::new(), |rank| format!("pmirank={rank};"));
        let asked = format!("cmd=fullinit;{who}threaded=FALSE;");
        let answer = call(connection, &asked, until)?.ok_or(SILENT)?;
        let said = answer.number("rank").or(rank).ok_or("it has not said which PE this is")?;
        let size = answer.number("size");
        let asked = "cmd=job-getid;";
        let job = call(connection, asked, until)?.ok_or(SILENT)?;
        let space = job.get("jobid").unwrap_or_default().to_owned();
        if space.is_empty() {
            return Err("its job has no name".into());
        }
        Ok((Self { connection, space }, said, size))
    }

    /// Says that this is all, if not another answer is yet to come.
    pub(super) fn finish(&mut self, fenced: bool, until: Instant) -> Result<(), String> {
        if fenced {
            call(self.connection, "cmd=finalize;", until)?.ok_or(SILENT)?;
        }
        Ok(())
    }
}

impl Store for Two<'_> {
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), String> {
        let asked = format!("cmd=kvs-put;key={key};value={};", value.replace(';', ";;"));
        call(self.connection, &asked, until)?.ok_or(SILENT)?;
        Ok(())
    }

    fn fence(&mut self, until: Instant) -> Result<bool, String> {
        Ok(call(self.connection, "cmd=kvs-fence;", until)?.is_some())
    }

    fn get(&mut self, of: u32, key: &str, until: Instant) -> Result<String, String> {
        let asked = format!("cmd=kvs-get;jobid={};srcid={of};key={key};", self.space.replace(';', ";;"));
        let answer = call(self.connection, &asked, until)?.ok_or(SILENT)?;
        match (answer.get("flag").or(answer.get("found")), answer.get("value")) {
            (Some("TRUE"), Some(value)) => Ok(value.to_owned()),
            _ => Err(format!(
                "PE {of} has put nothing: does its process use oxshmem, and have two not the same rank?"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_doubled_semicolons() {
        let fields = Fields::read("cmd=a-response;value=x;;y=1;rc=0;");
        assert_eq!((fields.get("cmd"), fields.get("value")), (Some("a-response"), Some("x;y=1")));
        assert_eq!((fields.number("rc"), fields.get("none")), (Some(0), None));
        assert_eq!(Fields::read("").get("cmd"), None);
    }
}
