//! Compiles the test kernels for the device, and looks which of device-std's public functions they call.

#[path = "build/coverage.rs"]
mod coverage;

fn main() {
    if std::env::var_os("OXSHMEM_DEVICE_BUILD").is_none() {
        coverage::write();
    }
    oxshmem_builder::build();
}
