//! Kernels in rust-cuda's style. One line of the code differs from what rust-cuda compiles: the `use` line, which there
//! reads `use cuda_std::{GpuFloat, kernel, shared, shared_array, thread, warp};`.

use oxshmem_device::cuda_std::{GpuFloat, kernel, shared, shared_array, thread, warp};

/// y = a x + y.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let y = &mut *y.add(i);
        *y += a * x[i];
    }
}

/// Each block's sum of its part of `values`, by a tree in shared memory. A block has at most 256 threads, a power of
/// two.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn block_sum(values: &[f32], sums: *mut f32) {
    const MOST: usize = 256;
    let partial = shared_array![f32; MOST];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *partial.add(t) = if i < values.len() { values[i] } else { 0.0 };
    thread::sync_threads();
    let mut stride = thread::block_dim_x() as usize / 2;
    while stride > 0 {
        if t < stride {
            *partial.add(t) += *partial.add(t + stride);
        }
        thread::sync_threads();
        stride /= 2;
    }
    if t == 0 {
        *sums.add(thread::block_idx_x() as usize) = *partial;
    }
}

/// c = a b for row-major square matrices of n rows, by tiles of 16 by 16 in two arrays of shared memory.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn multiply(a: &[f32], b: &[f32], c: *mut f32, n: usize) {
    const SIDE: usize = 16;
    let tile_a = shared_array![f32; SIDE * SIDE];
    let tile_b = shared_array![f32; SIDE * SIDE];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let place = thread::index_2d();
    let (column, row) = (place.x as usize, place.y as usize);
    let mut sum = 0.0f32;
    for first in (0..n).step_by(SIDE) {
        let (inner_a, inner_b) = (first + x, first + y);
        *tile_a.add(y * SIDE + x) = if row < n && inner_a < n { a[row * n + inner_a] } else { 0.0 };
        *tile_b.add(y * SIDE + x) = if inner_b < n && column < n { b[inner_b * n + column] } else { 0.0 };
        thread::sync_threads();
        for i in 0..SIDE {
            sum = (*tile_a.add(y * SIDE + i)).mul_add(*tile_b.add(i * SIDE + x), sum);
        }
        thread::sync_threads();
    }
    if row < n && column < n {
        *c.add(row * n + column) = sum;
    }
}

/// Reverses the elements of each block through dynamic shared memory, which has room for a block.
#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn turn(values: *mut u32) {
    let turned = shared::dynamic_shared_mem::<u32>();
    let (own, t) = (values.add(thread::index_1d() as usize), thread::thread_idx_x());
    *turned.add((thread::block_dim_x() - 1 - t) as usize) = *own;
    thread::sync_threads();
    *own = *turned.add(t as usize);
}

/// Per thread of one block, what the warp's and the block's collectives and the indices say: 16 words a thread.
#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn collect(out: *mut u32) {
    const ALL: u32 = u32::MAX;
    let lane = warp::lane_id();
    let to = out.add(16 * thread::index() as usize);
    let (below, has_below) = warp::warp_shuffle_up(ALL, lane, 3, 8);
    let (above, has_above) = warp::warp_shuffle_down(ALL, u64::from(lane) << 32, 3, 16);
    let (fifth, _) = warp::warp_shuffle_idx(ALL, lane as f32, 5, 8);
    let (other, has_other) = warp::warp_shuffle_xor(ALL, lane, 12, 8);
    *to = below << 1 | u32::from(has_below);
    *to.add(1) = ((above >> 32) as u32) << 1 | u32::from(has_above);
    *to.add(2) = fifth as u32;
    *to.add(3) = other << 1 | u32::from(has_other);
    *to.add(4) = warp::warp_vote_ballot(ALL, lane & 3 == 3);
    *to.add(5) =
        u32::from(warp::warp_vote_any(ALL, lane == 9)) << 1 | u32::from(warp::warp_vote_all(ALL, lane < 31));
    *to.add(6) = warp::warp_match_any(ALL, u64::from(lane % 4) << 40);
    *to.add(7) = warp::warp_match_all(ALL, lane / 32).unwrap_or(0);
    *to.add(8) = warp::warp_match_all(ALL, lane / 31).unwrap_or(0);
    *to.add(9) = warp::warp_reduce(ALL, lane, warp::WarpReductionOp::Add);
    *to.add(10) = warp::warp_reduce(ALL, 5 - lane as i32, warp::WarpReductionOp::Min) as u32;
    *to.add(11) = thread::sync_threads_count(u32::from(lane > 20));
    *to.add(12) = thread::sync_threads_and(lane + 1) << 1 | thread::sync_threads_or(u32::from(lane == 40));
    *to.add(13) = u32::from(thread::first()) << 8 | thread::warp_size();
    let (place, size) = (thread::thread_idx(), thread::block_dim());
    *to.add(14) = place.x + size.x * (place.y + size.y * place.z);
    *to.add(15) = thread::index_3d().z;
    thread::nanosleep(10);
    thread::device_fence();
}

/// A helper that takes either width.
#[inline(always)]
fn root<F: GpuFloat>(value: F) -> F {
    value.abs().sqrt()
}

/// Roots, roundings and powers of each value: four a value.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn round_all(values: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        let value = values[i];
        *out.add(4 * i) = root(value);
        *out.add(4 * i + 1) = value.floor() + 16.0 * value.ceil();
        *out.add(4 * i + 2) = value.round() + 16.0 * value.trunc();
        *out.add(4 * i + 3) = value.powi(3);
    }
}
