//! How a driver describes what it wants: memory, completion queues, queue pairs and their transitions.

/// A protection domain's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pd(pub u32);

/// The number of memory for queues and doorbell records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Umem(pub u32);

/// A doorbell page's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uar(pub u32);

/// The keys of a registered region: index in the upper 24 bits, variant in the lower 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Names the region in data segments.
    pub lkey: u32,
    /// Names the region in remote address segments of others.
    pub rkey: u32,
}

/// What may be done to a region, or through a queue pair (which looks at the three remote rights).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Results of reads and atomics may be put here.
    pub local_write: bool,
    /// Others may write.
    pub remote_write: bool,
    /// Others may read.
    pub remote_read: bool,
    /// Others may do atomics.
    pub remote_atomic: bool,
    /// Writes to it may pass other writes of a queue pair, and be passed.
    pub relaxed_ordering: bool,
}

impl Access {
    /// Every right, writes in order.
    pub const ALL: Self = Self {
        local_write: true,
        remote_write: true,
        remote_read: true,
        remote_atomic: true,
        relaxed_ordering: false,
    };
}

/// A place in a umem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The memory.
    pub umem: Umem,
    /// Bytes from its start.
    pub offset: u64,
}

/// A completion queue of entries of 64 bytes, which must read 0xf0 or more in byte 63 (no completion yet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqDescription {
    /// Its entries, aligned to 64 bytes.
    pub buffer: Place,
    /// Entries, as a power of two.
    pub log_size: u8,
    /// Its record of 8 bytes: word 0 the consumer's index, word 1 for arming. Looked at unless overrun is ignored.
    pub record: Option<Place>,
    /// Only entry 0 is written, the newest completion wins.
    pub collapsed: bool,
    /// The consumer's index is not looked at.
    pub ignore_overrun: bool,
    /// The page on which it is armed.
    pub uar: Uar,
}

/// The receive side of a queue pair, as far as a write with immediate needs one: word 0 of the doorbell record
/// counts posted receives, each such write takes one, and its completion goes to this queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The completion queue.
    pub cqn: u32,
}

/// An RC queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpDescription {
    /// The domain that its regions must be of.
    pub pd: Pd,
    /// Its send queue, aligned to 64 bytes.
    pub send: Place,
    /// WQEBBs (64 bytes) of the send queue, as a power of two.
    pub log_send: u8,
    /// Its doorbell record of 8 bytes: word 0 receive, word 1 send.
    pub record: Place,
    /// Completion queue of the send queue.
    pub send_cqn: u32,
    /// The receive side, if there is one.
    pub receive: Option<Receive>,
    /// The page where its doorbell is rung.
    pub uar: Uar,
    /// What completions name it by; 24 bits.
    pub user_index: u32,
}

/// Where a queue pair's peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// InfiniBand: the port's local identifier.
    Lid(u16),
    /// RoCE: the port's global identifier.
    Gid([u8; 16]),
}

/// A change of a queue pair's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Reset to init.
    ToInit {
        /// What the peer may do; the remote rights count.
        access: Access,
    },
    /// Init to ready-to-receive.
    ToRtr {
        /// The peer's queue pair.
        remote_qpn: u32,
        /// Number of the first packet that comes in.
        receive_psn: u32,
        /// Payload of a packet in bytes: 256, 512, 1024, 2048 or 4096.
        mtu: u32,
        /// Where the peer is.
        address: Address,
        /// Reads and atomics that may come in at once, as a power of two.
        log_max_inbound_reads: u8,
        /// Longest message in bytes, as a power of two; at most 30.
        log_max_message: u8,
        /// Code of the wait that a peer is asked for when there is no receive (0 to 31).
        min_rnr_timer: u8,
    },
    /// Ready-to-receive to ready-to-send.
    ToRts {
        /// Number of the first packet that goes out.
        send_psn: u32,
        /// Reads and atomics that may be under way at once, as a power of two.
        log_max_outbound_reads: u8,
        /// A try ends after 4.096 µs · 2^this; 0 never.
        ack_timeout: u8,
        /// Tries after the first; at most 7.
        retry_count: u8,
        /// Tries when the peer has no receive; 7 is without end.
        rnr_retry: u8,
    },
    /// Any state to error: what is posted is flushed.
    ToError,
    /// Any state to reset: what is posted is forgotten, and counters start at 0.
    ToReset,
}

/// A queue pair's state, by the names of the InfiniBand specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is set.
    Reset,
    /// Rights are set.
    Init,
    /// Ready to receive: answers its peer, sends nothing.
    Rtr,
    /// Ready to send.
    Rts,
    /// Flushes what is posted.
    Error,
}

/// What a query of a queue pair says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpState {
    /// Its state.
    pub state: State,
    /// WQEBBs that hardware is through with, modulo 65536: after an error, where it stopped.
    pub hw_send_wqebb: u16,
    /// WQEBBs that software has rung for, modulo 65536.
    pub sw_send_wqebb: u16,
}
