//! Jobs that meet at the address of one network interface, and at nothing else: see `oxshmem_programs::interface`.

fn main() -> std::process::ExitCode {
    oxshmem_programs::interface::main()
}
