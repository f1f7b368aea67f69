//! The Rust file that carries the PTX into the host program.
//!
//! It is one expression of type `Module`, included by `oxshmem_device::kernels!()` where the names `Module`, `Image` and
//! `KernelInfo` are in scope. PTX files lie beside it and are included by absolute path.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Built;
use crate::error::Error;

/// The file's name in `OUT_DIR`.
pub const FILE: &str = "oxshmem_kernels.rs";

/// Writes the file for a finished build.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub(crate) fn write(folder: &Path, built: &Built) -> Result<(), Error> {
    put(folder, &present(built))
}

/// Writes the file for a build without PTX; `why` reaches whoever launches on a GPU.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub(crate) fn write_missing(folder: &Path, package: &str, why: &str) -> Result<(), Error> {
    put(folder, &missing(package, why))
}

fn put(folder: &Path, text: &str) -> Result<(), Error> {
    let path = folder.join(FILE);
    fs::write(&path, text).map_err(|e| Error::io("write", path, e))
}

fn missing(package: &str, why: &str) -> String {
    format!(
        "Module {{ package: {package:?}, images: &[], traced: &[], kernels: &[], missing: Some({why:?}), toolchain: \"none\" }}\n"
    )
}

fn present(built: &Built) -> String {
    let mut text = format!("Module {{\n    package: {:?},\n", built.package);
    for (name, images) in [("images", &built.images), ("traced", &built.traced)] {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {name}: &[");
        for image in images {
            let _ = writeln!(
                text,
                "        Image {{ arch: {:?}, ptx_version: {:?}, ptx: include_str!({:?}) }},",
                image.arch.name(),
                image.arch.ptx_version(),
                image.path
            );
        }
        text.push_str("    ],\n");
    }
    text.push_str("    kernels: &[\n");
    for image in &built.images {
        for kernel in &image.kernels {
            let resources = kernel.resources;
            let _ = writeln!(
                text,
                "        KernelInfo {{ symbol: {:?}, arch: {:?}, registers: {:?}, spill_bytes: {:?}, local_bytes: {:?}, \
                 shared_bytes: {:?} }},",
                kernel.symbol,
                image.arch.name(),
                resources.map(|r| r.registers),
                resources.map(|r| r.spill_stores + r.spill_loads),
                resources.map(|r| r.stack),
                resources.map(|r| r.shared),
            );
        }
    }
    let _ = write!(text, "    ],\n    missing: None,\n    toolchain: {:?},\n}}\n", built.toolchain);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptxas::Resources;
    use crate::{Arch, Image, KernelReport};

    #[test]
    fn the_expression_names_images_kernels_and_toolchain() {
        let kernel = KernelReport {
            symbol: "ring__shift".into(),
            marker: None,
            instructions: 10,
            sass_instructions: None,
            resources: Some(Resources {
                registers: 24,
                spill_stores: 4,
                spill_loads: 4,
                ..Resources::default()
            }),
        };
        let image = Image {
            arch: Arch::parse("sm_80").expect("sm_80"),
            path: "/t/ring.sm_80.ptx".into(),
            ptx: String::new(),
            kernels: vec![kernel],
            seconds: 0.5,
        };
        let built = Built {
            package: "ring".into(),
            toolchain: "rustc 1.96.0".into(),
            traced: vec![Image { path: "/t/ring.sm_80.traced.ptx".into(), ..image.clone() }],
            images: vec![image],
            inputs: Vec::new(),
            warnings: Vec::new(),
        };
        let text = present(&built);
        for part in [
            "Image { arch: \"sm_80\", ptx_version: (8, 4), ptx: include_str!(\"/t/ring.sm_80.ptx\") }",
            "traced: &[\n        Image { arch: \"sm_80\", ptx_version: (8, 4), ptx: include_str!(\"/t/ring.sm_80.traced.ptx\") }",
            "symbol: \"ring__shift\", arch: \"sm_80\", registers: Some(24), spill_bytes: Some(8), local_bytes: Some(0)",
            "missing: None",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_build_without_ptx_says_why() {
        assert!(missing("ring", "a \"b\"").contains("missing: Some(\"a \\\"b\\\"\")"));
    }
}
