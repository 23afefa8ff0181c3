// loss = sum over all x = logits[i, c], t = targets[i, c] of log(1 + e^x) - t x, in double;
// grad = sigmoid(x) - t. Written with e^-|x|, so any finite logit is safe.
//
// Owner: a thread owns every (threads in the grid)-th number, neighbours own neighbouring ones:
// loads and stores coalesce. Each block adds up its own threads by shuffles and leaves one sum;
// `sum_blocks`, one block, adds those up. Orders depend on sizes only, so bits repeat.
// Bytes: reads size logits and size bytes of targets, writes size numbers and a double for each
// block.

// The sum over a block of 256 threads, in thread 0.
__device__ __forceinline__ double block_sum(double x) {
    __shared__ double sums[8];
    for (int bits = 16; bits > 0; bits /= 2) x += __shfl_xor_sync(~0u, x, bits);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    double total = 0;
    for (int w = 0; threadIdx.x == 0 && w < 8; ++w) total += sums[w];
    return total;
}

extern "C" __global__ void bce_with_logits(const real* logits, const unsigned char* targets,
                                           offset size, real* grad,
                                           double* losses) {  // one for each block
    double loss = 0;
    for (offset t = first_item(1); t < size; t += item_stride(1)) {
        real x = logits[t], target = targets[t] ? 1 : 0;
        real e = exp(-fabs(x));
        grad[t] = (x >= 0 ? real(1) : e) / (1 + e) - target;
        loss += (x > 0 ? x : real(0)) - x * target + log1p(e);
    }
    loss = block_sum(loss);
    if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

extern "C" __global__ void sum_blocks(const double* losses, int count, double* out) {
    double total = 0;
    for (int t = threadIdx.x; t < count; t += blockDim.x) total += losses[t];
    total = block_sum(total);
    if (threadIdx.x == 0) out[0] = total;
}
