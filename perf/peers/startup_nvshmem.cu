// `startup-nvshmem FILE`: how long an NVSHMEM job takes to start. Each process is one PE, by the variables of oxshmem-run
// (OXSHMEM_RANK, ...); they come together by a unique id that PE 0 writes to FILE. `startup-nvshmem` without FILE leaves that to
// nvshmem_init, for mpirun with NVSHMEM_BOOTSTRAP=PMIX. PE 0 prints the same rows as `startup`.
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace {

// How long the others wait for the file, in steps of a millisecond.
constexpr int kPatience = 120000;

double now(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

[[noreturn]] void fail(const char *what) {
    fprintf(stderr, "startup-nvshmem: %s\n", what);
    exit(1);
}

int number(const char *variable, const char *other) {
    const char *text = getenv(variable);
    if (text == nullptr) text = getenv(other);
    if (text == nullptr) fail("no launcher says which PE this is");
    return atoi(text);
}

void write_id(const nvshmemx_uniqueid_t &id, const char *path) {
    char unfinished[4096];
    if ((size_t)snprintf(unfinished, sizeof unfinished, "%s.part", path) >= sizeof unfinished) fail("the path is too long");
    FILE *file = fopen(unfinished, "wb");
    if (file == nullptr || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0) fail("the id cannot be written");
    // Whole at once.
    if (rename(unfinished, path) != 0) fail("the id cannot be put in its place");
}

void read_id(nvshmemx_uniqueid_t *id, const char *path) {
    for (int waited = 0; waited < kPatience; waited++) {
        FILE *file = fopen(path, "rb");
        if (file != nullptr) {
            const bool whole = fread(id, sizeof *id, 1, file) == 1;
            fclose(file);
            if (whole) return;
            fail("the file is no unique id");
        }
        usleep(1000);
    }
    fail("PE 0 wrote no unique id");
}

void row(const char *name, double seconds) {
    cudaDeviceProp properties;
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) fail("no device");
    printf("startup-nvshmem  %s  %d processes, %s  %.6f s\n", properties.name, nvshmem_n_pes(), name, seconds);
}

}  // namespace

int main(int count, char **words) {
    const double start = now(CLOCK_MONOTONIC);
    // What PEs of one host need, unless the environment says otherwise.
    setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
    setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    setenv("NVSHMEM_DISABLE_NVLS", "1", 0);

    const int local = number("OXSHMEM_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK");
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) fail("there is no GPU");
    if (cudaSetDevice(local % gpus) != cudaSuccess) fail("the GPU cannot be used");
    if (count > 1) {
        const int rank = number("OXSHMEM_RANK", "OMPI_COMM_WORLD_RANK");
        const int size = number("OXSHMEM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE");
        nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
        if (rank == 0) {
            if (nvshmemx_get_uniqueid(&id) != 0) fail("nvshmemx_get_uniqueid failed");
            write_id(id, words[1]);
        } else {
            read_id(&id, words[1]);
        }
        nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
        if (nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes) != 0 ||
            nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
            fail("nvshmemx_init_attr failed");
    } else {
        nvshmem_init();
    }
    const double init = now(CLOCK_MONOTONIC) - start;
    nvshmem_barrier_all();
    const double barrier = now(CLOCK_MONOTONIC) - start;
    const double real = now(CLOCK_REALTIME);
    if (nvshmem_my_pe() == 0) {
        row("init", init);
        row("init and a barrier", barrier);
        const char *begun = getenv("STARTUP_BEGUN");
        if (begun != nullptr) row("start to barrier", real - 1e-9 * strtod(begun, nullptr));
    }
    nvshmem_finalize();
    return 0;
}
