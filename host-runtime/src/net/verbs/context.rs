//! An open NIC, its port and its addresses.

use super::abi::{IbvContext, IbvDeviceAttr, IbvGidEntry, IbvPortAttr};
use super::device::Device;
use super::error::{Result, VerbsError};
use super::library::Library;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// An open NIC.
#[derive(Debug)]
pub struct Context {
    pub(super) library: &'static Library,
    pub(super) pointer: NonNull<IbvContext>,
    device: Device,
}

// SAFETY: libibverbs' functions on a context may be called from any thread, several at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every object of the context keeps it, so none is left.
        unsafe { (self.library.verbs.ibv_close_device)(self.pointer.as_ptr()) };
    }
}

/// What carries a port's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// InfiniBand.
    InfiniBand,
    /// Ethernet (RoCE).
    Ethernet,
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number, from 1.
    pub number: u8,
    /// Whether it has a link and may send.
    pub active: bool,
    /// What carries its packets.
    pub link: Link,
    /// Its local identifier; 0 on Ethernet.
    pub lid: u16,
    /// The MTU in use, in the encoding of `ibv_mtu`: 1 is 256 bytes, 5 is 4096.
    pub mtu: u8,
    /// The longest message in bytes.
    pub longest_message: u32,
    /// Places of its table of addresses.
    pub addresses: u32,
    /// Places of its table of partition keys.
    pub partition_keys: u16,
}

/// How packets with an address travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand.
    InfiniBand,
    /// Ethernet without IP.
    RoceV1,
    /// Ethernet with UDP and IP.
    RoceV2,
}

/// An address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gid {
    /// In network order; an IPv4 address is in its last four bytes.
    pub bytes: [u8; 16],
    /// How packets with it travel.
    pub kind: GidKind,
}

impl Context {
    /// # Safety
    /// `pointer` is an open context of `device`, which nothing else closes.
    pub(super) unsafe fn own(
        library: &'static Library,
        pointer: NonNull<IbvContext>,
        device: Device,
    ) -> Self {
        Context { library, pointer, device }
    }

    /// The NIC's name.
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// The error of a call that set `errno`.
    pub(super) fn failed(&self, call: &'static str, remedy: &'static str) -> VerbsError {
        self.failed_with(call, io::Error::last_os_error(), remedy)
    }

    /// The error of a call that gave `source`.
    pub(super) fn failed_with(
        &self,
        call: &'static str,
        source: io::Error,
        remedy: &'static str,
    ) -> VerbsError {
        VerbsError::Call { device: self.name().into(), call, source, remedy }
    }

    /// What a call that returns an `errno` gave.
    pub(super) fn check(&self, call: &'static str, code: i32) -> Result<()> {
        match code {
            0 => Ok(()),
            // The older functions return -1 and set `errno`.
            -1 => Err(self.failed(call, "")),
            errno => Err(self.failed_with(call, io::Error::from_raw_os_error(errno), "")),
        }
    }

    /// Numbers of the device as a whole.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call).
    pub fn attributes(&self) -> Result<IbvDeviceAttr> {
        // SAFETY: all fields are integers, for which zero is a value.
        let mut attributes: IbvDeviceAttr = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: an open context, and a structure of the library's layout.
        let code =
            unsafe { (self.library.verbs.ibv_query_device)(self.pointer.as_ptr(), &raw mut attributes) };
        self.check("ibv_query_device", code)?;
        Ok(attributes)
    }

    /// A port's state.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call), also for a port that does not exist.
    pub fn port(&self, number: u8) -> Result<Port> {
        // SAFETY: all fields are integers, for which zero is a value.
        let mut found: IbvPortAttr = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: an open context, and a structure with more room than the library writes.
        let code =
            unsafe { (self.library.verbs.ibv_query_port)(self.pointer.as_ptr(), number, &raw mut found) };
        self.check("ibv_query_port", code)?;
        Ok(Port {
            number,
            active: found.state == 4,
            link: if found.link_layer == 2 { Link::Ethernet } else { Link::InfiniBand },
            lid: found.lid,
            mtu: u8::try_from(found.active_mtu).unwrap_or(1),
            longest_message: found.max_msg_sz,
            addresses: u32::try_from(found.gid_tbl_len).unwrap_or(0),
            partition_keys: found.pkey_tbl_len,
        })
    }

    /// The address at a place of a port's table; `None` where it is empty.
    ///
    /// # Errors
    /// [`Newer`](VerbsError::Newer), [`Call`](VerbsError::Call).
    pub fn gid(&self, port: u8, index: u32) -> Result<Option<Gid>> {
        let Some(query) = self.library.verbs._ibv_query_gid_ex else {
            return Err(VerbsError::Newer {
                what: "reading a port's addresses with their kind",
                function: "_ibv_query_gid_ex",
                since: 32,
            });
        };
        let mut entry = IbvGidEntry { gid: [0; 16], gid_index: 0, port_num: 0, gid_type: 0, ndev_ifindex: 0 };
        let size = size_of::<IbvGidEntry>();
        // SAFETY: an open context, and an entry of the size that is said.
        let code = unsafe { query(self.pointer.as_ptr(), u32::from(port), index, &raw mut entry, 0, size) };
        if code == libc::ENODATA {
            return Ok(None);
        }
        self.check("ibv_query_gid_ex", code)?;
        let kind = match entry.gid_type {
            0 => GidKind::InfiniBand,
            1 => GidKind::RoceV1,
            _ => GidKind::RoceV2,
        };
        Ok(Some(Gid { bytes: entry.gid, kind }))
    }

    /// The partition key at a place of a port's table; its upper bit says full membership.
    ///
    /// # Errors
    /// [`Call`](VerbsError::Call), also for a place that does not exist.
    pub fn partition_key(&self, port: u8, index: u16) -> Result<u16> {
        let mut key = 0;
        // SAFETY: an open context; the key may be written.
        let code = unsafe {
            (self.library.verbs.ibv_query_pkey)(self.pointer.as_ptr(), port, i32::from(index), &raw mut key)
        };
        self.check("ibv_query_pkey", code)?;
        Ok(u16::from_be(key))
    }
}
