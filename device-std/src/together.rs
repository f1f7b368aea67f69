//! Who does something together, as the emulator is told.

/// Which threads do something together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Together {
    /// One alone.
    OneThread,
    /// Those of a warp.
    OneWarp,
    /// Those of some warps.
    SomeWarps,
    /// Those of a block.
    OneBlock,
    /// Those of the grid.
    WholeGrid,
}
