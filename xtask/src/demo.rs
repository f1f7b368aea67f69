//! `cargo xtask demo`: sets up what is missing, builds both examples and runs them.

use anyhow::Result;

use crate::checkout::Checkout;
use crate::machine::Machine;
use crate::runner::{self, Part};
use crate::setup;
use crate::steps::{self, LAUNCHER};

/// Runs the demo.
///
/// # Errors
/// If a build fails, or an example fails or finds a wrong result.
pub fn demo(install: bool) -> Result<()> {
    let checkout = Checkout::find()?;
    let toolchain = setup::device_toolchain(&checkout, install)?;
    checkout.build_release("building the examples", &["ring-shift", "jacobi", LAUNCHER])?;
    let machine = match toolchain {
        Some(_) => Machine::find()?,
        None => Machine::emulated(),
    };
    let steps = steps::demo(&machine);
    runner::run(&steps, &checkout.programs(), &machine, Part::WHOLE, &mut |_, _| Ok(()))?.print()
}
