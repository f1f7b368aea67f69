// One PE of a system, host side: its buffers, what a request finds in them, and whether it left the right data.
#pragma once

#include "device.h"

using protocol::Failure;
using protocol::Request;
using protocol::Test;

inline void cuda_call(cudaError_t error, const char *call) {
    if (error == cudaSuccess) return;
    throw Failure{protocol::format("%s: %s", call, cudaGetErrorString(error))};
}
#define CUDA(call) cuda_call((call), #call)

struct Difference {
    unsigned long long wrong, first, sum;
};

__global__ void fill_kernel(u64 *words, u64 count, u64 seed) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        words[i] = device::mix(seed, i);
}

__global__ void index_kernel(u32 *index, u64 count, u64 seed, bool random) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        index[i] = (u32)device::place(seed, random, i, count);
}

__device__ inline void differs(Difference *difference, u64 at) {
    atomicAdd(&difference->wrong, 1ull);
    atomicMin(&difference->first, (unsigned long long)at);
}

// Byte i of `target` must be byte `offset + i` of the pattern, and the guard behind it untouched.
__global__ void check_bytes_kernel(const unsigned char *target, u64 bytes, u64 offset, u64 seed, Difference *difference) {
    const u64 groups = (bytes + protocol::kGuard + 7) / 8;
    for (u64 g = (u64)blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += (u64)gridDim.x * blockDim.x) {
        const u64 word = (g * 8 + offset) / 8, shift = offset % 8 * 8;
        u64 expected = device::mix(seed, word) >> shift;
        if (shift != 0) expected |= device::mix(seed, word + 1) << (64 - shift);
        for (u64 b = 0; b < 8; ++b) {
            const u64 at = g * 8 + b;
            const unsigned char wanted = at < bytes ? (unsigned char)(expected >> (8 * b)) : device::kPoison;
            if (at < bytes + protocol::kGuard && target[at] != wanted) differs(difference, at);
        }
    }
}

// Word i of `target` must be the word of the pattern that its index names.
__global__ void check_gather_kernel(const u64 *target, u64 count, u64 seed, u64 index_seed, bool random,
                                    Difference *difference) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        if (target[i] != device::mix(seed, device::place(index_seed, random, i, count))) differs(difference, i * 8);
}

// Every `stride`-th word must be `expected`.
__global__ void check_words_kernel(const u64 *words, u64 count, u64 stride, u64 expected, Difference *difference) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        if (words[i * stride] != expected) differs(difference, i * stride * 8);
}

// Element i of `target` must be what a collective operation leaves there, to which PE p gave the pattern of `seed` + p:
// `count` elements from each, and the guard behind them all untouched.
__global__ void check_collected_kernel(const u32 *target, u64 count, u32 me, u32 pes, Test test, u64 seed,
                                       Difference *difference) {
    const u64 total = test == Test::kFcollect || test == Test::kAlltoall ? pes * count : count;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total + protocol::kGuard / 4; i += (u64)gridDim.x * blockDim.x) {
        u32 wanted = device::kPoison * 0x01010101u;
        if (i < total) {
            if (test == Test::kBroadcast) wanted = device::element(seed, i);
            else if (test == Test::kFcollect) wanted = device::element(seed + i / count, i % count);
            else if (test == Test::kAlltoall) wanted = device::element(seed + i / count, me * count + i % count);
            else {
                wanted = 0;
                for (u32 pe = 0; pe < pes; ++pe) wanted += device::element(seed + pe, i);
            }
        }
        if (target[i] != wanted) differs(difference, i * 4);
    }
}

__global__ void sum_kernel(const u64 *words, u64 count, Difference *difference) {
    u64 sum = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) sum += words[i];
    atomicAdd(&difference->sum, (unsigned long long)sum);
}

struct Side {
    u32 pe = 0, pes = 2;
    int device = 0;
    u64 memory = 0;
    cudaStream_t stream = nullptr;
    char *source = nullptr, *target = nullptr;  // `memory` + kSlack bytes each
    u64 *signals = nullptr;                     // kSignalBytes
    u32 *index = nullptr;
    u64 *arrived = nullptr;
    Outcome *outcome = nullptr;
    Difference *difference = nullptr;

    static constexpr u64 kSignalBytes = 4096;

    // Everything but the buffers that the other PE reaches.
    void open(u32 my_pe, int my_device, u64 buffer) {
        pe = my_pe;
        device = my_device;
        memory = buffer;
        CUDA(cudaSetDevice(device));
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CUDA(cudaMalloc(&arrived, sizeof(u64)));
        CUDA(cudaMalloc(&outcome, sizeof(Outcome)));
        CUDA(cudaMalloc(&difference, sizeof(Difference)));
    }

    u64 seed(const Request &request) const { return request.seed + pe; }
    u64 other_seed(const Request &request) const { return request.seed + (1 - pe); }

    // Fills the source, poisons or clears the target, clears signals and counters; done when it returns.
    void prepare(const Request &request) {
        CUDA(cudaSetDevice(device));
        CUDA(cudaMemsetAsync(signals, 0, kSignalBytes, stream));
        CUDA(cudaMemsetAsync(arrived, 0, sizeof(u64), stream));
        CUDA(cudaMemsetAsync(outcome, 0, sizeof(Outcome), stream));
        const u64 bytes = request.bytes;
        switch (request.test) {
            case Test::kAtomicBw:
            case Test::kAtomicLat: CUDA(cudaMemsetAsync(target, 0, clear_bytes(request), stream)); break;
            case Test::kGups: CUDA(cudaMemsetAsync(target, 0, bytes, stream)); break;
            case Test::kMailboxPingpong:
                CUDA(cudaMemsetAsync(target, 0, 2 * bytes, stream));
                CUDA(cudaMemsetAsync(target + outcome_at(), device::kPoison, bytes + protocol::kGuard, stream));
                break;
            // Single operations are of up to 8 bytes, whatever `bytes` says.
            default:
                CUDA(cudaMemsetAsync(target, device::kPoison, std::max(gotten(request, pes), (u64)8) + protocol::kGuard, stream));
        }
        fill_kernel<<<512, 256, 0, stream>>>((u64 *)source, (given(request, pes) + 7) / 8, seed(request));
        CUDA(cudaGetLastError());
        if (request.test == Test::kGatherBw) {
            if (index == nullptr) CUDA(cudaMalloc(&index, memory / 8 * sizeof(u32)));
            index_kernel<<<512, 256, 0, stream>>>(index, bytes / 8, request.seed, request.random);
            CUDA(cudaGetLastError());
        }
        CUDA(cudaStreamSynchronize(stream));
    }

    Args args(const Request &request) const {
        Args made = {};
        made.source = source;
        made.target = target;
        made.signals = signals;
        made.index = index;
        made.arrived = arrived;
        made.outcome = outcome;
        made.bytes = request.bytes;
        made.offset = request.offset;
        made.iters = request.iters;
        made.updates = request.updates;
        made.seed = request.seed;
        made.outcome_at = outcome_at();
        made.pe = pe;
        made.pes = pes;
        made.scope = request.scope;
        made.pattern = request.pattern;
        made.both_run = request.both_run;
        made.random = request.random;
        return made;
    }

    // Whether this PE is one that a request's data arrives at.
    bool receives(const Request &request) const {
        switch (request.test) {
            case Test::kGetBw:
            case Test::kGBw:
            case Test::kGatherBw:
            case Test::kGetLat:
            case Test::kGLat: return request.both_run || pe == 0;
            case Test::kBarrier:
            case Test::kSync: return false;
            default: return request.both_run || pe == 1;
        }
    }

    // Compares all bytes that the request should have left here. Throws what is wrong.
    void verify(const Request &request) {
        CUDA(cudaSetDevice(device));
        if (!receives(request)) return;
        const u64 rounds = request.iters + protocol::kWarmUp;
        const Difference none = {0, ~0ull, 0};
        CUDA(cudaMemcpyAsync(difference, &none, sizeof none, cudaMemcpyHostToDevice, stream));
        const u64 *words = (const u64 *)target;
        const u64 threads = (u64)request.ctas * request.threads;
        switch (request.test) {
            case Test::kGatherBw:
                check_gather_kernel<<<512, 256, 0, stream>>>(words, request.bytes / 8, other_seed(request), request.seed,
                                                            request.random, difference);
                break;
            case Test::kAtomicBw:
                if (request.pattern == protocol::kOne)
                    check_words_kernel<<<1, 32, 0, stream>>>(words, 1, 1, rounds * threads * device::kAddend, difference);
                else
                    check_words_kernel<<<512, 256, 0, stream>>>(words, threads, request.pattern == protocol::kSpread ? 16 : 1,
                                                               rounds * device::kAddend, difference);
                break;
            case Test::kAtomicLat:
                check_words_kernel<<<1, 32, 0, stream>>>(words, 1, 1, rounds * device::kAddend, difference);
                break;
            case Test::kSignalPingpong:
                check_words_kernel<<<1, 32, 0, stream>>>(signals, 1, 1, rounds, difference);
                break;
            case Test::kBroadcast:
            case Test::kFcollect:
            case Test::kAlltoall:
            case Test::kReduce:
                check_collected_kernel<<<512, 256, 0, stream>>>((const u32 *)target, request.bytes / 4, pe, pes, request.test,
                                                               request.seed, difference);
                break;
            case Test::kGups: return;  // by `table_sum`: only both tables together have a known sum
            default: {
                const u64 at = request.test == Test::kMailboxPingpong ? outcome_at() : 0;
                const u64 bytes = request.test == Test::kPLat ? 4 : request.test == Test::kGLat ? 8 : request.bytes;
                check_bytes_kernel<<<512, 256, 0, stream>>>((const unsigned char *)target + at, bytes, request.offset,
                                                           other_seed(request), difference);
            }
        }
        CUDA(cudaGetLastError());
        const Difference found = read_difference();
        if (found.wrong != 0)
            throw Failure{protocol::format("wrong data on PE %u: %llu places, the first at byte %llu", pe, found.wrong,
                                           found.first)};
    }

    // gups: the sum of the words of this PE's table.
    u64 table_sum(const Request &request) {
        CUDA(cudaSetDevice(device));
        CUDA(cudaMemsetAsync(difference, 0, sizeof(Difference), stream));
        sum_kernel<<<512, 256, 0, stream>>>((const u64 *)target, request.bytes / 8, difference);
        CUDA(cudaGetLastError());
        return read_difference().sum;
    }

    // What the kernel left behind; throws if a barrier did not hold back.
    Outcome result() {
        CUDA(cudaSetDevice(device));
        Outcome read;
        CUDA(cudaMemcpyAsync(&read, outcome, sizeof read, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        if (read.wrong != 0)
            throw Failure{protocol::format("wrong data on PE %u: after %llu barriers the other PE's store was not there", pe,
                                           (unsigned long long)read.wrong)};
        return read;
    }

    // Refuses a grid whose blocks cannot all run at once beside those of the `sharers` - 1 other PEs of the GPU.
    void check_resident(const void *kernel, const Request &request, u32 threads, size_t shared, u32 sharers) const {
        int per_sm = 0, sms = 0;
        CUDA(cudaSetDevice(device));
        CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
        CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, (int)threads, shared));
        const u64 fit = (u64)per_sm * sms / sharers;
        if (request.ctas > fit)
            throw Failure{protocol::format("ctas=%u threads=%u: at most %llu such blocks run at once", request.ctas, threads,
                                           (unsigned long long)fit)};
    }

   private:
    u64 outcome_at() const { return memory / 2 & ~255ull; }

    u64 clear_bytes(const Request &request) const {
        const u64 threads = (u64)request.ctas * request.threads;
        return request.test == Test::kAtomicLat || request.pattern == protocol::kOne ? 8
               : request.pattern == protocol::kSpread                                ? 128 * threads
                                                                                     : 8 * threads;
    }

    Difference read_difference() {
        Difference found;
        CUDA(cudaMemcpyAsync(&found, difference, sizeof found, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        return found;
    }
};

// The `ok` line of a timed request.
inline std::string reply(const Request &request, u64 ns, const Outcome &outcome, bool checked) {
    std::string line = protocol::format("ok ns=%llu checked=%s", (unsigned long long)ns, checked ? "yes" : "no");
    if (outcome.sample[0] == 0 || outcome.cycles == 0) return line;
    std::vector<double> samples;
    const double per_cycle = (double)outcome.ns / (double)outcome.cycles;
    for (u64 i = 0; i < request.iters && i < protocol::kSamples; ++i) samples.push_back(outcome.sample[i] * per_cycle);
    return line + protocol::percentiles(samples);
}
