//! Compiles the shipped kernels for the device.

fn main() {
    oxshmem_builder::build();
}
