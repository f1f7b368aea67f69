//! The part of a PE: its kernels' records, its host's events and what is known of both, as events of the file.

use super::clock::{self, Alignment};
use super::file::TraceFile;
use super::host::{Event, Kept};
use super::json::{Args, Row, about, span};
use super::log::Read;
use crate::error::Result;
use crate::pe::Pe;
use crate::say::say;
use oxshmem_device::abi::trace::TraceRecord;
use std::collections::BTreeMap;

/// From the process numbers of one run to those of the next of the same process: more than PEs.
const RUNS_APART: u64 = 10_000;
/// The host's row.
const HOST: u64 = 0;

impl TraceFile {
    /// Adds the part of each of these PEs. `over`: all their kernels have ended, and well enough for another one to run.
    ///
    /// # Errors
    /// [`TraceError::File`](crate::error::TraceError::File).
    pub(crate) fn write<'a>(&self, pes: impl Iterator<Item = &'a Pe>, over: bool) -> Result<()> {
        let parts: Vec<String> = pes.flat_map(|pe| part(pe, over)).collect();
        self.add(&parts)
    }
}

/// Where a thread's operations are drawn: the stream, the block, the thread in it.
type Place = (usize, u32, u32);

fn part(pe: &Pe, over: bool) -> Vec<String> {
    let Some(trace) = &pe.trace else { return Vec::new() };
    let kept = std::mem::take(&mut *trace.kept());
    let read = trace.log.read(&*pe.copies).unwrap_or_else(|error| {
        say(format_args!("the timeline lacks the operations of PE {}'s kernels: {error}", pe.me));
        Read::default()
    });
    for (dropped, what) in [(read.dropped, "operations of kernels"), (kept.dropped, "events of the host")] {
        if dropped > 0 {
            say(format_args!(
                "the timeline lacks {dropped} {what} of PE {}, the last ones: OXSHMEM_TRACE_EVENTS makes room for more",
                pe.me
            ));
        }
    }
    // A device that is lost or in use has no time to tell: then the first reading alone counts.
    let end = || over.then(|| clock::read(pe).ok()).flatten();
    let aligned = trace.started.get().map(|start| Alignment::new(*start, end()));
    let pid = pe.job.number * RUNS_APART + u64::from(pe.me);
    let mut lines = describe(pe, pid, aligned, &read, &kept);
    lines.extend(kept.events.iter().map(|event| of_host(event, pid)));
    lines.extend(of_kernels(read.records, &kept, aligned, pid));
    lines
}

/// What is said of the PE as a whole.
fn describe(pe: &Pe, pid: u64, aligned: Option<Alignment>, read: &Read, kept: &Kept) -> Vec<String> {
    let row = Row { pid, tid: HOST };
    let name = match pe.job.number {
        0 => format!("PE {}", pe.me),
        run => format!("PE {}, run {}", pe.me, run + 1),
    };
    let device = &pe.device.info().name;
    let text = |value: &str| Args::default().text("name", value);
    let all = Args::default()
        .number("pe", pe.me)
        .number("pes", pe.job.n_pes)
        .number("run", pe.job.number)
        .number("host_pid", std::process::id())
        .text("device", device)
        .number("operations", read.records.len() as u64)
        .number("operations_dropped", read.dropped)
        .number("host_events", kept.events.len() as u64)
        .number("host_events_dropped", kept.dropped)
        .text("device_clock", if aligned.is_some() { "globaltimer" } else { "that of the host" })
        .number("device_clock_within_ns", aligned.map_or(0, |aligned| aligned.within()))
        .number("device_clock_drift_ppb", aligned.map_or(0, |aligned| aligned.drift()));
    vec![
        about("process_name", row, &text(&name)),
        about("process_labels", row, &Args::default().text("labels", device)),
        about("process_sort_index", row, &Args::default().number("sort_index", pid)),
        about("thread_name", row, &text("host")),
        about("oxshmem_pe", row, &all),
    ]
}

fn of_host(event: &Event, pid: u64) -> String {
    let Event { what, begin, end, error } = event;
    let mut args = Args::default();
    let numbers = [
        ("stream", what.stream.map(|stream| stream as u64)),
        ("launch", what.launch.map(u64::from)),
        ("peer", what.peer.map(u64::from)),
        ("bytes", what.bytes),
    ];
    for (name, value) in numbers {
        args = value.into_iter().fold(args, |args, value| args.number(name, value));
    }
    args = error.iter().fold(args, |args, error| args.text("error", error));
    span(&what.name, "host", Row { pid, tid: HOST }, (*begin, *end), &args)
}

fn of_kernels(
    mut records: Vec<TraceRecord>,
    kept: &Kept,
    aligned: Option<Alignment>,
    pid: u64,
) -> Vec<String> {
    let host = |time| aligned.map_or(time, |aligned| aligned.host(time));
    let known = |record: &TraceRecord| kept.launches.get(&record.launch).copied();
    let stream = |record: &TraceRecord| known(record).map_or(0, |(_, stream)| stream);
    let place = |record: &TraceRecord| (stream(record), record.block, record.thread());
    // What did not return lasts as long as anything of the PE did.
    let last = records.iter().map(|record| record.begin.max(record.end)).max().unwrap_or(0);
    records.sort_by_key(|record| record.begin);

    let streams: BTreeMap<usize, u64> = numbered(records.iter().map(stream), HOST);
    let rows: BTreeMap<Place, u64> = numbered(records.iter().map(place), HOST + streams.len() as u64);
    let mut lines = Vec::with_capacity(records.len() + 2 * (rows.len() + streams.len()));
    let mut row = |tid: u64, name: String| {
        lines.push(about("thread_name", Row { pid, tid }, &Args::default().text("name", &name)));
        let index = Args::default().number("sort_index", tid);
        lines.push(about("thread_sort_index", Row { pid, tid }, &index));
    };
    streams.iter().for_each(|(stream, &tid)| row(tid, format!("kernels of stream {stream}")));
    rows.iter().for_each(|(place, &tid)| row(tid, name_of(*place)));

    // By launch: from its first operation to its last, and how many there are.
    let mut kernels: BTreeMap<u32, (u64, u64, u64, u64)> = BTreeMap::new();
    for record in &records {
        let end = if record.end == 0 { last } else { record.end };
        let tid = streams.get(&stream(record)).copied().unwrap_or(HOST);
        let kernel = kernels.entry(record.launch).or_insert((record.begin, end, 0, tid));
        (kernel.1, kernel.2) = (kernel.1.max(end), kernel.2 + 1);
    }
    for (launch, (begin, end, operations, tid)) in kernels {
        let name = kept.launches.get(&launch).map_or("(kernel)", |(name, _)| *name);
        let args = Args::default().number("launch", launch).number("operations", operations);
        lines.push(span(name, "kernel", Row { pid, tid }, (host(begin), host(end)), &args));
    }
    for record in &records {
        let mut args = Args::default()
            .number("peer", record.peer)
            .number("bytes", record.bytes)
            .number("offset", record.place())
            .text("scope", record.scope())
            .number("launch", record.launch);
        if let Some((kernel, _)) = known(record) {
            args = args.text("kernel", kernel);
        }
        if let Some((protocol, blocks)) = record.chosen() {
            args = args.text("protocol", protocol).number("blocks", blocks);
        }
        if record.end == 0 {
            args = args.flag("unfinished");
        }
        let name = record.operation().map_or("(operation)", |operation| operation.name());
        let end = if record.end == 0 { last } else { record.end };
        let tid = rows.get(&place(record)).copied().unwrap_or(HOST);
        lines.push(span(name, "device", Row { pid, tid }, (host(record.begin), host(end)), &args));
    }
    lines
}

/// Numbers from after `before` on, in the order of what is numbered.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>, before: u64) -> BTreeMap<K, u64> {
    let mut numbers: BTreeMap<K, u64> = keys.map(|key| (key, 0)).collect();
    numbers.values_mut().zip(before + 1..).for_each(|(number, next)| *number = next);
    numbers
}

fn name_of((stream, block, thread): Place) -> String {
    let stream = if stream == 0 { String::new() } else { format!("stream {stream} ") };
    match (thread, thread % 32) {
        (0, _) => format!("{stream}block {block}"),
        (_, 0) => format!("{stream}block {block} warp {}", thread / 32),
        _ => format!("{stream}block {block} thread {thread}"),
    }
}
