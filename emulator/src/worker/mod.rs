//! The loop of a device: takes launches, makes blocks resident and ends launches (`launches.rs`), runs their
//! threads pass by pass, reports failures (`failures.rs`). Everything here is on the device's own
//! operating-system thread, which coroutines never leave.

mod checked;
mod failures;
mod launches;

pub(crate) use checked::{Stepped, Waiting};

use crate::block::{Block, State, living_lanes};
use crate::clock::NEVER;
use crate::device::{DeviceShared, News};
use crate::error::Error;
use crate::launch::{Launch, Point, StreamShared, Submission};
use crate::occupancy::Multiprocessors;
use crate::panics;
use crate::schedule::{RunQueue, ThreadId};
use crate::stack::StackSet;
use crate::statistics::Statistics;
use crate::thread::{Current, Ended, Request, Response};
use crate::trap;
use corosensei::CoroutineResult;
use oxshmem_device::abi::ContextAbi;
use oxshmem_device::hooks;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Active steps after which a device tells the others of them.
const PUBLISH_STEPS: u64 = 256;
/// Clean passes after which an otherwise idle device sleeps between passes instead of yielding.
const YIELDS: u32 = 8;
/// The first such sleep, and the longest. A device whose memory is written is woken early.
const SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(5);
/// The longest if other processes write this machine's memory, who wake nobody.
const LONGEST_SLEEP_OUTSIDE: Duration = Duration::from_micros(400);

/// Runs a device until it is stopped.
pub(crate) fn run(device: Arc<DeviceShared>) {
    device.clock.attach(device.index);
    let current = Box::into_raw(Box::new(Current::new(device.table.clone(), &device.clock, None)));
    {
        // SAFETY: the box lives until this function's end. The worker, its coroutines and the entered hooks,
        // which are all that get the reference, are gone when this block ends; none of them leaves this
        // operating-system thread.
        let current: &'static Current = unsafe { &*current };
        let _entered = hooks::enter(current);
        let mut worker = Worker::new(device.clone(), current);
        let reason = match catch_unwind(AssertUnwindSafe(|| worker.run())) {
            Ok(reason) => reason,
            Err(_) => {
                let said = panics::take();
                format!("the emulator itself panicked at {}: {}", said.location, said.message)
            }
        };
        device.close(&reason);
        worker.stop(&reason);
    }
    // SAFETY: made by `Box::into_raw` above; no reference is left (see above).
    drop(unsafe { Box::from_raw(current) });
}

/// A launch whose blocks run.
struct Running {
    number: u64,
    stream: Arc<StreamShared>,
    launch: Launch,
    run: Rc<dyn Fn(ContextAbi)>,
    /// The stacks of a collective launch that no block has now.
    stacks: StackSet,
    /// Blocks that became resident so far; blocks that have ended.
    placed: u64,
    ended: u64,
    /// Its number in a checked run.
    ticket: u64,
    /// What it had to wait for on another stream.
    after: Option<Point>,
    failure: Option<Error>,
}

/// The launches of a stream: one runs, others wait.
#[derive(Default)]
struct Queue {
    running: bool,
    waiting: VecDeque<Submission>,
    /// Whether launches were discarded, because the stream has failed.
    discarded: bool,
}

pub(crate) struct Worker {
    device: Arc<DeviceShared>,
    current: &'static Current,
    /// By the stream's address, while it has launches.
    queues: HashMap<usize, Queue>,
    /// Streams whose next launch waits for another stream.
    held_back: Vec<usize>,
    /// In the order of their starts.
    running: Vec<Running>,
    started: u64,
    blocks: Vec<Option<Box<Block>>>,
    vacant: Vec<u32>,
    sms: Multiprocessors,
    queue: RunQueue,
    statistics: Statistics,
    /// Whether blocks may have become placeable.
    room: bool,
    /// Whether a block waits for stacks that other devices hold.
    starved: bool,
    /// A jump of time that the other devices have not seen yet.
    landing: Option<u64>,
}

/// What a pass did.
#[derive(Clone, Copy, Debug)]
struct Pass {
    active: u64,
    /// The earliest deadline of a thread whose poll failed.
    earliest: u64,
    /// Where time jumps for one thread.
    jump: Option<u64>,
}

impl Worker {
    pub(crate) fn new(device: Arc<DeviceShared>, current: &'static Current) -> Self {
        let index = u64::from(device.index);
        Self {
            sms: Multiprocessors::new(&device.config),
            // Devices with one seed should not all go the same way.
            queue: RunQueue::new(device.config.seed.map(|seed| seed.wrapping_add(index << 32))),
            device,
            current,
            queues: HashMap::new(),
            held_back: Vec::new(),
            running: Vec::new(),
            started: 0,
            blocks: Vec::new(),
            vacant: Vec::new(),
            statistics: Statistics::default(),
            room: false,
            starved: false,
            landing: None,
        }
    }

    /// The loop; returns why it ended.
    fn run(&mut self) -> String {
        let device = self.device.clone();
        let (clock, index) = (&device.clock, device.index);
        let outside = device.config.outside_grace.is_some();
        let longest = if outside { LONGEST_SLEEP_OUTSIDE } else { LONGEST_SLEEP };
        let (mut unpublished, mut dirty, mut carry, mut idle_passes) = (0, false, 0, 0u32);
        loop {
            // Before the launches are taken: one that comes later makes this epoch an old one, and the pass is not clean.
            let epoch = clock.epoch();
            match device.news() {
                Some(News::Stop(reason)) => return reason,
                Some(News::Launches(launches)) => launches.into_iter().for_each(|l| self.enqueue(l)),
                None => {}
            }
            if self.room || self.starved {
                self.place();
            }
            if self.running.is_empty() {
                self.report();
                self.land();
                if device.idle() {
                    std::thread::park();
                }
                continue;
            }
            let jump = clock.jump_of(index);
            self.current.now.set(clock.now());
            self.current.refresh();
            self.landing = self.landing.max(jump);
            let pass = self.pass(jump);
            let touched = self.current.touched.replace(0);
            if touched & !(1 << (index % 64)) != 0 || touched != 0 && device.config.devices > 64 {
                clock.wake_touched(touched, index);
            }
            if pass.active > 0 {
                unpublished += pass.active;
                (dirty, idle_passes) = (true, 0);
                if unpublished >= PUBLISH_STEPS {
                    clock.publish(core::mem::take(&mut unpublished), &mut carry);
                    self.report();
                }
            } else if dirty {
                // The next pass may be clean: what this device did must be known before it begins.
                clock.publish(core::mem::take(&mut unpublished), &mut carry);
                self.report();
                dirty = false;
            } else if self.landing.is_some() {
                self.land();
            } else if !self.starved {
                clock.clean(index, epoch, pass.earliest);
                rest(idle_passes, longest);
                idle_passes = idle_passes.saturating_add(1);
            } else {
                rest(YIELDS, longest);
            }
        }
    }

    /// Shows a jump of time to the other devices. It comes before anyone learns that a kernel has ended: a wait
    /// that begins because of that begins after the jump.
    fn land(&mut self) {
        if let Some(time) = self.landing.take() {
            self.device.clock.landed(time);
        }
    }

    /// Resumes every runnable thread once. The first whose wait ends by `jump` sees that time.
    fn pass(&mut self, jump: Option<u64>) -> Pass {
        let mut pass = Pass { active: 0, earliest: NEVER, jump };
        let _in_kernel = panics::in_kernel();
        self.queue.begin();
        while let Some(id) = self.queue.pop() {
            self.step(id, &mut pass);
        }
        pass
    }

    /// Resumes one thread.
    fn step(&mut self, id: ThreadId, pass: &mut Pass) {
        let Self { blocks, queue, current, statistics, .. } = self;
        let Some(block) = &mut blocks[id.block as usize] else { return };
        let thread = &mut block.threads[id.thread as usize];
        let Some(body) = &mut thread.body else { return };
        current.acted.set(false);
        statistics.switches += 1;
        let mut response = core::mem::take(&mut thread.response);
        let polling = matches!(thread.state, State::Polling { .. });
        let now = current.now.get();
        if let (State::Polling { until }, Some(jump)) = (thread.state, pass.jump)
            && until <= jump
        {
            current.now.set(jump);
            pass.jump = None;
        }
        let result = {
            let _watched = trap::watch(body, thread.limit);
            loop {
                match body.resume(response) {
                    CoroutineResult::Yield(Request::ActiveLanes) => {
                        response = Response::ActiveLanes(living_lanes(&block.warps, id.thread));
                    }
                    other => break other,
                }
            }
        };
        current.now.set(now);
        let mut release = |thread| queue.push(ThreadId { block: id.block, thread });
        match result {
            CoroutineResult::Yield(Request::PollFailed { until }) => {
                pass.earliest = pass.earliest.min(until);
                let again = polling && !current.acted.get();
                thread.state = State::Polling { until };
                release(id.thread);
                if again {
                    return;
                }
            }
            CoroutineResult::Yield(Request::Switch | Request::ActiveLanes) => {
                thread.state = State::Runnable;
                release(id.thread);
            }
            CoroutineResult::Yield(Request::Barrier { predicate }) => {
                block.arrive(id.thread, predicate, release);
            }
            CoroutineResult::Yield(Request::Exchange { mask, value, orders: _ }) => {
                block.exchange(id.thread, mask, value, release);
            }
            CoroutineResult::Return(ended) => {
                current.leave();
                block.end(id.thread, release);
                if !matches!(ended, Ended::Well) {
                    pass.active += 1;
                    self.failed(id, ended);
                    return;
                }
            }
        }
        pass.active += 1;
        statistics.active_steps += 1;
        if block.living == 0 {
            self.finish(id.block);
        } else if block.stuck() {
            self.diverged(id);
        }
    }

    /// Makes the counts visible.
    fn report(&mut self) {
        let [loads, stores, atomics, fences, arrivals, _] =
            self.current.instructions.each_ref().map(|c| c.get());
        self.statistics.loads = loads;
        self.statistics.stores = stores;
        self.statistics.atomics = atomics;
        self.statistics.fences = fences;
        self.statistics.arrivals = arrivals;
        self.statistics.operations = self.current.operations.each_ref().map(|c| c.get());
        *self.device.statistics.lock().unwrap_or_else(PoisonError::into_inner) = self.statistics;
    }
}

/// Lets others have the processor: the longer a device had nothing to do, the longer.
fn rest(idle_passes: u32, longest: Duration) {
    match idle_passes.checked_sub(YIELDS) {
        None => std::thread::yield_now(),
        Some(more) => std::thread::park_timeout((SLEEP * (1 << more.min(7))).min(longest)),
    }
}
