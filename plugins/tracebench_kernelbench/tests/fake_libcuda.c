/* A driver of CUDA for a device that is none: its memory is the host's, and its clock moves by the work that is given to it.
   What it was asked, it tells line by line (`told`). */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[1 << 16];
static double now;
static const char *failing = "";
static int code, owed;
static size_t cache = 1 << 20;
struct event { double at; unsigned flags; };

static int asked(const char *name, const char *format, ...) {
    va_list given;
    size_t used = strlen(said);
    va_start(given, format);
    used += snprintf(said + used, sizeof said - used, "%s ", name);
    vsnprintf(said + used, sizeof said - used, format, given);
    va_end(given);
    strcat(said, "\n");
    return strcmp(name, failing) == 0 ? code : 0;
}
const char *told(void) { static char copy[1 << 16]; strcpy(copy, said); said[0] = 0; return copy; }
void fail(const char *name, int with) { failing = strdup(name); code = with; }
void owe(int polls) { owed = polls; }
void hold(size_t bytes) { cache = bytes; }

int cuGetErrorString(int given, const char **words) { *words = given == 999 ? NULL : "out of \xff luck"; return 0; }
int cuInit(unsigned flags) { return asked("cuInit", "%u", flags); }
int cuDeviceGet(int *device, int ordinal) { *device = 40 + ordinal; return asked("cuDeviceGet", "%d", ordinal); }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)7; return asked("cuDevicePrimaryCtxRetain", "%d", device); }
int cuDevicePrimaryCtxRelease_v2(int device) { return asked("cuDevicePrimaryCtxRelease_v2", "%d", device); }
int cuCtxSetCurrent(void *context) { return asked("cuCtxSetCurrent", "%ld", (long)context); }
int cuDeviceGetName(char *name, int size, int device) { strcpy(name, "A Card \xff"); return asked("cuDeviceGetName", "%d %d", size, device); }
int cuDeviceGetAttribute(int *value, int what, int device) {
    *value = what == 38 ? cache : -1;
    return asked("cuDeviceGetAttribute", "%d %d", what, device);
}
int cuModuleLoadData(void **module, const char *text) {
    *module = (void *)9;
    return asked("cuModuleLoadData", "%s", strstr(text, ".entry gauge") ? "gauge" : "?");
}
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)11; return asked("cuModuleGetFunction", "%ld %s", (long)module, name); }
int cuStreamCreate(void **stream, unsigned flags) { *stream = (void *)13; return asked("cuStreamCreate", "%u", flags); }
int cuStreamSynchronize(void *stream) { return asked("cuStreamSynchronize", "%ld", (long)stream); }
int cuStreamQuery(void *stream) { int failed = asked("cuStreamQuery", "%ld", (long)stream); return failed ? failed : owed && owed-- ? 600 : 0; }
int cuStreamWaitEvent(void *stream, struct event *event, unsigned flags) { return asked("cuStreamWaitEvent", "%ld %u %u", (long)stream, event->flags, flags); }
int cuMemGetInfo_v2(size_t *free_, size_t *whole) { *free_ = 123; *whole = 456; return asked("cuMemGetInfo_v2", ""); }
int cuMemAlloc_v2(uint64_t *address, size_t size) { *address = (uint64_t)calloc(1, size); return asked("cuMemAlloc_v2", "%zu", size); }
int cuMemFree_v2(uint64_t address) { free((void *)address); return asked("cuMemFree_v2", ""); }
struct handle { unsigned char bytes[64]; };
int cuIpcGetMemHandle(struct handle *handle, uint64_t address) { memset(handle, 0, 64); memcpy(handle, &address, 8); return asked("cuIpcGetMemHandle", ""); }
int cuIpcGetEventHandle(struct handle *handle, struct event *event) { memset(handle, event->flags, 64); return asked("cuIpcGetEventHandle", "%u", event->flags); }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) { memcpy((void *)to, from, size); return asked("cuMemcpyHtoD_v2", "%zu", size); }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)from, size); return asked("cuMemcpyDtoH_v2", "%zu", size); }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) { memcpy((void *)to, (void *)from, size); return asked("cuMemcpyDtoDAsync_v2", "%zu %ld", size, (long)stream); }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream) {
    memset((void *)to, value, size < 4096 ? size : 4096); /* of the cache a little stands for all */
    now += 1e-3;
    return asked("cuMemsetD8Async", "%u %zu %ld", value, size, (long)stream);
}
int cuCtxResetPersistingL2Cache(void) { return asked("cuCtxResetPersistingL2Cache", ""); }
int cuLaunchKernel(void *kernel, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned shared, void *stream, void **given, void **more) {
    uint32_t turns = *(uint32_t *)given[1];
    now += 1e-8 * turns;
    return asked("cuLaunchKernel", "%ld %u %u %ld", (long)kernel, a * b * c * d * e * f, turns, (long)stream);
}
int cuEventCreate(struct event **event, unsigned flags) { *event = calloc(1, sizeof **event); (*event)->flags = flags; return asked("cuEventCreate", "%u", flags); }
int cuEventRecord(struct event *event, void *stream) { event->at = now; return asked("cuEventRecord", "%u %ld", event->flags, (long)stream); }
int cuEventElapsedTime(float *ms, struct event *first, struct event *second) { *ms = 1e3 * (second->at - first->at); return asked("cuEventElapsedTime", ""); }
int cuEventDestroy_v2(struct event *event) { free(event); return asked("cuEventDestroy_v2", ""); }

#ifdef WITH_NVML
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(17L + index); return 0; }
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *rate) { *rate = kind == 1 ? 1755 : 0; return (long)device == 17 ? code : 2; }
#endif
