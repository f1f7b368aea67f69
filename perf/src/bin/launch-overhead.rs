//! What a typed launch costs on the host, against the driver's bare call on the same function and stream.
//!
//! `launch-overhead [LAUNCHES]`; one row per line: program, device, row, value. Typed and bare launches alternate, so that
//! a slow moment of the machine hits both; the stream is drained now and then, so that its queue never fills. The emulator
//! has no bare call: there only the typed launch is measured.

use oxshmem::cuda::{Prepare, RawLaunch};
use oxshmem::{LaunchConfig, Result, Shmem};
use oxshmem_device::launch::Launcher;
use oxshmem_perf::{nothing, nothing_together};
use std::process::ExitCode;
use std::time::Instant;

/// Launches of each kind without an argument: enough for a 99th percentile that repeats.
const LAUNCHES: usize = 10_000;

/// Without a GPU a launch runs the kernel on the spot, so fewer do.
const EMULATED_LAUNCHES: usize = 200;

/// Launches between two drains: far below the 1024 that a stream of the driver queues.
const DRAIN_EVERY: usize = 16;

const CONFIG: LaunchConfig = LaunchConfig::blocks(1).threads(32);

/// Times of single launches, in microseconds, sorted in the end.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn add<T>(&mut self, launch: impl FnOnce() -> Result<T>) -> Result<()> {
        let start = Instant::now();
        launch()?;
        self.0.push(start.elapsed().as_secs_f64() * 1e6);
        Ok(())
    }

    fn sort(&mut self) {
        self.0.sort_by(f64::total_cmp);
    }

    /// The value that this share of the sorted times does not exceed.
    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

/// One kernel, by its typed launch and by the driver's call.
struct Measured {
    kind: &'static str,
    typed: Times,
    bare: Option<Times>,
}

impl Measured {
    fn print(mut self, device: &str) {
        let mut rows = Vec::new();
        self.typed.sort();
        for (name, share) in [("median", 0.5), ("p99", 0.99)] {
            let typed = self.typed.at(share);
            rows.push((format!("typed, {name}"), typed));
            if let Some(bare) = &mut self.bare {
                bare.sort();
                rows.push((format!("bare, {name}"), bare.at(share)));
                rows.push((format!("difference, {name}"), typed - bare.at(share)));
            }
        }
        for (row, micros) in rows {
            println!("launch-overhead  {device}  {}, {row}  {micros:.3} us", self.kind);
        }
    }
}

/// Launches in turns. `typed` starts the kernel by its generated `launch`.
fn measure(
    shmem: &Shmem,
    kind: &'static str,
    launches: Option<usize>,
    typed: impl Fn() -> Result<()>,
    prepare: impl Fn(&Prepare<'_>) -> Result<()>,
) -> Result<Measured> {
    // On the emulator nothing can be prepared, and an error says so.
    let bare: Option<RawLaunch> = {
        let place = Prepare::new(shmem);
        prepare(&place).and_then(|()| place.finish()).ok()
    };
    let launches = launches.unwrap_or(if bare.is_some() { LAUNCHES } else { EMULATED_LAUNCHES });
    let drain = || {
        bare.as_ref().map_or(Ok(()), RawLaunch::synchronize)?;
        shmem.synchronize()
    };
    let mut measured =
        Measured { kind, typed: Times::default(), bare: bare.as_ref().map(|_| Times::default()) };
    // The first launches load code and fill caches: they do not count.
    for counted in [false, true] {
        let (mut typed_times, mut bare_times) = (Times::default(), Times::default());
        for i in 0..if counted { launches } else { DRAIN_EVERY * 4 } {
            typed_times.add(&typed)?;
            if let Some(bare) = &bare {
                // SAFETY: the kernel touches no memory.
                bare_times.add(|| unsafe { bare.launch() })?;
            }
            if i % DRAIN_EVERY == DRAIN_EVERY - 1 {
                drain()?;
            }
        }
        drain()?;
        measured.typed = typed_times;
        measured.bare = bare.as_ref().map(|_| bare_times);
    }
    Ok(measured)
}

fn plain<L: Launcher>(on: &L) -> std::result::Result<(), L::Error> {
    nothing::launch(on, CONFIG, 1)
}

fn collective<L: Launcher>(on: &L) -> std::result::Result<(), L::Error> {
    nothing_together::launch(on, CONFIG, 1)
}

fn launch_overhead(launches: Option<usize>) -> Result<()> {
    oxshmem::run(|shmem| {
        let rows = [
            measure(&shmem, "plain", launches, || plain(&shmem), |on| plain(on))?,
            measure(&shmem, "collective", launches, || collective(&shmem), |on| collective(on))?,
        ];
        shmem.barrier_all()?;
        if shmem.my_pe() == 0 {
            if rows[0].bare.is_none() {
                eprintln!("launch-overhead: there is no bare call on {}", shmem.device_name());
            }
            rows.into_iter().for_each(|measured| measured.print(shmem.device_name()));
        }
        Ok(())
    })
}

fn main() -> ExitCode {
    let launches = match std::env::args().nth(1).map(|text| text.parse()) {
        None => None,
        Some(Ok(launches)) if launches > 0 => Some(launches),
        Some(_) => {
            eprintln!("launch-overhead: the number of launches is a whole number from 1 on");
            return ExitCode::from(2);
        }
    };
    match launch_overhead(launches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("launch-overhead: {error}");
            ExitCode::FAILURE
        }
    }
}
