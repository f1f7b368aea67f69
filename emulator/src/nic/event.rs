//! What a NIC tells its driver beside the completion queues.

/// An asynchronous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A queue pair went to the error state for a reason of its own side.
    QueuePairFatal {
        /// The queue pair.
        qpn: u32,
    },
    /// A queue pair went to the error state since its peer asked for what it may not do.
    QueuePairAccess {
        /// The queue pair.
        qpn: u32,
    },
    /// A queue pair went to the error state since its peer sent what no request is.
    QueuePairRequest {
        /// The queue pair.
        qpn: u32,
    },
    /// A completion queue has overrun.
    CompletionQueueError {
        /// The completion queue.
        cqn: u32,
    },
    /// A completion came to a queue that was armed.
    Completion {
        /// The completion queue.
        cqn: u32,
    },
    /// The port lost its link.
    PortDown,
    /// The port has its link again.
    PortUp,
}
