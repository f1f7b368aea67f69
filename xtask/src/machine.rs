//! What steps run on: GPUs, with what the driver says of them, or the emulator.

use std::env;

use anyhow::{Context, Result, bail};

use crate::gpu::{self, Gpus};
use crate::process;

/// What kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// NVIDIA GPUs.
    Cuda,
    /// The emulator.
    Emulated,
}

impl Device {
    /// Its value of `OXSHMEM_DEVICE`.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Emulated => "emulated",
        }
    }
}

/// What the steps run on.
#[derive(Clone, Debug)]
pub struct Machine {
    /// GPUs or the emulator.
    pub device: Device,
    /// The GPUs, if there are any.
    pub gpus: Gpus,
    /// Whether there is MPS, by which processes run on a GPU at once.
    pub mps: bool,
}

impl Machine {
    /// No GPU.
    pub fn emulated() -> Self {
        Self { device: Device::Emulated, gpus: Gpus::default(), mps: false }
    }

    fn with(gpus: Gpus) -> Self {
        Self { device: Device::Cuda, gpus, mps: process::on_path("nvidia-cuda-mps-control").is_some() }
    }

    /// What `OXSHMEM_DEVICE` asks for and this machine has.
    ///
    /// # Errors
    /// If `OXSHMEM_DEVICE` asks for CUDA and there is no GPU, or means nothing.
    pub fn find() -> Result<Self> {
        match env::var("OXSHMEM_DEVICE").unwrap_or_default().as_str() {
            "emulated" => Ok(Self::emulated()),
            "cuda" => Ok(Self::with(gpu::probe().context("OXSHMEM_DEVICE=cuda asks for a GPU")?)),
            "" | "auto" => Ok(match gpu::probe() {
                Ok(gpus) => Self::with(gpus),
                Err(why) => {
                    eprintln!("running on the emulator: {why}");
                    Self::emulated()
                }
            }),
            other => bail!("OXSHMEM_DEVICE is {other:?}, and may be cuda, emulated or auto"),
        }
    }

    /// In one line.
    pub fn shown(&self) -> String {
        match self.gpus.gpus.first() {
            Some(first) => format!("{} x {}, driver {}", self.gpus.gpus.len(), first.name, self.gpus.driver),
            None => "emulated".to_owned(),
        }
    }
}
