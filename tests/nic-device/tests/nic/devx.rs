//! Our own set-up, end to end: queues made by commands to the firmware, work posted by our encoders, completions read by
//! our decoder.

use crate::channel::{Channel, DEPTH, Side};
use crate::operation::inline;
use crate::random::Random;
use crate::record;
use oxshmem::net::verbs::Device;
use oxshmem::net::verbs::mailbox::Route;
use oxshmem_device::net::mlx5::Fence;
use oxshmem_device::net::mlx5::wqe::{self, Masked, Place as Name};
use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, OnceLock};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A ring of completions.
pub(crate) fn ring() -> Result<String> {
    run("mlx5_0", "mlx5_0", false, MANY)
}

/// The same, for an adversary that takes its time.
pub(crate) fn reordered() -> Result<String> {
    run("mlx5_0", "mlx5_0", false, FEW)
}

/// One entry, which the newest completion overwrites.
pub(crate) fn collapsed() -> Result<String> {
    run("mlx5_0", "mlx5_0", true, MANY)
}

/// From one NIC of this process to another.
pub(crate) fn two_devices() -> Result<String> {
    let names: Vec<String> = Device::all()?.iter().map(|device| device.name().to_string()).collect();
    if names != ["mlx5_0", "mlx5_1"] {
        return Err(format!("the devices are {names:?}").into());
    }
    run("mlx5_0", "mlx5_1", false, FEW)
}

/// PEs as threads, each with a NIC, each on the memory of the next.
pub(crate) fn threads() -> Result<String> {
    const PES: usize = 4;
    /// What a PE needs of the next.
    struct Names {
        route: Route,
        qpn: u32,
        memory: Name,
    }
    let met = Barrier::new(PES);
    let names: [OnceLock<Names>; PES] = [const { OnceLock::new() }; PES];
    let outs: [AtomicU32; PES] = [const { AtomicU32::new(0) }; PES];
    let pe = |me: usize| -> std::result::Result<u64, String> {
        let said = |error: Box<dyn Error>| format!("PE {me}: {error}");
        let side = Side::new(&format!("mlx5_{me}")).map_err(said)?;
        // To the next, and from the one before.
        let mut out = Channel::new(&side, false).map_err(said)?;
        let back = Channel::new(&side, false).map_err(said)?;
        let route = side.route().map_err(said)?;
        let of = |qpn| Names { route, qpn, memory: side.far(16 << 10) };
        let before = (me + PES - 1) % PES;
        let next = (me + 1) % PES;
        names[me].set(of(back.qp.number())).map_err(|_| "set twice")?;
        met.wait();
        let there = names[next].get().ok_or("the next PE failed")?;
        out.connect_by(there.route, there.qpn).map_err(said)?;
        outs[me].store(out.qp.number(), Ordering::Release);
        met.wait();
        let theirs = outs[before].load(Ordering::Acquire);
        let route = names[before].get().ok_or("the PE before failed")?.route;
        back.connect_by(route, theirs).map_err(said)?;
        met.wait();
        let memory = there.memory;
        let count = exercise(&mut out, &side, |offset| memory.plus(offset), FEW).map_err(said)?;
        met.wait();
        let found: Vec<u64> = (0..4).map(|i| side.pages.word((16 << 10) + 8 * i)).collect();
        if found != expected(FEW) {
            return Err(format!("PE {me}: the words are {found:x?}, not {:x?}", expected(FEW)));
        }
        Ok(count)
    };
    let counts: std::result::Result<Vec<u64>, String> = std::thread::scope(|scope| {
        let pe = &pe;
        let all: Vec<_> =
            (0..PES).map(|me| scope.spawn(move || pe(me).inspect_err(|why| eprintln!("{why}")))).collect();
        all.into_iter().map(|one| one.join().map_err(|_| "a PE panicked".to_string())?).collect()
    });
    let total: u64 = counts?.iter().sum();
    record::is_empty()?;
    Ok(format!("{PES} PEs as threads: {total} operations on the next one's memory"))
}

fn run(near: &str, far: &str, collapsed: bool, rounds: u64) -> Result<String> {
    let (near, far) = (Side::new(near)?, Side::new(far)?);
    let mut channel = Channel::new(&near, collapsed)?;
    let other = Channel::new(&far, collapsed)?;
    channel.connect_by(far.route()?, other.qp.number())?;
    other.connect_by(near.route()?, channel.qp.number())?;
    let operations = exercise(&mut channel, &near, |offset| far.far(offset), rounds)?;
    if rounds == MANY && channel.index < 1 << 16 {
        return Err(format!("the 16-bit index never wrapped: {} blocks", channel.index).into());
    }
    let found: Vec<u64> = (0..4).map(|i| far.pages.word(8 * i)).collect();
    if found != expected(rounds) {
        return Err(format!("the words are {found:x?}, not {:x?}", expected(rounds)).into());
    }

    // Reset, and once more from the beginning of the 16-bit index.
    let standing = channel.qp.standing()?;
    if standing.state != 3 || standing.hardware != channel.index as u16 {
        return Err(format!("{standing:?} after {:#x} blocks", channel.index).into());
    }
    channel.qp.stop()?;
    if channel.qp.standing()?.state != 6 {
        return Err(format!("{:?} after a stop", channel.qp.standing()?).into());
    }
    channel.qp.reset()?;
    if channel.qp.standing()?.state != 0 {
        return Err(format!("{:?} after a reset", channel.qp.standing()?).into());
    }
    drop((channel, other));
    drop((near, far));
    record::is_empty()?;
    Ok(format!("{operations} operations through queues of {DEPTH} blocks that commands to the firmware made"))
}

/// Rounds where many things run.
pub(crate) const FEW: u64 = 400;
/// Rounds after which the 16-bit index has wrapped.
const MANY: u64 = 7_000;
const SEED: u64 = 7;

/// What the first four words of the far memory are after [`exercise`], if they were zero.
pub(crate) fn expected(rounds: u64) -> [u64; 4] {
    let mut random = Random::new(SEED);
    let (mut sum, mut narrow) = (0_u64, 0_u32);
    for _ in 0..rounds {
        let (_, add, add_narrow) = draw(&mut random);
        sum = sum.wrapping_add(add);
        narrow = narrow.wrapping_add(add_narrow);
    }
    [rounds - 1, sum, u64::from(narrow), (rounds - 1) << 8]
}

/// A round's number of inline bytes, and what it adds to 8 and to 4 bytes.
fn draw(random: &mut Random) -> (u64, u64, u32) {
    (1 + random.below(256), random.next(), random.next() as u32)
}

/// Each operation, many times, so that the queue wraps.
pub(crate) fn exercise(
    channel: &mut Channel,
    near: &Side,
    far: impl Fn(u64) -> Name,
    rounds: u64,
) -> Result<u64> {
    let mut random = Random::new(SEED);
    for round in 0..rounds {
        let (length, add, add_narrow) = draw(&mut random);
        let control = |channel: &Channel| channel.control(Fence::None);
        near.pages.put_word(0, round);
        let request = wqe::write(control(channel), far(0), near.near(0), 8);
        channel.post_segments(&request)?;
        // Its source is used again in the next round.
        channel.finish()?;
        let bytes: Vec<u8> = (0..length).map(|i| (round + i) as u8).collect();
        let request = inline(control(channel), far(1024), &bytes);
        channel.post(&request, round % 2 == 0)?;
        let request = wqe::atomic_fetch_add(control(channel), far(8), add, near.near(64));
        channel.post_segments(&request)?;
        let request = wqe::atomic_add_4(control(channel), far(16), add_narrow, 0, near.near(72));
        channel.post_segments(&request)?;
        // Two blocks.
        let masked = Masked { compare: 0, compare_mask: 0, swap: round << 8, swap_mask: !0xff };
        let request = wqe::atomic_swap_8(control(channel), far(24), masked, near.near(80));
        channel.post_segments(&request)?;
        let request = wqe::nop(control(channel));
        channel.post_segments(&request)?;
        let request = wqe::read(channel.control(Fence::Fence), far(1024), near.near(4096), length as u32);
        channel.post_segments(&request)?;
        if round % 8 == 0 {
            channel.finish()?;
            let back = near.pages.get(4096, bytes.len());
            if back != bytes {
                return Err(format!("round {round}: read {back:02x?}, not {bytes:02x?}").into());
            }
        }
    }
    channel.finish()?;
    Ok(7 * rounds)
}
