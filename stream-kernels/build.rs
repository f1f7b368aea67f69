//! Compiles the kernels of the on-stream operations for the device.

fn main() {
    oxshmem_builder::build();
}
