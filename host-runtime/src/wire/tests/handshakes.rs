//! Who is let in, and by whom one is let in.

use super::{LONG, Service, both, dial, pull, push, secret, sockets, unused_name};
use crate::wire::handshake::{ANSWER, Accepting, Connecting, HELLO};
use crate::wire::{Channel, WireError};
use std::thread;

fn is_refused<T>(result: Result<T, WireError>, why: &str) {
    match result {
        Err(error @ WireError::Refused { .. }) => assert!(error.to_string().contains(why), "{error}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn who_has_another_secret_is_refused() {
    for address in both() {
        let service = Service::start(&address, |_| {});
        is_refused(Channel::connect(dial(&service.address), &secret(), LONG), "the secret is not the same");
        service.assert_serves();
    }
}

#[test]
fn a_service_with_another_secret_is_refused() {
    let (ours, theirs) = sockets();
    let connecting = thread::spawn(move || Channel::connect(ours, &secret(), LONG));
    let (accepting, hello) = Accepting::start().unwrap();
    push(&theirs, &hello);
    let answer: [u8; ANSWER] = pull(&theirs).unwrap();
    let other = secret();
    is_refused(accepting.judge(&other, &answer), "does not know");
    // It claims to be satisfied nevertheless.
    let (_, own_answer) = Connecting::start(&other, &hello).unwrap();
    push(&theirs, &accepting.judge(&other, &own_answer).unwrap().0);
    is_refused(connecting.join().unwrap(), "does not know");
}

#[test]
fn the_two_sides_have_the_same_keys_crosswise() {
    let secret = secret();
    let (accepting, hello) = Accepting::start().unwrap();
    let (connecting, answer) = Connecting::start(&secret, &hello).unwrap();
    let (proof, theirs) = accepting.judge(&secret, &answer).unwrap();
    let ours = connecting.judge(&proof).unwrap();
    let tags = [ours.sending, theirs.receiving, ours.receiving, theirs.sending].map(|key| key.tag(&[b"x"]));
    assert_eq!((tags[0], tags[2]), (tags[1], tags[3]));
    assert_ne!(tags[0], tags[2], "one key for both directions");
}

#[test]
fn an_answer_that_was_recorded_is_refused() {
    for address in both() {
        let service = Service::start(&address, |_| {});
        let recorded = {
            let stream = dial(&service.address);
            let hello: [u8; HELLO] = pull(&stream).unwrap();
            let (connecting, answer) = Connecting::start(&service.secret, &hello).unwrap();
            push(&stream, &answer);
            assert!(connecting.judge(&pull(&stream).unwrap()).is_ok());
            service.channels.recv_timeout(LONG).unwrap();
            answer
        };
        let stream = dial(&service.address);
        pull::<HELLO>(&stream).unwrap();
        push(&stream, &recorded);
        assert!(matches!(pull::<1>(&stream), Err(WireError::Closed)));
        service.assert_serves();
    }
}

#[test]
fn a_service_that_was_recorded_is_refused() {
    let secret = secret();
    let (accepting, hello) = Accepting::start().unwrap();
    let (_, answer) = Connecting::start(&secret, &hello).unwrap();
    let (recorded, _) = accepting.judge(&secret, &answer).unwrap();
    let (connecting, _) = Connecting::start(&secret, &hello).unwrap();
    is_refused(connecting.judge(&recorded), "does not know");
}

#[test]
fn a_proof_that_is_sent_back_is_refused() {
    let secret = secret();
    let (_, hello) = Accepting::start().unwrap();
    let (connecting, answer) = Connecting::start(&secret, &hello).unwrap();
    let (_, own_proof) = answer.split_last_chunk().unwrap();
    is_refused(connecting.judge(own_proof), "does not know");
}

#[test]
fn every_bit_of_the_handshake_counts() {
    let secret = secret();
    let (accepting, hello) = Accepting::start().unwrap();
    let (connecting, answer) = Connecting::start(&secret, &hello).unwrap();
    let (proof, _) = accepting.judge(&secret, &answer).unwrap();
    for bit in 0..8 * HELLO {
        let mut changed = hello;
        changed[bit / 8] ^= 1 << (bit % 8);
        // A changed name is seen at once, changed random bytes by the proof that they lead to.
        let judged =
            Connecting::start(&secret, &changed).and_then(|(_, answer)| accepting.judge(&secret, &answer));
        assert!(judged.is_err(), "bit {bit} of the hello");
    }
    for bit in 0..8 * ANSWER {
        let mut changed = answer;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(accepting.judge(&secret, &changed).is_err(), "bit {bit} of the answer");
    }
    for bit in 0..8 * proof.len() {
        let mut changed = proof;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(connecting.judge(&changed).is_err(), "bit {bit} of the proof");
    }
}

#[test]
fn other_protocols_and_versions_are_named() {
    let (_, mut hello) = Accepting::start().unwrap();
    hello[7] = 2;
    is_refused(Connecting::start(&secret(), &hello), "another version");
    let http: [u8; HELLO] = *b"HTTP/1.1 400 Bad Request\r\nConnection: cl";
    is_refused(Connecting::start(&secret(), &http), "does not speak");
}

#[test]
fn a_service_that_leaves_before_it_greets_may_be_tried_again() {
    let (ours, theirs) = sockets();
    drop(theirs);
    assert!(matches!(Channel::connect(ours, &secret(), LONG), Err(WireError::Closed)));
}

#[test]
fn a_process_of_another_user_is_refused_before_it_is_greeted() {
    let other = rustix::process::geteuid().as_raw() + 1;
    let service = Service::start(&unused_name(), |acceptor| acceptor.rules.uid = other);
    assert!(matches!(service.join(), Err(WireError::Closed)));
    assert!(service.channels.try_recv().is_err());
}
