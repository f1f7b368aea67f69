//! What a checked run found.

use core::fmt;
use core::panic::Location;
use oxshmem_device::abi::Operation;

macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident = $name:literal, $what:literal;)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind { $($(#[$meta])* $kind,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Its name, as JSON has it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The sentence with which a report begins.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$kind => $what,)* }
            }
        }
    };
}

kinds! {
    /// Two accesses of the same bytes, one of them a write, with nothing that orders them.
    DataRace = "data-race", "two accesses of the same bytes are not ordered";
    /// Two puts of one PE to the same bytes, with no fence between them.
    UnorderedPuts = "unordered-puts", "two puts of one PE to the same bytes may arrive in either order";
    /// Who saw a signal that was sent after the data may not see the data.
    SignalOvertakesData = "signal-overtakes-data", "the signal can overtake its data";
    /// Who saw a signal that covers the data has not acquired it.
    MissingAcquire = "missing-acquire", "the signal was seen, but by a read that does not acquire";
    /// A signal of one thread, sent for stores of other threads of its block that it was never joined with.
    ReleaseWithoutBarrier = "release-without-barrier", "a signal is sent for what other threads wrote, with no barrier between";
    /// One thread waited, and another one of its block reads, with no barrier between.
    AcquireWithoutBarrier = "acquire-without-barrier", "another thread of the block waited for this, with no barrier between";
    /// The source of a non-blocking put is written before a flush or quiet.
    SourceInUse = "source-in-use", "the source of a non-blocking put is overwritten before it may be reused";
    /// The destination of a non-blocking get is used before a quiet.
    DestinationInUse = "destination-in-use", "the destination of a non-blocking get is used before the data is there";
    /// A read of memory that nobody wrote.
    NeverWritten = "never-written", "memory is read that nobody has written";
    /// An index or range outside of its allocation.
    OutOfBounds = "out-of-bounds", "an access is outside of its allocation";
    /// An access of memory that was given back.
    UseAfterFree = "use-after-free", "memory is used that was given back";
    /// A word that is waited for, written as data.
    FlagByData = "flag-by-data", "a word that is waited for is written by a plain store or put";
    /// Atomic accesses of different widths meet.
    MixedWidth = "mixed-width", "atomic accesses of different widths meet in one word";
    /// An atomic and a plain access meet, unordered.
    AtomicAndPlain = "atomic-and-plain", "an atomic and a plain access of one word are not ordered";
    /// `Set` and `Add` of one signal, unordered.
    SetAndAdd = "set-and-add", "a signal is both set and added to, and nothing orders the two";
    /// Two PEs set one signal, unordered.
    ConcurrentSets = "concurrent-sets", "two PEs set one word, and nothing orders the two";
    /// An operation of a warp or block that some of its threads do not call.
    PartialScope = "partial-scope", "an operation of a whole scope is called by a part of it";
    /// An operation of a warp or block whose threads call it with different arguments.
    DifferentArguments = "different-arguments", "threads of one scope call an operation with different arguments";
    /// A barrier of a block of which some threads have ended.
    BarrierLeft = "barrier-left", "a barrier of the block is reached after some of its threads have ended";
    /// Nothing can go on.
    Deadlock = "deadlock", "nothing can go on";
    /// The PEs come to different collective calls.
    CollectiveMismatch = "collective-mismatch", "the PEs come to different collective calls";
    /// Two instances of a collective call of one PE at once.
    CollectiveOverlap = "collective-overlap", "one PE is in two collective calls at once";
    /// A launch whose blocks cannot be resident together.
    NotResident = "not-resident", "the blocks of a launch cannot be resident together";
    /// An operation with arguments that it cannot have.
    BadCall = "bad-call", "an operation is called with arguments that it cannot have";
    /// A kernel panicked.
    Panicked = "panicked", "a kernel panicked";
    /// A kernel thread used up its stack.
    StackOverflow = "stack-overflow", "a kernel thread has used up its stack";
    /// A kernel thread touched memory that is not there.
    WildAccess = "wild-access", "a kernel thread touched memory that it does not have";
    /// A thread runs and comes to no operation, or a run does not end.
    NoProgress = "no-progress", "a thread runs without coming to any operation";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where, and by whom, something was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What: `put`, `read`, `signal`…
    pub operation: Operation,
    /// Whether it wrote.
    pub writes: bool,
    /// The source line.
    pub location: &'static Location<'static>,
    /// The PE.
    pub pe: u32,
    /// Block and thread, x, y, z; `None` on the host.
    pub thread: Option<([u32; 3], [u32; 3])>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.operation, self.writes) {
            (Operation::Access, true) => "write",
            (Operation::Access, false) => "read",
            (other, _) => other.name(),
        };
        write!(f, "{what} at {}", self.location)?;
        match self.thread {
            Some((block, thread)) => {
                write!(f, ", PE {} block {} thread {}", self.pe, index(block), index(thread))
            }
            None => write!(f, ", host of PE {}", self.pe),
        }
    }
}

/// An index in up to three dimensions, as short as it can be said.
fn index([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0, 0) => x.to_string(),
        (y, 0) => format!("({x}, {y})"),
        (y, z) => format!("({x}, {y}, {z})"),
    }
}

/// A thread that waits when nothing can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Where.
    pub place: Place,
    /// What for: the word as `name[index]` and the comparison, or what it waits at.
    pub waits_for: String,
    /// What was seen.
    pub seen: Option<u64>,
    /// What could have let it go on.
    pub by: String,
    /// How many threads wait alike.
    pub count: u32,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// The place at which it showed.
    pub first: Option<Place>,
    /// The other place.
    pub second: Option<Place>,
    /// The memory: `name[index] of PE n`; empty if it is about none.
    pub memory: String,
    /// What is to know besides.
    pub detail: String,
    /// What would order it.
    pub remedy: String,
    /// Who waits for what, if nothing can go on.
    pub waiters: Vec<Waiter>,
}

impl Finding {
    /// A finding of this kind, with nothing else.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            first: None,
            second: None,
            memory: String::new(),
            detail: String::new(),
            remedy: String::new(),
            waiters: Vec::new(),
        }
    }

    /// What makes it the same finding as another: its kind and its lines.
    pub fn key(&self) -> (Kind, Vec<(&'static str, u32)>) {
        let line = |place: &Option<Place>| place.as_ref().map(|p| (p.location.file(), p.location.line()));
        let mut lines: Vec<_> = [line(&self.first), line(&self.second)].into_iter().flatten().collect();
        if self.kind == Kind::Deadlock {
            lines = self.waiters.iter().map(|w| (w.place.location.file(), w.place.location.line())).collect();
        }
        lines.sort_unstable();
        (self.kind, lines)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.kind, self.kind.what())?;
        if !self.memory.is_empty() {
            writeln!(f, "    on  {}", self.memory)?;
        }
        // What a thread does between two operations has no line: it is said after which it was.
        let label = match self.kind {
            Kind::Panicked | Kind::StackOverflow | Kind::WildAccess | Kind::NoProgress => "after",
            _ => "one",
        };
        for (label, place) in [(label, &self.first), ("two", &self.second)] {
            if let Some(place) = place {
                writeln!(f, "    {label} {place}")?;
            }
        }
        for waiter in &self.waiters {
            let also =
                if waiter.count > 1 { format!(" (and {} more)", waiter.count - 1) } else { String::new() };
            writeln!(f, "    wait {}{also}", waiter.place)?;
            let seen = waiter.seen.map_or(String::new(), |seen| format!(", saw {seen}"));
            writeln!(f, "         for {}{seen}", waiter.waits_for)?;
            if !waiter.by.is_empty() {
                writeln!(f, "         {}", waiter.by)?;
            }
        }
        if !self.detail.is_empty() {
            writeln!(f, "    {}", self.detail)?;
        }
        if !self.remedy.is_empty() {
            writeln!(f, "    mend: {}", self.remedy)?;
        }
        Ok(())
    }
}
