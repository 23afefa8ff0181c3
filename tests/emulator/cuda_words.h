// The words of CUDA C for a host compiler; put before the text of a .cu file. See runtime.cpp.
#pragma once
#include <math.h>

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// A section of its own: the runtime knows where it starts and stops. Never thread_local, which
// lands on the heap of a library loaded late, where stray accesses look like shared memory.
#define __shared__ static __attribute__((section("gpu_shared")))

struct uint3 { unsigned x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
extern uint3 threadIdx, blockIdx, blockDim, gridDim;

extern "C" {
void gpu_barrier(int line);
unsigned long long gpu_exchange(int line, unsigned mask, unsigned long long value, int source);
unsigned gpu_vote(int line, unsigned mask, bool predicate);
void gpu_sync_warp(int line, unsigned mask);
void gpu_atomic(void* address, int size);
}

// __builtin_LINE as a default argument is the line of the call: it goes into messages.
inline void __syncthreads(int line = __builtin_LINE()) { gpu_barrier(line); }
inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE()) {
    gpu_sync_warp(line, mask);
}
inline unsigned __ballot_sync(unsigned mask, bool predicate, int line = __builtin_LINE()) {
    return gpu_vote(line, mask, predicate);
}

inline int gpu_lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

template <class T>
T gpu_shuffle(int line, unsigned mask, T value, int source) {
    unsigned long long bits = 0;
    static_assert(sizeof(T) <= sizeof bits, "a shuffle moves at most 8 bytes");
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = gpu_exchange(line, mask, bits, source);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// A source outside of the lane's group of `width` lanes means: keep your own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
    int first = gpu_lane() & -width;
    return gpu_shuffle(line, mask, value, first + (source & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
    int lane = gpu_lane(), source = lane ^ bits;
    return gpu_shuffle(line, mask, value, source < (lane & -width) + width ? source : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, int step, int width = 32, int line = __builtin_LINE()) {
    int lane = gpu_lane(), source = lane + step;
    return gpu_shuffle(line, mask, value, source < (lane & -width) + width ? source : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int step, int width = 32, int line = __builtin_LINE()) {
    int lane = gpu_lane(), source = lane - step;
    return gpu_shuffle(line, mask, value, source >= (lane & -width) ? source : lane);
}

template <class T> struct gpu_same { typedef T type; };
template <class T>
__attribute__((noinline, no_sanitize("thread"))) T atomicAdd(
    T* address, typename gpu_same<T>::type value) {
    gpu_atomic(address, sizeof(T));
    T old = *address;
    *address = old + value;
    return old;
}

template <class T> T __ldg(const T* address) { return *address; }

#define GPU_MIN_MAX(T) \
    inline T min(T a, T b) { return b < a ? b : a; } \
    inline T max(T a, T b) { return a < b ? b : a; }
GPU_MIN_MAX(int)
GPU_MIN_MAX(unsigned)
GPU_MIN_MAX(long long)
GPU_MIN_MAX(unsigned long long)
GPU_MIN_MAX(float)
GPU_MIN_MAX(double)

// Calls a kernel with arguments given by address, as a launch does.
template <int...> struct gpu_numbers {};
#ifdef __clang__
template <class, int... I> using gpu_pack = gpu_numbers<I...>;
#define GPU_COUNT(n) __make_integer_seq<gpu_pack, int, n>()
#else
#define GPU_COUNT(n) gpu_numbers<__integer_pack(n)...>()
#endif
template <class... P, int... I>
__attribute__((no_sanitize("thread"))) void gpu_spread(void (*f)(P...), void** a,
                                                       gpu_numbers<I...>) {
    f(*(P*)a[I]...);
}
template <class... P>
__attribute__((no_sanitize("thread"))) void gpu_call(void (*f)(P...), void** a) {
    gpu_spread(f, a, GPU_COUNT(int(sizeof...(P))));
}
