//! Marker comments: what `#[nvshmem_kernel]` tells the builder about a kernel, carried through the compiler as one line
//!
//! ```text
//! // @oxshmem kernel=<symbol> maxntid=256 minnctapersm=2 cluster=2,1,1 arch=sm_90a local=allow shared=1024
//! ```
//!
//! that `global_asm!` at item level puts into the PTX. A key that is not known here is an error: a typo must not
//! silently drop a launch bound.

use crate::arch::Arch;
use crate::error::Error;

/// What begins a marker line.
pub const PREFIX: &str = "// @oxshmem ";

/// What one marker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The entry's symbol.
    pub kernel: String,
    /// Most threads in a block, per dimension; at most three.
    pub maxntid: Option<Vec<u32>>,
    /// Exact threads in a block, per dimension; at most three.
    pub reqntid: Option<Vec<u32>>,
    /// Blocks that must fit on one multiprocessor.
    pub minnctapersm: Option<u32>,
    /// Blocks in a cluster, per dimension.
    pub cluster: Option<[u32; 3]>,
    /// The oldest architecture whose image may hold the kernel.
    pub arch: Option<Arch>,
    /// Whether the kernel may keep values in local memory.
    pub local: bool,
    /// Shared memory that a launch must give it, in bytes.
    pub shared: Option<u32>,
    /// Whether its launch is the collective one.
    pub collective: bool,
    /// Indices of by-value parameters whose alignment becomes 64 bytes.
    pub param64: Vec<u32>,
}

impl Marker {
    /// Reads one line of PTX: `None` if it is no marker.
    ///
    /// # Errors
    /// [`Error::Marker`] for an unknown key, a bad value, or a marker without `kernel=`.
    pub fn parse(line: &str) -> Result<Option<Self>, Error> {
        let Some(rest) = line.trim_start().strip_prefix(PREFIX) else { return Ok(None) };
        let words = || rest.split_whitespace();
        let kernel = words().find_map(|word| word.strip_prefix("kernel=")).filter(|k| !k.is_empty());
        let wrong = |why: String| Error::Marker { kernel: kernel.unwrap_or(rest.trim()).to_owned(), why };
        let Some(kernel) = kernel else { return Err(wrong("it has no `kernel=<symbol>`".into())) };

        let mut marker = Self::new(kernel);
        for word in words() {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| wrong(format!("`{word}` is not of the form key=value")))?;
            let bad = |expected: &str| wrong(format!("`{key}={value}`: {expected} is expected"));
            match key {
                "kernel" => {}
                "maxntid" => marker.maxntid = Some(dimensions(value).ok_or_else(|| bad("1 to 3 sizes"))?),
                "reqntid" => marker.reqntid = Some(dimensions(value).ok_or_else(|| bad("1 to 3 sizes"))?),
                "minnctapersm" => marker.minnctapersm = Some(positive(value).ok_or_else(|| bad("a count"))?),
                "cluster" => {
                    let mut sizes = dimensions(value).ok_or_else(|| bad("1 to 3 sizes"))?;
                    sizes.resize(3, 1);
                    marker.cluster = Some([sizes[0], sizes[1], sizes[2]]);
                }
                "arch" => {
                    marker.arch = Some(Arch::parse(value).map_err(|_| bad("an architecture like sm_90a"))?);
                }
                "local" if value == "allow" => marker.local = true,
                "local" => return Err(bad("`allow`")),
                "shared" => marker.shared = Some(value.parse().map_err(|_| bad("a size in bytes"))?),
                "collective" => match value {
                    "1" => marker.collective = true,
                    "0" => marker.collective = false,
                    _ => return Err(bad("0 or 1")),
                },
                "param64" => {
                    for index in value.split(',') {
                        marker.param64.push(index.parse().map_err(|_| bad("parameter indices"))?);
                    }
                }
                _ => return Err(wrong(format!("the key `{key}` is not known"))),
            }
        }
        if marker.maxntid.is_some() && marker.reqntid.is_some() {
            return Err(wrong("`maxntid` and `reqntid` exclude each other".into()));
        }
        if marker.minnctapersm.is_some() && marker.maxntid.is_none() && marker.reqntid.is_none() {
            return Err(wrong("`minnctapersm` means nothing without `maxntid` or `reqntid`".into()));
        }
        Ok(Some(marker))
    }

    /// Reads all markers of a PTX text, in their order. The same marker twice counts once.
    ///
    /// # Errors
    /// [`Error::Marker`] for a bad one, and for two that name one kernel and differ.
    pub fn parse_all(ptx: &str) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        for line in ptx.lines() {
            let Some(marker) = Self::parse(line)? else { continue };
            match all.iter().find(|other| other.kernel == marker.kernel) {
                None => all.push(marker),
                Some(same) if *same == marker => {}
                Some(_) => {
                    let why = "there are two, and they differ".to_owned();
                    return Err(Error::Marker { kernel: marker.kernel, why });
                }
            }
        }
        Ok(all)
    }

    /// A marker that asks for nothing.
    pub fn new(kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            maxntid: None,
            reqntid: None,
            minnctapersm: None,
            cluster: None,
            arch: None,
            local: false,
            shared: None,
            collective: false,
            param64: Vec::new(),
        }
    }

    /// Whether an image for `arch` holds this kernel: its `arch=` is met, and clusters exist there.
    pub fn fits(&self, arch: &Arch) -> bool {
        let clusters = self.cluster.is_none() || Arch::parse("sm_90").is_ok_and(|sm_90| arch.serves(&sm_90));
        clusters && self.arch.as_ref().is_none_or(|needed| arch.serves(needed))
    }
}

fn positive(value: &str) -> Option<u32> {
    value.parse().ok().filter(|n| *n > 0)
}

fn dimensions(value: &str) -> Option<Vec<u32>> {
    let sizes: Option<Vec<u32>> = value.split(',').map(positive).collect();
    sizes.filter(|sizes| sizes.len() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Marker>, Error> {
        Marker::parse(line)
    }

    #[test]
    fn every_key_is_read() {
        let line = "\t// @oxshmem kernel=k maxntid=16,16 minnctapersm=2 cluster=2 arch=sm_90a local=allow shared=1024 \
                    collective=1 param64=1,3";
        let marker = parse(line).expect("a marker").expect("a marker");
        assert_eq!(marker.kernel, "k");
        assert_eq!(marker.maxntid, Some(vec![16, 16]));
        assert_eq!(marker.minnctapersm, Some(2));
        assert_eq!(marker.cluster, Some([2, 1, 1]));
        assert_eq!(marker.arch.map(|a| a.name().to_owned()).as_deref(), Some("sm_90a"));
        assert!(marker.local && marker.collective);
        assert_eq!((marker.shared, marker.param64), (Some(1024), vec![1, 3]));
    }

    #[test]
    fn other_comments_are_no_markers() {
        assert_eq!(parse("// @nc").expect("no error"), None);
        assert_eq!(parse("mov.u32 %r1, %r2; // @byte").expect("no error"), None);
    }

    #[test]
    fn typos_and_contradictions_are_errors() {
        for line in [
            "// @oxshmem maxntid=1",
            "// @oxshmem kernel=k maxnitd=1",
            "// @oxshmem kernel=k maxntid",
            "// @oxshmem kernel=k maxntid=0",
            "// @oxshmem kernel=k maxntid=1,1,1,1",
            "// @oxshmem kernel=k local=yes",
            "// @oxshmem kernel=k arch=90",
            "// @oxshmem kernel=k minnctapersm=2",
            "// @oxshmem kernel=k maxntid=2 reqntid=2",
        ] {
            assert!(matches!(parse(line), Err(Error::Marker { .. })), "{line}");
        }
    }

    #[test]
    fn two_markers_of_one_kernel_must_agree() {
        let same = "// @oxshmem kernel=k maxntid=1\n// @oxshmem kernel=k maxntid=1\n";
        assert_eq!(Marker::parse_all(same).expect("agree").len(), 1);
        let differ = "// @oxshmem kernel=k maxntid=1\n// @oxshmem kernel=k maxntid=2\n";
        assert!(Marker::parse_all(differ).is_err());
    }

    #[test]
    fn a_cluster_kernel_is_left_out_of_older_images() {
        let marker = parse("// @oxshmem kernel=k cluster=2").expect("a marker").expect("a marker");
        assert!(!marker.fits(&Arch::parse("sm_80").expect("sm_80")));
        assert!(marker.fits(&Arch::parse("sm_90").expect("sm_90")));
    }
}
