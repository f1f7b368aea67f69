//! Compiles the test kernels for the device.

fn main() {
    oxshmem_builder::build();
}
