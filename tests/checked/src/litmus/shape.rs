//! What a shape is, and what is said of it.

use super::{Kernel, names};
use core::fmt;
use oxshmem_emulator::check::{Kind, Profile, Registers, World, WorldGrid};

/// Outcomes: the registers of each, then its watched words.
pub type Rows = &'static [&'static [u64]];

/// A few operations, and what the checker must make of them.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its row in the table of shapes; those above 90 were added to it.
    pub number: u32,
    /// Which of several shapes of the row; empty for the first.
    pub variant: &'static str,
    /// Its name, which no other has.
    pub name: &'static str,
    /// What it does, in the notation of the module.
    pub text: &'static str,
    /// How many PEs it runs on.
    pub pes: u32,
    /// Blocks and threads of each PE.
    pub grid: WorldGrid,
    /// Takes its memory and makes the kernel.
    pub make: fn(&mut World) -> Kernel,
    default: Verdict,
    openshmem: Option<Verdict>,
    mixed: Option<Verdict>,
    strict: Option<Verdict>,
}

impl Shape {
    /// A shape of one thread per PE, with this verdict in every profile.
    pub(super) const fn new(
        (number, variant): (u32, &'static str),
        name: &'static str,
        text: &'static str,
        pes: u32,
        default: Verdict,
        make: fn(&mut World) -> Kernel,
    ) -> Self {
        let (openshmem, mixed, strict) = (None, None, None);
        Self {
            number,
            variant,
            name,
            text,
            pes,
            grid: WorldGrid::of(1, 1),
            make,
            default,
            openshmem,
            mixed,
            strict,
        }
    }

    /// With so many blocks and threads.
    pub(super) const fn on(self, blocks: u32, threads: u32) -> Self {
        Self { grid: WorldGrid::of(blocks, threads), ..self }
    }

    /// With another verdict in [`Profile::OpenShmem`].
    pub(super) const fn openshmem(self, verdict: Verdict) -> Self {
        Self { openshmem: Some(verdict), ..self }
    }

    /// With another verdict in [`Profile::Mixed`].
    pub(super) const fn mixed(self, verdict: Verdict) -> Self {
        Self { mixed: Some(verdict), ..self }
    }

    /// With another verdict in [`Profile::Strict`].
    pub(super) const fn strict(self, verdict: Verdict) -> Self {
        Self { strict: Some(verdict), ..self }
    }

    /// What is said of it under these rules.
    pub fn verdict(&self, profile: Profile) -> Verdict {
        let other = match profile {
            Profile::Oxshmem => None,
            Profile::OpenShmem => self.openshmem,
            Profile::Mixed => self.mixed,
            Profile::Strict => self.strict,
        };
        other.unwrap_or(self.default)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {}", self.number, self.variant, self.name)
    }
}

/// What the search of a shape must find, and which outcomes it must and may see. A run that hangs has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// At least one of these is found, if there are any.
    pub one_of: &'static [Kind],
    /// Whether some schedule hangs: [`Kind::Deadlock`] is found.
    pub hangs: bool,
    /// What may be found besides.
    pub may_find: &'static [Kind],
    /// Outcomes that are seen.
    pub reached: Rows,
    /// Outcomes besides which none is seen; `None` if any may be.
    pub allowed: Option<Rows>,
}

impl Verdict {
    /// Nothing is found, and exactly these outcomes are seen.
    pub const fn ok(outcomes: Rows) -> Self {
        Self { one_of: &[], hangs: false, may_find: &[], reached: outcomes, allowed: Some(outcomes) }
    }

    /// At least one of these kinds is found, and nothing else. These outcomes are seen, and any others may be.
    pub const fn race(one_of: &'static [Kind], reached: Rows) -> Self {
        Self { one_of, hangs: false, may_find: &[], reached, allowed: None }
    }

    /// Nothing else is found, these kinds perhaps. These outcomes are seen, and any others may be.
    pub const fn perhaps(may_find: &'static [Kind], reached: Rows) -> Self {
        Self { one_of: &[], hangs: false, may_find, reached, allowed: None }
    }

    /// Some schedule hangs, nothing else is found, and exactly these outcomes are seen.
    pub const fn hang(outcomes: Rows) -> Self {
        Self::ok(outcomes).hangs()
    }

    /// The same, and some schedule hangs.
    #[must_use]
    pub const fn hangs(self) -> Self {
        Self { hangs: true, ..self }
    }

    /// The same, and these may be found besides.
    #[must_use]
    pub const fn may_find(self, may_find: &'static [Kind]) -> Self {
        Self { may_find, ..self }
    }

    /// The same, and no outcomes but those that are reached.
    #[must_use]
    pub const fn exact(self) -> Self {
        self.only(self.reached)
    }

    /// The same, and no outcomes but these.
    #[must_use]
    pub const fn only(self, allowed: Rows) -> Self {
        Self { allowed: Some(allowed), ..self }
    }

    /// Whether this kind may be found.
    pub fn accepts(&self, kind: Kind) -> bool {
        self.one_of.contains(&kind) || self.may_find.contains(&kind) || self.hangs && kind == Kind::Deadlock
    }

    /// Whether this outcome may be seen.
    pub fn allows(&self, outcome: &[u64]) -> bool {
        self.allowed.is_none_or(|rows| rows.contains(&outcome))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.one_of, self.hangs) {
            ([], false) => f.write_str("ok")?,
            ([], true) => f.write_str("**hang**")?,
            (kinds, false) => f.write_str(&names(kinds, " or "))?,
            (kinds, true) => write!(f, "{}, **hang**", names(kinds, " or "))?,
        }
        if !self.may_find.is_empty() {
            write!(f, ", perhaps {}", names(self.may_find, ", "))?;
        }
        if !self.reached.is_empty() {
            write!(f, "; {}", outcomes(self.reached))?;
        }
        let Some(allowed) = self.allowed else { return f.write_str("; any other") };
        let others: Vec<_> = allowed.iter().copied().filter(|row| !self.reached.contains(row)).collect();
        if !others.is_empty() {
            write!(f, "; perhaps {}", outcomes(&others))?;
        }
        Ok(())
    }
}

/// Outcomes as they are printed: many of zeros and ones by those that are not among them.
fn outcomes(rows: &[&[u64]]) -> String {
    let registers = rows.first().map_or(0, |row| row.len());
    if rows.len() > 8 && rows.iter().copied().flatten().all(|&value| value <= 1) {
        let every =
            (0..1 << registers).map(|bits: u64| (0..registers).rev().map(|i| bits >> i & 1).collect());
        let absent: Vec<Vec<u64>> = every.filter(|row: &Vec<u64>| !rows.contains(&row.as_slice())).collect();
        let but: String = absent.iter().map(|row| format!(" but {}", outcome(row))).collect();
        return format!("every {registers} of 0 and 1{but}");
    }
    rows.iter().map(|row| outcome(row)).collect::<Vec<_>>().join(" ")
}

/// An outcome as it is printed; a register that was not set is a dash.
pub(super) fn outcome(row: &[u64]) -> String {
    let values: Vec<_> = row
        .iter()
        .map(|&value| if value == Registers::UNSET { "–".to_owned() } else { value.to_string() })
        .collect();
    format!("({})", values.join(", "))
}
