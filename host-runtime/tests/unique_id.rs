//! Processes that join by a unique id which this test passes to them. Each is this test program again.

mod common;

use common::again::again;
use common::says;
use oxshmem::{Config, UniqueId};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// What a child does: `RANK SIZE WHAT`. It makes an id, or reads one, and says what became of its job.
#[test]
#[ignore = "the child process of the other tests"]
fn child() {
    let order = std::env::var("UNIQUE_ID_CHILD").unwrap();
    let parts: Vec<&str> = order.split(' ').collect();
    let (rank, size): (u32, u32) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
    let what = parts[2];
    if what.contains("traced") {
        let all = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
        all.with_writer(std::io::stdout).with_ansi(false).try_init().unwrap();
    }
    let mut lines = std::io::stdin().lines().map(Result::unwrap);
    let id = if what.contains("make") {
        let id = UniqueId::new().unwrap();
        println!("\nID {id}");
        id
    } else {
        lines.next().unwrap().parse().unwrap()
    };
    if what.contains("leave") {
        return;
    }
    if what.contains("wait") {
        // Until this is told to end.
        lines.next();
        return;
    }
    for _ in 0..if what.contains("twice") { 2 } else { 1 } {
        let result = if what.contains("run") {
            let config = Config::from_env().unwrap().unique_id(rank, size, &id);
            config.run(|shmem| shmem.all_gather(&shmem.my_pe())).map(|mut all| all.remove(0))
        } else {
            oxshmem::init_with_unique_id(rank, size, &id).and_then(|session| {
                let all = session.all_gather(&session.my_pe())?;
                session.end()?;
                Ok(all)
            })
        };
        match result {
            Ok(all) => println!("\nRESULT {all:?}"),
            Err(error) => println!("\nRESULT {error}"),
        }
    }
}

/// A child; what it says is read line by line.
struct One {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl One {
    fn start(rank: u32, size: u32, what: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = again("child");
        command.env("UNIQUE_ID_CHILD", format!("{rank} {size} {what}")).env("OXSHMEM_DEVICE", "emulated");
        command.env("OXSHMEM_HEAP", "16M").envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn says(&mut self, what: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.strip_prefix(what) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        "nothing".into()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn results(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.says("RESULT ")).collect()
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// Starts a job of which PE 0 makes the id; what each other one does stands in `others`.
fn job(maker: &str, others: &[(u32, &str)], size: u32, variables: &[(&str, &str)]) -> (String, Vec<One>) {
    let mut all = vec![One::start(0, size, maker, variables)];
    let id = all[0].says("ID ");
    for (rank, what) in others {
        let mut one = One::start(*rank, size, what, variables);
        one.tell(&id);
        all.push(one);
    }
    (id, all)
}

#[test]
fn processes_join_by_an_id_as_sessions_and_as_runs() {
    for (over, what) in
        [("unix", "init"), ("tcp", "init"), ("tcp6", "run"), ("unix", "run"), ("tcp:127.0.0.1", "run")]
    {
        let has_v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
        if over == "tcp6" && !has_v6 {
            println!("skipped: tcp6, this machine has no ::1");
            continue;
        }
        // What a launcher says besides does not matter.
        let variables = [
            ("OXSHMEM_RENDEZVOUS", over),
            ("OXSHMEM_RANK", "0"),
            ("OXSHMEM_WORLD_SIZE", "1"),
            ("OXSHMEM_LOCAL_RANK", "0"),
            ("OXSHMEM_JOB", "another"),
        ];
        let maker = format!("make,{what}");
        let (_, mut all) = job(&maker, &[(1, what), (2, what)], 3, &variables);
        for one in &mut all {
            assert_eq!(one.results(1), ["[0, 1, 2]"], "{over}");
        }
    }
    let (_, mut alone) = job("make,init", &[], 1, &[]);
    assert_eq!(alone[0].results(1), ["[0]"]);
}

#[test]
fn an_id_serves_once() {
    let (id, mut all) = job("make,twice", &[(1, "twice")], 2, &[]);
    let (first, second) = (all[0].results(2), all[1].results(2));
    assert_eq!((&*first[0], &*second[0]), ("[0, 1]", "[0, 1]"));
    says(&first[1], &["PE 0 cannot join by this unique id", "used already: make a new one for each job"]);
    says(&second[1], &["PE 1 could not join", "the id was used twice"]);
    let mut late = One::start(1, 2, "init", &[]);
    late.tell(&id);
    says(late.says("RESULT "), &["nobody listens there any more"]);
}

#[test]
fn who_is_missing_is_named_and_a_rank_that_is_taken_too() {
    let soon = [("OXSHMEM_JOIN_DEADLINE", "1500ms")];
    let (_, mut all) = job("make,init", &[(1, "init"), (1, "init")], 4, &soon);
    let said: Vec<String> = all.iter_mut().map(|one| one.says("RESULT ")).collect();
    says(&said[0], &["PE 0 waited 1.", "missing: PEs 2, 3", "OXSHMEM_JOIN_DEADLINE"]);
    let taken = said[1..].iter().filter(|said| said.contains("has this rank already")).count();
    let told = said[1..].iter().filter(|said| said.contains("missing: PEs 2, 3")).count();
    assert_eq!((taken, told), (1, 1), "{said:?}");
}

#[test]
fn a_maker_that_never_joins_or_has_ended_is_named() {
    let soon = [("OXSHMEM_JOIN_DEADLINE", "500ms")];
    let (_, mut all) = job("make,wait", &[(1, "init")], 2, &soon);
    says(
        all[1].says("RESULT "),
        &["PE 1 could not join", "has not joined as PE 0 for 0.5 s", "OXSHMEM_JOIN_DEADLINE"],
    );
    let mut maker = One::start(0, 2, "make,leave", &[]);
    let id = maker.says("ID ");
    maker.says("nothing of the kind");
    maker.child.wait().unwrap();
    let mut other = One::start(1, 2, "init", &[]);
    other.tell(&id);
    says(other.says("RESULT "), &["PE 1 could not join", "its maker has ended"]);
}

#[test]
fn the_wrong_process_as_pe_0_is_an_error_at_once() {
    let mut maker = One::start(1, 2, "make,init", &[]);
    let id = maker.says("ID ");
    says(maker.says("RESULT "), &["PE 1 cannot join by this unique id", "its maker is PE 0"]);
    let mut other = One::start(0, 2, "init", &[]);
    other.tell(&id);
    says(other.says("RESULT "), &["PE 0 cannot join by this unique id", "this process has not made it"]);
    let mut beyond = One::start(2, 2, "init", &[]);
    beyond.tell(&id);
    says(beyond.says("RESULT "), &["PE 2 cannot join", "each is less than the 2 PEs"]);
}

#[test]
fn an_id_with_another_secret_or_no_id_lets_nobody_in() {
    let soon = [("OXSHMEM_JOIN_DEADLINE", "1s")];
    let mut maker = One::start(0, 2, "make,init", &soon);
    let id = maker.says("ID ");
    let secret = id.split(':').nth(3).unwrap().to_owned();
    let mut other = One::start(1, 2, "init", &soon);
    other.tell(&id.replace(&secret, &"0".repeat(64)));
    says(other.says("RESULT "), &["PE 1 could not join", "connecting to the maker of the unique id"]);
    says(maker.says("RESULT "), &["missing: PE 1"]);
}

#[test]
fn what_processes_say_differently_is_named() {
    let mut maker = One::start(0, 2, "make,init", &[("OXSHMEM_JOIN_DEADLINE", "2s")]);
    let mut other = One::start(1, 3, "init", &[]);
    other.tell(&maker.says("ID "));
    says(other.says("RESULT "), &["the number of processes", "PE 1 has \"3\"", "PE 0 has \"2\""]);
    says(maker.says("RESULT "), &["missing: PE 1"]);
}

#[test]
fn nothing_that_is_traced_is_secret() {
    let (id, mut all) = job("make,run,traced", &[(1, "init,traced")], 2, &[]);
    let secret = id.split(':').nth(3).unwrap();
    for one in &mut all {
        let mut said = String::new();
        one.output.read_to_string(&mut said).unwrap();
        assert!(
            said.contains("RESULT [0, 1]") && said.contains("oxshmem::bootstrap: joins its job"),
            "{said}"
        );
        assert!(!said.contains(&id));
        for part in secret.as_bytes().windows(12) {
            assert!(!said.contains(std::str::from_utf8(part).unwrap()), "{said}");
        }
    }
}
