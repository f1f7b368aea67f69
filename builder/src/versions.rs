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

/// The oldest release that compiles kernels: earlier ones do not take a feature that is named twice, by a crate and by its
/// command line.
const OLDEST: (u32, u32) = (1, 96);

/// Why a release (`1.95.0`, `1.97.0-nightly`) is too old, if it is.
pub(crate) fn too_old(release: &str) -> Option<String> {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    (version < OLDEST)
        .then(|| format!("it is {release}, and kernels need {}.{} or newer", OLDEST.0, OLDEST.1))
}

pub(crate) fn tried_versions() -> String {
    let all: Vec<String> = TRIED.iter().map(|t| format!("rustc {} (LLVM {})", t.release, t.llvm)).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_before_the_oldest_are_refused_with_both_versions() {
        for release in ["1.95.0", "1.9.1", "0.99.0", "1.95.0-nightly"] {
            let why = too_old(release).expect("too old");
            assert!(why.contains(release) && why.contains("1.96 or newer"), "{why}");
        }
        for release in ["1.96.0", "1.97.0-nightly", "2.0.0", "unknown"] {
            assert_eq!(too_old(release), None);
        }
        assert!(TRIED.iter().all(|tried| too_old(tried.release).is_none()));
    }
}
