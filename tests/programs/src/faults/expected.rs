//! What the PEs of a row should say, and how each should end.

use super::PES;
use super::pmi_server::Malice;
use super::table::{By, Point, Row, What};
use super::waits::NAMES_THE_MISSING;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What a PE says at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) call: Option<String>,
    pub(super) run: Option<String>,
}

/// What a PE may say: one of these of the row's call, if it comes to that, and one of these of its run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    call: Option<Vec<String>>,
    run: Vec<String>,
}

impl Expected {
    /// What a survivor should say.
    pub(super) fn of(row: &Row, pe: u32) -> Self {
        let victim = row.victim;
        let ok = || "ok".to_owned();
        let lost = || format!("PeFailed({victim}) PeLost({victim})");
        // What one says that finds PE 0 gone, or going.
        let late = || {
            let doing =
                ["looking for PE 0", "connecting to PE 0", "connecting to the maker of the unique id"];
            doing.map(|doing| format!("NotJoined({pe}) {doing}"))
        };
        let both = |said: String| Self { call: Some(vec![said.clone()]), run: vec![said] };
        match (row.what, row.point) {
            (_, Point::Nowhere | Point::Returned) => both(ok()),
            (What::Expires, Point::Waits(wait)) => {
                let operation = wait.operation().unwrap_or_default();
                let names = NAMES_THE_MISSING.contains(&operation);
                let missing = if names { format!(" of PE {victim}") } else { String::new() };
                let of = |pe| format!("Poisoned({pe}) {operation}{missing}");
                let said = (0..PES).filter(|pe| *pe != victim).map(of);
                Self { call: Some(said.collect()), run: vec![ok()] }
            }
            (What::Stopped, Point::End) => {
                Self { call: Some(vec![ok()]), run: vec![format!("Absent({victim})")] }
            }
            (What::Stopped, _) => both(format!("Absent({victim})")),
            (What::Panics, _) => both(format!("PeFailed({victim}) PePanicked({victim})")),
            (What::Fails, _) => both(format!("PeFailed({victim}) on purpose")),
            (What::UsesDropped, _) => {
                both(format!("PeFailed({victim}) oxshmem_programs__put_in_rounds: parameter 1 names..."))
            }
            (What::RegistersElsewhere, _) => {
                both(format!("PeFailed({victim}) PE {victim} cannot register..."))
            }
            // When the fence has ended in vain they join, and go on without the server.
            (_, Point::Server(Malice::Holds)) => both(ok()),
            (_, Point::Server(malice)) => Self { call: None, run: by_server(malice, pe) },
            (_, Point::Starting("told" | "fenced" | "start")) => Self {
                call: None,
                run: match (pe, victim) {
                    (_, 0) if row.by == By::UniqueId => {
                        vec![format!("NotJoined({pe}) connecting to the maker of the unique id")]
                    }
                    (_, 0) => vec![format!("NotJoined({pe}) looking for PE 0")],
                    (0, _) => vec![format!("Missing({victim})")],
                    // Told by PE 0, or so late that that is gone already.
                    _ => late().into_iter().chain([format!("Missing({victim})")]).collect(),
                },
            },
            // One may come when PE 0 has noticed already.
            (_, Point::Starting("connected")) if pe != 0 && victim != 0 => {
                Self { call: None, run: late().into_iter().chain([lost()]).collect() }
            }
            (_, Point::Starting(_)) => Self { call: None, run: vec![lost()] },
            // All have come before its death is known, so the barrier may still be one.
            (What::Killed, Point::InsideBarrier) => {
                Self { call: Some(vec![lost(), ok()]), run: vec![lost()] }
            }
            (_, Point::End) => Self { call: Some(vec![ok()]), run: vec![lost()] },
            // PE 0 serves the others until all have ended.
            (_, Point::Ended) if victim == 0 => Self { call: Some(vec![ok()]), run: vec![lost()] },
            (_, Point::Ended) => both(ok()),
            _ => both(lost()),
        }
    }

    /// What is wrong with what a survivor said and how it ended, if anything.
    pub(super) fn differs(&self, said: &Last, status: ExitStatus) -> Option<String> {
        let right = |said: &Option<String>, expected: &[String]| {
            said.as_ref().is_some_and(|said| expected.iter().any(|one| fits(one, said)))
        };
        let call_is_right = match &self.call {
            Some(expected) => right(&said.call, expected),
            None => said.call.is_none(),
        };
        if !call_is_right || !right(&said.run, &self.run) {
            return Some(format!("said {said:?}, expected {self:?}"));
        }
        let succeeds = said.run.as_deref() == Some("ok");
        let code = i32::from(!succeeds);
        (status.code() != Some(code)).then(|| format!("ended with {status}, expected exit code {code}"))
    }
}

/// Whether one thing is said, or the start of it if what is expected ends in dots: addresses differ.
fn fits(expected: &str, said: &str) -> bool {
    expected.strip_suffix("...").map_or(expected == said, |start| said.starts_with(start))
}

/// What one says whose launcher's server misbehaves. PE 0 tells the others, if it comes to that.
fn by_server(malice: Malice, pe: u32) -> Vec<String> {
    let own = |pe: u32| format!("NotJoined({pe}) asking the launcher's PMI server");
    let mut said = vec![own(pe)];
    if matches!(malice, Malice::Swaps | Malice::Invents) && pe != 0 {
        said.push(format!("PeFailed(0) {}", own(0)));
    }
    said
}

/// What is wrong with the victim's end, if anything.
pub(super) fn victim_differs(row: &Row, said: &Last, status: ExitStatus) -> Option<String> {
    let victim = row.victim;
    let (run, code) = match row.what {
        What::Panics => (Some(format!("PePanicked({victim})")), Some(1)),
        What::Fails => (Some("on purpose".to_owned()), Some(1)),
        What::Exits => (None, Some(3)),
        What::UsesDropped => (Some("BadHandle".to_owned()), Some(1)),
        What::RegistersElsewhere => (Some(format!("Registration({victim})")), Some(1)),
        What::Killed | What::Stopped | What::Expires => (None, None),
    };
    // It has said so before it is killed.
    let run = if row.point == Point::Returned { Some("ok".to_owned()) } else { run };
    let signal = code.is_none().then_some(9);
    let right = status.code() == code && status.signal() == signal && said.run == run;
    (!right).then(|| format!("said {:?} and ended with {status}", said.run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(point: Point, victim: u32) -> Row {
        Row { what: What::Killed, point, victim, by: By::Torchrun }
    }

    fn last(call: &str, run: &str) -> Last {
        Last { call: Some(call.into()), run: Some(run.into()) }
    }

    #[test]
    fn a_survivor_must_name_the_victim_and_end_by_itself() {
        let expected = Expected::of(&row(Point::Barrier, 1), 2);
        let (lost, code) = ("PeFailed(1) PeLost(1)", |code: i32| ExitStatus::from_raw(code << 8));
        assert_eq!(expected.differs(&last(lost, lost), code(1)), None);
        let other = "PeFailed(0) PeLost(0)";
        for (said, status) in [
            (last(lost, other), code(1)),
            (last(other, lost), code(1)),
            (last("ok", lost), code(1)),
            (Last { call: None, ..last("", lost) }, code(1)),
            (Last { run: None, ..last(lost, "") }, code(1)),
            (last(lost, lost), code(0)),
            (last(lost, lost), code(101)),
            (last(lost, lost), ExitStatus::from_raw(9)),
        ] {
            assert!(expected.differs(&said, status).is_some(), "{said:?} {status}");
        }
    }

    #[test]
    fn a_victim_must_die_as_the_row_says() {
        let killed = ExitStatus::from_raw(9);
        assert_eq!(victim_differs(&row(Point::Barrier, 1), &Last::default(), killed), None);
        assert!(victim_differs(&row(Point::Barrier, 1), &last("ok", "ok"), ExitStatus::default()).is_some());
        let exits = Row { what: What::Exits, ..row(Point::Barrier, 1) };
        assert_eq!(victim_differs(&exits, &Last::default(), ExitStatus::from_raw(3 << 8)), None);
        assert!(victim_differs(&exits, &Last::default(), killed).is_some());
    }
}
