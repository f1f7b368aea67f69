//! The axes of a row.

use crate::kernels::{FORMS, SCOPES, form, scope_of};

/// Numbers of PEs.
pub(crate) const PES: [u32; 6] = [1, 2, 3, 4, 5, 8];
/// Elements of a part.
pub(crate) const COUNTS: [u64; 6] = [0, 1, 3, 17, 1000, 65537];
/// Element types, by [`Sample::INDEX`](crate::Sample::INDEX), and how many operators they have.
pub(crate) const TYPES: [(&str, u32); 12] = [
    ("u8", 7),
    ("i8", 7),
    ("u16", 7),
    ("i16", 7),
    ("u32", 7),
    ("i32", 7),
    ("u64", 7),
    ("i64", 7),
    ("f16", 4),
    ("bf16", 4),
    ("f32", 4),
    ("f64", 4),
];
/// The types that every scope calls every operation with.
const EVERYWHERE: [u32; 2] = [4, 10];
/// Teams.
pub(crate) const TEAMS: [&str; 4] = ["world", "stride 2", "reversed", "two that overlap"];
/// From the begin of the memory to that of source and target, in elements.
pub(crate) const PLACES: [(u64, u64); 4] = [(0, 0), (1, 1), (5, 2), (0, 3)];
/// Names of operations.
pub(crate) const FORM_NAMES: [&str; FORMS as usize] = [
    "broadcast",
    "fcollect",
    "collect",
    "alltoall",
    "alltoallv",
    "reduce",
    "reduce_scatter",
    "reduce_to",
    "scan",
    "exscan",
];
const SCOPE_NAMES: [&str; SCOPES as usize] = ["thread", "warp", "warps", "block", "grid"];
const OP_NAMES: [&str; 7] = ["Sum", "Prod", "Min", "Max", "And", "Or", "Xor"];

/// Values of the axes, as their numbers: operation, scope, type, operator, PEs, count, teams, apart or in place, place.
pub(crate) const AXES: [u32; 9] = [
    FORMS,
    SCOPES,
    TYPES.len() as u32,
    7,
    PES.len() as u32,
    COUNTS.len() as u32,
    TEAMS.len() as u32,
    2,
    PLACES.len() as u32,
];

/// A row, by the number of its value on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row(pub(crate) [u32; AXES.len()]);

impl Row {
    pub(crate) fn form(&self) -> u32 {
        self.0[0]
    }
    pub(crate) fn scope(&self) -> u32 {
        self.0[1]
    }
    pub(crate) fn ty(&self) -> u32 {
        self.0[2]
    }
    pub(crate) fn op(&self) -> u32 {
        self.0[3]
    }
    pub(crate) fn pes(&self) -> u32 {
        PES[self.0[4] as usize]
    }
    pub(crate) fn count(&self) -> u64 {
        COUNTS[self.0[5] as usize]
    }
    pub(crate) fn teams(&self) -> u32 {
        self.0[6]
    }
    pub(crate) fn in_place(&self) -> bool {
        self.0[7] == 1
    }
    pub(crate) fn place(&self) -> (u64, u64) {
        PLACES[self.0[8] as usize]
    }

    /// Whether it has an operator.
    pub(crate) fn combines(form: u32) -> bool {
        form >= form::REDUCE
    }

    /// Whether there is such a row: what is not on an axis of an operation has its first value.
    pub(crate) fn is_valid(&self) -> bool {
        let [form, scope, ty, op, .., in_place, _] = self.0;
        let ops = if Self::combines(form) { TYPES[ty as usize].1 } else { 1 };
        (EVERYWHERE.contains(&ty) || scope == scope_of(form, ty))
            && op < ops
            && (form != form::ALLTOALLV || in_place == 0)
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let op = if Self::combines(self.form()) { OP_NAMES[self.op() as usize] } else { "" };
        let (name, scope) = (FORM_NAMES[self.form() as usize], SCOPE_NAMES[self.scope() as usize]);
        let (ty, teams) = (TYPES[self.ty() as usize].0, TEAMS[self.teams() as usize]);
        let in_place = if self.in_place() { ", in place" } else { "" };
        write!(f, "{scope} {name} {op} of {} {ty}, {teams}{in_place}, {:?} off", self.count(), self.place())
    }
}

/// How much of the suite is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One of so many rows of up to 1000 elements, beginning with this one: the checker looks at each access.
    Checked {
        /// Number of the first row.
        first: usize,
    },
    /// What there is time for.
    Usual,
    /// Everything.
    Full,
}

/// From one row under the checker to the next: a prime that divides the number of values of no axis, so that the rows go through
/// all values of each.
const CHECKED: usize = 41;
/// Most elements under the checker.
const MOST_CHECKED: u64 = 1000;

impl Extent {
    /// As the environment says.
    pub(crate) fn from_env() -> Self {
        let of = |name| std::env::var(name).ok();
        if of("OXSHMEM_CHECK").as_deref() == Some("1") {
            let seed = of("OXSHMEM_CHECK_SEED").and_then(|seed| seed.parse::<usize>().ok());
            return Self::Checked { first: seed.unwrap_or(1) % CHECKED };
        }
        if of("OXSHMEM_TEST_FULL").is_some() { Self::Full } else { Self::Usual }
    }

    /// Those of the rows that are run.
    pub(crate) fn of(self, rows: Vec<Row>) -> Vec<Row> {
        match self {
            Self::Checked { first } => {
                let small = rows.into_iter().filter(|row| row.count() <= MOST_CHECKED);
                small.skip(first).step_by(CHECKED).collect()
            }
            Self::Usual | Self::Full => rows,
        }
    }

    /// Which of three numbers it asks for.
    pub(crate) fn pick(self, checked: u32, usual: u32, full: u32) -> u32 {
        match self {
            Self::Checked { .. } => checked,
            Self::Usual => usual,
            Self::Full => full,
        }
    }
}

/// Every row of `u32` and `f32`, sums of up to 17 elements, for `n` PEs; every row there is in the full suite.
pub(crate) fn product(n: u32, extent: Extent) -> Vec<Row> {
    let pes = PES.iter().position(|pes| *pes == n).unwrap_or(0) as u32;
    let mut rows = Vec::new();
    let mut row = [0u32; AXES.len()];
    loop {
        let small = EVERYWHERE.contains(&row[2]) && row[3] == 0 && row[5] < 4 && row[8] == 0;
        if Row(row).is_valid() && row[4] == pes && (extent == Extent::Full || small) {
            rows.push(Row(row));
        }
        // The next one.
        let Some(axis) = (0..AXES.len()).find(|axis| row[*axis] + 1 < AXES[*axis]) else { return rows };
        row[axis] += 1;
        row[..axis].fill(0);
    }
}
