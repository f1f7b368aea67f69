//! Two NICs with one queue pair each, connected.

use super::{Cqe, End, HEAP, IOVA};
use oxshmem_emulator::nic::{Access, Adversary, Fabric, Nic, NicConfig, Time};

/// How the two are set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub seed: Option<u64>,
    pub access: Access,
    /// What the queue pairs allow their peer.
    pub rights: Access,
    pub log_send: u8,
    pub log_completions: u8,
    pub collapsed: bool,
    pub receive: bool,
    pub mtu: u32,
    pub log_reads: u8,
    pub ack_timeout: u8,
    pub retries: u8,
    pub rnr_retry: u8,
    pub poison: bool,
    pub watchdog_us: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            seed: None,
            access: Access::ALL,
            rights: Access::ALL,
            log_send: 6,
            log_completions: 6,
            collapsed: false,
            receive: false,
            mtu: 1024,
            log_reads: 4,
            ack_timeout: 14,
            retries: 7,
            rnr_retry: 7,
            poison: true,
            watchdog_us: 10_000,
        }
    }
}

impl Setup {
    pub fn seed(seed: u64) -> Self {
        Self { seed: Some(seed), ..Self::default() }
    }

    pub fn config(&self) -> NicConfig {
        let mut config = NicConfig::default();
        config.adversary = self.seed.map(|seed| Adversary { seed });
        config.poison = self.poison;
        config.watchdog_us = self.watchdog_us;
        config.time = Time::Steps;
        config
    }
}

/// `a` posts, `b` is written to.
pub struct Pair {
    pub a: End,
    pub b: End,
}

impl Pair {
    pub fn new(setup: Setup) -> Self {
        let fabric = Fabric::local(2).unwrap();
        let end = || End::new(Nic::new(setup.config(), &fabric).unwrap(), &setup);
        let pair = Self { a: end(), b: end() };
        pair.a.connect(pair.b.nic.lid(), pair.b.qpn, &setup, (0xff_fffe, 7));
        pair.b.connect(pair.a.nic.lid(), pair.a.qpn, &setup, (7, 0xff_fffe));
        pair
    }

    /// A place in `b`'s heap.
    pub fn remote(&self, offset: u64) -> (u64, u32) {
        assert!(offset <= HEAP);
        (IOVA + offset, self.b.keys.rkey)
    }

    /// A place in `a`'s heap.
    pub fn local(&self, offset: u64) -> (u64, u32) {
        assert!(offset <= HEAP);
        (IOVA + offset, self.a.keys.lkey)
    }

    pub fn step(&self) -> bool {
        let first = self.a.nic.step();
        self.b.nic.step() | first
    }

    /// Until nothing can happen.
    pub fn settle(&self) {
        for _ in 0..10_000_000 {
            // The second look: what one NIC sent last, the other has not seen.
            if !self.step() && !self.step() {
                return;
            }
        }
        panic!("it never settles");
    }

    /// Steps until `a` has this many completions.
    pub fn completions(&mut self, count: usize) -> Vec<Cqe> {
        let mut all = Vec::new();
        for _ in 0..2_000_000 {
            all.extend(self.a.poll());
            if all.len() == count {
                return all;
            }
            self.step();
        }
        panic!("{} of {count} completions; violations: {:?}", all.len(), self.violations());
    }

    pub fn violations(&self) -> Vec<String> {
        let both = [&self.a, &self.b];
        both.into_iter().flat_map(|end| end.nic.violations()).map(|violation| violation.to_string()).collect()
    }

    /// No violation on either side.
    pub fn assert_clean(&self) {
        assert_eq!(self.violations(), Vec::<String>::new());
    }
}
