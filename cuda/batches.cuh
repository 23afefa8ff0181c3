// BATCH edges side by side: what a team computes for several edges at once, and how its lanes share
// them out.

// A team computes sums for BATCH edges, to which each lane adds its share. In the end a lane needs
// one of the sums, of what is then its own edge: edge `rank % BATCH` of the batch, or in a team of
// fewer lanes several, `owners` apart.
__device__ __forceinline__ int owners(Team my) { return min(my.size, BATCH); }

// Halves what each lane of a pair holds: one gets the sums of even places, one of odd ones.
__device__ __forceinline__ void sum_in_pairs(Team my, int bit, int count, real (&x)[BATCH]) {
    bool odd = my.rank & bit;
    for (int i = 0; i < count; ++i) {
        real given = odd ? x[2 * i] : x[2 * i + 1];
        x[i] = (odd ? x[2 * i + 1] : x[2 * i]) + __shfl_xor_sync(~0u, given, bit);
    }
}

// Sums over the team: x[i] becomes that of edge `i * owners + rank % owners` of the batch.
__device__ __forceinline__ void sum_edges(Team my, real (&x)[BATCH]) {
    if (my.size > 1) sum_in_pairs(my, 1, 2, x);
    if (my.size > 2) sum_in_pairs(my, 2, 1, x);
    for (int bit = BATCH; bit < my.size; bit *= 2) x[0] += __shfl_xor_sync(~0u, x[0], bit);
}

// Over what the lanes have of all edges of a batch: the maximum and the sum.
__device__ __forceinline__ real owners_max(Team my, real x) {
    for (int bit = 1; bit < owners(my); bit *= 2) x = larger(__shfl_xor_sync(~0u, x, bit), x);
    return x;
}
__device__ __forceinline__ real owners_sum(Team my, real x) {
    for (int bit = 1; bit < owners(my); bit *= 2) x += __shfl_xor_sync(~0u, x, bit);
    return x;
}

// What the lane that edge b of the batch belongs to has in x.
__device__ __forceinline__ real of_edge(Team my, const real (&x)[BATCH], int b) {
    return __shfl_sync(~0u, x[b / owners(my)], b % owners(my), my.size);
}

// The sources of the next edges, of which `left` > 0 are left; of those beyond, that of the first.
__device__ __forceinline__ void load_sources(const int* indices, int left, int (&sources)[BATCH]) {
    for (int b = 0; b < BATCH; ++b) sources[b] = indices[b < left ? b : 0];
}

// Adds to dots[b] this lane's share of <scale * left, row sources[b] of `rows`>; from one row to
// the next are `stride` numbers. The scale is inside: outside, it would contract with what is
// subtracted from a score to a fused multiply-add, and one pass would round a score that another
// does not.
__device__ __forceinline__ void dot_edges(Team my, const real* left, real scale, const real* rows,
                                          const int (&sources)[BATCH], int stride, int width,
                                          real (&dots)[BATCH]) {
    for (int d = my.rank * V; d < width; d += my.size * V) {
        Pack<real> x = load(left + d);
        for (int v = 0; v < V; ++v) x.x[v] *= scale;
        for (int b = 0; b < BATCH; ++b) {
            Pack<real> y = load(row_at(rows + d, sources[b], stride));
            for (int v = 0; v < V; ++v) dots[b] += x.x[v] * y.x[v];
        }
    }
}

// ---- rows in registers --------------------------------------------------------------------------

// Adds `share` times a row of `size` numbers to what a lane keeps of it: `strips` packs from
// `first` on, as far apart as what a team loads at once.
__device__ __forceinline__ void add_row(Team my, const real* row, int size, int first, int strips,
                                        real share, Pack<real> (&sum)[STRIPS]) {
    for (int s = 0; s < strips; ++s) {
        int d = first + s * my.size * V;
        if (d >= size) break;
        Pack<real> x = load(row + d);
        for (int v = 0; v < V; ++v) sum[s].x[v] += share * x.x[v];
    }
}
__device__ __forceinline__ void store_row(Team my, const Pack<real> (&sum)[STRIPS], int first,
                                          int strips, int size, real* row) {
    for (int s = 0; s < strips && first + s * my.size * V < size; ++s)
        store(row + first + s * my.size * V, sum[s]);
}
