//! `cargo test --release -p oxshmem-tests --test collectives`: see `oxshmem_collective_tests::suite`.

fn main() -> std::process::ExitCode {
    oxshmem_collective_tests::suite::main()
}
