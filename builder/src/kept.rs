//! The PTX that an earlier build made of the same sources, so that the checks, the documentation, the tests and the programs
//! of a workspace, each of which is a build of its own to cargo, compile its kernels once between them.
//!
//! Cargo itself cannot tell: of a `cdylib` it remembers the last build alone, whatever architecture that was for.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// One build's place in the folder of PTX; others that would write the same wait while it lives.
pub(crate) struct Kept {
    ptx: PathBuf,
    inputs: PathBuf,
    _lock: File,
}

impl Kept {
    /// The place of what `identity` distinguishes from other builds of `library`: all but the sources.
    pub(crate) fn open(folder: &Path, library: &str, identity: &impl Hash) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
        // Of the whole library: cargo's list of its inputs is one file too.
        let lock_path = folder.join(format!("{library}.lock"));
        let lock = File::create(&lock_path).map_err(|e| Error::io("create", &lock_path, e))?;
        // Some file systems know no locks; then two builds may do the same work, and each is renamed into place whole.
        let _ = lock.lock();
        let name = format!("{library}.{:016x}", digest(identity));
        Ok(Self {
            ptx: folder.join(format!("{name}.s")),
            inputs: folder.join(format!("{name}.inputs")),
            _lock: lock,
        })
    }

    /// Where the compiler is to write.
    pub(crate) fn draft(&self) -> PathBuf {
        self.ptx.with_extension(format!("{}.s", std::process::id()))
    }

    /// The PTX and the files it was made of, if every one of these still has the same content.
    pub(crate) fn get(&self) -> Option<(String, Vec<PathBuf>)> {
        let listed = fs::read_to_string(&self.inputs).ok()?;
        let mut files = Vec::new();
        for line in listed.lines() {
            let (hash, path) = line.split_once(' ')?;
            if of_file(Path::new(path))? != hash {
                return None;
            }
            files.push(PathBuf::from(path));
        }
        Some((fs::read_to_string(&self.ptx).ok()?, files))
    }

    /// Keeps the draft, made of `inputs`. Nothing is kept if that does not succeed, or a path's name has line breaks.
    pub(crate) fn put(&self, inputs: &[PathBuf]) {
        let draft = self.draft();
        let _ = fs::remove_file(&self.inputs);
        let line = |path: &PathBuf| {
            let name = path.to_str().filter(|name| !name.contains(['\n', '\r']))?;
            Some(format!("{} {name}\n", of_file(path)?))
        };
        let listed: Option<String> = inputs.iter().map(line).collect();
        let list = self.inputs.with_extension(format!("{}.inputs", std::process::id()));
        let kept = listed.is_some_and(|listed| {
            fs::rename(&draft, &self.ptx).is_ok()
                && fs::write(&list, listed).is_ok()
                && fs::rename(&list, &self.inputs).is_ok()
        });
        if !kept {
            let _ = fs::remove_file(&draft);
            let _ = fs::remove_file(&list);
        }
    }
}

/// The digest of a file's content, as it stands in a list.
fn of_file(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|content| format!("{:016x}", digest(&content)))
}

/// The same in every process that runs the same build of this crate.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Kept;
    use std::fs;
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("oxshmem-kept-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a scratch folder");
        folder
    }

    fn keep(kept: &Kept, ptx: &str, inputs: &[PathBuf]) {
        fs::write(kept.draft(), ptx).expect("a draft");
        kept.put(inputs);
    }

    #[test]
    fn what_was_kept_is_found_while_its_sources_are_the_same() {
        let folder = scratch("same");
        let inputs = [folder.join("lib.rs"), folder.join("a name.rs")];
        for file in &inputs {
            fs::write(file, "one").expect("a source");
        }
        let kept = Kept::open(&folder, "kernels", &"sm_80").expect("a place");
        assert_eq!(kept.get(), None, "nothing was kept yet");
        keep(&kept, "ptx", &inputs);
        assert!(!kept.draft().exists());
        assert_eq!(kept.get(), Some(("ptx".to_owned(), inputs.to_vec())));
        for file in &inputs {
            fs::write(file, "two").expect("a source");
            assert_eq!(kept.get(), None, "{} has changed", file.display());
            fs::write(file, "one").expect("a source");
            assert!(kept.get().is_some(), "{} is as it was", file.display());
        }
        fs::remove_file(&inputs[1]).expect("it is there");
        assert_eq!(kept.get(), None, "a source is gone");
        fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn builds_that_differ_do_not_see_each_other() {
        let folder = scratch("differ");
        let source = [folder.join("lib.rs")];
        fs::write(&source[0], "one").expect("a source");
        keep(&Kept::open(&folder, "kernels", &("sm_80", "a")).expect("a place"), "for sm_80", &source);
        keep(&Kept::open(&folder, "kernels", &("sm_90", "a")).expect("a place"), "for sm_90", &source);
        let ptx = |identity| {
            let kept = Kept::open(&folder, "kernels", &identity).expect("a place");
            kept.get().map(|(ptx, _)| ptx)
        };
        assert_eq!(ptx(("sm_80", "a")).as_deref(), Some("for sm_80"));
        assert_eq!(ptx(("sm_90", "a")).as_deref(), Some("for sm_90"));
        assert_eq!(ptx(("sm_80", "b")), None);
        fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn what_cannot_be_listed_is_not_kept() {
        let folder = scratch("unlisted");
        let kept = Kept::open(&folder, "kernels", &0).expect("a place");
        keep(&kept, "ptx", &[folder.join("missing.rs")]);
        assert_eq!(kept.get(), None);
        assert!(!kept.draft().exists());
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
