//! Many connections, and connections that send anything.

use super::{LONG, Random, SHORT, Service, both, dial, pull, push, secret, unused_name};
use crate::wire::handshake::{Connecting, HELLO, PROOF};
use crate::wire::{Acceptor, Channel, Listener, Stream, WireError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// How many connections of `wanted` this process can hold, both ends, beside what other tests hold.
fn possible(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // It stays as it is where it cannot be raised.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) as usize;
    let possible = wanted.min(now.saturating_sub(400) / 2);
    if possible < wanted {
        eprintln!("{possible} of {wanted} connections: this process may have {now} descriptors");
    }
    possible
}

#[test]
fn idle_strangers_keep_nobody_out() {
    for address in both() {
        let service = Service::start(&address, |_| {});
        let mut idle: Vec<Stream> = Vec::new();
        for number in 0..possible(1000) {
            idle.push(dial(&service.address));
            if number % 50 == 0 {
                service.assert_serves();
            }
        }
        service.assert_serves();
        // The last one has its place still, and the first one has lost it.
        assert!(pull::<HELLO>(idle.last().unwrap()).is_ok());
        assert!(pull::<{ HELLO + 1 }>(&idle[0]).is_err());
    }
}

#[test]
fn a_thousand_members_that_are_silent_keep_nobody_out() {
    let service = Service::start(&unused_name(), |_| {});
    let mut members: Vec<(Channel, Channel)> = (0..possible(1000))
        .map(|_| (service.join().unwrap(), service.channels.recv_timeout(LONG).unwrap()))
        .collect();
    service.assert_serves();
    for (number, (ours, theirs)) in members.iter_mut().enumerate() {
        theirs.send(&number.to_le_bytes()).unwrap();
        assert_eq!(ours.receive(Some(LONG)).unwrap(), number.to_le_bytes());
    }
}

#[test]
fn the_oldest_stranger_makes_room() {
    let service = Service::start(&unused_name(), |acceptor| acceptor.rules.pending = 2);
    let strangers: Vec<Stream> = (0..3)
        .map(|_| {
            let stream = dial(&service.address);
            pull::<HELLO>(&stream).unwrap();
            stream
        })
        .collect();
    assert!(matches!(pull::<1>(&strangers[0]), Err(WireError::Closed)));
    for stranger in &strangers[1..] {
        assert!(stranger.read_some(&mut [0]).unwrap().is_none(), "more than the oldest was dropped");
    }
}

#[test]
fn anything_may_be_sent_to_a_service() {
    let service = Service::start(&unused_name(), |_| {});
    let mut random = Random(0x5eed);
    for round in 0..100_000_u32 {
        let stream = dial(&service.address);
        let length = random.below(120);
        let mut garbage = random.bytes(length);
        match round % 4 {
            // Some look right from afar.
            0 => garbage.splice(..length.min(8), *b"oxshmem\x01").for_each(drop),
            // Some are right but for the secret.
            1 if round % 64 == 1 => {
                let hello = pull(&stream).unwrap();
                garbage = Connecting::start(&secret(), &hello).unwrap().1.to_vec();
            }
            _ => {}
        }
        // It may have been refused before all is sent.
        let _ = stream.write_some(&garbage);
    }
    service.assert_serves();
}

#[test]
fn anything_may_be_sent_by_a_member_that_went_mad() {
    let service = Service::start(&unused_name(), |_| {});
    let mut random = Random(0xbad);
    for _ in 0..1000 {
        let stream = dial(&service.address);
        let hello = pull(&stream).unwrap();
        push(&stream, &Connecting::start(&service.secret, &hello).unwrap().1);
        pull::<PROOF>(&stream).unwrap();
        let length = random.below(200);
        push(&stream, &random.bytes(length));
        drop(stream);
        let mut theirs = service.channels.recv_timeout(LONG).unwrap();
        assert!(theirs.receive(Some(LONG)).is_err());
    }
    service.assert_serves();
}

const CHILD: &str = "OXSHMEM_TEST_NO_DESCRIPTORS";

/// It runs in a process of its own, because descriptors run out for all tests of one.
#[test]
fn a_service_without_descriptors_gives_up_strangers() {
    if std::env::var_os(CHILD).is_some() {
        return without_descriptors();
    }
    let name = "wire::tests::floods::a_service_without_descriptors_gives_up_strangers";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert!(text.contains("no descriptors"), "{text}");
}

fn without_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).unwrap();
    let secret = secret();
    let listener = Listener::bind(&unused_name()).unwrap();
    let mut acceptor = Acceptor::new(listener, secret.clone(), "test").unwrap();
    let address = acceptor.address().clone();
    let strangers = [dial(&address), dial(&address)];
    assert!(acceptor.next(SHORT).unwrap().is_none());
    for stranger in &strangers {
        pull::<HELLO>(stranger).unwrap();
    }

    // Both get in, each in the place of a stranger.
    let honest = [dial(&address), dial(&address)];
    let null = std::fs::File::open("/dev/null").unwrap();
    let mut filling: Vec<OwnedFd> = Vec::new();
    while let Ok(descriptor) = rustix::io::dup(&null) {
        filling.push(descriptor);
    }
    let mut members = Vec::new();
    for (stream, stranger) in honest.into_iter().zip(&strangers) {
        let secret = secret.clone();
        let connecting = thread::spawn(move || Channel::connect(stream, &secret, LONG));
        members.push((acceptor.next(LONG).unwrap().unwrap(), connecting.join().unwrap().unwrap()));
        assert!(matches!(pull::<1>(stranger), Err(WireError::Closed)));
    }

    // With nobody to give up the service waits, and goes on when it can.
    filling.pop();
    let late = dial(&address);
    assert!(acceptor.next(SHORT).unwrap().is_none());
    filling.pop();
    let connecting = thread::spawn(move || Channel::connect(late, &secret, LONG));
    assert!(acceptor.next(Duration::MAX).unwrap().is_some());
    assert!(connecting.join().unwrap().is_ok());
}
