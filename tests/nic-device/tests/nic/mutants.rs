//! What a driver can do wrong, one thing at a time, and how it shows: the NIC says which rule was broken, a completion is an
//! error, none comes, or the memory is wrong. What is right passes the same.

use crate::channel::{Channel, DEPTH, Failed, Side};
use crate::compare::MUTANTS;
use crate::operation::{Names, Request};
use crate::record;
use oxshmem::net::verbs::classic::Operation;
use oxshmem_device::net::mlx5::QueueNumber;
use oxshmem_device::net::mlx5::doorbell::{RECORD_SEND, send_doorbell, send_record};
use std::error::Error;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a completion may take that perhaps never comes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Rounds of the script: the queue wraps.
const ROUNDS: u64 = 40;

/// Mutants of the encoder that break no rule and are right in every result: `compare` has those.
const LEGAL: &[&str] = &["fence left out", "fence without the small one"];

/// How a request is posted.
type Step = fn(&mut Channel, &[u8]);

/// The order of a post: write, record, doorbell.
fn right(channel: &mut Channel, bytes: &[u8]) {
    channel.write(channel.index, bytes);
    channel.count(blocks(bytes));
    channel.ring();
}

fn blocks(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).div_ceil(64)
}

fn doorbell(channel: &Channel, index: u64) {
    channel.store_doorbell(send_doorbell(index, QueueNumber::new(channel.qp.number())));
}

/// The NIC has surely seen what was stored before.
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

const STEPS: &[(&str, Step)] = &[
    ("record in the receive queue's word", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(0, send_record(channel.index));
        doorbell(channel, channel.index);
    }),
    ("record little-endian", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index).swap_bytes());
        doorbell(channel, channel.index);
    }),
    ("record of the request's own index", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.store_record(RECORD_SEND, send_record(channel.index));
        channel.count(blocks(bytes));
        doorbell(channel, channel.index);
    }),
    ("record one block too far", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index + 1));
        doorbell(channel, channel.index + 1);
    }),
    ("record goes back", |channel, bytes| {
        right(channel, bytes);
        pause();
        channel.store_record(RECORD_SEND, send_record(channel.index - 1));
        doorbell(channel, channel.index - 1);
        pause();
    }),
    ("record left out", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        doorbell(channel, channel.index);
    }),
    ("doorbell left out", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index));
    }),
    ("doorbell before the record", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        doorbell(channel, channel.index);
        pause();
        channel.store_record(RECORD_SEND, send_record(channel.index));
    }),
    ("doorbell of another queue pair", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index));
        let other = QueueNumber::new(channel.qp.number() + 1);
        channel.store_doorbell(send_doorbell(channel.index, other));
    }),
    ("doorbell, its words exchanged", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index));
        let value = send_doorbell(channel.index, QueueNumber::new(channel.qp.number()));
        channel.store_doorbell(value.rotate_left(32));
    }),
    ("published before it is written", |channel, bytes| {
        let index = channel.index;
        channel.count(blocks(bytes));
        channel.ring();
        pause();
        channel.write(index, bytes);
    }),
    ("written one block too far", |channel, bytes| {
        channel.write(channel.index + 1, bytes);
        channel.count(blocks(bytes));
        channel.ring();
    }),
    ("more posted than the queue has", |channel, bytes| {
        channel.write(channel.index, bytes);
        channel.count(blocks(bytes));
        channel.store_record(RECORD_SEND, send_record(channel.index + DEPTH));
        doorbell(channel, channel.index + DEPTH);
    }),
];

pub(crate) fn all() -> Result<String> {
    match caught(|_, _| {}, right)? {
        None => {}
        Some(how) => return Err(format!("what is right was caught: {how}").into()),
    }
    let mut said = String::new();
    let mut count = 0;
    let mut note = |name: &str, how: Option<String>| match how {
        Some(how) => {
            count += 1;
            said.push_str(&format!("\n  {name}: {how}"));
            Ok(())
        }
        None => Err(format!("{name}: not caught")),
    };
    for (name, mutate) in MUTANTS.iter().filter(|(name, _)| !LEGAL.contains(name)) {
        note(name, caught(mutate, right)?)?;
    }
    for (name, step) in STEPS {
        note(name, caught(|_, _| {}, *step)?)?;
    }
    Ok(format!("{count} mutants caught by the NIC:{said}"))
}

const FAR: u64 = 16 << 10;
const LANDING: u64 = 8 << 10;

/// One request of each kind, twice for the one that compares.
fn script() -> Vec<Request> {
    let request = |kind, local, bytes, remote| Request {
        kind,
        fenced: false,
        signalled: true,
        local,
        bytes,
        remote: FAR + remote,
    };
    vec![
        request(Operation::Write, 0, 100, 0),
        request(Operation::InlineWrite, 128, 20, 256),
        request(Operation::FetchAdd(0x0102_0304_0506_0708), LANDING, 8, 512),
        // The first time there is what it wants.
        request(Operation::CompareSwap(7, 0x1122), LANDING + 8, 8, 520),
        request(Operation::CompareSwap(5, 9), LANDING + 16, 8, 528),
        request(Operation::Read, LANDING + 64, 50, 1024),
    ]
}

/// Posts the script a few times; how it shows that something is wrong.
fn caught(mutate: impl Fn(&Request, &mut [u8]), step: Step) -> Result<Option<String>> {
    let before = record::text()?.len();
    let side = Side::new("mlx5_0")?;
    for at in (0..LANDING).chain(FAR + 1024..FAR + 1100) {
        side.pages.put(at as usize, &[at as u8 ^ 0x5a]);
    }
    side.pages.put_word((FAR + 520) as usize, 7);
    side.pages.put_word((FAR + 528) as usize, 7);
    let mut channel = Channel::new(&side, false)?;
    channel.patience = PATIENCE;
    let other = Channel::new(&side, false)?;
    channel.connect(side.lid()?, other.qp.number())?;
    other.connect(side.lid()?, channel.qp.number())?;
    let names = Names { address: side.region.address(), lkey: side.region.lkey(), rkey: side.region.rkey() };
    let how = run(&side, &mut channel, names, mutate, step);
    // The NIC says it, if it knows; else how it showed.
    let text = record::text()?;
    match text.get(before..).and_then(|said| said.lines().next()) {
        Some(line) => Ok(Some(line.split("; bytes").next().unwrap_or(line).to_string())),
        None => how,
    }
}

fn run(
    side: &Side,
    channel: &mut Channel,
    names: Names,
    mutate: impl Fn(&Request, &mut [u8]),
    step: Step,
) -> Result<Option<String>> {
    let mut sum = 0_u64;
    for round in 0..ROUNDS {
        for request in script() {
            let inlined = side.pages.get(request.local as usize, request.bytes as usize);
            let mut bytes = request.encode(channel.qp.number(), channel.index, names, &inlined);
            mutate(&request, &mut bytes);
            step(channel, &bytes);
            if let Err(error) = channel.wait_one() {
                return Ok(Some(match error.downcast::<Failed>() {
                    Ok(failed) => failed.to_string(),
                    Err(error) => error.to_string(),
                }));
            }
        }
        let word = |at: u64| side.pages.word(at as usize);
        let same = |one: u64, other: u64, length: usize| {
            side.pages.get(one as usize, length) == side.pages.get(other as usize, length)
        };
        let first = round == 0;
        let checks = [
            ("a write", same(0, FAR, 100)),
            ("an inline write", same(128, FAR + 256, 20)),
            ("an addition's old value", word(LANDING) == sum),
            ("an addition", word(FAR + 512) == sum + 0x0102_0304_0506_0708),
            ("a comparison's old value", word(LANDING + 8) == if first { 7 } else { 0x1122 }),
            ("a comparison that agrees", word(FAR + 520) == 0x1122),
            ("a comparison that does not", word(FAR + 528) == 7 && word(LANDING + 16) == 7),
            ("a read", same(LANDING + 64, FAR + 1024, 50)),
        ];
        if let Some((what, _)) = checks.iter().find(|(_, right)| !right) {
            return Ok(Some(format!("{what} is wrong")));
        }
        sum += 0x0102_0304_0506_0708;
    }
    Ok(None)
}
