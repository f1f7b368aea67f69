// The kernels of `nvshmem`, one per test. PE 0 initiates towards PE 1; addresses are symmetric.
#pragma once

#include "device.h"

namespace shmem {

using protocol::Scope;
using protocol::Test;

// ---- the calls, by scope ----

template <u32 kScope>
__device__ __forceinline__ void put_nbi(char *to, const char *from, u64 bytes, int pe) {
    if constexpr (kScope == protocol::kThread) nvshmem_putmem_nbi(to, from, bytes, pe);
    else if constexpr (kScope == protocol::kWarp) nvshmemx_putmem_nbi_warp(to, from, bytes, pe);
    else nvshmemx_putmem_nbi_block(to, from, bytes, pe);
}

template <u32 kScope>
__device__ __forceinline__ void get_nbi(char *to, const char *from, u64 bytes, int pe) {
    if constexpr (kScope == protocol::kThread) nvshmem_getmem_nbi(to, from, bytes, pe);
    else if constexpr (kScope == protocol::kWarp) nvshmemx_getmem_nbi_warp(to, from, bytes, pe);
    else nvshmemx_getmem_nbi_block(to, from, bytes, pe);
}

template <u32 kScope>
__device__ __forceinline__ void get(char *to, const char *from, u64 bytes, int pe) {
    if constexpr (kScope == protocol::kThread) nvshmem_getmem(to, from, bytes, pe);
    else if constexpr (kScope == protocol::kWarp) nvshmemx_getmem_warp(to, from, bytes, pe);
    else nvshmemx_getmem_block(to, from, bytes, pe);
}

template <u32 kScope>
__device__ __forceinline__ void put_signal_nbi(char *to, const char *from, u64 bytes, u64 *signal, u64 value, int pe) {
    if constexpr (kScope == protocol::kThread)
        nvshmem_putmem_signal_nbi(to, from, bytes, signal, value, NVSHMEM_SIGNAL_SET, pe);
    else if constexpr (kScope == protocol::kWarp)
        nvshmemx_putmem_signal_nbi_warp(to, from, bytes, signal, value, NVSHMEM_SIGNAL_SET, pe);
    else nvshmemx_putmem_signal_nbi_block(to, from, bytes, signal, value, NVSHMEM_SIGNAL_SET, pe);
}

// The team forms: the block form of barrier_all does not hold back (3.4.5).
template <u32 kScope, bool kCompletes>
__device__ __forceinline__ void barrier_of_all() {
    if constexpr (kScope == protocol::kThread) kCompletes ? nvshmem_barrier(NVSHMEM_TEAM_WORLD) : nvshmem_team_sync(NVSHMEM_TEAM_WORLD);
    else if constexpr (kScope == protocol::kWarp)
        kCompletes ? nvshmemx_barrier_warp(NVSHMEM_TEAM_WORLD) : nvshmemx_team_sync_warp(NVSHMEM_TEAM_WORLD);
    else kCompletes ? nvshmemx_barrier_block(NVSHMEM_TEAM_WORLD) : nvshmemx_team_sync_block(NVSHMEM_TEAM_WORLD);
}

__device__ __forceinline__ void quiet_block() {
    __syncthreads();
    if (threadIdx.x == 0) nvshmem_quiet();
}

// The next PE: of two the other one.
__device__ __forceinline__ int other(const Args &args) { return (int)((args.pe + 1) % args.pes); }

// ---- bandwidth ----

template <u32 kScope, bool kGet>
__global__ void __launch_bounds__(1024, 1) copy_bw(const Args args) {
    const device::Share mine = device::share(device::part_of(kScope), device::parts_of(kScope), args.bytes);
    char *to = args.target + mine.from;
    const char *from = args.source + args.offset + mine.from;
    const int pe = other(args);
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            if constexpr (kGet) {
                get_nbi<kScope>(to, from, mine.bytes, pe);
                grid.wait_before_reads();
            } else {
                put_nbi<kScope>(to, from, mine.bytes, pe);
                grid.wait();
            }
        },
        [] { quiet_block(); }, [] { nvshmem_sync_all(); });
}

__global__ void __launch_bounds__(1024, 1) p_bw(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    int *to = (int *)args.target;
    const int *from = (const int *)args.source;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            for (u64 i = thread; i < args.bytes / 4; i += threads) nvshmem_int_p(to + i, from[i], 1);
            grid.wait();
        },
        [] { quiet_block(); }, [] {});
}

// Plain stores through the pointer that nvshmem_ptr gave.
__global__ void __launch_bounds__(1024, 1) st_bw(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    int *to = (int *)args.peer_target;
    const int *from = (const int *)args.source;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            for (u64 i = thread; i < args.bytes / 4; i += threads) to[i] = from[i];
            grid.wait();
        },
        [] { quiet_block(); }, [] {});
}

__global__ void __launch_bounds__(1024, 1) g_bw(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    double *to = (double *)args.target;
    const double *from = (const double *)args.source;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            for (u64 i = thread; i < args.bytes / 8; i += threads) to[i] = nvshmem_double_g(from + i, 1);
            grid.wait_before_reads();
        },
        [] {}, [] {});
}

__global__ void __launch_bounds__(1024, 1) gather_bw(const Args args) {
    const device::Share mine = device::share(blockIdx.x, gridDim.x, args.bytes);
    double *to = (double *)args.target + mine.from / 8;
    const double *from = (const double *)args.source;
    const u32 *index = args.index + mine.from / 8;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            for (u64 i = threadIdx.x; i < mine.bytes / 8; i += blockDim.x) to[i] = nvshmem_double_g(from + index[i], 1);
            grid.wait_before_reads();
        },
        [] {}, [] {});
}

// ---- latency ----

template <u32 kScope>
__global__ void __launch_bounds__(1024, 1) put_lat(const Args args) {
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            put_nbi<kScope>(args.target, args.source, args.bytes, 1);
            device::sync(kScope);
            if (device::leads(kScope)) nvshmem_quiet();
            device::sync(kScope);
        },
        [] {}, [] {});
}

template <u32 kScope>
__global__ void __launch_bounds__(1024, 1) get_lat(const Args args) {
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            get<kScope>(args.target, args.source, args.bytes, 1);
            device::fence_acquire_gpu();  // the next one is not served by the L1
        },
        [] {}, [] {});
}

__global__ void p_lat(const Args args) {
    const int value = *(const int *)args.source;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            nvshmem_int_p((int *)args.target, value, 1);
            nvshmem_quiet();
        },
        [] {}, [] {});
}

__global__ void g_lat(const Args args) {
    double value = 0;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            const u64 at = (u64)__double_as_longlong(value) & args.zero;
            value = nvshmem_double_g((const double *)args.source + at, 1);
            device::fence_acquire_gpu();
        },
        [] {}, [] {});
    *(double *)args.target = value;
}

// ---- round trips ----

// `kStrong`: the signal also orders what this PE put before.
template <bool kStrong>
__global__ void signal_pingpong(const Args args) {
    device::round_trips(
        args,
        [&](u64 value) {
            if (kStrong) nvshmem_fence();
            nvshmemx_signal_op(args.signals, value, NVSHMEM_SIGNAL_SET, other(args));
        },
        [&](u64 value) { nvshmem_signal_wait_until(args.signals, NVSHMEM_CMP_EQ, value); });
}

template <u32 kScope>
__global__ void __launch_bounds__(1024, 1) put_signal_pingpong(const Args args) {
    device::round_trips(
        args,
        [&](u64 value) { put_signal_nbi<kScope>(args.target, args.source, args.bytes, args.signals, value, other(args)); },
        [&](u64 value) {
            if (device::leads(kScope)) nvshmem_signal_wait_until(args.signals, NVSHMEM_CMP_EQ, value);
            device::sync(kScope);
        });
}

// ---- atomics ----

template <bool kFetch>
__global__ void __launch_bounds__(1024, 1) atomic_bw(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 stride = args.pattern == protocol::kOne ? 0 : args.pattern == protocol::kAdjacent ? 1 : 16;
    u64 *word = (u64 *)args.target + stride * thread;
    u64 sum = 0, last = 0;
    device::timed<false>(
        args,
        [&](device::Grid &, u64) {
            if (kFetch) {
                sum += last;  // the one before, so that two are in flight
                last = nvshmem_uint64_atomic_fetch_add(word, device::kAddend, 1);
            } else {
                nvshmem_uint64_atomic_add(word, device::kAddend, 1);
            }
        },
        [] { quiet_block(); }, [] {});
    if (sum + last == 1) args.outcome->sink = sum;
}

template <bool kFetch>
__global__ void atomic_lat(const Args args) {
    u64 *word = (u64 *)args.target;
    u64 old = 0;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            if (kFetch) {
                old = nvshmem_uint64_atomic_fetch_add(word, device::kAddend + (old & args.zero), 1);
            } else {
                nvshmem_uint64_atomic_add(word, device::kAddend, 1);
                nvshmem_quiet();
            }
        },
        [] {}, [] {});
    args.outcome->sink = old;
}

// Every thread updates random words of both tables.
__global__ void __launch_bounds__(1024, 1) gups(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    const u64 words = args.bytes / 8, seed = args.seed + args.pe;
    u64 *table = (u64 *)args.target;
    device::timed<false>(
        args,
        [&](device::Grid &, u64 round) {
            for (u64 j = 0; j < args.updates; ++j) {
                const u64 drawn = device::mix(seed, (round * args.updates + j) * threads + thread);
                const u64 at = __umul64hi(drawn, 2 * words);
                nvshmem_uint64_atomic_add(table + (at < words ? at : at - words), device::kAddend, at < words ? 0 : 1);
            }
        },
        [] { quiet_block(); }, [] { nvshmem_sync_all(); });
}

// ---- collective operations ----

template <u32 kScope, Test kTest>
__device__ __forceinline__ void operate(u32 *to, const u32 *from, size_t count) {
    const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    if constexpr (kTest == Test::kBroadcast) {
        if constexpr (kScope == protocol::kThread) nvshmem_uint32_broadcast(team, to, from, count, 0);
        else if constexpr (kScope == protocol::kWarp) nvshmemx_uint32_broadcast_warp(team, to, from, count, 0);
        else nvshmemx_uint32_broadcast_block(team, to, from, count, 0);
    } else if constexpr (kTest == Test::kFcollect) {
        if constexpr (kScope == protocol::kThread) nvshmem_uint32_fcollect(team, to, from, count);
        else if constexpr (kScope == protocol::kWarp) nvshmemx_uint32_fcollect_warp(team, to, from, count);
        else nvshmemx_uint32_fcollect_block(team, to, from, count);
    } else if constexpr (kTest == Test::kAlltoall) {
        if constexpr (kScope == protocol::kThread) nvshmem_uint32_alltoall(team, to, from, count);
        else if constexpr (kScope == protocol::kWarp) nvshmemx_uint32_alltoall_warp(team, to, from, count);
        else nvshmemx_uint32_alltoall_block(team, to, from, count);
    } else {
        if constexpr (kScope == protocol::kThread) nvshmem_uint32_sum_reduce(team, to, from, count);
        else if constexpr (kScope == protocol::kWarp) nvshmemx_uint32_sum_reduce_warp(team, to, from, count);
        else nvshmemx_uint32_sum_reduce_block(team, to, from, count);
    }
}

template <u32 kScope, Test kTest>
__global__ void __launch_bounds__(1024, 1) collective(const Args args) {
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            operate<kScope, kTest>((u32 *)args.target, (const u32 *)args.source, args.bytes / 4);
        },
        [] {}, [] { nvshmem_sync_all(); });
}

// ---- barriers ----

template <u32 kScope, bool kCompletes>
__global__ void __launch_bounds__(1024, 1) barrier(const Args args) {
    device::timed<true>(
        args, [&](device::Grid &, u64) { barrier_of_all<kScope, kCompletes>(); }, [] {}, [] {});
    // Not timed: a store of before it must be there after it.
    u64 missing = 0;
    for (u64 round = 1; round <= 64; ++round) {
        if (threadIdx.x == 0) {
            nvshmem_uint64_p(args.signals + 16, round, other(args));
            nvshmem_quiet();
        }
        device::sync(kScope);
        barrier_of_all<kScope, kCompletes>();
        if (threadIdx.x == 0 && *(volatile u64 *)(args.signals + 16) < round) ++missing;
    }
    if (threadIdx.x == 0) args.outcome->wrong = missing;
}

}  // namespace shmem
