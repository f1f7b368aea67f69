//! GPU architectures by their compiler names, and the PTX version each is built at.

use std::fmt;

use crate::error::Error;

/// An architecture (`sm_80`, `sm_90a`) with the PTX version that its images are written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    name: String,
    number: u32,
    suffix: Option<char>,
    ptx: (u32, u32),
}

impl Arch {
    /// Reads `sm_<number>` with an optional `a` (this chip only) or `f` (this family only), and chooses the PTX version:
    /// 8.4 below `sm_90` (driver 550), 8.6 for `sm_90` (driver 570), and the first that knows the chip above it.
    ///
    /// # Errors
    /// [`Error::Arch`] if the name has another form.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Arch { name: name.to_owned(), why: why.to_owned() };
        let digits =
            name.strip_prefix("sm_").ok_or_else(|| wrong("a name looks like sm_80, sm_90 or sm_90a"))?;
        let (digits, suffix) = match digits.strip_suffix(['a', 'f']) {
            Some(rest) => (rest, name.chars().last()),
            None => (digits, None),
        };
        let number = digits.parse().map_err(|_| wrong("a name looks like sm_80, sm_90 or sm_90a"))?;
        if number < 70 {
            return Err(wrong("oxshmem needs independent thread scheduling, so sm_70 or newer"));
        }
        let ptx = match (number, suffix) {
            (..90, _) => (8, 4),
            (90..=101, Some('f')) | (103.., _) => (8, 8),
            _ => (8, 6),
        };
        Ok(Self { name: name.to_owned(), number, suffix, ptx })
    }

    /// The name, as in `sm_90a`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The PTX version of its images: (8, 4) is 8.4.
    pub fn ptx_version(&self) -> (u32, u32) {
        self.ptx
    }

    /// The number, as in 90.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The compiler's feature for the PTX version, as in `+ptx84`.
    pub(crate) fn ptx_feature(&self) -> String {
        format!("+ptx{}{}", self.ptx.0, self.ptx.1)
    }

    /// Whether an image for `self` may hold a kernel that asks for `needed`.
    pub fn serves(&self, needed: &Arch) -> bool {
        match needed.suffix {
            None => self.number >= needed.number,
            Some('f') => self.number >= needed.number && self.number / 10 == needed.number / 10,
            Some(_) => self.name == needed.name,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;

    fn arch(name: &str) -> Arch {
        Arch::parse(name).expect(name)
    }

    #[test]
    fn the_default_archs_have_the_promised_ptx_versions() {
        assert_eq!(arch("sm_80").ptx_version(), (8, 4));
        assert_eq!(arch("sm_90").ptx_version(), (8, 6));
        assert_eq!(arch("sm_90a").ptx_feature(), "+ptx86");
    }

    #[test]
    fn an_image_serves_older_plain_archs_and_only_its_own_suffix() {
        assert!(arch("sm_90").serves(&arch("sm_80")));
        assert!(arch("sm_90a").serves(&arch("sm_90")));
        assert!(!arch("sm_80").serves(&arch("sm_90")));
        assert!(!arch("sm_90").serves(&arch("sm_90a")));
        assert!(!arch("sm_100a").serves(&arch("sm_90a")));
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["90", "sm_", "sm_9x", "compute_90", "sm_60"] {
            assert!(Arch::parse(name).is_err(), "{name}");
        }
    }
}
