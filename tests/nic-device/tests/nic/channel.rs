//! A NIC with memory, and a queue pair of ours with its completion queue: what a GPU's kernel does, in small.

use crate::boxes::Pages;
use oxshmem::net::verbs::context::{GidKind, Link};
use oxshmem::net::verbs::cq::CqPlan;
use oxshmem::net::verbs::mailbox::Route;
use oxshmem::net::verbs::memory::{Access, Place};
use oxshmem::net::verbs::qp::{Peer, QpPlan, Settings};
use oxshmem::net::verbs::{Context, Cq, Device, Pd, Qp, Region, Uar, Umem};
use oxshmem_device::net::mlx5::cqe::{self, CqeOpcode, ErrorWord, Tail};
use oxshmem_device::net::mlx5::doorbell::{RECORD_SEND, consumer_record, send_doorbell, send_record};
use oxshmem_device::net::mlx5::{
    Completion, Control, Fence, Key, QueueNumber, Segment, Syndrome, wqe::Place as Name,
};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Blocks of a send queue and entries of a completion queue, as a power of two: small, so that they wrap often.
const LOG_SIZE: u32 = 7;
pub(crate) const DEPTH: u64 = 1 << LOG_SIZE;
/// Where they lie in the memory of queues.
const QUEUE: u64 = 0;
const ENTRIES: u64 = 64 * DEPTH;
const RECORDS: u64 = ENTRIES + 64 * DEPTH;
/// Bytes of the memory of queues.
pub(crate) const QUEUES: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(20);

/// A NIC with memory that peers may use.
pub(crate) struct Side {
    pub(crate) context: Arc<Context>,
    pub(crate) pd: Arc<Pd>,
    pub(crate) region: Region,
    pub(crate) pages: Pages,
}

/// Bytes of that memory.
pub(crate) const BYTES: usize = 64 << 10;

impl Side {
    pub(crate) fn new(device: &str) -> Result<Side> {
        let context = Device::named(device)?.open()?;
        context.sufficient()?;
        let pd = Pd::new(&context)?;
        let pages = Pages::new(BYTES);
        // SAFETY: the pages stay until the region is dropped, and are accessed by volatile accesses alone.
        let region = unsafe { Region::of_mapped(&pd, pages.start(), BYTES, Access::HEAP)? };
        Ok(Side { context, pd, region, pages })
    }

    pub(crate) fn lid(&self) -> Result<u16> {
        Ok(self.context.port(1)?.lid)
    }

    /// How peers reach it.
    pub(crate) fn route(&self) -> Result<Route> {
        let port = self.context.port(1)?;
        let gid = self.context.gid(1, 0)?.ok_or("the port has no address")?;
        Ok(match (port.link, gid.kind) {
            (Link::InfiniBand, GidKind::InfiniBand) => Route::InfiniBand { lid: port.lid, service_level: 0 },
            (Link::Ethernet, GidKind::RoceV2) => Route::Ethernet {
                gid: gid.bytes,
                mac: [0x02, 0, 0, 0, 0, 1],
                source: 0,
                traffic_class: 0x68,
                hop_limit: 64,
                udp_source: 0xc123,
                priority: 3,
            },
            other => return Err(format!("{port:?} with an address of {other:?}").into()),
        })
    }

    pub(crate) fn near(&self, offset: u64) -> Name {
        Name { address: self.region.address() + offset, key: Key::new(self.region.lkey()) }
    }

    pub(crate) fn far(&self, offset: u64) -> Name {
        Name { address: self.region.address() + offset, key: Key::new(self.region.rkey()) }
    }
}

/// A queue pair of ours with its completion queue.
pub(crate) struct Channel {
    pub(crate) qp: Qp,
    pages: Pages,
    collapsed: bool,
    /// The next block that is written, and the next that no completion was seen for.
    pub(crate) index: u64,
    done: u64,
    taken: u64,
    /// The end of each signalled request that is under way, by the index of its first block.
    under_way: Vec<(u16, u64)>,
    /// How long a completion may take.
    pub(crate) patience: Duration,
}

impl Channel {
    pub(crate) fn new(side: &Side, collapsed: bool) -> Result<Channel> {
        let pages = Pages::new(QUEUES);
        // SAFETY: the pages stay until the queues are dropped, and are accessed by volatile accesses and atomics alone.
        let umem = unsafe { Umem::of_mapped(&side.context, pages.start(), pages.length())? };
        Self::in_memory(side, pages, umem, collapsed)
    }

    /// Queues in memory of [`QUEUES`] bytes that the NIC knows.
    pub(crate) fn in_memory(side: &Side, pages: Pages, umem: Arc<Umem>, collapsed: bool) -> Result<Channel> {
        pages.put(ENTRIES as usize, &[cqe::EMPTY; 64 * DEPTH as usize]);
        let at = |offset| Place { umem: Arc::clone(&umem), offset };
        let uar = Uar::new(&side.context)?;
        let plan = CqPlan { log_size: LOG_SIZE, entries: at(ENTRIES), record: at(RECORDS), collapsed };
        let cq = Cq::new(&side.context, &uar, plan)?;
        let plan =
            QpPlan { log_size: LOG_SIZE, queue: at(QUEUE), record: at(RECORDS + 64), user_index: 0x1234 };
        let qp = Qp::new(&side.pd, &cq, &uar, plan)?;
        Ok(Channel {
            qp,
            pages,
            collapsed,
            index: 0,
            done: 0,
            taken: 0,
            under_way: Vec::new(),
            patience: PATIENCE,
        })
    }

    pub(crate) fn connect(&self, lid: u16, qpn: u32) -> Result<()> {
        self.connect_by(Route::InfiniBand { lid, service_level: 0 }, qpn)
    }

    pub(crate) fn connect_by(&self, route: Route, qpn: u32) -> Result<()> {
        Ok(self.qp.connect(&Settings::default(), &Peer { qpn, psn: 0, route })?)
    }

    /// The control segment of the next request.
    pub(crate) fn control(&self, fence: Fence) -> Control {
        let queue = QueueNumber::new(self.qp.number());
        Control { queue, index: self.index, fence, completion: Completion::Always }
    }

    fn atomic_u32(&self, offset: u64) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset as usize + 4 <= self.pages.length());
        // SAFETY: within the pages and aligned; the NIC accesses it atomically too.
        unsafe { AtomicU32::from_ptr(self.pages.start().add(offset as usize).cast()) }
    }

    /// Writes a signalled request, and rings for it unless `later`.
    pub(crate) fn post(&mut self, bytes: &[u8], later: bool) -> Result<()> {
        let blocks = (bytes.len() as u64).div_ceil(64);
        while self.index + blocks - self.done > DEPTH {
            self.ring();
            self.wait_one()?;
        }
        self.write(self.index, bytes);
        self.count(blocks);
        if !later {
            self.ring();
        }
        Ok(())
    }

    pub(crate) fn post_segments(&mut self, segments: &[Segment]) -> Result<()> {
        let bytes: Vec<u8> = segments.iter().flat_map(|segment| segment.to_bytes()).collect();
        self.post(&bytes, false)
    }

    /// Writes a request's blocks from an index on.
    pub(crate) fn write(&self, index: u64, bytes: &[u8]) {
        for (number, block) in bytes.chunks(64).enumerate() {
            let place = (index + number as u64) % DEPTH * 64;
            self.pages.put(place as usize, block);
        }
    }

    /// Counts a request of so many blocks.
    pub(crate) fn count(&mut self, blocks: u64) {
        self.under_way.push((self.index as u16, self.index + blocks));
        self.index += blocks;
    }

    /// Tells the NIC of all that was written.
    pub(crate) fn ring(&self) {
        self.store_record(RECORD_SEND, send_record(self.index));
        self.store_doorbell(send_doorbell(self.index, QueueNumber::new(self.qp.number())));
    }

    /// Stores to a word of the doorbell record, behind all that was written.
    pub(crate) fn store_record(&self, word: u64, value: u32) {
        fence(Ordering::Release);
        self.atomic_u32(RECORDS + 64 + word).store(value, Ordering::Release);
    }

    /// Stores to the doorbell register, behind the record.
    pub(crate) fn store_doorbell(&self, value: u64) {
        fence(Ordering::SeqCst);
        // SAFETY: the register is one of a page that is mapped as long as the queue pair is there.
        unsafe { AtomicU64::from_ptr(self.qp.uar().register().as_ptr()) }.store(value, Ordering::Release);
    }

    /// Waits for the next completion, or with a collapsed queue for a newer one.
    pub(crate) fn wait_one(&mut self) -> Result<()> {
        let start = Instant::now();
        let entry = ENTRIES + if self.collapsed { 0 } else { self.taken % DEPTH * 64 };
        let tail = loop {
            let tail = Tail::from_memory(self.atomic_u32(entry + cqe::TAIL).load(Ordering::Acquire));
            let written = match self.collapsed {
                false => tail.is_written(self.taken, LOG_SIZE),
                true => {
                    tail.opcode() != CqeOpcode::Invalid
                        && self.under_way.iter().any(|(first, _)| *first == tail.counter())
                }
            };
            if written {
                break tail;
            }
            if start.elapsed() > self.patience {
                return Err(format!("no completion: {:?}", self.qp.standing()).into());
            }
            // The NIC's thread may want this core.
            std::thread::yield_now();
        };
        let request = self.atomic_u32(entry + cqe::REQUEST).load(Ordering::Relaxed);
        if cqe::request_qpn(request) != self.qp.number() {
            return Err(format!("a completion of queue pair {:#x}", cqe::request_qpn(request)).into());
        }
        let user_index = u32::from_be(self.atomic_u32(entry + 32).load(Ordering::Relaxed));
        if user_index != 0x1234 {
            return Err(format!("a completion with user index {user_index:#x}").into());
        }
        let at = self.under_way.iter().position(|(first, _)| *first == tail.counter());
        let Some(at) = at.filter(|at| self.collapsed || *at == 0) else {
            return Err(format!(
                "a completion of block {:#x}; under way: {:x?}",
                tail.counter(),
                self.under_way
            )
            .into());
        };
        self.done = self.under_way[at].1;
        self.under_way.drain(..=at);
        self.taken += 1;
        if !self.collapsed {
            self.atomic_u32(RECORDS).store(consumer_record(self.taken), Ordering::Release);
        }
        match tail.opcode() {
            CqeOpcode::Requester => Ok(()),
            _ => {
                let error =
                    ErrorWord::from_memory(self.atomic_u32(entry + cqe::ERROR).load(Ordering::Relaxed));
                Err(Box::new(Failed(error.syndrome())))
            }
        }
    }

    /// Waits until all that was posted is done.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.ring();
        while self.done < self.index {
            self.wait_one()?;
        }
        Ok(())
    }
}

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) Option<Syndrome>);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a request failed: {:?}", self.0)
    }
}

impl Error for Failed {}
