//! Making a failing schedule smaller (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input, TSE 2002).

use super::Choice;

/// Operations that are spent on it, and most runs.
const OPERATIONS: u64 = 20_000_000;
const ATTEMPTS: u64 = 400;

/// As few of `choices` as still show what all of them show; `None` if they do not show it, or a run has too many
/// `operations` to be tried often.
pub fn minimise(
    choices: Vec<Choice>,
    operations: u64,
    shows: &mut impl FnMut(&[Choice]) -> bool,
) -> Option<Vec<Choice>> {
    let most = (OPERATIONS / operations.max(1)).min(ATTEMPTS);
    if most < 4 || !shows(&choices) {
        return None;
    }
    let mut best = choices;
    let (mut parts, mut attempts) = (2, 1);
    while best.len() > 1 && attempts < most {
        let each = best.len().div_ceil(parts);
        let mut smaller = None;
        for start in (0..best.len()).step_by(each) {
            let rest: Vec<Choice> = best
                .iter()
                .enumerate()
                .filter(|&(at, _)| at < start || at >= start + each)
                .map(|(_, c)| *c)
                .collect();
            attempts += 1;
            if shows(&rest) {
                smaller = Some(rest);
                break;
            }
            if attempts >= most {
                break;
            }
        }
        match smaller {
            Some(rest) => {
                best = rest;
                parts = parts.saturating_sub(1).max(2);
            }
            None if each == 1 => break,
            None => parts = (parts * 2).min(best.len()),
        }
    }
    if best.len() == 1 && attempts < most && shows(&[]) {
        best.clear();
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let all: Vec<Choice> = (0..40).map(|at| Choice { at, option: 1 }).collect();
        let needs =
            |choices: &[Choice]| [7, 23].iter().all(|at| choices.iter().any(|choice| choice.at == *at));
        let least = minimise(all.clone(), 9, &mut |choices| needs(choices)).unwrap();
        assert_eq!(least.iter().map(|choice| choice.at).collect::<Vec<_>>(), [7, 23]);
        assert_eq!(minimise(all.clone(), 9, &mut |_| true), Some(Vec::new()));
        assert_eq!(minimise(all, 9, &mut |_| false), None);
    }
}
