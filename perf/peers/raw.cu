// `raw`: hand-written CUDA C++ on peer pointers, with no library between: one process, two PEs. The yardstick.
#include <memory>

#include "raw_kernels.h"
#include "side.h"

namespace {

using namespace protocol;

struct Plan {
    const void *kernel = nullptr;  // null: this system has no such test or case
    u32 threads = 0;
    size_t shared = 0;
};

// One of three kernels, by how many accesses a thread has in flight.
#define BY_INFLIGHT(count, kernel, ...)                                     \
    ((count) == 1   ? (const void *)raw::kernel<1 __VA_OPT__(, ) __VA_ARGS__> \
     : (count) == 4 ? (const void *)raw::kernel<4 __VA_OPT__(, ) __VA_ARGS__> \
                    : (const void *)raw::kernel<8 __VA_OPT__(, ) __VA_ARGS__>)

Plan plan(const Request &request) {
    const u32 four = request.inflight == 0 ? 4 : request.inflight, eight = request.inflight == 0 ? 8 : request.inflight;
    Plan made;
    made.threads = request.threads;
    switch (request.test) {
        case Test::kPutBw:
        case Test::kGetBw: {
            const bool get = request.test == Test::kGetBw;
            if (!request.bulk) {
                made.kernel = get ? BY_INFLIGHT(four, copy_bw, true) : BY_INFLIGHT(four, copy_bw, false);
            } else if (request.scope >= kBlock && request.offset % 16 == 0 && request.bytes % 16 == 0) {
                made.kernel = get ? (const void *)raw::bulk_bw<true> : (const void *)raw::bulk_bw<false>;
                made.shared = raw::kBulkShared;
            }
            break;
        }
        case Test::kPBw: made.kernel = BY_INFLIGHT(four, p_bw, raw::Store::kRelaxed); break;
        case Test::kStBw: made.kernel = BY_INFLIGHT(four, p_bw, raw::Store::kWeak); break;
        case Test::kGBw: made.kernel = BY_INFLIGHT(eight, g_bw); break;
        case Test::kGatherBw: made.kernel = BY_INFLIGHT(eight, gather_bw); break;
        case Test::kPutLat: made.kernel = BY_INFLIGHT(four, put_lat); break;
        case Test::kGetLat: made.kernel = BY_INFLIGHT(four, get_lat); break;
        case Test::kPLat: made.kernel = (const void *)raw::p_lat; break;
        case Test::kGLat: made.kernel = (const void *)raw::g_lat; break;
        case Test::kSignalPingpong:
            made.kernel = request.strong ? (const void *)raw::signal_pingpong<true> : (const void *)raw::signal_pingpong<false>;
            break;
        case Test::kPutSignalPingpong: made.kernel = BY_INFLIGHT(four, put_signal_pingpong); break;
        case Test::kMailboxPingpong: made.kernel = (const void *)raw::mailbox_pingpong; break;
        case Test::kAtomicBw:
            made.kernel = request.fetch ? (const void *)raw::atomic_bw<true> : (const void *)raw::atomic_bw<false>;
            break;
        case Test::kAtomicLat:
            made.kernel = request.fetch ? (const void *)raw::atomic_lat<true> : (const void *)raw::atomic_lat<false>;
            break;
        case Test::kBarrier: made.kernel = (const void *)raw::barrier<true>; break;
        case Test::kSync: made.kernel = (const void *)raw::barrier<false>; break;
        case Test::kGups: made.kernel = request.aggregated ? nullptr : (const void *)raw::gups; break;
        case Test::kBroadcast:
        case Test::kFcollect:
        case Test::kAlltoall:
        case Test::kReduce:
        case Test::kCopyBw:
        case Test::kUnknown: break;
    }
    // Single operations are a single thread's.
    switch (request.test) {
        case Test::kPLat:
        case Test::kGLat:
        case Test::kSignalPingpong:
        case Test::kAtomicLat: made.threads = 1; break;
        default: break;
    }
    return made;
}

class System {
   public:
    System(const Options &options) : gpus_(options.gpus), memory_(options.memory) {
        int found = 0;
        CUDA(cudaGetDeviceCount(&found));
        if (found < (int)gpus_) throw Failure{format("--gpus %u, but there are %d", gpus_, found)};
        for (u32 pe = 0; pe < 2; ++pe) {
            Side &side = sides_[pe];
            side.open(pe, pe % gpus_, memory_);
            CUDA(cudaMalloc(&side.source, memory_ + kSlack));
            CUDA(cudaMalloc(&side.target, memory_ + kSlack));
            CUDA(cudaMalloc(&side.signals, Side::kSignalBytes));
            if (gpus_ == 2) {
                int reaches = 0;
                CUDA(cudaDeviceCanAccessPeer(&reaches, side.device, 1 - side.device));
                if (!reaches) throw Failure{format("GPU %d does not reach GPU %d", side.device, 1 - side.device)};
                CUDA(cudaDeviceEnablePeerAccess(1 - side.device, 0));
            }
        }
    }

    std::string answer(const Request &request) {
        check(request, memory_);
        if (request.test == Test::kCopyBw) return copy_engine(request);
        const Plan chosen = plan(request);
        if (chosen.kernel == nullptr) return "no";
        const u32 running = request.both_run ? 2 : 1;
        for (u32 pe = 0; pe < running; ++pe) {
            CUDA(cudaSetDevice(sides_[pe].device));
            if (chosen.shared != 0)
                CUDA(cudaFuncSetAttribute(chosen.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)chosen.shared));
            sides_[pe].check_resident(chosen.kernel, request, chosen.threads, chosen.shared, running / gpus_ + running % gpus_);
        }
        for (Side &side : sides_) side.prepare(request);
        // All are launched before any is waited for: they may wait for each other.
        for (u32 pe = 0; pe < running; ++pe) {
            Side &side = sides_[pe], &other = sides_[1 - pe];
            Args args = side.args(request);
            args.peer_source = other.source;
            args.peer_target = other.target;
            args.peer_signals = other.signals;
            void *list[] = {&args};
            CUDA(cudaSetDevice(side.device));
            CUDA(cudaLaunchKernel(chosen.kernel, dim3(request.ctas), dim3(chosen.threads), list, chosen.shared, side.stream));
        }
        u64 ns = 0;
        Outcome first = {};
        for (u32 pe = 0; pe < running; ++pe) {
            CUDA(cudaSetDevice(sides_[pe].device));
            CUDA(cudaStreamSynchronize(sides_[pe].stream));
            const Outcome outcome = sides_[pe].result();
            if (pe == 0) first = outcome;
            // Both move data: the slower one counts. A round trip is PE 0's.
            if (pe == 0 || !request.one_cta) ns = std::max(ns, outcome.ns);
        }
        for (Side &side : sides_) side.verify(request);
        if (request.test == Test::kGups) check_gups(request);
        return reply(request, ns, first, true);
    }

   private:
    u32 gpus_;
    u64 memory_;
    Side sides_[2];

    void check_gups(const Request &request) {
        const u64 each = (u64)request.ctas * request.threads * request.updates * (request.iters + kWarmUp);
        const u64 sum = sides_[0].table_sum(request) + sides_[1].table_sum(request);
        if (sum != 2 * each * device::kAddend)
            throw Failure{format("wrong data: the tables sum to %llu, not %llu", (unsigned long long)sum,
                                 (unsigned long long)(2 * each * device::kAddend))};
    }

    // The copy engine from PE 0 to PE 1, timed by events on PE 0's stream.
    std::string copy_engine(const Request &request) {
        for (Side &side : sides_) side.prepare(request);
        Side &from = sides_[0], &to = sides_[1];
        CUDA(cudaSetDevice(from.device));
        cudaEvent_t start, end;
        CUDA(cudaEventCreate(&start));
        CUDA(cudaEventCreate(&end));
        for (u64 i = 0; i < kWarmUp + request.iters; ++i) {
            if (i == kWarmUp) CUDA(cudaEventRecord(start, from.stream));
            CUDA(cudaMemcpyAsync(to.target, from.source, request.bytes, cudaMemcpyDefault, from.stream));
        }
        CUDA(cudaEventRecord(end, from.stream));
        CUDA(cudaStreamSynchronize(from.stream));
        float ms = 0;
        CUDA(cudaEventElapsedTime(&ms, start, end));
        CUDA(cudaEventDestroy(start));
        CUDA(cudaEventDestroy(end));
        to.verify(request);
        return reply(request, (u64)((double)ms * 1e6), Outcome{}, true);
    }
};

}  // namespace

int main(int count, char **words) {
    const Options read = options(count, words);
    // A kernel that is loaded late waits for one that spins.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    Replies replies;
    std::unique_ptr<System> system;
    try {
        system = std::make_unique<System>(read);
    } catch (const Failure &failure) {
        fprintf(stderr, "raw: %s\n", failure.text.c_str());
        return 1;
    }
    int version = 0;
    cudaRuntimeGetVersion(&version);
    replies.line(format("ready name=raw version=%d.%d pes=2 gpus=%u", version / 1000, version % 1000 / 10, read.gpus));
    serve(replies, [&](const Request &request) { return system->answer(request); });
    return 0;
}
