// join_columns:  out[i] = the rows i of up to four arrays, side by side, from column `at` of out on
// split_columns: the same columns of x as up to four arrays
//
// Owner: a thread owns one number and steps by the size of the grid; neighbours own neighbouring
// columns, so loads and stores coalesce. An array of width 0 is none.
// Bytes: reads and writes rows * (A + B + C + D) numbers.

// Where column c of the arrays side by side lies in them.
template <class T>
__device__ __forceinline__ T& cell(T* a, T* b, T* c, T* d, int A, int B, int C, int D, offset row,
                                   int column) {
    if (column < A) return a[row * A + column];
    if (column < A + B) return b[row * B + column - A];
    if (column < A + B + C) return c[row * C + column - A - B];
    return d[row * D + column - A - B - C];
}

extern "C" __global__ void join_columns(const real* a, const real* b, const real* c, const real* d,
                                        int A, int B, int C, int D, offset rows, int width, int at,
                                        real* out) {  // (rows, width)
    int together = A + B + C + D;
    for (offset t = first_item(1); t < rows * together; t += item_stride(1)) {
        offset row = t / together;
        int column = t - row * together;
        out[row * width + at + column] = cell(a, b, c, d, A, B, C, D, row, column);
    }
}

extern "C" __global__ void split_columns(const real* x,  // (rows, width)
                                         offset rows, int width, int at, int A, int B, int C, int D,
                                         real* a, real* b, real* c, real* d) {
    int together = A + B + C + D;
    for (offset t = first_item(1); t < rows * together; t += item_stride(1)) {
        offset row = t / together;
        int column = t - row * together;
        cell(a, b, c, d, A, B, C, D, row, column) = x[row * width + at + column];
    }
}
