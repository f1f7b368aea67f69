//! Commands to the firmware, and objects that they make.

use crate::attribute::{Answer, Call, Refusal};
use crate::file::File;
use crate::nics;
use crate::object::Object;
use oxshmem_emulator::nic::command::{self, Ask, Created, EVENT_QUEUE};

/// The longest answer that is handed on.
const LONGEST: usize = 0x4010;

/// The byte and bit of the answer to a query of general capabilities that says that there are atomics.
const ATOMIC: (usize, u8) = (0x10 + 0x43, 2);

const HANDLE: u16 = 0x1000;

/// Runs `run` on the command of attribute `input`, and gives its answer as attribute `output`, also when it failed.
fn handed_on<T>(
    call: &mut Call<'_>,
    input: u16,
    output: u16,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<T, command::Failure>,
) -> Result<T, Refusal> {
    let Some(bytes) = call.bytes(input) else {
        return Err(Refusal::new(libc::EINVAL, format!("no command ({call})")));
    };
    let mut answer = vec![0; call.room(output).min(LONGEST)];
    let result = run(bytes, &mut answer);
    call.give(output, &answer)?;
    Ok(result?)
}

/// A command that is about no object.
pub(super) fn general(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0x1000, 0x1001])?;
    let nic = file.nic();
    handed_on(call, 0x1000, 0x1001, |bytes, answer| {
        command::ask(nic.model(), nic.config(), None, bytes, answer)?;
        if nics::lacks("atomics") && Ask::read(bytes) == Ok(Ask::General) {
            answer[ATOMIC.0] &= !ATOMIC.1;
        }
        Ok(())
    })
}

/// The event queue of a completion vector: there is one.
pub(super) fn query_eqn(_: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[0x1000, 0x1001])?;
    match call.number(0x1000)? {
        0 => call.give(0x1001, &EVENT_QUEUE.to_ne_bytes()),
        vector => Err(Refusal::new(libc::EINVAL, format!("there is no completion vector {vector}"))),
    }
}

/// Makes an object.
pub(super) fn create(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE, 0x1001, 0x1002])?;
    let made =
        handed_on(call, 0x1001, 0x1002, |bytes, answer| command::create(file.nic().model(), bytes, answer))?;
    let handle = file.insert(Object::Devx(made), &[]);
    call.give_handle(HANDLE, handle)
}

/// Destroys an object.
pub(super) fn destroy(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE])?;
    file.destroy(call.handle(HANDLE)?, |object| matches!(object, Object::Devx(_)))
}

fn object(file: &File, call: &Call<'_>) -> Result<Created, Refusal> {
    file.find(call.handle(HANDLE)?, |object| match object {
        Object::Devx(created) => Some(*created),
        _ => None,
    })
}

/// Changes an object.
pub(super) fn modify(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE, 0x1001, 0x1002])?;
    let object = object(file, call)?;
    handed_on(call, 0x1001, 0x1002, |bytes, answer| {
        command::change(file.nic().model(), object, bytes, answer)
    })
}

/// Asks for an object.
pub(super) fn query(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE, 0x1001, 0x1002])?;
    let object = object(file, call)?;
    let nic = file.nic();
    handed_on(call, 0x1001, 0x1002, |bytes, answer| {
        command::ask(nic.model(), nic.config(), Some(object), bytes, answer)
    })
}
