//! Calls that were `write(2)` commands once and are carried by one ioctl now.

use super::layout::Reply;
use super::{UHW_IN, UHW_OUT, memory, queue};
use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;
use crate::nics;

/// The command's structure, and the answer's.
pub(super) const IN: u16 = 0;
pub(super) const OUT: u16 = 1;
const COMMAND: u16 = 2;
/// The command's newer form.
const EXTENDED: u64 = 0x8000_0000;

/// Answers the command.
pub(super) fn invoke(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[IN, OUT, COMMAND, UHW_IN, UHW_OUT])?;
    let command = call.number(COMMAND)?;
    // libibverbs asks whether this way exists by a command without buffers.
    if call.room(OUT) == 0 && !call.has(IN) {
        return Err(Refusal::quiet(libc::ENOSPC));
    }
    match command {
        0x1 => call.give(OUT, &device(file)[..176]),
        c if c == EXTENDED | 0x1 => {
            call.give(OUT, &device(file))?;
            call.give(UHW_OUT, &[])
        }
        0x3 => memory::allocate_pd(file, call),
        0x9 => memory::register(file, call),
        c if c & !EXTENDED == 0x1a => queue::modify_qp(file, call),
        _ => Err(Refusal::new(libc::EOPNOTSUPP, format!("no such command {command:#x} ({call})"))),
    }
}

/// `struct ib_uverbs_ex_query_device_resp`, whose first 176 bytes are the older form's.
fn device(file: &File) -> [u8; 304] {
    let guid = nics::guid(file.index()).to_be_bytes();
    Reply::<304>::new()
        .put(8, &guid)
        .put(16, &guid)
        .u64(0, 28 << 32 | 38 << 16 | 1002)
        .u64(24, u64::MAX) // the largest region
        .u64(32, 0xffff_ffff_ffff_f000) // page sizes
        .u32(40, 0x2c9)
        .u32(44, 0x1021)
        .u32(52, 1 << 18)
        .u32(56, 1 << 15)
        .u32(60, 0)
        .u32(64, 30)
        .u32(68, 30)
        .u32(72, 1 << 24)
        .u32(76, (1 << 22) - 1)
        .u32(80, 1 << 24)
        .u32(84, 1 << 24)
        .u32(88, 16)
        .u32(96, 16 << 18)
        .u32(100, 16)
        .u32(108, 1) // atomic among work requests of the device
        .u16(168, 1)
        .u8(170, 16)
        .u8(171, 1)
        .u32(180, 304)
        .0
}
