//! Peers that are slow, and peers that announce what does not come.

use super::{
    LONG, SHORT, Service, both, dial, half_proven, proven, pull, push, secret, sockets, unused_name,
};
use crate::wire::channel::{STEP, read_frame};
use crate::wire::frame::Sealer;
use crate::wire::handshake::{Connecting, HELLO};
use crate::wire::{Channel, MAX_FRAME, Stream, WireError};
use std::thread;
use std::time::Duration;

/// Sends a byte now and then, until the other side has had enough.
fn trickle(stream: &Stream, bytes: &[u8]) {
    for byte in bytes {
        if !matches!(stream.write_some(&[*byte]), Ok(Some(1))) {
            return;
        }
        thread::sleep(SHORT / 5);
    }
    panic!("all {} bytes were taken", bytes.len());
}

#[test]
fn a_handshake_that_trickles_is_given_up() {
    for address in both() {
        let service = Service::start(&address, |acceptor| acceptor.rules.limit = SHORT);
        let stream = dial(&service.address);
        let hello: [u8; HELLO] = pull(&stream).unwrap();
        // Nothing is wrong with it but its pace.
        let (_, answer) = Connecting::start(&service.secret, &hello).unwrap();
        trickle(&stream, &answer);
        assert!(service.channels.try_recv().is_err());
    }
}

#[test]
fn a_handshake_that_never_comes_is_given_up_by_both_sides() {
    let service = Service::start(&unused_name(), |acceptor| acceptor.rules.limit = SHORT);
    let stream = dial(&service.address);
    pull::<HELLO>(&stream).unwrap();
    assert!(matches!(pull::<1>(&stream), Err(WireError::Closed)));

    let (ours, theirs) = sockets();
    assert!(matches!(Channel::connect(ours, &secret(), SHORT), Err(WireError::Slow { limit: SHORT })));
    drop(theirs);
}

#[test]
fn a_greeting_that_trickles_is_given_up() {
    let (ours, theirs) = sockets();
    let connecting = thread::spawn(move || Channel::connect(ours, &secret(), SHORT));
    let (_, hello) = crate::wire::handshake::Accepting::start().unwrap();
    trickle(&theirs, &hello);
    assert!(matches!(connecting.join().unwrap(), Err(WireError::Slow { .. })));
}

#[test]
fn a_message_that_trickles_is_given_up() {
    let (ours, theirs, keys) = half_proven();
    let mut ours = ours.with_frame_limit(SHORT);
    let frame = Sealer::new(keys.sending).seal(&[7; 100]).unwrap();
    let receiving = thread::spawn(move || ours.receive(None));
    trickle(&theirs, &frame);
    assert!(matches!(receiving.join().unwrap(), Err(WireError::Slow { limit: SHORT })));
}

#[test]
fn who_does_not_read_is_given_up() {
    for address in both() {
        let (ours, theirs) = proven(&address);
        let mut ours = ours.with_frame_limit(SHORT);
        let message = vec![0; MAX_FRAME];
        let error = loop {
            if let Err(error) = ours.send(&message) {
                break error;
            }
        };
        assert!(matches!(error, WireError::Slow { limit: SHORT }), "{error}");
        assert!(matches!(ours.send(b"x"), Err(WireError::Closed)));
        drop(theirs);
    }
}

#[test]
fn who_reads_a_little_now_and_then_is_given_up() {
    let (ours, theirs, _) = half_proven();
    let mut ours = ours.with_frame_limit(SHORT);
    let sending = thread::spawn(move || {
        loop {
            if let Err(error) = ours.send(&[0; MAX_FRAME]) {
                return error;
            }
        }
    });
    // At most 4 KiB in 10 ms: a message would take seconds.
    while !sending.is_finished() {
        let _ = theirs.read_some(&mut [0; 4096]);
        thread::sleep(SHORT / 5);
    }
    assert!(matches!(sending.join().unwrap(), WireError::Slow { .. }));
}

#[test]
fn a_length_takes_no_memory() {
    let (ours, theirs) = sockets();
    push(&theirs, &(MAX_FRAME as u32).to_le_bytes());
    let mut frame = Vec::new();
    let result = read_frame(&ours, &mut frame, Some(LONG), SHORT);
    assert!(matches!(result, Err(WireError::Slow { .. })));
    assert!(frame.capacity() < 2 * STEP, "{} bytes for none that came", frame.capacity());
    assert_eq!(Some(STEP), frame.len().checked_sub(4));
}

#[test]
fn a_stop_ends_the_wait_and_every_later_one() {
    let listener = crate::wire::Listener::bind(&unused_name()).unwrap();
    let mut acceptor = crate::wire::Acceptor::new(listener, secret(), "test").unwrap();
    assert!(acceptor.next(Duration::ZERO).unwrap().is_none());
    let stop = acceptor.stop();
    assert!(!stop.stopped());
    let waiting = thread::spawn(move || {
        assert!(acceptor.next(Duration::MAX).unwrap().is_none());
        assert!(acceptor.next(Duration::MAX).unwrap().is_none());
    });
    thread::sleep(SHORT);
    stop.stop();
    assert!(stop.stopped());
    waiting.join().unwrap();
}
