//! How many GPUs there are, found out without the driver, which would need a second to tell.

use std::env;
use std::fs;

use crate::control::Control;

/// What the kernel module says; a folder for each GPU.
const GPUS: &str = "/proc/driver/nvidia/gpus";

/// A remark for `pes` PEs that will have to take turns on the GPUs, if they will.
pub fn hint(pes: u32) -> Option<String> {
    if env::var_os("OXSHMEM_DEVICE").is_some_and(|device| device == "emulated") {
        return None;
    }
    let gpus = visible(count()?, env::var("CUDA_VISIBLE_DEVICES").ok().as_deref());
    let shared = gpus > 0 && pes as usize > gpus;
    let mps = || Control::find().is_some_and(|control| control.answers());
    (shared && !mps()).then(|| {
        format!(
            "{pes} PEs share {gpus} GPU{}: PEs on one GPU take turns, about 4 ms a round trip instead of 7 µs; \
             --mps lets them run at once",
            if gpus == 1 { "" } else { "s" }
        )
    })
}

fn count() -> Option<usize> {
    Some(fs::read_dir(GPUS).ok()?.flatten().count())
}

/// How many of `count` GPUs CUDA shows, given `CUDA_VISIBLE_DEVICES`: those before the first entry that names none. A GPU's
/// or MIG part's unique name is not looked up.
fn visible(count: usize, chosen: Option<&str>) -> usize {
    let Some(chosen) = chosen else { return count };
    let names_one = |entry: &&str| match entry.parse::<usize>() {
        Ok(index) => index < count,
        Err(_) => entry.starts_with("GPU-") || entry.starts_with("MIG-"),
    };
    chosen.split(',').map(str::trim).take_while(names_one).count()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn cuda_shows_what_comes_before_the_first_wrong_entry() {
        assert_eq!(visible(4, None), 4);
        assert_eq!(visible(4, Some("")), 0);
        assert_eq!(visible(4, Some("2, 0")), 2);
        assert_eq!(visible(4, Some("1,-1,2")), 1);
        assert_eq!(visible(4, Some("1,4,2")), 1);
        assert_eq!(visible(4, Some("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")), 1);
    }
}
