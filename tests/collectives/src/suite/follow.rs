//! Schedules that a kernel follows: every kind, over every way to see the PEs as nodes, with few slots and many, on one lane and
//! on several, in place and not, and again in the same memory.

use super::Report;
use super::axes::Extent;
use crate::Sample;
use crate::follow::{self, Plan, Raw, task};
use oxshmem::{LaunchConfig, Result, Shmem, SymVec, Team};
use oxshmem_device::collective::Course;
use oxshmem_device::collective::schedule::{Grid, Pipeline, Schedule, Shape};
use oxshmem_device::{Sym, f16};

/// Elements of memory behind what is used, that nothing may write.
const GUARD: usize = 9;
const EXECUTIONS: u32 = 3;

const KINDS: [(&str, &[u32]); 4] = [
    ("ring", &[task::ALL_REDUCE, task::REDUCE_SCATTER, task::ALL_GATHER]),
    ("tree", &[task::ALL_REDUCE, task::REDUCE, task::BROADCAST]),
    ("hierarchical ring", &[task::ALL_REDUCE]),
    ("hierarchical tree", &[task::ALL_REDUCE]),
];

/// Elements of the first execution.
const COUNTS: [u64; 6] = [0, 1, 3, 17, 1000, 65_537];

const PIPELINES: [Pipeline; 4] = [
    Pipeline { rounds: 1, depth: 1, lag: 0, slots: 1 },
    Pipeline { rounds: 2, depth: 2, lag: 1, slots: 2 },
    Pipeline { rounds: 5, depth: 3, lag: 4, slots: 8 },
    Pipeline { rounds: 3, depth: 4, lag: 2, slots: 3 },
];

/// One call on every PE.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: usize,
    plan: Plan,
    count: u64,
    lanes: u32,
    in_place: bool,
    /// Elements before the first.
    shift: usize,
}

pub(crate) fn all(shmem: &Shmem, report: &Report, extent: Extent) -> Result<()> {
    let n = shmem.n_pes();
    let team = if n > 1 {
        let reversed: Vec<u32> = (0..n).rev().collect();
        shmem.team_from_pes(&shmem.team_world(), &reversed)?
    } else {
        None
    };
    let mut number = 0;
    let each = extent.pick(13, 5, 1);
    for per_node in (1..=n).filter(|per_node| n.is_multiple_of(*per_node)) {
        let Some(grid) = Grid::new(n / per_node, per_node) else { continue };
        for (kind, (_, tasks)) in KINDS.iter().enumerate() {
            for &task in *tasks {
                for pipeline in PIPELINES {
                    for count in COUNTS {
                        number += 1;
                        // The others vary with the number, so that each meets each.
                        if number % each != 0 || (count > 1000 && extent.pick(1, 0, 0) == 1) {
                            continue;
                        }
                        let root = number / 3 % n;
                        let plan = Plan { task, root, grid, pipeline, times: EXECUTIONS };
                        let (lanes, in_place) = ([1, 2, 3][number as usize % 3], number / 2 % 2 == 0);
                        let shift = [0, 1, 4][number as usize / 7 % 3];
                        let case = Case { kind, plan, count, lanes, in_place, shift };
                        let team = team.as_ref().filter(|_| number % 4 == 3);
                        if number % 2 == 0 {
                            run::<u32>(shmem, report, case, team)?;
                        } else {
                            run::<f16>(shmem, report, case, team)?;
                        }
                    }
                }
            }
        }
    }
    if let Some(team) = team {
        shmem.team_destroy(team)?;
    }
    Ok(())
}

fn shape(case: Case) -> Shape {
    match case.kind {
        0 => case.plan.ring(0, 0).shape(),
        1 => case.plan.tree(0, 0).shape(),
        2 => case.plan.hierarchical_ring(0).shape(),
        _ => case.plan.hierarchical_tree(0).shape(),
    }
}

fn run<T: Followed>(shmem: &Shmem, report: &Report, case: Case, team: Option<&Team>) -> Result<()> {
    let Case { plan, count, lanes, in_place, shift, .. } = case;
    let n = u64::from(shmem.n_pes());
    let world = shmem.team_world();
    let team = team.unwrap_or(&world);
    let (me, len) = (team.my_pe(), count.next_multiple_of(n) * u64::from(plan.times));
    let room = shift + len as usize + GUARD;
    let source = shmem.alloc_from_fn(room, |i| given::<T>(me, i))?;
    let target = shmem.alloc_from_fn(room, |i| given::<T>(me + 100, i))?;
    let (shape, unit) = (shape(case), 16 / size_of::<T>() as u64);
    let longest = shape.longest(plan.part(len, 0).1, lanes, unit).next_multiple_of(unit);
    let signals = shmem.alloc_signals(shape.signals(lanes).max(1) as usize)?;
    let buffers = shmem.alloc_zeroed::<T>((shape.buffers(lanes) * longest).max(1) as usize)?;
    let counters = shmem.alloc_zeroed::<u64>(lanes as usize)?;
    let part = |of: &SymVec<T>| of.handle().slice(shift as u64, len);
    let (from, to) = (part(&source), part(if in_place { &source } else { &target }));
    let config = LaunchConfig::blocks(lanes).threads(48);
    let course = Course { signals: signals.handle(), buffers: buffers.handle(), counters: counters.handle() };
    T::launch(shmem, config, case.kind, (team, plan.raw()), (to, from), course)?;
    let into = if in_place { &source } else { &target };
    let found = into.read()?;
    let before: Vec<T> = (0..room).map(|i| given(if in_place { me } else { me + 100 }, i)).collect();
    let wrong = wrong(case, me, len, &found, &before);
    report.judge(|| format!("PE {me} of {n}, {} {case:?}", KINDS[case.kind].0), wrong);
    shmem.free(source)?;
    shmem.free(target)?;
    shmem.free(buffers)?;
    shmem.free(counters)?;
    shmem.free(signals)
}

/// The element at `index` of a PE's memory.
fn given<T: Sample>(pe: u32, index: usize) -> T {
    T::value((pe.wrapping_mul(40_503) ^ (index as u32).wrapping_mul(2_654_435_761)) >> 16)
}

/// The first element that is not as it should be.
fn wrong<T: Sample>(case: Case, me: u32, len: u64, found: &[T], before: &[T]) -> Option<String> {
    let Case { plan, shift, .. } = case;
    let n = plan.grid.n_pes();
    let mut expected: Vec<Option<T>> = before.iter().map(|value| Some(*value)).collect();
    for execution in 0..plan.times {
        let (start, count) = plan.part(len, execution);
        for i in 0..count {
            let at = shift + (start + i) as usize;
            let sum = || (1..n).fold(given::<T>(0, at), |sum, pe| T::combined(0, sum, given(pe, at)));
            let block = (i / (count / u64::from(n))) as u32;
            expected[at] = match plan.task {
                task::ALL_REDUCE => Some(sum()),
                task::REDUCE_SCATTER if block == me => Some(sum()),
                task::REDUCE if plan.root == me => Some(sum()),
                // Partial results, or what was there.
                task::REDUCE_SCATTER | task::REDUCE => None,
                task::ALL_GATHER => Some(given(block, at)),
                _ => Some(given(plan.root, at)),
            };
        }
    }
    let at = (0..found.len()).find(|i| expected[*i].is_some_and(|value| value != found[*i]))?;
    Some(format!("element {at} is {:?}, not {:?}", found[at], expected[at]))
}

/// Types of which there are kernels.
trait Followed: Sample {
    /// Launches the kernel of a kind.
    fn launch(
        shmem: &Shmem,
        config: LaunchConfig,
        kind: usize,
        plan: (&Team, Raw),
        data: (Sym<[Self]>, Sym<[Self]>),
        course: Course<Self>,
    ) -> Result<()>;
}

macro_rules! followed {
    ($($ty:ident)*) => {
        $(impl Followed for $ty {
            fn launch(
                shmem: &Shmem,
                config: LaunchConfig,
                kind: usize,
                (team, raw): (&Team, Raw),
                (target, source): (Sym<[Self]>, Sym<[Self]>),
                course: Course<Self>,
            ) -> Result<()> {
                let Course { signals, buffers, counters } = course;
                macro_rules! launch {
                    ($kernel:ident) => {
                        follow::$kernel::<$ty>::launch(
                            shmem, config, team, raw, target, source, signals, buffers, counters,
                        )
                    };
                }
                match kind {
                    0 => launch!(ring),
                    1 => launch!(tree),
                    2 => launch!(hierarchical_ring),
                    _ => launch!(hierarchical_tree),
                }
            }
        })*
    };
}
followed! { u32 f16 }
