//! The litmus suite as a program: `litmus [ROUNDS [PES…]]`, on the device that `OXSHMEM_DEVICE` chooses.

fn main() -> std::process::ExitCode {
    oxshmem_litmus::suite::main()
}
