// `nvshmem`: each test by the NVSHMEM call that its documentation offers for it. A process for each PE: the started one is
// PE 0's, forks the others, reads the requests and hands them on through pipes.
#include <nvshmem.h>
#include <nvshmemx.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "nvshmem_kernels.h"
#include "side.h"

namespace {

using namespace protocol;

// What a process tells the others after each step, and what they say together: an empty text means that all is well.
struct Word {
    u64 ns;         // together: the longest
    u64 table_sum;  // together: the sum
    char text[512];  // together: the first

    void join(const Word &other) {
        ns = std::max(ns, other.ns);
        table_sum += other.table_sum;
        if (text[0] == 0) memcpy(text, other.text, sizeof text);
    }
};

// One's ends of the two pipes between PE 0's process and another.
struct Link {
    int in, out;

    template <class T>
    void send(const T &value) const {
        if (write(out, &value, sizeof value) != (ssize_t)sizeof value) throw Failure{"the other process is gone"};
    }
    template <class T>
    bool receive(T *value) const {
        char *to = (char *)value;
        for (size_t done = 0; done < sizeof *value;) {
            const ssize_t got = read(in, to + done, sizeof *value - done);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            done += (size_t)got;
        }
        return true;
    }
};

#define NVSHMEM_BY_SCOPE(kernel, ...)                                                           \
    (request.scope == kThread ? (const void *)shmem::kernel<kThread __VA_OPT__(, ) __VA_ARGS__> \
     : request.scope == kWarp ? (const void *)shmem::kernel<kWarp __VA_OPT__(, ) __VA_ARGS__>   \
     : request.scope == kBlock ? (const void *)shmem::kernel<kBlock __VA_OPT__(, ) __VA_ARGS__> \
                               : nullptr)

// Those of a process: PE 0's has one with each other PE, the others have one, with PE 0's.
struct Links {
    bool leads;
    std::vector<Link> all;

    template <class T>
    void send(const T &value) const {
        for (const Link &link : all) link.send(value);
    }
    template <class T>
    void receive_of_lead(T *value) const {
        if (!all[0].receive(value)) throw Failure{"the process of PE 0 is gone"};
    }
    // Collective: what all say together.
    Word together(const Word &mine) const {
        Word word = mine;
        if (leads) {
            for (const Link &link : all) {
                Word theirs;
                if (!link.receive(&theirs)) throw Failure{"another process is gone"};
                word.join(theirs);
            }
            send(word);
        } else {
            send(mine);
            receive_of_lead(&word);
        }
        return word;
    }
};

#define NVSHMEM_COLLECTIVE(test) (request.ctas == 1 ? NVSHMEM_BY_SCOPE(collective, test) : nullptr)

// The kernel of a request, null where NVSHMEM has no such call.
const void *kernel_of(const Request &request) {
    switch (request.test) {
        case Test::kPutBw: return request.bulk ? nullptr : NVSHMEM_BY_SCOPE(copy_bw, false);
        case Test::kGetBw: return request.bulk ? nullptr : NVSHMEM_BY_SCOPE(copy_bw, true);
        case Test::kPBw: return (const void *)shmem::p_bw;
        case Test::kStBw: return (const void *)shmem::st_bw;
        case Test::kGBw: return (const void *)shmem::g_bw;
        case Test::kGatherBw: return (const void *)shmem::gather_bw;
        case Test::kPutLat: return NVSHMEM_BY_SCOPE(put_lat);
        case Test::kGetLat: return NVSHMEM_BY_SCOPE(get_lat);
        case Test::kPLat: return (const void *)shmem::p_lat;
        case Test::kGLat: return (const void *)shmem::g_lat;
        case Test::kSignalPingpong:
            return request.strong ? (const void *)shmem::signal_pingpong<true> : (const void *)shmem::signal_pingpong<false>;
        case Test::kPutSignalPingpong: return NVSHMEM_BY_SCOPE(put_signal_pingpong);
        case Test::kAtomicBw:
            return request.fetch ? (const void *)shmem::atomic_bw<true> : (const void *)shmem::atomic_bw<false>;
        case Test::kAtomicLat:
            return request.fetch ? (const void *)shmem::atomic_lat<true> : (const void *)shmem::atomic_lat<false>;
        case Test::kBarrier: return NVSHMEM_BY_SCOPE(barrier, true);
        case Test::kSync: return NVSHMEM_BY_SCOPE(barrier, false);
        case Test::kGups: return request.aggregated ? nullptr : (const void *)shmem::gups;
        case Test::kBroadcast: return NVSHMEM_COLLECTIVE(Test::kBroadcast);
        case Test::kFcollect: return NVSHMEM_COLLECTIVE(Test::kFcollect);
        case Test::kAlltoall: return NVSHMEM_COLLECTIVE(Test::kAlltoall);
        case Test::kReduce: return NVSHMEM_COLLECTIVE(Test::kReduce);
        case Test::kMailboxPingpong:
        case Test::kCopyBw:
        case Test::kUnknown: return nullptr;
    }
    return nullptr;
}

u32 threads_of(const Request &request) {
    switch (request.test) {
        case Test::kPLat:
        case Test::kGLat:
        case Test::kSignalPingpong:
        case Test::kAtomicLat: return 1;
        default: return request.threads;
    }
}

class Pe {
   public:
    Pe(u32 rank, const Options &options, const Links &links) : gpus_(options.gpus), links_(links) {
        int found = 0;
        CUDA(cudaGetDeviceCount(&found));
        if (found < (int)gpus_) throw Failure{format("--gpus %u, but there are %d", gpus_, found)};
        side_.pes = options.pes;
        side_.open(rank, rank % gpus_, options.memory);
        nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
        if (rank == 0) {
            if (nvshmemx_get_uniqueid(&id) != 0) throw Failure{"nvshmemx_get_uniqueid failed"};
            links_.send(id);
        } else {
            links_.receive_of_lead(&id);
        }
        nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
        if (nvshmemx_set_attr_uniqueid_args((int)rank, (int)options.pes, &id, &attributes) != 0 ||
            nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
            throw Failure{"nvshmemx_init_attr failed"};
        side_.source = (char *)nvshmem_malloc(options.memory + kSlack);
        side_.target = (char *)nvshmem_malloc(options.memory + kSlack);
        side_.signals = (u64 *)nvshmem_malloc(Side::kSignalBytes);
        if (side_.source == nullptr || side_.target == nullptr || side_.signals == nullptr)
            throw Failure{"nvshmem_malloc failed"};
    }

    // Collective: not for a PE while another may be gone.
    void finish() {
        nvshmem_free(side_.signals);
        nvshmem_free(side_.target);
        nvshmem_free(side_.source);
        nvshmem_finalize();
    }

    // One request, on all PEs. Between the steps each learns whether the others got so far, so that none waits alone.
    std::string answer(const Request &request) {
        const void *kernel = kernel_of(request);
        const bool runs = request.both_run || side_.pe == 0;
        Word mine = {};
        step(mine, [&] {
            // Under MPS the SMs that CUDA counts are this process's share already.
            const u32 sharers = request.both_run && !under_mps() ? (side_.pes + gpus_ - 1) / gpus_ : 1;
            side_.check_resident(kernel, request, threads_of(request), 0, sharers);
            side_.prepare(request);
            args_ = side_.args(request);
            if (request.test == Test::kStBw) {
                args_.peer_target = (char *)nvshmem_ptr(side_.target, 1 - (int)side_.pe);
                if (args_.peer_target == nullptr) throw Failure{"nvshmem_ptr: the peer is not reached by stores"};
            }
        });
        Outcome outcome = {};
        step(mine, [&] {
            if (!runs) return;
            void *list[] = {&args_};
            const dim3 grid(request.ctas), block(threads_of(request));
            if (!request.both_run) {
                CUDA(cudaLaunchKernel(kernel, grid, block, list, 0, side_.stream));
            } else if (nvshmemx_collective_launch(kernel, grid, block, list, 0, side_.stream) != 0) {
                throw Failure{"nvshmemx_collective_launch failed"};
            }
            CUDA(cudaStreamSynchronize(side_.stream));
            outcome = side_.result();
            mine.ns = outcome.ns;
        });
        const u64 ns_here = mine.ns;
        const Word all = step(mine, [&] {
            side_.verify(request);
            if (request.test == Test::kGups) mine.table_sum = side_.table_sum(request);
        });
        const u64 ns = request.one_cta ? ns_here : all.ns, sum = all.table_sum;
        const u64 updates = 2 * (u64)request.ctas * request.threads * request.updates * (request.iters + kWarmUp);
        if (request.test == Test::kGups && sum != updates * device::kAddend)
            throw Failure{format("wrong data: the tables sum to %llu, not %llu", (unsigned long long)sum,
                                 (unsigned long long)(updates * device::kAddend))};
        return reply(request, ns, outcome, true);
    }

   private:
    u32 gpus_;
    const Links &links_;
    Side side_;
    Args args_ = {};

    static bool under_mps() { return getenv("CUDA_MPS_PIPE_DIRECTORY") != nullptr; }

    template <class Step>
    Word step(Word &mine, Step run) {
        try {
            run();
        } catch (const Failure &failure) {
            snprintf(mine.text, sizeof mine.text, "%s", failure.text.c_str());
        }
        const Word all = links_.together(mine);
        if (mine.text[0] != 0) throw Failure{mine.text};
        if (all.text[0] != 0) throw Failure{all.text};
        return all;
    }
};

// The environment of PEs of one host, where the user has not said otherwise. Before the first call of CUDA.
void environment(const Options &options) {
    setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
    setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (options.gpus < options.pes)
        setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(100 * options.gpus / options.pes).c_str(), 0);
}

// If the process of another PE ends before it should, PE 0 would wait for ever, in a library or on a kernel. A library may have
// children of its own, which may end.
volatile pid_t follower_of_lead[16];

void child_ended(int) {
    bool gone = false;
    for (volatile pid_t &each : follower_of_lead)
        gone |= each != 0 && waitpid(each, nullptr, WNOHANG) == each;
    if (!gone) return;
    constexpr char kText[] = "nvshmem: the process of another PE is gone\n";
    const ssize_t written = write(2, kText, sizeof kText - 1);
    _exit(written < 0 ? 2 : 1);
}

int follow(u32 rank, const Options &options, const Links &links) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        Pe pe(rank, options, links);
        Word ready = {};
        links.send(ready);
        for (Request request; links.all[0].receive(&request);) {
            try {
                pe.answer(request);
            } catch (const Failure &) {
                // PE 0 has the text and replies.
            }
        }
        pe.finish();
    } catch (const Failure &failure) {
        fprintf(stderr, "nvshmem: PE %u: %s\n", rank, failure.text.c_str());
        return 1;
    }
    return 0;
}

int lead(const Options &options, Links &links, const std::vector<pid_t> &followers) {
    Replies replies;
    try {
        Pe pe(0, options, links);
        for (const Link &link : links.all) {
            Word ready;
            if (!link.receive(&ready)) throw Failure{"another PE did not start"};
        }
        int major = 0, minor = 0, patch = 0;
        nvshmemx_vendor_get_version_info(&major, &minor, &patch);
        replies.line(format("ready name=nvshmem version=%d.%d.%d pes=%u gpus=%u", major, minor, patch, options.pes,
                            options.gpus));
        serve(replies, [&](const Request &request) -> std::string {
            check(request, options.memory, options.pes);
            if (kernel_of(request) == nullptr) return "no";
            const bool of_all = is_collective(request.test) || request.test == Test::kBarrier || request.test == Test::kSync;
            if (options.pes != 2 && !of_all) return "no";
            links.send(request);
            return pe.answer(request);
        });
        signal(SIGCHLD, SIG_DFL);
        for (const Link &link : links.all) close(link.out);  // ends the others' loops
        pe.finish();
    } catch (const Failure &failure) {
        fprintf(stderr, "nvshmem: PE 0: %s\n", failure.text.c_str());
        signal(SIGCHLD, SIG_DFL);
        for (pid_t each : followers) kill(each, SIGKILL);
        return 1;
    }
    int worst = 0;
    for (pid_t each : followers) {
        int status = 0;
        waitpid(each, &status, 0);
        worst = status != 0 ? 1 : worst;
    }
    return worst;
}

}  // namespace

int main(int count, char **words) {
    const Options read = options(count, words);
    environment(read);
    signal(SIGPIPE, SIG_IGN);
    Links links = {true, {}};
    std::vector<pid_t> followers;
    for (u32 rank = 1; rank < read.pes; ++rank) {
        int down[2], up[2];
        if (pipe(down) != 0 || pipe(up) != 0) {
            perror("nvshmem: pipe");
            return 1;
        }
        const pid_t follower = fork();
        if (follower < 0) {
            perror("nvshmem: fork");
            return 1;
        }
        if (follower == 0) {
            // A pipe ends when nobody holds it: not the ends that belong to PE 0.
            for (const Link &link : links.all) {
                close(link.in);
                close(link.out);
            }
            close(down[1]);
            close(up[0]);
            close(0);
            return follow(rank, read, {false, {{down[0], up[1]}}});
        }
        follower_of_lead[followers.size()] = follower;
        followers.push_back(follower);
        close(down[0]);
        close(up[1]);
        links.all.push_back({up[0], down[1]});
    }
    signal(SIGCHLD, child_ended);
    return lead(read, links, followers);
}
