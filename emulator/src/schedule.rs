//! Who runs next: the runnable threads of a device, in turn or by a seed.
//!
//! A *pass* resumes every thread that was runnable when it began once; threads that become runnable
//! meanwhile come in the next pass. Threads that wait at a barrier or warp collective are not here.

use crate::random::Random;

/// A thread of a resident block: the block's slot and the thread's number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId {
    pub(crate) block: u32,
    pub(crate) thread: u32,
}

/// The runnable threads.
#[derive(Debug)]
pub(crate) struct RunQueue {
    /// This pass, last one first.
    pass: Vec<ThreadId>,
    next: Vec<ThreadId>,
    random: Option<Random>,
}

impl RunQueue {
    /// In turn, or pseudo-randomly by `seed`.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self { pass: Vec::new(), next: Vec::new(), random: seed.map(Random) }
    }

    /// Makes a thread run in the next pass.
    pub(crate) fn push(&mut self, id: ThreadId) {
        self.next.push(id);
    }

    /// Takes out all threads that run in the next pass.
    pub(crate) fn take(&mut self) -> Vec<ThreadId> {
        self.pass.clear();
        core::mem::take(&mut self.next)
    }

    /// Begins a pass.
    pub(crate) fn begin(&mut self) {
        debug_assert!(self.pass.is_empty());
        core::mem::swap(&mut self.pass, &mut self.next);
        self.pass.reverse();
    }

    /// The next thread of the pass, or `None` at its end.
    pub(crate) fn pop(&mut self) -> Option<ThreadId> {
        match &mut self.random {
            Some(random) if self.pass.len() > 1 => {
                let at = random.below(self.pass.len() as u32) as usize;
                Some(self.pass.swap_remove(at))
            }
            _ => self.pass.pop(),
        }
    }

    /// Forgets the threads of a block.
    pub(crate) fn forget(&mut self, block: u32) {
        self.pass.retain(|id| id.block != block);
        self.next.retain(|id| id.block != block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(queue: &mut RunQueue, threads: u32) -> Vec<u32> {
        (0..threads).for_each(|thread| queue.push(ThreadId { block: 0, thread }));
        queue.begin();
        std::iter::from_fn(|| queue.pop()).map(|id| id.thread).collect()
    }

    #[test]
    fn without_a_seed_threads_run_in_turn() {
        assert_eq!(pass(&mut RunQueue::new(None), 4), [0, 1, 2, 3]);
    }

    #[test]
    fn a_seed_fixes_an_order_in_which_each_runs_once() {
        let a = pass(&mut RunQueue::new(Some(7)), 100);
        assert_eq!(a, pass(&mut RunQueue::new(Some(7)), 100));
        assert_ne!(a, pass(&mut RunQueue::new(Some(8)), 100));
        let mut sorted = a;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_forgotten_block_does_not_run() {
        let mut queue = RunQueue::new(None);
        queue.push(ThreadId { block: 1, thread: 0 });
        queue.push(ThreadId { block: 2, thread: 0 });
        queue.begin();
        queue.push(ThreadId { block: 1, thread: 1 });
        queue.forget(1);
        assert_eq!(queue.pop(), Some(ThreadId { block: 2, thread: 0 }));
        assert_eq!(queue.pop(), None);
        queue.begin();
        assert_eq!(queue.pop(), None);
    }
}
