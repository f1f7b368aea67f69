//! The command line.

use std::ffi::OsString;
use std::net::IpAddr;
use std::time::Duration;

use clap::{Parser, value_parser};

/// In the place of all options: says what this machine offers and what is missing.
pub const DOCTOR: &str = "doctor";

const EXAMPLE: &str = "\
Example:
  oxshmem-run -n 4 --prefix target/release/jacobi 1024 1024

starts jacobi four times. Each process is one PE of the same job and learns of it from its environment:
OXSHMEM_RANK, OXSHMEM_WORLD_SIZE, OXSHMEM_LOCAL_RANK, OXSHMEM_LOCAL_WORLD_SIZE and OXSHMEM_JOB. Options of
oxshmem-run come before the program, what follows is the program's.

  oxshmem-run doctor

says what this machine offers, GPUs and how they reach each other, limits, launchers, interfaces, and what is missing;
its exit status is 1 then.

Exit status:
  0         every PE ended with 0
  1, 2      the job could not be started; wrong arguments
  126, 127  the program cannot be executed; there is no such program
  else      that of the PE which failed first, 128 + S if signal S ended it or the launcher";

/// Starts N processes of a program on this machine, one PE each, and waits for them.
///
/// The first PE that fails ends the job: the others get some seconds to end by themselves, then they
/// are ended. So does Ctrl-C, and a second Ctrl-C ends them at once. Nothing that the PEs started is left
/// running. The PEs' standard input is /dev/null, since only one of them could read a line.
#[derive(Clone, Debug, Parser)]
#[command(name = "oxshmem-run", version, after_help = EXAMPLE, verbatim_doc_comment)]
#[command(
    override_usage = "oxshmem-run -n N [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       oxshmem-run doctor"
)]
pub struct Options {
    /// How many PEs, from 1 to 1024.
    #[arg(short = 'n', long = "pes", value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub pes: u32,

    /// Put `[rank] ` before each line that a PE prints, and keep lines whole.
    ///
    /// A program may print later than it would to a terminal, since it sees a pipe. Lines of more than 1 MiB are cut.
    #[arg(long, verbatim_doc_comment)]
    pub prefix: bool,

    /// Let PEs that share a GPU run on it at once, by NVIDIA's MPS.
    ///
    /// Without it they take turns. A daemon that runs already is used and left; else one is started for this job.
    #[arg(long)]
    pub mps: bool,

    /// How the PEs meet: unix (sockets of this machine), tcp, or tcp:IP for the address of one interface.
    #[arg(long, value_name = "WAY", value_parser = rendezvous)]
    pub rendezvous: Option<String>,

    /// How many seconds the others get to end by themselves after a PE failed.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub grace: Duration,

    /// The program, as a path or a name on the PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM", value_parser = value_parser!(OsString))]
    pub program: Vec<OsString>,
}

fn rendezvous(text: &str) -> Result<String, String> {
    let known = match text.split_once(':') {
        None => matches!(text, "unix" | "tcp"),
        Some((way, address)) => way == "tcp" && address.parse::<IpAddr>().is_ok(),
    };
    known.then(|| text.to_owned()).ok_or_else(|| "give unix, tcp, or tcp:IP as in tcp:127.0.0.1".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|seconds| seconds.as_secs() <= 1_000_000)
        .ok_or_else(|| "give seconds from 0 to 1000000, as in 2.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(format!("oxshmem-run {line}").split_whitespace())
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        let options = parsed("-n 2 prog -n 7 --mps -- --help").expect("valid");
        assert_eq!(options.program, ["prog", "-n", "7", "--mps", "--", "--help"]);
        assert_eq!((options.pes, options.mps), (2, false));
        let options = parsed("-n2 -- prog --prefix").expect("valid");
        assert_eq!((options.program.len(), options.prefix), (2, false));
        assert!(parsed("-n 2 --unknown prog").is_err(), "an unknown option is not the program");
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for line in [
            "-n 0 p",
            "-n 1025 p",
            "-n x p",
            "-n -1 p",
            "-n 1",
            "p",
            "-n 1 --grace -1 p",
            "-n 1 --grace inf p",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert_eq!(parsed("-n 1024 --grace 0.5 p").expect("valid").grace, Duration::from_millis(500));
    }

    #[test]
    fn the_meeting_place_is_checked_before_any_pe_starts() {
        for good in ["unix", "tcp", "tcp:127.0.0.1", "tcp:::1"] {
            assert_eq!(rendezvous(good).as_deref(), Ok(good));
        }
        for bad in ["", "udp", "tcp:", "tcp:host", "unix:1.2.3.4", "tcp:1.2.3"] {
            assert!(rendezvous(bad).is_err(), "{bad}");
        }
    }
}
