//! What the PEs of a team do together: barriers and collective operations. They come to the same calls in the same order,
//! with the same arguments where an operation asks for it, and a PE is in one call at a time.
//!
//! Each team and channel has two sequences of calls, which do not know of each other: one of barriers, one of operations
//! with data. The number of a call is its place in the sequence of its PE.

use super::clock::{Time, Who};
use super::finding::{Finding, Kind, Place};
use super::run::Run;
use oxshmem_device::Team;
use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::{Alike, InPlace, Operands, TeamCall, Turn};
use std::collections::VecDeque;

/// A sequence of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sequence {
    barriers: bool,
    at: Turn,
}

impl Sequence {
    /// The one that an operation belongs to.
    fn of(operation: Operation, at: Turn) -> Self {
        Self { barriers: is_barrier(operation), at }
    }
}

/// The calls of one PE in a sequence.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// How many there were before those that are kept.
    before: usize,
    all: VecDeque<Call>,
    last: Option<Last>,
}

/// A call.
#[derive(Clone, Debug)]
struct Call {
    call: TeamCall,
    place: Place,
}

/// The last call: who made it, and when it was over.
#[derive(Clone, Debug)]
struct Last {
    who: Who,
    place: Place,
    over: Option<Time>,
}

impl Calls {
    /// How many calls there were.
    pub(crate) fn count(&self) -> usize {
        self.before + self.all.len()
    }

    /// Who is in a call.
    pub(crate) fn inside(&self) -> Option<Who> {
        self.last.as_ref().filter(|last| last.over.is_none()).map(|last| last.who)
    }

    /// The call of this number, if there was one and it is kept.
    fn get(&self, number: usize) -> Option<&Call> {
        self.all.get(number.checked_sub(self.before)?)
    }
}

/// Forgets calls that all `pes` PEs of the team have come to, but each PE's last one.
fn forget_met(of_all: &mut [Calls], pes: u32) {
    let came = || of_all.iter().map(Calls::count).filter(|&count| count > 0);
    let (members, least) = (came().count(), came().min().unwrap_or(0));
    if members < pes as usize {
        return;
    }
    for calls in of_all {
        while calls.before + 1 < least && calls.all.pop_front().is_some() {
            calls.before += 1;
        }
    }
}

/// Whether an operation is a barrier of PEs.
pub(crate) fn is_barrier(operation: Operation) -> bool {
    use Operation::{BarrierAll, SyncAll, TeamBarrier, TeamSync};
    matches!(operation, BarrierAll | SyncAll | TeamBarrier | TeamSync)
}

/// Whether an operation is a collective one, with data.
pub(crate) fn is_collective(operation: Operation) -> bool {
    use Operation::{
        Alltoall, Alltoallv, Broadcast, Collect, Exscan, Fcollect, Reduce, ReduceScatter, ReduceTo, Scan,
    };
    matches!(
        operation,
        Broadcast
            | Fcollect
            | Collect
            | Alltoall
            | Alltoallv
            | Reduce
            | ReduceScatter
            | ReduceTo
            | Scan
            | Exscan
    )
}

impl Run {
    /// A thread begins, for its PE, what the PEs of a team do together.
    pub(crate) fn collective(&mut self, who: Who, call: TeamCall) {
        let (place, pes) = (self.place_now(who), self.pes as usize);
        let pe = place.pe as usize;
        let sequence = Sequence::of(call.operation, call.at);
        // One that does nothing is in nobody's way.
        let acts = call.data.is_none_or(|(alike, _)| alike.elements.0 != Some(0));
        let of_all =
            self.calls.entry(sequence).or_insert_with(|| (0..pes).map(|_| Calls::default()).collect());
        let number = of_all[pe].count();
        let others: Vec<Call> = (0..pes)
            .filter(|&other| other != pe)
            .filter_map(|other| of_all[other].get(number).cloned())
            .collect();
        of_all[pe].all.push_back(Call { call, place: place.clone() });
        forget_met(of_all, call.pes);
        if acts {
            let last = of_all[pe].last.replace(Last { who, place: place.clone(), over: None });
            self.one_at_a_time(who, &place, last);
        }
        if let Some((_, operands)) = call.data {
            self.same_or_apart(&place, operands);
        }
        for other in others {
            self.same_call(number, (&call, &place), &other);
        }
    }

    /// Reports a call of a PE that is not known to come after the end of the one before it.
    fn one_at_a_time(&mut self, who: Who, place: &Place, last: Option<Last>) {
        let Some(last) = last.filter(|last| last.who != who) else { return };
        let issued = &self.thread(who).know.issued;
        let detail = match last.over {
            Some(over) if issued.knows(last.who, over) => return,
            Some(_) => "the one before had ended, but nothing lets this thread know so",
            None => "",
        };
        let finding = Finding {
            first: Some(place.clone()),
            second: Some(last.place),
            detail: detail.into(),
            remedy:
                "one thread, warp, block or grid of a PE at a time; others by another channel of the team"
                    .into(),
            ..Finding::new(Kind::CollectiveOverlap)
        };
        self.found(finding);
    }

    /// Reports a source and a target that have memory in common where they may not.
    fn same_or_apart(&mut self, place: &Place, operands: Operands) {
        let Operands { target: (to, target), source: (from, source), in_place } = operands;
        let (target_end, source_end) = (to + target, from + source);
        let apart = target == 0 || source == 0 || target_end <= from || source_end <= to;
        let within = from >= to && source_end <= target_end;
        let around = to >= from && target_end <= source_end;
        let allowed = match in_place {
            InPlace::Never => false,
            InPlace::At(distance) => (within || around) && to.abs_diff(from) == distance,
            InPlace::Anywhere => within,
        };
        if apart || allowed {
            return;
        }
        let name = |offset| self.places.name_at(offset);
        let finding = Finding {
            first: Some(place.clone()),
            memory: format!("{} of PE {}", name(to.max(from)), place.pe),
            detail: format!(
                "the target begins at {} and has {target} bytes, the source at {} and has {source}: they overlap",
                name(to),
                name(from)
            ),
            remedy: "give it memory of which they have nothing in common, or where the operation says that it works in place"
                .into(),
            ..Finding::new(Kind::BadCall)
        };
        self.found(finding);
        self.over = true;
    }

    /// Reports what two PEs' calls of one number do not have alike.
    fn same_call(&mut self, number: usize, (call, place): (&TeamCall, &Place), other: &Call) {
        let (mine, theirs) = (place.pe, other.place.pe);
        let number = format!("call number {} of {}", number + 1, turn(call));
        let (detail, remedy) = if call.operation != other.call.operation {
            let (own, its) = (call.operation, other.call.operation);
            (
                format!("{number}: that of PE {mine} is {own}, that of PE {theirs} {its}"),
                "have all PEs come to the same calls in the same order",
            )
        } else {
            let differing = self.differing(call, &other.call);
            if differing.is_empty() {
                return;
            }
            let (own, its): (Vec<String>, Vec<String>) = differing.into_iter().unzip();
            let (own, its) = (own.join(", "), its.join(", "));
            (
                format!("{number}: PE {mine} has {own}; PE {theirs} has {its}"),
                "give the same arguments on every PE",
            )
        };
        let finding = Finding {
            first: Some(place.clone()),
            second: Some(other.place.clone()),
            detail,
            remedy: remedy.into(),
            ..Finding::new(Kind::CollectiveMismatch)
        };
        self.found(finding);
        // What PEs make of data that they do not take for the same means nothing.
        self.over |= is_collective(call.operation);
    }

    /// What two calls of one operation do not have alike, as both have it.
    fn differing(&self, one: &TeamCall, two: &TeamCall) -> Vec<(String, String)> {
        let (Some((a, _)), Some((b, _))) = (one.data, two.data) else { return Vec::new() };
        let bytes = |alike: &Alike| alike.elements.0.map(|count| count * alike.elements.1);
        let elements = |alike: &Alike| {
            let (count, bytes) = alike.elements;
            format!("{} elements of {bytes} bytes", count.unwrap_or(0))
        };
        let element = |alike: &Alike| alike.combined.map_or("", |(ty, _)| short(ty)).to_owned();
        let operator = |alike: &Alike| alike.combined.map_or("", |(_, operator)| operator).to_owned();
        let root = |alike: &Alike| alike.root.map_or(String::new(), |root| format!("root {root}"));
        let at = |what: &str, offset: Option<u64>| {
            offset.map_or(String::new(), |offset| format!("{what} {}", self.places.name_at(offset)))
        };
        let blocks = |alike: &Alike| {
            format!("a scope of {} block{}", alike.blocks, if alike.blocks == 1 { "" } else { "s" })
        };
        let rules: [(bool, String, String); 7] = [
            (bytes(&a) != bytes(&b), elements(&a), elements(&b)),
            (element(&a) != element(&b), element(&a), element(&b)),
            (operator(&a) != operator(&b), operator(&a), operator(&b)),
            (a.root != b.root, root(&a), root(&b)),
            (a.target != b.target, at("target", a.target), at("target", b.target)),
            (a.source != b.source, at("source", a.source), at("source", b.source)),
            (a.blocks != b.blocks, blocks(&a), blocks(&b)),
        ];
        rules.into_iter().filter(|(differ, ..)| *differ).map(|(_, a, b)| (a, b)).collect()
    }

    /// A thread has ended, for its PE, what it began.
    pub(crate) fn collective_over(&mut self, who: Who, operation: Operation, at: Turn) {
        let pe = self.thread(who).pe as usize;
        // What it told others so far came before the end.
        self.thread_mut(who).own += 1;
        let now = self.now(who);
        let Some(of_all) = self.calls.get_mut(&Sequence::of(operation, at)) else { return };
        if let Some(last) = of_all[pe].last.as_mut().filter(|last| last.who == who) {
            last.over = Some(now);
        }
        if operation == Operation::TeamBarrier {
            let number = of_all[pe].count();
            let came = (0..).zip(of_all.iter()).filter(|(_, calls)| calls.count() >= number);
            let came = came.map(|(pe, _)| pe).collect();
            self.all_have(who, came);
        }
    }

    /// Everything has run: reports calls that some PEs of a team never came to. An operation may end without them.
    pub(crate) fn calls_left(&mut self) {
        let mut found = Vec::new();
        for (sequence, of_all) in &self.calls {
            let most = of_all.iter().map(Calls::count).max().unwrap_or(0);
            let came: Vec<&Calls> = of_all.iter().filter(|calls| calls.count() == most).collect();
            let Some(Call { call, place }) = came.iter().find_map(|calls| calls.all.back()) else { continue };
            if came.len() == call.pes as usize {
                continue;
            }
            let detail = format!(
                "{} of {} PEs have come to call number {most} of {}: {}",
                came.len(),
                call.pes,
                turn(call),
                counts(of_all, call.pes == self.pes),
            );
            let finding = Finding {
                first: Some(place.clone()),
                detail,
                remedy: "have all PEs of the team come to it".into(),
                ..Finding::new(Kind::CollectiveMismatch)
            };
            found.push((*sequence, finding));
        }
        found.sort_by_key(|&(sequence, _)| sequence);
        found.into_iter().for_each(|(_, finding)| self.found(finding));
    }

    /// Everything has run so far, and everybody knows: keeps no more than how many calls there were.
    pub(crate) fn forget_calls(&mut self) {
        self.calls_left();
        for calls in self.calls.values_mut().flatten() {
            calls.before = calls.count();
            calls.all.clear();
            calls.last = None;
        }
    }

    /// How often each PE has come to what a thread is in.
    pub(crate) fn who_came(&self, who: Who) -> String {
        let pe = self.thread(who).pe as usize;
        let block = |of: Who| self.thread(of).block;
        let inside = |calls: &&Vec<Calls>| calls[pe].inside().is_some_and(|of| block(of) == block(who));
        let Some(calls) = self.calls.values().find(inside) else { return String::new() };
        // Of a team those that have never come may not belong to it.
        let of_job = calls[pe].all.back().is_some_and(|call| call.call.pes == self.pes);
        format!("times that each PE has come to one: {}", counts(calls, of_job))
    }
}

/// How often each PE has come, where `all` belong to the team; else those that have come.
fn counts(calls: &[Calls], all: bool) -> String {
    let came = calls.iter().enumerate().filter(|(_, calls)| all || calls.count() > 0);
    came.map(|(pe, calls)| format!("PE {pe}: {}", calls.count())).collect::<Vec<_>>().join(", ")
}

/// The team and channel of a call, as a report has them.
fn turn(call: &TeamCall) -> String {
    let Turn { team, channel, .. } = call.at;
    if matches!(call.operation, Operation::BarrierAll | Operation::SyncAll) {
        return "all PEs".into();
    }
    format!("{:?}, channel {channel}", Team::from_bits(team))
}

/// A type's name without its path.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
