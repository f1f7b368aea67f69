//! The conformance suite of collective operations: see `oxshmem_collective_tests::suite`.

fn main() -> std::process::ExitCode {
    oxshmem_collective_tests::suite::main()
}
