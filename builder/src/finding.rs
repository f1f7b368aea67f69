//! What the lint reports: a rule, where it was broken, and what to do.

use std::fmt;

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// An `atom` or `red` without an explicit order and scope.
    BareAtomic,
    /// A loop that copies or fills memory one byte at a time.
    ByteLoop,
    /// A non-coherent load that the arch layer did not mark.
    NonCoherentLoad,
    /// Local memory in a kernel that is not allowed to use it.
    LocalMemory,
    /// A function or variable that nothing defines.
    Undefined,
    /// A call whose target is not known.
    IndirectCall,
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The kernel or function in which it was found.
    pub function: String,
    /// Line in the PTX, counted from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
    /// More about it, as in "through the call of `f`".
    pub note: String,
}

impl Rule {
    /// What is wrong and what to do, in one sentence each.
    pub fn advice(self) -> &'static str {
        match self {
            Self::BareAtomic => {
                "an atomic without explicit order and scope is relaxed and reaches one GPU only. \
                 `core::sync::atomic` read-modify-writes compile to this: use the atomics of oxshmem_device"
            }
            Self::ByteLoop => {
                "a loop moves memory one byte at a time. `copy_nonoverlapping`, `copy_from_slice`, `fill` and large \
                 struct copies with a run-time length compile to this: use the copies of oxshmem_device"
            }
            Self::NonCoherentLoad => {
                "a non-coherent load may be stale for memory that a peer writes. A `&T` parameter compiles to this: \
                 pass a raw pointer or a handle"
            }
            Self::LocalMemory => {
                "the kernel keeps values in local memory (slow, in every thread). Indexing an array with a run-time \
                 value, or handing a reference to a function that is not inlined, compiles to this: use constant indices \
                 and inline, or allow it with #[nvshmem_kernel(local)]"
            }
            Self::Undefined => {
                "nothing defines this name on the device: the module would not load. Call only functions that have a \
                 device body"
            }
            Self::IndirectCall => {
                "a call through a pointer has no known stack size and no known callee. `dyn Trait` and `fn` values compile \
                 to this: use generics"
            }
        }
    }
}

impl Finding {
    /// Function and text, as in "`k`: `atom.global.add.u32 %r2, [%rd2], %r1`".
    pub fn place(&self) -> String {
        format!("`{}`: `{}`{}", readable(&self.function), self.text, self.note)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: in {}, PTX line {}", self.rule.advice(), self.place(), self.line)
    }
}

/// The path in a mangled Rust name (`_RNvNtCs3Z_3bad1d4deep` is `bad::d::deep`), or the name itself.
pub(crate) fn readable(symbol: &str) -> String {
    let Some(mangled) = symbol.strip_prefix("_R") else { return symbol.to_owned() };
    let mut parts = Vec::new();
    let mut at = 0;
    let bytes = mangled.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            // A disambiguator: base-62 digits up to `_`.
            b's' => match mangled[at..].find('_') {
                Some(length) => at += length + 1,
                None => break,
            },
            digit if digit.is_ascii_digit() => {
                let end = mangled[at..].find(|c: char| !c.is_ascii_digit()).map_or(bytes.len(), |n| at + n);
                let Ok(length) = mangled[at..end].parse::<usize>() else { break };
                let start = end + usize::from(bytes.get(end) == Some(&b'_'));
                let Some(part) = mangled.get(start..start + length) else { break };
                if !part.is_empty() {
                    parts.push(part);
                }
                at = start + length;
            }
            _ => at += 1,
        }
    }
    if parts.is_empty() { symbol.to_owned() } else { parts.join("::") }
}
