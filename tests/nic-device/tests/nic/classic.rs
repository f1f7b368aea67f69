//! A pair of libmlx5's own queue pairs, connected with each other, and the memory that they work on.

use crate::boxes::Pages;
use crate::operation::{BYTES, MOST_INLINE, Names, Request};
use crate::random::Random;
use oxshmem::net::verbs::abi::IbvWc;
use oxshmem::net::verbs::classic::{ClassicCq, ClassicQp, SendQueue};
use oxshmem::net::verbs::memory::Access;
use oxshmem::net::verbs::{Device, Pd, Region, VerbsError};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks of the send queue.
pub(crate) const BLOCKS: u32 = 512;
/// A NIC that does nothing for so long has lost something.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pair. Work is posted to the first.
pub(crate) struct Classic {
    pub(crate) qp: ClassicQp,
    _peer: ClassicQp,
    cq: Arc<ClassicCq>,
    queue: SendQueue,
    region: Region,
    pub(crate) pages: Pages,
    /// The index of the next block.
    pub(crate) index: u64,
    posted: u64,
    done: u64,
}

impl Classic {
    pub(crate) fn new(random: &mut Random) -> Result<Self, Box<dyn Error>> {
        let context = Device::named("mlx5_0")?.open()?;
        let lid = context.port(1)?.lid;
        let pd = Pd::new(&context)?;
        let pages = Pages::new(BYTES);
        for at in (0..256 << 10).step_by(8) {
            pages.put_word(at, random.next());
        }
        // SAFETY: the pages stay until the region is dropped, and are accessed by volatile accesses alone.
        let region = unsafe { Region::of_mapped(&pd, pages.start(), pages.length(), Access::HEAP)? };
        let cq = ClassicCq::new(&context, BLOCKS as i32)?;
        let (qp, queue) = of_blocks(&pd, &cq)?;
        let peer = ClassicQp::new(&pd, &cq, 1, 0)?;
        qp.connect(peer.number(), lid)?;
        peer.connect(qp.number(), lid)?;
        Ok(Classic { qp, _peer: peer, cq, queue, region, pages, index: 0, posted: 0, done: 0 })
    }

    /// The memory as work requests name it.
    pub(crate) fn names(&self) -> Names {
        Names { address: self.region.address(), lkey: self.region.lkey(), rkey: self.region.rkey() }
    }

    /// Lets libmlx5 post a request, as soon as there is room.
    pub(crate) fn post(&mut self, request: &Request) -> Result<(), Box<dyn Error>> {
        let post = request.post(self.posted, self.names());
        let start = Instant::now();
        loop {
            // SAFETY: an inline write's bytes lie in the pages.
            match unsafe { self.qp.post(&post) } {
                Ok(()) => break,
                Err(VerbsError::Call { source, .. }) if source.raw_os_error() == Some(libc::ENOMEM) => {}
                Err(error) => return Err(error.into()),
            }
            self.poll()?;
            // The NIC's thread may want this core.
            std::thread::yield_now();
            if start.elapsed() > PATIENCE {
                return Err(format!("{} of {} requests are done, and no more", self.done, self.posted).into());
            }
        }
        self.posted += 1;
        Ok(())
    }

    /// The bytes that stand in the send queue from the next block on, and may go on at its start.
    pub(crate) fn bytes(&self, length: usize) -> Vec<u8> {
        let all = BLOCKS as usize * 64;
        let first = (self.index as usize % BLOCKS as usize) * 64;
        // SAFETY: within the queue of so many blocks.
        (0..length).map(|i| unsafe { self.queue.start.add((first + i) % all).read_volatile() }).collect()
    }

    fn poll(&mut self) -> Result<(), Box<dyn Error>> {
        // SAFETY: all fields are integers, for which zero is a value.
        let mut found: [IbvWc; 32] = unsafe { std::mem::zeroed() };
        let count = self.cq.poll(&mut found)?;
        for completion in &found[..count] {
            if completion.status != 0 {
                return Err(format!("request {}: {completion:?}", completion.wr_id).into());
            }
            // Those before it have no completion of their own.
            self.done = completion.wr_id + 1;
        }
        Ok(())
    }

    /// Waits for the last request, which must be signalled.
    pub(crate) fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        while self.done < self.posted {
            self.poll()?;
            // The NIC's thread may want this core.
            std::thread::yield_now();
            if start.elapsed() > PATIENCE {
                return Err(format!("{} of {} requests are done, and no more", self.done, self.posted).into());
            }
        }
        Ok(())
    }
}

/// A queue pair whose send queue has [`BLOCKS`] blocks: libmlx5 computes that from the number of requests.
fn of_blocks(pd: &Arc<Pd>, cq: &Arc<ClassicCq>) -> Result<(ClassicQp, SendQueue), Box<dyn Error>> {
    for depth in (0..9).map(|log| BLOCKS >> log) {
        let qp = ClassicQp::new(pd, cq, depth, MOST_INLINE as u32)?;
        let queue = qp.send_queue()?;
        if queue.blocks == BLOCKS && queue.stride == 64 {
            return Ok((qp, queue));
        }
    }
    Err(format!("no depth gives a send queue of {BLOCKS} blocks").into())
}
