//! Whether every dependency's licence is one that this project may use.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::checkout::{Checkout, array, metadata};

/// Licences that go with `MIT OR Apache-2.0`, by their SPDX names.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// The workspaces that are used, below the checkout's folder.
const WORKSPACES: &[&str] = &["", "bootstrap-mpi"];

/// Checks every package that the workspaces use on Linux and returns how many there are.
///
/// # Errors
/// Names each package whose licence is not allowed.
pub fn check(checkout: &Checkout) -> Result<usize> {
    let platform = ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let (mut names, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for workspace in WORKSPACES {
        let metadata = metadata(&checkout.root.join(workspace), &platform)?;
        // Packages of other platforms are listed too, but not resolved.
        let used = array(&metadata["resolve"]["nodes"]).iter().map(|node| &node["id"]).collect::<Vec<_>>();
        for package in array(&metadata["packages"]).iter().filter(|package| used.contains(&&package["id"])) {
            names.insert(package["id"].to_string());
            refused.extend(refusal(package));
        }
    }
    if !refused.is_empty() {
        let refused: Vec<String> = refused.into_iter().collect();
        bail!("{}; allowed are {}", refused.join("; "), ALLOWED.join(", "));
    }
    Ok(names.len())
}

fn refusal(package: &Value) -> Option<String> {
    let text = |key: &str| package[key].as_str();
    let name = format!("{} {}", text("name").unwrap_or("?"), text("version").unwrap_or("?"));
    match text("license") {
        None => Some(format!("{name} names no licence")),
        Some(expression) if allows(expression) => None,
        Some(expression) => Some(format!("{name} is under {expression}")),
    }
}

/// Whether an SPDX expression can be met with allowed licences. `/` is the old way to write OR.
fn allows(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = &words[..];
    alternatives(&mut words) == Some(true) && words.is_empty()
}

fn alternatives(words: &mut &[&str]) -> Option<bool> {
    let mut any = conjunction(words)?;
    while let Some(rest) = words.strip_prefix(&["OR"]) {
        *words = rest;
        any |= conjunction(words)?;
    }
    Some(any)
}

fn conjunction(words: &mut &[&str]) -> Option<bool> {
    let mut all = licence(words)?;
    while let Some(rest) = words.strip_prefix(&["AND"]) {
        *words = rest;
        all &= licence(words)?;
    }
    Some(all)
}

/// One licence with its exception, or an expression in parentheses; `None` if it is neither.
fn licence(words: &mut &[&str]) -> Option<bool> {
    let (&first, rest) = words.split_first()?;
    *words = rest;
    if first == "(" {
        let inner = alternatives(words)?;
        *words = words.strip_prefix(&[")"])?;
        return Some(inner);
    }
    if [")", "AND", "OR", "WITH"].contains(&first) {
        return None;
    }
    if let ["WITH", exception, rest @ ..] = *words {
        *words = rest;
        return Some(ALLOWED.contains(&format!("{first} WITH {exception}").as_str()));
    }
    Some(ALLOWED.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn expressions_are_met_or_not() {
        let met = [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ];
        for expression in met {
            assert!(allows(expression), "{expression}");
        }
        let refused = [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "GPL-2.0 WITH LLVM-exception",
            "(GPL-3.0 OR AGPL-3.0) AND MIT",
            "AND MIT",
        ];
        for expression in refused {
            assert!(!allows(expression), "{expression}");
        }
    }
}
