//! Compiles this package's kernels for the device.

fn main() {
    oxshmem_builder::Builder::new().build().unwrap_or_else(|error| error.exit());
}
