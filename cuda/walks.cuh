// Walks over the edges of a row, or of a piece of one, that several kernels share.

// The maximum and the sum of exponentials of a row that was cut, from those of its pieces, from
// slot unit.slot on: each lane of a team takes every team-th piece, then they meet in a tree.
__device__ __forceinline__ void join_pieces(Team my, const real* partial,  // (slots, K, 2)
                                            const Unit& unit, int K, int k, real& top,
                                            real& total) {
    top = minus_infinity(), total = 0;
    for (offset p = my.rank; p < unit.pieces; p += my.size)
        top = larger(partial[((unit.slot + p) * K + k) * 2], top);
    top = team_max(my, top);
    for (offset p = my.rank; p < unit.pieces; p += my.size) {
        const real* piece = partial + ((unit.slot + p) * K + k) * 2;
        total += exp(piece[0] - shift_of(top)) * piece[1];
    }
    total = team_sum(my, total);
}

// out[i, k, d] = sum over the edges p of row i of whatever `term` adds; pieces go to `partial`.
// A team owns `team * V` neighbouring d of one (unit, k): its loads and stores coalesce.
template <class Term>
__device__ __forceinline__ void sum_over_rows(const offset* indptr, offset N, offset slots, int K,
                                              int D, int team, real* out, real* partial,
                                              Term term) {
    int rank = team_of(team).rank, strips = (D + team * V - 1) / (team * V);
    offset items = (N + slots) * K * strips;
    for (offset item = first_item(team); item < items; item += item_stride(team)) {
        int d = (item % strips * team + rank) * V, k = item / strips % K;
        Unit unit;
        if (d >= D || !find_unit(item / strips / K, indptr, N, slots, unit)) continue;
        Pack<real> total = {};
#pragma unroll 4
        for (offset p = unit.start; p < unit.stop; ++p) term(total, unit, p, k, d);
        real* rows = unit.slot < 0 ? out : partial;
        store(rows + ((unit.slot < 0 ? unit.row : unit.slot) * K + k) * D + d, total);
    }
}

// dots[b] = <scale * left, rows[indices[e + b], k]> for up to BATCH edges; all lanes of the team
// get them. The scale is inside: outside, it would contract with what is subtracted from a score to
// a fused multiply-add, and one pass would round a score that another does not.
__device__ __forceinline__ void dot_edges(Team my, const real* left, real scale,
                                          const real* rows, const int* indices, offset e,
                                          offset stop, int K, int k, int D,
                                          real (&dots)[BATCH]) {
    const real* right[BATCH];
    for (int b = 0; b < BATCH; ++b) {
        right[b] = rows + (offset(indices[e + b < stop ? e + b : e]) * K + k) * D;
        dots[b] = 0;
    }
    for (int d = my.rank * V; d < D; d += my.size * V) {
        Pack<real> x = load(left + d);
        for (int v = 0; v < V; ++v) x.x[v] *= scale;
        for (int b = 0; b < BATCH; ++b) {
            Pack<real> y = load(right[b] + d);
            for (int v = 0; v < V; ++v) dots[b] += x.x[v] * y.x[v];
        }
    }
    for (int b = 0; b < BATCH; ++b) dots[b] = team_sum(my, dots[b]);
}

// The edge at position p of a transposed row: integers of 4 or 8 bytes say; 0 bytes: p itself.
__device__ __forceinline__ offset edge_id(const void* edge_ids, int id_bytes, offset p) {
    if (id_bytes == 4) return static_cast<const int*>(edge_ids)[p];
    return id_bytes == 8 ? static_cast<const offset*>(edge_ids)[p] : p;
}

// What edge e from source j brings, in V columns from `column`: values[j] + edges[e] @ projection,
// of rows of `width` numbers. B features of an edge are B broadcasts.
__device__ __forceinline__ Pack<real> edge_value(const real* values,      // (S, width)
                                                 const real* edges,       // (E, B)
                                                 const real* projection,  // (B, width)
                                                 offset j, offset e, int B, int width,
                                                 int column) {
    Pack<real> u = load(values + j * width + column);
    for (int b = 0; b < B; ++b) {
        real feature = edges[e * B + b];
        Pack<real> row = load(projection + offset(b) * width + column);
        for (int v = 0; v < V; ++v) u.x[v] += feature * row.x[v];
    }
    return u;
}

// The derivative of leaky ReLU at u.
__device__ __forceinline__ real slope_at(real u, real slope) { return u > 0 ? real(1) : slope; }

// The maximum so far, and where it comes from: the first of equals, and a NaN stays.
__device__ __forceinline__ void take_larger(real x, int source, real& top, int& winner) {
    if (winner < 0 || (!(x <= top) && top == top)) top = x, winner = source;
}
