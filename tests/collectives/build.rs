//! Compiles the kernels for the device.

fn main() {
    oxshmem_builder::build();
}
