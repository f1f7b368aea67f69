//! Doorbell pages.

use crate::attribute::{Answer, Call, Refusal};
use crate::file::{File, PAGE};
use crate::object::Object;

const HANDLE: u16 = 0x1000;
const KIND: u16 = 0x1001;
const OFFSET: u16 = 0x1002;
const LENGTH: u16 = 0x1003;
const NUMBER: u16 = 0x1004;

/// Allocates a page; where it is to be mapped from.
pub(super) fn allocate(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE, KIND, OFFSET, LENGTH, NUMBER])?;
    // BlueFlame or not cached: the same memory here.
    let kind = call.number(KIND)?;
    if kind > 1 {
        return Err(Refusal::new(libc::EOPNOTSUPP, format!("doorbell pages of kind {kind} are not known")));
    }
    let (offset, start) = file.page()?;
    // SAFETY: the page is the memory file's, which stays mapped.
    let uar = unsafe { file.nic().model().alloc_uar(start)? };
    let handle = file.insert(Object::Page(uar), &[]);
    call.give(OFFSET, &(offset as u64).to_ne_bytes())?;
    call.give(LENGTH, &(PAGE as u32).to_ne_bytes())?;
    call.give(NUMBER, &uar.0.to_ne_bytes())?;
    call.give_handle(HANDLE, handle)
}

/// Gives a page back.
pub(super) fn free(file: &File, call: &mut Call<'_>) -> Answer {
    call.only(&[HANDLE])?;
    file.destroy(call.handle(HANDLE)?, |object| matches!(object, Object::Page(_)))
}
