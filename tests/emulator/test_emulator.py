"""The emulator itself: seeded bugs are reported, each by its own words; correct kernels are not."""

import numpy as np
import pytest
from emulator.module import (
    NO_COMPILER,
    SCHEDULES,
    EmulatedModule,
    KernelFaultError,
    cache_folder,
    compilers,
    empty,
    has_compiler,
)
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.skipif(not has_compiler(), reason=NO_COMPILER)
THREADS = 64
i32, f32 = np.int32, np.float32

# Each body is a kernel's: x has 128 floats to read, out and count are written.
HEAD = """
typedef float real;
extern "C" __global__ void kernel(const real* x, real* out, int* count, int n, real scale) {
    int t = threadIdx.x, lane = t % 32;
"""
SUM = """
    __shared__ real part[64];
    part[t] = x[t];
    %s
    for (int step = 32; step > 0; step /= 2) {
        real other = t < step ? part[t + step] : 0;
        if (t < step) part[t] += other;
        %s
    }
    out[t] = part[0];
"""
CORRECT = {
    "a sum in shared memory": SUM % ("__syncthreads();", "__syncthreads();"),
    "a sum over a warp": """
        real s = x[t];
        for (int bits = 16; bits > 0; bits /= 2) s += __shfl_xor_sync(~0u, s, bits);
        out[t] = s;""",
    "groups of lanes that shuffle apart": """
        int group = lane / 8;
        unsigned mask = 0xffu << group * 8;
        real s = x[t];
        for (int n = 0; n <= group; ++n) s += __shfl_xor_sync(mask, s, 1 << n % 3, 8);
        out[t] = s + __shfl_down_sync(mask, s, 1, 8) + __shfl_up_sync(mask, s, 1, 8);""",
    "a ballot": "out[t] = __ballot_sync(~0u, lane % 2) + __shfl_sync(~0u, t, 5);",
    "a warp that synchronises": """
        __shared__ real part[64];
        part[t] = x[t];
        __syncwarp();
        out[t] = part[t ^ 1];
        __syncwarp();
        part[t ^ 2] = 1;""",
    "shared memory used twice": """
        __shared__ real part[64];
        for (int n = 0; n < 2; ++n) {
            part[t] = x[t + 64 * n];
            __syncthreads();
            out[t] = part[63 - t];
            __syncthreads();
        }""",
    "atomic addition": "atomicAdd(count, 1); out[t] = 0;",
    "vectors": """
        if (t < 16) {
            float4 v = ((const float4*)x)[t];
            ((float4*)out)[t] = float4{v.x * scale, v.y, v.z, v.w};
        }""",
    "a half of a warp that returns": """
        if (lane >= 16) return;
        out[t] = __shfl_xor_sync(0xffffu, x[t], 1);""",
}
WRONG = {
    "reads out of bounds": ("out[t] = x[n + t + 65];", r"reads 4 bytes outside of every array"),
    "writes out of bounds": ("out[t + 1] = x[t];", "writes 4 bytes outside of every array"),
    "lacks a barrier": (SUM % ("", "__syncthreads();"), "of shared memory, which"),
    "trusts that a warp runs in step": (
        SUM % ("__syncthreads();", "if (step > 32) __syncthreads();"),
        "without a barrier between them",
    ),
    "shuffles and thinks that it synchronises memory": (
        "out[t] = x[t]; __shfl_sync(~0u, 1, 0); out[t ^ 1] = 2;",
        "writes byte .* of out, which block 0, thread .* wrote without a barrier between them",
    ),
    "uses shared memory again too early": (
        """__shared__ real part[64];
        for (int n = 0; n < 2; ++n) {
            part[t] = x[t + 64 * n];
            __syncthreads();
            out[t] = part[63 - t];
        }""",
        "byte .* of shared memory, which block 0, thread .* without a barrier between them",
    ),
    "adds without an atomic": ("count[0] += 1;", "byte 0 of count, which block 0, thread"),
    "mixes an atomic and a plain write": (
        "if (t) atomicAdd(count, 1); else count[0] = 7;",
        "byte 0 of count, which block 0, thread",
    ),
    "lets blocks depend on each other": (
        "if (blockIdx.x == 0) out[t] = 1; else count[t] = int(out[t]);",
        "of out, which",
    ),
    "returns before a full-mask shuffle": (
        "if (lane == 7) return; out[t] = __shfl_xor_sync(~0u, x[t], 1);",
        "thread 7 has returned",
    ),
    "returns before a barrier": ("if (t == 9) return; __syncthreads();", "thread 9 has returned"),
    "shuffles here and waits there": (
        "if (lane < 16) out[t] = __shfl_sync(~0u, x[t], 0); else __syncthreads();",
        "never meet: thread 0 waits for its warp in line .*, thread 16 waits at __syncthreads",
    ),
    "waits at two barriers": (
        "if (t < 32) { __syncthreads(); }\n else { __syncthreads(); }",
        "at another in line",
    ),
    "shuffles from a lane outside of the mask": (
        "if (lane < 16) out[t] = __shfl_sync(0xffffu, x[t], 20);",
        "shuffles from lane 20, which is not in mask 0xffff",
    ),
    "shuffles under a mask without itself": (
        "out[t] = __shfl_sync(0xffffu, x[t], 0);",
        "is not in its own mask 0xffff",
    ),
    "reads what nobody wrote": ("count[t] = int(out[t]);", "of out, which nobody wrote"),
    "reads shared memory that nobody wrote": (
        "__shared__ real part[64]; if (t < 63) part[t] = 1; __syncthreads(); out[t] = part[t];",
        "byte .* of shared memory, which nobody wrote",
    ),
    "leaves a shared array's range": (
        "__shared__ real part[64]; __shared__ real after[64]; after[t] = part[t + n - 63] = 1;",
        "an array's index is out of range",
    ),
    "assigns what nobody wrote": (
        "struct Many { real x[32]; }; if (t == 0) *(Many*)(out + 32) = *(Many*)out;",
        "of out, which nobody wrote",
    ),
    "overflows an int": ("count[t] = (t + 70000) * (n - 64 + 70000);", "integer product overflows"),
    "divides by zero": ("count[t] = t / (n - 64);", "divided by zero"),
    "loads a misaligned vector": (
        "if (t < 8) out[t] = ((const float4*)(x + 1))[t].x;",
        "misaligned for its type",
    ),
    "casts const away": ("((real*)x)[t] = 1;", "of x, which is const"),
}


BODIES = {**CORRECT, **{name: body for name, (body, _) in WRONG.items()}}
SOURCE = "typedef float real;\n" + "\n".join(  # one text, so that the compiler starts once
    HEAD.replace("kernel", f"kernel{n}") + body + "\n}" for n, body in enumerate(BODIES.values())
)
NUMBER = {name: n for n, name in enumerate(BODIES)}


def run(name: str, **mode) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(128, dtype=f32)
    out, count = empty(THREADS, f32), np.zeros(THREADS, i32)
    kernel = EmulatedModule(SOURCE, **mode).get_function(f"kernel{NUMBER[name]}")
    kernel((2 if "blocks" in name else 1,), (THREADS,), (x, out, count, i32(64), f32(2)))
    return out, count


EVERY_COMPILER = pytest.mark.parametrize("compiler", compilers())


@EVERY_COMPILER
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_is_reported_that(name, schedule, compiler):
    with pytest.raises(KernelFaultError, match=WRONG[name][1]) as caught:
        run(name, checked=True, schedule=schedule, compiler=compiler)
    assert str(caught.value).startswith(f"kernel{NUMBER[name]}: block ")
    assert "\n" not in str(caught.value)


@EVERY_COMPILER
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_kernel_gives_the_same_bits_in_every_build_and_schedule(name, schedule, compiler):
    expected = run(name, portable=True)
    for mode in ({"checked": True}, {"checked": False}):
        results = run(name, schedule=schedule, compiler=compiler, **mode)
        for actual, wanted in zip(results, expected, strict=True):
            assert_array_equal(actual, wanted)


def test_an_empty_array_may_begin_where_another_does():
    both, out = np.arange(128, dtype=f32), empty(THREADS, f32)
    kernel = EmulatedModule(SOURCE, checked=True).get_function(f"kernel{NUMBER['vectors']}")
    kernel((1,), (THREADS,), (both, out, both[:0].view(i32), i32(64), f32(2)))
    x = np.arange(64)
    assert_array_equal(out, np.where(x % 4, x, 2 * x))


def test_what_correct_kernels_compute_is_right():
    x, lane = np.arange(64), np.arange(64) % 32
    assert_array_equal(run("a sum in shared memory")[0], np.full(64, x.sum()))
    sums = x.reshape(2, 32).sum(axis=1)
    assert_array_equal(run("a sum over a warp")[0], sums.repeat(32))
    assert_array_equal(run("a ballot")[0], (0xAAAAAAAA + x - lane + 5).astype(f32))
    assert_array_equal(run("shared memory used twice")[0], 64 + x[::-1])
    assert run("atomic addition")[1][0] == 64
    assert_array_equal(run("vectors")[0], np.where(x % 4, x, 2 * x))
    assert_array_equal(run("a half of a warp that returns")[0][32:48], x[32:48] ^ 1)


@pytest.mark.parametrize("name", ["lacks a barrier", "trusts that a warp runs in step"])
def test_another_schedule_alone_shows_that_a_barrier_is_missing(name):
    right = run("a sum in shared memory")[0]
    results = [run(name, schedule=schedule)[0] for schedule in SCHEDULES]
    assert not all(np.array_equal(result, right) for result in results)


ARRAYS = (np.zeros(128, f32), np.zeros(64, f32), np.zeros(64, i32))
NUMBERS = (i32(64), f32(1))


@pytest.mark.parametrize(
    ("grid", "block", "args", "reason"),
    [
        ((1,), (64,), (*ARRAYS, i32(64), 1.0), "scale: expected numpy.float32, got float 1.0"),
        ((1,), (64,), (*ARRAYS, i32(64), np.float64(1)), "expected numpy.float32, got float64"),
        ((1,), (64,), (*ARRAYS, 64, f32(1)), "n: expected numpy.int32, got int 64"),
        ((1,), (64,), (ARRAYS[0].astype(float), *ARRAYS[1:], *NUMBERS), "x points to float32"),
        ((1,), (64,), (np.zeros(256, f32)[::2], *ARRAYS[1:], *NUMBERS), "not C-contiguous"),
        ((1,), (64,), (f32(1), *ARRAYS[1:], *NUMBERS), "x: expected an array, got float32"),
        ((1,), (64,), (*ARRAYS, ARRAYS[2], f32(1)), "n is a int32, got an array"),
        ((1,), (64,), ARRAYS, "5 parameters, got 3 arguments"),
        ((0,), (64,), (*ARRAYS, *NUMBERS), r"grid \(0,\), each at least 1"),
        ((1, 70000), (64,), (*ARRAYS, *NUMBERS), "grid"),
        ((1,), (2048,), (*ARRAYS, *NUMBERS), r"block \(2048,\)"),
        ((1,), (64, 32), (*ARRAYS, *NUMBERS), "a block of 2048 threads, at most 1024"),
    ],
    ids=str,
)
def test_a_launch_that_a_gpu_would_not_make_as_meant_is_refused(grid, block, args, reason):
    kernel = EmulatedModule(SOURCE).get_function("kernel0")
    with pytest.raises(KernelFaultError, match=reason):
        kernel(grid, block, args)


def test_an_output_that_is_read_only_and_an_unknown_kernel_are_refused():
    frozen = np.zeros(64, f32)
    frozen.flags.writeable = False
    module = EmulatedModule(SOURCE)
    with pytest.raises(KernelFaultError, match="out is written, got an array that is read-only"):
        module.get_function("kernel0")((1,), (64,), (ARRAYS[0], frozen, ARRAYS[2], *NUMBERS))
    with pytest.raises(KernelFaultError, match="no kernel total"):
        module.get_function("total")


def test_a_text_that_does_not_compile_shows_the_compilers_first_words():
    kernel = EmulatedModule('extern "C" __global__ void k(int n) { m; }').get_function("k")
    with pytest.raises(KernelFaultError, match=r"kernel:1:.*(not |un)declared"):
        kernel((1,), (1,), (i32(1),))


def test_what_one_launch_left_unwritten_the_next_one_may_not_read():
    source = """
    extern "C" __global__ void write(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
    extern "C" __global__ void read(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
    """
    module = EmulatedModule(source, checked=True)
    x, y = empty(8, f32), empty(8, f32)
    module.get_function("write")((1,), (8,), (x, i32(7)))
    with pytest.raises(KernelFaultError, match="thread 7: reads byte 28 of x, which nobody wrote"):
        module.get_function("read")((1,), (8,), (x, y))
    assert y[:7].tolist() == [1] * 7


def test_builds_are_kept_in_the_cache_or_else_among_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "gaancore-emulator"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    assert cache_folder() == tmp_path / "tmp" / "gaancore-emulator"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_of_a_large_grid_only_the_first_and_the_last_blocks_are_run_if_asked_for(schedule):
    source = """extern "C" __global__ void mark(int* out) { out[blockIdx.x] = 1; }"""
    out = np.zeros(2000, i32)
    module = EmulatedModule(source, checked=True, schedule=schedule, most_blocks=2)
    module.get_function("mark")((2000,), (1,), (out,))
    assert np.flatnonzero(out).tolist() == [0, 1, 1998, 1999]
    out[:] = 0
    module.get_function("mark")((4,), (1,), (out,))
    assert np.flatnonzero(out).tolist() == [0, 1, 2, 3]


def test_blocks_and_threads_of_three_dimensions_are_numbered_as_cuda_numbers_them():
    source = """extern "C" __global__ void number(int* out) {
        int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        out[block * 24 + thread] = blockIdx.z * 10 + threadIdx.z;
    }"""
    for schedule in SCHEDULES:
        out = empty(24 * 8, i32)
        kernel = EmulatedModule(source, checked=True, schedule=schedule).get_function("number")
        kernel((2, 1, 4), (2, 4, 3), (out,))
        planes = 10 * np.arange(4)[:, None, None, None] + np.arange(3)[:, None]
        assert_array_equal(out.reshape(4, 2, 3, 8), np.broadcast_to(planes, (4, 2, 3, 8)))
