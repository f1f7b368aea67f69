//! A resident block: its threads, shared memory, barrier and warps.
//!
//! | what waits | released when |
//! |---|---|
//! | a thread at the block barrier | every thread of the block that lives is there |
//! | a lane at a warp exchange | every lane of its mask that lives is at an exchange with the same mask |
//!
//! Only threads of the block can release each other, so a block whose living threads all wait is stuck for
//! good: that is reported at once ([`Error::Diverged`](crate::Error::Diverged)).

use crate::launch::Launch;
use crate::occupancy::{Needs, WARP};
use crate::shared::{Fixed, SharedMemory};
use crate::stack::StackSet;
use crate::thread::{self, Body, Current, Exchange, Frame, Response};
use corosensei::stack::Stack;
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::hooks::{Position, SCRATCH_BYTES};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Alignment of a block's dynamic shared memory, in bytes.
const SHARED_ALIGN: usize = 128;

/// What a thread is doing, as its device sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can run.
    Runnable,
    /// It can run; its last poll failed, and its wait ends at `until`.
    Polling { until: u64 },
    /// It waits at the block barrier.
    AtBarrier,
    /// It waits for lanes of its warp.
    AtExchange,
    /// It has ended.
    Gone,
}

/// A thread of the block.
pub(crate) struct Thread {
    pub(crate) state: State,
    /// What it gets when it is resumed.
    pub(crate) response: Response,
    /// `None` once it has ended.
    pub(crate) body: Option<Body>,
    /// The lowest address of its stack, where the guard page is.
    pub(crate) limit: usize,
}

/// A resident block.
pub(crate) struct Block {
    /// Declared first: dropped before the frames that its coroutines use.
    pub(crate) threads: Vec<Thread>,
    pub(crate) frames: Box<[Frame]>,
    /// Stacks of threads that have ended.
    pub(crate) stacks: StackSet,
    /// The multiprocessor that holds it.
    pub(crate) sm: usize,
    pub(crate) needs: Needs,
    /// Number of its launch on the device.
    pub(crate) launch: u64,
    pub(crate) living: u32,
    pub(crate) at_barrier: u32,
    pub(crate) at_exchange: u32,
    /// How many predicates at the barrier were true.
    agreed: u32,
    pub(crate) warps: Vec<Warp>,
    _shared: SharedMemory,
}

/// The exchanges of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warp {
    living: u32,
    waiting: u32,
    masks: [u32; 32],
    values: [u64; 32],
}

impl Block {
    /// Makes block number `index` of a launch resident. `stacks` has one per thread.
    pub(crate) fn new(
        current: &'static Current,
        launch: &Launch,
        run: &Rc<dyn Fn(ContextAbi)>,
        (number, index): (u64, u64),
        mut stacks: StackSet,
        sm: usize,
    ) -> Self {
        let [grid_x, grid_y, _] = launch.grid.map(u64::from);
        let block_idx = [index % grid_x, index / grid_x % grid_y, index / grid_x / grid_y].map(|i| i as u32);
        let [block_x, block_y, _] = launch.block;
        let scratch = scratch_offset(launch.shared_bytes);
        let shared = SharedMemory::new((scratch + u64::from(SCRATCH_BYTES)) as usize, SHARED_ALIGN);
        let fixed = Rc::new(Fixed::default());
        let living = launch.block_threads();
        let frames: Box<[Frame]> = (0..living)
            .map(|i| Frame {
                position: Position {
                    thread_idx: [i % block_x, i / block_x % block_y, i / block_x / block_y],
                    block_idx,
                    block_dim: launch.block,
                    grid_dim: launch.grid,
                },
                shared: (shared.address(), launch.shared_bytes),
                scratch: shared.address() + scratch,
                fixed: fixed.clone(),
                bulk: RefCell::default(),
                last: Cell::new(None),
                site: launch.site,
                limit: Cell::new(0),
                who: Cell::new(u32::MAX),
            })
            .collect();
        let threads = frames
            .iter()
            .map_while(|frame| {
                let stack = stacks.pop()?;
                let limit = stack.limit().get();
                frame.limit.set(limit);
                // SAFETY: the block owns both, does not move the frames, and drops the coroutine first.
                let body = unsafe { thread::body(stack, current, frame, run.clone(), launch.context) };
                Some(Thread { state: State::Runnable, response: Response::Continue, body: Some(body), limit })
            })
            .collect();
        let warps = (0..living.div_ceil(WARP))
            .map(|warp| Warp {
                living: u32::MAX >> (WARP - (living - warp * WARP).min(WARP)),
                waiting: 0,
                masks: [0; 32],
                values: [0; 32],
            })
            .collect();
        Self {
            threads,
            frames,
            stacks,
            sm,
            needs: launch.needs(),
            launch: number,
            living,
            at_barrier: 0,
            at_exchange: 0,
            agreed: 0,
            warps,
            _shared: shared,
        }
    }

    /// Whether every living thread waits for another one of the block.
    pub(crate) fn stuck(&self) -> bool {
        self.living > 0 && self.at_barrier + self.at_exchange == self.living
    }

    /// A thread comes to the barrier. `release` gets every thread that may go on.
    pub(crate) fn arrive(&mut self, thread: u32, predicate: bool, release: impl FnMut(u32)) {
        self.threads[thread as usize].state = State::AtBarrier;
        self.at_barrier += 1;
        self.agreed += u32::from(predicate);
        self.open_barrier(release);
    }

    fn open_barrier(&mut self, mut release: impl FnMut(u32)) {
        if self.at_barrier < self.living || self.at_barrier == 0 {
            return;
        }
        for (number, thread) in self.threads.iter_mut().enumerate() {
            if thread.state == State::AtBarrier {
                thread.state = State::Runnable;
                thread.response = Response::Barrier(self.agreed);
                release(number as u32);
            }
        }
        self.at_barrier = 0;
        self.agreed = 0;
    }

    /// A thread comes to an exchange of its warp. `release` gets every thread that may go on.
    pub(crate) fn exchange(&mut self, thread: u32, mask: u32, value: u64, release: impl FnMut(u32)) {
        let (at, lane) = ((thread / WARP) as usize, thread % WARP);
        self.threads[thread as usize].state = State::AtExchange;
        self.at_exchange += 1;
        let warp = &mut self.warps[at];
        // A mask without the own lane is an error on a device; here the lane comes all the same.
        let mask = mask | 1 << lane;
        warp.waiting |= 1 << lane;
        warp.masks[lane as usize] = mask;
        warp.values[lane as usize] = value;
        self.complete_exchange(at, mask, release);
    }

    fn complete_exchange(&mut self, at: usize, mask: u32, mut release: impl FnMut(u32)) {
        let warp = &mut self.warps[at];
        let came = mask & warp.living;
        if came == 0 || came & !warp.waiting != 0 {
            return;
        }
        let lanes = || (0..WARP).filter(move |lane| came & (1 << lane) != 0);
        if lanes().any(|lane| warp.masks[lane as usize] != mask) {
            return;
        }
        let mut exchange = Exchange { values: [0; 32], came };
        for lane in lanes() {
            exchange.values[lane as usize] = warp.values[lane as usize];
        }
        warp.waiting &= !came;
        self.at_exchange -= came.count_ones();
        let exchange = Rc::new(exchange);
        for lane in lanes() {
            let number = at as u32 * WARP + lane;
            let thread = &mut self.threads[number as usize];
            thread.state = State::Runnable;
            thread.response = Response::Exchange(exchange.clone());
            release(number);
        }
    }

    /// A thread has ended. `release` gets every thread that waited for it alone.
    pub(crate) fn end(&mut self, thread: u32, mut release: impl FnMut(u32)) {
        let (at, lane) = ((thread / WARP) as usize, thread % WARP);
        let gone = &mut self.threads[thread as usize];
        gone.state = State::Gone;
        if let Some(body) = gone.body.take() {
            self.stacks.push(body.into_stack());
        }
        self.living -= 1;
        self.warps[at].living &= !(1 << lane);
        let mut waiting = self.warps[at].waiting;
        while waiting != 0 {
            let first = waiting.trailing_zeros();
            waiting &= waiting - 1;
            if self.warps[at].waiting & (1 << first) != 0 {
                self.complete_exchange(at, self.warps[at].masks[first as usize], &mut release);
            }
        }
        self.open_barrier(release);
    }

    /// Unwinds every thread that is left, and gives back all stacks.
    pub(crate) fn unwind(mut self, current: &'static Current) -> StackSet {
        for (thread, frame) in self.threads.iter_mut().zip(&self.frames) {
            if let Some(mut body) = thread.body.take() {
                current.unwind(&mut body, frame);
                self.stacks.push(body.into_stack());
            }
        }
        self.stacks
    }
}

/// The lanes of a thread's warp that live.
pub(crate) fn living_lanes(warps: &[Warp], thread: u32) -> u32 {
    warps[(thread / WARP) as usize].living
}

/// Where a block's scratch memory stands, behind `bytes` of dynamic shared memory.
fn scratch_offset(bytes: u32) -> u64 {
    u64::from(bytes).next_multiple_of(SHARED_ALIGN as u64)
}
