//! What a process of a row does: it comes to the row's point as every PE, and there it dies or sees what it is told.

use super::PES;
use super::misuse::{LEN, SHAPE, registers_elsewhere, uses_dropped};
use super::said::{self, Said};
use super::table::{By, Point, Row, What};
use super::waits::{self, GROWTH};
use crate::kernels::failures::wait_for_ever;
use crate::kernels::registered::put_in_rounds;
use crate::kernels::scope;
use crate::own_memory::OwnMemory;
use oxshmem::{Config, Error, LaunchConfig, Result, Shmem, UniqueId};
use rustix::process::{Signal, getpid, kill_process};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// One that must not come to a call sleeps this long: longer than any row may take.
const FOR_EVER: Duration = Duration::from_secs(600);
/// How long after the word one comes late: most of the time the others have been told then.
const LATE: Duration = Duration::from_millis(100);

/// The variable by which this program tells its process which PE that is.
pub(super) const RANK: &str = "FAULTS_RANK";
/// The variable that names the file of the unique id.
pub(super) const ID_FILE: &str = "FAULTS_UNIQUE_ID";

/// One PE of a row.
pub(super) fn main(row: Row) -> ExitCode {
    let result = match row.by {
        By::UniqueId => by_id(row),
        _ => oxshmem::run(|shmem| body(&shmem, row)),
    };
    say(&Said::Run(said::result(&result)));
    if let Err(error) = &result {
        eprintln!("{error}");
    }
    if row.point == Point::Returned && own_rank() == Some(row.victim) {
        die();
    }
    ExitCode::from(u8::from(result.is_err()))
}

fn own_rank() -> Option<u32> {
    std::env::var(RANK).ok()?.parse().ok()
}

/// The run of a process that joins by a unique id, which PE 0 writes to a file.
fn by_id(row: Row) -> Result<()> {
    let path = std::env::var_os(ID_FILE).unwrap_or_default();
    let rank = own_rank().unwrap_or_default();
    let config = Config::from_env()?;
    let id = if rank == 0 {
        let id = config.new_unique_id()?;
        // Whole at once.
        let mut unfinished = path.clone();
        unfinished.push(".part");
        std::fs::write(&unfinished, id.to_bytes())?;
        std::fs::rename(&unfinished, &path)?;
        id
    } else {
        let mut read = std::fs::read(&path);
        for _ in 0..3000 {
            if read.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            read = std::fs::read(&path);
        }
        UniqueId::from_bytes(&read?).map_err(Error::other)?
    };
    config.unique_id(rank, PES, &id).run(|shmem| body(&shmem, row)).map(drop)
}

pub(super) fn say(said: &Said) {
    // Whole lines at once; nobody may be listening any more.
    let _ = writeln!(std::io::stdout(), "{}", said.line());
}

/// Says what the row's call returned, and passes it on.
pub(super) fn call<T>(result: Result<T>) -> Result<()> {
    say(&Said::Call(said::result(&result)));
    result.map(drop)
}

/// Waits for the word to go on, which is the end of the input.
pub(super) fn hold() {
    let _ = std::io::stdin().read(&mut [0]);
}

/// What one does that must not come: until it is killed.
pub(super) fn sleep_for_ever() {
    std::thread::sleep(FOR_EVER);
}

fn die() {
    // It does not return: this signal cannot be caught.
    let _ = kill_process(getpid(), Signal::KILL);
}

/// Has the runtime kill this process at its next point of this name.
fn arm(name: &str, me: u32) {
    // SAFETY: other threads of this process that read the environment do so through the standard library, which keeps
    // order between them and this; C code has read it when the device was opened.
    unsafe { std::env::set_var("OXSHMEM_FAULT", format!("{name}:{me}")) };
}

fn body(shmem: &Shmem, row: Row) -> Result<()> {
    let me = shmem.my_pe();
    let is_victim = row.is_victim(me);
    let signals = shmem.alloc_signals(1)?;
    let data = shmem.alloc_from_fn(LEN, |i| i as u32 + me)?;
    if me == 0 {
        say(&Said::Device(shmem.device_name().to_owned()));
    }
    shmem.barrier_all()?;
    let wait = |on: &Shmem| {
        wait_for_ever::launch(on, LaunchConfig::blocks(2).threads(64), signals.at(0), scope::GRID, 1)
    };
    let make_ready = || {
        say(&Said::Ready);
        if is_victim {
            hold();
        }
    };
    match row.point {
        Point::Nowhere | Point::Server(_) | Point::Starting(_) | Point::Returned => call(shmem.barrier_all()),
        Point::Growth(name) => {
            wait(shmem)?;
            make_ready();
            if is_victim {
                arm(name, me);
            }
            call(shmem.alloc_zeroed::<u8>(GROWTH))
        }
        Point::Kernel => {
            wait(shmem)?;
            say(&Said::Ready);
            call(shmem.synchronize())
        }
        Point::Registered => {
            let mut own = OwnMemory::new(shmem, LEN)?;
            // SAFETY: it is dropped after the registration, at the end of which nothing uses it.
            let registered = unsafe { shmem.buffer_register(own.start(), LEN)? };
            put_in_rounds::launch(shmem, SHAPE, &data, &registered, signals.at(0), u64::MAX)?;
            say(&Said::Ready);
            let synchronized = call(shmem.synchronize());
            // The memory is the program's again, whatever became of the kernel.
            shmem.buffer_unregister(registered)?;
            synchronized
        }
        Point::HostWait => absent(is_victim, || {
            let stream = shmem.stream()?;
            let shape = LaunchConfig::blocks(2).threads(64);
            wait_for_ever::launch_on(shmem, &stream, shape, signals.at(0), scope::GRID, 1)?;
            stream.synchronize()
        }),
        Point::Barrier if matches!(row.what, What::Killed | What::Stopped) => {
            absent(is_victim, || shmem.barrier_all())
        }
        Point::Barrier => {
            make_ready();
            match row.what {
                What::Panics if is_victim => panic!("on purpose"),
                What::Fails if is_victim => Err(Error::other("on purpose")),
                What::Exits if is_victim => std::process::exit(3),
                What::UsesDropped if is_victim => uses_dropped(shmem, &data, &signals),
                What::RegistersElsewhere if is_victim => registers_elsewhere(shmem),
                _ => call(shmem.barrier_all()),
            }
        }
        Point::InsideBarrier => {
            say(&Said::Ready);
            if me == (row.victim + 1) % shmem.n_pes() {
                hold();
                std::thread::sleep(LATE);
            }
            call(shmem.barrier_all())
        }
        Point::Free => {
            make_ready();
            if is_victim {
                arm("free", me);
            }
            call(shmem.free(data))
        }
        Point::Waits(wait) => waits::body(shmem, row, wait),
        Point::Gather => absent(is_victim, || shmem.all_gather(&me)),
        Point::Recover => absent(is_victim, || shmem.recover()),
        Point::End => {
            let met = call(shmem.barrier_all());
            make_ready();
            match row.what {
                What::Stopped if is_victim => sleep_for_ever(),
                _ if is_victim => arm("end", me),
                _ => {}
            }
            met
        }
        Point::Ended => {
            let met = call(shmem.barrier_all());
            say(&Said::Ready);
            // The others come to their ends later, so that it is not over for all before it happens.
            hold();
            if is_victim {
                arm("ended", me);
            }
            met
        }
    }
}

/// Makes a call, to which the victim does not come.
fn absent<T>(is_victim: bool, make: impl FnOnce() -> Result<T>) -> Result<()> {
    say(&Said::Ready);
    if is_victim {
        sleep_for_ever();
    }
    call(make())
}
