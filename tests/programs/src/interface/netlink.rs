//! What little of rtnetlink is needed to make a pair of virtual interfaces: messages of rtnetlink(7), one at a time, each
//! answered by the kernel.

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netdevice, recv, send, socket};
use std::io::{Error, Result};
use std::net::IpAddr;
use std::os::fd::OwnedFd;

// Numbers of linux/netlink.h, rtnetlink.h, if_link.h, if_addr.h, veth.h.
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const NLM_F_CREATE_EXCL: u16 = 0x400 | 0x200;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;
/// No search for duplicates, during which an address cannot be used.
const IFA_F_NODAD: u32 = 2;
const IFF_UP: u32 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// A connection to the kernel's part.
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub(super) fn open() -> Result<Self> {
        // Protocol 0 is NETLINK_ROUTE.
        Ok(Self(socket(AddressFamily::NETLINK, SocketType::RAW, None)?))
    }

    /// Makes two interfaces that are each other's other end.
    pub(super) fn make_pair(&self, one: &str, other: &str) -> Result<()> {
        let peer = [link(0, 0), attribute(IFLA_IFNAME, &text(other))].concat();
        let data = attribute(IFLA_INFO_DATA, &attribute(VETH_INFO_PEER, &peer));
        let info = [attribute(IFLA_INFO_KIND, &text("veth")), data].concat();
        let body = [link(0, 0), attribute(IFLA_IFNAME, &text(one)), attribute(IFLA_LINKINFO, &info)];
        self.ask(RTM_NEWLINK, NLM_F_CREATE_EXCL, &body.concat())
    }

    /// The number of an interface.
    pub(super) fn index(&self, name: &str) -> Result<u32> {
        Ok(netdevice::name_to_index(&self.0, name)?)
    }

    /// Has an interface work.
    pub(super) fn up(&self, index: u32) -> Result<()> {
        self.ask(RTM_NEWLINK, 0, &link(index, IFF_UP))
    }

    /// Gives an interface an address of a network of this prefix.
    pub(super) fn add_address(&self, index: u32, address: IpAddr, prefix: u8) -> Result<()> {
        let (family, bytes) = match address {
            IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
        };
        // struct ifaddrmsg: family, prefix, flags, scope, index.
        let header = [&[family, prefix, 0, 0][..], &index.to_ne_bytes()].concat();
        let flags = attribute(IFA_FLAGS, &IFA_F_NODAD.to_ne_bytes());
        let body = [header, attribute(IFA_LOCAL, &bytes), attribute(IFA_ADDRESS, &bytes), flags];
        self.ask(RTM_NEWADDR, NLM_F_CREATE_EXCL, &body.concat())
    }

    /// Sends a message and reads what the kernel says to it.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> Result<()> {
        // struct nlmsghdr: length, kind, flags, number, port.
        let length = (16 + body.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((NLM_F_REQUEST_ACK | flags).to_ne_bytes());
        message.extend([1u32, 0].map(u32::to_ne_bytes).concat());
        message.extend(body);
        send(&self.0, &message, SendFlags::empty())?;
        let mut answer = [0; 4096];
        let (read, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        let answer = &answer[..read];
        // The same header, then the negative number of an error, 0 for none.
        match (answer.get(4..6), answer.get(16..20)) {
            (Some(kind), Some(error)) if kind == NLMSG_ERROR.to_ne_bytes() => {
                match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
                    0 => Ok(()),
                    error => Err(Errno::from_raw_os_error(-error).into()),
                }
            }
            _ => Err(Error::other(format!("the kernel answered {answer:?}"))),
        }
    }
}

/// struct ifinfomsg: family, type, index, flags, which of them change.
fn link(index: u32, flags: u32) -> Vec<u8> {
    [0, index, flags, flags].map(u32::to_ne_bytes).concat()
}

/// struct rtattr: length, kind; the next begins at a multiple of 4 bytes.
fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = (4 + data.len()) as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn text(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}
