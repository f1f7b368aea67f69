//! What a test can make happen.

use super::syndrome::Syndrome;

/// A fault on demand, at the NIC that [`Nic::inject`](super::Nic::inject) is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The work request that comes after `skip` more fails with this syndrome, unsent.
    Completion {
        /// The queue pair.
        qpn: u32,
        /// Work requests that still go well.
        skip: u32,
        /// What its completion says.
        syndrome: Syndrome,
        /// The vendor's code beside it.
        vendor: u8,
    },
    /// The peer's next `times` requests to this queue pair find no receive.
    NotReady {
        /// The queue pair that answers so.
        qpn: u32,
        /// How often; `u32::MAX` is for ever.
        times: u32,
    },
    /// This queue pair answers nothing any more: its peer's tries run out.
    Silent {
        /// The queue pair.
        qpn: u32,
    },
    /// The queue pair goes to the error state; what is posted is flushed.
    QueuePair {
        /// The queue pair.
        qpn: u32,
    },
    /// The next `times` doorbells of the queue pair are not seen.
    LostDoorbell {
        /// The queue pair.
        qpn: u32,
        /// How many.
        times: u32,
    },
    /// The port's link is lost (or there again): nothing leaves and nothing comes.
    Port {
        /// Whether there is a link.
        up: bool,
    },
    /// The NIC does nothing any more (or works again); its driver sees no difference but that.
    Frozen(bool),
}
