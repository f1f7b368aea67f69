//! How many work requests a second one thread executes: both NICs of a pair, and the driver, in this thread.
//!
//! `cargo run --release -p oxshmem-emulator --example nic_speed`

#[path = "../tests/nic_poster/mod.rs"]
mod nic_poster;

use nic_poster::{Entry, Pair, Setup};
use std::time::Instant;

fn main() {
    type Kind = (&'static str, fn(&Pair) -> Entry);
    let kinds: [Kind; 5] = [
        ("write 8 B inline", |pair| Entry::inline(pair.remote(0), &[1; 8])),
        ("write 8 B", |pair| Entry::write(pair.remote(0), pair.local(0), 8)),
        ("write 4 KiB", |pair| Entry::write(pair.remote(0), pair.local(0), 4096)),
        ("read 8 B", |pair| Entry::read(pair.remote(0), pair.local(0), 8)),
        ("fetch-and-add 8 B", |pair| Entry::fetch_add(pair.remote(0), pair.local(0), 1)),
    ];
    for seed in [None, Some(1), Some(2)] {
        for (name, make) in kinds {
            for batch in [1, 32] {
                let mut pair = Pair::new(Setup { seed, mtu: 4096, ..Setup::default() });
                let start = Instant::now();
                let mut done = 0;
                while start.elapsed().as_millis() < 200 {
                    for last in 1..=batch {
                        let entry = make(&pair);
                        let flags = if last == batch { nic_poster::SIGNAL } else { 0 };
                        pair.a.post(entry.flags(flags));
                    }
                    pair.a.ring();
                    pair.completions(1);
                    done += batch;
                }
                pair.assert_clean();
                let rate = f64::from(done) / start.elapsed().as_secs_f64();
                let adversary = seed.map_or("no adversary".to_owned(), |seed| format!("seed {seed}"));
                println!(
                    "{name:20} batches of {batch:2}, {adversary:14} {:8.0} thousand a second",
                    rate / 1000.0
                );
            }
        }
    }
}
