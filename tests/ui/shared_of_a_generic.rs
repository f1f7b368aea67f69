//! A shared-memory layout has no generic parameters.
use oxshmem_device::prelude::*;

shared! {
    struct Layout<T> {
        tile: [T; 64],
    }
}

fn main() {}
