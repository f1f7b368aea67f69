//! Which device toolchains were tried, and how to get one.

/// How to get a device toolchain, in one sentence. A launch on a GPU without PTX fails with it too.
pub const HOW_TO_GET_ONE: &str = "no device toolchain was found, so no PTX is embedded and kernels run on the emulator only; \
    install one with `apt-get install --no-remove rustc-web cargo-web rust-web-src` (Debian) or `rustup toolchain install \
    nightly --component rust-src` (rustup) and build again";

/// A compiler version that this crate was tried with: rustc's release and its LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// As in `1.96.0`.
    pub release: &'static str,
    /// As in `22.1.8`.
    pub llvm: &'static str,
}

/// The versions that this crate was tried with. Others are used with a warning; the lint stands guard.
pub const TRIED: &[Tried] = &[Tried { release: "1.96.0", llvm: "22.1.8" }];

pub(crate) fn tried_versions() -> String {
    let all: Vec<String> = TRIED.iter().map(|t| format!("rustc {} (LLVM {})", t.release, t.llvm)).collect();
    all.join(", ")
}
