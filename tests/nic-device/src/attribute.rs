//! One call of the uverbs ioctl interface: a header and an array of attributes, each a number, a handle or a buffer.
//!
//! Layouts are those of the kernel's `rdma/rdma_user_ioctl_cmds.h`. Reading checks sizes; the buffers themselves are
//! the calling library's promise, as they would be to a kernel that could not fault.

use oxshmem_emulator::nic::Refused;
use oxshmem_emulator::nic::command::Failure;
use std::ffi::c_int;
use std::fmt;

/// `RDMA_VERBS_IOCTL`: read and write, 24 bytes, magic 0x1b, number 1.
pub(crate) const REQUEST: u64 = 0xc018_1b01;

/// An attribute that the callee must know.
const MANDATORY: u16 = 1;
/// Set by the callee in an output that it has written.
const VALID_OUTPUT: u16 = 2;

/// The header that stands before the attributes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    length: u16,
    object: u16,
    method: u16,
    count: u16,
    reserved1: u64,
    driver: u32,
    reserved2: u32,
}

/// One attribute.
#[derive(Clone, Copy)]
#[repr(C)]
struct Attribute {
    id: u16,
    length: u16,
    flags: u16,
    element: u16,
    data: u64,
}

const _: () = assert!(size_of::<Header>() == 24 && size_of::<Attribute>() == 16);

/// A refusal: the `errno` for the caller, the sentence for the record.
#[derive(Debug)]
pub(crate) struct Refusal {
    errno: c_int,
    why: String,
    expected: bool,
}

impl Refusal {
    /// One that stands in the record.
    pub(crate) fn new(errno: c_int, why: impl Into<String>) -> Self {
        Refusal { errno, why: why.into(), expected: false }
    }

    /// One that is an answer like any other, as an empty place of a table.
    pub(crate) fn quiet(errno: c_int) -> Self {
        Refusal { errno, why: String::new(), expected: true }
    }

    pub(crate) fn errno(&self) -> c_int {
        self.errno
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    pub(crate) fn expected(&self) -> bool {
        self.expected
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let errno = match refused {
            Refused::NoSuch { .. } => libc::ENOENT,
            Refused::InUse { .. } => libc::EBUSY,
            _ => libc::EINVAL,
        };
        Refusal::new(errno, refused.to_string())
    }
}

/// The kernel hands on that firmware refused; the answer says what.
impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::new(libc::EREMOTEIO, failure.to_string())
    }
}

/// What a method gives.
pub(crate) type Answer = Result<(), Refusal>;

/// A call that is being answered.
pub(crate) struct Call<'a> {
    pub(crate) object: u16,
    pub(crate) method: u16,
    attributes: &'a mut [Attribute],
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {:#x}, method {:#x}, attributes", self.object, self.method)?;
        for attribute in &*self.attributes {
            let must = if attribute.flags & MANDATORY == 0 { "?" } else { "" };
            write!(f, " {:#x}{must}[{}]", attribute.id, attribute.length)?;
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    /// Reads the header at `argument`.
    ///
    /// # Safety
    /// `argument` is what a caller gave to the ioctl: a header followed by as many attributes as it counts, whose
    /// buffers are valid until the call returns.
    pub(crate) unsafe fn read(argument: *mut libc::c_void) -> Result<Call<'a>, Refusal> {
        if argument.is_null() {
            return Err(Refusal::new(libc::EFAULT, "the ioctl has no header"));
        }
        // SAFETY: the caller's promise; the header has no alignment that C would not give it, but it is copied.
        let header = unsafe { argument.cast::<Header>().read_unaligned() };
        let length = size_of::<Header>() + usize::from(header.count) * size_of::<Attribute>();
        if usize::from(header.length) != length || header.reserved1 != 0 || header.reserved2 != 0 {
            return Err(Refusal::new(
                libc::EINVAL,
                format!(
                    "header of {} bytes, reserved {:#x} {:#x}",
                    header.length, header.reserved1, header.reserved2
                ),
            ));
        }
        // SAFETY: the caller's promise: `count` attributes follow the header.
        let attributes = unsafe {
            let first = argument.cast::<u8>().add(size_of::<Header>()).cast::<Attribute>();
            std::slice::from_raw_parts_mut(first, usize::from(header.count))
        };
        Ok(Call { object: header.object, method: header.method, attributes })
    }

    /// Refuses the call where it has a mandatory attribute that is not in `known`, as the kernel does.
    pub(crate) fn only(&self, known: &[u16]) -> Answer {
        match self.attributes.iter().find(|a| a.flags & MANDATORY != 0 && !known.contains(&a.id)) {
            None => Ok(()),
            Some(a) => Err(Refusal::new(
                libc::EPROTONOSUPPORT,
                format!("attribute {:#x} is not known ({self})", a.id),
            )),
        }
    }

    fn find(&self, id: u16) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.id == id)
    }

    fn missing(&self, id: u16) -> Refusal {
        Refusal::new(libc::EINVAL, format!("attribute {id:#x} is missing or has another size ({self})"))
    }

    /// The bytes of an input; up to eight stand in the attribute itself.
    pub(crate) fn bytes(&self, id: u16) -> Option<&[u8]> {
        let attribute = self.find(id)?;
        let length = usize::from(attribute.length);
        let start =
            if length <= 8 { (&raw const attribute.data).cast::<u8>() } else { attribute.data as *const u8 };
        if start.is_null() {
            return None;
        }
        // SAFETY: the promise of `read`: a buffer of that length.
        Some(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// A number of up to eight bytes.
    pub(crate) fn number(&self, id: u16) -> Result<u64, Refusal> {
        self.optional(id)?.ok_or_else(|| self.missing(id))
    }

    /// A number that need not be there.
    pub(crate) fn optional(&self, id: u16) -> Result<Option<u64>, Refusal> {
        let Some(attribute) = self.find(id) else { return Ok(None) };
        match attribute.length {
            4 => Ok(Some(attribute.data & u64::from(u32::MAX))),
            8 => Ok(Some(attribute.data)),
            _ => Err(self.missing(id)),
        }
    }

    /// An object's handle, or a descriptor.
    pub(crate) fn handle(&self, id: u16) -> Result<u32, Refusal> {
        let attribute = self.find(id).ok_or_else(|| self.missing(id))?;
        u32::try_from(attribute.data).map_err(|_| self.missing(id))
    }

    /// Whether an attribute is there.
    pub(crate) fn has(&self, id: u16) -> bool {
        self.find(id).is_some()
    }

    /// The size of an output's buffer; 0 where it is not there.
    pub(crate) fn room(&self, id: u16) -> usize {
        self.find(id).map_or(0, |a| usize::from(a.length))
    }

    /// Writes an output: as much of `bytes` as has room, the rest of the buffer becomes zero. An output that the
    /// caller did not ask for is left out.
    pub(crate) fn give(&mut self, id: u16, bytes: &[u8]) -> Answer {
        let Some(attribute) = self.attributes.iter_mut().find(|a| a.id == id) else { return Ok(()) };
        let room = usize::from(attribute.length);
        let start = attribute.data as *mut u8;
        if room > 0 && start.is_null() {
            return Err(Refusal::new(libc::EFAULT, format!("output {id:#x} has no buffer")));
        }
        let filled = room.min(bytes.len());
        // SAFETY: the promise of `read`: a buffer of `room` bytes, which nothing else touches during the call.
        unsafe {
            start.copy_from_nonoverlapping(bytes.as_ptr(), filled);
            start.add(filled).write_bytes(0, room - filled);
        }
        attribute.flags |= VALID_OUTPUT;
        Ok(())
    }

    /// Writes a new object's handle, or a new descriptor.
    pub(crate) fn give_handle(&mut self, id: u16, handle: u32) -> Answer {
        let missing = self.missing(id);
        let attribute = self.attributes.iter_mut().find(|a| a.id == id).ok_or(missing)?;
        attribute.data = u64::from(handle);
        Ok(())
    }
}
