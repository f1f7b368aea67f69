//! What sort of operation an access belongs to, and what its order promises.

use super::run::Op;
use super::words::How;
use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::Order;

/// Whether an operation moves data and nothing else. What `g` returns is a value of the kernel's.
pub(super) fn copies(operation: Operation) -> bool {
    puts(operation) || gets(operation) && operation != Operation::G || operation == Operation::WaitPackets
}

pub(super) fn puts(operation: Operation) -> bool {
    use Operation::{
        Iput, IputNbi, P, Put, PutAdd, PutAddNbi, PutNbi, PutPackets, PutSignal, PutSignalNbi, Updates,
    };
    matches!(
        operation,
        Put | PutPackets
            | PutNbi
            | P
            | PutSignal
            | PutSignalNbi
            | Iput
            | IputNbi
            | PutAdd
            | PutAddNbi
            | Updates
    )
}

pub(super) fn gets(operation: Operation) -> bool {
    use Operation::{G, GNbi, Gather, GatherNbi, Get, GetNbi, Iget, IgetNbi};
    matches!(operation, Get | GetNbi | G | GNbi | Iget | IgetNbi | Gather | GatherNbi)
}

/// Whether an operation may still read its source, or write its destination, after it has returned.
pub(super) fn non_blocking(operation: Operation) -> bool {
    use Operation::{GatherNbi, GetNbi, IgetNbi, IputNbi, PutAddNbi, PutNbi, PutSignalNbi};
    matches!(operation, PutNbi | PutSignalNbi | IputNbi | PutAddNbi | GetNbi | IgetNbi | GatherNbi)
}

/// Whether an access takes part in synchronisation: atomics, signals, waits, tests, packets, and strong accesses through
/// a pointer. `p` and `g` are strong accesses of the device, but promise nothing when they race.
pub(super) fn strong(op: &Op, order: Order) -> bool {
    order != Order::Weak && !matches!(op.operation, Operation::P | Operation::G | Operation::GNbi)
}

/// Whether an order acquires.
pub(super) fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcqRel | Order::Gpu)
}

pub(super) fn releases(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcqRel | Order::Gpu)
}

/// How a signal operation writes its word, if it is one.
pub(super) fn how(op: &Op, how: How) -> Option<How> {
    use Operation::{PutSignal, PutSignalNbi, Signal, SignalWeak};
    matches!(op.operation, Signal | SignalWeak | PutSignal | PutSignalNbi).then_some(how)
}
