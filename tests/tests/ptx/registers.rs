//! Registers and spills, as `ptxas` tells them.

use super::{module, probes, rows, text};
use oxshmem_builder::{Arch, ptxas};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The assembler that `cargo xtask test` names, or one of this machine.
fn assembler() -> Option<PathBuf> {
    let named = env::var_os("OXSHMEM_TEST_PTXAS").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(ptxas::find)
}

#[test]
fn probes_take_few_registers_and_no_local_memory() {
    let Some(module) = module("oxshmem-probes") else { return };
    let Some(ptxas) = assembler() else {
        println!(
            "skipped: there is no ptxas; OXSHMEM_TEST_PTXAS names one, and `cargo xtask test` fetches it"
        );
        return;
    };
    let (mut wrong, mut table) = (Vec::new(), BTreeMap::<&str, String>::new());
    for image in module.images {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("probes.{}.ptx", image.arch));
        fs::write(&file, text(image)).unwrap_or_else(|e| panic!("{} cannot be written: {e}", file.display()));
        let arch = Arch::parse(image.arch).unwrap_or_else(|e| panic!("{}: {e}", image.arch));
        let resources = ptxas::assemble(&ptxas, &file, &arch, None).unwrap_or_else(|e| panic!("{e}"));
        for (row, name) in rows(probes::ALL) {
            let Some(taken) = resources.get(&format!("oxshmem_probes__{name}")) else {
                wrong.push(format!("{arch}: {name} was not assembled"));
                continue;
            };
            let cell = table.entry(name).or_default();
            write!(cell, " {:>4}", taken.registers).expect("a string grows");
            let most = row.registers.unwrap_or(255);
            if taken.registers > most {
                wrong.push(format!("{arch}: {name} takes {} registers, more than {most}", taken.registers));
            }
            if taken.spill_stores + taken.spill_loads > 0 || taken.stack > 0 && name != probes::OWN_ARRAY {
                wrong.push(format!("{arch}: {name} uses local memory: {taken:?}"));
            }
        }
    }
    let archs: Vec<&str> = module.images.iter().map(|image| image.arch).collect();
    println!("registers for {}", archs.join(", "));
    table.iter().for_each(|(name, cells)| println!("{name:26}{cells}"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
