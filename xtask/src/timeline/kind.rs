//! Kinds of what is drawn, and their colours.

/// A kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// As the legend says it.
    pub(super) name: &'static str,
    pub(super) colour: &'static str,
}

const KERNEL: Kind = Kind { name: "kernel", colour: "#d8dee9" };
const HOST: Kind = Kind { name: "host", colour: "#7b8794" };
const OTHER: Kind = Kind { name: "other", colour: "#b5a642" };

/// The operations of kernels: the beginning of their names, the longer one first.
const OPERATIONS: &[(&[&str], Kind)] = &[
    (&["put_signal"], Kind { name: "put with signal", colour: "#7a4fbf" }),
    (&["put", "iput", "p"], Kind { name: "put", colour: "#2f6fdf" }),
    (&["get", "iget", "g_nbi", "gather", "bulk"], Kind { name: "get", colour: "#1f9e9e" }),
    (&["signal"], Kind { name: "signal", colour: "#e08a1e" }),
    (&["wait"], Kind { name: "wait", colour: "#d64545" }),
    (&["test"], Kind { name: "test", colour: "#f0a3a3" }),
    (&["barrier", "sync", "team", "grid", "warps"], Kind { name: "barrier, sync", colour: "#4a4a4a" }),
    (&["fence", "quiet", "flush", "pe_"], Kind { name: "fence, quiet", colour: "#8a5a2b" }),
    (&["atomic", "fetching", "update"], Kind { name: "atomic, update", colour: "#3d9a50" }),
];

/// The kind of an event of this name and category.
pub(super) fn of(name: &str, category: &str) -> Kind {
    match category {
        "kernel" => KERNEL,
        "host" => HOST,
        _ if name == "g" => of("get", category),
        _ => {
            let exact = |start: &str| if start == "p" { name == "p" } else { name.starts_with(start) };
            // `pe_fence` before `p`, which is exact.
            let found = OPERATIONS.iter().find(|(starts, _)| starts.iter().any(|start| exact(start)));
            found.map_or(OTHER, |(_, kind)| *kind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_fall_into_kinds() {
        for (name, kind) in [
            ("put_signal_nbi", "put with signal"),
            ("put_nbi", "put"),
            ("p", "put"),
            ("g", "get"),
            ("pe_quiet", "fence, quiet"),
            ("wait_until_all", "wait"),
            ("fetching atomic", "atomic, update"),
            ("access", "other"),
        ] {
            assert_eq!(of(name, "device").name, kind, "{name}");
        }
        assert_eq!((of("put", "host").name, of("put", "kernel").name), ("host", "kernel"));
    }
}
