//! Which image of a module a GPU and its driver can take.

use crate::error::Error;
use oxshmem_device::launch::{Image, Module};

/// What an image must fit.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Compute capability.
    pub(super) capability: (i32, i32),
    /// CUDA version of the driver, as 1000 * major + 10 * minor.
    pub(super) driver: i32,
    /// The device, for messages.
    pub(super) name: String,
}

/// The best of some images: the newest architecture that the device has, specific before general.
pub(super) fn best<'a>(images: impl Iterator<Item = &'a Image>, target: &Target) -> Option<&'a Image> {
    images.filter(|image| fits(image, target)).max_by_key(|image| {
        let (major, minor, kind) = parse(image.arch).unwrap_or((0, 0, Kind::Any));
        (major, minor, kind != Kind::Any, image.ptx_version)
    })
}

/// On which devices an image runs (PTX ISA 11.1.2, `.target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `sm_90`: its own and newer ones.
    Any,
    /// `sm_100f`: the same family.
    Family,
    /// `sm_90a`: exactly this one.
    Exact,
}

/// `sm_90a` as 9, 0, exact.
fn parse(arch: &str) -> Option<(i32, i32, Kind)> {
    let text = arch.strip_prefix("sm_")?;
    let (number, kind) = match text.as_bytes().last()? {
        b'a' => (&text[..text.len() - 1], Kind::Exact),
        b'f' => (&text[..text.len() - 1], Kind::Family),
        _ => (text, Kind::Any),
    };
    let number: i32 = number.parse().ok()?;
    Some((number / 10, number % 10, kind))
}

fn fits(image: &Image, target: &Target) -> bool {
    let Some((major, minor, kind)) = parse(image.arch) else { return false };
    let runs = match kind {
        Kind::Any => target.capability >= (major, minor),
        Kind::Family => target.capability.0 == major && target.capability.1 >= minor,
        Kind::Exact => target.capability == (major, minor),
    };
    runs && image.ptx_version <= newest_ptx(target.driver)
}

/// The newest PTX version that a driver compiles (PTX ISA, release notes), by its CUDA version.
fn newest_ptx(driver: i32) -> (u32, u32) {
    match (driver / 1000, driver % 1000 / 10) {
        (12, minor @ 0..=5) => (8, minor as u32),
        (12, 6) => (8, 5),
        (12, minor) => (8, minor.max(7) as u32 - 1),
        (major, minor) => (u32::try_from(major - 4).unwrap_or(0), u32::try_from(minor).unwrap_or(0)),
    }
}

pub(super) fn no_fitting(module: &Module, target: &Target) -> Error {
    let have: Vec<String> = module
        .images
        .iter()
        .map(|image| format!("{} with PTX {}.{}", image.arch, image.ptx_version.0, image.ptx_version.1))
        .collect();
    let (major, minor) = target.capability;
    Error::NoFittingImage {
        package: module.package,
        have: have.join(", "),
        device: format!("{} (compute capability {major}.{minor})", target.name),
        driver: target.driver,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn image(arch: &'static str, ptx_version: (u32, u32)) -> Image {
        Image { arch, ptx_version, ptx: b"" }
    }

    #[test]
    fn the_newest_image_that_fits_is_taken() {
        let images = [
            image("sm_80", (8, 4)),
            image("sm_90", (8, 6)),
            image("sm_90a", (8, 6)),
            image("sm_100f", (8, 8)),
        ];
        for (capability, driver, expected) in [
            ((8, 0), 12040, Some("sm_80")),
            ((8, 9), 13000, Some("sm_80")),
            ((9, 0), 12040, Some("sm_80")),
            ((9, 0), 12080, Some("sm_90a")),
            ((10, 0), 12080, Some("sm_90")),
            ((10, 0), 12090, Some("sm_100f")),
            ((10, 3), 13000, Some("sm_100f")),
            ((12, 0), 13000, Some("sm_90")),
            ((7, 5), 13000, None),
            ((9, 0), 12030, None),
        ] {
            let target = Target { capability, driver, name: String::new() };
            assert_eq!(best(images.iter(), &target).map(|i| i.arch), expected, "{capability:?} {driver}");
        }
    }

    #[test]
    fn ptx_versions_follow_the_drivers() {
        for (driver, ptx) in
            [(12040, (8, 4)), (12060, (8, 5)), (12080, (8, 7)), (12090, (8, 8)), (13010, (9, 1))]
        {
            assert_eq!(newest_ptx(driver), ptx, "{driver}");
        }
    }
}
