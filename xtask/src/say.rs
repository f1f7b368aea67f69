//! What the user sees while something takes long: a spinner with the elapsed time on a terminal, plain lines elsewhere.
//!
//! Progress goes to the standard error stream, so that results can be piped.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
pub use oxshmem_doctor::text::{seconds, table};

/// Without a terminal, a line appears this often during a long task.
const PLAIN_EVERY: Duration = Duration::from_secs(30);

/// Something that takes long.
#[derive(Debug)]
pub struct Task {
    what: String,
    start: Instant,
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Task {
    /// Says that it starts.
    pub fn start(what: impl Into<String>) -> Self {
        let what = what.into();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} ({elapsed}) {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(what.clone());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        if bar.is_none() {
            eprintln!("{what} ...");
        }
        Self { what, start: Instant::now(), bar, last: Instant::now() }
    }

    /// Tells what it does now. Without a terminal this is printed now and then.
    pub fn now(&mut self, detail: &str) {
        let detail = detail.trim();
        match &self.bar {
            Some(bar) => bar.set_message(detail.to_owned()),
            None if self.last.elapsed() >= PLAIN_EVERY => {
                self.last = Instant::now();
                eprintln!("{}: {} so far: {detail}", self.what, seconds(self.start.elapsed()));
            }
            None => {}
        }
    }

    /// Says that it is done, and how long it took.
    pub fn done(self) -> Duration {
        self.end("")
    }

    /// Says that it failed.
    pub fn failed(self) -> Duration {
        self.end(" FAILED after")
    }

    fn end(self, verdict: &str) -> Duration {
        let took = self.start.elapsed();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{}:{verdict} {}", self.what, seconds(took));
        took
    }
}
