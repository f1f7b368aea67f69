//! `cargo test --release -p oxshmem-tests --test conformance`: see `oxshmem_tests::conformance`.

fn main() -> std::process::ExitCode {
    oxshmem_tests::conformance::main()
}
