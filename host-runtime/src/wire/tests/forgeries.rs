//! Messages that the other side did not send next on this connection.

use super::{LONG, half_proven, push};
use crate::wire::frame::{Opener, Sealer};
use crate::wire::{MAX_FRAME, WireError};

/// What a proven end makes of `frames`, of which the keys' owner made `honest` properly.
fn received(
    honest: &[&[u8]],
    frames: impl FnOnce(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
) -> Vec<Result<Vec<u8>, WireError>> {
    let (mut ours, theirs, keys) = half_proven();
    let mut sealer = Sealer::new(keys.sending);
    let sent = frames(honest.iter().map(|payload| sealer.seal(payload).unwrap()).collect());
    sent.iter().for_each(|frame| push(&theirs, frame));
    sent.iter().map(|_| ours.receive(Some(LONG))).collect()
}

/// Asserts that the first `good` messages are received, the next is forged, and all is over then.
fn assert_forged_after(good: usize, results: &[Result<Vec<u8>, WireError>]) {
    assert!(results[..good].iter().all(Result::is_ok), "{results:?}");
    assert!(matches!(results[good], Err(WireError::Forged)), "{results:?}");
    assert!(results[good + 1..].iter().all(|result| matches!(result, Err(WireError::Closed))), "{results:?}");
}

#[test]
fn a_message_that_comes_twice_is_refused() {
    assert_forged_after(1, &received(&[b"a"], |sent| vec![sent[0].clone(), sent[0].clone()]));
    assert_forged_after(
        2,
        &received(&[b"a", b"b"], |sent| vec![sent[0].clone(), sent[1].clone(), sent[0].clone()]),
    );
}

#[test]
fn messages_that_changed_places_or_are_left_out_are_refused() {
    assert_forged_after(0, &received(&[b"a", b"b"], |sent| vec![sent[1].clone(), sent[0].clone()]));
    assert_forged_after(1, &received(&[b"a", b"b", b"c"], |sent| vec![sent[0].clone(), sent[2].clone()]));
}

#[test]
fn a_message_after_a_forged_one_is_not_read() {
    assert_forged_after(
        1,
        &received(&[b"a", b"b"], |sent| {
            let mut changed = sent[1].clone();
            changed[4] ^= 1;
            vec![sent[0].clone(), changed, sent[1].clone()]
        }),
    );
}

#[test]
fn a_message_of_another_connection_is_refused() {
    let (_, _, other) = half_proven();
    let recorded = Sealer::new(other.sending).seal(b"a").unwrap();
    assert_forged_after(0, &received(&[], |_| vec![recorded]));
}

#[test]
fn a_message_that_is_sent_back_is_refused() {
    let (mut ours, theirs, keys) = half_proven();
    ours.send(b"a").unwrap();
    let frame: [u8; 37] = super::pull(&theirs).unwrap();
    // It is what its receiver takes, and its sender does not.
    assert_eq!(Opener::new(keys.receiving).open(&frame).unwrap(), b"a");
    push(&theirs, &frame);
    assert!(matches!(ours.receive(Some(LONG)), Err(WireError::Forged)));
}

#[test]
fn every_bit_of_a_message_counts() {
    let (_, _, keys) = half_proven();
    let frame = Sealer::new(keys.sending.clone()).seal(b"payload").unwrap();
    for bit in 0..8 * frame.len() {
        let mut changed = frame.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let opened = Opener::new(keys.sending.clone()).open(&changed).map(<[u8]>::to_vec);
        assert!(
            matches!(opened, Err(WireError::Forged | WireError::TooLong { .. })),
            "bit {bit}: {opened:?}"
        );
    }
    for length in 0..frame.len() {
        let mut opener = Opener::new(keys.sending.clone());
        assert!(matches!(opener.open(&frame[..length]), Err(WireError::Forged)), "{length} bytes");
        assert_eq!(opener.open(&frame).unwrap(), b"payload", "a refused message was counted");
    }
    let longer = [&frame[..], &[0]].concat();
    assert!(matches!(Opener::new(keys.sending).open(&longer), Err(WireError::Forged)));
}

#[test]
fn a_bit_changed_on_the_way_is_refused() {
    // A shorter length, the payload, the tag.
    for (byte, bit) in [(0, 1), (4, 0x80), (10, 1), (42, 0x10)] {
        let results = received(&[b"payload"], |mut sent| {
            sent[0][byte] ^= bit;
            sent
        });
        assert_forged_after(0, &results);
    }
}

#[test]
fn a_length_beyond_the_limit_is_refused_by_itself() {
    for length in [MAX_FRAME as u32 + 1, u32::MAX] {
        let results = received(&[], |_| vec![length.to_le_bytes().to_vec()]);
        assert!(
            matches!(results[0], Err(WireError::TooLong { length: found, .. }) if found == u64::from(length))
        );
    }
}
