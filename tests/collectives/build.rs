//! Compiles the kernels for the device: for Hopper and newer alone, since they are many and large.

fn main() {
    oxshmem_builder::Builder::new().arch("sm_90").build().unwrap_or_else(|error| error.exit());
}
