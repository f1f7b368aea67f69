//! One GPU thread: a coroutine, what is known of it, and the hooks through which its kernel reaches the
//! device.
//!
//! Hooks run on the coroutine's stack and only touch [`Current`]; whatever concerns other threads (barriers,
//! warp collectives, who runs next) is a [`Request`] that the coroutine yields to the device's loop. While a
//! thread unwinds it yields nothing: its collectives return at once as if it were alone.

use crate::check::run::Run;
use crate::clock::Clock;
use crate::error::{LastOperation, Problem};
use crate::memory::{self, Range, Table};
use crate::panics::{self, Said};
use crate::shared::Fixed;
use crate::stack::PooledStack;
use crate::statistics::{self, INSTRUCTIONS, OPERATIONS};
use core::panic::Location;
use corosensei::{Coroutine, Yielder};
use oxshmem_device::abi::{ContextAbi, Operation};
use oxshmem_device::hooks::{BulkQueue, Checked, Hooks, Instruction, OperationEvent, Position, Switch};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

/// What a thread asks of the device's loop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// To run again later.
    Switch,
    /// To run again later; there is nothing to do unless memory changes or the time comes.
    PollFailed { until: u64 },
    /// To wait for the block.
    Barrier { predicate: bool },
    /// To wait for lanes of the warp.
    Exchange { mask: u32, value: u64, orders: bool },
    /// To know the living lanes of the warp.
    ActiveLanes,
}

/// What the device's loop answers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Response {
    /// Go on.
    #[default]
    Continue,
    /// How many threads' predicates were true.
    Barrier(u32),
    /// The values of the lanes that came.
    Exchange(Rc<Exchange>),
    /// The living lanes.
    ActiveLanes(u32),
}

/// A completed exchange of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) values: [u64; 32],
    pub(crate) came: u32,
}

/// How a thread ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It returned, executed `exit`, or was unwound by the device.
    Well,
    /// It panicked.
    Panicked(Said),
    /// It accessed memory that it may not.
    Wild(Wild),
    /// It ran into a fault that the system tells of.
    Trapped(Trap),
}

/// An access that a thread may not make; also the payload that unwinds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wild {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) problem: Problem,
}

/// What ends a thread from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// The stack is used up.
    Overflow,
    /// An access of this address, which is not mapped.
    Access(u64),
    /// It has used that much processor time, in milliseconds, without coming to any operation.
    Endless(u64),
}

/// The payload that unwinds a thread that exits.
struct Exit;

/// The payload that unwinds a thread that has nearly used up its stack.
pub(crate) struct Overflow;

pub(crate) type Body = Coroutine<Response, Request, Ended, PooledStack>;

/// What is known of a thread, beside its stack. Owned by its block.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) position: Position,
    pub(crate) shared: (u64, u32),
    /// Address of the scratch memory.
    pub(crate) scratch: u64,
    /// What it has in flight through the bulk copy engine.
    pub(crate) bulk: RefCell<BulkQueue>,
    /// The block's static shared memory.
    pub(crate) fixed: Rc<Fixed>,
    pub(crate) last: Cell<Option<LastOperation>>,
    /// Where its operations are said to be, if not where they stand.
    pub(crate) site: Option<&'static Location<'static>>,
    /// The lowest address of its stack.
    pub(crate) limit: Cell<usize>,
    /// Its number in a checked run, once it has one.
    pub(crate) who: Cell<u32>,
}

/// Makes a thread's coroutine. It runs `run` when it is resumed first.
///
/// # Safety
/// `frame` stays valid until the coroutine has ended or is dropped.
pub(crate) unsafe fn body(
    stack: PooledStack,
    current: &'static Current,
    frame: *const Frame,
    run: Rc<dyn Fn(ContextAbi)>,
    context: ContextAbi,
) -> Body {
    Coroutine::with_stack(stack, move |yielder, _| {
        current.yielder.set(yielder);
        current.frame.set(frame);
        match catch_unwind(AssertUnwindSafe(|| run(context))) {
            Ok(()) => Ended::Well,
            Err(payload) => match payload.downcast_ref::<Wild>() {
                Some(wild) => Ended::Wild(*wild),
                None if payload.is::<Overflow>() => Ended::Trapped(Trap::Overflow),
                // The payload with which corosensei unwinds is private to it; the device knows that it did.
                None if payload.is::<Exit>() || current.unwinding.get() => Ended::Well,
                None => Ended::Panicked(panics::take()),
            },
        }
    })
}

/// The device's side of the seam: what the running thread may touch.
#[derive(Debug)]
pub(crate) struct Current {
    yielder: Cell<*const Yielder<Response, Request>>,
    frame: Cell<*const Frame>,
    /// The device's time, fixed for a pass.
    pub(crate) now: Cell<u64>,
    /// Whether the thread wrote memory or entered an operation since it was resumed.
    pub(crate) acted: Cell<bool>,
    /// Devices whose memory was written, one bit each, modulo 64.
    pub(crate) touched: Cell<u64>,
    /// Whether the device is unwinding the thread.
    unwinding: Cell<bool>,
    pub(crate) operations: [Cell<u64>; OPERATIONS],
    pub(crate) instructions: [Cell<u64>; INSTRUCTIONS],
    table: Arc<Table>,
    known: RefCell<(Vec<Range>, u64)>,
    /// The ranges used last.
    recent: [Cell<Range>; 2],
    /// The run, if it is checked.
    pub(crate) checked: Option<Box<RefCell<Run>>>,
}

impl Current {
    pub(crate) fn new(table: Arc<Table>, clock: &Clock, checked: Option<Run>) -> Self {
        Self {
            yielder: Cell::new(core::ptr::null()),
            frame: Cell::new(core::ptr::null()),
            now: Cell::new(clock.now()),
            acted: Cell::new(false),
            touched: Cell::new(0),
            unwinding: Cell::new(false),
            operations: [const { Cell::new(0) }; OPERATIONS],
            instructions: [const { Cell::new(0) }; INSTRUCTIONS],
            known: RefCell::new((Vec::new(), u64::MAX)),
            recent: [const { Cell::new(Range::EMPTY) }; 2],
            checked: checked.map(|run| Box::new(RefCell::new(run))),
            table,
        }
    }

    /// Looks whether the table of memory has changed. Called once per pass.
    pub(crate) fn refresh(&self) {
        if self.known.borrow().1 != self.table.version() {
            *self.known.borrow_mut() = self.table.snapshot();
            self.recent.iter().for_each(|range| range.set(Range::EMPTY));
        }
    }

    /// Unwinds a thread that is suspended or has not started.
    pub(crate) fn unwind(&self, body: &mut Body, frame: &Frame) {
        // A value that is dropped while the thread unwinds may call an operation.
        self.frame.set(frame);
        self.unwinding.set(true);
        body.force_unwind();
        self.unwinding.set(false);
        self.leave();
    }

    /// No thread runs: a hook that is called now is called by mistake.
    pub(crate) fn leave(&self) {
        self.frame.set(core::ptr::null());
        self.yielder.set(core::ptr::null());
    }

    pub(crate) fn frame(&self) -> &Frame {
        let frame = self.frame.get();
        assert!(!frame.is_null(), "hooks are called by kernel threads only");
        // SAFETY: the frame of the running thread (`body` and `request` set it), which its block keeps alive
        // until the thread has ended.
        unsafe { &*frame }
    }

    /// Yields to the device's loop. `None` if the thread unwinds, so that it cannot wait.
    pub(crate) fn request(&self, request: Request) -> Option<Response> {
        if std::thread::panicking() {
            return None;
        }
        let (yielder, frame) = (self.yielder.get(), self.frame.get());
        assert!(!yielder.is_null(), "hooks are called by kernel threads only");
        // SAFETY: the yielder lies on the stack of the running coroutine, which is the caller: `body` set it,
        // and every other thread restores its own below when it is resumed.
        let response = unsafe { &*yielder }.suspend(request);
        self.yielder.set(yielder);
        self.frame.set(frame);
        Some(response)
    }

    /// The range that holds an access, or the thread is unwound.
    pub(crate) fn check(&self, address: u64, bytes: u32) -> Range {
        let [first, second] = &self.recent;
        let range = first.get();
        if range.holds(address, bytes) && address.is_multiple_of(u64::from(bytes)) {
            return range;
        }
        let range = second.get();
        if range.holds(address, bytes) && address.is_multiple_of(u64::from(bytes)) {
            first.swap(second);
            return range;
        }
        self.search(address, bytes)
    }

    #[cold]
    #[inline(never)]
    fn search(&self, address: u64, bytes: u32) -> Range {
        let problem = if address.is_multiple_of(u64::from(bytes)) {
            let find = || memory::find(&self.known.borrow().0, address, bytes);
            let found = find().or_else(|| {
                // Memory may have been mapped since the pass began.
                self.refresh();
                find()
            });
            if let Some(range) = found {
                let [first, second] = &self.recent;
                second.set(first.replace(range));
                return range;
            }
            Problem::NotMapped
        } else {
            Problem::Misaligned
        };
        resume_unwind(Box::new(Wild { address, bytes, problem }))
    }

    fn wrote(&self, range: Range) {
        self.acted.set(true);
        if let Some(owner) = range.owner {
            self.touched.set(self.touched.get() | 1 << (owner % 64));
        }
    }
}

fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

impl Hooks for Current {
    fn position(&self) -> Position {
        self.frame().position
    }

    fn operation(&self, event: OperationEvent, at: &'static Location<'static>) {
        let OperationEvent { operation, offset, bytes, pe, together: _ } = event;
        let at = self.frame().site.unwrap_or(at);
        count(&self.operations[operation as usize % OPERATIONS]);
        self.acted.set(true);
        self.frame().last.set(Some(LastOperation { operation, offset, bytes, pe, location: at }));
        if self.checked.is_some() {
            self.enter_checked(event, at);
        }
    }

    fn instruction(&self, instruction: Instruction) {
        count(&self.instructions[statistics::number(&instruction)]);
        match instruction {
            Instruction::Load { address, bytes, .. } => {
                self.check(address, bytes);
            }
            Instruction::Store { address, bytes, .. } | Instruction::Atomic { address, bytes, .. } => {
                self.wrote(self.check(address, bytes));
            }
            Instruction::Fence | Instruction::FenceAcquire | Instruction::Arrive => self.acted.set(true),
        }
    }

    fn switch(&self, why: Switch) {
        self.request(match why {
            Switch::Communication => Request::Switch,
            Switch::PollFailed { until } => Request::PollFailed { until },
        });
    }

    fn block_barrier(&self, predicate: bool) -> u32 {
        match self.request(Request::Barrier { predicate }) {
            Some(Response::Barrier(agreed)) => agreed,
            _ => u32::from(predicate),
        }
    }

    fn warp_exchange(&self, mask: u32, value: u64, orders: bool) -> ([u64; 32], u32) {
        if let Some(Response::Exchange(exchange)) = self.request(Request::Exchange { mask, value, orders }) {
            return (exchange.values, exchange.came);
        }
        let lane = lane(&self.frame().position);
        let mut values = [0; 32];
        values[lane as usize] = value;
        (values, 1 << lane)
    }

    fn active_lanes(&self) -> u32 {
        match self.request(Request::ActiveLanes) {
            Some(Response::ActiveLanes(lanes)) => lanes,
            _ => 1 << lane(&self.frame().position),
        }
    }

    fn shared(&self) -> (u64, u32) {
        self.frame().shared
    }

    fn bulk(&self, act: &mut dyn FnMut(&mut BulkQueue)) {
        act(&mut self.frame().bulk.borrow_mut());
    }

    fn scratch(&self) -> u64 {
        self.frame().scratch
    }

    fn fixed_shared(&self, site: usize, bytes: usize, align: usize) -> u64 {
        self.frame().fixed.of(site, bytes, align)
    }

    fn now(&self) -> u64 {
        self.now.get()
    }

    fn host_time(&self) -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn exit(&self) -> ! {
        resume_unwind(Box::new(Exit))
    }

    fn checked(&self) -> Option<&dyn Checked> {
        match &self.checked {
            Some(_) => Some(self),
            None => None,
        }
    }
}

/// The lane of a thread in its warp.
fn lane(position: &Position) -> u32 {
    let ([x, y, z], [width, height, _]) = (position.thread_idx, position.block_dim);
    (x + width * (y + height * z)) % 32
}

const _: () = assert!((Operation::Host as usize) < OPERATIONS);
