// The kernels of `raw`, one per test. Each has the one argument of device.h.
#pragma once

#include "raw_copy.h"

namespace raw {

// The threads of a scope and the bytes that they move together.
struct Work {
    u64 from, bytes;
    u32 first, step;
};

__device__ __forceinline__ Work work(const Args &args) {
    using namespace protocol;
    if (args.scope == kGrid)
        return {0, args.bytes, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x};
    const device::Share mine = device::share(device::part_of(args.scope), device::parts_of(args.scope), args.bytes);
    if (args.scope == kThread) return {mine.from, mine.bytes, 0, 1};
    if (args.scope == kWarp) return {mine.from, mine.bytes, threadIdx.x % 32, 32};
    return {mine.from, mine.bytes, threadIdx.x, blockDim.x};
}

// The same within the one CTA of a latency test, whose threads are the scope.
__device__ __forceinline__ Work whole(const Args &args) { return {0, args.bytes, threadIdx.x, blockDim.x}; }

// Completes what all threads of the block stored: one fence behind a barrier covers them.
__device__ __forceinline__ void quiet_block() {
    __syncthreads();
    if (threadIdx.x == 0) fence_sc_sys();
}

// The first threads of both grids wait for each other.
__device__ __forceinline__ void meet(const Args &args) {
    store_release(args.peer_signals + 1, 1);
    while (load_acquire(args.signals + 1) == 0) {}
}

// ---- bandwidth ----

template <int kInflight, bool kGet>
__global__ void __launch_bounds__(1024, 1) copy_bw(const Args args) {
    const Work mine = work(args);
    char *to = (kGet ? args.target : args.peer_target) + mine.from;
    const char *from = (kGet ? args.peer_source : args.source) + args.offset + mine.from;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            copy<kInflight>(to, from, mine.bytes, mine.first, mine.step);
            if (kGet) grid.wait_before_reads();
            else grid.wait();
        },
        [&] {
            if (!kGet) quiet_block();
        },
        [&] { meet(args); });
}

template <bool kGet>
__global__ void __launch_bounds__(1024, 1) bulk_bw(const Args args) {
    extern __shared__ char room[];
    const bool drives = threadIdx.x == 0, grid_scope = args.scope == protocol::kGrid;
    const device::Share mine = grid_scope ? device::Share{0, args.bytes} : device::share(blockIdx.x, gridDim.x, args.bytes);
    char *to = (kGet ? args.target : args.peer_target) + mine.from;
    const char *from = (kGet ? args.peer_source : args.source) + args.offset + mine.from;
    // Every thread holds one, the first one's is used.
    Bulk bulk(room, drives);
    __syncthreads();
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            if (drives) bulk.copy(to, from, mine.bytes, grid_scope ? blockIdx.x : 0, grid_scope ? gridDim.x : 1);
            grid.wait();
        },
        [&] {
            if (drives) bulk.quiet();
        },
        [&] { meet(args); });
}

template <int kInflight, Store kStore>
__global__ void __launch_bounds__(1024, 1) p_bw(const Args args) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            copy_elements<kInflight, kStore>((u32 *)args.peer_target, (const u32 *)args.source, thread, threads,
                                             args.bytes / 4);
            grid.wait();
        },
        [&] { quiet_block(); }, [] {});
}

template <int kInflight>
__global__ void __launch_bounds__(1024, 1) g_bw(const Args args) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            copy_elements<kInflight>((u64 *)args.target, (const u64 *)args.peer_source, thread, threads, args.bytes / 8);
            grid.wait_before_reads();
        },
        [] {}, [] {});
}

template <int kInflight>
__global__ void __launch_bounds__(1024, 1) gather_bw(const Args args) {
    const device::Share mine = device::share(blockIdx.x, gridDim.x, args.bytes);
    const u64 *source = (const u64 *)args.peer_source;
    u64 *target = (u64 *)args.target + mine.from / 8;
    const u32 *index = args.index + mine.from / 8;
    const u64 count = mine.bytes / 8, step = blockDim.x;
    device::timed<false>(
        args,
        [&](device::Grid &grid, u64) {
            for (u64 i = threadIdx.x; i < count; i += kInflight * step) {
                u32 at[kInflight];
                u64 v[kInflight];
#pragma unroll
                for (int k = 0; k < kInflight; ++k)
                    if (i + k * step < count) at[k] = load(index + i + k * step);
#pragma unroll
                for (int k = 0; k < kInflight; ++k)
                    if (i + k * step < count) v[k] = load(source + at[k]);
#pragma unroll
                for (int k = 0; k < kInflight; ++k)
                    if (i + k * step < count) store(target + i + k * step, v[k]);
            }
            grid.wait_before_reads();
        },
        [] {}, [] {});
}

// ---- latency ----

template <int kInflight>
__global__ void __launch_bounds__(1024, 1) put_lat(const Args args) {
    const Work mine = whole(args);
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            copy<kInflight>(args.peer_target, args.source, mine.bytes, mine.first, mine.step);
            device::sync(args.scope);
            if (device::leads(args.scope)) fence_sc_sys();
            device::sync(args.scope);
        },
        [] {}, [] {});
}

template <int kInflight>
__global__ void __launch_bounds__(1024, 1) get_lat(const Args args) {
    const Work mine = whole(args);
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            copy<kInflight>(args.target, args.peer_source, mine.bytes, mine.first, mine.step);
            device::sync(args.scope);
            device::fence_acquire_gpu();  // the next one is not served by the L1
        },
        [] {}, [] {});
}

__global__ void p_lat(const Args args) {
    const u32 value = *(const u32 *)args.source;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            store_relaxed((u32 *)args.peer_target, value);
            fence_sc_sys();
        },
        [] {}, [] {});
}

__global__ void g_lat(const Args args) {
    u64 value = 0;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) { value = load_relaxed((const u64 *)args.peer_source + (value & args.zero)); }, [] {}, [] {});
    *(u64 *)args.target = value;
}

// ---- round trips ----

template <bool kStrong>
__global__ void signal_pingpong(const Args args) {
    device::round_trips(
        args,
        [&](u64 value) {
            if (kStrong) store_release(args.peer_signals, value);
            else store_relaxed(args.peer_signals, value);
        },
        [&](u64 value) {
            if (kStrong) while (load_acquire(args.signals) != value) {}
            else while (load_relaxed(args.signals) != value) {}
        });
}

template <int kInflight>
__global__ void __launch_bounds__(1024, 1) put_signal_pingpong(const Args args) {
    const Work mine = whole(args);
    device::round_trips(
        args,
        [&](u64 value) {
            copy<kInflight>(args.peer_target, args.source, mine.bytes, mine.first, mine.step);
            device::sync(args.scope);
            if (device::leads(args.scope)) store_release(args.peer_signals, value);
        },
        [&](u64 value) {
            if (device::leads(args.scope)) {
                while (load_relaxed(args.signals) != value) {}
                fence_acquire_sys();
            }
            device::sync(args.scope);
        });
}

// Data and flag in one access: 8 + 8 bytes. Received words are kept behind the mailbox, where they are checked.
__global__ void __launch_bounds__(1024, 1) mailbox_pingpong(const Args args) {
    constexpr int kTogether = 4;
    const u64 count = args.bytes / 8, step = blockDim.x;
    ulonglong2 *outbox = (ulonglong2 *)args.peer_target;
    const ulonglong2 *inbox = (const ulonglong2 *)args.target;
    const u64 *source = (const u64 *)args.source;
    u64 *kept = (u64 *)(args.target + args.outcome_at);
    device::round_trips(
        args,
        [&](u64 value) {
            for (u64 i = threadIdx.x; i < count; i += kTogether * step) {
                u64 data[kTogether];
#pragma unroll
                for (int k = 0; k < kTogether; ++k)
                    if (i + k * step < count) data[k] = load(source + i + k * step);
#pragma unroll
                for (int k = 0; k < kTogether; ++k)
                    if (i + k * step < count) store_pair(outbox + i + k * step, data[k], value);
            }
        },
        [&](u64 value) {
            for (u64 i = threadIdx.x; i < count; i += kTogether * step) {
                ulonglong2 pair[kTogether];
                bool all;
                do {
                    all = true;
#pragma unroll
                    for (int k = 0; k < kTogether; ++k)
                        if (i + k * step < count) pair[k] = load_pair(inbox + i + k * step);
#pragma unroll
                    for (int k = 0; k < kTogether; ++k)
                        if (i + k * step < count) all &= pair[k].y == value;
                } while (!all);
#pragma unroll
                for (int k = 0; k < kTogether; ++k)
                    if (i + k * step < count) store(kept + i + k * step, pair[k].x);
            }
            device::sync(args.scope);
        });
}

// ---- atomics ----

template <bool kFetch>
__global__ void __launch_bounds__(1024, 1) atomic_bw(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 stride = args.pattern == protocol::kOne ? 0 : args.pattern == protocol::kAdjacent ? 1 : 16;
    u64 *word = (u64 *)args.peer_target + stride * thread;
    u64 sum = 0, last = 0;
    device::timed<false>(
        args,
        [&](device::Grid &, u64) {
            if (kFetch) {
                sum += last;  // the one before, so that two are in flight
                last = fetch_add(word, device::kAddend);
            } else {
                add(word, device::kAddend);
            }
        },
        [&] { quiet_block(); }, [] {});
    if (sum + last == 1) args.outcome->sink = sum;
}

template <bool kFetch>
__global__ void atomic_lat(const Args args) {
    u64 *word = (u64 *)args.peer_target;
    u64 old = 0;
    device::timed<true>(
        args,
        [&](device::Grid &, u64) {
            if (kFetch) {
                old = fetch_add(word, device::kAddend + (old & args.zero));
            } else {
                add(word, device::kAddend);
                fence_sc_sys();
            }
        },
        [] {}, [] {});
    args.outcome->sink = old;
}

// Every thread updates random words of both tables.
__global__ void __launch_bounds__(1024, 1) gups(const Args args) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    const u64 words = args.bytes / 8, seed = args.seed + args.pe;
    u64 *low = (u64 *)(args.pe == 0 ? args.target : args.peer_target);
    u64 *high = (u64 *)(args.pe == 0 ? args.peer_target : args.target);
    device::timed<false>(
        args,
        [&](device::Grid &, u64 round) {
#pragma unroll 4
            for (u64 j = 0; j < args.updates; ++j) {
                const u64 drawn = device::mix(seed, (round * args.updates + j) * threads + thread);
                const u64 at = __umul64hi(drawn, 2 * words);
                add(at < words ? low + at : high + (at - words), device::kAddend);
            }
        },
        [&] { quiet_block(); }, [&] { meet(args); });
}

// ---- barriers ----

// Of two PEs, by flags. `kFence`: stores of before are complete after it (barrier), else the PEs only meet (sync).
template <bool kFence>
__global__ void __launch_bounds__(1024, 1) barrier(const Args args) {
    u64 *peer_flag = args.peer_signals, *flag = args.signals;
    const auto once = [&](u64 value) {
        device::sync(args.scope);
        if (device::leads(args.scope)) {
            if (kFence) fence_sc_sys();
            store_release(peer_flag, value);
            while (load_acquire(flag) < value) {}
        }
        device::sync(args.scope);
    };
    device::timed<true>(
        args, [&](device::Grid &, u64 round) { once(round + 1); }, [] {}, [] {});
    // Not timed: a store of before it must be there after it.
    u64 value = args.iters + protocol::kWarmUp, missing = 0;
    for (u64 round = 1; round <= 64; ++round) {
        if (threadIdx.x == 0) {
            store_relaxed(args.peer_signals + 16, round);
            fence_sc_sys();
        }
        once(++value);
        if (threadIdx.x == 0 && load_relaxed(args.signals + 16) < round) ++missing;
    }
    if (threadIdx.x == 0) args.outcome->wrong = missing;
}

}  // namespace raw
