// loss = sum over all x = logits[i, c], t = targets[i, c] of log(1 + e^x) - t x, in double;
// grad = sigmoid(x) - t. Written with e^-|x|, so any finite logit is safe.
//
// Owner: a thread owns every (threads in the grid)-th number, neighbours own neighbouring ones:
// loads and stores coalesce. Each block adds up its own threads and leaves one sum, which
// sum_blocks.cu adds up. Orders depend on sizes only, so bits repeat.
// Bytes: reads size logits and size bytes of targets, writes size numbers and a double for each
// block.

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
