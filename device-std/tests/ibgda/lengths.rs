//! Transfers that are longer than a message.

use crate::nic::{read, write};
use crate::world::{Shape, World};
use oxshmem_device::net::ibgda::NicSignal;
use oxshmem_device::net::ibgda::abi::flags;

/// 64 bytes a message, 8 blocks a reservation.
fn worlds() -> impl Iterator<Item = World> {
    [0, flags::FLUSH]
        .into_iter()
        .map(|flags| World::new(Shape { flags, log_max_message: 6, ..Shape::default() }))
}

/// Around one message, what one reservation holds with and without what stands behind it, and several.
const LENGTHS: &[u64] =
    &[1, 63, 64, 65, 127, 128, 129, 64 * 5, 64 * 5 + 1, 64 * 7, 64 * 7 + 1, 64 * 8, 64 * 8 + 1, 64 * 40 + 3];

#[test]
fn long_transfers_are_cut_and_arrive_whole() {
    for world in worlds() {
        let source: Vec<u8> = (0..4096u64).map(|at| (at % 251) as u8).collect();
        write(world.local(0).address, &source);
        for &bytes in LENGTHS {
            let (queue, deadline) = (world.queue(), &mut world.looks(100_000));
            write(world.remote(0).address, &[0xee; 4096]);
            let before = world.opcodes().len();
            queue.put(world.remote(3), world.local(3), bytes, deadline).unwrap();
            world.quiet().unwrap();
            assert_eq!(world.opcodes().len() - before, bytes.div_ceil(64) as usize);
            let got = read(world.remote(3).address, bytes as usize + 1);
            assert_eq!(got[..bytes as usize], source[3..][..bytes as usize]);
            assert_eq!(got[bytes as usize], 0xee);

            let back = world.local(8192);
            write(back.address, &[0xdd; 4096]);
            queue.get(world.remote(3), back, bytes, deadline).unwrap();
            world.quiet().unwrap();
            let got = read(back.address, bytes as usize + 1);
            assert_eq!(got[..bytes as usize], source[3..][..bytes as usize]);
            assert_eq!(got[bytes as usize], 0xdd);
        }
    }
}

#[test]
fn a_signal_stands_behind_all_messages_of_its_put() {
    for world in worlds() {
        write(world.local(0).address, &[9; 4096]);
        for &bytes in LENGTHS {
            for (signal, behind) in
                [(NicSignal::Set(bytes), vec![0x14, 0x00]), (NicSignal::Write(bytes), vec![0x08])]
            {
                let before = world.opcodes().len();
                let (to, from, word) = (world.remote(0), world.local(0), world.remote(8192));
                world.queue().put_signal(to, from, bytes, word, signal, &mut world.looks(100_000)).unwrap();
                world.quiet().unwrap();
                let mut expected = vec![0x08; bytes.div_ceil(64) as usize];
                expected.extend(behind);
                assert_eq!(world.opcodes()[before..], expected);
                assert_eq!(read(word.address, 8), bytes.to_le_bytes());
            }
        }
    }
}

#[test]
fn only_the_last_request_of_a_reservation_completes() {
    for world in worlds() {
        let queue = world.queue();
        queue.put(world.remote(0), world.local(0), 64 * 5, &mut world.looks(1000)).unwrap();
        let (to, from, word) = (world.remote(0), world.local(0), world.remote(8192));
        queue.put_signal(to, from, 64, word, NicSignal::Set(1), &mut world.looks(1000)).unwrap();
        world.quiet().unwrap();
        let completes: Vec<bool> =
            world.nic.lock().unwrap().log.iter().map(|(_, flags)| flags & 0x0c == 8).collect();
        assert_eq!(completes, [false, false, false, false, true, false, false, true]);
    }
}
