//! The machine of the model: links with a latency and a bandwidth, and how fast blocks work.

/// A time in picoseconds.
pub type Picos = u64;

/// A kind of link: what a message of one byte takes, and how many bytes pass per time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// From the put to the receiver's going on, without the bytes, in microseconds.
    pub alpha_us: f64,
    /// Each way, in GB/s (10^9 bytes per second).
    pub gb_per_s: f64,
}

impl Link {
    pub(super) fn alpha(self) -> Picos {
        picos(self.alpha_us)
    }

    pub(super) fn bytes(self, bytes: u64) -> Picos {
        transfer(bytes, self.gb_per_s)
    }
}

/// Microseconds as picoseconds.
pub(super) fn picos(us: f64) -> Picos {
    (us * 1e6).round() as Picos
}

/// How long bytes take, at least a picosecond.
pub(super) fn transfer(bytes: u64, gb_per_s: f64) -> Picos {
    ((bytes as f64 * 1e3 / gb_per_s).round() as Picos).max(1)
}

/// Nodes of GPUs. Each GPU has a port to the NVLink switch of its node and a rail to its fellows' on other nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// GPUs of a node.
    pub per_node: u32,
    /// Within a node.
    pub nvlink: Link,
    /// Between nodes.
    pub rail: Link,
    /// Blocks of the kernel. Lanes share them evenly, and the blocks of a lane keep step.
    pub blocks: u32,
    /// What a block stores to a peer, in GB/s.
    pub block_put: f64,
    /// What a block reduces (two operands read, one result written), in GB/s of results.
    pub block_reduce: f64,
    /// How long a lane is held by a put with signal beyond its bytes (the release), in microseconds. Part of `alpha_us`.
    pub hold_us: f64,
}

/// Nodes of eight H200.
///
/// | parameter | source |
/// |---|---|
/// | NVLink, 370 GB/s | put over NVLink, 32 blocks or more: 371 GB/s (`perf/results/2026-11-30-h200-x2-p2p`) |
/// | NVLink, 2.35 us | half of `put-signal-pingpong` of a block, 1 KiB: 4.70 us (same) |
/// | a block's put, 46 GB/s | put over NVLink, 1 block, 512 MiB (same) |
/// | hold, 0.63 us | half of what strong signals to and fro take more than weak ones: (2.84 - 1.59) / 2 us (same) |
/// | a block's reduction, 33 GB/s | two thirds of what a block copies in its GPU's memory, 49 GB/s; not measured |
/// | rails, 50 GB/s, 5 us | a network of 400 Gbit/s; not measured |
pub const H200: Machine = Machine {
    per_node: 8,
    nvlink: Link { alpha_us: 2.35, gb_per_s: 370.0 },
    rail: Link { alpha_us: 5.0, gb_per_s: 50.0 },
    blocks: 32,
    block_put: 46.0,
    block_reduce: 33.0,
    hold_us: 0.63,
};

impl Machine {
    /// Changes one parameter, as in `nvlink-alpha=2.1`.
    pub fn set(&mut self, assignment: &str) -> Result<(), String> {
        const NAMES: &str =
            "per-node, nvlink, nvlink-alpha, rail, rail-alpha, blocks, block-put, block-reduce, hold";
        let (name, text) = assignment
            .split_once('=')
            .ok_or_else(|| format!("{assignment:?} is not NAME=NUMBER, with NAME of {NAMES}"))?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let number = number.ok_or_else(|| format!("{name} is a number from 0 on, and {text:?} is none"))?;
        let latency = matches!(name, "nvlink-alpha" | "rail-alpha" | "hold");
        if number == 0.0 && name != "hold" {
            return Err(format!("{name} is more than 0"));
        }
        let count = matches!(name, "per-node" | "blocks");
        if count && (number.fract() != 0.0 || number > 1024.0) {
            return Err(format!("{name} is a whole number up to 1024"));
        }
        if latency && number > 1e6 {
            return Err(format!("{name} is in microseconds, a second at most"));
        }
        match name {
            "per-node" => self.per_node = number as u32,
            "nvlink" => self.nvlink.gb_per_s = number,
            "nvlink-alpha" => self.nvlink.alpha_us = number,
            "rail" => self.rail.gb_per_s = number,
            "rail-alpha" => self.rail.alpha_us = number,
            "blocks" => self.blocks = number as u32,
            "block-put" => self.block_put = number,
            "block-reduce" => self.block_reduce = number,
            "hold" => self.hold_us = number,
            _ => return Err(format!("a machine has {NAMES}; {name:?} is none of them")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_set_by_name() {
        let mut machine = H200;
        for assignment in ["nvlink-alpha=2.1", "rail=45", "blocks=16", "hold=0"] {
            machine.set(assignment).expect(assignment);
        }
        let nvlink = Link { alpha_us: 2.1, ..H200.nvlink };
        let rail = Link { gb_per_s: 45.0, ..H200.rail };
        assert_eq!(machine, Machine { nvlink, rail, blocks: 16, hold_us: 0.0, ..H200 });
    }

    #[test]
    fn wrong_parameters_are_one_sentence() {
        for (assignment, why) in [
            ("rail", "not NAME=NUMBER"),
            ("rail=x", "none"),
            ("rail=0", "more than 0"),
            ("blocks=1.5", "whole number"),
            ("hold=1e9", "a second"),
            ("nic=3", "none of them"),
        ] {
            let error = { H200 }.set(assignment).expect_err(assignment);
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }
}
