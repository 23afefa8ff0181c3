// Several layers that read one input, as one product, with their weights side by side: split_layers
// then gives each layer its columns, with its bias and its leaky ReLU.
//
// split_layers:    y_p = leaky_relu(the columns of layer p in `product` + bias_p, slope_p)
// join_gradients:  out = grad_p * (1 where y_p > 0, else slope_p), side by side
// split_gradients: the columns of layer p in x, whose last row is of the bias, as arrays or, with
//                  `add`, added to what is there
//
// Owner: a thread owns one number and steps by the size of the grid; neighbours own neighbouring
// columns, so loads and stores coalesce. A layer of width 0 is none.
// Bytes: each reads and writes rows * (A + B + C + D) numbers; join_gradients reads the outputs
// too, and so does split_gradients with `add`.

struct Place {
    int layer, column, width;
};

__device__ __forceinline__ Place place_of(int column, int A, int B, int C, int D) {
    if (column < A) return {0, column, A};
    if (column < A + B) return {1, column - A, B};
    if (column < A + B + C) return {2, column - A - B, C};
    return {3, column - A - B - C, D};
}

template <class T> __device__ __forceinline__ T pick(int layer, T a, T b, T c, T d) {
    return layer == 0 ? a : layer == 1 ? b : layer == 2 ? c : d;
}

extern "C" __global__ void split_layers(
    const real* product,  // (rows, A + B + C + D)
    const real* bias_a, const real* bias_b, const real* bias_c, const real* bias_d, offset rows,
    int A, int B, int C, int D, real slope_a, real slope_b, real slope_c, real slope_d, real* a,
    real* b, real* c, real* d) {
    int together = A + B + C + D;
    for (offset t = first_item(1); t < rows * together; t += item_stride(1)) {
        offset row = t / together;
        Place at = place_of(t - row * together, A, B, C, D);
        real sum = product[t] + pick(at.layer, bias_a, bias_b, bias_c, bias_d)[at.column];
        real slope = pick(at.layer, slope_a, slope_b, slope_c, slope_d);
        pick(at.layer, a, b, c, d)[row * at.width + at.column] = sum > 0 ? sum : slope * sum;
    }
}

extern "C" __global__ void join_gradients(
    const real* grad_a, const real* grad_b, const real* grad_c, const real* grad_d,
    const real* a, const real* b, const real* c, const real* d, offset rows, int A, int B, int C,
    int D, real slope_a, real slope_b, real slope_c, real slope_d, real* out) {
    int together = A + B + C + D;
    for (offset t = first_item(1); t < rows * together; t += item_stride(1)) {
        offset row = t / together;
        Place at = place_of(t - row * together, A, B, C, D);
        offset from = row * at.width + at.column;
        real grad = pick(at.layer, grad_a, grad_b, grad_c, grad_d)[from];
        real slope = pick(at.layer, slope_a, slope_b, slope_c, slope_d);
        out[t] = grad * (pick(at.layer, a, b, c, d)[from] > 0 ? real(1) : slope);
    }
}

extern "C" __global__ void split_gradients(
    const real* x,  // (rows + 1, A + B + C + D)
    offset rows, int A, int B, int C, int D, int add, real* a, real* b, real* c, real* d,
    real* bias_a, real* bias_b, real* bias_c, real* bias_d) {
    int together = A + B + C + D;
    for (offset t = first_item(1); t < (rows + 1) * together; t += item_stride(1)) {
        offset row = t / together;
        Place at = place_of(t - row * together, A, B, C, D);
        real* to = row < rows ? pick(at.layer, a, b, c, d) + row * at.width
                              : pick(at.layer, bias_a, bias_b, bias_c, bias_d);
        to[at.column] = x[t] + (add ? to[at.column] : real(0));
    }
}
