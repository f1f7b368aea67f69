//! The kernels are not compiled for the device: each holds every operation, and assembling them takes many minutes. On GPUs the
//! operations run in the program `streams`.

fn main() {
    // SAFETY: no other thread of the build script runs yet.
    unsafe { std::env::set_var("OXSHMEM_PTX", "off") };
    oxshmem_builder::build();
}
