//! The few facts that are needed of a Cargo.toml, without a parser for TOML: the package's and the library's name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A package by its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The folder of its Cargo.toml.
    pub folder: PathBuf,
    pub package: String,
    /// The name of its library as the compiler sees it.
    pub library: String,
}

impl Manifest {
    /// Reads the package at `path`, which is its folder or its Cargo.toml.
    ///
    /// # Errors
    /// [`Error::Package`] if there is no such package or it has no library.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::Package { path: path.to_owned(), why };
        let folder = if path.is_file() { path.parent().unwrap_or(Path::new(".")) } else { path };
        let folder = folder.canonicalize().map_err(|e| wrong(e.to_string()))?;
        let file = folder.join("Cargo.toml");
        let text = fs::read_to_string(&file).map_err(|e| wrong(format!("{}: {e}", file.display())))?;
        let package =
            value(&text, "package", "name").ok_or_else(|| wrong("it has no `[package] name`".into()))?;
        let library = value(&text, "lib", "name").unwrap_or_else(|| package.replace('-', "_"));
        if value(&text, "lib", "path").is_none() && !folder.join("src/lib.rs").is_file() {
            return Err(wrong("it has no library (src/lib.rs), and kernels live in the library".into()));
        }
        Ok(Self { folder, package, library })
    }
}

/// The string value of a key in a table, for the plain form `key = "value"`.
fn value(text: &str, table: &str, key: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.split('#').next()?.trim() == format!("[{table}]");
        } else if inside
            && let Some((name, rest)) = line.split_once('=')
            && name.trim() == key
        {
            let rest = rest.trim();
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            return rest[1..].split(quote).next().map(str::to_owned);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn names_are_read_from_their_own_table() {
        let text =
            "[dependencies]\nname = \"no\"\n[package] # p\nname = \"ring-shift\" # c\n[lib]\nname='ring'\n";
        assert_eq!(value(text, "package", "name").as_deref(), Some("ring-shift"));
        assert_eq!(value(text, "lib", "name").as_deref(), Some("ring"));
        assert_eq!(value(text, "lib", "path"), None);
    }
}
