//! How fast the emulator switches: `cargo run --release -p oxshmem-emulator --example speed`.
//!
//! One line per case: millions of switches per second of one device, by the device's own count.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Job, signal};
use oxshmem_device::Collective;
use oxshmem_device::prelude::*;
use oxshmem_emulator::MachineConfig;
use std::time::Instant;

/// Switches that a case should make, more or less.
const SWITCHES: u32 = 20_000_000;

fn measure(
    name: &str,
    devices: u32,
    (blocks, threads): (u32, u32),
    each: impl Fn(Collective) + Clone + Send + 'static,
) {
    let job = Job::new(devices, MachineConfig { devices, ..MachineConfig::default() });
    let rounds = (SWITCHES / (blocks * threads)).max(1);
    let kernel = move |shmem: Collective| (0..rounds).for_each(|_| each(shmem));
    // Once to make the stacks.
    job.launch_all((blocks, threads), |_| ());
    job.finish();
    let before = job.pes[0].device.statistics();
    let start = Instant::now();
    job.launch_all((blocks, threads), kernel);
    job.finish();
    let seconds = start.elapsed().as_secs_f64();
    let after = job.pes[0].device.statistics();
    let rate = |count: u64| count as f64 / seconds / 1e6;
    println!(
        "{name:<34} {devices} device(s) {blocks:>3} x {threads:<4} {:>7.2} M switches/s",
        rate(after.switches - before.switches)
    );
}

fn main() {
    for shape in [(1, 1), (1, 32), (1, 256), (4, 256), (8, 1024)] {
        measure("signal_fetch (operation and load)", 1, shape, |shmem| {
            shmem.thread().signal_fetch(signal(0));
        });
    }
    for shape in [(1, 32), (1, 1024), (8, 1024)] {
        measure("block barrier", 1, shape, |shmem| shmem.block().sync());
        measure("warp sync", 1, shape, |_| warp::sync());
    }
    measure("signal_fetch (operation and load)", 2, (1, 256), |shmem| {
        shmem.thread().signal_fetch(signal(0));
    });
    // A round trip of two PEs: a signal and a wait each.
    let job = Job::devices(2);
    let rounds = 100_000u64;
    let start = Instant::now();
    job.launch_all((1, 1), move |shmem| {
        let thread = shmem.thread();
        for round in 1..=rounds {
            if shmem.my_pe() == 0 {
                thread.signal(signal(0), SignalOp::Set(round), 1);
            }
            thread.wait_reached(signal(0), round);
            if shmem.my_pe() == 1 {
                thread.signal(signal(0), SignalOp::Set(round), 0);
            }
        }
    });
    job.finish();
    println!(
        "ping-pong of two devices: {:.2} us a round trip",
        start.elapsed().as_secs_f64() * 1e6 / rounds as f64
    );
}
