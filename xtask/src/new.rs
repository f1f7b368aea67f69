//! `cargo xtask new`: a package with one kernel and the program that runs it, outside the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::checkout::Checkout;

/// The constant in the new package's kernel that its README invites to change.
pub const CONSTANT: &str = "pub const FACTOR: u64 = 10;";

/// The line that replaces it where a change is tried.
pub const CHANGED: &str = "pub const FACTOR: u64 = 11;";

/// Each file of a new package, with its text; `@NAME@`, `@CRATE@` and `@OXSHMEM@` are filled in.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../templates/Cargo.toml.in")),
    ("build.rs", include_str!("../templates/build.rs.in")),
    ("src/lib.rs", include_str!("../templates/lib.rs.in")),
    ("src/main.rs", include_str!("../templates/main.rs.in")),
    ("README.md", include_str!("../templates/README.md.in")),
    (".gitignore", "/target/\n"),
];

/// Names that cannot be a crate's, because the language, its library or cargo has them. `test` is in both.
const TAKEN: &[&str] = &[
    "Self",
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Why no package was made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The name is no crate's name.
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is something at the package's place already.
    Occupied {
        /// The place.
        folder: PathBuf,
    },
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name { name, why } => write!(f, "{name:?} cannot name a package: {why}"),
            Self::Occupied { folder } => {
                write!(f, "{} is not empty; choose another folder with --path", folder.display())
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Makes the package `name` in `folder` (default: a folder of that name here) and returns its folder.
///
/// # Errors
/// [`Refused`], or if a file cannot be written.
pub fn new(checkout: &Checkout, name: &str, folder: Option<&Path>) -> Result<PathBuf> {
    if let Some(why) = wrong_name(name) {
        return Err(Refused::Name { name: name.to_owned(), why }.into());
    }
    let folder = folder.unwrap_or(Path::new(name));
    let folder = std::path::absolute(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let is_free = match fs::read_dir(&folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !folder.exists(),
    };
    if !is_free {
        return Err(Refused::Occupied { folder }.into());
    }
    for (file, text) in FILES {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let text = text
            .replace("@NAME@", name)
            .replace("@CRATE@", &name.replace('-', "_"))
            .replace("@OXSHMEM@", &toml_text(&checkout.root));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(folder)
}

/// A path as it stands inside a TOML string.
fn toml_text(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"")
}

fn wrong_name(name: &str) -> Option<&'static str> {
    let known = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Some("it must start with a letter")
    } else if !known {
        Some("it may hold letters, digits, `-` and `_` only")
    } else if name.len() > 64 {
        Some("it may have 64 characters at most")
    } else if TAKEN.contains(&name.replace('-', "_").as_str()) {
        Some("the language or its library has this name")
    } else if name.starts_with("oxshmem")
        && matches!(&name[7..], "" | "-device" | "-builder" | "_device" | "_builder")
    {
        Some("the package depends on a crate of this name")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_refused_with_the_reason() {
        for name in [
            "",
            "1st",
            "-a",
            "a b",
            "a/b",
            "../a",
            "é",
            "fn",
            "test",
            "proc-macro",
            "oxshmem",
            "oxshmem-device",
        ] {
            assert!(wrong_name(name).is_some(), "{name}");
        }
        assert!(wrong_name(&"a".repeat(65)).is_some());
        for name in ["a", "my-app", "my_app2", "oxshmem-app"] {
            assert!(wrong_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_constant_stands_in_the_kernel_once() {
        let kernel = FILES.iter().find(|(file, _)| *file == "src/lib.rs").map_or("", |(_, text)| text);
        assert_eq!(kernel.matches(CONSTANT).count(), 1);
    }
}
