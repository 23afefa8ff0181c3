// Walks over the edges of a row, or of a piece of one, that several kernels share.

// The maximum and the sum of exponentials of a row that was cut, from those of its pieces.
__device__ __forceinline__ void join_pieces(const real* partial,  // (slots, K, 2)
                                            const Unit& unit, int K, int k, real& top,
                                            real& total) {
    offset first = unit.slot - unit.piece;
    top = minus_infinity(), total = 0;
    for (offset p = first; p < first + unit.pieces; ++p)
        top = larger(partial[(p * K + k) * 2], top);
    for (offset p = first; p < first + unit.pieces; ++p)
        total += exp(partial[(p * K + k) * 2] - shift_of(top)) * partial[(p * K + k) * 2 + 1];
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

// dots[b] = <left, rows[indices[e + b], k]> for up to BATCH edges; all lanes of the team get them.
__device__ __forceinline__ void dot_edges(Team my, const real* left, const real* rows,
                                          const int* indices, offset e, offset stop, int K, int k,
                                          int D, real (&dots)[BATCH]) {
    const real* right[BATCH];
    for (int b = 0; b < BATCH; ++b) {
        right[b] = rows + (offset(indices[e + b < stop ? e + b : e]) * K + k) * D;
        dots[b] = 0;
    }
    for (int d = my.rank * V; d < D; d += my.size * V) {
        Pack<real> x = load(left + d);
        for (int b = 0; b < BATCH; ++b) {
            Pack<real> y = load(right[b] + d);
            for (int v = 0; v < V; ++v) dots[b] += x.x[v] * y.x[v];
        }
    }
    for (int b = 0; b < BATCH; ++b) dots[b] = team_sum(my, dots[b]);
}
