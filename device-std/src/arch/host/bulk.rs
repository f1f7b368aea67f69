//! The bulk copy engine: see `arch/ptx/bulk.rs`. It is as late as it may be: a store reads its source when the thread
//! waits for that, and writes when the thread waits for completion; a load arrives when its barrier is looked at. So a
//! wait that is missing shows.

use super::hooks::current;
use crate::arch::{Add, Semantic, V16, Word};
use crate::{bf16, f16};
use std::collections::VecDeque;

/// Whether the device has the engine.
pub(crate) const AVAILABLE: bool = true;

/// What a thread has in flight.
#[derive(Debug, Default)]
pub struct BulkQueue {
    /// Stores that are not committed.
    open: Vec<Store>,
    groups: VecDeque<Vec<Store>>,
    loads: Vec<Load>,
}

/// Adds 16 bytes of elements to those at an address.
type Reduce = unsafe fn(u64, V16);

#[derive(Debug)]
struct Store {
    global: u64,
    shared: u64,
    bytes: u32,
    add: Option<Reduce>,
    /// The source, once it is read.
    data: Option<Vec<V16>>,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    shared: u64,
    global: u64,
    bytes: u32,
    barrier: u64,
}

impl Store {
    fn read(&mut self) {
        let Self { shared, bytes, data, .. } = self;
        data.get_or_insert_with(|| {
            let word = |at| {
                // SAFETY: whoever started the copy vouches for its source.
                unsafe { V16::load_shared(*shared + u64::from(at)) }
            };
            (0..*bytes).step_by(16).map(word).collect()
        });
    }

    fn write(mut self) {
        self.read();
        let words = self.data.into_iter().flatten();
        for (word, at) in words.zip((self.global..).step_by(16)) {
            // SAFETY: whoever started the copy vouches for its target.
            unsafe {
                match self.add {
                    Some(add) => add(at, word),
                    None => V16::store_global(at, word),
                }
            }
        }
    }
}

impl Load {
    fn carry_out(self) {
        let Self { shared, global, bytes, barrier: _ } = self;
        for at in (0..u64::from(bytes)).step_by(16) {
            // SAFETY: whoever started the copy vouches for both ranges.
            unsafe { V16::store_shared(shared + at, V16::load_global(global + at)) };
        }
    }
}

fn queue<R>(act: impl FnOnce(&mut BulkQueue) -> R) -> R {
    let mut act = Some(act);
    let mut result = None;
    current().bulk(&mut |queue| result = act.take().map(|act| act(queue)));
    result.expect("the hook calls what it is given")
}

fn start(global: u64, shared: u64, bytes: u32, add: Option<Reduce>) {
    let store = Store { global, shared, bytes, add, data: None };
    if current().checked().is_some() {
        // The checker delays it, as a part of the operation that it belongs to.
        return store.write();
    }
    queue(|queue| queue.open.push(store));
}

/// Starts a copy from shared to global memory.
///
/// # Safety
/// Both ranges are valid, and nothing writes the source before [`wait_reads`].
pub(crate) unsafe fn store(global: u64, shared: u64, bytes: u32) {
    start(global, shared, bytes, None);
}

/// Starts a copy from global to shared memory that completes on the barrier at `barrier`.
///
/// # Safety
/// Both ranges are valid, the barrier expects the bytes, and nothing touches the target before its phase is over.
pub(crate) unsafe fn load(shared: u64, global: u64, bytes: u32, barrier: u64) {
    let load = Load { shared, global, bytes, barrier };
    if current().checked().is_some() {
        load.carry_out();
    }
    queue(|queue| queue.loads.push(load));
}

macro_rules! reduce {
    ($($name:ident $ty:ty, $parts:literal;)*) => {
        $(
            #[doc = concat!("Starts an element-wise addition of `", stringify!($ty), "`s of shared memory into global memory.")]
            ///
            /// # Safety
            /// As [`store`].
            pub(crate) unsafe fn $name(global: u64, shared: u64, bytes: u32) {
                unsafe fn add(address: u64, word: V16) {
                    let values: [$ty; $parts] = bytemuck::cast([word.0, word.1]);
                    for (value, at) in values.into_iter().zip((address..).step_by(size_of::<$ty>())) {
                        // SAFETY: whoever started the copy vouches for its target.
                        unsafe { <$ty as Add>::add(Semantic::Relaxed, at, value) };
                    }
                }
                start(global, shared, bytes, Some(add));
            }
        )*
    };
}
reduce! {
    add_u32 u32, 4;
    add_u64 u64, 2;
    add_f32 f32, 4;
    add_f16 f16, 8;
    add_bf16 bf16, 8;
}

/// Closes this thread's group of the stores and reductions that it has started.
pub(crate) fn commit() {
    queue(|queue| {
        let group = std::mem::take(&mut queue.open);
        queue.groups.push_back(group);
    });
}

/// Waits until everything that this thread has committed is complete: written, and visible to it.
pub(crate) fn wait_stores() {
    let groups = queue(|queue| std::mem::take(&mut queue.groups));
    groups.into_iter().flatten().for_each(Store::write);
}

/// Waits until everything that this thread has committed has read its source.
pub(crate) fn wait_reads() {
    wait_reads_but(0);
}

/// As [`wait_reads`], but for the group committed last.
pub(crate) fn wait_reads_but_last() {
    wait_reads_but(1);
}

fn wait_reads_but(last: usize) {
    queue(|queue| {
        let groups = queue.groups.len().saturating_sub(last);
        queue.groups.iter_mut().take(groups).flatten().for_each(Store::read);
    });
}

/// Orders generic accesses of global memory before, and the engine's after it: here they are of one kind.
pub(crate) fn fence_global() {}

/// Orders generic accesses of shared memory before, and the engine's after it.
pub(crate) fn fence_shared() {}

// | bits | of a barrier's word |
// |---|---|
// | 0 | parity of the phase that is running |
// | 1.. | bytes that it waits for |

/// Prepares a barrier on which one thread arrives per phase.
///
/// # Safety
/// `barrier` is 8 bytes of the block's shared memory, aligned, that nobody uses.
pub(crate) unsafe fn barrier_init(barrier: u64) {
    // SAFETY: passed on.
    unsafe { u64::store_shared(barrier, 0) };
}

/// Arrives, and says how many bytes the phase waits for.
///
/// # Safety
/// `barrier` is one that [`barrier_init`] prepared.
pub(crate) unsafe fn barrier_expect(barrier: u64, bytes: u32) {
    // SAFETY: passed on.
    unsafe { u64::store_shared(barrier, u64::load_shared(barrier) + 2 * u64::from(bytes)) };
}

/// Whether the phase of this parity is over. The loads that this thread has started on it arrive.
///
/// # Safety
/// As [`barrier_expect`].
pub(crate) unsafe fn barrier_passed(barrier: u64, parity: u32) -> bool {
    let loads: Vec<Load> = queue(|queue| {
        let (mine, others): (Vec<Load>, Vec<Load>) =
            queue.loads.drain(..).partition(|load| load.barrier == barrier);
        queue.loads = others;
        mine
    });
    let mut came = 0;
    for load in loads {
        if current().checked().is_none() {
            load.carry_out();
        }
        came += 2 * u64::from(load.bytes);
    }
    // SAFETY: passed on.
    let word = unsafe { u64::load_shared(barrier) } - came;
    let word = if came > 0 && word < 2 { word ^ 1 } else { word };
    // SAFETY: passed on.
    unsafe { u64::store_shared(barrier, word) };
    word & 1 != u64::from(parity)
}
