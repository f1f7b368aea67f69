// `nccl`: NCCL from one process with two GPUs. It has no calls in kernels: a put is a send and a receive started by the
// host, a barrier an all-reduce of one word. Time is by events around the loop, so launches overlap with the work.
#include <nccl.h>

#include <memory>

#include "side.h"

namespace {

using namespace protocol;

void nccl_call(ncclResult_t result, const char *call) {
    if (result != ncclSuccess) throw Failure{format("%s: %s", call, ncclGetErrorString(result))};
}
#define NCCL(call) nccl_call((call), #call)

class System {
   public:
    explicit System(u64 memory) : memory_(memory) {
        int found = 0;
        CUDA(cudaGetDeviceCount(&found));
        if (found < 2) throw Failure{format("--gpus 2, but there are %d", found)};
        for (u32 pe = 0; pe < 2; ++pe) {
            Side &side = sides_[pe];
            side.open(pe, (int)pe, memory_);
            CUDA(cudaMalloc(&side.source, memory_ + kSlack));
            CUDA(cudaMalloc(&side.target, memory_ + kSlack));
            CUDA(cudaMalloc(&side.signals, Side::kSignalBytes));
        }
        const int devices[] = {0, 1};
        NCCL(ncclCommInitAll(comms_, 2, devices));
        CUDA(cudaSetDevice(0));
        CUDA(cudaEventCreate(&start_));
        CUDA(cudaEventCreate(&end_));
    }

    std::string answer(const Request &request) {
        check(request, memory_);
        const bool barrier = request.test == Test::kBarrier;
        if (!barrier && (request.test != Test::kPutBw || request.bulk || request.offset != 0)) return "no";
        for (Side &side : sides_) side.prepare(request);
        for (u64 i = 0; i < kWarmUp + request.iters; ++i) {
            if (i == kWarmUp) {
                // Both streams start together; the time is PE 0's.
                for (Side &side : sides_) CUDA(cudaStreamSynchronize(side.stream));
                CUDA(cudaSetDevice(0));
                CUDA(cudaEventRecord(start_, sides_[0].stream));
            }
            NCCL(ncclGroupStart());
            for (u32 pe = 0; pe < 2; ++pe) barrier ? meet(pe) : move(request, pe);
            NCCL(ncclGroupEnd());
        }
        CUDA(cudaSetDevice(0));
        CUDA(cudaEventRecord(end_, sides_[0].stream));
        for (Side &side : sides_) CUDA(cudaStreamSynchronize(side.stream));
        float ms = 0;
        CUDA(cudaEventElapsedTime(&ms, start_, end_));
        for (Side &side : sides_) side.verify(request);
        return reply(request, (u64)((double)ms * 1e6), Outcome{}, !barrier);
    }

   private:
    u64 memory_;
    Side sides_[2];
    ncclComm_t comms_[2] = {};
    cudaEvent_t start_ = nullptr, end_ = nullptr;

    void move(const Request &request, u32 pe) {
        Side &side = sides_[pe];
        if (pe == 0 || request.both_run)
            NCCL(ncclSend(side.source, request.bytes, ncclUint8, 1 - (int)pe, comms_[pe], side.stream));
        if (pe == 1 || request.both_run)
            NCCL(ncclRecv(side.target, request.bytes, ncclUint8, 1 - (int)pe, comms_[pe], side.stream));
    }

    void meet(u32 pe) {
        Side &side = sides_[pe];
        NCCL(ncclAllReduce(side.signals, side.signals, 1, ncclUint64, ncclSum, comms_[pe], side.stream));
    }
};

}  // namespace

int main(int count, char **words) {
    const Options read = options(count, words);
    if (read.gpus == 1) {
        fprintf(stderr, "nccl: two ranks on one GPU are refused by NCCL: start it with --gpus 2\n");
        return 3;
    }
    Replies replies;
    std::unique_ptr<System> system;
    int version = 0;
    try {
        system = std::make_unique<System>(read.memory);
        NCCL(ncclGetVersion(&version));
    } catch (const Failure &failure) {
        fprintf(stderr, "nccl: %s\n", failure.text.c_str());
        return 1;
    }
    replies.line(format("ready name=nccl version=%d.%d.%d pes=2 gpus=2", version / 10000, version % 10000 / 100, version % 100));
    serve(replies, [&](const Request &request) { return system->answer(request); });
    return 0;
}
