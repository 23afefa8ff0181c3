// What the scheduler (runtime.cpp) and the checks (checks.cpp) know of each other.
#pragma once
#include <cstddef>
#include <cstdint>

const int MAX_THREADS = 1024;
const size_t STACK_BYTES = 64 << 10;

enum State { READY, AT_BARRIER, IN_WARP, DONE };
enum Meeting { SHUFFLE, VOTE, SYNC };
enum Schedule { ASCENDING, DESCENDING, RANDOM };

struct Thread {
    State state;
    int line;  // where it waits
    Meeting meeting;
    unsigned mask;
    uint64_t value, result;
    int source;
    unsigned clock[32];  // how far it has seen each lane of its warp (__syncwarp)
};

struct Access {  // block 0: none
    unsigned block, epoch, clock;
    short thread, atomic;
};

struct Cell {
    Access write, read[2];
};

struct Buffer {  // as emulator.py fills it in
    const char* name;
    char* start;
    size_t size, item;   // bytes
    uint8_t* written;    // one per item; null: all of it was
    int writable;
    Cell* cells;         // one per item; null where nobody may write
};

extern Thread threads[MAX_THREADS];
extern Thread* current;
extern unsigned block_epoch;
extern unsigned long long block;
extern char* stacks;

void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
void start_checks(Buffer* buffers, int count);
void stop_checks();
void start_clocks();
void order_lanes(int first, unsigned mask);
