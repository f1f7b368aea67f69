//! Launchers that may start the PEs of a job as processes.

use crate::{Row, State, process};

/// A launcher's program, and how it starts three PEs.
const LAUNCHERS: [(&str, &str); 4] = [
    ("torchrun", "torchrun --standalone --nproc-per-node=3 --no-python PROGRAM"),
    ("mpirun", "mpirun -n 3 PROGRAM; Open MPI's needs libpmix.so.2, found or named by OXSHMEM_PMIX"),
    ("mpiexec.hydra", "mpiexec.hydra -n 3 PROGRAM"),
    ("srun", "srun --nodes=1 --ntasks=3 PROGRAM"),
];

pub(crate) fn rows() -> Vec<Row> {
    let row = |(program, how): (&str, &str)| match process::on_path(program) {
        Some(path) => Row::new(State::Found, program, format!("{}: {how}", path.display())),
        None => Row::new(
            State::Absent,
            program,
            "not on the PATH; `oxshmem-run -n 3 PROGRAM` needs no other launcher",
        ),
    };
    LAUNCHERS.map(row).into()
}
