//! Calls that no library makes: whatever the device is asked, it answers with a number, and works on.

use crate::channel::{Channel, Side};
use crate::devx::{FEW, exercise};
use crate::random::Random;
use crate::record;
use oxshmem::net::verbs::mailbox::{CreateCq, CreateQp, Init2Rtr, Route, Rst2Init, Rtr2Rts};
use std::error::Error;
use std::ffi::c_int;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const CALLS: u64 = 50_000;
const COMMANDS: u64 = 20_000;
/// `RDMA_VERBS_IOCTL`.
const REQUEST: u64 = 0xc018_1b01;
/// Attributes of one call at most.
const MOST: usize = 6;

pub(crate) fn all() -> Result<String> {
    // SAFETY: the path is a C string.
    let fd = unsafe { libc::open(c"/dev/infiniband/uverbs0".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err("the device's node cannot be opened".into());
    }
    let mut random = Random::new(11);
    let (mut done, mut refused) = calls(fd, &mut random)?;
    let more = commands(fd, &mut random)?;
    done += more.0;
    refused += more.1;
    // SAFETY: our own descriptor.
    unsafe { libc::close(fd) };
    if done == 0 || refused == 0 {
        return Err(format!("{done} calls were answered and {refused} refused").into());
    }
    if record::text()?.contains("panicked") {
        return Err(record::text()?.into());
    }
    // The device still works.
    let side = Side::new("mlx5_0")?;
    let mut channel = Channel::new(&side, false)?;
    let other = Channel::new(&side, false)?;
    channel.connect(side.lid()?, other.qp.number())?;
    other.connect(side.lid()?, channel.qp.number())?;
    exercise(&mut channel, &side, |offset| side.far(offset + (16 << 10)), FEW)?;
    Ok(format!("{refused} of {} calls of nonsense were refused, and the device works on", refused + done))
}

/// A call as the kernel's interface has it: a header of 24 bytes, and attributes of 16.
fn call(fd: c_int, object: u16, method: u16, attributes: &[[u16; 4]], data: &[u64], count: usize) -> i32 {
    let mut words = vec![0_u64; 3 + 2 * MOST];
    let length = (24 + 16 * count) as u64;
    words[0] = length | u64::from(object) << 16 | u64::from(method) << 32 | (count as u64) << 48;
    for (i, (attribute, data)) in attributes.iter().zip(data).enumerate() {
        words[3 + 2 * i] = attribute.iter().rev().fold(0, |word, part| word << 16 | u64::from(*part));
        words[4 + 2 * i] = *data;
    }
    // SAFETY: a header with room for as many attributes as it counts, whose buffers the callers keep.
    unsafe { libc::ioctl(fd, REQUEST, words.as_mut_ptr()) }
}

fn calls(fd: c_int, random: &mut Random) -> Result<(u64, u64)> {
    let buffer = vec![0x5a_u8; 1 << 16];
    let (mut done, mut refused) = (0, 0);
    for _ in 0..CALLS {
        let object =
            [0, 0, 1, 3, 4, 7, 16, 0x1000, 0x1001, 0x1002, 0x1005, 0x1008][random.below(12) as usize];
        let method = if random.one_in(2) { random.below(8) } else { 0x1000 + random.below(5) } as u16;
        // Memory and queues at random addresses would be used: their registration is tried with a length of 0 at most.
        let registers = matches!((object, method), (0x1002, 0x1000));
        // Descriptors of events are one each.
        let opens = matches!((object, method), (16, 0) | (0x1005, 0x1000));
        if registers || opens {
            continue;
        }
        let count = random.below(MOST as u64 + 1) as usize;
        let mut attributes = Vec::new();
        let mut data = Vec::new();
        for _ in 0..count {
            let id = if random.one_in(2) { random.below(12) } else { 0x1000 + random.below(7) } as u16;
            let length = [0, 1, 4, 8, 12, 16, 40, 112, 272, 4112][random.below(10) as usize];
            attributes.push([id, length, random.below(2) as u16, 0]);
            // Of what does not stand in the attribute itself, there is as much as it says.
            let small = [0, 1, 2, 3, 0x1a, u64::MAX, random.next()][random.below(7) as usize];
            let is_pointer = length > 8 || !random.one_in(3);
            data.push(if is_pointer { buffer.as_ptr() as u64 } else { small });
        }
        // An output of up to 8 bytes is a pointer too.
        for (attribute, data) in attributes.iter().zip(&mut data) {
            if attribute[1] > 0 && *data < 1 << 16 {
                *data = buffer.as_ptr() as u64;
            }
        }
        match call(fd, object, method, &attributes, &data, count) {
            0 => done += 1,
            -1 => refused += 1,
            other => return Err(format!("object {object:#x}, method {method:#x} gave {other}").into()),
        }
    }
    Ok((done, refused))
}

/// Commands to the firmware with a few bits wrong. Those that make or change something name what is not there.
fn commands(fd: c_int, random: &mut Random) -> Result<(u64, u64)> {
    let cq = CreateCq {
        eqn: 0x21,
        uar_page: 1,
        log_size: 6,
        umem: 1,
        umem_offset: 0,
        log_page_size: 12,
        record_umem: 1,
        record_offset: 0,
        collapsed: false,
    };
    let qp = CreateQp {
        pd: 1,
        log_sq_size: 6,
        uar_page: 1,
        user_index: 1,
        send_cqn: 1,
        receive_cqn: 1,
        umem: 1,
        umem_offset: 0,
        log_page_size: 12,
        record_umem: 1,
        record_offset: 0,
    };
    let route = Route::InfiniBand { lid: 1, service_level: 0 };
    let receive = Init2Rtr { qpn: 1, mtu: 5, remote_qpn: 1, receive_psn: 0, log_reads: 4, port: 1, route };
    let send = Rtr2Rts { qpn: 1, send_psn: 0, log_reads: 4, ack_timeout: 20, retries: 7, rnr_retries: 7 };
    let commands = [
        cq.encode()?,
        qp.encode()?,
        Rst2Init { qpn: 1, port: 1, pkey_index: 0 }.encode()?,
        receive.encode()?,
        send.encode()?,
    ];
    let mut answer = [0_u8; 4112];
    let (mut done, mut refused) = (0, 0);
    for _ in 0..COMMANDS {
        let mut command = commands[random.below(5) as usize];
        for _ in 0..random.below(4) {
            let bit = random.below(8 * command.len() as u64) as usize;
            command[bit / 8] ^= 0x80 >> (bit % 8);
        }
        let length = if random.one_in(4) { random.below(273) } else { 272 } as u16;
        let room = if random.one_in(4) { random.below(4113) } else { 16 } as u16;
        // To no object, to make one, or to change one.
        let (object, method, first) =
            [(0x1000, 0x1000, 0x1000), (0x1001, 0x1000, 0x1001), (0x1001, 0x1002, 0x1001)]
                [random.below(3) as usize];
        let inline = length <= 8;
        let start = u64::from_ne_bytes(command[..8].try_into()?);
        let attributes = [[first, length, 1, 0], [first + 1, room, 1, 0], [0x1000, 0, 0, 0]];
        let data = [if inline { start } else { command.as_ptr() as u64 }, answer.as_mut_ptr() as u64, 1];
        let count = if object == 0x1001 { 3 } else { 2 };
        match call(fd, object, method, &attributes, &data, count) {
            0 => done += 1,
            -1 => refused += 1,
            other => return Err(format!("a command gave {other}").into()),
        }
    }
    Ok((done, refused))
}
