// A CUDA driver without a GPU: exactly the calls that the runtime makes. Memory is this process's own, launches
// are accepted and do nothing. What it is like is chosen by environment variables:
//
//   STUB_DRIVER_VERSION  12080      as cuDriverGetVersion gives it
//   STUB_INIT_ERROR      0          what cuInit returns
//   STUB_DEVICES         1          how many GPUs there are
//   STUB_CAPABILITY      90         10 * major + minor
//   STUB_MEMORY          1073741824 bytes per GPU
//   STUB_NO_PEER         unset      set: no access between GPUs
//   STUB_NO_ATOMICS      unset      set: no atomics between GPUs
//   STUB_FABRIC          unset      set: the GPUs say that they have fabric handles, which memory is refused with
//   STUB_JIT_ERROR       unset      set: every PTX is rejected
//   STUB_LAUNCH_ERROR    0          what a stream's query returns after a launch
//   STUB_STUCK           unset      set: a stream never becomes idle after a launch
//   STUB_POINTER         2 0 1000 0 what memory of the program's is: its type, GPU, context in hex, whether it is managed
//   STUB_POINTER_BYTES   1048576    bytes of an allocation of the program's, which starts at the page that is asked for
//   STUB_NUMA            -1         the host's NUMA node next to the GPUs; -1: the driver names none
//   STUB_HOST_ERROR      0          what memory of the host for a heap is refused with
//   STUB_TRACE           unset      file to which function loads, launches, copies, unmappings and
//                                   access by the host are appended
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int Result;
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_PTX = 218, NOT_FOUND = 500, NOT_READY = 600, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, NOT_PERMITTED = 800, FABRIC = 8 };

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static void trace(const char *what, const void *which) {
    const char *path = getenv("STUB_TRACE");
    if (!path) return;
    FILE *file = fopen(path, "a");
    if (file) fprintf(file, "%s %p\n", what, which), fclose(file);
}

static uint64_t used[64];

// How many streams record, and what this thread may do meanwhile: 2, all.
static int recording;
static __thread int capture_mode;

Result cuDriverGetVersion(int *version) { *version = (int)number("STUB_DRIVER_VERSION", 12080); return OK; }
Result cuInit(unsigned flags) { (void)flags; return (Result)number("STUB_INIT_ERROR", OK); }
Result cuGetErrorName(Result r, const char **text) {
    *text = r == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : r == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
          : r == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : r == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
          : r == 802 ? "CUDA_ERROR_SYSTEM_NOT_READY" : "CUDA_ERROR_STUB";
    return OK;
}
Result cuGetErrorString(Result r, const char **text) { (void)r; *text = "the stub says so"; return OK; }

Result cuDeviceGetCount(int *count) { *count = (int)number("STUB_DEVICES", 1); return OK; }
Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return OK; }
Result cuDeviceGetName(char *name, int length, int device) { (void)device; snprintf(name, length, "Stub GPU"); return OK; }
Result cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, device, 16); return OK; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = number("STUB_MEMORY", 1 << 30); return OK; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 16: *value = 4; break;
    case 75: *value = (int)number("STUB_CAPABILITY", 90) / 10; break;
    case 76: *value = (int)number("STUB_CAPABILITY", 90) % 10; break;
    case 128: *value = !!getenv("STUB_FABRIC"); break;
    case 97: *value = 227 * 1024; break;
    case 134: *value = (int)number("STUB_NUMA", -1); break;
    case 41: case 95: case 102: case 115: *value = 1; break;
    default: return INVALID;
    }
    return OK;
}
Result cuDeviceCanAccessPeer(int *can, int a, int b) { (void)a, (void)b; *can = !getenv("STUB_NO_PEER"); return OK; }
Result cuDeviceGetP2PAttribute(int *value, int attribute, int a, int b) {
    (void)attribute, (void)a, (void)b;
    *value = !getenv("STUB_NO_ATOMICS");
    return OK;
}
Result cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(intptr_t)(0x1000 + device); return OK; }
Result cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return OK; }
static __thread void *current;
Result cuCtxSetCurrent(void *context) { current = context; return OK; }
Result cuCtxGetDevice(int *device) { *device = (int)((intptr_t)current - 0x1000); return OK; }

struct Location { int type, id; };
struct Properties { int type, handles; struct Location location; void *win32; unsigned char flags[8]; };
struct Access { struct Location location; int flags; };
// Device is -1 for memory of another process, which is counted there, and for the host's.
struct Physical { uint64_t bytes; int device, references, file; struct Properties made; };
enum { ON_DEVICE = 1, ON_HOST = 3 };

Result cuMemGetAllocationGranularity(size_t *bytes, const struct Properties *p, int option) { (void)p, (void)option; *bytes = 2 << 20; return OK; }
Result cuMemGetInfo_v2(size_t *free, size_t *total) {
    if (!current) return 201;
    *total = number("STUB_MEMORY", 1 << 30);
    *free = *total - used[(intptr_t)current - 0x1000];
    return OK;
}
Result cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t hint, uint64_t flags) {
    (void)alignment, (void)hint, (void)flags;
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return OUT_OF_MEMORY;
    *address = (uint64_t)at;
    return OK;
}
Result cuMemAddressFree(uint64_t address, size_t bytes) { return munmap((void *)address, bytes) ? INVALID : OK; }
Result cuMemCreate(uint64_t *handle, size_t bytes, const struct Properties *p, uint64_t flags) {
    (void)flags;
    int device = p->location.type == ON_DEVICE ? p->location.id : -1;
    if (p->handles == FABRIC) return NOT_PERMITTED;
    if (device < 0 && number("STUB_HOST_ERROR", OK)) return (Result)number("STUB_HOST_ERROR", OK);
    if (device < 0 && (p->location.type != ON_HOST || p->location.id < 0)) return INVALID;
    if (device >= 0 && used[device] + bytes > (uint64_t)number("STUB_MEMORY", 1 << 30)) return OUT_OF_MEMORY;
    if (device >= 0) used[device] += bytes;
    struct Physical *physical = malloc(sizeof *physical);
    *physical = (struct Physical){bytes, device, 1, memfd_create("stub GPU memory", MFD_CLOEXEC), *p};
    *handle = (uint64_t)physical;
    return ftruncate(physical->file, bytes) ? OUT_OF_MEMORY : OK;
}
Result cuMemExportToShareableHandle(void *name, uint64_t handle, int type, unsigned long long flags) {
    (void)flags;
    if (type == FABRIC) return NOT_PERMITTED;
    *(int *)name = dup(((struct Physical *)handle)->file);
    return OK;
}
Result cuMemImportFromShareableHandle(uint64_t *handle, void *name, int type) {
    struct stat stat;
    if (type == FABRIC || fstat((int)(intptr_t)name, &stat)) return INVALID;
    struct Physical *physical = malloc(sizeof *physical);
    *physical = (struct Physical){stat.st_size, -1, 1, dup((int)(intptr_t)name), {0}};
    *handle = (uint64_t)physical;
    return OK;
}
// What is mapped. Memory lives as long as a handle or a mapping.
static struct { uint64_t address, bytes; struct Physical *physical; } mapping[256];
static int mappings;
static int mapped_at(uint64_t at) {
    for (int i = 0; i < mappings; i++)
        if (at >= mapping[i].address && at - mapping[i].address < mapping[i].bytes) return i;
    return -1;
}
Result cuMemRelease(uint64_t handle) {
    struct Physical *physical = (struct Physical *)handle;
    if (--physical->references) return OK;
    if (physical->device >= 0) used[physical->device] -= physical->bytes;
    close(physical->file);
    free(physical);
    return OK;
}
Result cuMemRetainAllocationHandle(uint64_t *handle, void *at) {
    int i = mapped_at((uint64_t)at);
    if (i < 0) return INVALID;
    mapping[i].physical->references++;
    *handle = (uint64_t)mapping[i].physical;
    return OK;
}
Result cuMemGetAllocationPropertiesFromHandle(struct Properties *p, uint64_t handle) {
    *p = ((struct Physical *)handle)->made;
    return OK;
}
Result cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
    (void)offset, (void)flags;
    struct Physical *physical = (struct Physical *)handle;
    if (physical->bytes != bytes || mappings == 256) return INVALID;
    void *at = mmap((void *)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0);
    if (at == MAP_FAILED) return OUT_OF_MEMORY;
    physical->references++;
    mapping[mappings].address = address, mapping[mappings].bytes = bytes, mapping[mappings++].physical = physical;
    return OK;
}
Result cuMemSetAccess(uint64_t address, size_t bytes, const struct Access *access, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (access[i].location.type == ON_HOST) trace("host access", (void *)(intptr_t)access[i].location.id);
    return mprotect((void *)address, bytes, PROT_READ | PROT_WRITE) ? INVALID : OK;
}
Result cuMemUnmap(uint64_t address, size_t bytes) {
    int i = mapped_at(address);
    if (i < 0 || mapping[i].address != address || mapping[i].bytes != bytes) return INVALID; // not a whole mapping
    trace("unmap", (void *)address);
    cuMemRelease((uint64_t)mapping[i].physical);
    mapping[i] = mapping[--mappings];
    void *at = mmap((void *)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return at == MAP_FAILED ? INVALID : OK;
}

// Memory of the program's.
Result cuPointerGetAttributes(unsigned count, int *attributes, void **to, uint64_t at) {
    unsigned kind = 2, managed = 0;
    int device = 0;
    unsigned long context = 0x1000;
    const char *text = getenv("STUB_POINTER");
    if (text && sscanf(text, "%u %d %lx %u", &kind, &device, &context, &managed) != 4) return INVALID;
    uint64_t page = 4096, bytes = number("STUB_POINTER_BYTES", 1 << 20);
    int of = mapped_at(at);
    for (unsigned i = 0; i < count; i++) {
        switch (attributes[i]) {
        case 2: *(unsigned *)to[i] = kind; break;
        case 9: *(int *)to[i] = device; break;
        case 1: *(unsigned long *)to[i] = context; break;
        case 8: *(char *)to[i] = managed; break;
        case 11: *(uint64_t *)to[i] = of >= 0 ? mapping[of].address : bytes ? at / page * page : 0; break;
        case 12: *(size_t *)to[i] = of >= 0 ? mapping[of].bytes : bytes; break;
        default: return INVALID;
        }
    }
    return OK;
}
Result cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    *at = flags == 3 ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
    return *at ? OK : INVALID;
}
Result cuMemFreeHost(void *at) { free(at); return OK; }

Result cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) { (void)at, (void)flags; return bytes % 4096 ? INVALID : OK; }
Result cuMemHostGetDevicePointer_v2(uint64_t *device, void *host, unsigned flags) { (void)flags; *device = (uint64_t)host; return OK; }
Result cuMemHostUnregister(void *at) { (void)at; return OK; }

Result cuMemPoolCreate(void **pool, const void *properties) { (void)properties; *pool = malloc(1); return OK; }
Result cuMemPoolDestroy(void *pool) { free(pool); return OK; }
Result cuMemPoolSetAttribute(void *pool, int attribute, void *value) { (void)pool, (void)attribute, (void)value; return OK; }
Result cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream) {
    (void)pool, (void)stream;
    if (bytes > (size_t)number("STUB_MEMORY", 1 << 30)) return OUT_OF_MEMORY;
    *address = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return OK;
}
Result cuMemFreeAsync(uint64_t address, void *stream) { (void)stream; free((void *)address); return OK; }

// What a stream records: launches are counted, copies kept.
struct Copy { uint64_t to, from; size_t bytes; };
struct Graph { int kernels, copies; struct Copy copy[8]; };
struct Stream { int launched, capturing, broken; struct Graph graph; };
Result cuStreamCreate(void **stream, unsigned flags) {
    if (flags != 1) return INVALID; // must not wait for the default stream
    *stream = calloc(1, sizeof(struct Stream));
    return OK;
}
Result cuStreamDestroy_v2(void *stream) { free(stream); return OK; }
// As the driver does: a stream that records is not to be asked or waited for, and the recording is lost.
static int records(void *stream) {
    struct Stream *s = stream;
    if (s->capturing) s->broken = 1;
    return s->capturing;
}
Result cuStreamQuery(void *stream) {
    if (records(stream)) return CAPTURE_UNSUPPORTED;
    if (!((struct Stream *)stream)->launched) return OK;
    return getenv("STUB_STUCK") ? NOT_READY : (Result)number("STUB_LAUNCH_ERROR", OK);
}
Result cuStreamSynchronize(void *stream) { return records(stream) ? CAPTURE_UNSUPPORTED : OK; }
Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return stream && event && !flags ? OK : INVALID; }
Result cuEventCreate(void **event, unsigned flags) { (void)flags; *event = malloc(1); return OK; }
Result cuEventDestroy_v2(void *event) { free(event); return OK; }
Result cuEventRecord(void *event, void *stream) { return event && stream ? OK : INVALID; }
Result cuEventQuery(void *event) { return event ? OK : INVALID; }
Result cuEventElapsedTime(float *milliseconds, void *a, void *b) { *milliseconds = 1.5; return a && b ? OK : INVALID; }
Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    if (!bytes || !stream) return INVALID;
    trace("copy", stream);
    memcpy((void *)to, from, bytes);
    return OK;
}
Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    if (!bytes || !stream) return INVALID;
    trace("copy", stream);
    memcpy(to, (void *)from, bytes);
    return OK;
}
Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    struct Stream *s = stream;
    if (!bytes || !s) return INVALID;
    trace("device copy", stream);
    if (!s->capturing) return memcpy((void *)to, (void *)from, bytes), OK;
    s->graph.copy[s->graph.copies++ % 8] = (struct Copy){to, from, bytes};
    return OK;
}
Result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
    if (!bytes || !stream) return INVALID;
    memset((void *)to, value, bytes);
    return OK;
}

Result cuStreamBeginCapture_v2(void *stream, int mode) {
    struct Stream *s = stream;
    if (mode != 2 || s->capturing) return INVALID;
    trace("begin", stream);
    __atomic_add_fetch(&recording, 1, __ATOMIC_SEQ_CST);
    s->capturing = 1, s->broken = 0, memset(&s->graph, 0, sizeof s->graph);
    return OK;
}
Result cuStreamEndCapture(void *stream, void **graph) {
    struct Stream *s = stream;
    if (!s->capturing) return INVALID;
    trace("end", stream);
    __atomic_sub_fetch(&recording, 1, __ATOMIC_SEQ_CST);
    s->capturing = 0, *graph = NULL;
    if (s->broken) return CAPTURE_INVALIDATED;
    *graph = malloc(sizeof s->graph);
    memcpy(*graph, &s->graph, sizeof s->graph);
    return OK;
}
Result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    if (!graph || flags) return INVALID;
    *exec = malloc(sizeof(struct Graph));
    memcpy(*exec, graph, sizeof(struct Graph));
    return OK;
}
Result cuGraphDestroy(void *graph) { trace("graph destroyed", graph); free(graph); return OK; }
Result cuGraphExecDestroy(void *exec) { trace("exec destroyed", exec); free(exec); return OK; }
Result cuGraphUpload(void *exec, void *stream) { trace("upload", stream); return exec && stream ? OK : INVALID; }
Result cuGraphLaunch(void *exec, void *stream) {
    struct Graph *graph = exec;
    if (!graph || !stream) return INVALID;
    trace("graph launched", stream);
    for (int i = 0; i < graph->copies; i++)
        memcpy((void *)graph->copy[i].to, (void *)graph->copy[i].from, graph->copy[i].bytes);
    ((struct Stream *)stream)->launched = 1;
    return OK;
}

Result cuThreadExchangeStreamCaptureMode(int *mode) {
    int before = capture_mode;
    capture_mode = *mode, *mode = before;
    return OK;
}

// A module is its text, a function the place of its name in it. The real driver refuses less: it depends on whose stream it
// is that records.
Result cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options, void **values) {
    if (getenv("STUB_JIT_ERROR")) {
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5) strcpy(values[i], "ptxas application ptx input, line 7; error : this is no PTX");
        return INVALID_PTX;
    }
    if (__atomic_load_n(&recording, __ATOMIC_SEQ_CST) && capture_mode != 2) return CAPTURE_UNSUPPORTED;
    trace("module", image);
    *module = strdup(image);
    return OK;
}
Result cuModuleGetFunction(void **function, void *module, const char *name) { return (*function = strstr(module, name)) ? OK : NOT_FOUND; }
Result cuModuleUnload(void *module) { free(module); return OK; }
Result cuFuncLoad(void *function) { trace("load", function); return OK; }
Result cuFuncSetAttribute(void *function, int attribute, int value) { (void)function, (void)attribute, (void)value; return OK; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    (void)function, (void)shared;
    *blocks = 2048 / threads;
    return OK;
}
Result cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **parameters, void **extra) {
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
    if (!stream || !parameters || !parameters[0]) return INVALID;
    trace("launch", f);
    struct Stream *s = stream;
    s->capturing ? s->graph.kernels++ : (s->launched = 1);
    return OK;
}
Result cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, void *stream, void **parameters) {
    trace("cooperative", f);
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, NULL);
}
