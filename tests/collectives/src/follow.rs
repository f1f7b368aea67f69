//! Schedules, followed by a grid whose blocks are the lanes.

use crate::sample::Sample;
use oxshmem_device::collective::Course;
use oxshmem_device::collective::schedule::{
    Grid, HierarchicalRing, HierarchicalTree, Pipeline, Ring, Schedule, Tree,
};
use oxshmem_device::prelude::*;
use oxshmem_device::{MayWait, Scope, Scoped};

/// What a schedule does, as a number.
pub mod task {
    /// All-reduce.
    pub const ALL_REDUCE: u32 = 0;
    /// Of a ring: reduce-scatter.
    pub const REDUCE_SCATTER: u32 = 1;
    /// Of a ring: all-gather.
    pub const ALL_GATHER: u32 = 2;
    /// Of a tree: reduce to a root.
    pub const REDUCE: u32 = 3;
    /// Of a tree: broadcast.
    pub const BROADCAST: u32 = 4;
}

/// Which schedule, and how often it is followed.
///
/// As a kernel's parameter: task, root, PEs of a node, rounds, depth, lag, slots, how often.
pub type Raw = [u32; 8];

/// The same with names.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// One of [`task`].
    pub task: u32,
    /// The PE that is the root.
    pub root: u32,
    /// The PEs as nodes.
    pub grid: Grid,
    /// How a slice is cut.
    pub pipeline: Pipeline,
    /// How often one is followed, one execution right behind the other.
    pub times: u32,
}

impl Plan {
    /// As a parameter.
    pub fn raw(self) -> Raw {
        let Self { task, root, grid, pipeline: Pipeline { rounds, depth, lag, slots }, times } = self;
        [task, root, grid.per_node(), rounds, depth, lag, slots, times]
    }

    #[inline(always)]
    fn new(raw: Raw, pes: u32) -> Option<Self> {
        let [task, root, per_node, rounds, depth, lag, slots, times] = raw;
        let grid = Grid::new(pes / per_node.max(1), per_node)?;
        Some(Self { task, root, grid, pipeline: Pipeline { rounds, depth, lag, slots }, times })
    }

    /// The ring of a PE and a lane.
    #[inline(always)]
    pub fn ring(self, pe: u32, lane: u32) -> Ring {
        match self.task {
            task::ALL_REDUCE => Ring::all_reduce(self.grid, pe, lane, self.pipeline),
            task::REDUCE_SCATTER => Ring::reduce_scatter(self.grid, pe, lane, self.pipeline),
            _ => Ring::all_gather(self.grid, pe, lane, self.pipeline),
        }
    }

    /// The tree of a PE and a lane.
    #[inline(always)]
    pub fn tree(self, pe: u32, lane: u32) -> Tree {
        match self.task {
            task::ALL_REDUCE => Tree::all_reduce(self.grid, pe, lane, self.pipeline),
            task::REDUCE => Tree::reduce(self.grid, pe, self.root, self.pipeline),
            _ => Tree::broadcast(self.grid, pe, self.root, self.pipeline),
        }
    }

    /// The hierarchical ring of a PE.
    #[inline(always)]
    pub fn hierarchical_ring(self, pe: u32) -> HierarchicalRing {
        HierarchicalRing::all_reduce(self.grid, pe, self.pipeline)
    }

    /// The hierarchical tree of a PE.
    #[inline(always)]
    pub fn hierarchical_tree(self, pe: u32) -> HierarchicalTree {
        HierarchicalTree::all_reduce(self.grid, pe, self.pipeline)
    }

    /// First element and number of elements of an execution, of memory of `len` elements for all of them: the first has most,
    /// each further one an element less for each PE.
    #[inline(always)]
    pub fn part(self, len: u64, execution: u32) -> (u64, u64) {
        let pes = u64::from(self.grid.n_pes());
        let each = len / u64::from(self.times.max(1)) / pes * pes;
        let less = (u64::from(execution) * pes).min(each);
        (each * u64::from(execution), each - less)
    }
}

#[inline(always)]
fn times<S: Scope, C: MayWait, P: Schedule, T: Sample>(
    scope: Scoped<S, C>,
    plan: Plan,
    of: impl Fn(u32) -> P,
    (target, source): (Sym<[T]>, Sym<[T]>),
    course: Course<T>,
) {
    let mut execution = 0;
    while execution < plan.times {
        let (start, count) = plan.part(target.len(), execution);
        scope.follow(&of, T::op(0), target.slice(start, count), source.slice(start, count), course);
        execution += 1;
    }
}

macro_rules! kernels {
    ($($name:ident: $plan:ident $pe:ident $lane:ident => $of:expr;)*) => {
        $(
            /// Sums by a schedule of this kind.
            #[nvshmem_kernel(instances(u32, f16))]
            #[expect(clippy::too_many_arguments, reason = "what a schedule takes")]
            pub fn $name<T: Sample>(
                shmem: Collective,
                team: Team,
                raw: [u32; 8],
                target: Sym<[T]>,
                source: Sym<[T]>,
                signals: Sym<[Signal]>,
                buffers: Sym<[T]>,
                counters: Sym<[u64]>,
            ) {
                let on_team = shmem.team(team);
                let $pe = on_team.my_pe();
                let Some($plan) = Plan::new(raw, on_team.n_pes()) else { return };
                let course = Course { signals, buffers, counters };
                times(on_team.grid(), $plan, |$lane: u32| $of, (target, source), course);
            }
        )*
    };
}
kernels! {
    ring: plan pe lane => plan.ring(pe, lane);
    tree: plan pe lane => plan.tree(pe, lane);
    hierarchical_ring: plan pe lane => { let _ = lane; plan.hierarchical_ring(pe) };
    hierarchical_tree: plan pe lane => { let _ = lane; plan.hierarchical_tree(pe) };
}
