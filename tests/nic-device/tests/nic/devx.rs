//! Our own set-up, end to end: queues made by commands to the firmware, work posted by our encoders, completions read by
//! our decoder.

use crate::channel::{Channel, DEPTH, Side};
use crate::operation::inline;
use crate::random::Random;
use crate::record;
use oxshmem::net::verbs::Device;
use oxshmem_device::net::mlx5::Fence;
use oxshmem_device::net::mlx5::wqe::{self, Masked, Place as Name};
use std::error::Error;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A ring of completions.
pub(crate) fn ring() -> Result<String> {
    run("mlx5_0", "mlx5_0", false)
}

/// One entry, which the newest completion overwrites.
pub(crate) fn collapsed() -> Result<String> {
    run("mlx5_0", "mlx5_0", true)
}

/// From one NIC of this process to another.
pub(crate) fn two_devices() -> Result<String> {
    let names: Vec<String> = Device::all()?.iter().map(|device| device.name().to_string()).collect();
    if names != ["mlx5_0", "mlx5_1"] {
        return Err(format!("the devices are {names:?}").into());
    }
    run("mlx5_0", "mlx5_1", false)
}

fn run(near: &str, far: &str, collapsed: bool) -> Result<String> {
    let (near, far) = (Side::new(near)?, Side::new(far)?);
    let mut channel = Channel::new(&near, collapsed)?;
    let other = Channel::new(&far, collapsed)?;
    channel.connect_by(far.route()?, other.qp.number())?;
    other.connect_by(near.route()?, channel.qp.number())?;
    let operations = exercise(&mut channel, &near, |offset| far.far(offset))?;
    let found: Vec<u64> = (0..4).map(|i| far.pages.word(8 * i)).collect();
    if found != expected() {
        return Err(format!("the words are {found:x?}, not {:x?}", expected()).into());
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

const ROUNDS: u64 = 2_000;
const SEED: u64 = 7;

/// What the first four words of the far memory are after [`exercise`], if they were zero.
pub(crate) fn expected() -> [u64; 4] {
    let mut random = Random::new(SEED);
    let (mut sum, mut narrow) = (0_u64, 0_u32);
    for _ in 0..ROUNDS {
        let (_, add, add_narrow) = draw(&mut random);
        sum = sum.wrapping_add(add);
        narrow = narrow.wrapping_add(add_narrow);
    }
    [ROUNDS - 1, sum, u64::from(narrow), (ROUNDS - 1) << 8]
}

/// A round's number of inline bytes, and what it adds to 8 and to 4 bytes.
fn draw(random: &mut Random) -> (u64, u64, u32) {
    (1 + random.below(256), random.next(), random.next() as u32)
}

/// Each operation, many times, so that the queue wraps.
pub(crate) fn exercise(channel: &mut Channel, near: &Side, far: impl Fn(u64) -> Name) -> Result<u64> {
    let mut random = Random::new(SEED);
    for round in 0..ROUNDS {
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
    Ok(7 * ROUNDS)
}
