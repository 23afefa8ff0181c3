// The checked build: kernels are compiled with the thread and undefined-behaviour sanitisers, and
// this file stands in for both of their runtimes. Every load and store of a kernel comes here
// before it happens. The plain build links the empty versions at the end.
#include <cstdlib>
#include <sys/mman.h>

#include "runtime.h"

#ifdef CHECKED
#define SECTION(name) \
    extern "C" char __start_##name[] __attribute__((weak, visibility("hidden"))); \
    extern "C" char __stop_##name[] __attribute__((weak, visibility("hidden")));
SECTION(gpu_shared)
SECTION(gpu_state)

enum Kind { READ, WRITE, ATOMIC };
static Buffer* buffers;
static int num_buffers;
static Buffer shared = {"shared memory", nullptr, 0, 1, nullptr, 1, nullptr};

// Memory that is taken only where it is written: arrays may be larger than what there is.
static Cell* new_cells(size_t count) {
    void* cells = mmap(nullptr, (count + 1) * sizeof(Cell), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) fail("no address space for the checks of %zu items", count);
    return cells == MAP_FAILED ? nullptr : (Cell*)cells;
}

static void free_cells(const Buffer& buffer) {
    if (buffer.cells) munmap(buffer.cells, (buffer.size / buffer.item + 1) * sizeof(Cell));
}

void start_checks(Buffer* given, int count) {
    buffers = given;
    num_buffers = count;
    shared.start = __start_gpu_shared;
    shared.size = __stop_gpu_shared - __start_gpu_shared;
    shared.cells = new_cells(shared.size);
    for (int b = 0; b < count; ++b)
        if (given[b].writable)
            given[b].cells = new_cells(given[b].size / given[b].item);
}

void stop_checks() {
    free_cells(shared);
    for (int b = 0; b < num_buffers; ++b) free_cells(buffers[b]);
}

void start_clocks() {
    for (int t = 0; t < MAX_THREADS; ++t)
        for (int lane = 0; lane < 32; ++lane) threads[t].clock[lane] = t % 32 == lane;
}

// __syncwarp: each lane of the mask has now seen what any of them had seen.
void order_lanes(int first, unsigned mask) {
    for (int seen = 0; seen < 32; ++seen) {
        unsigned latest = 0;
        for (int l = 0; l < 32; ++l)
            if (mask >> l & 1 && threads[first + l].clock[seen] > latest)
                latest = threads[first + l].clock[seen];
        for (int l = 0; l < 32; ++l)
            if (mask >> l & 1) threads[first + l].clock[seen] = latest;
    }
    for (int l = 0; l < 32; ++l)
        if (mask >> l & 1) ++threads[first + l].clock[l];
}

// Whether an earlier access is ordered before one by the current thread.
static bool ordered(const Access& a, const Buffer& buffer) {
    int self = current - threads;
    if (a.block != block + 1) return !a.block || &buffer == &shared;  // each block has its own
    if (a.thread == self || a.epoch != block_epoch) return true;
    return a.thread / 32 == self / 32 && current->clock[a.thread % 32] >= a.clock;
}

static void fail_race(const char* now, const char* then, const Access& a, const Buffer& buffer,
                      size_t offset) {
    fail("%s byte %zu of %s, which block %u, thread %d %s without a barrier between them", now,
         offset, buffer.name, a.block - 1, a.thread, then);
}

static void track(const Buffer& buffer, size_t item, Kind kind) {
    size_t offset = item * buffer.item;
    bool fresh_shared = &buffer == &shared && buffer.cells[item].write.block != block + 1;
    if (kind != WRITE && (fresh_shared || (buffer.written && !buffer.written[item])))
        fail("reads byte %zu of %s, which nobody wrote", offset, buffer.name);
    if (kind != READ && buffer.written) buffer.written[item] = 1;
    if (!buffer.cells) return;
    Cell& cell = buffer.cells[item];
    short self = current - threads;
    Access now = {unsigned(block) + 1, block_epoch, current->clock[self % 32], self,
                  kind == ATOMIC};
    if (!(cell.write.atomic && now.atomic) && !ordered(cell.write, buffer))
        fail_race(kind == READ ? "reads" : "writes", "wrote", cell.write, buffer, offset);
    if (kind == READ) {
        if (cell.read[0].thread != self || cell.read[0].block != now.block)
            cell.read[1] = cell.read[0];
        cell.read[0] = now;
        return;
    }
    for (const Access& read : cell.read)
        if (!ordered(read, buffer)) fail_race("writes", "read", read, buffer, offset);
    cell.write = now;
}

static void check(void* address, size_t size, Kind kind) {
    char* a = (char*)address;
    if (!current) return;
    if (size_t(a - (stacks + (current - threads) * STACK_BYTES)) < STACK_BYTES) return;
    if (a >= __start_gpu_state && a < __stop_gpu_state) return;
    const char* verb = kind == READ ? "reads" : "writes";
    for (int b = -1; b < num_buffers; ++b) {
        const Buffer& buffer = b < 0 ? shared : buffers[b];
        size_t offset = a - buffer.start;
        if (offset >= buffer.size) continue;
        if (offset + size > buffer.size)
            fail("%s %zu bytes at byte %zu of %s, which has %zu", verb, size, offset, buffer.name,
                 buffer.size);
        if (kind != READ && !buffer.writable)
            fail("writes byte %zu of %s, which is const", offset, buffer.name);
        for (size_t item = offset / buffer.item; item * buffer.item < offset + size; ++item)
            track(buffer, item, kind);
        return;
    }
    const Buffer* nearest = nullptr;
    for (int b = 0; b < num_buffers; ++b)
        if (!nearest || llabs(a - buffers[b].start) < llabs(a - nearest->start))
            nearest = &buffers[b];
    if (!nearest) fail("%s %zu bytes outside of every array", verb, size);
    fail("%s %zu bytes outside of every array, %td bytes from the start of %s, which has %zu",
         verb, size, a - nearest->start, nearest->name, nearest->size);
}

extern "C" {
void gpu_atomic(void* address, int size) { check(address, size, ATOMIC); }

#define TSAN(n) \
    void __tsan_read##n(void* a) { check(a, n, READ); } \
    void __tsan_write##n(void* a) { check(a, n, WRITE); } \
    void __tsan_unaligned_read##n(void* a) { check(a, n, READ); } \
    void __tsan_unaligned_write##n(void* a) { check(a, n, WRITE); }
TSAN(1) TSAN(2) TSAN(4) TSAN(8) TSAN(16)
void __tsan_read_range(void* a, size_t n) { check(a, n, READ); }
void __tsan_write_range(void* a, size_t n) { check(a, n, WRITE); }
// Compilers make a call of this out of a large assignment, and some do not tell the sanitiser.
void* memcpy(void* to, const void* from, size_t n) {
    check((void*)from, n, READ);
    check(to, n, WRITE);
    for (size_t byte = 0; byte < n; ++byte) ((char*)to)[byte] = ((const char*)from)[byte];
    return to;
}
void* __tsan_memcpy(void* to, const void* from, size_t n) { return memcpy(to, from, n); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

struct Place { const char* file; unsigned line, column; };  // every report starts with one
#define UBSAN(name, what) \
    void __ubsan_handle_##name(Place* at, ...) { fail("line %u: %s", at->line, what); }
UBSAN(add_overflow, "an integer sum overflows")
UBSAN(sub_overflow, "an integer difference overflows")
UBSAN(mul_overflow, "an integer product overflows")
UBSAN(negate_overflow, "an integer's negative overflows")
UBSAN(divrem_overflow, "an integer is divided by zero, or its quotient overflows")
UBSAN(shift_out_of_bounds, "a shift by more bits than there are, or of a negative number")
UBSAN(out_of_bounds, "an array's index is out of range")
UBSAN(type_mismatch_v1, "an address is misaligned for its type")
}
#else
void start_checks(Buffer*, int) {}
void stop_checks() {}
void start_clocks() {}
void order_lanes(int, unsigned) {}
extern "C" void gpu_atomic(void*, int) {}
#endif
