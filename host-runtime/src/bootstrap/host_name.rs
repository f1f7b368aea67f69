//! On which host a process runs: by the number that the kernel has given itself when it started, which all containers of
//! a host see, and by its name for people.

use crate::fault;
use std::fmt::{self, Display, Formatter};

/// Characters of a name that are kept.
const NAME: usize = 24;
/// Digits of the kernel's number.
const BOOT: usize = 32;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Nothing where it is not to be had. Then all processes are taken to be on one host; if they are not, they do not
    /// find each other's sockets.
    boot: String,
    name: String,
}

impl Host {
    /// Where PE `pe`, which is this process, runs.
    pub(crate) fn own(pe: u32) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut boot: String = boot.chars().filter(char::is_ascii_hexdigit).take(BOOT).collect();
        let node = rustix::system::uname();
        let name = node.nodename().to_string_lossy();
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let mut name: String = name.chars().filter(plain).take(NAME).collect();
        if fault::is_at("elsewhere", pe) {
            (boot, name) = ("e15e".repeat(BOOT / 4), "elsewhere".into());
        }
        Self { boot, name }
    }

    /// Whether it is the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.boot == other.boot
    }

    /// `NUMBER/NAME`, both of plain letters and digits.
    pub(crate) fn to_text(&self) -> String {
        format!("{}/{}", self.boot, self.name)
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let (boot, name) = text.split_once('/')?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        let fits = boot.len() <= BOOT && name.len() <= NAME && plain(boot) && plain(name);
        fits.then(|| Self { boot: boot.into(), name: name.into() })
    }
}

impl Display for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} (boot {})", self.name, self.boot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_survives_its_text_and_is_no_other() {
        let own = Host::own(0);
        assert_eq!(Host::from_text(&own.to_text()), Some(own.clone()));
        let other = Host::from_text("abc/other").unwrap();
        assert!(own.is(&own) && !own.is(&other));
        for text in ["", "abc", "a:b/c", &format!("{}/x", "a".repeat(33)), &format!("a/{}", "x".repeat(25))] {
            assert_eq!(Host::from_text(text), None, "{text:?}");
        }
    }
}
