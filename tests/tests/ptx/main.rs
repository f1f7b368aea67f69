//! What each operation becomes, for every architecture: the instructions that the memory model and the speed need, and
//! none that they forbid.
//!
//! | file | what it says |
//! |---|---|
//! | `probes` | of each kernel of `oxshmem-probes`, one operation each, which instructions it has, how many loads are in flight, what lies on every path, how many registers it takes |
//! | `conformance` | the same of some kernels of `oxshmem-tests` |
//! | `everywhere` | what holds for every kernel of every package |
//! | `reader`, `expectation`, `registers` | the PTX's instructions and paths; the tables' rows; the assembler's figures |

mod conformance;
mod everywhere;
mod expectation;
mod probes;
mod reader;
mod registers;

use expectation::Kernel;
use oxshmem_device::launch::{Image, Module, modules};
use std::collections::{HashMap, HashSet};

// Links the crates, and with them their device code.
use {jacobi as _, oxshmem_probes as _, oxshmem_tests as _, ring_shift as _};

/// The packages whose kernels are read. What `oxshmem-kernels` ships is entered from the examples.
const PACKAGES: &[&str] = &[
    "oxshmem-probes",
    "oxshmem-tests",
    "oxshmem-stream-kernels",
    "oxshmem-stream-collectives",
    "ring-shift",
    "jacobi",
];

/// The device code of a package, or nothing, with a line that says why.
fn module(package: &str) -> Option<&'static Module> {
    let module = modules().find(|module| module.package == package);
    let module = module.unwrap_or_else(|| panic!("{package} has no kernels"));
    if let Some(why) = module.missing {
        println!("skipped: {package}: {why}");
        return None;
    }
    let archs: Vec<&str> = module.images.iter().map(|image| image.arch).collect();
    assert!(["sm_80", "sm_90"].iter().all(|arch| archs.contains(arch)), "{package} is there for {archs:?}");
    Some(module)
}

/// The PTX of an image.
fn text(image: &Image) -> String {
    image.text().unwrap_or_else(|| panic!("an image for {} cannot be unpacked", image.arch))
}

/// The rows of a table, each with every kernel that it names.
fn rows(table: &'static [&'static [Kernel]]) -> impl Iterator<Item = (&'static Kernel, &'static str)> {
    let rows = table.iter().copied().flatten();
    rows.flat_map(|row| row.names.iter().map(move |name| (row, *name)))
}

/// Checks the kernels of a package against a table.
fn check(package: &str, table: &'static [&'static [Kernel]]) {
    let Some(module) = module(package) else { return };
    let (prefix, mut wrong) = (format!("{}__", package.replace('-', "_")), Vec::new());
    for image in module.images {
        let text = text(image);
        let entries = reader::entries(&text);
        for (kernel, name) in rows(table) {
            match entries.iter().find(|entry| entry.name.strip_prefix(prefix.as_str()) == Some(name)) {
                Some(entry) => kernel.check(entry, image.arch, &mut wrong),
                None => wrong.push(format!("{}: there is no kernel {name}", image.arch)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_operation_becomes_the_instructions_that_it_needs() {
    check("oxshmem-probes", probes::ALL);
}

#[test]
fn each_conformance_kernel_has_the_instructions_that_it_needs() {
    check("oxshmem-tests", const { &[conformance::ALL] });
}

#[test]
fn each_probe_has_its_row() {
    let Some(module) = module("oxshmem-probes") else { return };
    let mut named = HashSet::new();
    for (_, name) in rows(probes::ALL) {
        assert!(named.insert(name), "{name} has two rows");
    }
    let symbols = module.kernels.iter().filter_map(|kernel| kernel.symbol.strip_prefix("oxshmem_probes__"));
    let without: Vec<&str> = symbols.filter(|name| !named.contains(name)).collect();
    assert!(without.is_empty(), "nothing is expected of {without:?}");
}

/// The broken twins: of each probe, those that lack one of the instructions that its row asks for.
#[test]
fn a_probe_without_one_of_its_instructions_is_found_out() {
    let Some(module) = module("oxshmem-probes") else { return };
    let mut missed = Vec::new();
    for image in module.images {
        let text = text(image);
        let entries = reader::entries(&text);
        let entries: HashMap<&str, _> = entries
            .iter()
            .filter_map(|entry| Some((entry.name.strip_prefix("oxshmem_probes__")?, entry)))
            .collect();
        for (row, name) in rows(probes::ALL) {
            for pattern in row.needs(image.arch) {
                let mut wrong = Vec::new();
                row.check(&entries[name].without(pattern), image.arch, &mut wrong);
                if wrong.is_empty() {
                    missed.push(format!("{}: {name} without `{pattern}`", image.arch));
                }
            }
        }
    }
    assert!(missed.is_empty(), "nothing is said of {}", missed.join("\n"));
}

#[test]
fn every_kernel_keeps_the_rules_of_device_code() {
    let mut wrong = Vec::new();
    for module in PACKAGES.iter().filter_map(|package| module(package)) {
        for image in module.images {
            let before = wrong.len();
            let text = text(image);
            let markers = text.lines().filter(|line| line.starts_with("// @oxshmem kernel="));
            let local = markers.filter(|marker| marker.contains(" local=allow"));
            let local: HashSet<_> = local.filter_map(|marker| marker.split(['=', ' ']).nth(3)).collect();
            for entry in reader::entries(&text) {
                everywhere::check(&entry, local.contains(entry.name), &mut wrong);
            }
            for breach in &mut wrong[before..] {
                *breach = format!("{}: {breach}", image.arch);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
