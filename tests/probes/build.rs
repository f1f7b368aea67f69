//! Compiles the probes for the device.

fn main() {
    oxshmem_builder::build();
}
