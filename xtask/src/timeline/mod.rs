//! `cargo xtask timeline`: a timeline (`OXSHMEM_TRACE`) as a picture.

mod draw;
mod kind;
mod read;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// What of a timeline is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// From how many microseconds after its first event.
    pub from: f64,
    /// To how many; `None`: to the last event.
    pub to: Option<f64>,
    /// Most rows of blocks of each PE.
    pub rows: usize,
    /// Which run of a program that has several, from 1.
    pub run: u64,
}

/// Draws the timeline in `file` as SVG into `out`.
///
/// # Errors
/// If the file is no timeline, has nothing in the window, or the picture cannot be written.
pub fn timeline(file: &Path, out: &Path, window: Window) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let timeline = read::timeline(&text, window.run).with_context(|| file.display().to_string())?;
    let end = window.to.unwrap_or(timeline.end);
    ensure!(window.from < end, "the window from {} to {end} µs is empty", window.from);
    let picture = draw::svg(&timeline, (window.from, end), window.rows);
    fs::write(out, picture).with_context(|| format!("cannot write {}", out.display()))
}
