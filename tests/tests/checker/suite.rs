//! Rules that the pairs themselves keep.

use crate::marker::Lines;
use oxshmem_checked::pairs::Pair;
use std::collections::BTreeSet;

/// Fewest pairs.
const PAIRS: usize = 80;

/// What is wrong with the suite: a line for each rule that it breaks.
pub(crate) fn problems(pairs: &[Pair]) -> Vec<String> {
    let few =
        (pairs.len() < PAIRS).then(|| format!("the suite has {} pairs, fewer than {PAIRS}", pairs.len()));
    let missing: Vec<_> = pairs.iter().filter_map(|pair| Lines::of(pair).err()).collect();
    let missing = (!missing.is_empty()).then(|| format!("the suite's markers: {}", missing.join("; ")));
    [few, twice(pairs, "name", |pair| pair.name), twice(pairs, "mechanism", |pair| pair.mechanism), missing]
        .into_iter()
        .flatten()
        .collect()
}

/// What more than one pair has.
fn twice(pairs: &[Pair], what: &str, of: impl Fn(&Pair) -> &'static str) -> Option<String> {
    let mut seen = BTreeSet::new();
    let again: Vec<_> = pairs.iter().map(of).filter(|&value| !seen.insert(value)).collect();
    (!again.is_empty()).then(|| format!("pairs of the suite have one {what}: {}", again.join("; ")))
}
