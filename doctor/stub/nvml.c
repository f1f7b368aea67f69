/* What libnvidia-ml.so.1 says of the two GPUs, for tests: 4 NVLinks each, and over them to each other. */
#include <stdint.h>
#include <string.h>

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) { *device = (void *)(intptr_t)(bus[6] - '0'); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) { memory[1] = 70ull << 30; return 0; }
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *up) { *up = 1; return link < 4 ? 0 : 3; }
int nvmlDeviceGetP2PStatus(void *from, void *to, int what, int *status) { *status = what == 2 && from != to ? 0 : 4; return 0; }
