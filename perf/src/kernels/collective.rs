//! Collective operations of all PEs, again and again.

use super::time::{Turns, latency_together};
use super::who::{OnBlock, OnGrid, OnThread, OnWarp, Who};
use oxshmem_device::prelude::*;

/// Which operation.
pub mod form {
    /// PE 0's elements to all.
    pub const BROADCAST: u32 = 0;
    /// Every PE's elements to all, in the order of the PEs.
    pub const FCOLLECT: u32 = 1;
    /// From every PE to every PE its own part.
    pub const ALLTOALL: u32 = 2;
    /// The sum of all PEs' elements to all.
    pub const REDUCE: u32 = 3;
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: |$scope:ident, $target:ident, $source:ident| $operation:expr;)*) => {
        $(
            $(#[$doc])*
            #[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock, OnGrid))]
            pub fn $name<S: Who>(
                shmem: Collective,
                $target: Sym<[u32]>,
                $source: Sym<[u32]>,
                times: Global<[u64]>,
                iters: u32,
                warmup: u32,
            ) {
                if S::index() == 0 {
                    let $scope = S::of(shmem);
                    let turns = Turns { warmup, iters };
                    latency_together(shmem, times, turns, $scope.is_leader(), || $scope.sync_all(), |_| $operation);
                }
            }
        )*
    };
}

kernels! {
    /// The first scope of each PE broadcasts from PE 0.
    broadcast: |scope, target, source| scope.broadcast(target, source, 0);
    /// The first scope of each PE collects from all.
    fcollect: |scope, target, source| scope.fcollect(target, source);
    /// The first scope of each PE sends every PE its part.
    alltoall: |scope, target, source| scope.alltoall(target, source);
    /// The first scope of each PE sums over all.
    reduce: |scope, target, source| scope.reduce(Sum, target, source);
}
