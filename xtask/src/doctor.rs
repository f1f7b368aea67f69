//! `cargo xtask doctor`: what this machine can do, what is missing, and how to get it.
//!
//! Each check is a row; those for PEs as processes stand in files of their own. No check fails the program: what cannot
//! be found out is a row too.

mod network;
mod processes;

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_builder::{Toolchain, sysroot};

use crate::checkout::Checkout;
use crate::gpu::{self, Gpus};
use crate::process;
use crate::say;
use crate::setup;
use crate::tools::Tool;

/// The Rust version that the workspace asks for.
pub const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Memory mappings of one emulated GPU thread: its stack and the guard page below.
const MAPPINGS_PER_THREAD: u64 = 2;

/// Memory of one emulated GPU thread in bytes: what a kernel touches of its stack, rounded up.
const MEMORY_PER_THREAD: u64 = 16 << 10;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is there.
    Found,
    /// It is not, and something needs it.
    Missing,
    /// It is not, and nothing basic needs it.
    Absent,
}

struct Row {
    state: State,
    what: String,
    detail: String,
}

impl Row {
    fn new(state: State, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { state, what: what.into(), detail: detail.into() }
    }
}

/// Prints the table and returns whether everything needed is there.
pub fn doctor() -> bool {
    let mut rows = vec![rust(), linker()];
    rows.extend(toolchains());
    let checkout = Checkout::find();
    match &checkout {
        Ok(checkout) => {
            rows.push(cache(&checkout.target));
            rows.push(tool(Tool::Ptxas, &checkout.target));
        }
        Err(error) => rows.push(Row::new(State::Missing, "checkout", format!("{error:#}"))),
    }
    rows.extend(gpus());
    rows.push(emulated_threads());
    rows.push(python());
    rows.extend(processes::rows(checkout.ok().map(|checkout| checkout.programs()).as_deref()));
    rows.extend(network::rows());

    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    print!("{}", say::table(&cells));
    let missing = rows.iter().filter(|row| row.state == State::Missing).count();
    match missing {
        0 => println!("nothing is missing"),
        1 => println!("1 thing is missing"),
        n => println!("{n} things are missing"),
    }
    missing == 0
}

fn cells(row: &Row) -> Vec<String> {
    let state = match row.state {
        State::Found => "found",
        State::Missing => "MISSING",
        State::Absent => "not here",
    };
    vec![row.what.clone(), state.to_owned(), row.detail.clone()]
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let text = process::output(Command::new(program).args(arguments)).ok()?;
    text.lines().next().map(str::to_owned)
}

fn rust() -> Row {
    let Some(version) = first_line("rustc", &["--version"]) else {
        return Row::new(State::Missing, "Rust", "no rustc on the PATH; see https://rustup.rs");
    };
    match minor(&version) >= minor(&format!("rustc {RUST_VERSION}.0")) {
        true => Row::new(State::Found, "Rust", format!("{version} ({RUST_VERSION} or newer is needed)")),
        false => {
            let remedy = format!("{version}, and {RUST_VERSION} is needed: run `rustup update stable`");
            Row::new(State::Missing, "Rust", remedy)
        }
    }
}

/// 95 for `rustc 1.95.0 (…)`.
fn minor(version: &str) -> Option<u32> {
    version.split_whitespace().nth(1)?.split('.').nth(1)?.parse().ok()
}

fn linker() -> Row {
    match process::on_path("cc") {
        Some(path) => Row::new(State::Found, "C linker", path.display().to_string()),
        None => Row::new(State::Missing, "C linker", "no cc on the PATH: `apt-get install gcc libc6-dev`"),
    }
}

fn toolchains() -> Vec<Row> {
    let mut rows = Vec::new();
    let chosen = Toolchain::find();
    match &chosen {
        Ok(toolchain) => {
            let detail = format!(
                "{}, LLVM {}, {} ({})",
                toolchain.version,
                toolchain.llvm,
                toolchain.rustc.display(),
                toolchain.origin
            );
            rows.push(Row::new(State::Found, "device toolchain", detail));
            rows.extend(toolchain.warning().map(|warning| Row::new(State::Found, "  note", warning)));
        }
        Err(error) => {
            rows.push(Row::new(State::Missing, "device toolchain", format!("{error}; {}", setup::BY_HAND)))
        }
    }
    for candidate in Toolchain::probe() {
        let detail = match (&candidate.verdict, &chosen) {
            (Ok(usable), Ok(chosen)) if usable == chosen => continue,
            (Ok(usable), _) => format!("{} could be used", usable.version),
            (Err(why), _) => format!("cannot be used: {why}"),
        };
        let what = format!("  {}", candidate.origin);
        rows.push(Row::new(State::Absent, what, format!("{}: {detail}", candidate.rustc.display())));
    }
    rows
}

fn cache(target: &Path) -> Row {
    let fallback = target.join("oxshmem-device/cache");
    let folders = sysroot::cache_folder().into_iter().chain([fallback]);
    let built = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut built = built.map(|entry| entry.path()).filter(|path| {
        path.is_dir() && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sysroot-"))
    });
    match built.next() {
        Some(path) => Row::new(State::Found, "device library", path.display().to_string()),
        None => Row::new(
            State::Absent,
            "device library",
            "not built yet: the first build of a kernel does it, in a minute",
        ),
    }
}

fn tool(tool: Tool, target: &Path) -> Row {
    match tool.found(target) {
        Some(path) => Row::new(State::Found, "ptxas", path.display().to_string()),
        None => Row::new(
            State::Absent,
            "ptxas",
            "not needed to run; `cargo xtask ptx` fetches it (or set OXSHMEM_PTXAS)",
        ),
    }
}

fn gpus() -> Vec<Row> {
    let gpus = match gpu::probe() {
        Ok(gpus) => gpus,
        Err(error) => {
            let detail = format!("{error:#}; kernels run on the emulator");
            return vec![Row::new(State::Absent, "NVIDIA driver", detail)];
        }
    };
    let driver = format!("{}, CUDA {}", gpus.driver, gpus.cuda);
    let mut rows = vec![Row::new(State::Found, "NVIDIA driver", driver)];
    for (i, gpu) in gpus.gpus.iter().enumerate() {
        let (major, minor) = gpu.capability;
        let detail = format!("{}, compute capability {major}.{minor}, {} GiB", gpu.name, gpu.memory >> 30);
        rows.push(Row::new(State::Found, format!("  GPU {i}"), detail));
    }
    if gpus.gpus.len() > 1 {
        rows.extend(peers(&gpus));
    }
    rows
}

fn peers(gpus: &Gpus) -> Vec<Row> {
    let row = |(i, reached): (usize, &Vec<bool>)| {
        let marks: Vec<&str> = reached.iter().map(|&reached| if reached { "1" } else { "0" }).collect();
        let state = if reached.iter().all(|&reached| reached) { State::Found } else { State::Absent };
        Row::new(state, format!("  GPU {i} reaches"), marks.join(" "))
    };
    gpus.peers.iter().enumerate().map(row).collect()
}

fn emulated_threads() -> Row {
    let mappings = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let mappings = mappings.and_then(|text| text.trim().parse::<u64>().ok());
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.trim().to_owned();
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    let (Some(mappings), Some(kib)) = (mappings, memory) else {
        return Row::new(
            State::Absent,
            "emulated threads",
            "neither the memory nor vm.max_map_count is known",
        );
    };
    let threads = (mappings / MAPPINGS_PER_THREAD).min((kib << 10) / MEMORY_PER_THREAD);
    let detail = format!(
        "about {threads} at once (vm.max_map_count {mappings}, {} MiB free); more: `sysctl vm.max_map_count=1048576`",
        kib >> 10
    );
    Row::new(State::Found, "emulated threads", detail)
}

fn python() -> Row {
    let version = first_line("python3", &["--version"]);
    match (version, setup::has_pip()) {
        (Some(version), true) => Row::new(State::Found, "Python and pip", version),
        (Some(version), false) => Row::new(
            State::Absent,
            "Python and pip",
            format!("{version} without pip: `apt-get install python3-pip`"),
        ),
        (None, _) => Row::new(
            State::Absent,
            "Python and pip",
            "only needed to fetch ptxas: `apt-get install python3-pip`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::minor;

    #[test]
    fn versions_of_rustc_are_compared_by_their_minor_number() {
        assert_eq!(minor("rustc 1.95.0 (59807616e 2026-04-14)"), Some(95));
        assert_eq!(minor("rustc 1.97.0-nightly (…)"), Some(97));
        assert_eq!(minor(""), None);
    }
}
