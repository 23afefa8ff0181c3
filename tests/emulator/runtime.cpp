// Runs one CUDA kernel on one CPU thread: blocks one after another, a block's threads as fibers
// that hand over at barriers and shuffles. A fault switches back to the caller with a message and
// abandons the fibers, so that nothing crashes. Built once plain and once with -DCHECKED.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#include "runtime.h"

struct uint3 { unsigned x, y, z; };
#define STATE __attribute__((section("gpu_state"), used))
STATE uint3 threadIdx, blockIdx, blockDim, gridDim;

Thread threads[MAX_THREADS];
Thread* current;  // null while the scheduler runs
int num_threads;
unsigned block_epoch;     // barriers of this block so far
unsigned long long block;  // running number in the grid
char* stacks;

static void (*kernel)(void**);
static void** arguments;
static char* message;
static int message_size;
static bool failed;
static int arrived;  // threads waiting at the block's barrier
static uint64_t random_state;

// ---- fibers ---------------------------------------------------------------------------------

static void run_thread();

#if defined(__x86_64__) && !defined(PORTABLE)
static void *scheduler_stack, *thread_stack[MAX_THREADS];
extern "C" void gpu_switch(void** save, void* load);
asm(".text\n.type gpu_switch,@function\ngpu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void prepare(int t) {
    void** top = (void**)(stacks + (t + 1) * STACK_BYTES) - 1;  // 8 off 16, as after a call
    *--top = (void*)run_thread;
    thread_stack[t] = top - 6;
}
static void enter(int t) { gpu_switch(&scheduler_stack, thread_stack[t]); }
static void leave(int t) { gpu_switch(&thread_stack[t], scheduler_stack); }
#else
#include <ucontext.h>
static ucontext_t scheduler_context, contexts[MAX_THREADS];
static void prepare(int t) {
    getcontext(&contexts[t]);
    contexts[t].uc_stack.ss_sp = stacks + t * STACK_BYTES;
    contexts[t].uc_stack.ss_size = STACK_BYTES;
    makecontext(&contexts[t], run_thread, 0);
}
static void enter(int t) { swapcontext(&scheduler_context, &contexts[t]); }
static void leave(int t) { swapcontext(&contexts[t], &scheduler_context); }
#endif

static void wait(State state, int line) {
    Thread* self = current;
    self->state = state;
    self->line = line;
    leave(self - threads);
}

static void run_thread() {
    kernel(arguments);
    current->state = DONE;
    leave(current - threads);
}

void fail(const char* format, ...) {
    if (!failed) {
        va_list args;
        va_start(args, format);
        int used = snprintf(message, message_size, "block %llu", block);
        if (current)
            used += snprintf(message + used, message_size - used, ", thread %d",
                             int(current - threads));
        used += snprintf(message + used, message_size - used, ": ");
        vsnprintf(message + used, message_size - used, format, args);
        va_end(args);
        failed = true;
    }
    if (current) leave(current - threads);  // for good
}

// ---- barriers and warps ---------------------------------------------------------------------

extern "C" void gpu_barrier(int line) {
    if (++arrived < num_threads) return wait(AT_BARRIER, line);
    for (int t = 0; t < num_threads; ++t) {
        Thread& other = threads[t];
        if (&other != current && other.line != line)
            return fail("waits at __syncthreads in line %d, thread %d at another in line %d", line,
                        t, other.line);
        other.state = READY;
    }
    arrived = 0;
    ++block_epoch;
}

static uint64_t meet(Meeting meeting, int line, unsigned mask, uint64_t value, int source) {
    Thread* self = current;
    int first = (self - threads) / 32 * 32, lane = self - threads - first;
    if (!(mask >> lane & 1)) fail("is not in its own mask %#x (line %d)", mask, line);
    self->meeting = meeting;
    self->mask = mask;
    self->value = value;
    self->source = source;
    bool complete = true;
    for (int l = 0; l < 32; ++l) {
        if (!(mask >> l & 1) || l == lane) continue;
        Thread& other = threads[first + l];
        complete &= first + l < num_threads && other.state == IN_WARP && other.mask == mask &&
                    other.meeting == meeting && other.line == line;
    }
    if (!complete) {
        wait(IN_WARP, line);
        return self->result;
    }
    unsigned votes = 0;
    for (int l = 0; l < 32; ++l)
        if (mask >> l & 1) votes |= unsigned(threads[first + l].value != 0) << l;
    for (int l = 0; l < 32; ++l) {
        if (!(mask >> l & 1)) continue;
        Thread& member = threads[first + l];
        if (meeting == SHUFFLE && !(mask >> member.source & 1))
            fail("lane %d shuffles from lane %d, which is not in mask %#x (line %d)", l,
                 member.source, mask, line);
        member.result = meeting == VOTE ? votes : threads[first + member.source].value;
        member.state = READY;
    }
    if (meeting == SYNC) order_lanes(first, mask);
    return self->result;
}

extern "C" unsigned long long gpu_exchange(int line, unsigned mask, unsigned long long value,
                                           int source) {
    return meet(SHUFFLE, line, mask, value, source);
}
extern "C" unsigned gpu_vote(int line, unsigned mask, bool predicate) {
    return meet(VOTE, line, mask, predicate, 0);
}
extern "C" void gpu_sync_warp(int line, unsigned mask) { meet(SYNC, line, mask, 0, 0); }

static void fail_stuck() {
    static const char* const names[] = {"runs", "waits at __syncthreads", "waits for its warp",
                                        "has returned"};
    int a = 0, b = 0;
    while (threads[a].state == DONE) ++a;
    const Thread& one = threads[a];
    if (one.state == AT_BARRIER)
        while (threads[b].state == AT_BARRIER) ++b;
    else
        for (b = a / 32 * 32; b < a / 32 * 32 + 32 && b < num_threads; ++b)
            if (one.mask >> b % 32 & 1 && b != a &&
                (threads[b].state != IN_WARP || threads[b].line != one.line ||
                 threads[b].mask != one.mask))
                break;
    if (b >= num_threads || (one.state == IN_WARP && b / 32 != a / 32))
        return fail("thread %d waits in line %d for lanes of mask %#x that the block does not have",
                    a, one.line, one.mask);
    const Thread& two = threads[b];
    fail("never meet: thread %d %s in line %d, thread %d %s%s%.0d", a, names[one.state], one.line,
         b, names[two.state], two.state == DONE ? "" : " in line ",
         two.state == DONE ? 0 : two.line);
}

// ---- schedules ------------------------------------------------------------------------------

static uint32_t draw(uint32_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void arrange(unsigned* order, unsigned count, int schedule) {
    for (unsigned i = 0; i < count; ++i) order[i] = schedule == DESCENDING ? count - 1 - i : i;
    if (schedule != RANDOM) return;
    for (unsigned i = count; i > 1; --i) {
        unsigned j = draw(i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static void run_block(int schedule) {
    static unsigned order[MAX_THREADS];
    arrived = 0;
    block_epoch = 0;
    start_clocks();
    for (int t = 0; t < num_threads; ++t) {
        threads[t].state = READY;
        prepare(t);
    }
    for (bool moved = true; moved && !failed;) {
        moved = false;
        arrange(order, num_threads, schedule);
        for (int n = 0; n < num_threads && !failed; ++n) {
            unsigned t = order[n];
            if (threads[t].state != READY) continue;
            current = &threads[t];
            threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y,
                         t / blockDim.x / blockDim.y};
            enter(t);
            current = nullptr;
            moved = true;
        }
    }
    for (int t = 0; t < num_threads && !failed; ++t)
        if (threads[t].state != DONE) return fail_stuck();
}

// grid and block: x, y, z. Of a grid of more than twice `most` blocks only the first and the last
// `most` are run. Returns 0, or 1 and the reason in `text`.
extern "C" int gpu_launch(void (*function)(void**), void** args, const unsigned* grid,
                          const unsigned* shape, int schedule, uint64_t seed, unsigned most,
                          Buffer* given, int count, char* text, int size) {
    kernel = function;
    arguments = args;
    message = text;
    message_size = size;
    failed = false;
    random_state = seed;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {shape[0], shape[1], shape[2]};
    num_threads = shape[0] * shape[1] * shape[2];
    if (!stacks)
        stacks = (char*)mmap(nullptr, MAX_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    start_checks(given, count);
    unsigned blocks = grid[0] * grid[1] * grid[2];
    unsigned left_out = blocks / 2 > most ? blocks - 2 * most : 0, run = blocks - left_out;
    unsigned* order = (unsigned*)malloc(run * sizeof *order);
    arrange(order, run, schedule);
    for (unsigned n = 0; n < run && !failed; ++n) {
        unsigned b = order[n] < most ? order[n] : order[n] + left_out;
        block = b;
        blockIdx = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
        run_block(schedule);
    }
    free(order);
    stop_checks();
    return failed;
}
