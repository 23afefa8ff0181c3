// What the threads of one block do together; all other kernels need no more than a team.

// The sum over a block, in every thread: each warp by shuffles, then the warps in order. Once in a
// kernel.
__device__ __forceinline__ double block_sum(double x) {
    __shared__ double sums[BLOCK / 32];
    for (int bits = 16; bits > 0; bits /= 2) x += __shfl_xor_sync(~0u, x, bits);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    double total = 0;
    for (int w = 0; w < BLOCK / 32; ++w) total += sums[w];
    return total;
}
