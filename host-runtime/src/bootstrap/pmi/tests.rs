//! A process against servers that answer by a script: well, wrongly, or not at all. Jobs with a whole server are tested
//! elsewhere, with processes.

use super::*;
use crate::launched::{self, Choice, Found};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The variables of PE 1 of two.
fn pmi(protocol: Protocol) -> Pmi {
    let get = |name: &str| match name {
        "PMI_FD" => Some("0".into()),
        "PMI_RANK" => Some("1".into()),
        "PMI_SIZE" => Some("2".into()),
        _ => None,
    };
    match launched::read(&get, Choice::Pmi(protocol), None) {
        Ok(Some(Found::Pmi(pmi))) => pmi,
        other => panic!("{other:?}"),
    }
}

/// Answers that end a line are sent as they are, others with their length; an empty one is silence, `close` the end.
fn serve(mut to: impl Read + Write, script: &[(&str, &str)]) {
    for (wanted, answer) in script {
        let mut asked = Vec::new();
        let counted = !wanted.starts_with("init") && !answer.ends_with('\n') && !answer.is_empty();
        if counted && *answer != "close" {
            let mut digits = [0; 6];
            if to.read_exact(&mut digits).is_err() {
                // It has given up.
                return;
            }
            asked = vec![0; std::str::from_utf8(&digits).unwrap().trim().parse().unwrap()];
            to.read_exact(&mut asked).unwrap();
        } else {
            let mut byte = [0];
            while to.read(&mut byte).unwrap_or(0) == 1 && byte != *b"\n" {
                asked.push(byte[0]);
            }
        }
        let asked = String::from_utf8(asked).unwrap();
        assert!(asked.starts_with(&format!("cmd={wanted}")), "{asked:?}, expected {wanted:?}");
        match *answer {
            "close" => return,
            "" => {
                // Until the other side gives up.
                let _ = to.read(&mut [0]);
                return;
            }
            line if line.ends_with('\n') => to.write_all(line.as_bytes()).unwrap(),
            message => to.write_all(format!("{:>6}{message}", message.len()).as_bytes()).unwrap(),
        }
    }
}

fn run(protocol: Protocol, script: &[(&str, &str)], wait: Duration) -> Result<Launched> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || serve(theirs, script));
        ask(&pmi(protocol), Connection::new(ours.into()), Instant::now() + wait)
    })
}

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

fn card() -> String {
    let here = crate::bootstrap::Host::own(0).to_text();
    format!("oxshmem-card1:0:2:{here}:ab12")
}

/// PMI-1 from the first word to the last.
fn one<'a>(got: &'a str, changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let all = [
        ("init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"),
        ("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n"),
        ("get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7 rc=0\n"),
        ("put kvsname=kvs_7 key=oxshmem-1 value=oxshmem-card1:1:2:", "cmd=put_result rc=0 msg=success\n"),
        ("barrier_in", "cmd=barrier_out rc=0\n"),
        ("get kvsname=kvs_7 key=oxshmem-0", got),
        ("finalize", "cmd=finalize_ack rc=0\n"),
    ];
    let change = |(asked, answer): (&'a str, &'a str)| {
        let new = changes.iter().find(|(of, _)| asked.starts_with(of));
        (asked, new.map_or(answer, |(_, new)| *new))
    };
    let mut script: Vec<_> = all.into_iter().map(change).collect();
    if let Some((of, _)) = changes.first() {
        let last = script.iter().position(|(asked, _)| asked.starts_with(of)).unwrap();
        script.truncate(last + 1);
    }
    script
}

fn two(card: &str) -> Vec<(&'static str, String)> {
    vec![
        ("init pmi_version=2", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n".into()),
        ("fullinit;pmirank=1", "cmd=fullinit-response;pmi-version=2;rank=1;size=2;appnum=0;rc=0;".into()),
        ("job-getid", "cmd=job-getid-response;jobid=5.0;rc=0;".into()),
        ("kvs-put;key=oxshmem-1;value=oxshmem-card1:1:2:", "cmd=kvs-put-response;rc=0;".into()),
        ("kvs-fence", "cmd=kvs-fence-response;rc=0;".into()),
        ("kvs-get;jobid=5.0;", format!("cmd=kvs-get-response;flag=TRUE;value={card};rc=0;")),
        ("finalize", "cmd=finalize-response;rc=0;".into()),
    ]
}

fn borrowed<'a>(script: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    script.iter().map(|(asked, answer)| (*asked, answer.as_str())).collect()
}

fn name(launched: Result<Launched>) -> String {
    let launched = launched.unwrap();
    assert_eq!((launched.rank, launched.size, launched.local_rank), (1, 2, 1));
    match launched.meeting {
        Meeting::Named(name) => name,
        Meeting::Known(id) => panic!("{id:?}"),
    }
}

#[test]
fn both_protocols_lead_to_the_name_that_pe_0_has_made() {
    let got = format!("cmd=get_result rc=0 msg=success value={}\n", card());
    for protocol in [Protocol::Either, Protocol::One] {
        assert_eq!(name(run(protocol, &one(&got, &[]), LONG)), "pmi:kvs_7:ab12");
    }
    let script = two(&card());
    assert_eq!(name(run(Protocol::Two, &borrowed(&script), LONG)), "pmi:5.0:ab12");
    // A server that speaks the second alone says so to the first.
    let mut both = borrowed(&script);
    let no = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n";
    both.insert(0, ("init pmi_version=1", no));
    assert_eq!(name(run(Protocol::Either, &both, LONG)), "pmi:5.0:ab12");
}

#[test]
fn a_port_says_who_this_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().to_string();
    let got = format!("cmd=get_result rc=0 value={}\n", card());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "cmd=initack pmiid=4\n");
            stream.write_all(b"cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n").unwrap();
            serve(stream, &one(&got, &[]));
        });
        let get = |name: &str| match name {
            "PMI_PORT" => Some(port.clone().into()),
            "PMI_ID" => Some("4".into()),
            _ => None,
        };
        let Ok(Some(Found::Pmi(pmi))) = launched::read(&get, Choice::Auto, None) else { panic!("no PMI") };
        assert_eq!(pmi.size(), None);
        let Server::Port { address, .. } = &pmi.server else { panic!("no port") };
        let until = Instant::now() + LONG;
        let connection = Connection::to(address, until).unwrap();
        assert_eq!(name(ask(&pmi, connection, until)), "pmi:kvs_7:ab12");
    });
    let error = Connection::to("127.0.0.1:1", Instant::now() + LONG).unwrap_err();
    assert!(error.contains("PMI_PORT=127.0.0.1:1 cannot be reached"), "{error}");
}

#[test]
fn who_waits_for_others_in_vain_goes_on_to_find_out_who_is_missing() {
    let script = one("", &[("barrier_in", "")]);
    assert_eq!(name(run(Protocol::One, &script, SOON)), "pmi:kvs_7:");
}

#[test]
fn answers_that_cannot_be_are_errors_that_show_them() {
    let long = format!("cmd={}\n", "x".repeat(70_000));
    let wrong = format!("cmd=get_result rc=0 value={}\n", card().replace("card1:0", "card1:1"));
    let more = format!("cmd=get_result rc=0 value={}\n", card().replace(":2:", ":3:"));
    let far = format!("cmd=get_result rc=0 value=oxshmem-card1:0:2:{}/far:ab\n", "0".repeat(32));
    for (asked, answer, says) in [
        ("init", "close", "closed the connection"),
        ("init", "", "not answered in time"),
        ("init", "hello\n", "it answered \"hello\" to \"cmd=init"),
        ("init", "cmd=response_to_init pmi_version=3 rc=0\n", "it refuses PMI-1 (it speaks version 3)"),
        ("init", &long, "no end of a message"),
        ("get_maxes", "cmd=maxes vallen_max=16 rc=0\n", "takes values of 16 bytes"),
        ("get_maxes", "cmd=put_result rc=0\n", "where cmd=maxes was expected"),
        ("get_my_kvsname", "cmd=my_kvsname rc=0\n", "its store has no name"),
        ("put", "cmd=put_result rc=-1 msg=duplicate_key\n", "duplicate_key"),
        ("barrier_in", "close", "closed the connection"),
        ("get kvsname", "cmd=get_result rc=-1 msg=key_not_found\n", "key_not_found"),
        ("get kvsname", "cmd=get_result rc=0\n", "without a value"),
        ("get kvsname", "cmd=get_result rc=0 value=nonsense\n", "makes no sense"),
        ("get kvsname", &wrong, "the words of PE 1 for those of PE 0"),
        ("get kvsname", &more, "PE 1 has \"2\", PE 0 has \"3\""),
        ("get kvsname", &far, "PE 0 on far (boot 000"),
        ("finalize", "close", "closed the connection"),
    ] {
        let wait = if answer.is_empty() { SOON } else { LONG };
        let mut script = one(answer, &[(asked, answer)]);
        if asked == "get_maxes" && answer.contains("16") {
            script = one(answer, &[("get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7 rc=0\n")]);
            script[1].1 = answer;
        }
        if asked == "finalize" {
            let got = format!("cmd=get_result rc=0 value={}\n", card());
            let mut whole = one("", &[]);
            whole[5].1 = Box::leak(got.into_boxed_str());
            whole[6].1 = answer;
            script = whole;
        }
        let error = run(Protocol::One, &script, wait).unwrap_err().to_string();
        assert!(error.contains(says), "{asked}: {error}");
    }
}

#[test]
fn counted_answers_that_cannot_be_are_errors_that_show_them() {
    for (at, answer, says) in [
        (1, "cmd=fullinit-response;rank=0;size=2;rc=0;", "PMI_RANK=1 and the PMI server's rank=0"),
        (1, "cmd=fullinit-response;rank=1;size=4;rc=0;", "PMI_SIZE=2 and the PMI server's size=4"),
        (1, "cmd=fullinit-response;rank=1;rc=5;errmsg=no;", "code 5, no"),
        (2, "cmd=job-getid-response;rc=0;", "its job has no name"),
        (2, "cmd=other-response;rc=0;", "where cmd=job-getid-response was expected"),
        (3, "cmd=kvs-put-response;", "code missing"),
        (5, "cmd=kvs-get-response;flag=FALSE;rc=0;", "PE 0 has put nothing"),
        (5, "cmd=kvs-get-response;flag=TRUE;value=x;;y;rc=0;", "makes no sense: \"x;y\""),
    ] {
        let mut script = two(&card());
        script[at].1 = answer.into();
        script.truncate((at + 1).max(3));
        let error = run(Protocol::Two, &borrowed(&script), LONG).unwrap_err().to_string();
        assert!(error.contains(says), "{at}: {error}");
    }
    for bytes in [&b"abcdef"[..], b"999999", b"-00001"] {
        let error = connection_with(bytes).counted(Instant::now() + LONG).unwrap_err();
        assert!(error.contains("makes no sense"), "{error}");
    }
    assert_eq!(connection_with(b"    12cmd").counted(Instant::now()).unwrap(), None);
}

/// A connection to which these bytes came.
fn connection_with(bytes: &[u8]) -> Connection {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(bytes).unwrap();
    // It stays open.
    std::mem::forget(theirs);
    Connection::new(ours.into())
}

#[test]
fn a_number_that_is_no_socket_is_an_error_that_names_it() {
    for fd in [4000, 1 << 30] {
        let error = Connection::inherited(fd).unwrap_err();
        assert!(error.contains(&format!("PMI_FD={fd} is not its socket")), "{error}");
    }
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    assert!(Connection::inherited(fd).unwrap_err().contains("is not its socket"));
}
