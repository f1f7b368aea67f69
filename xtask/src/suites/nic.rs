//! The suite of the emulated NIC: the user-space driver of mlx5 NICs, as the system has it, opens it, and what that posts is what
//! oxshmem encodes.

use anyhow::Result;

use super::{Bench, Outcome};
use crate::process::pass_through;
use crate::setup;

/// The suite.
pub(super) fn nic(bench: &Bench) -> Result<Outcome> {
    if let Some(why) = setup::verbs(bench.install)? {
        return Ok(Outcome::Skipped(why));
    }
    pass_through(bench.cargo().args(["test", "--package", "oxshmem-nic-device"]))?;
    Ok(Outcome::Passed("by libibverbs and libmlx5".to_owned()))
}
