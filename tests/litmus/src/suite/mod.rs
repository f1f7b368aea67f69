//! The litmus suite: shapes of the memory model, each with the outcome that it forbids, played for many rounds.
//!
//! `litmus [ROUNDS [PES…]] [NAME…]`: of the shapes those whose name has one of the words; by default all, 100,000 rounds on a GPU and 20 emulated, with 2, 3, 4 and 8 PEs. Each shape runs
//! with and without pseudo-random delays. The PEs form as many groups as there are, and each group plays all rounds.
//!
//! Beside each shape runs its twin, with the ordering removed or weakened. What the twin shows is allowed, so it may show
//! nothing: it is counted, and no failure. On the emulator, whose memory keeps all accesses in order, only those twins show
//! something that lack a barrier, an atomic or a wait for the bulk copy engine.
//!
//! Output: one line per shape, number of PEs and delays, then the shapes whose twin showed nothing, the totals, and
//! `N passed, M failed` rows.

mod bench;
mod report;
mod shapes;

use bench::Bench;
use oxshmem::Config;
use report::Report;
use std::process::ExitCode;
use std::time::Instant;

/// Numbers of PEs if none are given.
const PES: [u32; 4] = [2, 3, 4, 8];
/// Rounds on a GPU if no number is given.
const ROUNDS: u32 = 100_000;
/// Rounds on the emulator.
const EMULATED_ROUNDS: u32 = 20;
/// Most rounds: values stay within 32 bits.
const MOST_ROUNDS: u32 = 1 << 29;

/// Runs the suite as the arguments say.
pub fn main() -> ExitCode {
    let (rounds, pes, names) = match arguments(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(why) => {
            eprintln!("litmus: {why}; usage: litmus [ROUNDS [PES…]] [NAME…]");
            return ExitCode::from(2);
        }
    };
    let report = Report::default();
    for n in pes {
        let start = Instant::now();
        let result = Config::from_env().and_then(|config| {
            config.pes(n).run(|shmem| {
                let is_emulated = shmem.device_name().to_lowercase().contains("emulated");
                let rounds = rounds.unwrap_or(if is_emulated { EMULATED_ROUNDS } else { ROUNDS });
                let bench = Bench::new(&shmem, &report)?;
                for shape in shapes::SHAPES.iter().filter(|shape| shape.roles <= n) {
                    if !names.is_empty() && !names.iter().any(|name| shape.name.contains(name.as_str())) {
                        continue;
                    }
                    for delays in [false, true] {
                        bench.row(shape, rounds, delays)?;
                    }
                }
                if shmem.my_pe() == 0 {
                    println!("device: {}", shmem.device_name());
                }
                Ok(())
            })
        });
        if let Err(error) = result {
            report.fail(format!("{n} PEs: {error}"));
        }
        println!("{n} PEs: {:.1} s", start.elapsed().as_secs_f64());
    }
    report.finish()
}

/// Rounds, if they are given, numbers of PEs, and parts of names.
type Arguments = (Option<u32>, Vec<u32>, Vec<String>);

fn arguments(given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let number = |text: &str, least: u32, most: u32| match text.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("{text:?} is not a number from {least} to {most}")),
    };
    let is_name = |text: &String| text.starts_with(char::is_alphabetic);
    let (names, mut numbers): (Vec<String>, Vec<String>) = given.partition(is_name);
    let rest = numbers.split_off(numbers.len().min(1));
    let rounds = numbers.first().map(|text| number(text, 1, MOST_ROUNDS)).transpose()?;
    let pes: Vec<u32> = rest.iter().map(|text| number(text, 2, 1024)).collect::<Result<_, _>>()?;
    Ok((rounds, if pes.is_empty() { PES.to_vec() } else { pes }, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, String> {
        arguments(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn arguments_are_rounds_and_then_pes() {
        assert_eq!(parse(&[]), Ok((None, PES.to_vec(), vec![])));
        assert_eq!(parse(&["7"]), Ok((Some(7), PES.to_vec(), vec![])));
        assert_eq!(parse(&["7", "2", "chain", "5"]), Ok((Some(7), vec![2, 5], vec!["chain".into()])));
        for wrong in [&["0"][..], &["-1"], &["7", "1"], &["7", "2", "+"], &["600000000"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
