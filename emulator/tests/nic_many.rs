//! Many NICs, each with a queue pair to every other and to itself, all at once.

mod nic_poster;

use nic_poster::{End, Entry, IOVA, Memory, SIGNAL, Setup};
use oxshmem_emulator::nic::{Access, Fabric, Keys, Nic};

const NICS: usize = 7;
/// Rounds of each queue pair.
const ROUNDS: u64 = 12;

fn all_pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..NICS).flat_map(|i| (0..NICS).map(move |j| (i, j)))
}

#[test]
fn every_pair_communicates_at_once_and_nothing_is_mixed_up() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        let setup = Setup { seed, mtu: 512, ..Setup::default() };
        let fabric = Fabric::local(NICS as u32).unwrap();
        let nics: Vec<_> = (0..NICS).map(|_| Nic::new(setup.config(), &fabric).unwrap()).collect();
        // ends[i][j] is of NIC i, to NIC j.
        let mut ends: Vec<Vec<End>> =
            nics.iter().map(|nic| (0..NICS).map(|_| End::new(nic.clone(), &setup)).collect()).collect();
        for (i, j) in all_pairs() {
            let (to, back) = (nics[j].lid(), ends[j][i].qpn);
            let psn = |i, j| (i * NICS + j) as u32;
            ends[i][j].connect(to, back, &setup, (psn(i, j), psn(j, i)));
        }
        for (i, j) in all_pairs() {
            let rkey = ends[j][i].keys.rkey;
            let end = &mut ends[i][j];
            end.heap.write(4096, &vec![(i * NICS + j + 1) as u8; 3000]);
            let lkey = end.keys.lkey;
            for _ in 0..ROUNDS {
                end.post(Entry::write((IOVA + 8192, rkey), (IOVA + 4096, lkey), 3000).flags(0));
                end.post(Entry::fetch_add((IOVA, rkey), (IOVA + 64, lkey), (i * NICS + j) as u64).flags(0));
            }
            end.post(Entry::read((IOVA + 8192, rkey), (IOVA + 16384, lkey), 3000).flags(SIGNAL));
            end.ring();
        }
        let mut left = NICS * NICS;
        for _ in 0..1_000_000 {
            for nic in &nics {
                nic.step();
            }
            for cqe in ends.iter_mut().flatten().filter_map(End::poll) {
                assert_eq!(cqe.code, 0, "{cqe:?}");
                left -= 1;
            }
            if left == 0 {
                break;
            }
        }
        assert_eq!(left, 0);
        for (i, j) in all_pairs() {
            let (sent, there) = ((i * NICS + j) as u64, &ends[j][i].heap);
            assert_eq!(there.load64(0), sent * ROUNDS);
            assert_eq!(there.read(8192, 3000), vec![sent as u8 + 1; 3000]);
            assert_eq!(ends[i][j].heap.read(16384, 3000), there.read(8192, 3000));
            assert_eq!(ends[i][j].heap.load64(64), sent * (ROUNDS - 1));
        }
        for nic in &nics {
            assert_eq!(nic.violations(), []);
        }
    }
}

#[test]
fn several_queue_pairs_add_to_one_word_of_one_region() {
    for seed in [None, Some(4), Some(5)] {
        let setup = Setup { seed, ..Setup::default() };
        let fabric = Fabric::local(3).unwrap();
        let nics: Vec<_> = (0..3).map(|_| Nic::new(setup.config(), &fabric).unwrap()).collect();
        let counter = Memory::new(64);
        // The target's queue pairs are of one domain each, so the word is registered for each.
        let mut pairs: Vec<(End, End, Keys)> = (0..6)
            .map(|at| {
                let (sender, target) =
                    (End::new(nics[1 + at % 2].clone(), &setup), End::new(nics[0].clone(), &setup));
                // SAFETY: the counter outlives the last step.
                let keys =
                    unsafe { nics[0].register(target.pd, IOVA, counter.start(), 64, Access::ALL) }.unwrap();
                sender.connect(nics[0].lid(), target.qpn, &setup, (0, 0));
                target.connect(sender.nic.lid(), sender.qpn, &setup, (0, 0));
                (sender, target, keys)
            })
            .collect();
        let mut seen = Vec::new();
        for _ in 0..20 {
            for (sender, _, keys) in &mut pairs {
                sender.post(Entry::fetch_add((IOVA, keys.rkey), (IOVA, sender.keys.lkey), 1));
                sender.ring();
            }
            let mut left = pairs.len();
            for _ in 0..100_000 {
                for nic in &nics {
                    nic.step();
                }
                for (sender, _, _) in &mut pairs {
                    if sender.poll().is_some_and(|cqe| cqe.code == 0) {
                        seen.push(sender.heap.load64(0));
                        left -= 1;
                    }
                }
                if left == 0 {
                    break;
                }
            }
            assert_eq!(left, 0);
        }
        // Each value was had by exactly one.
        seen.sort_unstable();
        assert_eq!(seen, (0..120).collect::<Vec<_>>());
        assert_eq!(counter.load64(0), 120);
    }
}
