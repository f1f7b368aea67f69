// Checks the reading of requests; needs no GPU. Prints the first rule that does not hold and exits with 1.
#include "protocol.h"

using namespace protocol;

static void hold(bool condition, const char *rule) {
    if (condition) return;
    fprintf(stderr, "does not hold: %s\n", rule);
    exit(1);
}

static std::string refusal(const char *line, u64 memory = 1 << 20) {
    try {
        check(parse(line), memory);
    } catch (const Failure &failure) {
        return failure.text;
    }
    return "";
}

int main() {
    const Request put = parse("put-bw scope=warp ctas=8 threads=64 bytes=8388608 iters=20 offset=4 bidir=1\n");
    hold(put.test == Test::kPutBw && put.scope == kWarp && put.ctas == 8 && put.threads == 64, "put-bw, its shape");
    hold(put.bytes == 8388608 && put.iters == 20 && put.offset == 4 && put.both_run, "put-bw, its sizes");
    hold(put.inflight == 0 && !put.bulk, "put-bw, what is not said");
    hold(parts(put) == 16, "eight blocks of two warps are 16 parts");
    hold(parse("get-bw path=bulk inflight=8").bulk, "path=bulk");
    hold(parse("signal-pingpong order=strong").both_run, "a ping-pong runs on both PEs");
    hold(parse("put-lat scope=warp threads=1024").threads == 32, "one CTA of warp scope is one warp");
    hold(parse("atomic-bw op=fetch-add pattern=spread").pattern == kSpread, "pattern=spread");
    hold(parse("fly-to-the-moon x").test == Test::kUnknown, "an unknown test is no failure");

    hold(refusal("put-bw bytes=1048576") == "", "a request as large as memory is taken");
    hold(refusal("put-bw bytes=1048577").find("--memory") != std::string::npos, "a larger one is refused");
    hold(refusal("put-bw bytes=1048576 offset=4") != "", "the offset counts");
    hold(refusal("atomic-bw pattern=spread ctas=9 threads=1024") != "", "spread atomics need 128 bytes a thread");
    hold(refusal("gups bytes=12") == "bytes=12 is no multiple of 8", "gups needs whole words");
    hold(refusal("mailbox-pingpong bytes=262144") != "", "a mailbox needs four times its bytes, and a little more");
    for (const char *line : {"", "put-bw bytes", "put-bw bytes=", "put-bw bytes=-1", "put-bw bytes=1x", "put-bw scope=all",
                             "put-bw threads=1025", "put-bw ctas=0", "put-bw colour=red", "put-lat ctas=2",
                             "barrier bidir=1", "put-bw inflight=3", "put-bw scope=warp threads=40", "p-bw offset=4"})
        hold(refusal(line) != "", line);
    hold(parse("fcollect scope=block").both_run && is_collective(Test::kFcollect), "a collective operation runs on all PEs");
    const Request fcollect = parse("fcollect bytes=400"), reduce = parse("reduce bytes=400");
    hold(given(fcollect, 8) == 400 && gotten(fcollect, 8) == 3200, "fcollect, its sizes");
    hold(given(parse("alltoall bytes=400"), 8) == 3200 && gotten(reduce, 8) == 400, "alltoall and reduce, their sizes");
    hold(refusal("alltoall bytes=524288") == "" && refusal("alltoall bytes=524292") != "", "every PE's part counts");
    hold(refusal("reduce bytes=6") == "bytes=6 is no multiple of 4", "whole elements");
    hold(percentiles({4, 1, 3, 2, 5}) == " p50=3.0 p99=5.0", "percentiles");
    puts("the reading of requests holds");
    return 0;
}
