//! Names from other processes as `&'static str`, as errors carry them. Each is kept once; there is room for as many
//! as a program has kernels and types, and no more, whatever arrives.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

const MOST: usize = 4096;
/// Stands for a name that there was no room for.
const UNKNOWN: &str = "(unknown)";

/// The name, for the rest of the process.
pub(crate) fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(known) => known,
        None if names.len() < MOST => {
            let kept: &'static str = Box::leak(name.into());
            names.insert(kept);
            kept
        }
        None => UNKNOWN,
    }
}
