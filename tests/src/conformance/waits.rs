//! Waits and tests: every type and comparison, several words at once, their lists, fairness, and what a wait that
//! expires says.

use super::failures::{Expected, fails};
use super::suite::{Bench, Report, TWO_BLOCKS};
use crate::kernels::scope;
use crate::kernels::waits::*;
use oxshmem::{Result, Shmem};
use oxshmem_device::abi::{Cause, Operation};
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::{Cmp, LaunchConfig, Reach};

const CMPS: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Ge, Cmp::Lt, Cmp::Le];

/// Threads of the first scope of this number, of [`TWO_BLOCKS`].
fn threads(number: u32) -> usize {
    match number {
        scope::THREAD => 1,
        scope::WARP => 32,
        scope::WARPS => 64,
        scope::BLOCK => 96,
        _ => 192,
    }
}

/// Every rule of this file but those of failures.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    comparing(bench)?;
    counting(bench)?;
    asking(bench)?;
    lists(bench)?;
    fairness(bench)?;
    gathering(bench)
}

fn comparing(bench: &Bench<'_>) -> Result<()> {
    macro_rules! each_type {
        ($($ty:ident)*) => {
            $({
                let word = bench.shmem.alloc_atomics::<$ty>(3, Reach::World)?;
                let answers = bench.shmem.alloc_zeroed::<u64>(6)?;
                let (low, high) = ($ty::MIN, $ty::MAX);
                for (held, value) in [(5, 5), (5, 6), (6, 5), (low, high), (high, low), (0, high), (low, 0), (high, high)] {
                    for (number, name) in bench.scopes() {
                        word.set(1, held)?;
                        answers.fill(9)?;
                        bench.row(
                            concat!("test and wait_until compare a word of ", stringify!($ty), " as that type does"),
                            || format!("{}, {name} scope, {held} against {value}", stringify!($ty)),
                            || compare::<$ty>::launch(bench.shmem, TWO_BLOCKS, word.at(1), &answers, number, value),
                            || answers.read(),
                            |i| 2 * u64::from(CMPS[i].holds(held, value)),
                        )?;
                    }
                }
                bench.shmem.free(word)?;
                bench.shmem.free(answers)?;
            })*
        };
    }
    each_type!(i32 u32 i64 u64 isize usize);
    Ok(())
}

fn counting(bench: &Bench<'_>) -> Result<()> {
    let answers = bench.shmem.alloc_zeroed::<u64>(threads(scope::GRID))?;
    macro_rules! each_type {
        ($($ty:ident: $($edge:expr),*;)*) => {
            $({
                let word = bench.shmem.alloc_atomics::<$ty>(1, Reach::World)?;
                for (number, name) in bench.scopes() {
                    for edge in [$($edge),*] {
                        let edge: $ty = edge;
                        for (seen, goal, reached) in [
                            (edge, edge, true),
                            (edge, edge.wrapping_sub(1), true),
                            (edge.wrapping_sub(1), edge, false),
                            (edge.wrapping_add(7), edge.wrapping_sub(9), true),
                            (edge.wrapping_sub(9), edge.wrapping_add(7), false),
                        ] {
                            word.set(0, seen)?;
                            answers.fill(9)?;
                            bench.row(
                                concat!("wait_reached and test_reached of ", stringify!($ty), " are right where the count or its half wraps"),
                                || format!("{}, {name} scope, {seen:#x} of {goal:#x}", stringify!($ty)),
                                || counted::<$ty>::launch(bench.shmem, TWO_BLOCKS, word.at(0), &answers, number, goal),
                                || answers.read(),
                                |i| if i < threads(number) { 2 * u64::from(reached) } else { 9 },
                            )?;
                        }
                    }
                }
                bench.shmem.free(word)?;
            })*
        };
    }
    each_type! {
        u32: 0, 1 << 31;
        u64: 0, 1 << 31, 1 << 32, 1 << 63;
    }
    bench.shmem.free(answers)
}

/// A case of [`several`]: what is in the words, which count, what each is compared with.
struct Case<T> {
    held: Vec<T>,
    status: Vec<u32>,
    values: Vec<T>,
    cmp: Cmp,
    last: Option<u64>,
}

impl<T: PartialOrd + Copy> Case<T> {
    /// Indices that count and hold; those that count.
    fn truth(&self, vector: bool) -> (Vec<u64>, Vec<u64>) {
        let counts: Vec<u64> =
            (0..self.held.len() as u64).filter(|&i| self.status[i as usize] == 0).collect();
        let value = |i: usize| self.values[if vector { i } else { 0 }];
        let holds = |&&i: &&u64| self.cmp.holds(self.held[i as usize], value(i as usize));
        (counts.iter().filter(holds).copied().collect(), counts)
    }

    /// What every thread must be told; `None` for a wait that would not end.
    fn answer(&self, form: u32) -> Option<u64> {
        let (holding, counting) = self.truth(form & form::VECTOR != 0);
        let waits = form & form::WAIT != 0;
        match form & 3 {
            form::ALL if holding == counting => Some(1),
            form::ALL => (!waits).then_some(0),
            _ if waits && holding.is_empty() && !counting.is_empty() => None,
            form::ANY => {
                // An index that is none starts from the first word.
                let start = self.last.map_or(0, |last| last + 1);
                let after = holding.iter().find(|&&i| i >= start).or(holding.first());
                Some(after.copied().unwrap_or(NONE))
            }
            _ => Some(holding.len() as u64),
        }
    }
}

/// What a form of a wait or test for several words answers.
fn answer_rule(form: u32) -> &'static str {
    match (form & form::WAIT != 0, form & form::VECTOR != 0, form & 3) {
        (false, false, form::ALL) => "test_all says whether all words that count compare",
        (false, false, form::ANY) => "test_any gives one word that compares, or none",
        (false, false, _) => "test_some counts the words that compare",
        (false, true, form::ALL) => "test_all_vector says whether each word compares with its own value",
        (false, true, form::ANY) => {
            "test_any_vector gives one word that compares with its own value, or none"
        }
        (false, true, _) => "test_some_vector counts the words that compare with their own values",
        (true, false, form::ALL) => "wait_until_all returns when all words that count compare",
        (true, false, form::ANY) => "wait_until_any returns one word that compares, or none if none counts",
        (true, false, _) => "wait_until_some returns how many words compare",
        (true, true, form::ALL) => "wait_until_all_vector returns when each word compares with its own value",
        (true, true, form::ANY) => "wait_until_any_vector returns one word that compares with its own value",
        (true, true, _) => "wait_until_some_vector returns how many words compare with their own values",
    }
}

fn asking(bench: &Bench<'_>) -> Result<()> {
    macro_rules! ask {
        ($bench:expr, $ty:ident, $case:expr) => {{
            let (shmem, case): (&Shmem, Case<$ty>) = ($bench.shmem, $case);
            let n = case.held.len();
            let words = shmem.alloc_atomics::<$ty>(n, Reach::World)?;
            for (i, &value) in case.held.iter().enumerate() {
                words.set(i, value)?;
            }
            let (status, values) =
                (shmem.alloc_from_slice(&case.status)?, shmem.alloc_from_slice(&case.values)?);
            let indices = shmem.alloc_zeroed::<u64>(n)?;
            let answers = shmem.alloc_zeroed::<u64>(threads(scope::GRID))?;
            for (number, name) in bench.scopes() {
                for form in 0..16u32 {
                    if form & 3 == 3 {
                        continue;
                    }
                    let Some(answer) = case.answer(form) else { continue };
                    let vector = form & form::VECTOR != 0;
                    if vector && values.len() != n {
                        continue;
                    }
                    answers.fill(77)?;
                    indices.fill(NONE - 1)?;
                    let what = || {
                        let kind = ["all", "any", "some"][(form & 3) as usize];
                        let (wait, vector) = (form & form::WAIT != 0, if vector { "_vector" } else { "" });
                        format!("{}, {name} scope, {n} words, {kind}{vector}, waits: {wait}", stringify!($ty))
                    };
                    let last = case.last.unwrap_or(NONE);
                    $bench.row(
                        answer_rule(form),
                        what,
                        || {
                            several::<$ty>::launch(
                                shmem,
                                TWO_BLOCKS,
                                &words,
                                &status,
                                &values,
                                &indices,
                                &answers,
                                number,
                                form,
                                case.cmp as u32,
                                last,
                            )
                        },
                        || answers.read(),
                        |i| if i < threads(number) { answer } else { 77 },
                    )?;
                    let holding = if form & 3 == form::SOME { case.truth(vector).0 } else { vec![] };
                    $bench.row(
                        if form & form::WAIT != 0 {
                            "a wait for some lists the indices that hold, growing, and writes no more"
                        } else {
                            "a test for some lists the indices that hold, growing, and writes no more"
                        },
                        what,
                        || Ok(()),
                        || indices.read(),
                        |i| holding.get(i).copied().unwrap_or(NONE - 1),
                    )?;
                }
            }
            shmem.free(words)?;
            shmem.free(status)?;
            shmem.free(values)?;
            shmem.free(indices)?;
            shmem.free(answers)?;
        }};
    }
    macro_rules! each_type {
        ($($ty:ident: $low:expr;)*) => {
            $({
                let low: $ty = $low;
                let cases = |n: usize| {
                    let held = |of: fn(usize) -> bool| -> Vec<$ty> {
                        (0..n).map(|i| if of(i) { 7 } else { low }).collect()
                    };
                    let ignored = |of: fn(usize) -> bool| -> Vec<u32> {
                        (0..n).map(|i| 5 * u32::from(of(i))).collect()
                    };
                    let seven = vec![7; n.max(1)];
                    let own: Vec<$ty> = (0..n.max(1)).map(|i| if i % 3 == 1 { low } else { 7 }).collect();
                    let case = |held, status, values: &Vec<$ty>, cmp, last| {
                        Case { held, status, values: values.clone(), cmp, last }
                    };
                    vec![
                        case(held(|_| true), ignored(|_| false), &seven, Cmp::Ge, None),
                        case(held(|i| i == 2), ignored(|_| false), &seven, Cmp::Eq, Some(n as u64 - 1)),
                        case(held(|i| i % 2 == 1), ignored(|i| i % 3 == 0), &own, Cmp::Eq, Some(1)),
                        case(held(|i| i % 2 == 0), ignored(|i| i % 2 == 1), &seven, Cmp::Gt, Some(0)),
                        case(held(|_| false), ignored(|_| false), &own, Cmp::Lt, Some(u64::MAX - 1)),
                        case(held(|_| false), ignored(|_| true), &seven, Cmp::Eq, None),
                    ]
                };
                for n in [5usize, 200] {
                    for case in cases(n) {
                        ask!(bench, $ty, case);
                    }
                }
                let empty = Case { held: vec![], status: vec![], values: vec![low], cmp: Cmp::Eq, last: None };
                ask!(bench, $ty, empty);
            })*
        };
    }
    each_type! {
        i32: -7;
    }
    Ok(())
}

fn lists(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let (status, values) = (bench.local::<u32>(4)?, bench.local::<u64>(4)?);
    let indices = bench.local::<u64>(4)?;
    status.write(&[0, 1, 0, 0])?;
    values.write(&[10, 11, 12, 13])?;
    let out = shmem.alloc_zeroed::<u64>(5)?;
    let cases: [([u64; 4], &[u64]); 3] =
        [([10, 11, 12, 13], &[0, 2, 3]), ([9, 99, 12, 0], &[2]), ([50, 0, 0, 13], &[0, 3])];
    for (held, holding) in cases {
        for (i, value) in held.into_iter().enumerate() {
            bench.signals.set(i, value)?;
        }
        let expected = |i: usize| match i {
            0 => holding.len() as u64,
            i => holding.get(i - 1).copied().unwrap_or(NONE),
        };
        let signals = &bench.signals;
        let rule = "status, values and indices may lie in shared, local and a thread's own memory";
        out.fill(NONE)?;
        bench.row(
            rule,
            || format!("shared memory, {held:?}"),
            || lists_in_shared::launch(shmem, LaunchConfig::blocks(1).threads(64), signals, &out),
            || out.read(),
            expected,
        )?;
        out.fill(NONE)?;
        bench.row(
            rule,
            || format!("a thread's arrays, {held:?}"),
            || lists_of_a_thread::launch(shmem, TWO_BLOCKS, signals, &out),
            || out.read(),
            expected,
        )?;
        out.fill(NONE)?;
        bench.row(
            rule,
            || format!("local device memory, {held:?}"),
            || lists_in_global::launch(shmem, TWO_BLOCKS, signals, &status, &values, &indices, &out),
            || out.read(),
            expected,
        )?;
    }
    shmem.free(out)?;
    bench.reset_signals()
}

fn fairness(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let n = 8;
    let words = shmem.alloc_signals(n)?;
    let (status, order) = (shmem.alloc_zeroed::<u32>(n)?, shmem.alloc_zeroed::<u64>(5 * n)?);
    for ready in [0xffu32, 0xb5, 0x81, 0x10] {
        for ignored in [0u32, 0x21] {
            let holding: Vec<u64> = (0..n as u64).filter(|i| ready & !ignored & (1 << i) != 0).collect();
            for i in 0..n {
                words.set(i, u64::from(ready >> i & 1))?;
            }
            status.write(&(0..n).map(|i| ignored >> i & 1).collect::<Vec<_>>())?;
            for (number, name) in bench.scopes() {
                for waits in [0, 1] {
                    bench.row(
                        if waits != 0 {
                            "a wait for any takes the words that stay satisfied in turn"
                        } else {
                            "a test for any takes the words that stay satisfied in turn"
                        },
                        || format!("{name} scope, ready {ready:#b}, ignored {ignored:#b}, waits: {waits}"),
                        || fair::launch(shmem, TWO_BLOCKS, &words, &status, &order, number, waits),
                        || order.read(),
                        |call| holding[call % holding.len()],
                    )?;
                }
            }
        }
    }
    shmem.free(words)?;
    shmem.free(status)?;
    shmem.free(order)
}

fn gathering(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes() as usize);
    let (words, taken) = (shmem.alloc_signals(n)?, shmem.alloc_zeroed::<u32>(n)?);
    let vectors: Vec<_> = (0..3).map(|_| shmem.alloc_zeroed::<u64>(n)).collect::<Result<_>>()?;
    let [indices, slots, seen] = vectors.as_slice() else { return Ok(()) };
    let mut round = 0;
    for (number, name) in bench.scopes() {
        for (form, kind) in [(form::ALL, "all"), (form::ANY, "any"), (form::SOME, "some")] {
            for turn in 0..4 {
                round += 1;
                taken.fill(0)?;
                seen.fill(0)?;
                bench.row(
                    [
                        "what the signals of all words cover is visible to the whole scope",
                        "what the signal of the returned word covers is visible to the whole scope",
                        "what the signals of the returned words cover is visible to the whole scope",
                    ][(form & 3) as usize],
                    || format!("{kind}, {name} scope, turn {turn}"),
                    || {
                        gather::launch(
                            shmem, TWO_BLOCKS, &words, &taken, indices, slots, seen, number, form, round,
                        )
                    },
                    || seen.read(),
                    |i| (i as u64) << 32 | round,
                )?;
            }
        }
    }
    for vector in vectors {
        shmem.free(vector)?;
    }
    shmem.free(words)?;
    shmem.free(taken)
}

/// What waits say that cannot end, at one scope.
pub(super) fn failures(shmem: &Shmem, report: &Report, number: u32, name: &'static str) -> Result<()> {
    let (words, short) = (shmem.alloc_atomics::<i64>(5, Reach::World)?, zeroed::<u32>(shmem, 4)?);
    let (status, indices) = (zeroed::<u32>(shmem, 5)?, zeroed::<u64>(shmem, 5)?);
    let culprit = shmem.n_pes() - 1;
    status.write(&[1, 0, 0, 0, 0])?;
    for (form, operation) in [
        (form::ALL, Operation::WaitUntilAll),
        (form::ANY, Operation::WaitUntilAny),
        (form::SOME, Operation::WaitUntilSome),
    ] {
        // Of `all`, one word only does not compare; of the others, none does.
        let held: [i64; 5] = if form == form::ALL { [0, -9, -9, -4, -9] } else { [-9, -4, -4, -4, -4] };
        for (i, value) in held.into_iter().enumerate() {
            words.set(i, value)?;
        }
        let element = if form == form::ALL { 3 } else { 1 };
        let expected = Expected {
            pe: Some(culprit),
            expected: Some(-9i64 as u64),
            seen: Some(-4i64 as u64),
            element: Some(element),
            ..Expected::new(Cause::Deadline, operation)
        };
        let rule =
            "a wait for several words that cannot end names the first that does not compare, and what it saw";
        fails(shmem, report, rule, name, expected, || {
            if shmem.my_pe() == culprit {
                several_for_ever::launch(shmem, TWO_BLOCKS, &words, &status, &indices, number, form, -9)?;
            }
            Ok(())
        })?;
        let expected = Expected {
            pe: Some(0),
            expected: Some(5),
            seen: Some(4),
            ..Expected::new(Cause::LengthMismatch, operation)
        };
        fails(shmem, report, "a status that is not as long as the words is refused", name, expected, || {
            if shmem.my_pe() == 0 {
                several_for_ever::launch(shmem, TWO_BLOCKS, &words, &short, &indices, number, form, -9)?;
            }
            Ok(())
        })?;
    }
    shmem.free(words)?;
    shmem.free(short)?;
    shmem.free(status)?;
    shmem.free(indices)
}

fn zeroed<T: Pod>(shmem: &Shmem, len: usize) -> Result<oxshmem::SymVec<T>> {
    shmem.alloc_zeroed(len)
}
