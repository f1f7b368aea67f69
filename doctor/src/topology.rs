//! The driver, its GPUs, and which of them reaches which.

use anyhow::Result;

use crate::gpu::{Gpu, Gpus, Link, Mode};
use crate::{Row, State};

/// The oldest driver, and the oldest for `sm_90` code, by the first part of their versions.
const OLDEST_DRIVER: u32 = 550;
const OLDEST_FOR_SM_90: u32 = 570;
/// The oldest compute capability.
const OLDEST_GPU: (u32, u32) = (8, 0);

pub(crate) fn rows(probed: Result<Gpus>) -> Vec<Row> {
    let gpus = match probed {
        Ok(gpus) => gpus,
        Err(error) => {
            let detail = format!("{error:#}: programs run emulated");
            return vec![Row::new(State::Absent, "NVIDIA driver", detail)];
        }
    };
    let mut rows = vec![driver(&gpus)];
    rows.extend(gpus.gpus.iter().enumerate().map(|(number, gpu)| row(number, gpu)));
    if gpus.gpus.len() > 1 {
        rows.extend(gpus.peers.iter().enumerate().map(|(number, links)| peers(number, links)));
    }
    rows
}

fn driver(gpus: &Gpus) -> Row {
    let has_sm_90 = gpus.gpus.iter().any(|gpu| gpu.capability >= (9, 0));
    let said = format!("{}, CUDA {}", gpus.driver, gpus.cuda);
    let major = gpus.driver.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major < OLDEST_DRIVER => {
            let detail = format!("{said}: too old, install {OLDEST_DRIVER} or newer");
            Row::new(State::Missing, "NVIDIA driver", detail)
        }
        Some(major) if major < OLDEST_FOR_SM_90 && has_sm_90 => {
            let detail = format!(
                "{said}: runs sm_80 code on these GPUs; {OLDEST_FOR_SM_90} or newer runs that of sm_90"
            );
            Row::new(State::Found, "NVIDIA driver", detail)
        }
        Some(_) => Row::new(State::Found, "NVIDIA driver", said),
        None => {
            let detail = format!("{said}; {OLDEST_DRIVER} or newer is needed");
            Row::new(State::Found, "NVIDIA driver", detail)
        }
    }
}

fn row(number: usize, gpu: &Gpu) -> Row {
    let (major, minor) = gpu.capability;
    let mut detail = format!("{}, compute capability {major}.{minor}, {} GiB", gpu.name, gpu.memory >> 30);
    if let Some(free) = gpu.free {
        detail += &format!(", {} GiB of them free", free >> 30);
    }
    if let Some(links) = gpu.links {
        detail += &format!(", {links} NVLinks up");
    }
    let mut state = State::Found;
    match gpu.mode {
        Mode::Default => {}
        Mode::Exclusive => {
            detail += "; compute mode exclusive: one process at a time; several PEs as processes need MPS \
                (`oxshmem-run --mps`), or `nvidia-smi -c DEFAULT`";
        }
        Mode::Prohibited => {
            state = State::Missing;
            detail += "; compute mode prohibited: no program may use it; `nvidia-smi -c DEFAULT` lets them";
        }
    }
    if gpu.capability < OLDEST_GPU {
        state = State::Missing;
        detail += "; 8.0 is the least: programs run emulated (OXSHMEM_DEVICE=emulated)";
    }
    Row::new(state, format!("  GPU {number}"), detail)
}

fn peers(number: usize, links: &[Link]) -> Row {
    let names: Vec<&str> = links.iter().map(|link| link.name()).collect();
    let mut detail = names.join(" ");
    let all = !links.contains(&Link::None);
    if !all {
        detail += "; PEs of a job need GPUs that reach each other: choose them by CUDA_VISIBLE_DEVICES";
    }
    Row::new(if all { State::Found } else { State::Absent }, format!("  GPU {number} reaches"), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(mode: Mode) -> Gpu {
        Gpu { name: "G".into(), capability: (9, 0), memory: 80 << 30, mode, ..Gpu::default() }
    }

    fn of(driver: &str, gpus: Vec<Gpu>) -> Vec<Row> {
        rows(Ok(Gpus { cuda: "12.8".into(), driver: driver.into(), gpus, peers: Vec::new() }))
    }

    #[test]
    fn drivers_that_are_too_old_are_named() {
        for (version, state, part) in [
            ("535.183.01", State::Missing, "550 or newer"),
            ("550.54.15", State::Found, "570 or newer runs that of sm_90"),
            ("580.159", State::Found, "580.159, CUDA 12.8"),
            ("unknown", State::Found, "550 or newer is needed"),
        ] {
            let row = &of(version, vec![gpu(Mode::Default)])[0];
            assert!(row.state == state && row.detail.contains(part), "{row:?}");
        }
    }

    #[test]
    fn what_keeps_programs_from_a_gpu_comes_with_its_remedy() {
        let old = Gpu { capability: (7, 5), ..gpu(Mode::Default) };
        for (gpu, state, part) in [
            (gpu(Mode::Default), State::Found, "80 GiB"),
            (gpu(Mode::Exclusive), State::Found, "oxshmem-run --mps"),
            (gpu(Mode::Prohibited), State::Missing, "nvidia-smi -c DEFAULT"),
            (old, State::Missing, "8.0 is the least"),
        ] {
            let row = &of("580.1", vec![gpu])[1];
            assert!(row.state == state && row.detail.contains(part), "{row:?}");
        }
    }

    #[test]
    fn links_are_shown_by_pair() {
        let row = peers(0, &[Link::Own, Link::NvLink, Link::Pcie]);
        assert_eq!((row.state, row.detail.as_str()), (State::Found, "own NVLink PCIe"));
        let row = peers(1, &[Link::None, Link::Own]);
        assert!(row.state == State::Absent && row.detail.contains("CUDA_VISIBLE_DEVICES"), "{row:?}");
    }

    #[test]
    fn without_a_gpu_programs_run_emulated() {
        let rows = rows(Err(anyhow::anyhow!("there is no NVIDIA driver")));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].detail, "there is no NVIDIA driver: programs run emulated");
    }
}
