//! The conformance suite as a program: `conformance [PES…]`, on the device that `OXSHMEM_DEVICE` chooses.

fn main() -> std::process::ExitCode {
    oxshmem_tests::conformance::main()
}
