// The benchmark protocol of README.md, host side: requests, their limits, replies. Plain C++, no CUDA.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace protocol {

using u32 = uint32_t;
using u64 = uint64_t;

enum Scope : u32 { kThread, kWarp, kBlock, kGrid };
enum Pattern : u32 { kAdjacent, kOne, kSpread };

// Iterations that run before time is taken, in the same kernel.
constexpr u64 kWarmUp = 2;
// Bytes behind the target that must keep their poison.
constexpr u64 kGuard = 64;
// Bytes behind each buffer: the guard, and what a fill kernel writes beyond the end.
constexpr u64 kSlack = 256;
// Iterations of which a latency test keeps the time of each.
constexpr u32 kSamples = 2048;

enum class Test : u32 {
    kPutBw, kGetBw, kPBw, kStBw, kGBw, kGatherBw, kPutLat, kGetLat, kPLat, kGLat, kSignalPingpong,
    kPutSignalPingpong, kMailboxPingpong, kAtomicBw, kAtomicLat, kBarrier, kSync, kGups, kBroadcast, kFcollect, kAlltoall, kReduce,
    kCopyBw, kUnknown,
};

struct TestName {
    const char *name;
    Test test;
    bool one_cta;   // the test is defined for one CTA
    bool both_run;  // a kernel runs on all PEs
};

constexpr TestName kTests[] = {
    {"put-bw", Test::kPutBw, false, false},
    {"get-bw", Test::kGetBw, false, false},
    {"p-bw", Test::kPBw, false, false},
    {"st-bw", Test::kStBw, false, false},
    {"g-bw", Test::kGBw, false, false},
    {"gather-bw", Test::kGatherBw, false, false},
    {"put-lat", Test::kPutLat, true, false},
    {"get-lat", Test::kGetLat, true, false},
    {"p-lat", Test::kPLat, true, false},
    {"g-lat", Test::kGLat, true, false},
    {"signal-pingpong", Test::kSignalPingpong, true, true},
    {"put-signal-pingpong", Test::kPutSignalPingpong, true, true},
    {"mailbox-pingpong", Test::kMailboxPingpong, true, true},
    {"atomic-bw", Test::kAtomicBw, false, false},
    {"atomic-lat", Test::kAtomicLat, true, false},
    {"barrier", Test::kBarrier, true, true},
    {"sync", Test::kSync, true, true},
    {"gups", Test::kGups, false, true},
    {"broadcast", Test::kBroadcast, false, true},
    {"fcollect", Test::kFcollect, false, true},
    {"alltoall", Test::kAlltoall, false, true},
    {"reduce", Test::kReduce, false, true},
    {"copy-bw", Test::kCopyBw, true, false},
};

// One request; plain data, so that it can be handed to another process through a pipe.
struct Request {
    Test test = Test::kUnknown;
    bool one_cta = false;
    bool both_run = false;
    Scope scope = kBlock;
    u32 ctas = 1;
    u32 threads = 1024;
    u64 iters = 10;
    u64 bytes = 8;
    u64 offset = 0;
    u64 updates = 1;
    u32 inflight = 0;  // 0: not asked for
    u32 pattern = kAdjacent;
    bool bulk = false;
    bool random = false;
    bool strong = false;
    bool fetch = false;
    bool aggregated = false;
    u64 seed = 0;
};

// A refusal: the text becomes the reply's `error` line.
struct Failure {
    std::string text;
};

inline std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
inline std::string format(const char *pattern, ...) {
    char text[512];
    va_list list;
    va_start(list, pattern);
    vsnprintf(text, sizeof text, pattern, list);
    va_end(list);
    return text;
}

inline u64 number(const std::string &key, const std::string &value, u64 least, u64 most) {
    char *end = nullptr;
    errno = 0;
    const u64 read = strtoull(value.c_str(), &end, 10);
    if (value.empty() || value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0)
        throw Failure{format("%s=%s is no number", key.c_str(), value.c_str())};
    if (read < least || read > most)
        throw Failure{format("%s=%llu is not in %llu..=%llu", key.c_str(), (unsigned long long)read,
                             (unsigned long long)least, (unsigned long long)most)};
    return read;
}

// The place of `value` among `words`.
inline u32 word(const std::string &key, const std::string &value, const std::vector<const char *> &words) {
    for (u32 i = 0; i < words.size(); ++i)
        if (value == words[i]) return i;
    std::string known;
    for (const char *each : words) known += std::string(known.empty() ? "" : ", ") + each;
    throw Failure{format("%s=%s is none of %s", key.c_str(), value.c_str(), known.c_str())};
}

inline void set(Request &request, const std::string &key, const std::string &value) {
    constexpr u64 kMost = 1ull << 48;
    if (key == "ctas") request.ctas = (u32)number(key, value, 1, 65535);
    else if (key == "threads") request.threads = (u32)number(key, value, 1, 1024);
    else if (key == "iters") request.iters = number(key, value, 1, 1u << 30);
    else if (key == "bytes") request.bytes = number(key, value, 1, kMost);
    else if (key == "offset") request.offset = number(key, value, 0, 4096);
    else if (key == "updates") request.updates = number(key, value, 1, 1u << 30);
    else if (key == "scope") request.scope = (Scope)word(key, value, {"thread", "warp", "block", "grid"});
    else if (key == "bidir") request.both_run = word(key, value, {"0", "1"});
    else if (key == "path") request.bulk = word(key, value, {"copy", "bulk"});
    else if (key == "index") request.random = word(key, value, {"contiguous", "random"});
    else if (key == "order") request.strong = word(key, value, {"weak", "strong"});
    else if (key == "op") request.fetch = word(key, value, {"add", "fetch-add"});
    else if (key == "pattern") request.pattern = word(key, value, {"adjacent", "one", "spread"});
    else if (key == "method") request.aggregated = word(key, value, {"atomic", "aggregated"});
    else if (key == "inflight") {
        request.inflight = (u32)number(key, value, 1, 8);
        if (request.inflight != 1 && request.inflight != 4 && request.inflight != 8)
            throw Failure{"inflight is none of 1, 4, 8"};
    } else throw Failure{format("unknown key %s", key.c_str())};
}

// Reads one line. An unknown test is no failure: its reply is `no`.
inline Request parse(const std::string &line) {
    std::vector<std::string> words;
    for (size_t at = 0; at < line.size();) {
        const size_t from = line.find_first_not_of(" \t\r\n", at);
        if (from == std::string::npos) break;
        at = std::min(line.find_first_of(" \t\r\n", from), line.size());
        words.push_back(line.substr(from, at - from));
    }
    if (words.empty()) throw Failure{"an empty request"};
    Request request;
    for (const TestName &each : kTests)
        if (words[0] == each.name) {
            request.test = each.test;
            request.one_cta = each.one_cta;
            request.both_run = each.both_run;
        }
    if (request.test == Test::kUnknown) return request;
    for (size_t i = 1; i < words.size(); ++i) {
        const size_t equals = words[i].find('=');
        if (equals == std::string::npos) throw Failure{format("%s is no key=value", words[i].c_str())};
        const std::string key = words[i].substr(0, equals);
        if (key == "bidir" && request.test != Test::kPutBw && request.test != Test::kGetBw)
            throw Failure{"bidir is a key of put-bw and get-bw"};
        set(request, key, words[i].substr(equals + 1));
    }
    if (request.one_cta && request.scope == kGrid) throw Failure{"this test is one of one CTA: it has no scope=grid"};
    if (request.one_cta && request.ctas != 1) throw Failure{"this test is one of one CTA"};
    if (request.one_cta && request.scope == kThread) request.threads = 1;
    if (request.one_cta && request.scope == kWarp) request.threads = 32;
    if (request.scope == kWarp && request.threads % 32 != 0)
        throw Failure{"scope=warp needs whole warps: threads a multiple of 32"};
    return request;
}

// Parts into which a transfer is cut: one a thread, warp, block, or one for the grid.
inline u64 parts(const Request &request) {
    switch (request.scope) {
        case kThread: return (u64)request.ctas * request.threads;
        case kWarp: return (u64)request.ctas * request.threads / 32;
        case kBlock: return request.ctas;
        case kGrid: return 1;
    }
    return 1;
}

// Whether all PEs move data together.
inline bool is_collective(Test test) {
    return test == Test::kBroadcast || test == Test::kFcollect || test == Test::kAlltoall || test == Test::kReduce;
}

// Bytes that each of `pes` PEs has in its source, and gets in its target.
inline u64 given(const Request &request, u32 pes) {
    return request.test == Test::kAlltoall ? pes * request.bytes : request.bytes + request.offset;
}
inline u64 gotten(const Request &request, u32 pes) {
    return request.test == Test::kAlltoall || request.test == Test::kFcollect ? pes * request.bytes : request.bytes;
}

// Refuses a request that does not fit into buffers of `memory` bytes, or has a size that the test has no meaning for.
inline void check(const Request &request, u64 memory, u32 pes = 2) {
    const u64 threads = (u64)request.ctas * request.threads;
    u64 unit = 1, need = std::max(given(request, pes), gotten(request, pes));
    switch (request.test) {
        case Test::kPBw:
        case Test::kStBw:
        case Test::kBroadcast:
        case Test::kFcollect:
        case Test::kAlltoall:
        case Test::kReduce: unit = 4; break;
        case Test::kGBw:
        case Test::kGatherBw:
        case Test::kGups: unit = 8; break;
        case Test::kMailboxPingpong:
            unit = 8;
            need = 4 * request.bytes + 1024;  // the mailbox, of twice the bytes, below the middle; the outcome above it
            break;
        case Test::kAtomicBw:
            need = request.pattern == kOne ? 8 : request.pattern == kAdjacent ? 8 * threads : 128 * threads;
            break;
        case Test::kPLat:
        case Test::kGLat:
        case Test::kSignalPingpong:
        case Test::kAtomicLat:
        case Test::kBarrier:
        case Test::kSync: need = 8; break;
        default: break;
    }
    if (need > memory)
        throw Failure{format("%llu bytes are needed, each buffer has %llu (option --memory)",
                             (unsigned long long)need, (unsigned long long)memory)};
    if (request.bytes % unit != 0)
        throw Failure{format("bytes=%llu is no multiple of %llu", (unsigned long long)request.bytes,
                             (unsigned long long)unit)};
    if (request.offset != 0 && request.test != Test::kPutBw && request.test != Test::kGetBw)
        throw Failure{"offset is a key of put-bw and get-bw"};
}

struct Options {
    u32 gpus = 1;
    u32 pes = 2;
    u64 memory = 1ull << 30;
};

constexpr const char *kUsage =
    "[--gpus N] [--pes N] [--memory BYTES]\n"
    "Answers requests on standard input, one a line, as perf/peers/README.md describes.\n"
    "  --gpus     how many GPUs the PEs lie on: PE i on GPU i mod N (default 1)\n"
    "  --pes      how many PEs there are; more than the default of 2 in nvshmem only\n"
    "  --memory   bytes of each of the two buffers of each PE (default 1073741824)\n";

inline Options options(int count, char **words) {
    Options read;
    try {
        for (int i = 1; i < count; ++i) {
            const std::string option = words[i];
            if (option == "--help" || option == "-h") {
                printf("usage: %s %s", words[0], kUsage);
                exit(0);
            }
            const std::string value = i + 1 < count ? words[++i] : "";
            if (option == "--gpus") read.gpus = (u32)number(option, value, 1, 16);
            else if (option == "--pes") read.pes = (u32)number(option, value, 2, 16);
            else if (option == "--memory") read.memory = number(option, value, 4096, 1ull << 40) & ~255ull;
            else throw Failure{format("unknown option %s", option.c_str())};
        }
    } catch (const Failure &failure) {
        fprintf(stderr, "%s: %s\nusage: %s %s", words[0], failure.text.c_str(), words[0], kUsage);
        exit(2);
    }
    return read;
}

// The lines that the asker reads. Takes over standard output: what libraries print there goes to standard error.
class Replies {
   public:
    Replies() : out_(fdopen(dup(1), "w")) {
        if (out_ == nullptr || dup2(2, 1) < 0) {
            perror("standard output");
            exit(2);
        }
    }

    void line(std::string text) {
        for (char &each : text)
            if (each == '\n' || each == '\r') each = ' ';
        fprintf(out_, "%s\n", text.c_str());
        fflush(out_);
    }

   private:
    FILE *out_;
};

// Times of the iterations of a test, in any unit.
inline std::string percentiles(std::vector<double> samples) {
    if (samples.empty()) return "";
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double share) { return samples[(size_t)(share * (samples.size() - 1) + 0.5)]; };
    return format(" p50=%.1f p99=%.1f", at(0.5), at(0.99));
}

// Reads requests to the end of standard input. `answer` makes the reply of one.
template <class Answer>
void serve(Replies &replies, Answer answer) {
    char *line = nullptr;
    size_t room = 0;
    for (u64 served = 1; getline(&line, &room, stdin) >= 0; ++served) {
        try {
            Request request = parse(line);
            request.seed = served * 0x9e3779b97f4a7c15ull;
            replies.line(request.test == Test::kUnknown ? "no" : answer(request));
        } catch (const Failure &failure) {
            replies.line("error " + failure.text);
        }
    }
    free(line);
}

}  // namespace protocol
