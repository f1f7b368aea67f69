//! NVIDIA's own user-space driver against the emulated NIC, and against what oxshmem encodes.
//!
//! Each case is a process of its own, this program again, with the library of this crate preloaded. libibverbs and
//! libmlx5 are the system's, unmodified.
//!
//! | case | what it shows |
//! |---|---|
//! | `stock` | `ibv_devinfo` sees the device |
//! | `compare` | libmlx5 posts 100000 random operations, and every byte that counts is as our encoders have it |
//! | `control` | encoders with one field wrong give differences, each for every operation that has the field |
//! | `adversary` | the same operations under reordering and delays: the NIC finds no fault, the data is right |
//! | `devx` | our own set-up is accepted: queues by commands to the firmware, posted to by our encoders |
//! | `collapsed` | the same with a collapsed completion queue |
//! | `reordered` | the same under reordering and delays |
//! | `without` | devices that lack something are refused, and the error says what to change |
//! | `mutants` | what is posted wrongly is caught by the NIC: encoders with one field wrong, steps left out or exchanged |
//! | `errors` | wrong keys, numbers that do not fit, memory that is too small, wrong order of destruction |
//! | `events` | what befalls queue pairs and ports is reported |
//! | `garbage` | calls of nonsense are refused, and the device works on |
//! | `devices` | two NICs of one process |
//! | `ethernet` | the same on Ethernet |
//! | `threads` | four PEs as threads of one process, each with a NIC |
//! | `processes` | two processes, each with a NIC |

mod boxes;
mod case;
mod channel;
mod classic;
mod compare;
mod devx;
mod errors;
mod events;
mod garbage;
mod mutants;
mod operation;
mod processes;
mod random;
mod record;
mod stock;

use case::{Case, Outcome};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case::new("stock", stock::parent, None),
    Case::new("compare", case::run, Some(compare::compare)),
    Case::new("control", case::run, Some(compare::control)),
    Case::new("adversary", case::run_against_adversary, Some(compare::adversary)),
    Case::new("devx", case::run, Some(devx::ring)),
    Case::new("collapsed", case::run, Some(devx::collapsed)),
    Case::new("reordered", case::run_against_adversary, Some(devx::reordered)),
    Case::new("errors", case::run, Some(errors::all)),
    Case::new("without", case::run_without, Some(errors::without)),
    Case::new("mutants", case::run_poisoned, Some(mutants::all)),
    Case::new("events", case::run, Some(events::all)),
    Case::new("garbage", case::run, Some(garbage::all)),
    Case::new("devices", case::run_with_two_devices, Some(devx::two_devices)),
    Case::new("ethernet", case::run_on_ethernet, Some(devx::two_devices)),
    Case::new("threads", case::run_with_four_devices, Some(devx::threads)),
    Case::new("processes", processes::parent, Some(processes::child)),
];

fn main() -> ExitCode {
    if let Some(name) = std::env::var_os(case::CHILD) {
        return case::child(CASES, &name.to_string_lossy());
    }
    // The test harness's own options mean nothing here; anything else is a part of the cases' names.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let mut failed = 0;
    for case in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|part| case.name.contains(part.as_str())) {
            continue;
        }
        match (case.parent)(case) {
            Outcome::Passed(said) => println!("{}: {said}", case.name),
            Outcome::Failed(why) => {
                println!("{}: FAILED\n{why}", case.name);
                failed += 1;
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
