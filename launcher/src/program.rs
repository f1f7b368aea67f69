//! Which file a program's name means, looked up as a shell does it and before anything is started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::Refused;

/// Where a shell looks if there is no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that exists and may be executed, with its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name as it was given, which the program sees as its own.
    pub name: OsString,
    /// The file, as a path with a slash, so that nothing looks it up again.
    pub file: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Finds the program that the first word names.
    ///
    /// # Errors
    /// With status 127 if there is none, 126 if it cannot be executed.
    pub fn find(words: &[OsString]) -> Result<Self, Refused> {
        let (name, arguments) = words.split_first().ok_or_else(|| not_found(OsStr::new("")))?;
        let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let file = find(name, &path)?;
        Ok(Self { name: name.clone(), file, arguments: arguments.to_vec() })
    }
}

/// The file that `name` means with this PATH.
///
/// # Errors
/// As [`Program::find`].
pub fn find(name: &OsStr, path: &OsStr) -> Result<PathBuf, Refused> {
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match fault(&file) {
            None => Ok(file),
            Some(Fault::Absent) => Err(not_found(name)),
            Some(Fault::Unusable(why)) => Err(unusable(&file, why)),
        };
    }
    // A file that may not be executed does not end the search: a later folder may have one that may.
    let mut first_fault = None;
    for folder in env::split_paths(path).filter(|_| !name.is_empty()) {
        // An empty entry is the current folder.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let file = folder.join(name);
        match fault(&file) {
            None => return Ok(file),
            Some(Fault::Absent) => {}
            Some(Fault::Unusable(why)) => first_fault = first_fault.or(Some(unusable(&file, why))),
        }
    }
    Err(first_fault.unwrap_or_else(|| not_found(name)))
}

enum Fault {
    Absent,
    Unusable(&'static str),
}

fn fault(file: &Path) -> Option<Fault> {
    match file.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Some(Fault::Unusable("a folder on the way to it may not be entered"))
        }
        Err(_) => Some(Fault::Absent),
        Ok(data) if data.is_dir() => Some(Fault::Unusable("it is a folder")),
        Ok(_) => access(file, Access::EXEC_OK)
            .err()
            .map(|_| Fault::Unusable("it is not executable (chmod +x makes it so)")),
    }
}

fn not_found(name: &OsStr) -> Refused {
    let shown = name.to_string_lossy();
    let here = Path::new(".").join(name);
    let why = match name.as_bytes().contains(&b'/') {
        true => format!("there is no file {shown}"),
        false if !name.is_empty() && fault(&here).is_none() => {
            format!("there is no program {shown} on the PATH; the one in this folder is ./{shown}")
        }
        false => format!("there is no program {shown} on the PATH"),
    };
    Refused { status: 127, why }
}

fn unusable(file: &Path, why: &str) -> Refused {
    Refused { status: 126, why: format!("{} cannot be executed: {why}", file.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &str, path: &str) -> Result<PathBuf, u8> {
        find(OsStr::new(name), OsStr::new(path)).map_err(|refused| refused.status)
    }

    #[test]
    fn names_are_looked_up_on_the_path_and_paths_are_not() {
        assert_eq!(status("sh", "/nonexistent:/bin"), Ok("/bin/sh".into()));
        assert_eq!(status("/bin/sh", ""), Ok("/bin/sh".into()));
        assert_eq!(status("sh", "/nonexistent"), Err(127));
        assert_eq!(status("", "/bin"), Err(127));
        assert_eq!(status("/nonexistent/sh", "/bin"), Err(127));
    }

    #[test]
    fn what_cannot_be_executed_is_told_from_what_is_not_there() {
        assert_eq!(status("/etc/passwd", "/bin"), Err(126));
        assert_eq!(status("/etc", "/bin"), Err(126));
        assert_eq!(status("passwd", "/etc:/nonexistent"), Err(126));
        assert_eq!(status("/etc/passwd/x", ""), Err(127));
    }
}
