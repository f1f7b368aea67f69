//! NICs of several processes over one file; processes that die.

mod nic_poster;

use nic_poster::{End, Entry, IOVA, SIGNAL, Setup};
use oxshmem_emulator::nic::{Fabric, Nic, NicConfig, NicThread, Syndrome};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Says to a child which file it is about, and which LID it has.
const FILE: &str = "OXSHMEM_TEST_NIC_FABRIC";
const LID: &str = "OXSHMEM_TEST_NIC_LID";
/// Longest wait for anything.
const LONGEST: Duration = Duration::from_secs(60);
const NICS: u32 = 4;

fn setup() -> Setup {
    // Two tries of a second: a loaded machine may not run a thread for a while.
    Setup { ack_timeout: 18, retries: 1, log_completions: 8, ..Setup::default() }
}

fn end(fabric: &std::sync::Arc<Fabric>, lid: u16) -> End {
    let mut config = NicConfig::default();
    config.lid = lid;
    End::new(Nic::new(config, fabric).unwrap(), &setup())
}

/// A file that goes away with the value.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("oxshmem-nic-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn wait_for(mut done: impl FnMut() -> bool, what: &str) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LONGEST, "{what} did not come");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The words of a line "connect LID QPN RKEY".
fn words(line: &str) -> Option<(u16, u32, u32)> {
    let mut numbers =
        line.trim().strip_prefix("connect ")?.split(' ').map(|word| word.parse::<u32>().unwrap());
    Some((numbers.next()? as u16, numbers.next()?, numbers.next()?))
}

/// What a child does: connects, adds 1 to the parent's counter a hundred times, waits for a flag and looks at the data
/// before it, and lives until it is told to end.
#[test]
fn child() {
    let Ok(file) = std::env::var(FILE) else { return };
    let lid = std::env::var(LID).unwrap().parse().unwrap();
    let fabric = Fabric::file(Path::new(&file), NICS).unwrap();
    let mut end = end(&fabric, lid);
    println!("\nconnect {} {} {}", end.nic.lid(), end.qpn, end.keys.rkey);
    std::io::stdout().flush().unwrap();
    let mut lines = std::io::stdin().lines();
    let (lid, qpn, rkey) = words(&lines.next().unwrap().unwrap()).unwrap();
    end.connect(lid, qpn, &setup(), (1, 2));
    let _thread = NicThread::start(vec![end.nic.clone()]).unwrap();
    println!("\nready");
    std::io::stdout().flush().unwrap();
    for _ in 0..100 {
        end.post(Entry::fetch_add((IOVA, rkey), (IOVA + 4096, end.keys.lkey), 1));
        end.ring();
        wait_for(|| end.poll().is_some_and(|cqe| cqe.code == 0), "a completion");
    }
    for round in 1..=200_u64 {
        wait_for(|| end.heap.load64(8) >= round, "the flag");
        assert!(end.heap.load64(16) >= round && end.heap.load64(2000) >= round, "data of round {round}");
    }
    println!("\nall rounds seen");
    std::io::stdout().flush().unwrap();
    assert_eq!(lines.next().map(Result::unwrap).as_deref(), Some("end"));
    assert_eq!(end.nic.violations(), []);
}

struct Other {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(file: &File, lid: u16) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
            .env(FILE, &file.0)
            .env(LID, lid.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn line(&mut self, wanted: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.starts_with(wanted));
        found.unwrap_or_else(|| panic!("the child ended without {wanted:?}"))
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Connects this process's end to the child's.
    fn connect(&mut self, end: &End) -> u32 {
        let (lid, qpn, rkey) = words(&self.line("connect ")).unwrap();
        end.connect(lid, qpn, &setup(), (2, 1));
        self.tell(&format!("connect {} {} {}", end.nic.lid(), end.qpn, end.keys.rkey));
        self.line("ready");
        rkey
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Data, then a flag, 200 times: what the child waits for.
fn rounds(end: &mut End, rkey: u32) {
    for round in 1..=200_u64 {
        end.heap.store64(1000, round);
        for at in [16, 2000] {
            end.post(Entry::write((IOVA + at, rkey), (IOVA + 1000, end.keys.lkey), 8).flags(0));
        }
        end.post(Entry::inline((IOVA + 8, rkey), &round.to_le_bytes()));
        end.ring();
        wait_for(|| end.poll().is_some_and(|cqe| cqe.code == 0), "a completion");
    }
}

#[test]
fn two_processes_communicate_over_a_file() {
    let file = File::new();
    let fabric = Fabric::file(&file.0, NICS).unwrap();
    let mut end = end(&fabric, 7);
    let mut other = Other::start(&file, 8);
    let thread = NicThread::start(vec![end.nic.clone()]).unwrap();
    let rkey = other.connect(&end);
    rounds(&mut end, rkey);
    other.line("all rounds seen");
    wait_for(|| end.heap.load64(0) == 100, "the child's hundredth add");
    // What is there can be read back.
    end.post(Entry::read((IOVA + 8, rkey), (IOVA + 5000, end.keys.lkey), 16).flags(SIGNAL));
    end.ring();
    wait_for(|| end.poll().is_some_and(|cqe| cqe.code == 0), "a completion");
    assert_eq!(end.heap.read(5000, 16), [200_u64.to_le_bytes(), 200_u64.to_le_bytes()].concat());
    other.tell("end");
    assert!(other.process.wait().unwrap().success());
    assert_eq!(end.nic.violations(), []);
    drop(thread);
}

#[test]
fn a_process_that_is_killed_is_retry_exceeded_and_its_place_can_be_taken_again() {
    let file = File::new();
    let fabric = Fabric::file(&file.0, NICS).unwrap();
    // Killed at different points: before the first request, and in the middle of ever more.
    for round in 0..3_u32 {
        let mut end = end(&fabric, 7);
        let thread = NicThread::start(vec![end.nic.clone()]).unwrap();
        let mut other = Other::start(&file, 8);
        let rkey = other.connect(&end);
        let start = Instant::now();
        let mut killed = None;
        let failed = 'all: loop {
            if killed.is_none() && start.elapsed() >= Duration::from_millis(u64::from(round) * 20) {
                other.process.kill().unwrap();
                killed = Some(Instant::now());
            }
            for _ in 0..8 {
                end.post(Entry::write((IOVA + 16, rkey), (IOVA, end.keys.lkey), 8000));
            }
            end.ring();
            for _ in 0..8 {
                let mut cqe = None;
                wait_for(
                    || {
                        cqe = end.poll();
                        cqe.is_some()
                    },
                    "a completion",
                );
                match cqe.and_then(|cqe| cqe.syndrome) {
                    None => {}
                    found => break 'all found,
                }
            }
        };
        assert_eq!(failed, Some(Syndrome::RetryExceeded));
        let took = killed.expect("killed").elapsed();
        assert!(took < Duration::from_secs(20), "{took:?} after the death");
        drop((thread, other));
        assert_eq!(end.nic.violations(), []);
    }
    // The fabric is as good as ever, and a place of the dead is taken again.
    let mut end = end(&fabric, 7);
    let mut other = Other::start(&file, 8);
    let thread = NicThread::start(vec![end.nic.clone()]).unwrap();
    let rkey = other.connect(&end);
    rounds(&mut end, rkey);
    other.line("all rounds seen");
    other.tell("end");
    assert!(other.process.wait().unwrap().success());
    drop(thread);
}

#[test]
fn a_file_that_is_something_else_is_refused() {
    let file = File::new();
    std::fs::write(&file.0, b"something else").unwrap();
    let said = Fabric::file(&file.0, NICS).unwrap_err().to_string();
    assert!(said.contains("its file has 14 bytes"), "{said}");
    let other = File::new();
    let fabric = Fabric::file(&other.0, NICS).unwrap();
    let said = Fabric::file(&other.0, NICS + 1).unwrap_err().to_string();
    assert!(said.contains("give the same number"), "{said}");
    assert!(Fabric::file(&other.0, NICS).is_ok() && fabric.nics() == NICS);
    let zeros = File::new();
    std::fs::write(&zeros.0, vec![1; std::fs::metadata(&other.0).unwrap().len() as usize]).unwrap();
    let said = Fabric::file(&zeros.0, NICS).unwrap_err().to_string();
    assert!(said.contains("it is no fabric of this version"), "{said}");
    let missing = Fabric::file(Path::new("/nonexistent/fabric"), NICS).unwrap_err().to_string();
    assert!(missing.contains("/nonexistent/fabric cannot be opened"), "{missing}");
}

#[test]
fn threads_post_while_a_thread_runs_the_nics() {
    let fabric = Fabric::local(NICS).unwrap();
    let mut ends: Vec<End> = (0..4).map(|_| end(&fabric, 0)).collect();
    // A ring: each adds to the next one's counter.
    let about: Vec<_> = ends.iter().map(|end| (end.nic.lid(), end.qpn, end.keys.rkey)).collect();
    let pairs: Vec<End> = (0..4).map(|at| End::new(ends[at].nic.clone(), &setup())).collect();
    let back: Vec<_> = pairs.iter().map(|end| end.qpn).collect();
    for at in 0..4 {
        let (next, before) = ((at + 1) % 4, (at + 3) % 4);
        // The sending queue pair of `at` meets the receiving one of `next`.
        ends[at].connect(about[next].0, back[next], &setup(), (0, 0));
        pairs[at].connect(about[before].0, about[before].1, &setup(), (0, 0));
    }
    let rkeys: Vec<_> = pairs.iter().map(|end| end.keys.rkey).collect();
    let _thread = NicThread::start(ends.iter().map(|end| end.nic.clone()).collect()).unwrap();
    std::thread::scope(|scope| {
        for (at, end) in ends.iter_mut().enumerate() {
            let rkey = rkeys[(at + 1) % 4];
            scope.spawn(move || {
                for _ in 0..200 {
                    for _ in 0..10 {
                        end.post(Entry::fetch_add((IOVA, rkey), (IOVA + 64, end.keys.lkey), 1).flags(0));
                    }
                    end.post(Entry::nop());
                    end.ring();
                    wait_for(|| end.poll().is_some_and(|cqe| cqe.code == 0), "a completion");
                }
            });
        }
    });
    for pair in &pairs {
        assert_eq!(pair.heap.load64(0), 2000);
        assert_eq!(pair.nic.violations(), []);
    }
}
