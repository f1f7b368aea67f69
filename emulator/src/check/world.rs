//! Checked runs of one kernel without a host program: for litmus tests and small kernels, many thousand runs a second.

use super::choose::Chooser;
use super::engine::{Alone, End, Engine};
use super::event::{INITIAL, NONE};
use super::minimise::minimise;
use super::outcome::{Outcomes, Registers, Search, WorldGrid};
use super::places::Allocation;
use super::run::Run;
use super::{CheckOptions, Finding, Kind, Profile, Report, Schedule};
use crate::Error;
use crate::clock::Clock;
use crate::config::MachineConfig;
use crate::device::DeviceShared;
use crate::launch::{Launch, StreamShared, Submission};
use crate::memory::{HostMemory, Table};
use crate::thread::Current;
use crate::worker::Worker;
use crate::{panics, trap};
use core::panic::Location;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::abi::{ContextAbi, ErrorRecord, TeamAbi, teams};
use oxshmem_device::atomic::AtomicWord;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::hooks;
use oxshmem_device::{
    Atomic, Collective, Global, KernelContext, Mailbox, Packet, Reach, Signal, Sym, Symmetric, Team,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Bytes of each PE's heap.
const HEAP: u64 = 32 << 20;
/// Alignment of an allocation.
const ALIGN: u64 = 256;
/// A wait's deadline; it passes when nothing else can happen.
const DEADLINE: u64 = 1 << 40;

/// Symmetric memory of a world.
#[derive(Debug)]
struct Taken {
    offset: u64,
    bytes: u64,
    written: bool,
}

/// Some PEs, symmetric memory, and the checker.
#[derive(Debug)]
pub struct World {
    pes: u32,
    engine: Engine,
    config: Arc<MachineConfig>,
    heap: HostMemory,
    /// The alarm word, then an error record per PE, then the PEs' tables of teams.
    words: HostMemory,
    locals: Vec<HostMemory>,
    table: Arc<Table>,
    used: u64,
    taken: Vec<Taken>,
    lists: Vec<HostMemory>,
    teams: u32,
    registers: Registers,
    watched: Vec<(u64, u32)>,
}

/// Where the tables of teams begin in a world's words, for so many PEs.
fn tables(pes: u32) -> u64 {
    (64 + u64::from(pes) * size_of::<ErrorRecord>() as u64).next_multiple_of(64)
}

impl World {
    /// A world of `pes` PEs, each on a device of its own.
    ///
    /// # Errors
    /// [`Error::System`] if the system gives no memory; [`Error::Config`] for no PE, or more than 64.
    pub fn new(pes: u32) -> Result<Self, Error> {
        if !(1..=64).contains(&pes) {
            return Err(Error::Config { field: "pes", found: pes.into(), needed: "1 to 64" });
        }
        panics::install();
        trap::install();
        let config = Arc::new(MachineConfig { devices: pes, ..MachineConfig::default() });
        let clock = Arc::new(Clock::new(&config));
        let table: Arc<Table> = Arc::default();
        let heap = HostMemory::new(table.clone(), HEAP * u64::from(pes))?;
        let words = HostMemory::new(table.clone(), tables(pes) + u64::from(pes) * teams::BYTES)?;
        let mut run = Run::new(Profile::default(), pes, Chooser::search());
        run.places.set_heaps(heap.address(), HEAP, HEAP, pes, reserved(pes));
        // It belongs to the world alone, and goes with it: see `drop`.
        let current: &'static Current = Box::leak(Box::new(Current::new(table.clone(), &clock, Some(run))));
        let devices = (0..pes)
            .map(|index| DeviceShared::new(index, config.clone(), clock.clone(), table.clone(), HEAP, None));
        let workers = devices.map(|device| Worker::new(device, current)).collect();
        let engine = Engine::new(workers, current);
        let registers = Registers(Arc::new([]));
        let world = Self {
            pes,
            engine,
            config,
            heap,
            words,
            locals: Vec::new(),
            table,
            used: reserved(pes),
            taken: Vec::new(),
            lists: Vec::new(),
            teams: 0,
            registers,
            watched: Vec::new(),
        };
        (0..pes).for_each(|pe| world.predefined_teams(pe));
        Ok(world)
    }

    /// All PEs are on one host, each on a device of its own.
    fn predefined_teams(&self, pe: u32) {
        for (slot, my_pe, n_pes, start) in
            [(teams::WORLD, pe, self.pes, 0), (teams::NODE, pe, self.pes, 0), (teams::SAME_GPU, 0, 1, pe)]
        {
            self.write_team(
                pe,
                slot,
                TeamAbi { my_pe, n_pes, start, stride: 1, list: 0, handle: slot.into() },
            );
        }
    }

    /// Takes symmetric memory.
    ///
    /// # Panics
    /// If the heap of 32 MiB is used up.
    fn take(&mut self, name: &'static str, bytes: u64, element: u64, written: bool) -> u64 {
        let offset = self.used;
        self.used = (offset + bytes.max(1)).next_multiple_of(ALIGN);
        assert!(self.used <= HEAP, "a world has {HEAP} bytes of symmetric memory per PE");
        let allocation = Allocation { name: name.into(), bytes, element, pe: 0 };
        self.engine.state().places.allocate(offset, allocation);
        self.taken.push(Taken { offset, bytes, written });
        offset
    }

    fn slice<T>(&mut self, name: &'static str, len: u64, written: bool) -> Sym<[T]>
    where
        T: Symmetric,
        [T]: Symmetric<Len = u64>,
    {
        let offset = self.take(name, len * T::ELEMENT_BYTES, T::ELEMENT_BYTES, written);
        // SAFETY: the memory was taken for this many elements on every PE, aligned to 256 bytes.
        unsafe { Sym::from_parts(offset, len, Reach::World) }
    }

    /// `len` elements on every PE, zero at the start of every run.
    ///
    /// # Panics
    /// This and the others that take symmetric memory: if 16 MiB are used up.
    pub fn data<T: Pod>(&mut self, name: &'static str, len: u64) -> Sym<[T]> {
        self.slice(name, len, true)
    }

    /// `len` elements on every PE that nobody has written at the start of a run.
    pub fn uninit<T: Pod>(&mut self, name: &'static str, len: u64) -> Sym<[T]> {
        self.slice(name, len, false)
    }

    /// `len` elements of local device memory of every PE, zero at the start of every run; by PE.
    ///
    /// # Panics
    /// If the system gives no memory.
    pub fn local<T: Pod>(&mut self, name: &'static str, len: u64) -> Vec<Global<[T]>> {
        let element = size_of::<T>() as u64;
        let bytes = len * element;
        let take = |pe| {
            let memory = HostMemory::new(self.table.clone(), bytes.max(1)).expect("local memory");
            let address = memory.address();
            let allocation = Allocation { name: name.into(), bytes, element, pe };
            self.engine.state().places.allocate_local(address, allocation);
            self.locals.push(memory);
            // SAFETY: fresh memory of this size, which the world keeps.
            unsafe { Global::from_parts(address, len) }
        };
        (0..self.pes).map(take).collect()
    }

    /// `len` signals on every PE.
    pub fn signals(&mut self, name: &'static str, len: u64) -> Sym<[Signal]> {
        self.slice(name, len, true)
    }

    /// `len` words for atomics on every PE.
    pub fn atomics<T: AtomicWord>(&mut self, name: &'static str, len: u64) -> Sym<[Atomic<T>]> {
        self.slice(name, len, true)
    }

    /// `len` packets on every PE.
    pub fn packets<T: Pod>(&mut self, name: &'static str, len: u64) -> Sym<[Packet<T>]> {
        self.slice(name, len, true)
    }

    /// `len` mailboxes on every PE.
    pub fn mailboxes<T: Pod, const N: usize>(
        &mut self,
        name: &'static str,
        len: u64,
    ) -> Sym<[Mailbox<T, N>]> {
        self.slice(name, len, true)
    }

    /// A team of these PEs, in this order.
    ///
    /// # Panics
    /// If a world has more than 60 teams, or the system gives no memory.
    pub fn team(&mut self, pes: &[u32]) -> Team {
        let slot = teams::FIRST_FREE + self.teams;
        assert!(slot < teams::SLOTS, "a PE has at most {} teams", teams::SLOTS - teams::FIRST_FREE);
        self.teams += 1;
        let team = Team::from_parts(slot, pes.first().copied().unwrap_or(0), 0, self.teams);
        let mut list =
            HostMemory::new(self.table.clone(), 4 * pes.len().max(1) as u64).expect("a team's list");
        let address = list.address();
        for (at, pe) in (address..).step_by(4).zip(pes) {
            super::access::write_raw(at, &pe.to_ne_bytes());
        }
        for (my_pe, &pe) in pes.iter().enumerate() {
            let entry = TeamAbi {
                my_pe: my_pe as u32,
                n_pes: pes.len() as u32,
                start: 0,
                stride: 1,
                list: address,
                handle: team.to_bits(),
            };
            self.write_team(pe, slot, entry);
        }
        let _ = &mut list;
        self.lists.push(list);
        team
    }

    fn write_team(&self, pe: u32, slot: u32, entry: TeamAbi) {
        let table = self.words.address() + tables(self.pes) + u64::from(pe) * teams::BYTES;
        let at = table + u64::from(slot) * size_of::<TeamAbi>() as u64;
        let TeamAbi { my_pe, n_pes, start, stride, list, handle } = entry;
        let words = [my_pe, n_pes, start, stride.cast_unsigned()];
        for (at, word) in (at..).step_by(4).zip(words) {
            super::access::write_raw(at, &word.to_ne_bytes());
        }
        super::access::write_raw(at + 16, &list.to_ne_bytes());
        super::access::write_raw(at + 24, &handle.to_ne_bytes());
    }

    /// `count` registers. A world has one set of them: an earlier one is not looked at any more.
    pub fn registers(&mut self, count: usize) -> Registers {
        self.registers = Registers((0..count).map(|_| AtomicU64::new(Registers::UNSET)).collect());
        self.registers.clone()
    }

    /// Adds the final value of this PE's copy of a word, of at most 8 bytes, to the outcomes of a search.
    pub fn watch<T: Symmetric<Len = ()>>(&mut self, pe: u32, word: Sym<T>) {
        let address = self.heap.address() + u64::from(pe) * HEAP + word.offset();
        self.watched.push((address, T::ELEMENT_BYTES.min(8) as u32));
    }

    /// Runs `kernel` on every PE, once per seed.
    #[track_caller]
    pub fn check<K>(&mut self, options: &CheckOptions, grid: WorldGrid, kernel: K) -> Report
    where
        K: Fn(Collective) + Send + Sync + 'static,
    {
        self.engine.site = Location::caller();
        let kernel: Kernel = Arc::new(kernel);
        let mut report = Report::default();
        let mut keys = HashSet::new();
        for run in 0..options.seeds.max(1) {
            let schedule = match &options.schedule {
                Schedule::Seed(seed) => Schedule::Seed(seed.wrapping_add(run.into())),
                fixed @ Schedule::Choices(_) => fixed.clone(),
            };
            let findings = self.once(options, &schedule, grid, &kernel);
            report.runs += 1;
            report.operations += self.engine.state().operations;
            for finding in findings {
                if !keys.insert(finding.key()) {
                    continue;
                }
                let mut small = schedule.clone();
                if options.minimise {
                    let (taken, operations) = self.replayed(options, &schedule, grid, &kernel);
                    let key = finding.key();
                    let mut shows = |choices: &[super::Choice]| {
                        let schedule = Schedule::Choices(choices.to_vec());
                        self.once(options, &schedule, grid, &kernel).iter().any(|other| other.key() == key)
                    };
                    if let Some(fewest) = minimise(taken, operations, &mut shows) {
                        small = Schedule::Choices(fewest);
                    }
                }
                report.findings.push((finding, small));
            }
            if matches!(options.schedule, Schedule::Choices(_)) {
                break;
            }
        }
        report
    }

    /// The choices of a run, and how many operations it comes to.
    fn replayed(
        &mut self,
        options: &CheckOptions,
        schedule: &Schedule,
        grid: WorldGrid,
        kernel: &Kernel,
    ) -> (Vec<super::Choice>, u64) {
        self.once(options, schedule, grid, kernel);
        let run = self.engine.state();
        (run.choose.taken().to_vec(), run.operations)
    }

    fn once(
        &mut self,
        options: &CheckOptions,
        schedule: &Schedule,
        grid: WorldGrid,
        kernel: &Kernel,
    ) -> Vec<Finding> {
        {
            let mut run = self.engine.state();
            run.profile = options.profile;
            run.choose = Chooser::new(schedule, self.pes);
        }
        self.play((options.steps, options.patience), grid, kernel);
        self.engine.state().findings.clone()
    }

    /// One run; how it ended.
    fn play(&mut self, (steps, patience): (u64, Duration), grid: WorldGrid, kernel: &Kernel) -> End {
        self.reset();
        self.engine.begin(steps);
        for pe in 0..self.pes {
            if let Err(error) = self.submit(pe, grid, kernel) {
                let detail = error.to_string();
                self.engine.state().found(Finding { detail, ..Finding::new(Kind::NotResident) });
                self.engine.stop();
                return End::Stopped;
            }
        }
        let _entered = hooks::enter(self.engine.current);
        let _bounded = self.engine.current.checked.as_ref().map(|run| trap::bound(patience, run));
        self.engine.run(&mut Alone)
    }

    fn reset(&mut self) {
        let base = self.heap.address();
        for pe in 0..u64::from(self.pes) {
            zero(base + pe * HEAP, self.used);
        }
        for memory in &self.locals {
            zero(memory.address(), memory.bytes());
        }
        zero(self.words.address(), tables(self.pes));
        self.registers.reset();
        let mut run = self.engine.state();
        run.reset();
        for taken in &self.taken {
            let writer = if taken.written { INITIAL } else { NONE };
            if !taken.written {
                for pe in 0..u64::from(self.pes) {
                    run.shadow.set(base + pe * HEAP + taken.offset, taken.bytes, writer);
                }
            }
        }
    }

    fn submit(&mut self, pe: u32, grid: WorldGrid, kernel: &Kernel) -> Result<(), Error> {
        let (base, words) = (self.heap.address(), self.words.address());
        let context = ContextAbi {
            my_pe: pe,
            n_pes: self.pes,
            heap_base: base + u64::from(pe) * HEAP,
            heap_bytes: HEAP,
            peer_stride: HEAP,
            error_record: words + 64 + u64::from(pe) * size_of::<ErrorRecord>() as u64,
            alarm: words,
            deadline: DEADLINE,
            grid_slot: 0,
            launch: 1,
            teams: words + tables(self.pes) + u64::from(pe) * teams::BYTES,
            trace: 0,
            tuning: oxshmem_device::abi::tuning::H200,
        };
        let kernel = kernel.clone();
        let launch = Launch {
            name: "kernel",
            grid: [grid.blocks, 1, 1],
            block: [grid.threads, 1, 1],
            shared_bytes: grid.shared,
            collective: true,
            context,
            site: None,
            // SAFETY: the context is that of this launch, whose memory the world keeps.
            run: Box::new(move |context| kernel(unsafe { Collective::from_abi(context, true) })),
        };
        launch.check(&self.config)?;
        let stacks = launch.stacks(&self.config)?;
        let stream = Arc::<StreamShared>::default();
        self.engine.workers[pe as usize].submit_checked(Submission {
            stream,
            launch,
            stacks,
            ticket: 0,
            after: None,
        });
        Ok(())
    }

    /// Runs `kernel` on every PE under every schedule.
    pub fn search<K>(&mut self, search: Search, grid: WorldGrid, kernel: K) -> Outcomes
    where
        K: Fn(Collective) + Send + Sync + 'static,
    {
        let kernel: Kernel = Arc::new(kernel);
        let mut outcomes = Outcomes::default();
        self.engine.state().early.clear();
        self.search_once(search, grid, &kernel, &mut outcomes);
        let more = self.engine.state().early.has_some() && search.profile != Profile::OpenShmem;
        if outcomes.complete && more {
            outcomes.complete = false;
            self.engine.state().early.tries = true;
            self.search_once(search, grid, &kernel, &mut outcomes);
        }
        outcomes
    }

    fn search_once(&mut self, search: Search, grid: WorldGrid, kernel: &Kernel, outcomes: &mut Outcomes) {
        {
            let mut run = self.engine.state();
            run.profile = search.profile;
            run.choose = Chooser::search();
        }
        let mut keys: HashSet<_> = outcomes.findings.iter().map(Finding::key).collect();
        while outcomes.runs < search.runs {
            let end = self.play((1 << 20, Duration::from_secs(2)), grid, kernel);
            outcomes.runs += 1;
            let findings = std::mem::take(&mut self.engine.state().findings);
            for finding in findings {
                outcomes.kinds.insert(finding.kind);
                if keys.insert(finding.key()) {
                    outcomes.findings.push(finding);
                }
            }
            if end == End::Done {
                let mut values = self.registers.values();
                let watched = self.watched.iter();
                values.extend(watched.map(|&(address, bytes)| super::access::raw(address, bytes)[0]));
                *outcomes.outcomes.entry(values).or_default() += 1;
            }
            if !self.engine.state().choose.advance() {
                outcomes.complete = true;
                break;
            }
        }
    }
}

/// A kernel, as every thread runs it.
type Kernel = Arc<dyn Fn(Collective) + Send + Sync>;

/// Zeroes mapped memory.
fn zero(address: u64, bytes: u64) {
    // SAFETY: the callers pass memory of the world, which nothing else uses now.
    unsafe { core::ptr::with_exposed_provenance_mut::<u8>(address as usize).write_bytes(0, bytes as usize) };
}

impl Drop for World {
    fn drop(&mut self) {
        self.engine.workers.clear();
        let current = core::ptr::from_ref(self.engine.current).cast_mut();
        // SAFETY: made by `Box::leak` in `new`. The workers, which alone had it besides, are gone, and so are their
        // coroutines; no hooks are entered between two runs.
        drop(unsafe { Box::from_raw(current) });
    }
}
