//! Who does something together, as the emulator is told.

/// Which threads do something together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Together {
    /// One alone.
    Thread,
    /// Those of a warp.
    Warp,
    /// Those of some warps.
    Warps,
    /// Those of a block.
    Block,
    /// Those of the grid.
    Grid,
}
