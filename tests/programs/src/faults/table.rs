//! The rows: what happens, where, to which PE.

use super::PES;
use super::pmi_server::Malice;
use super::waits::Wait;
use rustix::process::Signal;

/// Where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Nothing happens.
    Nowhere,
    /// At a fault point of the runtime, before the program's own code.
    Starting(&'static str),
    /// At a fault point of a growth of the heap, while a kernel uses another allocation.
    Growth(&'static str),
    /// While all wait in kernels.
    Kernel,
    /// While kernels of all put registered memory.
    Registered,
    /// While the others wait for their kernels, which wait for this PE.
    HostWait,
    /// The others wait in `barrier_all`, to which it does not come.
    Barrier,
    /// It waits in `barrier_all` with others, for one that comes later.
    InsideBarrier,
    /// In `free`.
    Free,
    /// The others wait in `all_gather`.
    Gather,
    /// The others wait in `recover`.
    Recover,
    /// It does not come to what the others wait in.
    Waits(Wait),
    /// When its closure has returned, before the others are told.
    End,
    /// When they are told, before it is over for all.
    Ended,
    /// When the run is over.
    Returned,
    /// The launcher's server misbehaves; to the processes nothing happens.
    Server(Malice),
}

/// By what the processes come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// torchrun's variables, over a Unix socket.
    Torchrun,
    /// The same over TCP.
    Tcp,
    /// srun's variables.
    Slurm,
    /// A PMI-1 server.
    Pmi1,
    /// A PMI-2 server.
    Pmi2,
    /// A unique id that PE 0 writes to a file.
    UniqueId,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It is killed.
    Killed,
    /// It is stopped, as by Ctrl-Z.
    Stopped,
    /// Its closure panics.
    Panics,
    /// Its closure returns an error.
    Fails,
    /// It ends its process itself.
    Exits,
    /// It launches a kernel with registered memory after the end of the registration.
    UsesDropped,
    /// It registers memory of a device that it does not use.
    RegistersElsewhere,
    /// Nothing but that it does not come, until the deadline has passed.
    Expires,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) what: What,
    pub(super) point: Point,
    pub(super) victim: u32,
    pub(super) by: By,
}

/// Points of [`STARTING`] to which only those come that ask a server.
const ASKING: usize = 2;

/// Every point of the runtime's start, in its order, and in words. PE 0 makes the board and fetches none.
const STARTING: [(&str, &str); 9] = [
    ("told", "when it had told the launcher's server who it is"),
    ("fenced", "when all had told the launcher's server who they are"),
    ("start", "before connecting"),
    ("connected", "after connecting"),
    ("board", "while opening the shared words"),
    ("joined", "when it had joined"),
    ("taken", "in the first growth: memory taken"),
    ("exchange", "in the first growth: memory exchanged"),
    ("mapped", "in the first growth: memory mapped"),
];

const GROWTH: [(&str, &str); 3] = [
    ("taken", "in a later growth: memory taken"),
    ("exchange", "in a later growth: memory exchanged"),
    ("mapped", "in a later growth: memory mapped"),
];

/// The table.
pub(super) fn rows() -> Vec<Row> {
    let (killed, barrier) = (What::Killed, Point::Barrier);
    let starting = STARTING.map(|(name, _)| Point::Starting(name));
    let (asking, starting) = starting.split_at(ASKING);
    let growth = GROWTH.map(|(name, _)| Point::Growth(name));
    let later = [
        Point::Kernel,
        Point::Registered,
        Point::HostWait,
        barrier,
        Point::InsideBarrier,
        Point::Free,
        Point::Gather,
        Point::Recover,
        Point::End,
        Point::Ended,
        Point::Returned,
    ];
    let usual = By::Torchrun;
    let killings = starting.iter().copied().chain(growth).chain(later).map(|point| (killed, point, usual));
    let others =
        [What::Stopped, What::Panics, What::Fails, What::Exits, What::UsesDropped, What::RegistersElsewhere];
    let others = others.map(|what| (what, barrier, usual));
    // The host's own waits end by their deadlines where one stands still, those of the device by their own.
    let stopped = [Point::Gather, Point::Recover, Point::End].map(|point| (What::Stopped, point, usual));
    let waits = Wait::all().flat_map(|wait| {
        let passes = if wait.operation().is_some() { What::Expires } else { What::Stopped };
        [killed, passes].map(|what| (what, Point::Waits(wait), usual))
    });
    let queued = [What::Panics, What::Fails, What::Exits];
    let queued = queued.map(|what| (what, Point::Waits(Wait::StreamUntil), usual));
    let over_tcp = [starting[0], starting[1], starting[2], starting[5], barrier, Point::End, Point::Ended];
    let over_tcp = over_tcp.map(|point| (killed, point, By::Tcp));
    // What differs is how they come together; one later point shows that it has worked.
    let mut by_others = Vec::new();
    for by in [By::Slurm, By::Pmi1, By::Pmi2, By::UniqueId] {
        let asks = matches!(by, By::Pmi1 | By::Pmi2);
        let points = asking.iter().filter(|_| asks).chain(starting).chain([&barrier]);
        by_others.extend(points.map(|&point| (killed, point, by)));
    }
    let all =
        killings.chain(others).chain(stopped).chain(waits).chain(queued).chain(over_tcp).chain(by_others);
    let rows = all.flat_map(|(what, point, by)| (0..PES).map(move |victim| Row { what, point, victim, by }));
    let nothing = Row { what: killed, point: Point::Nowhere, victim: 0, by: usual };
    let servers = [By::Pmi1, By::Pmi2].into_iter().flat_map(|by| {
        Malice::ALL.map(|malice| Row { what: killed, point: Point::Server(malice), victim: 0, by })
    });
    std::iter::once(nothing).chain(rows.filter(|row| row.can_be())).chain(servers).collect()
}

impl Row {
    fn can_be(&self) -> bool {
        self.victim != 0 || self.point != Point::Starting("board")
    }

    /// In words.
    pub(super) fn name(&self) -> String {
        if self.point == Point::Nowhere {
            return "nothing happens".to_owned();
        }
        let over = match self.by {
            By::Torchrun => "",
            By::Tcp => ", over TCP",
            By::Slurm => ", by srun's variables",
            By::Pmi1 => ", by PMI-1",
            By::Pmi2 => ", by PMI-2",
            By::UniqueId => ", by a unique id",
        };
        if let Point::Server(malice) = self.point {
            return format!("the launcher's server {}{over}", malice.name());
        }
        let words = |table: &[(&str, &'static str)], name| {
            table.iter().find(|(of, _)| *of == name).map_or("", |(_, words)| words)
        };
        let at = match self.point {
            Point::Nowhere | Point::Server(_) => "",
            Point::Starting(name) => words(&STARTING, name),
            Point::Growth(name) => words(&GROWTH, name),
            Point::Kernel => "in a kernel",
            Point::Registered => "while kernels put registered memory",
            Point::HostWait => "while the others wait for their kernels",
            Point::Barrier => "while the others wait in a barrier",
            Point::InsideBarrier => "in a barrier",
            Point::Free => "in free",
            Point::Gather => "while the others wait in all_gather",
            Point::Recover => "while the others wait in recover",
            Point::Waits(wait) => &format!("while the others wait {}", wait.name()),
            Point::End => "at its end, before it said so",
            Point::Ended => "at its end, when it had said so",
            Point::Returned => "after its end",
        };
        let what = match self.what {
            What::Killed => "killed",
            What::Stopped => "stopped",
            What::Panics => "panics",
            What::Fails => "returns an error",
            What::Exits => "calls exit(3)",
            What::UsesDropped => "uses memory whose registration has ended",
            What::RegistersElsewhere => "registers memory of another device",
            What::Expires => "does not come",
        };
        format!("PE {} {what} {at}{over}", self.victim)
    }

    /// What makes it happen.
    pub(super) fn trigger(&self) -> Trigger {
        match (self.what, self.point) {
            (_, Point::Nowhere | Point::Server(_) | Point::Starting(_) | Point::Returned) => Trigger::Itself,
            (What::Expires, _) => Trigger::Itself,
            (What::Stopped, _) => Trigger::Signal(Signal::STOP),
            (What::Panics | What::Fails | What::Exits | What::UsesDropped | What::RegistersElsewhere, _) => {
                Trigger::Word
            }
            (What::Killed, Point::Growth(_) | Point::Free | Point::End | Point::Ended) => Trigger::Word,
            (What::Killed, _) => Trigger::Signal(Signal::KILL),
        }
    }
}

/// What makes it happen. But for `Itself` all have said that they are there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The process comes to the point by itself.
    Itself,
    /// The process is told to go on, and comes to the point.
    Word,
    /// The process is sent a signal where it is.
    Signal(Signal),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_of_its_own_and_every_pe_is_a_victim_of_every_point() {
        let rows = rows();
        let names: BTreeSet<String> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        for row in rows[1..].iter().filter(|row| !matches!(row.point, Point::Server(_))) {
            let same = rows.iter().filter(|r| (r.what, r.point, r.by) == (row.what, row.point, row.by));
            let expected = if row.point == Point::Starting("board") { 2 } else { PES as usize };
            assert_eq!(same.count() - usize::from(row.point == Point::Nowhere), expected, "{}", row.name());
        }
    }
}
