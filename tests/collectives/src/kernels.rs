//! One call of a collective operation, by any scope.

use crate::sample::Sample;
use oxshmem_device::collective::Parts;
use oxshmem_device::prelude::*;
use oxshmem_device::{MayWait, Scope, Scoped};

/// How many forms there are: [`form`].
pub const FORMS: u32 = 10;
/// How many scopes there are: [`scope`].
pub const SCOPES: u32 = 5;

/// Collective operations, as numbers.
pub mod form {
    /// `broadcast`.
    pub const BROADCAST: u32 = 0;
    /// `fcollect`.
    pub const FCOLLECT: u32 = 1;
    /// `collect`.
    pub const COLLECT: u32 = 2;
    /// `alltoall`.
    pub const ALLTOALL: u32 = 3;
    /// `alltoallv`.
    pub const ALLTOALLV: u32 = 4;
    /// `reduce`.
    pub const REDUCE: u32 = 5;
    /// `reduce_scatter`.
    pub const REDUCE_SCATTER: u32 = 6;
    /// `reduce_to`.
    pub const REDUCE_TO: u32 = 7;
    /// `scan`.
    pub const SCAN: u32 = 8;
    /// `exscan`.
    pub const EXSCAN: u32 = 9;
}

/// Scopes, as numbers.
pub mod scope {
    /// The first thread.
    pub const THREAD: u32 = 0;
    /// The first warp.
    pub const WARP: u32 = 1;
    /// The first two warps.
    pub const WARPS: u32 = 2;
    /// The first block.
    pub const BLOCK: u32 = 3;
    /// The grid.
    pub const GRID: u32 = 4;
}

/// What is called.
#[derive(Clone, Copy)]
struct Call<T: Sample> {
    op: u32,
    root: u32,
    target: Sym<[T]>,
    source: Sym<[T]>,
    numbers: Sym<[u64]>,
}

/// Hands the table of forms to the macro `$then`, with what stands behind its name: of each form its number, the kernel of the
/// types that call it by one scope each, and those of the types that call it by every scope, in the scopes' order.
macro_rules! forms {
    ($then:ident $($with:tt)*) => {
        $then! {
            [$($with)*]
            BROADCAST broadcast: broadcast_0 broadcast_1 broadcast_2 broadcast_3 broadcast_4;
            FCOLLECT fcollect: fcollect_0 fcollect_1 fcollect_2 fcollect_3 fcollect_4;
            COLLECT collect: collect_0 collect_1 collect_2 collect_3 collect_4;
            ALLTOALL alltoall: alltoall_0 alltoall_1 alltoall_2 alltoall_3 alltoall_4;
            ALLTOALLV alltoallv: alltoallv_0 alltoallv_1 alltoallv_2 alltoallv_3 alltoallv_4;
            REDUCE reduce: reduce_0 reduce_1 reduce_2 reduce_3 reduce_4;
            REDUCE_SCATTER reduce_scatter:
                reduce_scatter_0 reduce_scatter_1 reduce_scatter_2 reduce_scatter_3 reduce_scatter_4;
            REDUCE_TO reduce_to: reduce_to_0 reduce_to_1 reduce_to_2 reduce_to_3 reduce_to_4;
            SCAN scan: scan_0 scan_1 scan_2 scan_3 scan_4;
            EXSCAN exscan: exscan_0 exscan_1 exscan_2 exscan_3 exscan_4;
        }
    };
}
pub(crate) use forms;

/// The scope by which types that have one for each form call it, of the type with this index: each type and each form meets
/// every scope.
pub const fn scope_of(form: u32, index: u32) -> u32 {
    (form + index) % SCOPES
}

/// A kernel of one form, whose body is `$of` with the constants `$constant`.
macro_rules! kernel {
    ($name:ident($($ty:ident)*) $of:ident [$($constant:expr),*]) => {
        /// One call of the form, by the scope of its number or by the one that [`scope_of`] says.
        #[nvshmem_kernel(instances($($ty),*))]
        #[expect(clippy::too_many_arguments, reason = "what any form takes")]
        pub fn $name<T: Sample>(
            shmem: Collective,
            team: Team,
            channel: u32,
            op: u32,
            root: u32,
            target: Sym<[T]>,
            source: Sym<[T]>,
            numbers: Sym<[u64]>,
        ) {
            $of::<T $(, { $constant })*>(shmem, team, channel, Call { op, root, target, source, numbers });
        }
    };
}

/// Each a small kernel of its own: assemblers take more than twice as long for one that is twice as large.
macro_rules! kernels {
    ([] $($form:ident $some:ident: $thread:ident $warp:ident $warps:ident $block:ident $grid:ident;)*) => {
        $(
            kernel! { $some(u8 i8 u16 i16 i32 u64 i64 f16 bf16 f64) at[form::$form] }
            kernel! { $thread(u32 f32) one[scope::THREAD, form::$form] }
            kernel! { $warp(u32 f32) one[scope::WARP, form::$form] }
            kernel! { $warps(u32 f32) one[scope::WARPS, form::$form] }
            kernel! { $block(u32 f32) one[scope::BLOCK, form::$form] }
            kernel! { $grid(u32 f32) one[scope::GRID, form::$form] }
        )*
    };
}
forms!(kernels);

#[inline(always)]
fn at<T: Sample, const FORM: u32>(shmem: Collective, team: Team, channel: u32, call: Call<T>) {
    // Of one type and form all but one of these are never compiled.
    match const { scope_of(FORM, T::INDEX) } {
        0 => one::<T, 0, FORM>(shmem, team, channel, call),
        1 => one::<T, 1, FORM>(shmem, team, channel, call),
        2 => one::<T, 2, FORM>(shmem, team, channel, call),
        3 => one::<T, 3, FORM>(shmem, team, channel, call),
        _ => one::<T, 4, FORM>(shmem, team, channel, call),
    }
}

#[inline(always)]
fn one<T: Sample, const SCOPE: u32, const FORM: u32>(
    shmem: Collective,
    team: Team,
    channel: u32,
    call: Call<T>,
) {
    let on_team = shmem.team(team).channel(channel);
    match SCOPE {
        scope::THREAD => {
            if thread::in_block() == 0 {
                operation::<_, _, T, FORM>(on_team.thread(), call);
            }
        }
        scope::WARP => {
            if thread::in_block() < 32 {
                operation::<_, _, T, FORM>(on_team.warp(), call);
            }
        }
        scope::WARPS => {
            let warps = on_team.warps(2);
            if thread::in_block() < 64 {
                operation::<_, _, T, FORM>(warps, call);
            }
        }
        scope::BLOCK => {
            if thread::block() == 0 {
                operation::<_, _, T, FORM>(on_team.block(), call);
            }
        }
        _ => operation::<_, _, T, FORM>(on_team.grid(), call),
    }
}

#[inline(always)]
fn operation<S: Scope, C: MayWait, T: Sample, const FORM: u32>(scope: Scoped<S, C>, call: Call<T>) {
    let Call { target, source, root, numbers, .. } = call;
    match FORM {
        form::BROADCAST => scope.broadcast(target, source, root),
        form::FCOLLECT => scope.fcollect(target, source),
        form::COLLECT => scope.collect(target, source),
        form::ALLTOALL => scope.alltoall(target, source),
        form::ALLTOALLV => {
            let n = numbers.len() / 4;
            scope.alltoallv(
                target,
                source,
                Parts {
                    target_offsets: numbers.slice(0, n),
                    source_offsets: numbers.slice(n, n),
                    counts: numbers.slice(2 * n, n),
                    received: numbers.slice(3 * n, n),
                },
            );
        }
        form::REDUCE => scope.reduce(T::op(call.op), target, source),
        form::REDUCE_SCATTER => scope.reduce_scatter(T::op(call.op), target, source),
        form::REDUCE_TO => scope.reduce_to(T::op(call.op), target, source, root),
        form::SCAN => scope.scan(T::op(call.op), target, source),
        _ => scope.exscan(T::op(call.op), target, source),
    }
}

/// `reduce` by the operators that are types, and as many of them as `op` says one behind the other.
#[nvshmem_kernel(instances(u8, i64))]
pub fn operators<T>(shmem: Collective, target: Sym<[T]>, source: Sym<[T]>)
where
    T: Sample,
    Sum: oxshmem_device::Reduction<T>,
    Prod: oxshmem_device::Reduction<T>,
    Min: oxshmem_device::Reduction<T>,
    Max: oxshmem_device::Reduction<T>,
    And: oxshmem_device::Reduction<T>,
    Or: oxshmem_device::Reduction<T>,
    Xor: oxshmem_device::Reduction<T>,
{
    let (block, n) = (shmem.block(), source.len());
    let of = |op: u64| target.slice(op * n, n);
    block.reduce(Sum, of(0), source);
    block.reduce(Prod, of(1), source);
    block.reduce(Min, of(2), source);
    block.reduce(Max, of(3), source);
    block.reduce(And, of(4), source);
    block.reduce(Or, of(5), source);
    block.reduce(Xor, of(6), source);
}

/// Operations one behind the other by one block, without anything between them; `wrong` gets how many elements were wrong, and
/// the first operation in which one was.
#[nvshmem_kernel]
pub fn storm(
    shmem: Collective,
    first: u32,
    count: u32,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    wrong: Sym<[u64]>,
) {
    let n = shmem.n_pes();
    storm_by(shmem, (shmem.my_pe(), n), shmem.block(), (first, count), (target, source, wrong));
}

/// As [`storm`](fn@storm), of a team.
#[nvshmem_kernel]
pub fn storm_of_team(
    shmem: Collective,
    team: Team,
    first: u32,
    count: u32,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    wrong: Sym<[u64]>,
) {
    let on_team = shmem.team(team);
    let who = (on_team.my_pe(), on_team.n_pes());
    storm_by(shmem, who, on_team.block(), (first, count), (target, source, wrong));
}

/// Target, source and what was wrong.
type Memory = (Sym<[u32]>, Sym<[u32]>, Sym<[u64]>);

/// Element `index` that the team's PE `pe` gives in operation `number`.
#[inline(always)]
fn given(number: u32, pe: u32, index: u64) -> u32 {
    (number.wrapping_mul(2_654_435_761) ^ pe.wrapping_mul(40_503)).wrapping_add(index as u32)
}

#[inline(always)]
fn storm_by<C: MayWait>(
    shmem: Collective,
    (me, n): (u32, u32),
    block: Scoped<oxshmem_device::Block, C>,
    (first, count): (u32, u32),
    (target, source, wrong): Memory,
) {
    let (rank, step) = (block.rank(), block.size());
    let (here, there) = (shmem.local(source), shmem.local(target));
    let mut number = first;
    while number < first + count {
        // Mostly small, now and then larger than packets are.
        let len = if number % 64 == 63 { 1150 } else { u64::from(number.wrapping_mul(7919) % 130) };
        let form = number % 4;
        let gives = if form == 2 { len * u64::from(n) } else { len };
        let mut i = rank;
        while i < gives {
            here.set(i, given(number, me, i));
            i += step;
        }
        let root = number % n;
        match form {
            0 => block.broadcast(target.slice(0, len), source.slice(0, len), root),
            1 => block.fcollect(target.slice(0, len * u64::from(n)), source.slice(0, len)),
            2 => block.alltoall(target.slice(0, len * u64::from(n)), source.slice(0, len * u64::from(n))),
            _ => block.reduce(Sum, target.slice(0, len), source.slice(0, len)),
        }
        let gets = if form == 1 || form == 2 { len * u64::from(n) } else { len };
        let mut bad = 0u64;
        let mut i = rank;
        while i < gets {
            let from = (i / len.max(1)) as u32;
            let expected = match form {
                0 => given(number, root, i),
                1 => given(number, from, i % len),
                2 => given(number, from, u64::from(me) * len + i % len),
                _ => {
                    let (mut sum, mut pe) = (0u32, 0);
                    while pe < n {
                        sum = sum.wrapping_add(given(number, pe, i));
                        pe += 1;
                    }
                    sum
                }
            };
            bad += u64::from(there.get(i) != expected);
            i += step;
        }
        // Nobody writes the source or the target again before all have looked.
        let some = block.any(bad > 0);
        if some && rank == 0 {
            let local = shmem.local(wrong);
            if local.get(0) == 0 {
                local.set(1, u64::from(number));
            }
            local.set(0, local.get(0) + 1);
        }
        number += 1;
    }
}

/// One reduction by each block, each on the channel of its number from `channel` on, and of its part of the elements.
#[nvshmem_kernel]
pub fn at_once(shmem: Collective, channel: u32, target: Sym<[u32]>, source: Sym<[u32]>) {
    let number = thread::block();
    let part = target.len() / u64::from(thread::blocks());
    let of = |memory: Sym<[u32]>| memory.slice(u64::from(number) * part, part);
    shmem.team(Team::WORLD).channel(channel + number).block().reduce(Sum, of(target), of(source));
}
