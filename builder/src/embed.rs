//! The Rust file that carries the PTX into the host program.
//!
//! It is one expression of type `Module`, included by `oxshmem_device::kernels!()` where the names `Module`, `Image` and
//! `KernelInfo` are in scope. The packed PTX lies beside the plain PTX and is included by absolute path.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::pack::pack;
use crate::{Built, Image};

/// The file's name in `OUT_DIR`.
pub const FILE: &str = "oxshmem_kernels.rs";

/// Writes the file for a finished build, and its packed PTX. With `on_demand` the kernels are loaded when one is launched.
///
/// # Errors
/// [`Error::Io`] if one cannot be written.
pub(crate) fn write(folder: &Path, built: &Built, on_demand: bool) -> Result<(), Error> {
    for image in built.images.iter().chain(&built.traced) {
        let path = packed(image);
        fs::write(&path, pack(&image.arch, &image.ptx)).map_err(|e| Error::io("write", path, e))?;
    }
    put(folder, &present(built, on_demand))
}

/// Where the packed PTX of an image goes.
fn packed(image: &Image) -> PathBuf {
    image.path.with_extension("ptx.packed")
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
        "Module {{ package: {package:?}, images: &[], traced: &[], kernels: &[], on_demand: false, missing: Some({why:?}), toolchain: \"none\" }}\n"
    )
}

fn present(built: &Built, on_demand: bool) -> String {
    let mut text = format!("Module {{\n    package: {:?},\n", built.package);
    for (name, images) in [("images", &built.images), ("traced", &built.traced)] {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {name}: &[");
        for image in images {
            let _ = writeln!(
                text,
                "        Image {{ arch: {:?}, ptx_version: {:?}, ptx: include_bytes!({:?}) }},",
                image.arch.name(),
                image.arch.ptx_version(),
                packed(image)
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
    let _ = write!(
        text,
        "    ],\n    on_demand: {on_demand},\n    missing: None,\n    toolchain: {:?},\n}}\n",
        built.toolchain
    );
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
        let text = present(&built, true);
        for part in [
            "Image { arch: \"sm_80\", ptx_version: (8, 4), ptx: include_bytes!(\"/t/ring.sm_80.ptx.packed\") }",
            "traced: &[\n        Image { arch: \"sm_80\", ptx_version: (8, 4), ptx: include_bytes!(\"/t/ring.sm_80.traced.ptx.packed\") }",
            "symbol: \"ring__shift\", arch: \"sm_80\", registers: Some(24), spill_bytes: Some(8), local_bytes: Some(0)",
            "on_demand: true",
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
