//! Emulated NICs beside emulated GPUs: kernels post, ring and wait; the GPUs' clock does not run ahead of the NICs.

mod common;
mod nic_poster;

use common::{DATA, HEAP, Job, signal};
use nic_poster::{End, Entry, IOVA, Setup};
use oxshmem_device::prelude::*;
use oxshmem_emulator::nic::{Access, Adversary, Fabric, Fault, Keys, Nic, NicConfig, NicThread};
use oxshmem_emulator::{MachineConfig, STEPS_PER_SECOND};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far beyond what a test could count up to.
const HOUR: u64 = 3600 * STEPS_PER_SECOND;

/// Two PEs on a device each, with a NIC each; `keys` are those of the PEs' heaps.
struct Cluster {
    job: Job,
    ends: [Arc<Mutex<End>>; 2],
    keys: [Keys; 2],
    nics: [Arc<Nic>; 2],
}

fn cluster(seed: Option<u64>) -> Cluster {
    let job = Job::new(2, MachineConfig { devices: 2, ..MachineConfig::default() }).with_deadline(HOUR);
    let fabric = Fabric::local(2).unwrap();
    let setup = Setup { ack_timeout: 20, log_completions: 8, ..Setup::default() };
    let ends: [End; 2] = std::array::from_fn(|_| {
        let mut config = NicConfig::default();
        config.adversary = seed.map(|seed| Adversary { seed });
        End::new(Nic::new(config, &fabric).unwrap(), &setup)
    });
    ends[0].connect(ends[1].nic.lid(), ends[1].qpn, &setup, (1, 2));
    ends[1].connect(ends[0].nic.lid(), ends[0].qpn, &setup, (2, 1));
    let keys = std::array::from_fn(|pe| {
        let heap = job.pes[pe].heap as *mut u8;
        // SAFETY: the heap lives as long as the job, which ends after the NICs' thread.
        unsafe { ends[pe].nic.register(ends[pe].pd, IOVA, heap, HEAP, Access::ALL) }.unwrap()
    });
    let nics = [ends[0].nic.clone(), ends[1].nic.clone()];
    Cluster { job, ends: ends.map(|end| Arc::new(Mutex::new(end))), keys, nics }
}

impl Cluster {
    fn start(&self) -> NicThread {
        NicThread::start_for(self.job.machine.clone(), self.nics.to_vec()).unwrap()
    }

    /// A kernel of one thread on each PE.
    fn launch(&self, kernel: impl Fn(&Collective, &mut dyn FnMut(u64, u64)) + Clone + Send + 'static) {
        for pe in 0..2 {
            let (end, rkey, kernel) = (self.ends[pe].clone(), self.keys[1 - pe].rkey, kernel.clone());
            self.job.launch(pe as u32, (1, 1), move |shmem| {
                // Sets a word of the other PE's heap by its NIC.
                let mut set = |offset: u64, value: u64| {
                    let mut end = end.lock().unwrap();
                    while end.poll().is_some() {}
                    let to = (IOVA + DATA + offset, rkey);
                    end.post(Entry::inline(to, &value.to_le_bytes()));
                    end.ring();
                };
                kernel(&shmem, &mut set);
            });
        }
    }
}

#[test]
fn kernels_play_ping_pong_by_their_nics() {
    for seed in [None, Some(1), Some(2)] {
        let cluster = cluster(seed);
        let thread = cluster.start();
        cluster.launch(|shmem, set| {
            for round in 1..=100 {
                if shmem.my_pe() == 0 {
                    set(8, round);
                }
                shmem.thread().wait_until(signal(8), Cmp::Ge, round);
                if shmem.my_pe() == 1 {
                    set(8, round);
                }
            }
        });
        cluster.job.finish();
        assert!(!cluster.job.alarmed(), "a wait expired");
        assert_eq!([0, 1].map(|pe| cluster.job.peek(pe, DATA + 8)), [100; 2]);
        drop(thread);
        for nic in &cluster.nics {
            assert_eq!(nic.violations(), []);
        }
    }
}

#[test]
fn no_wait_expires_while_a_request_is_under_way_however_long() {
    let cluster = cluster(None);
    cluster.nics[1].inject(Fault::Frozen(true)).unwrap();
    let thread = cluster.start();
    cluster.launch(|shmem, set| {
        if shmem.my_pe() == 0 {
            set(8, 1);
        } else {
            shmem.thread().wait_until(signal(8), Cmp::Eq, 1);
        }
    });
    // Longer than the grace that the clock gives to threads which it does not know.
    let nic = cluster.nics[1].clone();
    let thaw = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        nic.inject(Fault::Frozen(false)).unwrap();
    });
    cluster.job.finish();
    assert!(!cluster.job.alarmed(), "the wait expired");
    thaw.join().unwrap();
    drop(thread);
}

#[test]
fn a_wait_that_no_nic_will_end_expires_at_once() {
    let cluster = cluster(None);
    let thread = cluster.start();
    let start = Instant::now();
    cluster.launch(|shmem, set| {
        if shmem.my_pe() == 0 {
            set(16, 1);
        } else {
            shmem.thread().wait_until(signal(8), Cmp::Eq, 1);
        }
    });
    assert!(cluster.job.outcomes().iter().all(Result::is_ok));
    assert!(cluster.job.alarmed());
    assert!(start.elapsed() < Duration::from_secs(60), "an hour of machine time is no hour");
    drop(thread);
}
