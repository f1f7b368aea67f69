/* A driver of two GPUs, for tests: in the place of libcuda.so.1. INIT is what cuInit does; LINKED whether the GPUs have
   native atomics between them. The first reaches the second, and not the other way round unless LINKED is 1. */
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) { INIT; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, device ? "Second" : "First", length); return 0; }
int cuDeviceGetPCIBusId(char *name, int length, int device) { strncpy(name, device ? "0000:02:00.0" : "0000:01:00.0", length); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    /* Compute capability 9.0; the second is for one process at a time. */
    *value = attribute == 75 ? 9 : attribute == 20 && device ? 3 : 0;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)80 << 30; return 0; }
int cuDeviceCanAccessPeer(int *can, int from, int to) { *can = LINKED || from < to; return 0; }
int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to) { *value = attribute == 3 && LINKED; return 0; }
