//! `CREATE_CQ` and `CREATE_QP`.

use super::EVENT_QUEUE;
use super::failure::{Failure, Status};
use super::input::Input;
use crate::nic::{CqDescription, Pd, Place, QpDescription, Uar, Umem};

/// An object that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// A completion queue.
    Cq(CqDescription),
    /// A queue pair.
    Qp(QpDescription),
}

impl Create {
    /// Reads a command.
    ///
    /// # Errors
    /// What is wrong with it, or that it makes nothing.
    pub fn read(bytes: &[u8]) -> Result<Self, Failure> {
        match Input::opcode(bytes) {
            Some(0x400) => completion_queue(bytes).map(Create::Cq),
            Some(0x500) => queue_pair(bytes).map(Create::Qp),
            other => {
                let sentence = format!("command {:#x} makes no object that is known", other.unwrap_or(0));
                Err(Failure::new(Status::BadOperation, sentence))
            }
        }
    }
}

fn completion_queue(bytes: &[u8]) -> Result<CqDescription, Failure> {
    let mut input = Input::of("CREATE_CQ", bytes, 0x110)?;
    let context = 0x10 * 8;
    input.only("dbr_umem_valid", context + 6, 1, 1)?;
    input.only("cqe_sz", context + 8, 3, 0)?;
    let collapsed = input.take(context + 11, 1) == 1;
    let ignore_overrun = input.take(context + 14, 1) == 1;
    let record_umem = input.number(context + 0x04 * 8, 32);
    let log_size = input.number(context + 0x0c * 8 + 3, 5) as u8;
    let uar = input.number(context + 0x0c * 8 + 8, 24);
    input.only("c_eqn", context + 0x14 * 8 + 24, 8, u64::from(EVENT_QUEUE))?;
    page(&mut input, context + 0x18 * 8 + 3)?;
    let record_offset = input.take(context + 0x38 * 8, 64);
    let offset = input.take(0x50 * 8, 64);
    let umem = input.number(0x58 * 8, 32);
    input.only("cq_umem_valid", 0x5c * 8, 1, 1)?;
    input.finish()?;
    Ok(CqDescription {
        buffer: Place { umem: Umem(umem), offset },
        log_size,
        record: Some(Place { umem: Umem(record_umem), offset: record_offset }),
        collapsed,
        ignore_overrun,
        uar: Uar(uar),
    })
}

fn queue_pair(bytes: &[u8]) -> Result<QpDescription, Failure> {
    let mut input = Input::of("CREATE_QP", bytes, 0x110)?;
    let context = 0x18 * 8;
    input.only("st (service type; 0 is reliable connected)", context + 8, 8, 0)?;
    input.only("pm_state (path migration; 3 is none)", context + 19, 2, 3)?;
    let pd = input.number(context + 0x04 * 8 + 8, 24);
    input.only("no_sq", context + 0x08 * 8 + 16, 1, 0)?;
    let log_send = input.number(context + 0x08 * 8 + 17, 4) as u8;
    let uar = input.number(context + 0x0c * 8 + 8, 24);
    let user_index = input.number(context + 0x10 * 8 + 8, 24);
    page(&mut input, context + 0x14 * 8 + 3)?;
    let send_cqn = input.number(context + 0x7c * 8 + 8, 24);
    let receive_cqn = input.number(context + 0x9c * 8 + 8, 24);
    input
        .need(receive_cqn != 0, || "cqn_rcv is 0, and firmware wants a queue even without receives".into())?;
    let record_offset = input.take(context + 0xa0 * 8, 64);
    input.only("rq_type (3 is no receive queue)", context + 0xac * 8 + 5, 3, 3)?;
    input.only("dbr_umem_valid", context + 0xd0 * 8 + 3, 1, 1)?;
    let record_umem = input.number(context + 0xe4 * 8, 32);
    let offset = input.take(0x100 * 8, 64);
    let umem = input.number(0x108 * 8, 32);
    input.only("wq_umem_valid", 0x10c * 8, 1, 1)?;
    input.finish()?;
    Ok(QpDescription {
        pd: Pd(pd),
        send: Place { umem: Umem(umem), offset },
        log_send,
        record: Place { umem: Umem(record_umem), offset: record_offset },
        send_cqn,
        receive: None,
        uar: Uar(uar),
        user_index,
    })
}

/// `log_page_size`, from 4 KiB on: up to 2 GiB.
fn page(input: &mut Input, at: usize) -> Result<(), Failure> {
    let log = input.number(at, 5);
    input.need(log <= 19, || format!("log_page_size is {log}, which is pages of 2^{} bytes", log + 12))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Puts a value of `width` bits at a bit.
    pub(crate) fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
        for i in 0..width {
            let mask = 0x80 >> ((at + i) % 8);
            bytes[(at + i) / 8] &= !mask;
            if value >> (width - 1 - i) & 1 == 1 {
                bytes[(at + i) / 8] |= mask;
            }
        }
    }

    fn good_queue_pair() -> Vec<u8> {
        let mut bytes = vec![0; 0x110];
        let word = |bytes: &mut [u8], at: usize, value: u32| put(bytes, at * 8, 32, u64::from(value));
        word(&mut bytes, 0x00, 0x0500_0000);
        word(&mut bytes, 0x18, 0x0000_1800);
        word(&mut bytes, 0x1c, 0x0000_0007);
        word(&mut bytes, 0x20, 0x0000_4800);
        word(&mut bytes, 0x24, 0x0000_0009);
        word(&mut bytes, 0x28, 0x0000_1234);
        word(&mut bytes, 0x94, 0x0000_0400);
        word(&mut bytes, 0xb4, 0x0000_0401);
        word(&mut bytes, 0xbc, 0x0000_2008);
        word(&mut bytes, 0xc4, 0x0300_0000);
        word(&mut bytes, 0xe8, 0x1000_0000);
        word(&mut bytes, 0xfc, 0x0000_0003);
        word(&mut bytes, 0x104, 0x0000_1000);
        word(&mut bytes, 0x108, 0x0000_0002);
        word(&mut bytes, 0x10c, 0x8000_0000);
        bytes
    }

    #[test]
    fn a_queue_pair_is_read() {
        let Create::Qp(made) = Create::read(&good_queue_pair()).unwrap() else { panic!("not a queue pair") };
        assert_eq!(made.pd, Pd(7));
        assert_eq!(made.log_send, 9);
        assert_eq!(made.uar, Uar(9));
        assert_eq!(made.user_index, 0x1234);
        assert_eq!((made.send_cqn, made.receive), (0x400, None));
        assert_eq!(made.send, Place { umem: Umem(2), offset: 0x1000 });
        assert_eq!(made.record, Place { umem: Umem(3), offset: 0x2008 });
    }

    /// Every bit that is flipped either changes what is read or is refused: none is passed over.
    #[test]
    fn no_bit_of_a_queue_pair_is_passed_over() {
        let good = good_queue_pair();
        let read = Create::read(&good).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            let known = [
                16..32,                                            // the owner's id
                0x18 * 8 + 0x14 * 8 + 3..0x18 * 8 + 0x14 * 8 + 8,  // any page size
                0x18 * 8 + 0x9c * 8 + 8..0x18 * 8 + 0x9c * 8 + 32, // any queue for receives
            ];
            if known.iter().any(|range| range.contains(&bit)) {
                continue;
            }
            assert_ne!(Create::read(&bytes).ok(), Some(read), "bit {bit} (byte {:#x})", bit / 8);
        }
    }

    #[test]
    fn no_bit_of_a_completion_queue_is_passed_over() {
        let mut good = vec![0; 0x110];
        let word = |bytes: &mut [u8], at: usize, value: u32| put(bytes, at * 8, 32, u64::from(value));
        word(&mut good, 0x00, 0x0400_0000);
        word(&mut good, 0x10, 0x0200_0000);
        word(&mut good, 0x14, 0x0000_0005);
        word(&mut good, 0x1c, 0x0900_0007);
        word(&mut good, 0x24, EVENT_QUEUE);
        word(&mut good, 0x4c, 0x0000_0040);
        word(&mut good, 0x54, 0x0000_1000);
        word(&mut good, 0x58, 0x0000_0006);
        word(&mut good, 0x5c, 0x8000_0000);
        let read = Create::read(&good).unwrap();
        let Create::Cq(made) = read else { panic!("not a completion queue") };
        assert_eq!(made.buffer, Place { umem: Umem(6), offset: 0x1000 });
        assert_eq!(made.record, Some(Place { umem: Umem(5), offset: 0x40 }));
        assert_eq!((made.log_size, made.uar, made.collapsed), (9, Uar(7), false));
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            if (16..32).contains(&bit) || (0x28 * 8 + 3..0x28 * 8 + 8).contains(&bit) {
                continue;
            }
            assert_ne!(Create::read(&bytes).ok(), Some(read), "bit {bit} (byte {:#x})", bit / 8);
        }
    }

    #[test]
    fn other_commands_and_short_ones_are_refused() {
        assert_eq!(Create::read(&[0x05, 0x02, 0, 0]).unwrap_err().status, Status::BadOperation);
        assert_eq!(Create::read(&[]).unwrap_err().status, Status::BadOperation);
        assert_eq!(Create::read(&good_queue_pair()[..0x10f]).unwrap_err().status, Status::BadInputLength);
    }
}
