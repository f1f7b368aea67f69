//! What the processes of a job tell each other through the launcher's store: where each runs, and by which name they meet.
//! A name that PE 0 makes at random is no other job's, however the launcher names its own.

use super::host_name::Host;
use super::not_joined;
use crate::error::{Error, Result};
use crate::fault;
use crate::wire::Secret;
use std::time::{Duration, Instant};

const PREFIX: &str = "oxshmem-card1";

/// A launcher's store of keys and values, seen from one process.
pub(super) trait Store {
    /// Puts a value under a key; others see it after the next fence.
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), String>;
    /// Waits for all processes of the job to come to this; `false` if they had not by then.
    fn fence(&mut self, until: Instant) -> Result<bool, String>;
    /// What process `of` has put under a key.
    fn get(&mut self, of: u32, key: &str, until: Instant) -> Result<String, String>;
}

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    rank: u32,
    size: u32,
    host: Host,
    /// PE 0's name for the job.
    name: String,
}

impl Card {
    /// One word of plain characters, which every store takes.
    fn to_text(&self) -> String {
        format!("{PREFIX}:{}:{}:{}:{}", self.rank, self.size, self.host.to_text(), self.name)
    }

    fn from_text(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let [PREFIX, rank, size, host, name] = parts[..] else { return None };
        let plain = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let card = Self {
            rank: rank.parse().ok()?,
            size: size.parse().ok()?,
            host: Host::from_text(host)?,
            name: name.into(),
        };
        plain.then_some(card)
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Told {
    /// The job's name, if all have come.
    pub(super) name: Option<String>,
    /// Of PE 0: why nothing comes of the job.
    pub(super) refused: Option<Error>,
}

/// Tells the others and hears what they tell. Where not all come within half of the time, joining by the launcher's name
/// finds out in the other half who is missing.
///
/// # Errors
/// [`Error::NotJoined`], [`Error::OtherHosts`], [`Error::ProcessesDiffer`].
pub(super) fn exchange(
    store: &mut impl Store,
    (me, size): (u32, u32),
    server: &'static str,
    until: Instant,
) -> Result<Told> {
    let failed = |why: String| not_joined(me, server, why);
    let name = match me {
        0 => Secret::random().map_err(|error| failed(error.to_string()))?.to_hex(),
        _ => String::new(),
    };
    let mine = Card { rank: me, size, host: Host::own(me), name };
    store.put(&key(me), &mine.to_text(), until).map_err(failed)?;
    fault::point("told", me);
    let now = Instant::now();
    let half = now + until.saturating_duration_since(now) / 2;
    if !store.fence(half).map_err(failed)? {
        return Ok(Told { name: None, refused: None });
    }
    fault::point("fenced", me);
    let mut read = |of: u32| -> Result<Card> {
        let text = store.get(of, &key(of), until).map_err(failed)?;
        match Card::from_text(&text) {
            Some(card) if card.rank == of => Ok(card),
            Some(card) => Err(failed(format!("it gave the words of PE {} for those of PE {of}", card.rank))),
            None => Err(failed(format!("what it gave for the words of PE {of} makes no sense: {text:?}"))),
        }
    };
    let first = if me == 0 { mine.clone() } else { read(0)? };
    if first.name.is_empty() {
        return Err(failed("what it gave for the words of PE 0 has no name for the job".into()));
    }
    fit(&mine, &first)?;
    let mut refused = None;
    if me == 0 {
        for pe in 1..size {
            // The others are told by PE 0 itself.
            if let Err(error) = read(pe).and_then(|theirs| fit(&theirs, &mine)) {
                refused = Some(error);
                break;
            }
        }
    }
    Ok(Told { name: Some(first.name), refused })
}

fn key(pe: u32) -> String {
    format!("oxshmem-{pe}")
}

/// Whether a PE and PE 0 may be of one job.
fn fit(one: &Card, first: &Card) -> Result<()> {
    if !one.host.is(&first.host) {
        let what = format!("PE {} runs on {}, PE 0 on {}", one.rank, one.host, first.host);
        return Err(Error::OtherHosts { what });
    }
    if one.size != first.size {
        let (one, other) = ((one.rank, one.size.to_string()), (0, first.size.to_string()));
        return Err(Error::ProcessesDiffer { what: "the number of processes", one, other });
    }
    Ok(())
}

/// How long is left until then, and nothing if it has passed.
pub(super) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// A store in memory, which nobody waits for.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<BTreeMap<String, String>>>);

    impl Store for Memory {
        fn put(&mut self, key: &str, value: &str, _: Instant) -> Result<(), String> {
            self.0.lock().unwrap().insert(key.into(), value.into());
            Ok(())
        }
        fn fence(&mut self, _: Instant) -> Result<bool, String> {
            Ok(self.0.lock().unwrap().len() > 1)
        }
        fn get(&mut self, _: u32, key: &str, _: Instant) -> Result<String, String> {
            self.0.lock().unwrap().get(key).cloned().ok_or_else(|| format!("no {key}"))
        }
    }

    fn with(values: &[(&str, &str)]) -> Memory {
        let pairs = values.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        Memory(Arc::new(Mutex::new(pairs.collect())))
    }

    fn tell(store: &Memory, me: u32) -> Result<Told> {
        let until = Instant::now() + Duration::from_secs(60);
        exchange(&mut store.clone(), (me, 2), "asking", until)
    }

    fn card(rank: u32, size: u32, host: &Host, name: &str) -> String {
        Card { rank, size, host: host.clone(), name: name.into() }.to_text()
    }

    #[test]
    fn both_learn_the_same_name_and_one_that_waits_in_vain_none() {
        let store = Memory::default();
        assert!(tell(&store, 0).unwrap().name.is_none());
        let here = Host::own(0);
        let store = with(&[("oxshmem-1", &card(1, 2, &here, ""))]);
        let told = tell(&store, 0).unwrap();
        assert!(told.refused.is_none(), "{told:?}");
        assert_eq!(tell(&store, 1).unwrap().name, told.name);
        assert_eq!(told.name.unwrap().len(), 64);
    }

    #[test]
    fn what_does_not_fit_is_said_with_both_values() {
        let (here, elsewhere) = (Host::own(0), Host::from_text("feed/elsewhere").unwrap());
        for (rank, size, host, name, says) in [
            (0, 2, &elsewhere, "ab", "elsewhere (boot feed)"),
            (0, 3, &here, "ab", "PE 1 has \"2\", PE 0 has \"3\""),
            (0, 2, &here, "", "no name"),
            (1, 2, &here, "ab", "the words of PE 1 for those of PE 0"),
            (0, 2, &here, "zz", "makes no sense"),
        ] {
            let error = tell(&with(&[("oxshmem-0", &card(rank, size, host, name))]), 1).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        for text in ["", "oxshmem-card1", "oxshmem-card1:x:2:a/b:", "oxshmem-card2:0:2:a/b:ab"] {
            let error = tell(&with(&[("oxshmem-0", text)]), 1).unwrap_err().to_string();
            assert!(error.contains("makes no sense"), "{error}");
        }
        let store = with(&[("oxshmem-1", &card(1, 2, &elsewhere, ""))]);
        let refused = tell(&store, 0).unwrap().refused.unwrap().to_string();
        assert!(refused.contains("PE 1 runs on elsewhere") && refused.contains("PE 0 on"), "{refused}");
    }
}
