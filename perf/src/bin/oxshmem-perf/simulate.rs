//! Predicts all-reduce by the model: rows over PEs, latencies of rails and sizes, with crossover points and plots.

use crate::cli::Simulate;
use crate::error::Failure;
use crate::plot::{Plot, Series};
use crate::report;
use oxshmem_perf::simulate::machine::{H200, Machine};
use oxshmem_perf::simulate::plan::Effort;
use oxshmem_perf::simulate::table::{self, HEADER, MARKDOWN, Row, fastest, rows, size};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Runs the replays that `options` ask for.
pub(crate) fn simulate(options: &Simulate) -> Result<(), Failure> {
    let mut machine = H200;
    options.machine.iter().try_for_each(|part| machine.set(part)).map_err(Failure::Asked)?;
    let effort = if options.full { Effort::Full } else { Effort::Usual };
    let sizes = sizes(options)?;
    println!("model, not a measurement: {machine:?}\n{HEADER}");
    let mut groups = Vec::new();
    for &pes in &options.pes {
        let grid = table::grid(&machine, pes).ok_or_else(|| {
            Failure::Asked(format!(
                "{pes} PEs do not fill nodes of {} GPUs, with 65536 PEs at most",
                machine.per_node
            ))
        })?;
        // Within a node, rails have no part.
        let alphas = if grid.nodes() > 1 { &options.alpha[..] } else { &options.alpha[..1] };
        let mut of = vec![Vec::new(); alphas.len()];
        for &bytes in &sizes {
            let rows = rows(&machine, grid, alphas, bytes, effort);
            for row in rows {
                println!("{}", row.line());
                let at = alphas.iter().position(|&alpha| alpha == row.rail_alpha);
                at.into_iter().for_each(|at| of[at].push(row));
            }
        }
        groups.append(&mut of);
    }
    for group in &groups {
        if let Some(row) = group.first() {
            println!("{} PEs, rails of {} us: {}", row.grid.n_pes(), row.rail_alpha, told(group));
        }
    }
    if let Some(path) = &options.json {
        let mut file = report::lines(path)?;
        groups.iter().flatten().try_for_each(|row| report::add(&mut file, &row.json()))?;
    }
    if let Some(path) = &options.markdown {
        let written = fs::write(path, markdown(&machine, &groups));
        written.map_err(Failure::io(format!("cannot write {}", path.display())))?;
    }
    options.svg.as_deref().map_or(Ok(()), |folder| draw(folder, &machine, &groups))
}

/// From the least size to the greatest.
fn sizes(options: &Simulate) -> Result<Vec<u64>, Failure> {
    let Simulate { min_bytes, max_bytes, factor, .. } = *options;
    if factor < 2 || min_bytes == 0 || max_bytes < min_bytes {
        let why = "sizes go from --min-bytes, 1 or more, to --max-bytes, no less, by a --factor of 2 or more";
        return Err(Failure::Asked(why.to_owned()));
    }
    let all = std::iter::successors(Some(min_bytes), |size| size.checked_mul(factor));
    let mut sizes: Vec<u64> = all.take_while(|&size| size < max_bytes).collect();
    sizes.push(max_bytes);
    Ok(sizes)
}

/// `tree from 1 KiB, ring from 1 MiB`.
fn told(group: &[Row]) -> String {
    let parts = fastest(group)
        .into_iter()
        .map(|(bytes, algorithm)| format!("{} from {}", algorithm.name(), size(bytes)));
    parts.collect::<Vec<_>>().join("; ")
}

/// The largest vector's rows, crossover points, and the whole table.
fn markdown(machine: &Machine, groups: &[Vec<Row>]) -> String {
    let mut text = String::new();
    let Machine { per_node, nvlink, rail, blocks, block_put, block_reduce, hold_us } = machine;
    let _ = writeln!(
        text,
        "Nodes of {per_node} GPUs; NVLink {} GB/s, {} µs; rails {} GB/s; {blocks} blocks of {block_put} GB/s put and \
         {block_reduce} GB/s reduced; a put with signal holds its lane for {hold_us} µs.\n",
        nvlink.gb_per_s, nvlink.alpha_us, rail.gb_per_s
    );
    let _ = writeln!(
        text,
        "| PEs | α (µs) | largest vector | fastest | of the bound | of both ports |\n|--:|--:|--:|---|--:|--:|"
    );
    for group in groups {
        let largest = group.iter().map(|row| row.bytes).max();
        let rows = group.iter().filter(|row| Some(row.bytes) == largest);
        if let Some(row) = rows.min_by_key(|row| row.prediction.time()) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {:.3} | {:.3} |",
                row.grid.n_pes(),
                row.rail_alpha,
                size(row.bytes),
                row.prediction.plan.algorithm.name(),
                row.of_bound(),
                row.of_floor()
            );
        }
    }
    let _ = writeln!(text, "\n| PEs | α (µs) | fastest |\n|--:|--:|---|");
    for group in groups {
        if let Some(row) = group.first() {
            let _ = writeln!(text, "| {} | {} | {} |", row.grid.n_pes(), row.rail_alpha, told(group));
        }
    }
    let _ = writeln!(text, "\n{MARKDOWN}");
    groups.iter().flatten().for_each(|row| _ = writeln!(text, "{}", row.markdown()));
    text
}

/// One plot per number of PEs, at the middle latency: bandwidth of a PE over size, by algorithm.
fn draw(folder: &Path, machine: &Machine, groups: &[Vec<Row>]) -> Result<(), Failure> {
    let mut pes: Vec<u32> = groups.iter().flatten().map(|row| row.grid.n_pes()).collect();
    pes.dedup();
    for pes in pes {
        let of = groups.iter().filter(|group| group.first().is_some_and(|row| row.grid.n_pes() == pes));
        let of: Vec<&Vec<Row>> = of.collect();
        let Some(group) = of.get(of.len() / 2) else { continue };
        let Some(last) = group.last() else { continue };
        let mut series: Vec<Series> = Vec::new();
        for row in group.iter() {
            let name = row.prediction.plan.algorithm.name();
            let point = (row.bytes as f64, row.bus_bandwidth());
            match series.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push(point),
                None => series.push(Series { name: name.to_owned(), points: vec![point], ceiling: false }),
            }
        }
        let bound = last.bus_bandwidth() / last.of_bound();
        series.push(Series { name: "bound".to_owned(), points: vec![(0.0, bound)], ceiling: true });
        let rails = if last.grid.nodes() > 1 {
            format!(", rails {} GB/s, {} us", machine.rail.gb_per_s, last.rail_alpha)
        } else {
            String::new()
        };
        let plot = Plot {
            title: format!("Model, not a measurement: all-reduce, {pes} PEs{rails}"),
            x: "bytes".to_owned(),
            y: "bus bandwidth [GB/s]".to_owned(),
            series,
        };
        plot.draw(&folder.join(format!("scaling-{pes}.svg"))).map_err(Failure::Asked)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Arguments, Command};
    use clap::Parser;

    fn parsed(arguments: &[&str]) -> Simulate {
        let all = ["oxshmem-perf", "simulate"].iter().chain(arguments);
        match Arguments::try_parse_from(all).map(|arguments| arguments.command) {
            Ok(Command::Simulate(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sizes_end_with_the_greatest() {
        let options = parsed(&["--min-bytes", "1K", "--max-bytes", "1G", "--factor", "8"]);
        let sizes = sizes(&options).expect("sizes");
        assert_eq!((sizes.len(), sizes[0], sizes[6], sizes[7]), (8, 1 << 10, 256 << 20, 1 << 30));
        assert!(super::sizes(&parsed(&["--factor", "1"])).is_err());
        assert!(super::sizes(&parsed(&["--min-bytes", "2K", "--max-bytes", "1K"])).is_err());
    }

    #[test]
    fn a_table_has_a_line_for_every_row_and_says_who_is_fastest() {
        let grid = table::grid(&H200, 16).expect("2 nodes");
        let group: Vec<Row> = [1 << 10, 1 << 20]
            .into_iter()
            .flat_map(|bytes| rows(&H200, grid, &[5.0], bytes, Effort::Usual))
            .collect();
        let text = markdown(&H200, std::slice::from_ref(&group));
        assert_eq!(text.lines().filter(|line| line.starts_with("| 16 | 5 | 1 ")).count(), group.len() + 1);
        assert!(text.contains(&told(&group)) && told(&group).contains("from 1 KiB"));
        for row in &group {
            assert_eq!(row.json()["bytes"], row.bytes);
        }
    }
}
