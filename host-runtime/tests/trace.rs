//! Timelines: what is in the file of a run with `OXSHMEM_TRACE`, of threads and of processes, well and not well ended. Each
//! run is a child process, or several: this test program again.
#![allow(missing_docs, unreachable_pub)]

mod common;

use common::again::again;
use common::says;
use oxshmem::Shmem;
use oxshmem_device::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Elements of a message.
const ELEMENTS: usize = 96;
const ROUNDS: u64 = 3;
const BLOCKS: u32 = 2;

/// Each block passes messages around the ring and updates a word of its own.
#[nvshmem_kernel]
pub fn passes(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    ready: Sym<[Signal]>,
    words: Sym<[Atomic<u64>]>,
    before: u64,
) {
    let (block, number) = (shmem.block(), u64::from(thread::block()));
    let part = |of: Sym<[u32]>| of.slice(number * ELEMENTS as u64, ELEMENTS as u64);
    let mut round = before + 1;
    while round <= before + ROUNDS {
        let signal = ready.at(number);
        block.put_signal(part(target), part(source), signal, SignalOp::Set(round), shmem.next_pe());
        block.wait_reached(signal, round);
        round += 1;
    }
    if block.is_leader() {
        shmem.thread().atomic_fetch_add(words.at(number), 1, shmem.prev_pe());
    }
    block.quiet();
    if number == 0 {
        block.barrier_all();
    }
}

/// A sum, by the block and by the grid.
#[nvshmem_kernel]
pub fn sums(shmem: Collective, numbers: Sym<[u32]>) {
    if thread::block() == 0 {
        shmem.block().reduce(Sum, numbers, numbers);
    }
    shmem.grid().reduce(Sum, numbers, numbers);
    shmem.grid().collect(numbers.slice(0, u64::from(shmem.n_pes())), numbers.slice(0, 1));
}

/// What a child does, by the variable `TRACED`.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let what = std::env::var("TRACED").unwrap();
    let result = oxshmem::run(|shmem| match what.as_str() {
        "passes" => pass(&shmem),
        "dies" => dies(&shmem),
        "expires" => expires(&shmem),
        "replays" => replays(&shmem),
        "sums" => {
            let numbers = shmem.alloc_zeroed::<u32>(1 << 13)?;
            sums::launch(&shmem, LaunchConfig::blocks(BLOCKS).threads(64), &numbers)?;
            shmem.barrier_all()
        }
        "leaves" => {
            std::env::set_current_dir("/").unwrap();
            pass(&shmem)
        }
        other => panic!("{other}"),
    });
    println!("\nRESULT {}", result.map_or_else(|error| error.to_string(), |()| "well".to_owned()));
}

fn pass(shmem: &Shmem) -> oxshmem::Result<()> {
    let (target, source) = (
        shmem.alloc_zeroed::<u32>(ELEMENTS * BLOCKS as usize)?,
        shmem.alloc_zeroed(ELEMENTS * BLOCKS as usize)?,
    );
    let ready = shmem.alloc_signals(BLOCKS as usize)?;
    let words = shmem.alloc_atomics::<u64>(BLOCKS as usize, Reach::World)?;
    let config = LaunchConfig::blocks(BLOCKS).threads(64);
    passes::launch(shmem, config, &target, &source, &ready, &words, 0)?;
    shmem.barrier_all()?;
    shmem.put(target.slice(0, 2), &[1, 2], (shmem.my_pe() + 1) % shmem.n_pes())?;
    shmem.barrier_all()
}

fn dies(shmem: &Shmem) -> oxshmem::Result<()> {
    pass(shmem)?;
    if shmem.my_pe() == 1 {
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
    }
    shmem.barrier_all()
}

fn expires(shmem: &Shmem) -> oxshmem::Result<()> {
    let signal = shmem.alloc_signals(1)?;
    common::wait_for::launch(shmem, common::ONE, signal.at(0), 1)?;
    shmem.barrier_all()
}

fn replays(shmem: &Shmem) -> oxshmem::Result<()> {
    let (signal, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
    let graph =
        stream.capture(|| common::set_signal::launch_on(shmem, &stream, common::ONE, signal.at(0), 1, 0))?;
    for _ in 0..2 {
        graph.launch(&stream)?;
    }
    stream.synchronize()?;
    shmem.barrier_all()
}

/// A folder for one test, which is empty at the start and removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oxshmem-traced-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("trace.json")
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(what: &str, variables: &[(&str, &str)], file: Option<&Path>) -> Command {
    let mut command = again("child");
    command.env("TRACED", what).env("OXSHMEM_DEVICE", "emulated").env("OXSHMEM_HEAP", "16M");
    command.envs(file.map(|file| ("OXSHMEM_TRACE", file))).envs(variables.iter().copied());
    command
}

/// Runs PEs as threads; what the child says on both streams.
fn threads(what: &str, pes: &str, variables: &[(&str, &str)], file: Option<&Path>) -> String {
    let Output { stdout, stderr, .. } =
        command(what, variables, file).env("OXSHMEM_PES", pes).output().unwrap();
    String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap()
}

/// Runs each PE as a process; what each says.
fn processes(what: &str, pes: u32, file: &Path) -> Vec<String> {
    let job = format!("traced-{what}-{}", std::process::id());
    let start = |rank: u32| {
        let mut command = command(what, &[("OXSHMEM_JOB", &job)], Some(file));
        for name in ["OXSHMEM_RANK", "OXSHMEM_LOCAL_RANK"] {
            command.env(name, rank.to_string());
        }
        for name in ["OXSHMEM_WORLD_SIZE", "OXSHMEM_LOCAL_WORLD_SIZE"] {
            command.env(name, pes.to_string());
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..pes).map(start).collect();
    let outputs = children.into_iter().map(|child| child.wait_with_output().unwrap());
    outputs.map(|Output { stdout, .. }| String::from_utf8(stdout).unwrap()).collect()
}

/// The events of a file.
fn events(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(events) = whole["traceEvents"].take() else { panic!("{text}") };
    events
}

fn of<'a>(events: &'a [Value], pe: u32, name: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["pid"] == pe && event["name"] == name)
}

/// Begin and end in nanoseconds.
fn times(event: &Value) -> (i64, i64) {
    let ns = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as i64;
    (ns("ts"), ns("ts") + ns("dur"))
}

/// The operations of one block by their name, in the order of time.
fn of_block<'a>(events: &'a [Value], pe: u32, name: &'a str, block: u32) -> Vec<&'a Value> {
    let row = format!("block {block}");
    let named = of(events, pe, "thread_name").find(|event| event["args"]["name"] == row.as_str());
    let tid = &named.unwrap_or_else(|| panic!("PE {pe} has no {row}"))["tid"];
    let mut all: Vec<_> = of(events, pe, name).filter(|event| event["tid"] == *tid).collect();
    all.sort_by_key(|event| times(event));
    all
}

/// That a file has all of [`passes`] of each of these PEs, of `n` in the job.
#[track_caller]
fn has_passes(events: &[Value], pes: &[u32], n: u32) {
    for &pe in pes {
        let (next, before) = ((pe + 1) % n, (pe + n - 1) % n);
        for block in 0..BLOCKS {
            let puts = of_block(events, pe, "put_signal", block);
            let waits = of_block(events, pe, "wait_reached", block);
            assert_eq!((puts.len(), waits.len()), (ROUNDS as usize, ROUNDS as usize), "PE {pe}");
            for put in puts {
                let args = &put["args"];
                let expected = (next, 4 * ELEMENTS as u64, "block", "trace__passes");
                assert_eq!(
                    (&args["peer"], &args["bytes"], &args["scope"], &args["kernel"]),
                    (&expected.0.into(), &expected.1.into(), &expected.2.into(), &expected.3.into())
                );
            }
            // A wait ends after the put that it waits for began, on the PE before.
            if pes.contains(&before) {
                let theirs = of_block(events, before, "put_signal", block);
                for (wait, put) in waits.iter().zip(theirs) {
                    assert!(times(wait).1 >= times(put).0, "{wait} of {put}");
                }
            }
            let atomics = of_block(events, pe, "fetching atomic", block);
            let [atomic] = &atomics[..] else { panic!("{atomics:?}") };
            assert_eq!(
                (&atomic["args"]["peer"], &atomic["args"]["scope"]),
                (&before.into(), &"thread".into())
            );
            assert_eq!(of_block(events, pe, "quiet", block).len(), 1);
        }
        let on_device = |name| of(events, pe, name).filter(|event| event["cat"] == "device").count();
        assert_eq!(on_device("barrier_all"), 1);
        let host = |name| of(events, pe, name).filter(|event| event["cat"] == "host").count();
        assert_eq!((host("launch trace__passes"), host("put")), (1, 1));
        assert!(host("barrier_all") >= 2 && host("all_gather of 4 bytes") == 0);
        let kernel = of(events, pe, "trace__passes").next().unwrap();
        let operations = u64::from(BLOCKS) * (2 * ROUNDS + 2) + 1;
        assert_eq!(kernel["args"]["operations"], operations);
        let about = of(events, pe, "oxshmem_pe").next().unwrap();
        assert_eq!(
            (&about["args"]["operations"], &about["args"]["operations_dropped"]),
            (&operations.into(), &0.into())
        );
        let (begin, end) = times(kernel);
        for event in events.iter().filter(|event| event["pid"] == pe && event["cat"] == "device") {
            let of_it = times(event);
            assert!(begin <= of_it.0 && of_it.0 <= of_it.1 && of_it.1 <= end, "{event}");
            assert!(event["args"].get("unfinished").is_none(), "{event}");
        }
    }
}

#[test]
fn every_operation_of_threads_is_there_with_peer_and_bytes() {
    let folder = Folder::new("threads");
    says(threads("passes", "3", &[], Some(&folder.file())), &["RESULT well"]);
    has_passes(&events(&folder.file()), &[0, 1, 2], 3);
    assert_eq!(folder.names(), ["trace.json"]);
}

#[test]
fn processes_make_one_file_of_all_pes() {
    let folder = Folder::new("processes");
    // What an earlier job has left does not stay.
    std::fs::write(folder.file(), "{\"traceEvents\":[]}").unwrap();
    for said in processes("passes", 3, &folder.file()) {
        says(said, &["RESULT well"]);
    }
    has_passes(&events(&folder.file()), &[0, 1, 2], 3);
    assert_eq!(folder.names(), ["trace.json"]);
}

#[test]
fn a_killed_pe_takes_only_its_own_part_with_it() {
    let folder = Folder::new("killed");
    let said = processes("dies", 3, &folder.file());
    for pe in [0, 2] {
        says(&said[pe], &["RESULT", "PE 1"]);
    }
    let events = events(&folder.file());
    has_passes(&events, &[0, 2], 3);
    assert_eq!(of(&events, 1, "oxshmem_pe").count(), 0);
    for pe in [0, 2] {
        let failed = of(&events, pe, "barrier_all").find_map(|event| event["args"]["error"].as_str());
        says(failed.unwrap(), &["PE 1"]);
    }
    assert_eq!(folder.names(), ["trace.json"]);
}

#[test]
fn a_wait_that_expires_is_there_without_an_end_of_its_own() {
    let folder = Folder::new("expires");
    let said = threads("expires", "1", &[("OXSHMEM_DEADLINE", "100ms")], Some(&folder.file()));
    says(said, &["RESULT", "wait_reached"]);
    let events = events(&folder.file());
    let waits: Vec<_> = of(&events, 0, "wait_reached").collect();
    let [wait] = &waits[..] else { panic!("{waits:?}") };
    assert_eq!(wait["args"]["unfinished"], true);
}

#[test]
fn what_has_no_room_is_counted() {
    let folder = Folder::new("room");
    let said = threads("passes", "2", &[("OXSHMEM_TRACE_EVENTS", "5")], Some(&folder.file()));
    let came = u64::from(BLOCKS) * (2 * ROUNDS + 2) + 1;
    says(&said, &["RESULT well", "OXSHMEM_TRACE_EVENTS"]);
    says(&said, &[&format!("lacks {} operations of kernels of PE 1", came - 5)]);
    let events = events(&folder.file());
    for pe in 0..2 {
        let about = &of(&events, pe, "oxshmem_pe").next().unwrap()["args"];
        assert_eq!((&about["operations"], &about["operations_dropped"]), (&5.into(), &(came - 5).into()));
        assert_eq!(about["host_events"], 5);
        assert!(about["host_events_dropped"].as_u64().unwrap() > 0);
        let kept = events.iter().filter(|event| event["pid"] == pe && event["cat"] == "device");
        assert_eq!(kept.count(), 5);
    }
}

#[test]
fn kernels_of_graphs_and_their_streams_have_names() {
    let folder = Folder::new("graphs");
    says(threads("replays", "1", &[], Some(&folder.file())), &["RESULT well"]);
    let events = events(&folder.file());
    assert_eq!(of(&events, 0, "record trace__set_signal").count(), 1);
    assert_eq!(of(&events, 0, "signal").count(), 2);
    for signal in of(&events, 0, "signal") {
        assert_eq!(signal["args"]["kernel"], "trace__set_signal");
    }
}

#[test]
fn what_collective_operations_have_chosen_is_there() {
    for (table, protocol) in [("packets", "packets"), ("stores", "stores")] {
        let folder = Folder::new(&format!("sums-{table}"));
        let said = threads("sums", "2", &[("OXSHMEM_COLLECTIVES", table)], Some(&folder.file()));
        says(said, &["RESULT well"]);
        let events = events(&folder.file());
        let chosen = |name| -> Vec<(String, u64)> {
            let args = of(&events, 1, name).map(|event| &event["args"]);
            let of = |args: &Value| {
                (args["protocol"].as_str().unwrap().to_owned(), args["blocks"].as_u64().unwrap())
            };
            args.map(of).collect()
        };
        let reduced = chosen("reduce");
        assert_eq!(reduced.len(), 2, "{reduced:?}");
        assert_eq!(reduced[0], (protocol.to_owned(), 1));
        assert!(reduced[1].0 == protocol && (1..=2).contains(&reduced[1].1), "{reduced:?}");
        assert_eq!(chosen("collect")[0].0, "stores");
        // Nothing is chosen by others.
        assert!(of(&events, 1, "barrier_all").all(|event| event["args"]["protocol"].is_null()));
    }
}

#[test]
fn without_the_variable_there_is_no_file() {
    let folder = Folder::new("off");
    says(threads("passes", "2", &[], None), &["RESULT well"]);
    assert!(folder.names().is_empty());
}

#[test]
fn a_program_that_goes_to_another_folder_keeps_its_file() {
    let folder = Folder::new("leaves");
    let mut command = command("leaves", &[], Some(Path::new("trace.json")));
    let status = command.current_dir(&folder.0).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    assert_eq!(folder.names().len(), 1);
    assert!(of(&events(&folder.0.join("trace.json")), 0, "put").count() > 0);
}

#[test]
fn lines_that_nobody_can_read_are_no_panic() {
    let folder = Folder::new("full");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let variables = [("OXSHMEM_TRACE_EVENTS", "1"), ("OXSHMEM_NO_SUCH_VARIABLE", "1")];
    let output = command("passes", &variables, Some(&folder.file())).stderr(full).output().unwrap();
    says(String::from_utf8_lossy(&output.stdout), &["RESULT well"]);
    assert!(output.status.success());
}

#[test]
fn a_path_that_cannot_be_written_is_an_error_at_the_start() {
    let folder = Folder::new("unwritable");
    let file = folder.0.join("missing/trace.json");
    let said = threads("passes", "2", &[], Some(&file));
    says(said, &["RESULT PE 0 cannot write", &file.display().to_string(), "No such file", "OXSHMEM_TRACE"]);
}

#[test]
fn the_checker_has_no_time_to_show() {
    let folder = Folder::new("checked");
    let said = threads("passes", "2", &[("OXSHMEM_CHECK", "1")], Some(&folder.file()));
    says(said, &["RESULT", "checker has no timeline", "OXSHMEM_CHECK"]);
}
