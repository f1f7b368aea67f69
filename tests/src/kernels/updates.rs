//! Updates that are sent in batches.

use oxshmem_device::prelude::*;

/// PEs that the buffers have bins for.
pub const PES: usize = 8;

/// Which PE an update goes to.
pub const TO_ANY: u32 = 0;
/// All to PE 0.
pub const TO_FIRST: u32 = 1;
/// All to the own one.
pub const TO_OWN: u32 = 2;
/// Each thread with an even number to any, the others to none.
pub const TO_SOME: u32 = 3;
/// None at all.
pub const TO_NONE: u32 = 4;

/// The update that thread `thread` of a grid makes on PE `pe` in its call number `call`: word, and PE of `n`.
#[inline(always)]
pub fn target(pe: u32, thread: u64, call: u32, len: u64, n: u32, to: u32) -> Option<(u64, u32)> {
    let mut x = u64::from(pe) << 48 ^ thread << 20 ^ u64::from(call);
    x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    let any = (x >> 40) as u32 % n;
    match to {
        TO_NONE => None,
        TO_SOME if thread & 1 == 1 => None,
        TO_FIRST => Some((x % len, 0)),
        TO_OWN => Some((x % len, pe)),
        _ => Some((x % len, any)),
    }
}

/// The value of that update.
#[inline(always)]
pub fn value(pe: u32, thread: u64, call: u32) -> u64 {
    1 + (u64::from(pe) * 7 + thread * 3 + u64::from(call) * 5) % 11
}

/// How often a block of a PE calls `add`: it differs from block to block and from PE to PE.
#[inline(always)]
pub fn calls_of(pe: u32, block: u32, calls: u32) -> u32 {
    if calls == 0 { 0 } else { calls + (3 * pe + block) % 4 }
}

macro_rules! kernels {
    ($($layout:ident $kernel:ident $ty:ty, $batch:literal, $op:ident;)*) => {
        $(
            shared! {
                /// What a block collects.
                pub struct $layout {
                    buffer: UpdateBuffer<$ty, $batch, PES>,
                }
            }

            /// Each thread of each block makes its updates.
            #[nvshmem_kernel(shared = $layout)]
            pub fn $kernel(
                shmem: Collective,
                table: Sym<[Atomic<$ty>]>,
                inbox: UpdateInbox<$ty>,
                calls: u32,
                to: u32,
            ) {
                let buffer = $layout::of(shmem).buffer;
                let mut updates = shmem.block().updates(buffer, updates::$op, table, inbox);
                let (pe, thread) = (shmem.my_pe(), thread::in_grid());
                let mut call = 0;
                while call < calls_of(pe, thread::block(), calls) {
                    let update = target(pe, thread, call, table.len(), shmem.n_pes(), to);
                    updates.add(update.map(|(index, pe_of)| Update {
                        index,
                        value: value(pe, thread, call) as $ty,
                        pe: pe_of,
                    }));
                    call += 1;
                }
                updates.finish();
            }
        )*
    };
}
kernels! {
    OneU32 add_u32_in_1 u32, 1, Add;
    FourU32 add_u32_in_4 u32, 4, Add;
    ManyU32 add_u32_in_64 u32, 64, Add;
    OneU64 xor_u64_in_1 u64, 1, Xor;
    ManyU64 add_u64_in_64 u64, 64, Add;
    FourU64 or_u64_in_4 u64, 4, Or;
    FourI32 add_i32_in_5 i32, 5, Add;
    FourI64 xor_i64_in_4 i64, 4, Xor;
    SomeU32 and_u32_in_33 u32, 33, And;
    SomeF64 add_f64_in_16 f64, 16, Add;
    SomeF32 add_f32_in_16 f32, 16, Add;
}

/// Twice in one kernel with one inbox: the second time after a grid barrier, by which each PE's own table is complete.
/// Thread `i` of the grid updates word `i` and those after it, counted through the tables of all PEs.
#[nvshmem_kernel(shared = FourU32)]
pub fn updates_twice(shmem: Collective, table: Sym<[Atomic<u32>]>, inbox: UpdateInbox<u32>, calls: u32) {
    let mut again = 0;
    while again < 2 {
        let mut updates = shmem.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
        let mut call = 0;
        while call < calls {
            let place = thread::in_grid() + u64::from(call);
            let pe = (place / table.len()) as u32 % shmem.n_pes();
            updates.add(Some(Update { index: place % table.len(), value: 1 + again, pe }));
            call += 1;
        }
        updates.finish();
        shmem.grid().sync();
        again += 1;
    }
}

/// Two tables by turns, `rounds` times with one inbox, and nothing between: who is done goes on while others are not. In
/// round `r` a block of a PE calls `add` as [`calls_of`] says of `r`.
#[nvshmem_kernel(shared = FourU32)]
pub fn updates_by_turns(
    shmem: Collective,
    even: Sym<[Atomic<u32>]>,
    odd: Sym<[Atomic<u32>]>,
    inbox: UpdateInbox<u32>,
    rounds: u32,
) {
    let (pe, thread) = (shmem.my_pe(), thread::in_grid());
    let mut round = 0;
    while round < rounds {
        let table = if round & 1 == 0 { even } else { odd };
        let mut updates = shmem.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
        let mut call = 0;
        while call < calls_of(pe, thread::block(), round) {
            let update = target(pe, thread, call, table.len(), shmem.n_pes(), TO_ANY);
            updates.add(update.map(|(index, pe)| Update { index, value: 1, pe }));
            call += 1;
        }
        updates.finish();
        round += 1;
    }
}

/// By the PEs of a team, whose numbers `pe` is of.
#[nvshmem_kernel(shared = FourU32)]
pub fn updates_on_team(
    shmem: Collective,
    team: Team,
    table: Sym<[Atomic<u32>]>,
    inbox: UpdateInbox<u32>,
    calls: u32,
) {
    let Some(team) = shmem.try_team(team) else { return };
    let mut updates = team.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
    let mut call = 0;
    while call < calls {
        let pe = (thread::in_block() + call) % team.n_pes();
        updates.add(Some(Update { index: u64::from(team.my_pe()), value: 1, pe }));
        call += 1;
    }
    updates.finish();
}

/// One thread of PE `culprit` makes an update of word `index` on `pe`; all others some that are right.
#[nvshmem_kernel(shared = FourU32)]
pub fn wrong_update(
    shmem: Collective,
    table: Sym<[Atomic<u32>]>,
    inbox: UpdateInbox<u32>,
    culprit: u32,
    index: u64,
    pe: u32,
) {
    let mut updates = shmem.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
    let mut call = 0;
    while call < 3 {
        let wrong = shmem.my_pe() == culprit && thread::in_grid() == 40 && call == 1;
        let next = Update { index: 1, value: 1, pe: shmem.next_pe() };
        updates.add(Some(if wrong { Update { index, value: 0, pe } } else { next }));
        call += 1;
    }
    updates.finish();
}

/// PE `culprit` does not take part: its peers wait for it.
#[nvshmem_kernel(shared = FourU32)]
pub fn missing_block(
    shmem: Collective,
    table: Sym<[Atomic<u32>]>,
    inbox: UpdateInbox<u32>,
    culprit: u32,
    calls: u32,
) {
    if shmem.my_pe() == culprit {
        return;
    }
    let mut updates = shmem.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
    let mut call = 0;
    while call < calls {
        updates.add(Some(Update { index: 0, value: 1, pe: culprit }));
        call += 1;
    }
    updates.finish();
}

/// No block finishes.
#[nvshmem_kernel(shared = FourU32)]
pub fn never_finished(shmem: Collective, table: Sym<[Atomic<u32>]>, inbox: UpdateInbox<u32>) {
    let updates = shmem.block().updates(FourU32::of(shmem).buffer, updates::Add, table, inbox);
    let _ = updates;
}

shared! {
    /// A bin for one PE only.
    pub struct OneBin {
        buffer: UpdateBuffer<u32, 4, 1>,
    }
}

/// With a buffer that has one bin.
#[nvshmem_kernel(shared = OneBin)]
pub fn one_bin(shmem: Collective, table: Sym<[Atomic<u32>]>, inbox: UpdateInbox<u32>) {
    shmem.block().updates(OneBin::of(shmem).buffer, updates::Add, table, inbox).finish();
}
