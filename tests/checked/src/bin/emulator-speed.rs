//! `emulator-speed [--json]`: operations per second of the checker and of the emulator alone, on one core, with 4 PEs of
//! 4 blocks of 128 threads. Text, or a JSON object per line.
//!
//! Ends with 1 if the checker finds something, which it must not. It does not fail because it is slow: each line names
//! the bar.

use oxshmem_checked::speed::{self, OPERATIONS_PER_ROUND};
use std::fs;
use std::process::ExitCode;

/// Operations of the runs that show that nothing is wrong with the kernel.
const FEW: u64 = 10_000;
/// Operations of the runs that are timed.
const MANY: u64 = 1_000_000;
/// Operations per second that the checker must reach, and the bytes that it may take.
const CHECKED: (f64, Option<u64>) = (100e3, Some(2 << 30));
/// Operations per second that the emulator alone must reach.
const UNCHECKED: (f64, Option<u64>) = (500e3, None);
/// Seeds, one of each style, and what they do with what is under way.
const SEEDS: [(u64, &str); 3] = [
    (1, "checked, delivered at random"),
    (2, "checked, held back for one PE"),
    (3, "checked, delivered early"),
];

/// A timed run.
struct Line {
    case: &'static str,
    operations: u64,
    seconds: f64,
    /// The most memory that this process had, in bytes.
    peak: u64,
    bar: (f64, Option<u64>),
}

impl Line {
    fn per_second(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    fn text(&self) -> String {
        let Self { case, operations, seconds, peak, bar: (rate, bytes) } = self;
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let less = bytes.map_or(String::new(), |bytes| format!(" in less than {}", mib(bytes)));
        format!(
            "{case:<30}  {operations} operations  {seconds:.2} s  {:.0} operations/s  peak {}  bar {rate:.0} operations/s{less}",
            self.per_second(),
            mib(*peak)
        )
    }

    fn json(&self) -> String {
        let Self { case, operations, seconds, peak, bar: (rate, bytes) } = self;
        let bytes = bytes.map_or("null".to_owned(), |bytes| bytes.to_string());
        format!(
            r#"{{"case":"{case}","value":{:.0},"unit":"operations/s","bar":{rate:.0},"operations":{operations},"seconds":{seconds:.3},"peak_bytes":{peak},"bar_bytes":{bytes}}}"#,
            self.per_second()
        )
    }
}

fn main() -> ExitCode {
    let json = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [option] if option == "--json" => true,
        _ => {
            eprintln!("usage: emulator-speed [--json]");
            return ExitCode::from(2);
        }
    };
    let mut show = |line: &Line| println!("{}", if json { line.json() } else { line.text() });
    match measure(&mut show) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("Error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Makes all runs.
fn measure(show: &mut dyn FnMut(&Line)) -> Result<(), String> {
    let error = |error: oxshmem_emulator::Error| error.to_string();
    let rounds = |operations: u64| operations.div_ceil(OPERATIONS_PER_ROUND);
    let operations = OPERATIONS_PER_ROUND * rounds(MANY);
    for rounds in [FEW, MANY].map(rounds) {
        let timed = rounds * OPERATIONS_PER_ROUND >= MANY;
        forget_peak();
        let time = speed::unchecked(rounds).map_err(error)?;
        if timed {
            let (case, seconds, peak) = ("unchecked", time.as_secs_f64(), peak());
            show(&Line { case, operations, seconds, peak, bar: UNCHECKED });
        }
        for (seed, case) in SEEDS {
            forget_peak();
            let (report, time) = speed::checked(rounds, seed).map_err(error)?;
            if let Some((finding, _)) = report.findings.first() {
                return Err(format!("{case}, seed {seed}, {rounds} rounds: found {finding}"));
            }
            if timed {
                let (seconds, peak) = (time.as_secs_f64(), peak());
                show(&Line { case, operations, seconds, peak, bar: CHECKED });
            }
        }
    }
    Ok(())
}

/// Lets the system count this process's peak from now on. Where it does not, the peak is that of all runs so far.
fn forget_peak() {
    // proc(5), /proc/pid/clear_refs.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that this process had, in bytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    kib.map_or(0, |kib: u64| kib << 10)
}
