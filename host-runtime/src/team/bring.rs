//! What the PEs of a team tell each other when they make teams of it, or destroy it.

use crate::error::{Error, Result};
use crate::pe::Pe;
use oxshmem_device::Team as Handle;

/// What a PE brings to a call over a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Brought {
    /// The team.
    pub(super) team: u64,
    /// What else it passes.
    pub(super) arguments: [i64; 3],
    /// How many teams it has made or joined.
    pub(super) count: u32,
    /// A bit for each slot that is free.
    pub(super) free: u64,
}

impl Brought {
    pub(super) fn to_words(self) -> [u64; 6] {
        let [a, b, c] = self.arguments.map(i64::cast_unsigned);
        [self.team, a, b, c, self.count.into(), self.free]
    }

    pub(super) fn of([team, a, b, c, count, free]: [u64; 6]) -> Self {
        Self { team, arguments: [a, b, c].map(u64::cast_signed), count: count as u32, free }
    }
}

/// Comes to a call over a team; what all of them have brought, which agrees in all that must. The call has a name and names
/// for its arguments.
pub(super) fn meet(
    pe: &Pe,
    call: (&'static str, &'static [&'static str]),
    members: &[u32],
    brought: Brought,
    trouble: Option<Error>,
) -> Result<Vec<Brought>> {
    let data = bytemuck::bytes_of(&brought.to_words()).to_vec();
    let agreed = pe.meet_team(call.0, members, data, trouble)?;
    let words = agreed.gathered.iter().map(|of_pe| bytemuck::try_pod_read_unaligned(of_pe));
    let all: Vec<[u64; 6]> = words.collect::<Result<_, _>>().map_err(|e| Error::other(e.to_string()))?;
    let all: Vec<Brought> = all.into_iter().map(Brought::of).collect();
    differing(call, members, &all).map_or(Ok(all), Err)
}

/// The error of PEs that do not pass the same.
pub(super) fn differing(
    (call, names): (&'static str, &'static [&'static str]),
    members: &[u32],
    all: &[Brought],
) -> Option<Error> {
    let found = |what: &'static str, shown: &dyn Fn(&Brought) -> String| {
        let first = shown(all.first()?);
        let (pe, other) = members.iter().zip(all).find(|(_, one)| shown(one) != first)?;
        Some(Error::ArgumentsDiffer { call, what, one: (members[0], first), other: (*pe, shown(other)) })
    };
    let team = found("the team", &|one| format!("{:?}", Handle::from_bits(one.team)));
    let argument =
        |(at, name): (usize, &&'static str)| found(name, &|one: &Brought| one.arguments[at].to_string());
    team.or_else(|| names.iter().enumerate().find_map(argument))
}
