//! `cargo xtask doctor`: what this machine can do, what is missing, and how to get it. What builds need is looked at here;
//! what programs need by `oxshmem-doctor`, whose rows `oxshmem-run doctor` prints alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_builder::{Toolchain, sysroot};
use oxshmem_doctor::{Row, State};

use crate::checkout::Checkout;
use crate::process;
use crate::setup;
use crate::tools::Tool;

/// The Rust version that the workspace asks for.
pub const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Memory mappings of one emulated GPU thread: its stack and the guard page below.
const MAPPINGS_PER_THREAD: u64 = 2;

/// Memory of one emulated GPU thread in bytes: what a kernel touches of its stack, rounded up.
const MEMORY_PER_THREAD: u64 = 16 << 10;

/// Prints the table and returns whether everything needed is there.
///
/// # Errors
/// What stands against writing it.
pub fn doctor() -> std::io::Result<bool> {
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
    rows.push(emulated_threads());
    rows.push(python());
    rows.push(launcher(checkout.ok().map(|checkout| checkout.programs()).as_deref()));
    rows.extend(oxshmem_doctor::machine());
    oxshmem_doctor::print(&rows)
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

fn launcher(programs: Option<&Path>) -> Row {
    let built = programs.map(|programs| programs.join("oxshmem-run")).filter(|file| file.is_file());
    match built.or_else(|| process::on_path("oxshmem-run")) {
        Some(file) => Row::new(State::Found, "launcher", file.display().to_string()),
        None => Row::new(
            State::Absent,
            "launcher",
            "starts PEs as processes: `cargo build --release -p oxshmem-run` makes it",
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
