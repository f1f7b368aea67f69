//! oxshmem's own commands.
fn main() {}
