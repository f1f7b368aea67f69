//! How fast kernels run on the emulator, checked and unchecked: the kernel that is timed, and the two ways to run it.
//!
//! Every thread sends to the thread of its own number on the next PE, and has memory of its own there. In each round it
//! does five operations of at most 256 bytes, in one of four mixes that take turns:
//!
//! | mix | operations |
//! |---|---|
//! | message | put of 256 bytes, strong signal, wait, strong signal as credit, wait |
//! | put_signal | put_signal of 64 bytes, wait, strong signal as credit, wait, get of 256 bytes |
//! | words | `p`, `g`, get of 64 bytes, weak signal, wait |
//! | atomics | atomic add and fetch-add, put of 64 bytes, strong signal, wait |
//!
//! What lies between two uses of one slot is a credit, or a strong signal by who writes it again: there is no race.

use oxshmem_device::abi::{ContextAbi, ErrorRecord, control};
use oxshmem_device::prelude::*;
use oxshmem_device::{KernelContext, Scoped, Thread};
use oxshmem_emulator::check::{CheckOptions, Report, Schedule, World, WorldGrid};
use oxshmem_emulator::{Error, Launch, Machine, MachineConfig};
use std::time::{Duration, Instant};

/// PEs.
pub const PES: u32 = 4;
/// Blocks and threads of each PE.
pub const GRID: WorldGrid = WorldGrid::of(4, 128);
/// Operations of all threads in one round: an initiator's put, get, `p`, `g`, atomic, signal or wait counts as one.
pub const OPERATIONS_PER_ROUND: u64 = 5 * THREADS * PES as u64;
/// Loads and stores of all threads' own memory in one round: two in every second mix.
pub const ACCESSES_PER_ROUND: u64 = THREADS * PES as u64;

/// Threads of a PE.
const THREADS: u64 = GRID.blocks as u64 * GRID.threads as u64;
/// Elements of a thread's slot: 256 bytes.
const SLOT: u64 = 32;
/// Elements of a small message: 64 bytes.
const SMALL: u64 = 8;
/// Bytes of each PE's heap where no [`World`] gives it.
const HEAP: u64 = 32 << 20;
/// Steps that a wait may take where nothing is checked: more than any run.
const DEADLINE: u64 = 1 << 40;

/// Symmetric memory: a slot or word for each thread.
#[derive(Clone, Copy, Debug)]
struct Memory {
    table: Sym<[u64]>,
    outbox: Sym<[u64]>,
    inbox: Sym<[u64]>,
    aside: Sym<[u64]>,
    landing: Sym<[u64]>,
    words: Sym<[u64]>,
    sums: Sym<[Atomic<u64>]>,
    arrived: Sym<[Signal]>,
    credit: Sym<[Signal]>,
    beats: Sym<[Signal]>,
}

impl Memory {
    fn new(world: &mut World) -> Self {
        let mut slots = |name| world.data(name, THREADS * SLOT);
        let [table, outbox, inbox] = ["table", "outbox", "inbox"].map(&mut slots);
        let [aside, landing] = ["aside", "landing"].map(&mut slots);
        let words = world.data("words", THREADS);
        let sums = world.atomics("sums", THREADS);
        let [arrived, credit, beats] =
            ["arrived", "credit", "beats"].map(|name| world.signals(name, THREADS));
        Self { table, outbox, inbox, aside, landing, words, sums, arrived, credit, beats }
    }
}

/// The kernel: so many rounds.
fn kernel(memory: Memory, rounds: u64) -> impl Fn(Collective) + Clone + Send + Sync + 'static {
    move |shmem| {
        let own = Own::new(shmem, &memory);
        let mut beats = 0;
        for round in 0..rounds {
            let stamp = round + 1;
            match (round + own.number) % 4 {
                0 => own.message(stamp),
                1 => own.put_signal(stamp),
                2 => {
                    beats += 1;
                    own.words(stamp, beats);
                }
                _ => own.atomics(stamp),
            }
        }
    }
}

/// What is a thread's own, and who its neighbours are.
struct Own {
    shmem: Collective,
    t: Scoped<Thread, Collective>,
    number: u64,
    next: u32,
    before: u32,
    table: Sym<[u64]>,
    outbox: Sym<[u64]>,
    inbox: Sym<[u64]>,
    aside: Sym<[u64]>,
    landing: Sym<[u64]>,
    word: Sym<u64>,
    sum: Sym<Atomic<u64>>,
    arrived: Sym<Signal>,
    credit: Sym<Signal>,
    beats: Sym<Signal>,
}

impl Own {
    fn new(shmem: Collective, memory: &Memory) -> Self {
        let (me, pes, number) = (shmem.my_pe(), shmem.n_pes(), shmem.grid().rank());
        let slot = |slots: Sym<[u64]>| slots.slice(number * SLOT, SLOT);
        Self {
            shmem,
            t: shmem.thread(),
            number,
            next: (me + 1) % pes,
            before: (me + pes - 1) % pes,
            table: slot(memory.table),
            outbox: slot(memory.outbox),
            inbox: slot(memory.inbox),
            aside: slot(memory.aside),
            landing: slot(memory.landing),
            word: memory.words.at(number),
            sum: memory.sums.at(number),
            arrived: memory.arrived.at(number),
            credit: memory.credit.at(number),
            beats: memory.beats.at(number),
        }
    }

    fn message(&self, stamp: u64) {
        self.shmem.local(self.outbox).set(0, stamp);
        self.t.put(self.inbox, self.outbox, self.next);
        self.t.signal(self.arrived, SignalOp::Set(stamp), self.next);
        self.receive(stamp);
    }

    fn put_signal(&self, stamp: u64) {
        self.shmem.local(self.outbox).set(0, stamp);
        let [inbox, outbox] = [self.inbox, self.outbox].map(|slot| slot.slice(0, SMALL));
        self.t.put_signal(inbox, outbox, self.arrived, SignalOp::Set(stamp), self.next);
        self.receive(stamp);
        self.t.get(self.landing, self.table, self.next);
    }

    /// Waits for the message, gives credit for it, and waits for credit.
    fn receive(&self, stamp: u64) {
        self.t.wait_until(self.arrived, Cmp::Ge, stamp);
        assert_eq!(self.shmem.local(self.inbox).get(0), stamp, "what the signal says has arrived");
        self.t.signal(self.credit, SignalOp::Set(stamp), self.before);
        self.t.wait_until(self.credit, Cmp::Ge, stamp);
    }

    fn words(&self, stamp: u64, beats: u64) {
        self.t.p(self.word, stamp, self.next);
        let _ = self.t.g(self.table.at(0), self.next);
        self.t.get(self.landing.slice(0, SMALL), self.table.slice(SMALL, SMALL), self.next);
        self.t.signal_weak(self.beats, SignalOp::Add(1), self.next);
        self.t.wait_until(self.beats, Cmp::Ge, beats);
    }

    fn atomics(&self, stamp: u64) {
        self.t.atomic_add(self.sum, 1, self.next);
        let _ = self.t.atomic_fetch_add(self.sum, 1, self.before);
        self.t.put(self.aside.slice(0, SMALL), self.outbox.slice(0, SMALL), self.next);
        self.t.signal(self.arrived, SignalOp::Set(stamp), self.next);
        self.t.wait_until(self.arrived, Cmp::Ge, stamp);
    }
}

/// Runs the kernel under the checker, by one seed; what was found, and how long it took.
///
/// # Errors
/// If the system gives no memory.
pub fn checked(rounds: u64, seed: u64) -> Result<(Report, Duration), Error> {
    let mut world = World::new(PES)?;
    let memory = Memory::new(&mut world);
    let schedule = Schedule::Seed(seed);
    let options =
        CheckOptions { schedule, seeds: 1, minimise: false, steps: u64::MAX, ..CheckOptions::default() };
    let start = Instant::now();
    let report = world.check(&options, GRID, kernel(memory, rounds));
    Ok((report, start.elapsed()))
}

/// Runs the kernel on the emulator alone, all PEs on one device, which is one operating-system thread; how long it took.
///
/// # Errors
/// If the system gives no memory, or the kernel fails.
pub fn unchecked(rounds: u64) -> Result<Duration, Error> {
    // Where the memory lies in a heap is the same with and without the checker.
    let memory = Memory::new(&mut World::new(PES)?);
    let sms = GRID.blocks * PES;
    let machine = Machine::new(MachineConfig { devices: 1, sms, ..MachineConfig::default() })?;
    let _host = machine.host_thread(0);
    let device = machine.device(0)?;
    let heaps = machine.reserve(HEAP * u64::from(PES))?;
    // The alarm word, then the error records.
    let words = machine.allocate_host(control::BYTES)?;
    let mut streams = Vec::new();
    let start = Instant::now();
    for pe in 0..PES {
        let at = HEAP * u64::from(pe);
        heaps.map(at, &device.create(HEAP)?)?;
        let context = ContextAbi {
            my_pe: pe,
            n_pes: PES,
            heap_base: heaps.address() + at,
            heap_bytes: HEAP,
            peer_stride: HEAP,
            error_record: words.address() + 64 + u64::from(pe) * size_of::<ErrorRecord>() as u64,
            alarm: words.address(),
            deadline: DEADLINE,
            grid_slot: pe,
            launch: 1,
            teams: 0,
            trace: 0,
            tuning: oxshmem_device::abi::tuning::H200,
        };
        streams.push((device.create_stream(), context));
    }
    for (stream, context) in &streams {
        let kernel = kernel(memory, rounds);
        stream.launch(Launch {
            name: "speed",
            grid: [GRID.blocks, 1, 1],
            block: [GRID.threads, 1, 1],
            shared_bytes: GRID.shared,
            collective: true,
            context: *context,
            site: None,
            // SAFETY: the emulator passes the context of this launch, whose memory lives until its stream is done.
            run: Box::new(move |context| kernel(unsafe { Collective::from_abi(context, true) })),
        })?;
    }
    streams.iter().try_for_each(|(stream, _)| stream.synchronize())?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checker_counts_the_same_operations_and_finds_nothing() {
        for seed in 1..=3 {
            let (report, _) = checked(2, seed).expect("a world");
            assert_eq!(report.findings, []);
            assert_eq!(report.operations, 2 * (OPERATIONS_PER_ROUND + ACCESSES_PER_ROUND));
        }
    }

    #[test]
    fn the_kernel_ends_without_the_checker() {
        unchecked(5).expect("a run");
    }
}
