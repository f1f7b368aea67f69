//! The PEs as nodes, and chunks as ranges of elements.

/// `nodes * per_node` PEs; PE `node * per_node + gpu` is number `gpu` of its node. With one PE per node, or one node, a
/// schedule knows nothing of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    nodes: u32,
    per_node: u32,
}

impl Grid {
    /// `None` if there is no node, no PE in it, or more than 65,536 PEs.
    #[inline(always)]
    pub const fn new(nodes: u32, per_node: u32) -> Option<Self> {
        let pes = nodes as u64 * per_node as u64;
        if pes == 0 || pes > 1 << 16 { None } else { Some(Self { nodes, per_node }) }
    }

    /// How many nodes.
    #[inline(always)]
    pub const fn nodes(self) -> u32 {
        self.nodes
    }

    /// How many PEs on each.
    #[inline(always)]
    pub const fn per_node(self) -> u32 {
        self.per_node
    }

    /// How many PEs.
    #[inline(always)]
    pub const fn n_pes(self) -> u32 {
        self.nodes * self.per_node
    }

    #[inline(always)]
    pub(super) const fn node(self, pe: u32) -> u32 {
        pe / self.per_node
    }

    #[inline(always)]
    pub(super) const fn gpu(self, pe: u32) -> u32 {
        pe % self.per_node
    }

    #[inline(always)]
    pub(super) const fn pe(self, node: u32, gpu: u32) -> u32 {
        node * self.per_node + gpu
    }
}

/// `a - b` modulo `n`, for `a` and `b` below `n`.
#[inline(always)]
pub(super) const fn minus(a: u32, b: u32, n: u32) -> u32 {
    if a >= b { a - b } else { a + n - b }
}

/// `a + b` modulo `n`, for `a` and `b` below `n`.
#[inline(always)]
pub(super) const fn plus(a: u32, b: u32, n: u32) -> u32 {
    if a + b >= n { a + b - n } else { a + b }
}

/// First element and length of chunk `chunk` of `chunks`, in a slice of `len` elements. Chunks begin at multiples of
/// `unit` elements, differ by one unit at most but for the slice's end, and may be empty. The same on every PE.
#[inline(always)]
pub const fn span(chunk: u32, chunks: u32, len: u64, unit: u64) -> (u64, u64) {
    let units = len.div_ceil(unit);
    let (each, more) = (units / chunks as u64, units % chunks as u64);
    let chunk = chunk as u64;
    let first = chunk * each + if chunk < more { chunk } else { more };
    let count = each + (chunk < more) as u64;
    let (start, end) = (first * unit, (first + count) * unit);
    let end = if end < len { end } else { len };
    if start < end { (start, end - start) } else { (end, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_slice_once_and_begin_at_units() {
        for (chunks, len, unit) in [(1, 0, 4), (3, 1, 4), (5, 17, 4), (8, 64, 8), (7, 1000, 16), (9, 8, 1)] {
            let mut next = 0;
            for chunk in 0..chunks {
                let (start, count) = span(chunk, chunks, len, unit);
                assert_eq!(start, next, "chunk {chunk} of {chunks}, {len} elements");
                assert!(start % unit == 0 || start == len);
                next = start + count;
            }
            assert_eq!(next, len);
        }
    }

    #[test]
    fn a_grid_has_pes() {
        assert_eq!((Grid::new(0, 8), Grid::new(8, 0), Grid::new(65_536, 2)), (None, None, None));
        let grid = Grid::new(3, 5).expect("15 PEs");
        assert_eq!((grid.n_pes(), grid.node(14), grid.gpu(14), grid.pe(2, 4)), (15, 2, 4, 14));
    }
}
