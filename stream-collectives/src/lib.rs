//! The kernels that the host runtime launches for its collective operations, on streams and blocking: of a team, on one of its
//! channels, by all blocks of a grid that does nothing else. Programs do not launch them; they call `Shmem::reduce_on` and its
//! like, which has checked every handle, length and PE.
//!
//! They are a crate of their own because they are large: a GPU gets them when the first of them is launched.
//!
//! Data is moved as bytes, whatever its type: as words of 16 bytes wherever addresses allow it. Reductions and scans are one
//! body for each type, which takes the form and the operator as numbers; sums, which are most of what is asked for, are
//! another one, in which nothing is chosen for each word. Integers of one width share an instance.

use oxshmem_device::collective::{Form, Numbered, NumberedSum, Numbers, Parts};
use oxshmem_device::prelude::*;

/// `broadcast`.
#[nvshmem_kernel]
pub fn broadcast(
    shmem: Collective,
    team: Team,
    channel: u32,
    target: Sym<[u8]>,
    source: Sym<[u8]>,
    root: u32,
) {
    shmem.team(team).channel(channel).apart().broadcast(target, source, root);
}

/// `fcollect`.
#[nvshmem_kernel]
pub fn fcollect(shmem: Collective, team: Team, channel: u32, target: Sym<[u8]>, source: Sym<[u8]>) {
    shmem.team(team).channel(channel).apart().fcollect(target, source);
}

/// `alltoall`.
#[nvshmem_kernel]
pub fn alltoall(shmem: Collective, team: Team, channel: u32, target: Sym<[u8]>, source: Sym<[u8]>) {
    shmem.team(team).channel(channel).apart().alltoall(target, source);
}

/// `collect`, of elements of `unit` bytes.
#[nvshmem_kernel]
pub fn collect(shmem: Collective, team: Team, channel: u32, target: Sym<[u8]>, source: Sym<[u8]>, unit: u64) {
    shmem.team(team).channel(channel).apart().collect_units(target, source, unit);
}

/// `alltoallv`, of elements of `unit` bytes, in which offsets and counts are.
#[nvshmem_kernel]
#[expect(clippy::too_many_arguments, reason = "those of the operation")]
pub fn alltoallv(
    shmem: Collective,
    team: Team,
    channel: u32,
    target: Sym<[u8]>,
    source: Sym<[u8]>,
    target_offsets: Sym<[u64]>,
    source_offsets: Sym<[u64]>,
    counts: Sym<[u64]>,
    received: Sym<[u64]>,
    unit: u64,
) {
    let parts = Parts { target_offsets, source_offsets, counts, received };
    shmem.team(team).channel(channel).apart().alltoallv_units(target, source, parts, unit);
}

/// The reductions and scans: the form of number `form`, the operator of number `op`, to PE `root` if the form has one.
#[nvshmem_kernel(instances(u8, u16, u32, u64, f16, bf16, f32, f64))]
#[expect(clippy::too_many_arguments, reason = "those of the operation")]
pub fn reduction<T: Numbers>(
    shmem: Collective,
    team: Team,
    channel: u32,
    form: u32,
    op: u32,
    target: Sym<[T]>,
    source: Sym<[T]>,
    root: u32,
) {
    let form = Form::from_number(form);
    shmem.team(team).channel(channel).apart().reduction(form, Numbered(op), target, source, root);
}

/// As `reduction`, of sums.
#[nvshmem_kernel(instances(u32, u64, f16, bf16, f32, f64))]
pub fn sum<T: Numbers>(
    shmem: Collective,
    team: Team,
    channel: u32,
    form: u32,
    target: Sym<[T]>,
    source: Sym<[T]>,
    root: u32,
) {
    let form = Form::from_number(form);
    shmem.team(team).channel(channel).apart().reduction(form, NumberedSum, target, source, root);
}

oxshmem_device::kernels!();
