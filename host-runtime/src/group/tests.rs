//! Messages come back as they were sent, and nothing else breaks who reads them.

use super::message::{DeviceFacts, FromPe, Hello, Peer, Ready, ToPe, Welcome};
use super::{Agreed, Arrival, Call, Link};
use crate::alloc::AllocationId;
use crate::board::Board;
use crate::error::Error;
use crate::failure::{Failure, KernelPanic, Place};
use crate::wire::tests::Random;
use crate::wire::{Acceptor, Address, Channel, Listener, Secret, connect};
use oxshmem_device::Cmp;
use oxshmem_device::abi::{Cause, Operation};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One error of each kind that keeps its type, and one that does not.
fn errors() -> Vec<Error> {
    let failure = |place| {
        Error::Poisoned(Box::new(Failure {
            pe: 3,
            cause: Cause::Deadline,
            operation: Operation::WaitUntil,
            cmp: Some(Cmp::Ge),
            peer: Some(7),
            offset: 0x10018,
            place,
            expected: 7,
            seen: 0,
            deadline: Duration::from_millis(2500),
            kernel: Some("crate__kernel"),
            launch: 9,
            node: Some(4),
            block: [1, 2, 3],
            thread: [4, 5, 6],
        }))
    };
    let panic = KernelPanic {
        pe: 1,
        kernel: "k".into(),
        block: [0; 3],
        thread: [33, 0, 0],
        message: "no".into(),
        at: Some("file.rs:1".into()),
        last_operation: None,
    };
    let lost = Error::PeLost { pe: 2, pid: 77, how: "has ended".into() };
    let call = || "barrier_all".to_owned();
    let waited = Duration::from_secs(2);
    vec![
        failure(Place::Allocation { number: 4, holds: "u64 signal", element: 3 }),
        failure(Place::Control("grid barrier")),
        failure(Place::Nothing),
        Error::KernelFailed(Box::new(panic)),
        Error::PePanicked { pe: 1, message: "größe".into() },
        Error::OutOfMemory { what: "heap", asked: 1 << 40, available: 2, limit: 3 },
        Error::SizeOverflow { elements: u64::MAX, element_bytes: 8 },
        Error::CallsDiffer { calls: vec!["a".into(), "b".into()] },
        Error::Absent {
            pe: 0,
            call: call(),
            missing: vec![1, 2],
            in_kernels: vec![2],
            stopped: vec![1],
            waited,
        },
        Error::Returned { pe: 0, call: call(), returned: vec![5] },
        Error::PeFailed { pe: 2, cause: Box::new(lost.clone()) },
        lost,
        Error::StreamStuck { pe: 1, kernel: "k", launch: 2, stream: 3, waited, why: "because" },
        Error::Missing { pe: 0, n_pes: 4, missing: vec![3], waited },
        Error::ProcessesDiffer { what: "the heap", one: (0, "1".into()), other: (1, "2".into()) },
        Error::NotJoined { pe: 1, doing: "waiting", why: "it was not there".into() },
        Error::GlobalExit { pe: 2, status: -3 },
        Error::ArgumentsDiffer {
            call: "team_split_strided",
            what: "stride",
            one: (0, "1".into()),
            other: (1, "-2".into()),
        },
        Error::NoDriverLibrary,
        Error::other("x".repeat(10_000)),
    ]
}

fn device(number: u8, name: String) -> DeviceFacts {
    DeviceFacts { id: [number; 16], name, memory: 1 << 37, granule: 2 << 20 }
}

fn from_pes() -> Vec<FromPe> {
    let calls = [
        Call::BarrierAll,
        Call::Alloc { how: "alloc_zeroed", holds: "f32", elements: 5, element_bytes: 4 },
        Call::Taken(1 << 21),
        Call::Mapped(1 << 22),
        Call::Filled(AllocationId(4), 0x1000),
        Call::Free(AllocationId(u64::MAX)),
        Call::Gather { bytes: 3 },
        Call::RecoverDrained,
        Call::RecoverReset,
        Call::Team { what: "team_destroy", bytes: 48 },
    ];
    let arrivals = calls.into_iter().map(|call| Arrival {
        number: 17,
        members: vec![2, 0],
        trouble: None,
        recovers_from: Some(Error::other("it failed")),
        released: (0..100).map(AllocationId).collect(),
        data: vec![1, 2, 3],
        ..Arrival::at(call)
    });
    let hello = Hello {
        rank: 1,
        size: 2,
        pid: 3,
        version: "0.1.0".into(),
        host: "here".into(),
        exchange: "unix:name".into(),
    };
    let ready = Ready {
        alike: vec![("deadline".into(), "30s".into()), ("heap".into(), "none".into())],
        device: device(7, "a GPU".into()),
    };
    let failed = errors().into_iter().map(|error| FromPe::Failed { failed: 1, error });
    let first = [FromPe::Hello(hello), FromPe::Ready(ready), FromPe::Finished];
    first.into_iter().chain(arrivals.map(|one| FromPe::Arrival(Box::new(one)))).chain(failed).collect()
}

fn to_pes() -> Vec<ToPe> {
    let peer = |number| Peer { exchange: "unix:name".into(), device: device(number, "a GPU".into()) };
    let agreed = Agreed {
        released: Arc::new(vec![AllocationId(1), AllocationId(1)]),
        gathered: Arc::new(vec![vec![], vec![1, 2, 3]]),
        allocated: None,
    };
    let failures = errors().into_iter().flat_map(|error| {
        let (answer, failed) = (error.clone(), error);
        [ToPe::Answer { number: 4, result: Err(answer) }, ToPe::Failed { pe: 1, error: failed }]
    });
    let first = [
        ToPe::Welcome(Welcome { peers: (0..5).map(peer).collect(), tags: 12345 }),
        ToPe::Answer { number: 3, result: Ok(agreed) },
        ToPe::Ended,
    ];
    first.into_iter().chain(failures).collect()
}

#[test]
fn messages_come_back_as_they_were_sent() {
    // Errors of other processes keep their words, so their texts are what is compared.
    for message in from_pes() {
        let read = FromPe::read(&message.write()).unwrap();
        let cut = |message: &FromPe| format!("{message:?}").chars().take(4000).collect::<String>();
        assert_eq!(cut(&read), cut(&message));
    }
    for message in to_pes() {
        let read = ToPe::read(&message.write()).unwrap();
        let cut = |message: &ToPe| format!("{message:?}").chars().take(4000).collect::<String>();
        assert_eq!(cut(&read), cut(&message));
    }
}

#[test]
fn errors_that_programs_tell_apart_keep_their_type() {
    for error in errors() {
        let message = FromPe::Failed { failed: 0, error: error.clone() }.write();
        let Ok(FromPe::Failed { error: read, .. }) = FromPe::read(&message) else { panic!("{error}") };
        let same = std::mem::discriminant(&read) == std::mem::discriminant(&error);
        assert!(same || matches!((&read, &error), (Error::Other(_), Error::NoDriverLibrary)), "{error}");
    }
}

#[test]
fn the_largest_messages_fit_into_a_frame() {
    let most = crate::env::variables::MAX_PES as usize;
    let agreed = Agreed {
        released: Arc::new(vec![AllocationId(u64::MAX); super::message::RELEASED_BY_ALL]),
        gathered: Arc::new(vec![vec![0; super::GATHERED]; most]),
        allocated: None,
    };
    let peer = Peer { exchange: "x".repeat(100), device: device(0, "x".repeat(256)) };
    let calls = vec!["x".repeat(10_000); most];
    for message in [
        ToPe::Answer { number: 0, result: Ok(agreed) },
        ToPe::Answer { number: 0, result: Err(Error::CallsDiffer { calls }) },
        ToPe::Welcome(Welcome { peers: vec![peer; most], tags: 0 }),
    ] {
        let bytes = message.write();
        assert!(bytes.len() <= 1 << 20, "{} bytes", bytes.len());
        ToPe::read(&bytes).unwrap();
    }
}

/// Changes, cuts or lengthens a message, or makes one of nothing.
fn mutate(random: &mut Random, good: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = good[random.below(good.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..random.below(9)).map(|i| i as u8)),
            2 if bytes.len() > 4 => {
                let at = random.below(bytes.len() - 4);
                bytes[at..at + 4].copy_from_slice(&(random.next() as u32).to_le_bytes());
            }
            3 => {
                let other = &good[random.below(good.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[random.below(other.len())..]);
            }
            _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => bytes.push(random.next() as u8),
        }
    }
    bytes
}

#[test]
fn a_million_broken_messages_break_nobody() {
    let mut good: Vec<Vec<u8>> = from_pes().iter().map(FromPe::write).collect();
    good.extend(to_pes().iter().map(ToPe::write));
    // Long ones add time and nothing else.
    good.retain(|message| message.len() < 2000);
    let mut random = Random(0x5eed);
    let (mut understood, count) = (0, 1_000_000);
    for _ in 0..count {
        let message = mutate(&mut random, &good);
        let (from, to) = (FromPe::read(&message), ToPe::read(&message));
        understood += u32::from(from.is_ok() || to.is_ok());
        // What is understood can be said again.
        from.iter().for_each(|message| _ = message.write());
        to.iter().for_each(|message| _ = message.write());
    }
    // Both happen, or the test tests nothing.
    assert!(understood > 1000 && understood < count / 2, "{understood} of {count}");
}

#[test]
fn a_server_that_was_given_up_stays_so_and_is_told() {
    let secret = Secret::random().unwrap();
    let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let address = listener.address().clone();
    let mut acceptor = Acceptor::new(listener, secret.clone(), "test").unwrap();
    let accepted = std::thread::spawn(move || acceptor.next(Duration::from_secs(60)).unwrap().unwrap());
    let stream = connect(&address, Instant::now() + Duration::from_secs(60)).unwrap();
    let channel = Channel::connect(stream, &secret, Duration::from_secs(60)).unwrap();
    let mut server = accepted.join().unwrap();

    // Nothing beats on this board for PE 0: its process does not run.
    let board = Arc::new(Board::new(2).unwrap());
    let link = Link::new(1, 0, Duration::from_millis(20), board, channel.split()).unwrap();
    let absent = |result: crate::Result<Agreed>| {
        let error = result.unwrap_err();
        assert!(
            matches!(&error, Error::Absent { missing, stopped, .. } if *missing == [0] && *stopped == [0])
        );
        assert!(error.to_string().contains("the process of PE 0 does not run"), "{error}");
    };
    absent(link.meet(Arrival::at(Call::BarrierAll)));
    let mut heard = || FromPe::read(&server.receive(Some(Duration::from_secs(60))).unwrap()).unwrap();
    assert!(matches!(heard(), FromPe::Arrival(arrival) if arrival.number == 1));
    assert!(matches!(heard(), FromPe::Failed { failed: 1, error: Error::Absent { .. } }));
    // It goes on, and answers: too late.
    let answer = ToPe::Answer { number: 1, result: Ok(Agreed::default()) };
    server.send(&answer.write()).unwrap();
    absent(link.meet(Arrival::at(Call::BarrierAll)));
    link.close();
}
