//! Compiles this package's kernels for the device, also in the traced flavour.

fn main() {
    oxshmem_builder::Builder::new().trace().build().unwrap_or_else(|error| error.exit());
}
