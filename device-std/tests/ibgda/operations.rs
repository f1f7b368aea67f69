//! What each operation does to the memory of both sides.

use crate::nic::{read, write};
use crate::world::{BYTES, Numbers, Shape, World};
use oxshmem_device::net::ibgda::abi::flags;
use oxshmem_device::net::ibgda::{Masked, NicAtomic, NicSignal};
use oxshmem_device::net::mlx5::Inline;

/// The modes in which everything must hold.
fn shapes() -> [Shape; 5] {
    let of = |flags| Shape { flags, ..Shape::default() };
    [
        of(0),
        of(flags::COLLAPSED),
        of(flags::FLUSH | flags::HOST_MEMORY),
        Shape { log_batch: 0, log_landing: 0, ..of(0) },
        Shape { log_max_message: 4, ..of(flags::FLUSH | flags::COLLAPSED) },
    ]
}

fn value_at(world: &World, at: u64) -> u64 {
    u64::from_le_bytes(read(world.remote(at).address, 8).try_into().unwrap())
}

#[test]
fn put_and_get_copy_each_byte_and_no_other() {
    for shape in shapes() {
        let world = World::new(shape);
        let source: Vec<u8> = (0..BYTES).map(|at| (at * 7 + 1) as u8).collect();
        write(world.local(0).address, &source);
        for (at, bytes) in [(0, 1), (1, 3), (100, 100), (4093, 17), (0, 129), (63, 65), (8192, 40)] {
            write(world.remote(0).address, &[0xee; 16384]);
            let deadline = &mut world.looks(1000);
            world.queue().put(world.remote(at), world.local(at + 5), bytes, deadline).unwrap();
            world.quiet().unwrap();
            let got = read(world.remote(0).address, 16384);
            let (at, bytes) = (at as usize, bytes as usize);
            assert_eq!(got[at..at + bytes], source[at + 5..][..bytes]);
            assert!(got[..at].iter().chain(&got[at + bytes..]).all(|&byte| byte == 0xee));
            let back = world.local(32768);
            world.queue().get(world.remote(at as u64), back, bytes as u64, &mut world.looks(1000)).unwrap();
            world.quiet().unwrap();
            assert_eq!(read(back.address, bytes), source[at + 5..][..bytes]);
            assert_eq!(read(back.address + bytes as u64, 8), source[32768 + bytes..][..8]);
            write(back.address, &source[32768..32768 + bytes]);
        }
    }
}

#[test]
fn p_writes_each_width_and_g_reads_it() {
    for shape in shapes() {
        let (world, value) = (World::new(shape), 0x8877_6655_4433_2211u64);
        let cases = [
            Inline::of_u8(value as u8),
            Inline::of_u16(value as u16),
            Inline::of_u32(value as u32),
            Inline::of_u64(value),
            Inline::of_words([value as u32, (value >> 32) as u32, 0xaa99], 3).unwrap(),
            Inline::of_words([value as u32, (value >> 32) as u32, 0xbbaa_9900], 12).unwrap(),
        ];
        for (at, inline) in (1..).map(|at| at * 32 + 1).zip(cases) {
            let deadline = &mut world.looks(1000);
            world.queue().p(world.remote(at), inline, deadline).unwrap();
            let bytes = inline.bytes().min(8);
            let got = world.queue().g(world.remote(at), bytes, deadline).unwrap();
            assert_eq!(got, value & (u64::MAX >> (64 - 8 * bytes)), "{inline:?}");
            assert_eq!(read(world.remote(at + u64::from(inline.bytes())).address, 1), [0]);
        }
        assert_eq!(world.queue().g(world.remote(33), 0, &mut world.looks(1000)).unwrap(), 0x11);
        assert_eq!(world.queue().g(world.remote(33 + 96), 99, &mut world.looks(1000)).unwrap(), value);
    }
}

#[test]
fn each_atomic_changes_its_word_and_returns_the_old_one() {
    let masked8 = Masked { compare: 0x0500, compare_mask: 0xff00, swap: 0x11, swap_mask: 0xff };
    let masked4 = Masked { compare: 0x0600, compare_mask: 0xff00, swap: 0x11, swap_mask: 0xff };
    let old = 0x8000_0000_ffff_05ffu64;
    let wide: &[(NicAtomic, u64)] = &[
        (NicAtomic::Add8(1), old + 1),
        (NicAtomic::Add8(u64::MAX), old - 1),
        (NicAtomic::CompareSwap8 { compare: old, swap: 9 }, 9),
        (NicAtomic::CompareSwap8 { compare: old + 1, swap: 9 }, old),
        (NicAtomic::Xor8(0xf0f0_0000_0000_0001), old ^ 0xf0f0_0000_0000_0001),
        (NicAtomic::Masked8(masked8), 0x8000_0000_ffff_0511),
        (NicAtomic::swap8(0x1234), 0x1234),
        (NicAtomic::and8(0xff00), 0x0500),
        (NicAtomic::or8(0x1_0000_0000), old | 0x1_0000_0000),
    ];
    let low = old as u32;
    let narrow: &[(NicAtomic, u32)] = &[
        (NicAtomic::Add4(1), low + 1),
        (NicAtomic::Add4(0x1_0000), low.wrapping_add(0x1_0000)),
        (NicAtomic::Xor4(0x8000_0001), low ^ 0x8000_0001),
        (NicAtomic::Masked4(masked4), low),
        (NicAtomic::compare_swap4(low, 7), 7),
        (NicAtomic::compare_swap4(0, 7), low),
        (NicAtomic::swap4(7), 7),
        (NicAtomic::and4(0x0fff_0000), 0x0fff_0000),
        (NicAtomic::or4(0x5000), low | 0x5000),
    ];
    for shape in shapes() {
        let world = World::new(shape);
        let check = |atomic: NicAtomic, returned: u64, new: u64| {
            for fetches in [true, false] {
                write(world.remote(64).address, &old.to_le_bytes());
                let deadline = &mut world.looks(1000);
                if fetches {
                    assert_eq!(
                        world.queue().fetch(world.remote(64), atomic, deadline),
                        Ok(returned),
                        "{atomic:?}"
                    );
                } else {
                    world.queue().update(world.remote(64), atomic, deadline).unwrap();
                    world.quiet().unwrap();
                }
                assert_eq!(value_at(&world, 64), new, "{atomic:?}");
            }
        };
        for &(atomic, new) in wide {
            check(atomic, old, new);
        }
        for &(atomic, new) in narrow {
            check(atomic, u64::from(low), old & !0xffff_ffff | u64::from(new));
        }
    }
}

#[test]
fn signals_are_set_written_and_added_to_behind_their_data() {
    for shape in shapes() {
        let world = World::new(shape);
        write(world.local(0).address, &[7; 100]);
        let signals = [(NicSignal::Set(5), 5), (NicSignal::Add(3), 8), (NicSignal::Write(1 << 40), 1 << 40)];
        for (signal, expected) in signals {
            for bytes in [0, 1, 100] {
                write(world.remote(0).address, &[0; 128]);
                let before = if matches!(signal, NicSignal::Add(_)) { 5u64 } else { 99 };
                write(world.remote(1024).address, &before.to_le_bytes());
                let deadline = &mut world.looks(1000);
                let (to, from, word) = (world.remote(0), world.local(0), world.remote(1024));
                world.queue().put_signal(to, from, bytes, word, signal, deadline).unwrap();
                world.quiet().unwrap();
                assert_eq!(value_at(&world, 1024), expected);
                let data = read(world.remote(0).address, 100);
                assert_eq!(data.iter().filter(|&&byte| byte == 7).count() as u64, bytes);
                let last = *world.opcodes().iter().rev().find(|&&opcode| opcode != 0).unwrap();
                let of_signal = [(NicSignal::Set(5), 0x14), (NicSignal::Add(3), 0x12)];
                let opcode = of_signal.iter().find(|of| of.0 == signal).map_or(0x08, |of| of.1);
                assert_eq!(last, opcode);
                world.queue().signal(word, signal, &mut world.looks(1000)).unwrap();
                world.quiet().unwrap();
            }
        }
    }
}

#[test]
fn nothing_is_posted_for_no_bytes() {
    let world = World::new(Shape { flags: flags::FLUSH, ..Shape::default() });
    world.queue().put(world.remote(0), world.local(0), 0, &mut world.looks(9)).unwrap();
    world.queue().get(world.remote(0), world.local(0), 0, &mut world.looks(9)).unwrap();
    world.quiet().unwrap();
    assert_eq!(world.opcodes(), [0u8; 0]);
}

#[test]
fn values_that_are_on_the_way_may_be_taken_in_any_order() {
    for shape in shapes().into_iter().filter(|shape| shape.log_landing == 3) {
        let world = World::new(shape);
        for round in 0..20u64 {
            let at = |slot: u64| world.remote(8 * (slot * 3 % 8));
            (0..8).for_each(|slot| write(at(slot).address, &(round * 100 + slot).to_le_bytes()));
            let deadline = &mut world.looks(10_000);
            let mut on_the_way: Vec<_> =
                (0..8).map(|slot| (slot, world.queue().issue_g(at(slot), 8, deadline).unwrap())).collect();
            on_the_way.rotate_left(round as usize % 8);
            for (slot, awaited) in on_the_way {
                assert_eq!(world.queue().wait(awaited, deadline), Ok(round * 100 + slot));
            }
        }
    }
}

/// Whatever is posted in whatever order, also when the 16 bits of the index come round again.
#[test]
fn many_operations_do_what_a_plain_memory_would() {
    for (seed, shape) in (0u64..).zip(shapes()) {
        let (world, mut numbers) = (World::new(shape), Numbers::new(seed + 1));
        world.nic.lock().unwrap().late = 1 + seed as usize % 4;
        let mut expected = vec![0u64; 64];
        let source: Vec<u64> = (0..64).map(|_| numbers.next()).collect();
        (0..).zip(&source).for_each(|(at, word)| write(world.local(8 * at).address, &word.to_le_bytes()));
        let queue = world.queue();
        for _ in 0..25_000 {
            let (at, value) = (numbers.below(64), numbers.next());
            let (place, deadline) = (world.remote(8 * at), &mut world.looks(100_000));
            let word = &mut expected[at as usize];
            match numbers.below(9) {
                0 => {
                    let count = 1 + numbers.below(64 - at) % 8;
                    queue.put(place, world.local(8 * at), 8 * count, deadline).unwrap();
                    let range = at as usize..(at + count) as usize;
                    expected[range.clone()].copy_from_slice(&source[range]);
                }
                1 => {
                    queue.p(place, Inline::of_u64(value), deadline).unwrap();
                    *word = value;
                }
                2 => assert_eq!(queue.g(place, 8, deadline), Ok(*word)),
                3 => {
                    assert_eq!(queue.fetch(place, NicAtomic::Add8(value), deadline), Ok(*word));
                    *word = word.wrapping_add(value);
                }
                4 => {
                    assert_eq!(queue.fetch(place, NicAtomic::swap8(value), deadline), Ok(*word));
                    *word = value;
                }
                5 => {
                    let low = *word as u32;
                    assert_eq!(queue.fetch(place, NicAtomic::Add4(value as u32), deadline), Ok(low.into()));
                    *word = *word & !0xffff_ffff | u64::from(low.wrapping_add(value as u32));
                }
                6 => {
                    queue.update(place, NicAtomic::Xor8(value), deadline).unwrap();
                    *word ^= value;
                }
                7 => {
                    queue.signal(place, NicSignal::Set(value), deadline).unwrap();
                    *word = value;
                }
                _ => {
                    queue.signal(place, NicSignal::Add(value), deadline).unwrap();
                    *word = word.wrapping_add(value);
                }
            }
        }
        world.quiet().unwrap();
        let words: Vec<u64> = (0..64).map(|at| value_at(&world, 8 * at)).collect();
        assert_eq!(words, expected, "seed {seed}");
        let done = world.nic.lock().unwrap().done;
        assert!(done > 1 << 15, "{done}");
    }
}
