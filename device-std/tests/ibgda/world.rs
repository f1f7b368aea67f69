//! A queue pair, its NIC, and the memory of both sides. Nothing is freed: threads may still look at it.

use crate::nic::{LKEY, Nic, QPN, RKEY};
use crate::plain::Plain;
use oxshmem_device::net::ibgda::abi::{QueuePairAbi, QueuePairState, VERSION, flags};
use oxshmem_device::net::ibgda::{Deadline, Failure, Place, QueuePair};
use oxshmem_device::net::mlx5::{Key, QueueNumber};
use std::sync::{Arc, Mutex};

/// Bytes of each side's memory.
pub(crate) const BYTES: u64 = 1 << 16;

/// How a world differs from the usual one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) flags: u32,
    pub(crate) log_blocks: u32,
    pub(crate) log_batch: u32,
    pub(crate) log_landing: u32,
    pub(crate) log_max_message: u32,
}

impl Default for Shape {
    fn default() -> Self {
        Self { flags: 0, log_blocks: 4, log_batch: 3, log_landing: 3, log_max_message: 30 }
    }
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) abi: u64,
    pub(crate) state: u64,
    pub(crate) nic: Arc<Mutex<Nic>>,
    local: u64,
    remote: u64,
}

/// Zeroed memory of `bytes` bytes, aligned to 4096.
pub(crate) fn memory(bytes: u64) -> u64 {
    let words = vec![[0u64; 512]; bytes.div_ceil(4096) as usize + 1];
    (words.leak().as_ptr() as u64).next_multiple_of(4096)
}

impl World {
    pub(crate) fn new(shape: Shape) -> Self {
        let blocks = memory(64 << shape.log_blocks);
        let (record, page, host) = (memory(8), memory(4096), memory(8));
        let collapsed = shape.flags & flags::COLLAPSED != 0;
        let log_completions = if collapsed { 0 } else { shape.log_blocks };
        let (entries, consumer) = (memory(64 << log_completions), memory(8));
        crate::nic::write(entries, &vec![0xff; 64 << log_completions]);
        let (local, remote) = (memory(BYTES), memory(BYTES));
        let landing = memory(8 + (8 << shape.log_landing));
        let by_host = shape.flags & flags::DOORBELL_BY_HOST != 0;
        let abi = QueuePairAbi {
            version: VERSION,
            flags: shape.flags,
            queue: QueueNumber::new(QPN),
            log_blocks: shape.log_blocks,
            blocks,
            record: record + 4,
            doorbell: if by_host { host } else { page + 0x800 },
            completions: entries,
            completion_record: consumer,
            log_completions,
            log_batch: shape.log_batch,
            state: memory(size_of::<QueuePairState>() as u64),
            landing,
            landing_registered: landing,
            landing_turns: memory(8 << shape.log_landing),
            landing_key: Key::new(LKEY),
            log_landing: shape.log_landing,
            log_max_message: shape.log_max_message,
            pe: 1,
            number: 0,
            unused: 0,
        };
        assert_eq!(abi.check(), Ok(()));
        let mut nic = Nic::new(blocks, shape.log_blocks);
        nic.record = record + 4;
        nic.doorbell = if by_host { 0 } else { page + 0x800 };
        (nic.entries, nic.log_entries, nic.consumer) = (entries, log_completions, consumer);
        nic.collapsed = collapsed;
        nic.remote = (remote, remote + BYTES);
        // Landing memory is registered with the same key.
        nic.local = (local.min(landing), (local + BYTES).max(landing + 8 + (8 << shape.log_landing)));
        let table = memory(128);
        // SAFETY: fresh memory, aligned to more than 128.
        unsafe { (table as *mut QueuePairAbi).write(abi) };
        Self { abi: table, state: abi.state, nic: Arc::new(Mutex::new(nic)), local, remote }
    }

    pub(crate) fn queue(&self) -> QueuePair<Plain> {
        // SAFETY: `new` has built what it needs, and nothing is freed.
        unsafe { QueuePair::new(Plain, self.abi) }
    }

    pub(crate) fn local(&self, at: u64) -> Place {
        Place { address: self.local + at, key: Key::new(LKEY) }
    }

    pub(crate) fn remote(&self, at: u64) -> Place {
        Place { address: self.remote + at, key: Key::new(RKEY) }
    }

    /// A deadline of `looks` failed looks, after each of which the NIC does something.
    pub(crate) fn looks(&self, looks: u32) -> Looks {
        Looks { nic: self.nic.clone(), left: looks }
    }

    pub(crate) fn quiet(&self) -> Result<(), Failure> {
        self.queue().quiet(&mut self.looks(10_000))
    }

    /// The requests' opcodes so far.
    pub(crate) fn opcodes(&self) -> Vec<u8> {
        self.nic.lock().unwrap().log.iter().map(|(opcode, _)| *opcode).collect()
    }
}

pub(crate) struct Looks {
    nic: Arc<Mutex<Nic>>,
    left: u32,
}

impl Deadline for Looks {
    fn goes_on(&mut self, _: u32) -> bool {
        self.left = self.left.saturating_sub(1);
        let mut nic = self.nic.lock().unwrap_or_else(|poisoned| panic!("the NIC has panicked: {poisoned}"));
        nic.step();
        self.left != 0
    }
}

/// Numbers that look like chance (xorshift64*).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
