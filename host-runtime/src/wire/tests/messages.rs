//! Messages over proven connections.

use super::{LONG, SHORT, both, half_proven, proven, push, unused_name};
use crate::wire::{Channel, MAX_FRAME, WireError};
use std::thread;
use std::time::Duration;

const LENGTHS: [usize; 4] = [0, 1, 65_537, MAX_FRAME];

fn message(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|i| (i / 251) as u8 ^ (i as u8).wrapping_mul(31) ^ seed).collect()
}

#[test]
fn messages_of_every_length_go_both_ways_at_once() {
    for address in both() {
        let (ours, theirs) = proven(&address);
        let run = |channel: Channel, own: u8, other: u8| {
            let (mut sender, mut receiver) = channel.split();
            let sending = thread::spawn(move || {
                for length in LENGTHS {
                    sender.send(&message(length, own)).unwrap();
                }
                // The direction is kept until the other thread is done with its own.
                sender
            });
            let receiving = thread::spawn(move || {
                for length in LENGTHS {
                    let got = receiver.receive(Some(LONG)).unwrap();
                    assert!(got == message(length, other), "{length} bytes differ");
                }
                receiver
            });
            (sending, receiving)
        };
        for (sending, receiving) in [run(ours, 1, 2), run(theirs, 2, 1)] {
            sending.join().unwrap();
            receiving.join().unwrap();
        }
    }
}

#[test]
fn silence_is_no_fault() {
    for address in both() {
        let (mut ours, mut theirs) = proven(&address);
        for patience in [Duration::ZERO, SHORT] {
            let silent = ours.receive(Some(patience)).unwrap_err();
            assert!(matches!(silent, WireError::Silent { waited } if waited == patience));
        }
        theirs.send(b"late").unwrap();
        assert_eq!(ours.receive(None).unwrap(), b"late");
    }
}

#[test]
fn a_message_that_is_too_long_is_not_sent_and_spoils_nothing() {
    let (mut ours, mut theirs) = proven(&unused_name());
    let refused = ours.send(&vec![0; MAX_FRAME + 1]).unwrap_err();
    assert!(matches!(refused, WireError::TooLong { length: 1_048_577, limit: MAX_FRAME }));
    ours.send(b"short").unwrap();
    assert_eq!(theirs.receive(Some(LONG)).unwrap(), b"short");
}

#[test]
fn a_connection_that_ends_is_closed_for_both() {
    for address in both() {
        let (ours, mut theirs) = proven(&address);
        drop(ours);
        assert!(matches!(theirs.receive(None), Err(WireError::Closed)));
        assert!(matches!(theirs.receive(None), Err(WireError::Closed)));
        assert!(matches!(theirs.send(b"x"), Err(WireError::Closed)));
    }
}

#[test]
fn a_wait_is_ended_from_another_thread() {
    for address in both() {
        let (ours, mut theirs) = proven(&address);
        let closer = ours.closer();
        let (sender, mut receiver) = ours.split();
        let waiting = thread::spawn(move || receiver.receive(None));
        thread::sleep(SHORT);
        closer.close();
        assert!(matches!(waiting.join().unwrap(), Err(WireError::Closed)));
        assert!(matches!(theirs.receive(None), Err(WireError::Closed)));
        drop(sender);
    }
}

#[test]
fn an_end_in_the_middle_of_a_message_is_the_end() {
    // In the length, in the payload, in the tag, and with nothing but the length.
    for cut in [1, 3, 4, 5, 13, 14, 45] {
        let (mut ours, theirs, keys) = half_proven();
        let frame = crate::wire::frame::Sealer::new(keys.sending).seal(b"0123456789").unwrap();
        assert_eq!(frame.len(), 46);
        push(&theirs, &frame[..cut]);
        drop(theirs);
        assert!(matches!(ours.receive(None), Err(WireError::Closed)), "cut after {cut}");
    }
}

#[test]
fn the_peer_has_a_name() {
    let [tcp, unix] = both();
    let (ours, theirs) = proven(&tcp);
    assert!(ours.peer().starts_with("127.0.0.1:") && theirs.peer().starts_with("127.0.0.1:"));
    assert_eq!((ours.credentials(), theirs.credentials()), (None, None));
    let (ours, theirs) = proven(&unix);
    let (pid, uid) = theirs.credentials().unwrap();
    assert_eq!((pid as u32, uid), (std::process::id(), rustix::process::geteuid().as_raw()));
    assert_eq!(theirs.peer(), format!("unix, pid {pid}, uid {uid}"));
    assert_eq!(ours.credentials(), theirs.credentials());
}
