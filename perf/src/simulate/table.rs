//! Rows of predictions, and what they are held against.

use super::machine::{Link, Machine, Picos};
use super::plan::{Algorithm, Effort, Prediction, best};
use oxshmem_device::collective::schedule::Grid;
use serde_json::{Value, json};

/// An all-reduce by one algorithm's best plan.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How many PEs.
    pub grid: Grid,
    /// Latency of rails, in microseconds.
    pub rail_alpha: f64,
    /// Bytes of the vector.
    pub bytes: u64,
    /// By the best plan.
    pub prediction: Prediction,
    /// The time at the bound.
    pub bound: Picos,
    /// The time below which no schedule on both ports gets.
    pub floor: Picos,
}

/// GPUs as nodes of the machine; `None` if they do not fill nodes.
pub fn grid(machine: &Machine, pes: u32) -> Option<Grid> {
    let per_node = machine.per_node;
    if pes <= per_node {
        Grid::new(1, pes)
    } else {
        Grid::new(pes / per_node, per_node).filter(|g| g.n_pes() == pes)
    }
}

/// The time that `2 (n - 1) / n` of the vector take through one PE's NVLink port, or `2 (N - 1) / N` of an eighth of it
/// through its rail, with `N` nodes of eight: the longer of both.
///
/// A schedule may be faster, since a PE has two ports, and what passes the rail need not pass NVLink too.
pub fn bound(machine: &Machine, grid: Grid, bytes: u64) -> Picos {
    each(grid, bytes, machine.nvlink.gb_per_s).max(rail(machine, grid, bytes))
}

/// As the bound, with `2 (n - 1) / n` of the vector through both ports of a PE at once: no schedule is faster.
pub fn floor(machine: &Machine, grid: Grid, bytes: u64) -> Picos {
    let both = if grid.nodes() > 1 { machine.rail.gb_per_s } else { 0.0 };
    each(grid, bytes, machine.nvlink.gb_per_s + both).max(rail(machine, grid, bytes))
}

fn each(grid: Grid, bytes: u64, gb_per_s: f64) -> Picos {
    let n = f64::from(grid.n_pes());
    through(2.0 * (n - 1.0) / n * bytes as f64, gb_per_s)
}

fn rail(machine: &Machine, grid: Grid, bytes: u64) -> Picos {
    let nodes = f64::from(grid.nodes());
    let bytes = 2.0 * (nodes - 1.0) / nodes * bytes as f64 / f64::from(grid.per_node());
    through(bytes, machine.rail.gb_per_s)
}

fn through(bytes: f64, gb_per_s: f64) -> Picos {
    (bytes * 1e3 / gb_per_s) as Picos
}

/// Predicts every algorithm at every latency of rails, in the order of these. Its plan is the fastest at the middle one; with
/// [`Effort::Full`] at each. With one node the two hierarchical algorithms are the same, and the second is left out.
pub fn rows(machine: &Machine, grid: Grid, rail_alphas: &[f64], bytes: u64, effort: Effort) -> Vec<Row> {
    let (bound, floor) = (bound(machine, grid, bytes), floor(machine, grid, bytes));
    let at = |alpha_us| Machine { rail: Link { alpha_us, ..machine.rail }, ..*machine };
    let all = Algorithm::ALL.into_iter().filter(|&a| grid.nodes() > 1 || a != Algorithm::HierarchicalTree);
    let Some(&middle) = rail_alphas.get(rail_alphas.len() / 2) else { return Vec::new() };
    let chosen: Vec<Prediction> =
        all.filter_map(|algorithm| best(&at(middle), algorithm, grid, bytes, effort)).collect();
    let predict = |alpha: f64, chosen: &Prediction| match effort {
        _ if alpha == middle => Some(*chosen),
        Effort::Usual => Some(chosen.plan.predict(&at(alpha), grid, bytes, false)),
        Effort::Full => best(&at(alpha), chosen.plan.algorithm, grid, bytes, effort),
    };
    let mut rows = Vec::new();
    for &rail_alpha in rail_alphas {
        let predicted = chosen.iter().filter_map(|chosen| predict(rail_alpha, chosen));
        rows.extend(predicted.map(|prediction| Row { grid, rail_alpha, bytes, prediction, bound, floor }));
    }
    rows
}

/// Where one algorithm follows another as the fastest, among rows of one number of PEs and one latency, by size: the
/// size from which on, and the algorithm.
pub fn fastest(rows: &[Row]) -> Vec<(u64, Algorithm)> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut fastest: Vec<(u64, Algorithm)> = Vec::new();
    for bytes in sizes {
        let first = rows.iter().filter(|row| row.bytes == bytes).min_by_key(|row| row.prediction.time());
        let Some(row) = first else { continue };
        let algorithm = row.prediction.plan.algorithm;
        if fastest.last().is_none_or(|&(_, before)| before != algorithm) {
            fastest.push((bytes, algorithm));
        }
    }
    fastest
}

/// `64 KiB`, `1 GiB`.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    unit.map_or(format!("{bytes} B"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

impl Row {
    /// Predicted time in microseconds.
    pub fn us(&self) -> f64 {
        self.prediction.time() as f64 / 1e6
    }

    /// Bytes of the vector per time, in GB/s.
    pub fn algorithm_bandwidth(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.prediction.time() as f64
    }

    /// `2 (n - 1) / n` of them: what passes each PE, in GB/s.
    pub fn bus_bandwidth(&self) -> f64 {
        let n = f64::from(self.grid.n_pes());
        self.algorithm_bandwidth() * 2.0 * (n - 1.0) / n
    }

    /// The bound as algorithm bandwidth, in GB/s.
    pub fn bound_bandwidth(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.bound as f64
    }

    /// Which part of the bound is reached.
    pub fn of_bound(&self) -> f64 {
        self.bound as f64 / self.prediction.time() as f64
    }

    /// Which part of what both ports allow is reached: never more than 1.
    pub fn of_floor(&self) -> f64 {
        self.floor as f64 / self.prediction.time() as f64
    }

    /// What it was cut into.
    fn cut(&self) -> String {
        let plan = self.prediction.plan;
        format!("{} lanes, {}, depth {}", plan.lanes, size(self.prediction.chunk), plan.pipeline.depth)
    }

    /// Its columns, as both tables have them.
    fn columns(&self) -> [String; 11] {
        [
            self.grid.n_pes().to_string(),
            self.rail_alpha.to_string(),
            size(self.bytes),
            self.prediction.plan.algorithm.name().to_owned(),
            format!("{:.1}", self.us()),
            format!("{:.2}", self.algorithm_bandwidth()),
            format!("{:.2}", self.bus_bandwidth()),
            format!("{:.2}", self.bound_bandwidth()),
            format!("{:.3}", self.of_bound()),
            format!("{:.3}", self.of_floor()),
            self.cut(),
        ]
    }

    /// Its line of the text table, under [`HEADER`].
    pub fn line(&self) -> String {
        let [pes, alpha, size, algorithm, us, algorithm_bandwidth, bus, bound, of_bound, of_floor, cut] =
            self.columns();
        format!(
            "{pes:>5}  {alpha:>5}  {size:>8}  {algorithm:<19}  {us:>11}  {algorithm_bandwidth:>8}  {bus:>8}  {bound:>8}  \
             {of_bound:>5}  {of_floor:>5}  {cut}"
        )
    }

    /// Its line of the Markdown table, under [`MARKDOWN`].
    pub fn markdown(&self) -> String {
        format!("| {} |", self.columns().join(" | "))
    }

    /// Its JSON object.
    pub fn json(&self) -> Value {
        let plan = self.prediction.plan;
        json!({
            "model": "alpha-beta, not validated between nodes",
            "collective": "all-reduce",
            "algorithm": plan.algorithm.name(),
            "pes": self.grid.n_pes(),
            "nodes": self.grid.nodes(),
            "rail_alpha_us": self.rail_alpha,
            "bytes": self.bytes,
            "time_us": self.us(),
            "algorithm_gb_per_s": self.algorithm_bandwidth(),
            "bus_gb_per_s": self.bus_bandwidth(),
            "bound_gb_per_s": self.bound_bandwidth(),
            "of_bound": self.of_bound(),
            "of_floor": self.of_floor(),
            "lanes": plan.lanes,
            "rounds": plan.pipeline.rounds,
            "depth": plan.pipeline.depth,
            "lag": plan.pipeline.lag,
            "slots": plan.pipeline.slots,
            "message_bytes": self.prediction.chunk,
            "replayed_messages": self.prediction.replayed.messages,
        })
    }
}

/// Columns of the text table: PEs, rail latency, size, algorithm, time, bandwidth, bandwidth of a PE, the bound's bandwidth,
/// the parts that are reached of the bound and of what both ports allow, and the plan.
pub const HEADER: &str = "  PEs  alpha      size  algorithm               time [us]      GB/s  bus GB/s     bound  of it  ports  plan";

/// The same of the Markdown table.
pub const MARKDOWN: &str = "| PEs | α (µs) | size | algorithm | time (µs) | GB/s | bus GB/s | bound GB/s | of it | of both ports | plan |\n|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|---|";
