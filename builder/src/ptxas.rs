//! The optional assembler: whether the PTX assembles, and what each kernel costs in registers and memory.
//!
//! Users never need it (the driver assembles PTX when a program starts); tests and `xtask ptx` do. It is `OXSHMEM_PTXAS`,
//! or `ptxas` on the PATH or in the CUDA toolkit's usual place.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::error::Error;
use crate::process;
use crate::ptx::Module;

/// What one kernel takes, as `ptxas -v` reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes per thread that are stored because registers ran out, at all places together.
    pub spill_stores: u32,
    /// Bytes per thread that are loaded back.
    pub spill_loads: u32,
    /// Bytes of local memory per thread.
    pub stack: u32,
    /// Bytes of static shared memory per block.
    pub shared: u32,
    /// Barriers used.
    pub barriers: u32,
}

/// The assembler of this machine, if there is one.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("OXSHMEM_PTXAS").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain([PathBuf::from("/usr/local/cuda/bin")])
        .map(|folder| folder.join("ptxas"))
        .find(|file| file.is_file())
}

/// Assembles the PTX file and returns the resources by kernel symbol. The cubin goes to `cubin` if that is given.
///
/// # Errors
/// [`Error::Assemble`] if the assembler rejects it; [`Error::Spawn`] if there is no such program.
pub fn assemble(
    ptxas: &Path,
    ptx: &Path,
    arch: &Arch,
    cubin: Option<&Path>,
) -> Result<HashMap<String, Resources>, Error> {
    let mut command = process::command(ptxas);
    command
        .arg("-v")
        .arg("--gpu-name")
        .arg(arch.name())
        .arg("-o")
        .arg(cubin.unwrap_or(Path::new("/dev/null")));
    let output = process::run(command.arg(ptx))?;
    let said = format!("{}{}", process::stdout(&output), process::stderr(&output));
    if !output.status.success() {
        return Err(Error::Assemble { ptxas: ptxas.to_owned(), ptx: ptx.to_owned(), output: said });
    }
    Ok(parse(&said))
}

/// Whether the error says that this assembler is older than the PTX, which is no fault of the PTX.
pub(crate) fn is_too_old(error: &Error) -> bool {
    match error {
        Error::Assemble { output, .. } => {
            output.contains("Unsupported .version") || output.contains("is not defined for option 'gpu-name'")
        }
        _ => false,
    }
}

/// Counts the machine instructions of each kernel in a cubin by `nvdisasm`.
///
/// # Errors
/// [`Error::Assemble`] if the disassembler rejects the file; [`Error::Spawn`] if there is no such program.
pub fn sass_instructions(nvdisasm: &Path, cubin: &Path) -> Result<HashMap<String, usize>, Error> {
    let output = process::run(process::command(nvdisasm).arg("-c").arg(cubin))?;
    if !output.status.success() {
        let output = process::stderr(&output);
        return Err(Error::Assemble { ptxas: nvdisasm.to_owned(), ptx: cubin.to_owned(), output });
    }
    let mut counts = HashMap::new();
    let mut kernel = String::new();
    for line in process::stdout(&output).lines().map(str::trim) {
        let mut words = line.split_whitespace();
        if words.next() == Some(".section") {
            let name = words.next().and_then(|name| name.strip_prefix(".text.")).unwrap_or("");
            kernel = name.split(',').next().unwrap_or("").to_owned();
        } else if line.starts_with("/*")
            && !kernel.is_empty()
            && line.contains(';')
            && !line.contains(" NOP ")
        {
            *counts.entry(kernel.clone()).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Counts the PTX instructions in each kernel's own body.
pub fn ptx_instructions(ptx: &str) -> HashMap<String, usize> {
    let module = Module::parse(ptx);
    module.entries().map(|entry| (entry.name.clone(), entry.instructions().count())).collect()
}

fn parse(said: &str) -> HashMap<String, Resources> {
    let mut all: HashMap<String, Resources> = HashMap::new();
    let mut entry = String::new();
    let mut properties_of = String::new();
    for line in said.lines().map(str::trim) {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entry = rest.split('\'').next().unwrap_or("").to_owned();
            all.entry(entry.clone()).or_default();
        } else if let Some(name) = line.split("Function properties for ").nth(1) {
            properties_of = name.trim().to_owned();
        } else if line.contains("bytes stack frame") {
            if let Some(resources) = all.get_mut(&properties_of) {
                resources.stack = number_before(line, "bytes stack frame");
                resources.spill_stores = number_before(line, "bytes spill stores");
                resources.spill_loads = number_before(line, "bytes spill loads");
            }
        } else if line.contains(": Used ")
            && let Some(resources) = all.get_mut(&entry)
        {
            resources.registers = number_before(line, "registers");
            resources.barriers = number_before(line, "barriers");
            resources.shared = number_before(line, "bytes smem");
        }
    }
    all
}

fn number_before(line: &str, unit: &str) -> u32 {
    let before = line.split(unit).next().filter(|before| before.len() < line.len()).unwrap_or("");
    before.split_whitespace().next_back().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Removes a scratch cubin; its absence is all that is wanted.
pub(crate) fn discard(cubin: &Path) {
    let _ = fs::remove_file(cubin);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_per_kernel() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
            ptxas info    : Function properties for a\n\
            \u{20}   16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 24 registers, used 2 barriers, 1024 bytes smem, 400 bytes cmem[0]\n\
            ptxas info    : Function properties for helper\n\
            \u{20}   32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Compiling entry function 'b' for 'sm_90'\n\
            ptxas info    : Function properties for b\n\
            \u{20}   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers\n";
        let all = parse(said);
        let a = Resources {
            registers: 24,
            spill_stores: 4,
            spill_loads: 8,
            stack: 16,
            shared: 1024,
            barriers: 2,
        };
        assert_eq!(all["a"], a);
        assert_eq!(all["b"], Resources { registers: 8, ..Resources::default() });
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn instructions_of_an_entry_are_counted() {
        let counts = ptx_instructions(crate::ptx::tests::SAMPLE);
        assert_eq!(counts["k"], 7);
    }
}
