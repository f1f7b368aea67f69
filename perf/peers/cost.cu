// The primitives as a careful author writes them by hand on peer pointers: the base of a PE's memory from a table in
// device memory, by the PE's number, plus an offset. No bounds are checked and no failure is reported. Never launched:
// `cargo xtask cost` compares their instructions with those of the library's probes, which hold one call each.
#include "raw_copy.h"

using raw::add;
using raw::copy_elements;
using raw::fence_acquire_sys;
using raw::fence_sc_sys;
using raw::fetch_add;
using raw::load_relaxed;
using raw::store_relaxed;
using raw::store_release;

namespace {

// The table, and the own place in it.
struct Pes {
    char *const *bases;
    u32 me;
};

template <class T>
__device__ __forceinline__ T *at(const Pes &pes, u64 offset, u32 pe) {
    return (T *)(pes.bases[pe] + offset);
}

// 32-bit elements: 16-byte accesses where both ends allow it, else 4-byte ones; the rest behind the last 16 bytes.
__device__ __forceinline__ void copy(u32 *to, const u32 *from, u64 count, u32 first, u32 step) {
    u64 done = 0;
    if (((u64)to | (u64)from) % 16 == 0) {
        copy_elements<4>((uint4 *)to, (const uint4 *)from, first, step, count / 4);
        done = count / 4 * 4;
    }
    copy_elements<4>(to + done, from + done, first, step, count - done);
}

__device__ __forceinline__ void copy(uint4 *to, const uint4 *from, u64 count, u32 first, u32 step) {
    copy_elements<4>(to, from, first, step, count);
}

// The rank of the calling thread in a scope, and how many there are.
struct ThreadScope {
    static __device__ u32 rank() { return 0; }
    static __device__ u32 size() { return 1; }
    static __device__ void sync() {}
};
struct WarpScope {
    static __device__ u32 rank() { return threadIdx.x % 32; }
    static __device__ u32 size() { return 32; }
    static __device__ void sync() { __syncwarp(); }
};
struct BlockScope {
    static __device__ u32 rank() { return threadIdx.x; }
    static __device__ u32 size() { return blockDim.x; }
    static __device__ void sync() { __syncthreads(); }
};

// A put that is complete when it returns: for the calling scope, its source may be reused and the data is on its way.
template <class Scope, class T>
__device__ __forceinline__ void put(const Pes &pes, u64 to, u64 from, u64 count, u32 pe) {
    copy(at<T>(pes, to, pe), (const T *)at<T>(pes, from, pes.me), count, Scope::rank(), Scope::size());
    Scope::sync();
}

template <class Scope, class T>
__device__ __forceinline__ void get(const Pes &pes, u64 to, u64 from, u64 count, u32 pe) {
    copy(at<T>(pes, to, pes.me), (const T *)at<T>(pes, from, pe), count, Scope::rank(), Scope::size());
    Scope::sync();
}

template <class Scope>
__device__ __forceinline__ void fence() {
    Scope::sync();
    if (Scope::rank() == 0) fence_sc_sys();
    Scope::sync();
}

template <class Scope>
__device__ __forceinline__ void wait_until(const Pes &pes, u64 signal, u64 value) {
    if (Scope::rank() == 0) {
        const u64 *word = at<u64>(pes, signal, pes.me);
        while (load_relaxed(word) < value) {}
        fence_acquire_sys();
    }
    Scope::sync();
}

}  // namespace

#define KERNEL extern "C" __global__ void

KERNEL cost_p(Pes pes, u64 to, u32 value, u32 pe) { store_relaxed(at<u32>(pes, to, pe), value); }
KERNEL cost_g(Pes pes, u64 *out, u64 from, u32 pe) { *out = load_relaxed(at<u64>(pes, from, pe)); }

#define COPY(name, copies, Scope, T) \
    KERNEL name(Pes pes, u64 to, u64 from, u64 count, u32 pe) { copies<Scope, T>(pes, to, from, count, pe); }
COPY(cost_put_thread_u32, put, ThreadScope, u32)
COPY(cost_put_warp_u32, put, WarpScope, u32)
COPY(cost_put_block_u32, put, BlockScope, u32)
COPY(cost_put_thread_u128, put, ThreadScope, uint4)
COPY(cost_put_warp_u128, put, WarpScope, uint4)
COPY(cost_put_block_u128, put, BlockScope, uint4)
COPY(cost_get_block_u32, get, BlockScope, u32)
COPY(cost_get_block_u128, get, BlockScope, uint4)

KERNEL cost_put_nbi_quiet_block(Pes pes, u64 to, u64 from, u64 count, u32 pe) {
    copy(at<u32>(pes, to, pe), (const u32 *)at<u32>(pes, from, pes.me), count, BlockScope::rank(), BlockScope::size());
    fence<BlockScope>();
}

KERNEL cost_put_signal_block(Pes pes, u64 to, u64 from, u64 count, u64 signal, u32 pe) {
    put<BlockScope, u32>(pes, to, from, count, pe);
    if (threadIdx.x == 0) store_release(at<u64>(pes, signal, pe), 1);
}

KERNEL cost_signal_weak_thread(Pes pes, u64 signal, u32 pe) { store_relaxed(at<u64>(pes, signal, pe), 1); }
KERNEL cost_signal_strong_block(Pes pes, u64 signal, u32 pe) {
    __syncthreads();
    if (threadIdx.x == 0) store_release(at<u64>(pes, signal, pe), 1);
}

KERNEL cost_wait_until_thread(Pes pes, u64 signal) { wait_until<ThreadScope>(pes, signal, 1); }
KERNEL cost_wait_until_block(Pes pes, u64 signal) { wait_until<BlockScope>(pes, signal, 1); }

KERNEL cost_fence_thread() { fence<ThreadScope>(); }
KERNEL cost_fence_block() { fence<BlockScope>(); }
KERNEL cost_quiet_thread() { fence<ThreadScope>(); }
KERNEL cost_quiet_block() { fence<BlockScope>(); }

KERNEL cost_atomic_add(Pes pes, u64 word, u64 value, u32 pe) { add(at<u64>(pes, word, pe), value); }
KERNEL cost_atomic_fetch_add(Pes pes, u64 *out, u64 word, u64 value, u32 pe) {
    *out = fetch_add(at<u64>(pes, word, pe), value);
}
KERNEL cost_atomic_compare_swap(Pes pes, u64 *out, u64 word, u64 compare, u64 value, u32 pe) {
    u64 old;
    asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(at<u64>(pes, word, pe)), "l"(compare), "l"(value)
                 : "memory");
    *out = old;
}
