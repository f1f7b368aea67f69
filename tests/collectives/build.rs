//! Compiles the suite's kernels for the device.

fn main() {
    oxshmem_builder::build();
}
