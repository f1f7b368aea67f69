//! One row, on every PE.

use super::Report;
use super::axes::{Extent, Row};
use super::expected::Call;
use crate::Sample;
use crate::kernels::{self, form, forms, operators, scope};
use oxshmem::{LaunchConfig, Result, Shmem, Stream, SymVec, Team};
use oxshmem_device::{bf16, f16};

/// Elements behind source and target that nothing may write.
const GUARD: u64 = 5;

/// The teams that the rows use, each as one PE sees it.
pub(crate) struct Bench<'a> {
    shmem: &'a Shmem,
    report: &'a Report,
    /// For each of the axis' values one team or two: its PEs, and the team where this PE belongs to it.
    teams: Vec<Vec<(Vec<u32>, Option<Team>)>>,
    streams: [Stream; 2],
    rows: u32,
}

/// What a row has in memory for one team.
struct Memory<T: Sample> {
    source: SymVec<T>,
    target: SymVec<T>,
    numbers: SymVec<u64>,
    /// What was in them.
    before: (Vec<T>, Vec<T>),
}

impl<'a> Bench<'a> {
    pub(crate) fn new(shmem: &'a Shmem, report: &'a Report) -> Result<Self> {
        let n = shmem.n_pes();
        let first: Vec<u32> = (0..(2 * n).div_ceil(3)).collect();
        let second: Vec<u32> = (n / 3..n).collect();
        let of = |lists: Vec<Vec<u32>>| -> Result<Vec<(Vec<u32>, Option<Team>)>> {
            let team = |pes: Vec<u32>| Ok((pes.clone(), shmem.team_from_pes(&shmem.team_world(), &pes)?));
            lists.into_iter().map(team).collect()
        };
        let teams = vec![
            vec![((0..n).collect(), Some(shmem.team_world()))],
            of(vec![(0..n).step_by(2).collect()])?,
            of(vec![(0..n).rev().collect()])?,
            of(vec![first, second])?,
        ];
        let streams = [shmem.stream()?, shmem.stream()?];
        Ok(Self { shmem, report, teams, streams, rows: 0 })
    }

    /// Runs and checks a row.
    pub(crate) fn run(&mut self, row: &Row) -> Result<()> {
        self.rows += 1;
        match row.ty() {
            0 => self.typed::<u8>(row),
            1 => self.typed::<i8>(row),
            2 => self.typed::<u16>(row),
            3 => self.typed::<i16>(row),
            4 => self.typed::<u32>(row),
            5 => self.typed::<i32>(row),
            6 => self.typed::<u64>(row),
            7 => self.typed::<i64>(row),
            8 => self.typed::<f16>(row),
            9 => self.typed::<bf16>(row),
            10 => self.typed::<f32>(row),
            _ => self.typed::<f64>(row),
        }
    }

    fn typed<T: Launched>(&self, row: &Row) -> Result<()> {
        let shmem = self.shmem;
        let teams = &self.teams[row.teams() as usize];
        let calls: Vec<Call<'_>> = (0..)
            .zip(teams)
            .map(|(number, (members, _))| Call { row, members, salt: self.rows + 77 * number })
            .collect();
        let memory: Vec<Memory<T>> = calls.iter().map(|call| self.memory(call)).collect::<Result<_>>()?;
        for (((call, (_, team)), memory), stream) in calls.iter().zip(teams).zip(&memory).zip(&self.streams) {
            let Some(team) = team else { continue };
            let (source, target) = ranges(call, team.my_pe().into());
            let of = |(start, len): (u64, u64), of: &SymVec<T>| of.handle().slice(start, len);
            let in_one = if row.form() == form::REDUCE_SCATTER { &memory.source } else { &memory.target };
            let (from, to) = if row.in_place() { (in_one, in_one) } else { (&memory.source, &memory.target) };
            T::launch(
                shmem,
                stream,
                row,
                Arguments {
                    team: team.handle(),
                    channel: self.rows % 4,
                    root: call.root(),
                    source: of(source, from),
                    target: of(target, to),
                    numbers: memory.numbers.handle().slice(0, 4 * call.n()),
                },
                self.rows,
            )?;
        }
        self.streams.iter().try_for_each(Stream::synchronize)?;
        for ((call, (_, team)), memory) in calls.iter().zip(teams).zip(&memory) {
            let wrong = wrong(call, team.as_ref().map(Team::my_pe), memory)?;
            self.report.judge(|| format!("PE {} of {}, {row}", shmem.my_pe(), shmem.n_pes()), wrong);
        }
        for Memory { source, target, numbers, .. } in memory {
            shmem.free(source)?;
            shmem.free(target)?;
            shmem.free(numbers)?;
        }
        Ok(())
    }

    /// Symmetric memory for a call: the same room on every PE.
    fn memory<T: Sample>(&self, call: &Call<'_>) -> Result<Memory<T>> {
        let shmem = self.shmem;
        let me = call.members.iter().position(|pe| *pe == shmem.my_pe()).map(|me| me as u64);
        let (shift, _) = call.row.place();
        let room = |of: fn((u64, u64)) -> u64| {
            let most = (0..call.n()).map(|pe| of(call.lengths(pe))).max();
            (shift.max(call.row.place().1) + most.unwrap_or(0) + GUARD) as usize
        };
        let fill =
            |len: usize, salt: u32| (0..len).map(|i| T::value(salt + 13 * i as u32)).collect::<Vec<T>>();
        let mut source = fill(room(|(source, _)| source), 3);
        let mut target = fill(room(|(_, target)| target), 9);
        if let Some(me) = me {
            let ((start, len), _) = ranges(call, me);
            let to = if call.row.in_place() && call.row.form() != form::REDUCE_SCATTER {
                &mut target
            } else {
                &mut source
            };
            for (index, element) in to[start as usize..(start + len) as usize].iter_mut().enumerate() {
                *element = call.source(me, index as u64);
            }
        }
        let numbers = me.map_or(Vec::new(), |me| call.numbers(me));
        let all = shmem.alloc_from_fn(4 * call.n() as usize, |i| numbers.get(i).copied().unwrap_or(0))?;
        Ok(Memory {
            source: shmem.alloc_from_slice(&source)?,
            target: shmem.alloc_from_slice(&target)?,
            numbers: all,
            before: (source, target),
        })
    }

    /// The operators that are types.
    pub(crate) fn operators(&mut self, extent: Extent) -> Result<()> {
        for count in [1, 17, u64::from(extent.pick(40, 3000, 3000))] {
            self.operators_of::<u8>(count)?;
            self.operators_of::<i64>(count)?;
        }
        Ok(())
    }

    fn operators_of<T: Launched + Typed>(&mut self, count: u64) -> Result<()> {
        let shmem = self.shmem;
        self.rows += 1;
        let members: Vec<u32> = (0..shmem.n_pes()).collect();
        let mut axes = [0; super::axes::AXES.len()];
        (axes[0], axes[1], axes[2]) = (form::REDUCE, scope::BLOCK, T::INDEX);
        let source = shmem.alloc_from_fn(count as usize, |i| {
            Call { row: &Row(axes), members: &members, salt: self.rows }
                .source::<T>(shmem.my_pe().into(), i as u64)
        })?;
        let target = shmem.alloc_zeroed::<T>(7 * count as usize)?;
        T::operators(shmem, &target, &source)?;
        let found = target.read()?;
        for (op, found) in (0..).zip(found.chunks(count as usize)) {
            axes[3] = op;
            let call = Call { row: &Row(axes), members: &members, salt: self.rows };
            let of = |index| (0..members.len() as u64).map(move |pe| call.source::<T>(pe, index));
            let wrong = (0..count).zip(found).find_map(|(index, found)| {
                let expected = of(index).reduce(|a, b| T::combined(op, a, b));
                (expected != Some(*found)).then(|| format!("element {index} is {found:?}, not {expected:?}"))
            });
            self.report.judge(|| format!("operator {op} of {count} {}", std::any::type_name::<T>()), wrong);
        }
        shmem.free(source)?;
        shmem.free(target)
    }

    /// Destroys the teams.
    pub(crate) fn end(self) -> Result<()> {
        let made = self.teams.into_iter().skip(1).flatten();
        made.filter_map(|(_, team)| team).try_for_each(|team| self.shmem.team_destroy(team))
    }
}

/// Where source and target of the team's PE `me` lie in their memory: start and length.
fn ranges(call: &Call<'_>, me: u64) -> ((u64, u64), (u64, u64)) {
    let (source, target) = call.lengths(me);
    let (of_target, of_source) = call.row.place();
    let own = call.own_part(me);
    match call.row.form() {
        _ if !call.row.in_place() => ((of_source, source), (of_target, target)),
        form::REDUCE_SCATTER => ((of_source, source), (of_source + own, target)),
        _ => ((of_target + own, source), (of_target, target)),
    }
}

/// What is wrong afterwards.
fn wrong<T: Sample>(call: &Call<'_>, me: Option<u32>, memory: &Memory<T>) -> Result<Option<String>> {
    let (mut source, mut target) = memory.before.clone();
    let mut numbers = Vec::new();
    if let Some(me) = me {
        let me = u64::from(me);
        let (_, (start, len)) = ranges(call, me);
        let in_source = call.row.in_place() && call.row.form() == form::REDUCE_SCATTER;
        let to = if in_source { &mut source } else { &mut target };
        let part = &mut to[start as usize..(start + len) as usize];
        let after = call.target::<T>(me, part);
        part.copy_from_slice(&after);
        numbers = call.numbers(me);
        if call.row.form() == form::ALLTOALLV {
            let n = call.n() as usize;
            (0..n).for_each(|pe| numbers[3 * n + pe] = call.given(pe as u64, me));
        }
    }
    let differs = |name: &str, found: &[T], expected: &[T]| {
        let at = found.iter().zip(expected).position(|(found, expected)| found != expected)?;
        Some(format!("{name}[{at}] is {:?}, not {:?}", found[at], expected[at]))
    };
    if let Some(wrong) = differs("target", &memory.target.read()?, &target) {
        return Ok(Some(wrong));
    }
    if let Some(wrong) = differs("source", &memory.source.read()?, &source) {
        return Ok(Some(wrong));
    }
    let found = memory.numbers.read()?;
    let same = found.iter().zip(&numbers).all(|(found, expected)| found == expected);
    Ok((!same).then(|| format!("numbers are {found:?}, not {numbers:?}")))
}

/// What a launch takes.
pub(crate) struct Arguments<T: Sample> {
    team: oxshmem_device::Team,
    channel: u32,
    root: u32,
    source: oxshmem_device::Sym<[T]>,
    target: oxshmem_device::Sym<[T]>,
    numbers: oxshmem_device::Sym<[u64]>,
}

/// A type with its kernel.
pub(crate) trait Launched: Sample {
    /// Launches the row's operation.
    fn launch(shmem: &Shmem, stream: &Stream, row: &Row, of: Arguments<Self>, number: u32) -> Result<()>;
}

/// A type with the kernel of the operators that are types.
pub(crate) trait Typed: Sample {
    /// Launches it.
    fn operators(shmem: &Shmem, target: &SymVec<Self>, source: &SymVec<Self>) -> Result<()>;
}

/// Blocks and threads of a row.
fn config(row: &Row, number: u32) -> LaunchConfig {
    let blocks = if row.scope() == scope::GRID { 2 + number % 2 } else { 1 };
    LaunchConfig::blocks(blocks).threads([96, 64, 160][number as usize % 3])
}

/// Launches the kernel `$kernel` for elements of type `$ty`.
macro_rules! launch {
    ($kernel:ident $ty:ident $shmem:ident $stream:ident $row:ident $of:ident $number:ident) => {{
        let Arguments { team, channel, root, source, target, numbers } = $of;
        kernels::$kernel::<$ty>::launch_on(
            $shmem,
            $stream,
            config($row, $number),
            team,
            channel,
            $row.op(),
            root,
            target,
            source,
            numbers,
        )
    }};
}

/// A type that calls each form by one scope.
macro_rules! some {
    ([$ty:ident] $($form:ident $some:ident: $($by:ident)*;)*) => {
        impl Launched for $ty {
            fn launch(shmem: &Shmem, stream: &Stream, row: &Row, of: Arguments<Self>, number: u32) -> Result<()> {
                match row.form() {
                    $(form::$form => launch!($some $ty shmem stream row of number),)*
                    other => unreachable!("there is no form {other}"),
                }
            }
        }
    };
}

/// A type that calls each form by every scope.
macro_rules! everywhere {
    (
        [$ty:ident]
        $($form:ident $some:ident: $thread:ident $warp:ident $warps:ident $block:ident $grid:ident;)*
    ) => {
        impl Launched for $ty {
            fn launch(shmem: &Shmem, stream: &Stream, row: &Row, of: Arguments<Self>, number: u32) -> Result<()> {
                match (row.form(), row.scope()) {
                    $(
                        (form::$form, scope::THREAD) => launch!($thread $ty shmem stream row of number),
                        (form::$form, scope::WARP) => launch!($warp $ty shmem stream row of number),
                        (form::$form, scope::WARPS) => launch!($warps $ty shmem stream row of number),
                        (form::$form, scope::BLOCK) => launch!($block $ty shmem stream row of number),
                        (form::$form, scope::GRID) => launch!($grid $ty shmem stream row of number),
                    )*
                    other => unreachable!("there is no form and scope {other:?}"),
                }
            }
        }
    };
}

macro_rules! launched {
    ($which:ident $($ty:ident)*) => {
        $(forms!($which $ty);)*
    };
}
launched! { some u8 i8 u16 i16 i32 u64 i64 f16 bf16 f64 }
launched! { everywhere u32 f32 }

macro_rules! typed {
    ($($ty:ident)*) => {
        $(impl Typed for $ty {
            fn operators(shmem: &Shmem, target: &SymVec<Self>, source: &SymVec<Self>) -> Result<()> {
                operators::<$ty>::launch(shmem, LaunchConfig::blocks(1).threads(64), target, source)
            }
        })*
    };
}
typed! { u8 i64 }
