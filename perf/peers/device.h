// What the kernels of all systems share: the arguments, the test pattern, the grid barrier, the timed loop.
#pragma once

#include <cuda_runtime.h>

#include "protocol.h"

using protocol::u32;
using protocol::u64;

// What a kernel leaves behind.
struct Outcome {
    u64 ns;      // of the timed iterations
    u64 cycles;  // of the same
    u64 wrong;   // rounds of a barrier after which the other PE's store was not there
    u64 sink;    // keeps fetched values alive
    u32 sample[protocol::kSamples];  // cycles of single iterations, where a test keeps them
};

// The argument of every kernel. `peer_*` are addresses of the other PE's memory; a library that names PEs leaves them null.
struct Args {
    char *source, *target;
    char *peer_source, *peer_target;
    u64 *signals, *peer_signals;
    const u32 *index;
    u64 *arrived;
    Outcome *outcome;
    u64 bytes, offset, iters, updates, seed;
    u64 outcome_at;  // mailbox: where in the target received words are kept
    u64 zero;        // is 0, which no compiler knows: makes one access depend on another's result
    u32 pe, pes, scope, pattern;
    bool both_run, random;
};

namespace device {

// ---- the test pattern ----

constexpr unsigned char kPoison = 0xa5;
// What an atomic adds: both halves of a word change, so an addition of 32 bits is seen.
constexpr u64 kAddend = 0x100000001ull;

__host__ __device__ inline u64 mix(u64 seed, u64 i) {
    u64 z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Element i, of 4 bytes, of the pattern.
__host__ __device__ inline u32 element(u64 seed, u64 i) { return (u32)(mix(seed, i / 2) >> (i % 2 * 32)); }

// `i` of `count`, or a place drawn at random for it.
__device__ inline u64 place(u64 seed, bool random, u64 i, u64 count) {
    return random ? __umul64hi(mix(~seed, i), count) : i;
}

// ---- instructions ----

__device__ __forceinline__ u64 globaltimer() {
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ __forceinline__ u64 cycles() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

// Later weak loads of this thread's SM are not served by lines that its L1 holds from before.
__device__ __forceinline__ void fence_acquire_gpu() { asm volatile("fence.acquire.gpu;" ::: "memory"); }

__device__ __forceinline__ void sync(u32 scope) {
    if (scope >= protocol::kBlock) __syncthreads();
    else if (scope == protocol::kWarp) __syncwarp();
}

__device__ __forceinline__ bool leads(u32 scope) {
    return scope == protocol::kThread || (scope == protocol::kWarp ? threadIdx.x % 32 == 0 : threadIdx.x == 0);
}

// ---- the grid barrier ----

class Grid {
   public:
    __device__ explicit Grid(u64 *arrived) : arrived_(arrived), goal_(0) {}

    __device__ __forceinline__ void wait() {
        __syncthreads();
        if (gridDim.x == 1) return;
        if (threadIdx.x == 0) {
            u64 seen;
            goal_ += gridDim.x;
            asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], 1;" : "=l"(seen) : "l"(arrived_) : "memory");
            do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(arrived_) : "memory");
            while (seen < goal_);
        }
        __syncthreads();
    }

    // The barrier between iterations that read: with one CTA, too, nothing is served by the L1 afterwards.
    __device__ __forceinline__ void wait_before_reads() {
        wait();
        if (gridDim.x == 1) fence_acquire_gpu();
    }

   private:
    u64 *arrived_;
    u64 goal_;
};

// ---- the timed loop ----

__device__ __forceinline__ bool first_of_grid() { return blockIdx.x == 0 && threadIdx.x == 0; }

// `once(grid, round)` is one iteration, `quiet()` completes what was started, `meet()` waits for the other PE (called by
// the grid's first thread, if both PEs run). Time runs from after a grid barrier to after a closing one.
template <bool kSampled, class Once, class Quiet, class Meet>
__device__ __forceinline__ void timed(const Args &args, Once once, Quiet quiet, Meet meet) {
    __shared__ u32 sample[kSampled ? protocol::kSamples : 1];
    __shared__ u64 from_ns, from;  // of the first thread: in shared memory they cost the loop no register
    Grid grid(args.arrived);
    u64 last = 0;
    // One loop for the untimed and the timed iterations: `once` stands once in the code.
    const u64 rounds = protocol::kWarmUp + args.iters;
    for (u64 round = 0; round < rounds; ++round) {
        if (round == protocol::kWarmUp) {
            quiet();
            if (args.both_run && first_of_grid()) meet();
            grid.wait();
            if (first_of_grid()) {
                from_ns = globaltimer();
                from = last = cycles();
            }
        }
        once(grid, round);
        const u64 i = round - protocol::kWarmUp;
        if (kSampled && threadIdx.x == 0 && i < protocol::kSamples) {
            const u64 now = cycles();
            sample[i] = (u32)(now - last);
            last = now;
        }
    }
    quiet();
    grid.wait();
    if (first_of_grid()) {
        args.outcome->ns = globaltimer() - from_ns;
        args.outcome->cycles = cycles() - from;
        if (kSampled)
            for (u64 i = 0; i < args.iters && i < protocol::kSamples; ++i) args.outcome->sample[i] = sample[i];
    }
}

// Round trips: PE 0 sends first. The value grows by one a round.
template <class Send, class Receive>
__device__ __forceinline__ void round_trips(const Args &args, Send send, Receive receive) {
    timed<true>(
        args,
        [&](Grid &, u64 round) {
            if (args.pe == 0) send(round + 1);
            receive(round + 1);
            if (args.pe == 1) send(round + 1);
        },
        [] {}, [] {});
}

// ---- the share of a part ----

struct Share {
    u64 from, bytes;
};

// Equal contiguous shares, in whole units of 16 bytes; the last ones may be shorter or empty.
__device__ __forceinline__ Share share(u64 part, u64 parts, u64 bytes) {
    const u64 units = (bytes + 15) / 16, per = (units + parts - 1) / parts * 16;
    const u64 from = part * per;
    if (from >= bytes) return {0, 0};
    return {from, bytes - from < per ? bytes - from : per};
}

// The part of the calling thread's scope.
__device__ __forceinline__ u64 part_of(u32 scope) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    return scope == protocol::kThread ? thread : scope == protocol::kWarp ? thread / 32 : blockIdx.x;
}

__device__ __forceinline__ u64 parts_of(u32 scope) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
    return scope == protocol::kThread ? threads : scope == protocol::kWarp ? threads / 32 : gridDim.x;
}

}  // namespace device
