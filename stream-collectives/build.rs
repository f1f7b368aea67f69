//! Compiles the kernels of the collective operations for the device. They are large, and most programs launch none.

fn main() {
    oxshmem_builder::Builder::new().on_demand().build().unwrap_or_else(|error| error.exit());
}
