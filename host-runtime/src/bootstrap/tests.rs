//! Jobs of several processes, each of them a thread here: they come together whatever strangers do, and say in words
//! why they do not. What happens when one dies needs real processes, and is tested elsewhere.

use super::publication;
use crate::config::{Config, DeviceChoice, Rendezvous};
use crate::error::{Error, Result};
use crate::group::FromPe;
use crate::launched::{Launched, Meeting};
use crate::shmem::Shmem;
use crate::wire::{Address, Channel, Secret, connect};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// The name of a job that no other test has.
fn job() -> String {
    format!("test {}", Secret::random().unwrap().to_hex())
}

fn config(job: &str, rank: u32, size: u32) -> Config {
    let meeting = Meeting::Named(job.to_owned());
    let launched = Launched { rank, size, local_rank: rank, meeting, refused: None };
    let mut config = Config::default().pes(size).device(DeviceChoice::Emulated).heap_limit(64 << 20);
    config.launched = Some(launched);
    config.join_deadline(LIMIT)
}

/// Allocates twice, so that the heap grows, and counts the PEs.
fn work(shmem: &Shmem) -> Result<u32> {
    let small = shmem.alloc_zeroed::<u32>(10)?;
    let large = shmem.alloc_from_fn(1 << 20, |i| i as u32)?;
    assert_eq!(large.read()?[77], 77);
    shmem.free(small)?;
    let ranks = shmem.all_gather(&shmem.my_pe())?;
    assert!(ranks.iter().copied().eq(0..shmem.n_pes()));
    shmem.barrier_all()?;
    Ok(ranks.len() as u32)
}

/// Runs the PEs of `configs`, each as if it were a process.
fn run(configs: Vec<Config>) -> Vec<Result<u32>> {
    std::thread::scope(|scope| {
        let spawn = |config: Config| scope.spawn(move || Ok(config.run(|shmem| work(&shmem))?[0]));
        let threads: Vec<_> = configs.into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn all_right(results: &[Result<u32>]) {
    let right = |result: &Result<u32>| matches!(result, Ok(n) if *n as usize == results.len());
    assert!(results.iter().all(right), "{results:?}");
}

#[test]
fn processes_come_together_over_both_kinds_of_socket() {
    let over = [Rendezvous::Unix, Rendezvous::Tcp(Ipv4Addr::LOCALHOST.into())];
    for rendezvous in over {
        for size in [2, 3, 5] {
            let job = job();
            all_right(&run((0..size).map(|rank| config(&job, rank, size).rendezvous(rendezvous)).collect()));
        }
    }
}

#[test]
fn memory_that_runs_out_on_one_pe_is_an_error_on_all_and_nothing_has_changed() {
    let job = job();
    let each = |config: Config| {
        std::thread::spawn(move || {
            config.run(|shmem| {
                let kept = shmem.alloc_from_fn(1000, |i| i as u32)?;
                // PE 1 has not got as much as the heap may be.
                let local = (shmem.my_pe() == 1).then(|| shmem.device_zeroed::<u8>(40 << 20)).transpose()?;
                for _ in 0..3 {
                    let error = shmem.alloc_zeroed::<u8>(40 << 20).unwrap_err();
                    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
                }
                assert_eq!(kept.read()?[999], 999);
                drop(local);
                shmem.barrier_all()?;
                shmem.alloc_zeroed::<u8>(40 << 20)?;
                work(&shmem)
            })
        })
    };
    let memory = |rank| config(&job, rank, 2).heap_limit(60 << 20).emulated_memory(64 << 20);
    for thread in [each(memory(0)), each(memory(1))] {
        assert_eq!(thread.join().unwrap().unwrap(), [2]);
    }
}

#[test]
fn a_program_may_run_twice() {
    let job = job();
    for _ in 0..2 {
        all_right(&run((0..2).map(|rank| config(&job, rank, 2)).collect()));
    }
}

#[test]
fn who_does_not_come_is_named() {
    let job = job();
    let soon = |rank| config(&job, rank, 4).join_deadline(Duration::from_millis(300));
    let results = run(vec![soon(0), soon(2)]);
    let missing =
        |error: &Error| matches!(error.root(), Error::Missing { missing, .. } if *missing == [1, 3]);
    assert!(results.iter().all(|result| result.as_ref().is_err_and(missing)), "{results:?}");
    let lonely = run(vec![soon(1)]);
    let error = lonely[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("PE 1 could not join") && error.contains("was PE 0 started"), "{error}");
}

#[test]
fn what_differs_is_named_with_both_values() {
    let job = job();
    let odd = config(&job, 1, 2).deadline(Duration::from_secs(7));
    let results = run(vec![config(&job, 0, 2), odd]);
    for result in results {
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("OXSHMEM_DEADLINE") && error.contains("7s") && error.contains("30s"),
            "{error}"
        );
    }
}

#[test]
fn a_second_job_of_the_same_name_and_a_second_pe_of_the_same_rank_are_told_so() {
    let (job, name) = (job(), "one run");
    let (told, tells) = std::sync::mpsc::channel();
    let join = |rank: u32, size: u32| {
        let (config, told) = (config(&job, rank, size), told.clone());
        let launched = config.launched.clone().unwrap();
        std::thread::spawn(move || {
            let joined = match rank {
                0 => super::host::join(&config, &launched, &Meeting::Named(name.into())),
                _ => super::guest::join(&config, &launched, &Meeting::Named(name.into())),
            };
            let _ = told.send(joined.as_ref().err().map(|error| (rank, error.to_string())));
            joined.ok()
        })
    };
    let next_error = || tells.recv_timeout(LIMIT).unwrap().unwrap();
    let mut honest = vec![join(0, 3)];
    publication::find(9, name, Instant::now() + LIMIT).unwrap();
    // A second job.
    join(0, 3);
    let (rank, error) = next_error();
    assert!(rank == 0 && error.contains("give each job its own name"), "{error}");
    // Of two with the same rank one is let in, and waits.
    honest.extend([join(1, 3), join(1, 3)]);
    let (rank, error) = next_error();
    assert!(rank == 1 && error.contains("has this rank already"), "{error}");
    for (rank, size, says) in [(3, 4, "the number of processes"), (3, 3, "no such rank")] {
        join(rank, size);
        let (_, error) = next_error();
        assert!(error.contains(says), "{error}");
    }
    honest.push(join(2, 3));
    // All stay until each has what it needs of the others.
    let joined: Vec<_> = honest.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(joined.len(), 3);
}

/// A connection that knows nothing of the protocol.
fn raw(address: &Address) -> std::io::Result<Box<dyn Write + Send>> {
    Ok(match address {
        Address::Tcp(address) => Box::new(TcpStream::connect(address)?),
        Address::Unix(name) => {
            Box::new(UnixStream::connect_addr(&SocketAddr::from_abstract_name(name.as_bytes())?)?)
        }
    })
}

/// A member's message of which something is wrong.
fn nonsense(turn: u32) -> Vec<u8> {
    let mut message = FromPe::Failed { failed: turn, error: Error::other("nonsense") }.write();
    let length = message.len();
    message[turn as usize % length] ^= 0x80 | turn as u8;
    message.truncate(1 + turn as usize / 7 % length);
    message
}

fn until(done: &AtomicBool, each: impl Fn()) {
    while !done.load(Ordering::Acquire) {
        each();
    }
}

/// PEs 0 and 1 have come, and PE 2 comes when strangers have done their worst for a while, and go on.
fn under_attack(rendezvous: Rendezvous) {
    let full = std::env::var_os("OXSHMEM_TEST_FULL").is_some();
    // Over TCP a connection that ended occupies its port for a minute.
    let (enough, pause) = match rendezvous {
        Rendezvous::Unix if full => (1_000_000, Duration::ZERO),
        Rendezvous::Unix => (10_000, Duration::ZERO),
        Rendezvous::Tcp(_) => (1000, Duration::from_millis(1)),
    };
    let (job, done) = (job(), AtomicBool::new(false));
    let (wrong, mad, slow) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let with = |rank| config(&job, rank, 3).rendezvous(rendezvous).join_deadline(60 * LIMIT);
    let both = vec![with(0), with(1)];
    let honest = std::thread::spawn(|| run(both));
    let id = &publication::find(9, &format!("{job}:1"), Instant::now() + LIMIT).unwrap();
    let (done, wrong, mad, slow) = (&done, &wrong, &mad, &slow);
    std::thread::scope(|scope| {
        // Idle ones: as many as the limit of descriptors lets this process hold besides.
        let _idle: Vec<_> = (0..200).filter_map(|_| raw(&id.address).ok()).collect();
        scope.spawn(move || {
            let other = Secret::random().unwrap();
            until(done, || {
                let opened = connect(&id.address, Instant::now())
                    .is_ok_and(|stream| Channel::connect(stream, &other, LIMIT).is_ok());
                assert!(!opened, "a wrong secret opens nothing");
                std::thread::sleep(pause);
                wrong.fetch_add(1, Ordering::Relaxed);
            });
        });
        scope.spawn(move || {
            until(done, || {
                let Ok(stream) = connect(&id.address, Instant::now()) else { return };
                std::thread::sleep(pause);
                // Others may crowd it out.
                let Ok(mut channel) = Channel::connect(stream, &id.secret, LIMIT) else { return };
                // The other side may hang up.
                let _ = channel.send(&nonsense(mad.fetch_add(1, Ordering::Relaxed)));
            });
        });
        scope.spawn(move || {
            until(done, || {
                let Ok(mut stream) = raw(&id.address) else { return };
                for _ in 0..20 {
                    // The other side may hang up.
                    let _ = stream.write_all(b"x");
                    std::thread::sleep(Duration::from_millis(5));
                }
                slow.fetch_add(1, Ordering::Relaxed);
            });
        });
        let counts = || [wrong, mad, slow].map(|count| count.load(Ordering::Relaxed));
        while counts()[1] < enough || counts()[0] < 100 || counts()[2] < 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut results = run(vec![with(2)]);
        eprintln!("{rendezvous:?}: [wrong secret, nonsense, one byte at a time] = {:?}", counts());
        results.extend(honest.join().unwrap());
        done.store(true, Ordering::Release);
        all_right(&results);
    });
}

#[test]
fn strangers_keep_nobody_out_over_unix() {
    under_attack(Rendezvous::Unix);
}

#[test]
fn strangers_keep_nobody_out_over_tcp() {
    under_attack(Rendezvous::Tcp(Ipv4Addr::LOCALHOST.into()));
}
