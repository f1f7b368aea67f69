// Hand-written access to a peer's memory: instructions, and the copy loops of `raw`. The yardstick of the other systems.
#pragma once

#include "device.h"

namespace raw {

// ---- instructions ----

__device__ __forceinline__ uint4 load(const uint4 *at) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ u64 load(const u64 *at) {
    u64 v;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ u32 load(const u32 *at) {
    u32 v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ unsigned char load(const unsigned char *at) {
    u32 v;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return (unsigned char)v;
}
__device__ __forceinline__ void store(uint4 *at, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void store(u64 *at, u64 v) { asm volatile("st.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory"); }
__device__ __forceinline__ void store(u32 *at, u32 v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory"); }
__device__ __forceinline__ void store(unsigned char *at, unsigned char v) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(at), "r"((u32)v) : "memory");
}
__device__ __forceinline__ void store_relaxed(u32 *at, u32 v) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed(u64 *at, u64 v) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
__device__ __forceinline__ void store_release(u64 *at, u64 v) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
__device__ __forceinline__ u64 load_relaxed(const u64 *at) {
    u64 v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ u64 load_acquire(const u64 *at) {
    u64 v;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ void fence_sc_sys() { asm volatile("fence.sc.sys;" ::: "memory"); }
__device__ __forceinline__ void fence_acquire_sys() { asm volatile("fence.acquire.sys;" ::: "memory"); }
__device__ __forceinline__ void add(u64 *at, u64 v) {
    asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
__device__ __forceinline__ u64 fetch_add(u64 *at, u64 v) {
    u64 old;
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(v) : "memory");
    return old;
}
// One access of 16 bytes: data and flag arrive together.
__device__ __forceinline__ void store_pair(ulonglong2 *at, u64 data, u64 flag) {
    asm volatile("{ .reg .b128 pair; mov.b128 pair, {%1, %2}; st.relaxed.sys.global.b128 [%0], pair; }" ::"l"(at), "l"(data),
                 "l"(flag)
                 : "memory");
}
__device__ __forceinline__ ulonglong2 load_pair(const ulonglong2 *at) {
    ulonglong2 v;
    asm volatile("{ .reg .b128 pair; ld.relaxed.sys.global.b128 pair, [%2]; mov.b128 {%0, %1}, pair; }"
                 : "=l"(v.x), "=l"(v.y)
                 : "l"(at)
                 : "memory");
    return v;
}

// ---- copies by loads and stores ----

enum class Store { kWeak, kRelaxed };

template <Store kStore, class Element>
__device__ __forceinline__ void store_as(Element *at, Element v) {
    if constexpr (kStore == Store::kRelaxed) store_relaxed(at, v);
    else store(at, v);
}

// The calling thread's elements `first`, `first + step`, … of `count`: `kInflight` independent loads before their stores,
// also in the last, incomplete turn.
template <int kInflight, Store kStore = Store::kWeak, class Element>
__device__ __forceinline__ void copy_elements(Element *to, const Element *from, u32 first, u32 step, u64 count) {
    Element v[kInflight];
    from += first;
    to += first;
    u64 i = first;
    for (; i + (u64)step * (kInflight - 1) < count; i += (u64)step * kInflight) {
#pragma unroll
        for (int k = 0; k < kInflight; ++k, from += step) v[k] = load(from);
#pragma unroll
        for (int k = 0; k < kInflight; ++k, to += step) store_as<kStore>(to, v[k]);
    }
    if constexpr (kInflight > 1) {
#pragma unroll
        for (int k = 0; k < kInflight - 1; ++k, from += step)
            if (i + (u64)k * step < count) v[k] = load(from);
#pragma unroll
        for (int k = 0; k < kInflight - 1; ++k, to += step)
            if (i + (u64)k * step < count) store_as<kStore>(to, v[k]);
    }
}

// `bytes` bytes by the threads `first` of `step`: 16-byte accesses if both ends are aligned to 16, 4-byte accesses if they
// are to 4, else single bytes; what is left behind the last whole element goes by bytes.
template <int kInflight>
__device__ __forceinline__ void copy(char *to, const char *from, u64 bytes, u32 first, u32 step) {
    const u64 low = (u64)to | (u64)from;
    u64 done = 0;
    if (low % 16 == 0) {
        copy_elements<kInflight>((uint4 *)to, (const uint4 *)from, first, step, bytes / 16);
        done = bytes / 16 * 16;
    } else if (low % 4 == 0) {
        copy_elements<kInflight>((u32 *)to, (const u32 *)from, first, step, bytes / 4);
        done = bytes / 4 * 4;
    }
    if (done != bytes)
        copy_elements<1>((unsigned char *)to + done, (const unsigned char *)from + done, first, step, bytes - done);
}

// ---- copies by the bulk engine, through shared memory, driven by one thread ----

constexpr u32 kChunk = 16384;
constexpr u32 kBuffers = 4;
constexpr u32 kBulkShared = kChunk * kBuffers + 1024;

class Bulk {
   public:
    // Called by the block; the one driving thread sets up the barriers. `room` is the dynamic shared memory.
    __device__ Bulk(char *room, bool drives) {
        const u32 base = (u32)__cvta_generic_to_shared(room);
        bars_ = base;
        data_ = (base + 8 * kBuffers + 127) / 128 * 128;
        if (!drives) return;
        for (u32 b = 0; b < kBuffers; ++b) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bars_ + 8 * b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        // What generic accesses wrote before, the engine reads.
        asm volatile("fence.proxy.async.global;" ::: "memory");
    }

    // Chunks `first`, `first + step`, … of the transfer. Up to three loads are in flight while a chunk is stored. When it
    // returns, the buffers are free again; the stores are complete after `quiet`.
    __device__ void copy(char *to, const char *from, u64 bytes, u64 first, u64 step) {
        const u64 chunks = (bytes + kChunk - 1) / kChunk;
        const u64 mine = first < chunks ? (chunks - first + step - 1) / step : 0;
        for (u64 k = 0; k < mine && k < kBuffers - 1; ++k) start(from, bytes, first + k * step, (used_ + k) % kBuffers);
        for (u64 k = 0; k < mine; ++k) {
            const u32 buffer = (u32)((used_ + k) % kBuffers);
            await(buffer, (u32)((used_ + k) / kBuffers % 2));
            const u64 at = (first + k * step) * kChunk;
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + at),
                         "r"(data_ + buffer * kChunk), "r"(size(bytes, at))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            if (k + kBuffers - 1 < mine) {
                // The buffer to be loaded next is that of the store before this one.
                asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                start(from, bytes, first + (k + kBuffers - 1) * step, (u32)((used_ + k + kBuffers - 1) % kBuffers));
            }
        }
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        used_ += mine;
    }

    __device__ void quiet() {
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        fence_sc_sys();
    }

   private:
    u32 bars_, data_;
    u64 used_ = 0;  // chunks since the start: gives the buffer and its phase

    __device__ static u32 size(u64 bytes, u64 at) { return bytes - at < kChunk ? (u32)(bytes - at) : kChunk; }

    __device__ void start(const char *from, u64 bytes, u64 chunk, u32 buffer) {
        const u64 at = chunk * kChunk;
        const u32 bar = bars_ + 8 * buffer, count = size(bytes, at);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         data_ + buffer * kChunk),
                     "l"(from + at), "r"(count), "r"(bar)
                     : "memory");
    }

    __device__ void await(u32 buffer, u32 parity) {
        u32 done;
        do
            asm volatile(
                "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                : "=r"(done)
                : "r"(bars_ + 8 * buffer), "r"(parity)
                : "memory");
        while (done == 0);
    }
};

}  // namespace raw
