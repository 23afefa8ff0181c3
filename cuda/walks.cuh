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

// Calls use(fetch(p)) for each edge p of a unit, in order. BATCH edges are fetched before the
// first is used, so that their rows are on their way together.
template <class Fetch, class Use>
__device__ __forceinline__ void for_each_edge(const Unit& unit, Fetch fetch, Use use) {
    int count = unit.stop - unit.start;
    for (int n = 0; n < count; n += BATCH) {
        decltype(fetch(unit.start)) found[BATCH];
        for (int b = 0; b < BATCH; ++b)
            if (n + b < count) found[b] = fetch(unit.start + n + b);
        for (int b = 0; b < BATCH; ++b)
            if (n + b < count) use(found[b]);
    }
}

struct Weighted {  // a row, and what its numbers are multiplied with
    real weight;
    Pack<real> row;
};
template <class Fetch>
__device__ __forceinline__ Pack<real> sum_of_edges(const Unit& unit, Fetch fetch) {
    Pack<real> total = {};
    for_each_edge(unit, fetch, [&](const Weighted& x) {
        for (int v = 0; v < V; ++v) total.x[v] += x.weight * x.row.x[v];
    });
    return total;
}

// out[i, k, d] = the sum over the edges p of row i of what `fetch` finds, weighted; pieces go to
// `partial`. A team owns `team * V` neighbouring d of one (unit, k): its loads and stores coalesce.
template <class Fetch>
__device__ __forceinline__ void sum_over_rows(const offset* indptr, offset N, offset slots, int K,
                                              int D, int team, real* out, real* partial,
                                              Fetch fetch) {
    int rank = team_of(team).rank, strips = (D + team * V - 1) / (team * V);
    offset items = (N + slots) * K * strips;
    for (offset item = first_item(team); item < items; item += item_stride(team)) {
        int d = (item % strips * team + rank) * V, k = item / strips % K;
        Unit unit;
        if (d >= D || !find_unit(item / strips / K, indptr, N, slots, unit)) continue;
        Pack<real> total = sum_of_edges(unit, [=](offset p) { return fetch(unit, p, k, d); });
        real* rows = unit.slot < 0 ? out : partial;
        store(rows + ((unit.slot < 0 ? unit.row : unit.slot) * K + k) * D + d, total);
    }
}

// The edge at position p of a transposed row: integers of 4 or 8 bytes say; 0 bytes: p itself.
__device__ __forceinline__ offset edge_id(const void* edge_ids, int id_bytes, offset p) {
    if (id_bytes == 4) return static_cast<const int*>(edge_ids)[p];
    return id_bytes == 8 ? static_cast<const offset*>(edge_ids)[p] : p;
}

// Number k of that edge, of K numbers of each edge.
__device__ __forceinline__ real of_edge_at(const real* numbers, const void* edge_ids, int id_bytes,
                                           offset p, int K, int k) {
    if (id_bytes == 0) return numbers[p * K + k];  // neighbours: without addresses of their own
    return *row_at(numbers + k, edge_id(edge_ids, id_bytes, p), K);
}

// What edge e from source j brings, in V columns from `column`: values[j] + edges[e] @ projection,
// of rows of `width` numbers. B features of an edge are B broadcasts.
__device__ __forceinline__ Pack<real> edge_value(const real* values,      // (S, width)
                                                 const real* edges,       // (E, B)
                                                 const real* projection,  // (B, width)
                                                 offset j, offset e, int B, int width,
                                                 int column) {
    Pack<real> u = load(row_at(values + column, j, width));
#pragma unroll 4  // of many features, all in registers would not fit
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
