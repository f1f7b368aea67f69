//! Commands carried out on a NIC. Each fills the answer, also when it fails.

use super::ask::{self, Ask};
use super::change::Change;
use super::create::Create;
use super::failure::{Failure, Status};
use crate::nic::{Nic, NicConfig};

/// An object that a command has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A completion queue, by its number.
    Cq(u32),
    /// A queue pair, by its number.
    Qp(u32),
}

/// Answers with the failure's status and syndrome.
fn answered<T>(result: Result<T, Failure>, answer: &mut [u8]) -> Result<T, Failure> {
    result.inspect_err(|failure| failure.write(answer))
}

/// Makes an object.
///
/// # Errors
/// Why it is not made; the answer says so too.
pub fn create(nic: &Nic, command: &[u8], answer: &mut [u8]) -> Result<Created, Failure> {
    let make = |answer: &mut [u8]| {
        if answer.len() < 0x10 {
            return Err(Failure::new(Status::BadOutputLength, "the answer to a creation has 16 bytes"));
        }
        let (made, number) = match Create::read(command)? {
            Create::Cq(description) => {
                let number = nic.create_cq(&description)?;
                (Created::Cq(number), number)
            }
            Create::Qp(description) => {
                let number = nic.create_qp(&description)?;
                (Created::Qp(number), number)
            }
        };
        answer.fill(0);
        answer[0x8..0xc].copy_from_slice(&(number & 0x00ff_ffff).to_be_bytes());
        Ok(made)
    };
    let result = make(answer);
    answered(result, answer)
}

/// Changes an object.
///
/// # Errors
/// Why it is not changed, which may be that the command names another; the answer says so too.
pub fn change(nic: &Nic, object: Created, command: &[u8], answer: &mut [u8]) -> Result<(), Failure> {
    let result = Change::read(command).and_then(|change| {
        own(object, change.qpn)?;
        Ok(nic.modify_qp(change.qpn, change.to)?)
    });
    answered(result, answer)?;
    answer.fill(0);
    Ok(())
}

/// Answers a query; those of an object are of `object` alone.
///
/// # Errors
/// Why there is no answer; the answer says so too.
pub fn ask(
    nic: &Nic,
    config: &NicConfig,
    object: Option<Created>,
    command: &[u8],
    answer: &mut [u8],
) -> Result<(), Failure> {
    let result = Ask::read(command).and_then(|asked| match (asked, object) {
        (Ask::Qp { qpn }, Some(object)) => {
            own(object, qpn)?;
            ask::queue_pair(nic.query_qp(qpn)?, answer)
        }
        (Ask::General, None) => ask::general(config, answer),
        (Ask::Atomic, None) => ask::atomic(answer),
        (Ask::Other { .. }, None) => ask::nothing(answer),
        (asked, object) => {
            let sentence = format!("query {asked:?} is not for {object:?}");
            Err(Failure::new(Status::BadOperation, sentence))
        }
    });
    answered(result, answer)
}

/// Destroys an object.
///
/// # Errors
/// Why it is not destroyed, which may be that something uses it.
pub fn destroy(nic: &Nic, object: Created) -> Result<(), Failure> {
    match object {
        Created::Cq(number) => nic.destroy_cq(number)?,
        Created::Qp(number) => nic.destroy_qp(number)?,
    }
    Ok(())
}

/// A driver may only name the object whose handle it has.
fn own(object: Created, qpn: u32) -> Result<(), Failure> {
    if object == Created::Qp(qpn) {
        return Ok(());
    }
    let sentence = format!("the command names queue pair {qpn:#x}, and the handle is of {object:x?}");
    Err(Failure::new(Status::BadResource, sentence))
}
