//! The litmus shapes, each under every profile.

use crate::spread::caught;
use oxshmem_checked::litmus::{self, Shape};
use oxshmem_emulator::check::Profile;

/// Most runs of the search of one shape.
const RUNS: u64 = 200_000;

/// A shape, and the rules that it is searched under.
pub(crate) type Case = (Shape, Profile);

/// The shapes whose names contain `pattern`.
pub(crate) fn cases(pattern: &str) -> Vec<Case> {
    let shapes = litmus::all().into_iter().filter(|shape| shape.name.contains(pattern));
    shapes.flat_map(|shape| Profile::ALL.map(|profile| (shape, profile))).collect()
}

/// What is wrong with a case, if anything is.
pub(crate) fn run((shape, profile): &Case) -> Option<String> {
    let problems = match caught(|| litmus::run(shape, *profile, RUNS)) {
        Ok(result) => result.err()?.join("; "),
        Err(panic) => format!("{shape}, profile {profile}: {panic}"),
    };
    Some(format!("litmus {}", problems.replace('\n', " ")))
}
